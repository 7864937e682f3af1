package programs_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/devchain"
)

// payEnv makes the test binary a chain in the directory that it names, which pays for ever and tells of every payment that was confirmed.
const payEnv = "CONTEXTD_BENCH_PAY"

// runPay is that chain.
func runPay(dir string) {
	ctx := context.Background()
	c, err := devchain.Open(ctx, devchain.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println("failed", err)
		return
	}
	for {
		hash, err := c.Transfer(ctx, c.Wallet(), c.Treasury(), 1, nil)
		if err != nil {
			fmt.Println("failed", err)
			return
		}
		fmt.Println(hex.EncodeToString(hash[:]))
	}
}

// askNode asks a node over JSON-RPC.
func askNode[T any](t *testing.T, url, method string, params ...any) T {
	t.Helper()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(url, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Result T
		Error  json.RawMessage
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Error != nil {
		t.Fatalf("%s: %s, %v", method, answer.Error, err)
	}
	return answer.Result
}

// TestKillLosesNoPayment kills the chain of demos again and again: every payment that was confirmed is there.
func TestKillLosesNoPayment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var paid []string
	const rounds = 3
	for round := range rounds {
		child := exec.Command(self)
		child.Env = append(os.Environ(), payEnv+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 1+round && lines.Scan(); n++ {
			if strings.HasPrefix(lines.Text(), "failed") {
				t.Fatal(lines.Text())
			}
			paid = append(paid, lines.Text())
		}
		time.Sleep(time.Duration(round) * 400 * time.Millisecond) // at another moment of the next block each time
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what was confirmed before the end
			paid = append(paid, lines.Text())
		}
		_ = child.Wait()
	}
	c, err := devchain.Open(t.Context(), devchain.Config{Dir: dir, Listen: "127.0.0.1:0", Ahead: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, hash := range paid {
		receipt := askNode[*struct{ Status string }](t, c.URL(), "eth_getTransactionReceipt", "0x"+hash)
		if receipt == nil || receipt.Status != "0x1" {
			t.Errorf("payment %s of %d is lost", hash, len(paid))
		}
	}
	balance := map[string]string{"to": c.Token(), "data": "0x70a08231" + strings.Repeat("0", 24) + c.Treasury()[2:]}
	var got int64
	if _, err := fmt.Sscanf(askNode[string](t, c.URL(), "eth_call", balance, "latest"), "0x%x", &got); err != nil || got < int64(len(paid)) {
		t.Errorf("%d payments were confirmed, the treasury has %d, %v", len(paid), got, err)
	}
}

//go:build !nodevchain

package devchain_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/devchain"
)

// open opens a chain that does not wait for the next second, and is closed with the test.
func open(t *testing.T, dir string) *devchain.Chain {
	t.Helper()
	return openAhead(t, dir, 30*time.Second)
}

// openAhead opens a chain whose clock may be ahead.
func openAhead(t *testing.T, dir string, ahead time.Duration) *devchain.Chain {
	t.Helper()
	began := time.Now()
	c, err := devchain.Open(t.Context(), devchain.Config{Dir: dir, Listen: "127.0.0.1:0", Ahead: ahead})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %v", time.Since(began))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// call calls JSON-RPC over HTTP, as every client does.
func call[T any](t *testing.T, c *devchain.Chain, method string, params ...any) (result T) {
	t.Helper()
	if params == nil {
		params = []any{}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(c.URL(), "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Result T
		Error  *struct{ Message string }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if answer.Error != nil {
		t.Fatalf("%s: %s", method, answer.Error.Message)
	}
	return answer.Result
}

// balance is the balance of an address in micro-USDG.
func balance(t *testing.T, c *devchain.Chain, address string) (n int64) {
	t.Helper()
	word := call[string](t, c, "eth_call", map[string]string{"to": c.Token(), "data": "0x70a08231" + strings.Repeat("0", 24) + address[2:]}, "latest")
	if _, err := fmt.Sscanf(word, "0x%x", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// number reads a hexadecimal number.
func number(t *testing.T, text string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "0x%x", &n); err != nil {
		t.Fatalf("%q is no number", text)
	}
	return n
}

func TestChain(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	if id := number(t, call[string](t, c, "eth_chainId")); id != devchain.ChainID {
		t.Errorf("the chain id is %d", id)
	}
	if got := balance(t, c, c.Wallet().Address); got != 10_000_000_000 {
		t.Errorf("the wallet has %d", got)
	}
	if decimals := number(t, call[string](t, c, "eth_call", map[string]string{"to": c.Token(), "data": "0x313ce567"}, "latest")); decimals != 6 {
		t.Errorf("the token has %d decimals", decimals)
	}
	nonce := bytes.Repeat([]byte{0xab}, 32)
	hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 1_000, nonce)
	if err != nil {
		t.Fatal(err)
	}
	if got := balance(t, c, c.Treasury()); got != 1_000 {
		t.Errorf("the treasury has %d", got)
	}
	tx := call[struct{ Input, From, To string }](t, c, "eth_getTransactionByHash", "0x"+hex.EncodeToString(hash[:]))
	if !strings.HasSuffix(tx.Input, hex.EncodeToString(nonce)) || !strings.EqualFold(tx.To, c.Token()) || !strings.EqualFold(tx.From, c.Wallet().Address) {
		t.Errorf("the transaction is %+v", tx)
	}
	logs := call[[]struct{ Address string }](t, c, "eth_getLogs", map[string]any{"fromBlock": "0x0", "toBlock": "latest", "address": c.Token()})
	if len(logs) != 2 { // of the mint and the transfer
		t.Errorf("%d logs", len(logs))
	}
	if modules := call[map[string]string](t, c, "rpc_modules"); len(modules) != 4 || modules["eth"] == "" || modules["admin"] != "" {
		t.Errorf("open modules: %v", modules)
	}
}

// TestTokenRefuses what the real one does, and says why.
func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	poor, err := c.NewAccount(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Transfer(t.Context(), poor, c.Treasury(), 6, nil); err == nil {
		t.Error("more was sent than was there")
	}
	if _, err := c.Transfer(t.Context(), poor, c.Treasury(), 5, nil); err != nil {
		t.Error(err)
	}
}

// TestTokenIsStopped for one address and for all, and goes on.
func TestTokenIsStopped(t *testing.T) {
	t.Parallel()
	for _, function := range []string{"freeze", "pause"} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			c := open(t, "")
			who := c.Wallet()
			set := func(stop bool) error { return c.Pause(t.Context(), stop) }
			if function == "freeze" {
				set = func(stop bool) error { return c.Freeze(t.Context(), who.Address, stop) }
			}
			if err := set(true); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Transfer(t.Context(), who, c.Treasury(), 1, nil); err == nil {
				t.Error("it stops nothing")
			}
			if err := set(false); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Transfer(t.Context(), who, c.Treasury(), 1, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestClock makes payments as quickly as they go: each block has a second of its own, which has begun, or begins as soon as is allowed.
func TestClock(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int64{0, 20} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			t.Parallel()
			c := openAhead(t, "", time.Duration(seconds)*time.Second)
			last, most, first := int64(0), int64(0), number(t, call[string](t, c, "eth_blockNumber"))
			for n := 0; n < 4 || most < seconds && n < 100; n++ {
				hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 1, nil)
				if err != nil {
					t.Fatal(err)
				}
				paid := call[struct{ BlockNumber string }](t, c, "eth_getTransactionReceipt", "0x"+hex.EncodeToString(hash[:]))
				head := call[struct{ Number, Timestamp string }](t, c, "eth_getBlockByNumber", paid.BlockNumber, false) // "latest" is later than receipts
				at := number(t, head.Timestamp)
				ahead := at - time.Now().Unix()
				if ahead > seconds || at <= last || number(t, head.Number) != first+int64(n)+1 {
					t.Errorf("block %s after that of %d is of %d, %d s ahead", head.Number, last, at, ahead)
				}
				last, most = at, max(most, ahead)
			}
			if most < seconds {
				t.Errorf("blocks are up to %d s ahead, not %d", most, seconds)
			}
		})
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	if _, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 7, nil); err != nil {
		t.Fatal(err)
	}
	genesis, token, wallet, treasury := c.Genesis(), c.Token(), c.Wallet(), c.Treasury()
	head := call[string](t, c, "eth_blockNumber")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir)
	if c.Genesis() != genesis || c.Token() != token || c.Wallet() != wallet || c.Treasury() != treasury || call[string](t, c, "eth_blockNumber") != head {
		t.Error("it is another chain")
	}
	if got := balance(t, c, treasury); got != 7 {
		t.Errorf("the treasury has %d", got)
	}
	if _, err := c.Transfer(t.Context(), wallet, treasury, 1, nil); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Join(dir, "accounts.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the keys: %v, %v", info, err)
	}
	if open(t, "").Genesis() == genesis {
		t.Error("another chain has the same first block")
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, listen := range []string{"", "nowhere", "127.0.0.1:x", l.Addr().String()} {
		if c, err := devchain.Open(t.Context(), devchain.Config{Listen: listen}); err == nil {
			_ = c.Close()
			t.Errorf("it listens on %q", listen)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "accounts.json"), []byte(`{"owner":"0x00"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := devchain.Open(t.Context(), devchain.Config{Dir: dir, Listen: "127.0.0.1:0"}); err == nil {
		_ = c.Close()
		t.Error("keys that are none are taken")
	}
}

// TestAnswers asks for what the answer says more of than go-ethereum's types do, or is an error.
func TestAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	if again, err := devchain.Open(t.Context(), devchain.Config{Dir: dir, Listen: "127.0.0.1:0"}); err == nil {
		_ = again.Close()
		t.Error("two have the same directory")
	}
	block := call[struct {
		Transactions []map[string]any
	}](t, c, "eth_getBlockByNumber", "0x1", true)
	receipt := call[map[string]any](t, c, "eth_getTransactionReceipt", block.Transactions[0]["hash"])
	to, ok := receipt["to"]
	if !ok || to != nil || receipt["type"] != "0x2" || !strings.EqualFold(fmt.Sprint(receipt["contractAddress"]), c.Token()) {
		t.Errorf("the receipt of the token is %v", receipt)
	}
	fromNobody := []any{nil, "0x" + strings.Repeat("0", 64)}
	type mint struct{ BlockHash string }
	mints := call[[]mint](t, c, "eth_getLogs", map[string]any{"fromBlock": "0x0", "topics": fromNobody})
	if len(mints) != 1 {
		t.Fatalf("%d mints", len(mints))
	}
	inBlock := call[[]mint](t, c, "eth_getLogs", map[string]any{"blockHash": mints[0].BlockHash, "topics": fromNobody})
	if len(inBlock) != 1 {
		t.Errorf("%d mints in the block of one", len(inBlock))
	}
	for question, want := range map[string]string{
		`"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0xff"}]`:                          "beyond current head",
		`"eth_estimateGas","params":[{"to":"` + c.Token() + `","data":"0xa9059cbb"}]`:            `"code":3`,
		`"eth_call","params":[{"to":"` + c.Token() + `","gasPrice":"0x1","maxFeePerGas":"0x1"}]`: "both gasPrice and",
		`"eth_getTransactionReceipt","params":["0x` + strings.Repeat("1", 64) + `"]`:             `"result":null`,
	} {
		if got := post(t, c.URL(), "localhost", question); !strings.Contains(got, want) {
			t.Errorf("%s: %s", question, got)
		}
	}
	if got := post(t, c.URL(), "rebound.example", `"eth_chainId"`); !strings.Contains(got, "invalid host") {
		t.Errorf("to another name: %s", got)
	}
}

// post asks a chain by the name of a host.
func post(t *testing.T, url, host, question string) string {
	t.Helper()
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":` + question + `}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// BenchmarkOpen starts a new chain, token and all.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		c, err := devchain.Open(b.Context(), devchain.Config{Listen: "127.0.0.1:0"})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

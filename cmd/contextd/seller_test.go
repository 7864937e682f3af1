package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStockServer has ctx pay a stock server of x402. .ci/run names the directory of its npm packages where npm can install them.
func TestStockServer(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONTEXTD_X402_CLIENTS")
	if dir == "" {
		t.Skip("CONTEXTD_X402_CLIENTS names no directory with the npm packages of an x402 server")
	}
	source, err := os.ReadFile("testdata/seller.mjs")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, fmt.Sprintf("seller-%d.mjs", time.Now().UnixNano())) // beside its packages
	if err := os.WriteFile(name, source, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	server := exec.CommandContext(t.Context(), "node", name, "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC")
	server.Dir, server.Stderr = dir, os.Stderr
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	home := t.TempDir()
	ctx := func(args ...string) string {
		t.Helper()
		c := programOf(t, "ctx", args...)
		c.Env = append(c.Env, "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "CTX_CONFIG_DIR="+home, "CTX_BASE_URL=http://127.0.0.1:1",
			"CTX_WALLET_PRIVATE_KEY=0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d", "CTX_RPC_URL=", "CTX_TOKEN=", "CTX_SECRET_STORE=env")
		var said strings.Builder
		c.Stderr = &said
		text, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, said.String())
		}
		return string(text)
	}
	if got := ctx("pay", url+"/report?of=gold", "--max-usd", "0.002"); got != "sold gold" {
		t.Errorf("it is answered %q", got)
	}
	if got := ctx("pay", url+"/report", "-d", `{"of":"gold"}`, "--max-usd", "0.003"); got != `{"sold":{"of":"gold"}}` {
		t.Errorf("a body is answered %q", got)
	}
	if got := strings.TrimSpace(ctx("pay", "receipts", "--jq", "map([.amountMicros, .state, .network, .asset, .txHash == .authorization])")); got !=
		`[[3000,"answered","eip155:8453","USDC",true],[2000,"answered","eip155:8453","USDC",true]]` {
		t.Errorf("the journal has %s", got)
	}
}

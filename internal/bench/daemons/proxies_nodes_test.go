package daemons_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// beside is two daemons behind a proxy that is set up as the handbook says for nodes. Each has its copy of a data directory, and so the same
// keys: what is tried is the proxy.
type beside struct {
	t       *testing.T
	front   string
	dirs    [2]string
	listen  [2]string
	nodes   [2]*daemontest.Daemon
	key     string
	credits int64 // at each node

	output testbed.Log // of the proxy

	answered, turnedAway, streams, open atomic.Int64 // calls, calls, streams so far, streams now
}

// newBeside starts both daemons, and the proxy.
func newBeside(t *testing.T, program string) *beside {
	t.Helper()
	if os.Getenv("CONTEXTD_PROXIES") == "" {
		t.Skip("SKIPPED: it runs with CONTEXTD_PROXIES=1")
	}
	b := &beside{t: t, front: freeAddress(t), credits: 1_000_000, dirs: [2]string{testbed.Files(t), testbed.Files(t)}}
	made := daemontest.Start(t, func(c *daemon.Config) { c.DataDir = b.dirs[0] })
	b.key = made.Key(t, api.TierPro)
	made.Grant(t, b.key, b.credits)
	made.Stop(t)
	if err := errors.Join(os.Remove(filepath.Join(b.dirs[0], "admin.sock")), os.CopyFS(b.dirs[1], os.DirFS(b.dirs[0]))); err != nil {
		t.Fatal(err)
	}
	for i := range b.nodes {
		b.listen[i] = freeAddress(t)
		b.start(i)
	}
	b.proxy(program)
	return b
}

// start starts a node.
func (b *beside) start(i int) {
	b.t.Helper()
	b.nodes[i] = daemontest.Open(b.t, func(c *daemon.Config) {
		c.DataDir, c.Listen, c.PublicURL, c.Drain = b.dirs[i], b.listen[i], "https://"+publicName, 5*time.Second
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	b.nodes[i].Run(b.t)
}

// proxy starts the proxy.
func (b *beside) proxy(program string) {
	b.t.Helper()
	dir := b.t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
		return path
	}
	addresses := []string{"10.0.0.1:8402", b.listen[0], "10.0.0.2:8402", b.listen[1]}
	var arguments []string
	switch program {
	case "nginx":
		text := replaced(b.t, block(b.t, "nodes", "nginx"), append(addresses, "\tserver 10.0.0.3:8402 max_fails=1 fail_timeout=2s;\n", "",
			"listen 443 ssl", "listen "+b.front, "\tssl_certificate /etc/nginx/context.pem;\n", "",
			"\tssl_certificate_key /etc/nginx/context.key;\n", "", "/var/log/nginx", dir)...)
		arguments = []string{"-e", dir + "/start.log", "-c", file("nginx.conf", nginxAround(dir, text))}
	case "caddy":
		text := replaced(b.t, block(b.t, "nodes", "caddyfile"), append(addresses, " 10.0.0.3:8402", "",
			publicName+" {", "{\n\tadmin off\n\tauto_https off\n}\nhttp://"+publicName+b.front[strings.LastIndex(b.front, ":"):]+" {\n\tbind 127.0.0.1")...)
		arguments = []string{"run", "--adapter", "caddyfile", "--config", file("Caddyfile", text)}
	case "haproxy":
		front, _, _ := strings.Cut(block(b.t, "run", "haproxy"), "\nbackend ")
		text := replaced(b.t, front, ":443 ssl crt /etc/haproxy/context.pem", b.front) + "\n" +
			replaced(b.t, block(b.t, "nodes", "haproxy"), append(addresses, "\tserver node3 10.0.0.3:8402\n", "")...)
		arguments = []string{"-db", "-f", file("haproxy.cfg", "global\n\tlog stdout format raw local0\ndefaults\n\ttimeout connect 5s\n"+text)}
	}
	startProxy(b.t, b.front, dir, &b.output, program, arguments...)
}

// RoundTrip asks the proxy under its public name.
func (b *beside) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = publicName
	return http.DefaultTransport.RoundTrip(r)
}

// use calls at a steady rate until ctx is done, and keeps streams open.
func (b *beside) use(ctx context.Context, all *sync.WaitGroup) {
	b.t.Helper()
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL("http://"+b.front), sdk.WithRetries(0), sdk.WithAPIKey(sdk.NewKey(b.key)),
		sdk.WithHTTPClient(&http.Client{Transport: b}))
	if err != nil {
		b.t.Fatal(err)
	}
	steadily := func(what string, act func(ctx context.Context) error) {
		all.Go(func() {
			for ctx.Err() == nil {
				err := act(context.WithoutCancel(ctx))
				if errors.Is(err, errTurnedAway) {
					b.turnedAway.Add(1)
					continue
				}
				if err != nil {
					b.t.Errorf("%s %s fails: %v", time.Now().Format(time.StampMilli), what, err)
					return
				}
				b.answered.Add(1)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	for range callers {
		steadily("a call", func(ctx context.Context) error {
			_, err := client.Cite(ctx, "", 1)
			return err
		})
		steadily("a tool", b.tool)
	}
	for range openStreams {
		all.Go(func() {
			was := false
			for _, err := range client.Subscribe(sdk.SubscribeRequest{OnChange: func(c sdk.Connection) {
				switch {
				case c.Connected:
					b.streams.Add(1)
					b.open.Add(1)
				case was:
					b.open.Add(-1)
				}
				was = c.Connected
			}}).Events(ctx) {
				if err != nil && !errors.Is(err, context.Canceled) {
					b.t.Errorf("a stream ends: %v", err)
				}
			}
		})
	}
}

// errTurnedAway is of a POST that nginx sent to a node just as it stopped listening: nginx does not check health, and repeats no POST. It is not
// charged.
var errTurnedAway = errors.New("502 Bad Gateway of nginx")

// tool calls a tool with a POST, which no proxy repeats.
func (b *beside) tool(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.front+api.PathMCP,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.cite","arguments":{"ref":1}}}`))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+b.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := b.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode == http.StatusBadGateway && strings.HasPrefix(res.Header.Get("Server"), "nginx") {
		return errTurnedAway
	}
	if err == nil && (res.StatusCode != http.StatusOK || !strings.Contains(string(text), "structuredContent")) {
		err = fmt.Errorf("status %d: %.300s", res.StatusCode, text)
	}
	return err
}

// spent is what the calls have cost so far, by the books of a node that has ended.
func (b *beside) spent(i int) int64 {
	b.t.Helper()
	left, err := b.nodes[i].Credits().Balance(b.t.Context(), account.OperatorID, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return b.credits - left.Balance
}

// await waits until a node answers calls, as its books tell, and all streams are open.
func (b *beside) await(i int) {
	b.t.Helper()
	for begin, was := time.Now(), b.spent(i); b.spent(i) < was+20 || b.open.Load() < openStreams; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			b.t.Fatalf("node %d is not used, and %d streams are open", i+1, b.open.Load())
		}
		if b.t.Failed() {
			b.t.Fatal(&b.output)
		}
	}
}

// What is kept going: callers of each kind, and streams.
const callers, openStreams = 4, 8

// TestNodesBehindProxies restarts one node after the other while calls come at a steady rate: none fails, and none is charged twice.
func TestNodesBehindProxies(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"nginx", "haproxy", "caddy"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			b := newBeside(t, program)
			ctx, end := context.WithCancel(t.Context())
			var all sync.WaitGroup
			b.use(ctx, &all)
			for i := range b.nodes {
				b.await(i)
			}
			for i := range b.nodes {
				b.nodes[i].Stop(t)
				b.await(1 - i)
				b.start(i)
				b.await(i)
			}
			end()
			all.Wait()
			if spent := b.spent(0) + b.spent(1); spent != b.answered.Load()+b.streams.Load() {
				t.Errorf("%d calls were answered and %d streams opened, %d charged", b.answered.Load(), b.streams.Load(), spent)
			}
			if n, most := b.turnedAway.Load(), int64(callers*len(b.nodes)); n > most { // one for each caller at each stop
				t.Errorf("%d calls were turned away, at most %d can be under way", n, most)
			}
			t.Logf("%d calls answered, %d turned away, %d streams opened", b.answered.Load(), b.turnedAway.Load(), b.streams.Load())
		})
	}
}

package daemons_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/sdk/api"
)

// publicName is the host that the handbook's settings of proxies are for.
const publicName = "context.example.org"

// behind is a daemon behind a proxy that is set up as the handbook says, without TLS and on a port of its own.
type behind struct {
	t      *testing.T
	daemon *daemontest.Daemon
	log    testbed.Log // of the daemon
	front  string      // the address of the proxy
	dir    string      // of its files
	output testbed.Log // of the proxy
	stop   func()      // the proxy, whose logs are written then
}

// block is the one block of a kind on a page of the handbook.
func block(t *testing.T, page, kind string) string {
	t.Helper()
	for _, topic := range handbook.Topics() {
		if _, rest, ok := strings.Cut(topic.Text, "```"+kind+"\n"); ok && topic.Name == page {
			text, _, _ := strings.Cut(rest, "```")
			return text
		}
	}
	t.Fatalf("page %s of the handbook has no block of %s", page, kind)
	return ""
}

// replaced is text with pairs of what is there and what is to be there instead. All must be there.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the handbook's settings have no %q", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// proxies are, by program, how to run one with the handbook's settings, and what the daemon listens on.
func proxies() map[string]func(b *behind, settings string) (name string, arguments []string) {
	const socket = "/run/contextd/contextd.sock"
	return map[string]func(b *behind, settings string) (string, []string){
		"caddy": func(b *behind, settings string) (string, []string) {
			text := replaced(b.t, settings, "{\n\tlog {", "{\n\tadmin off\n\tauto_https off\n\tlog {", publicName+" {", "http://"+publicName+b.port()+" {\n\tbind 127.0.0.1",
				socket, b.socket())
			return "caddy", []string{"run", "--adapter", "caddyfile", "--config", b.file("Caddyfile", text)}
		},
		"nginx": func(b *behind, settings string) (string, []string) {
			text := replaced(b.t, settings, "listen 443 ssl", "listen "+b.front, "\tssl_certificate /etc/nginx/context.pem;\n", "",
				"\tssl_certificate_key /etc/nginx/context.key;\n", "", "/var/log/nginx", b.dir, socket, b.socket())
			return "nginx", []string{"-e", b.dir + "/start.log", "-c", b.file("nginx.conf", nginxAround(b.dir, text))}
		},
		"haproxy": func(b *behind, settings string) (string, []string) {
			text := replaced(b.t, settings, ":443 ssl crt /etc/haproxy/context.pem", b.front, "127.0.0.1:8402", strings.TrimPrefix(b.daemon.URL(), "http://"))
			return "haproxy", []string{"-db", "-f", b.file("haproxy.cfg", "global\n\tlog stdout format raw local0\ndefaults\n\ttimeout connect 5s\n"+text)}
		},
	}
}

// nginxAround is a configuration with text for HTTP and all files in dir.
func nginxAround(dir, text string) string {
	user := ""
	if os.Getuid() == 0 {
		user = "user root;"
	}
	return fmt.Sprintf("daemon off; pid %[1]s/pid; %[2]s events {} http { access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b;"+
		" fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e; gzip on; gzip_types *;\n%[3]s}", dir, user, text)
}

func (b *behind) port() string   { return b.front[strings.LastIndex(b.front, ":"):] }
func (b *behind) socket() string { return b.dir + "/contextd.sock" }

// file writes a file of the proxy's and returns its path.
func (b *behind) file(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// newBehind starts a daemon and the proxy before it, with the handbook's settings as change leaves them. Where there is no such proxy the
// test ends, unless CONTEXTD_PROXIES says that there has to be one.
func newBehind(t *testing.T, kind, program string, change func(settings string) string) *behind {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CONTEXTD_PROXIES") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &behind{t: t, dir: dir, front: freeAddress(t)}
	b.daemon = daemontest.Start(t, func(c *daemon.Config) {
		c.PublicURL, c.LogCalls, c.Logger = "https://"+publicName, true, b.log.Logger()
		if program == "haproxy" {
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		} else {
			c.Listen = "unix:" + b.socket()
		}
	})
	name, arguments := proxies()[program](b, change(block(t, "run", kind)))
	b.stop = startProxy(t, b.front, dir, &b.output, name, arguments...)
	return b
}

// startProxy starts a proxy and waits until it listens on front. It ends with the test, or by stop; its logs are written then.
func startProxy(t *testing.T, front, dir string, output *testbed.Log, name string, arguments ...string) (stop func()) {
	t.Helper()
	proxy := exec.Command(name, arguments...)
	proxy.Stdout, proxy.Stderr = output, output
	proxy.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = proxy.Process.Signal(syscall.SIGTERM)
		_ = proxy.Wait() // how it ends does not matter
	})
	t.Cleanup(stop)
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", front); err == nil {
			_ = conn.Close()
			return stop
		}
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("%s does not listen:\n%s", name, output)
		}
	}
}

// freeAddress is one that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// clientAddress is where clients of a proxy come from. It is not the address that the proxy connects from.
const clientAddress = "127.0.0.2"

// open asks the proxy. headers are names and values, one after the other. The client undoes no coding.
func (b *behind) open(method, path, body string, headers ...string) *http.Response {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 60*time.Second)
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, "http://"+b.front+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Host = publicName
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	dial := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: dial.DialContext}
	res, err := transport.RoundTrip(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v\n%s", method, path, err, &b.output)
	}
	b.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// events returns a function that waits for a line of res that begins with want. It does not wait as long as for the next pulse, which
// would push out what something on the way has kept.
func (b *behind) events(res *http.Response) (next func(want string)) {
	b.t.Helper()
	if res.StatusCode != http.StatusOK {
		b.t.Fatalf("the stream answers %d %v", res.StatusCode, res.Header)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		var body io.Reader = res.Body
		if res.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(res.Body); err != nil {
				return
			}
		}
		scan := bufio.NewScanner(body)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			lines <- scan.Text()
		}
	}()
	return func(want string) {
		b.t.Helper()
		late := time.After(api.PulseInterval / 2)
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					b.t.Fatalf("the stream ends before %q", want)
				}
				if strings.HasPrefix(line, want) {
					return
				}
			case <-late:
				b.t.Fatalf("%q does not come at once", want)
			}
		}
	}
}

// refresh makes a new state.
func (b *behind) refresh() {
	b.t.Helper()
	b.daemon.Clock.Advance(time.Minute)
	if err := b.daemon.Refresh(b.t.Context(), api.PackCrypto); err != nil {
		b.t.Fatal(err)
	}
}

// TestBehindProxies has the daemon used behind every proxy of the handbook.
func TestBehindProxies(t *testing.T) {
	t.Parallel()
	same := func(settings string) string { return settings }
	for name, c := range map[string]struct {
		kind, program string
		change        func(string) string
		holdsUp       bool // streams that are not compressed already
	}{
		"nginx": {"nginx", "nginx", same, false}, "haproxy": {"haproxy", "haproxy", same, false}, "caddy": {"caddyfile", "caddy", same, false},
		"caddy that encodes everything": {"caddyfile", "caddy", func(settings string) string {
			return regexp.MustCompile(`(?s)encode gzip \{.*?\n\t\}`).ReplaceAllString(settings, "encode gzip")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBehind(t, c.kind, c.program, c.change)
			key := b.daemon.Key(t, api.TierFree)
			b.streams(key, c.holdsUp)
			token := b.callers(key)
			b.secrets(key[api.KeyIDLength:], token)
		})
	}
}

// streams reads a stream of states with gzip and without, and one of MCP.
func (b *behind) streams(key string, holdsUp bool) {
	b.t.Helper()
	for accepted, coding := range map[string]string{"gzip, deflate, br": "gzip", "identity": ""} {
		res := b.open(http.MethodGet, "/v1/subscribe?pack=crypto&token="+key+"&more=1", "", "Accept-Encoding", accepted)
		if got := res.Header.Get("Content-Encoding"); got != coding {
			b.t.Errorf("a stream for a client that accepts %s has the coding %q", accepted, got)
		}
		next := b.events(res)
		next("event: pulse")
		b.refresh()
		next("event: delta")
	}
	if holdsUp {
		return
	}
	in := []string{"Authorization", "Bearer " + key, "Accept", "application/json, text/event-stream", "Accept-Encoding", "gzip", "Content-Type", "application/json"}
	res := b.open(http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
		`"clientInfo":{"name":"t","version":"1"}}}`, in...)
	in = append(in, "Mcp-Session-Id", res.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25")
	b.open(http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, in...)
	next := b.events(b.open(http.MethodGet, api.PathMCP, "", in...))
	res = b.open(http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"context://packs/crypto/state"}}`, in...)
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"error"`)) {
		b.t.Fatalf("resources/subscribe: %d %s %v", res.StatusCode, text, err)
	}
	b.refresh()
	next(`data: {"jsonrpc":"2.0","method":"notifications/resources/updated"`)
}

// callers looks at what the daemon knows of who calls, and at the cookie that it gives. It returns the secret of a mailed link.
func (b *behind) callers(key string) (token string) {
	b.t.Helper()
	for i, claimed := range []string{"", "203.0.113.9", "203.0.113.9, 127.0.0.1", "203.0.113.9, 203.0.113.10"} {
		path := fmt.Sprintf("/v1/cite?ref=1&i=%d", i)
		headers := []string{"Authorization", "Bearer " + key}
		for _, line := range strings.FieldsFunc(claimed, func(r rune) bool { return r == ' ' }) { // a line of the header each
			headers = append(headers, "X-Forwarded-For", strings.TrimSuffix(line, ","))
		}
		if res := b.open(http.MethodGet, path, "", headers...); res.StatusCode != http.StatusOK {
			b.t.Errorf("%s answers %d", path, res.StatusCode)
		}
	}
	if calls, known := b.log.Count("client="), b.log.Count("client="+clientAddress); calls != known || calls < 4 {
		b.t.Errorf("of %d calls %d are from %s:\n%s", calls, known, clientAddress, &b.log)
	}
	const address = "ada@example.org"
	if res := b.open(http.MethodPost, "/api/auth/email", `{"email":"`+address+`"}`, "Content-Type", "application/json"); res.StatusCode != http.StatusAccepted {
		b.t.Fatalf("asking for a link answers %d", res.StatusCode)
	}
	token = b.daemon.MailedToken(b.t, address)
	b.open(http.MethodGet, "/auth/email?token="+token, "")
	res := b.open(http.MethodPost, "/api/auth/email/verify", `{"token":"`+token+`"}`, "Content-Type", "application/json", "Origin", "https://"+publicName)
	cookies := res.Cookies()
	if res.StatusCode != http.StatusOK || len(cookies) != 1 || !cookies[0].Secure || !cookies[0].HttpOnly {
		b.t.Errorf("signing in answers %d with %v", res.StatusCode, res.Header["Set-Cookie"])
	}
	return token
}

// secrets looks for them in all that the proxy has logged, also of calls that nobody answered.
func (b *behind) secrets(secrets ...string) {
	b.t.Helper()
	b.daemon.Stop(b.t)
	if res := b.open(http.MethodGet, "/v1/subscribe?token=cv_test_"+secrets[0], ""); res.StatusCode < http.StatusInternalServerError {
		b.t.Errorf("without a daemon the proxy answers %d", res.StatusCode)
	}
	for begin := time.Now(); strings.Count(b.logs(), "token=MASKED") < 4; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			b.t.Errorf("not every request with a token is logged:\n%s", b.logs())
			break
		}
	}
	b.stop()
	for i, secret := range secrets {
		if strings.Contains(b.logs(), secret) {
			b.t.Errorf("the logs hold secret %d:\n%s", i, b.logs())
		}
	}
}

// logs are all logs of the proxy.
func (b *behind) logs() string {
	b.t.Helper()
	logs := b.output.String()
	files, err := filepath.Glob(filepath.Join(b.dir, "*.log"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			b.t.Fatal(err)
		}
		logs += string(text)
	}
	return logs
}

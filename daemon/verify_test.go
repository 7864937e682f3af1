package daemon_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ctxprogram "github.com/contextd/contextd/client"
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/testbed"
	witnesses "github.com/contextd/contextd/daemon/translog/witness"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// person runs ctx with a memory.
type person struct {
	env map[string]string
	now func() time.Time
}

// newPerson is somebody who has never seen a service.
func newPerson(t *testing.T, clock *daemontest.Clock, url, key string) *person {
	t.Helper()
	dir := t.TempDir()
	return &person{now: func() time.Time { return clock.Now().Add(time.Minute) }, env: map[string]string{"CTX_BASE_URL": url, "CTX_API_KEY": key,
		"CTX_CONFIG_DIR": filepath.Join(dir, "config"), "XDG_DATA_HOME": filepath.Join(dir, "data"), "HOME": dir, "CTX_RETRIES": "0"}}
}

// run runs ctx until it ends, with its output to out.
func (p *person) run(ctx context.Context, out io.Writer, args ...string) (code int, stderr string) {
	var errOut bytes.Buffer
	code = ctxprogram.Main(ctx, args, cli.System{In: strings.NewReader(""), Out: out, Err: &errOut, Now: p.now,
		LookupEnv: func(name string) (string, bool) { value, ok := p.env[name]; return value, ok }})
	return code, errOut.String()
}

// does runs ctx, which must end with a code, and returns its output.
func (p *person) does(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out bytes.Buffer
	code, stderr := p.run(t.Context(), &out, args...)
	if code != want {
		t.Fatalf("ctx %s: exit %d, want %d\n%s\n%s", strings.Join(args, " "), code, want, out.String(), stderr)
	}
	return out.String(), stderr
}

// bridges has ctx mcp stdio pass a session on with a call at its end, and returns what an agent gets.
func (p *person) bridges(t *testing.T, call string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + call + "\n"
	code := ctxprogram.Main(t.Context(), []string{"mcp", "stdio"}, cli.System{In: strings.NewReader(in), Out: &out, Err: &errOut, Now: p.now,
		LookupEnv: func(name string) (string, bool) { value, ok := p.env[name]; return value, ok }})
	if code != 0 {
		t.Fatalf("ctx mcp stdio: exit %d\n%s", code, errOut.String())
	}
	return out.String()
}

// serveWitness runs ctx verify witness serve until the test ends, and returns its verifier key and its address.
func serveWitness(t *testing.T, p *person) (key, url string) {
	t.Helper()
	key, _ = p.does(t, 0, "witness", "key", "--name", "w.test/1")
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code, _ := p.run(ctx, in, "witness", "serve", "--listen", "127.0.0.1:0")
		in.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the witness ended with %d", code)
		}
	})
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	p.does(t, cli.ExitUsage, "witness", "serve", "--listen", "127.0.0.1:0") // one process has it
	return strings.TrimSpace(key), strings.TrimSpace(string(line[:n]))
}

// TestVerified follows a service that is witnessed, proves what it said once it is gone, and meets a copy of it at the same address.
func TestVerified(t *testing.T) {
	t.Parallel()
	clock := daemontest.NewClock()
	watcher := newPerson(t, clock, "", "")
	witness, witnessURL := serveWitness(t, watcher)
	dir := t.TempDir()
	config := func(dir, listen string) func(*daemon.Config) {
		return func(c *daemon.Config) {
			c.DataDir, c.Now, c.Listen = dir, clock.Now, listen
			c.Witnesses = []witnesses.Witness{{Key: witness, URL: witnessURL}}
		}
	}
	one := daemontest.Start(t, config(filepath.Join(dir, "one"), "127.0.0.1:0"))
	address := strings.TrimPrefix(one.URL(), "http://")
	watcher.does(t, 0, "witness", "add", one.URL())
	user := newPerson(t, clock, one.URL(), one.Key(t, api.TierPro))
	next := func(d *daemontest.Daemon, after time.Duration) {
		t.Helper()
		clock.Advance(after)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	bundle, answer := filepath.Join(dir, "said.json"), filepath.Join(dir, "answer.json")
	said, _ := user.does(t, 0, "fresh", "-o", "json", "--bundle", bundle)
	if err := os.WriteFile(answer, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	next(one, 5*time.Minute)
	user.does(t, 0, "fresh")
	user.does(t, 0, "brief")
	for _, args := range [][]string{{"tail", "--count", "1"}, {"mcp", "call", "fresh"}, {"mcp", "call", "brief"}, {"mcp", "call", "snapshot", "at=5m"}} {
		if _, stderr := user.does(t, 0, args...); strings.Contains(stderr, "warning") {
			t.Errorf("ctx %v: %s", args, stderr)
		}
	}
	user.does(t, 0, "verify", answer)
	user.does(t, 0, "verify", "--at", "6m")
	witnessed := func() string {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			var out bytes.Buffer
			code, stderr := user.run(t.Context(), &out, "verify", "--witness", witness, "--witnesses", "1")
			if code == 0 {
				return out.String()
			}
			if code != cli.ExitUnproven || !strings.Contains(stderr, "0 of the witnesses") || time.Now().After(end) {
				t.Fatalf("exit %d\n%s", code, stderr)
			}
		}
	}
	if got := witnessed(); !strings.Contains(got, "witness   w.test/1, at 2026-11-20") {
		t.Error(got)
	}
	if list, err := admin.Logs(t.Context(), one.Config.DataDir); err != nil || len(list) != 1 || len(list[0].Witnesses) != 1 ||
		list[0].Witnesses[0].Since != nil || list[0].Witnesses[0].Size != list[0].Size {
		t.Errorf("of its witnesses it says %+v, %v", list, err)
	}
	if stdout := user.bridges(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"context.fresh","arguments":{}}}`); !strings.Contains(stdout, `"structuredContent"`) {
		t.Errorf("an agent is told %.400s", stdout)
	}
	one.Stop(t)
	_ = os.Remove(filepath.Join(dir, "one", "admin.sock")) // no file
	if err := os.CopyFS(filepath.Join(dir, "two"), os.DirFS(filepath.Join(dir, "one"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", bundle}, {"verify", bundle, "-o", "json"}} { // the daemon is dead
		if stdout, _ := user.does(t, 0, args...); !strings.Contains(stdout, "remembered") {
			t.Error(stdout)
		}
	}
	one = daemontest.Start(t, config(filepath.Join(dir, "one"), address))
	next(one, 5*time.Minute)
	next(one, 5*time.Minute)
	user.does(t, 0, "fresh")
	if got := witnessed(); !strings.Contains(got, "w.test/1") {
		t.Error(got)
	}
	one.Stop(t)
	clock.Advance(time.Second) // the copy does the same, a second later
	log := &testbed.Log{}
	two := daemontest.Start(t, config(filepath.Join(dir, "two"), address), func(c *daemon.Config) { c.Logger = log.Logger() })
	defer two.Stop(t)
	if _, stderr := user.does(t, cli.ExitUnproven, "snapshot", "--at", "12m"); !strings.Contains(stderr, "what the service said was taken back") {
		t.Error(stderr)
	}
	for range 3 {
		next(two, 5*time.Minute)
	}
	for _, args := range [][]string{{"fresh"}, {"brief"}, {"verify"}, {"tail", "--count", "1"}, {"watch", "--severity", "notice"}, {"mcp", "call", "fresh"}} {
		stdout, stderr := user.does(t, cli.ExitUnproven, append(args, "-o", "json")...)
		if stdout != "" || !strings.Contains(stderr, `"log_forked"`) || !strings.Contains(stderr, "both checkpoints are kept in ") {
			t.Errorf("ctx %v: %s%s", args, stdout, stderr)
		}
	}
	ask := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"context.fresh","arguments":{}}}`
	if stdout := user.bridges(t, ask); strings.Contains(stdout, `"state"`) || !strings.Contains(stdout, "two histories") {
		t.Errorf("an agent is told %.400s", stdout)
	}
	list, err := admin.Logs(t.Context(), two.Config.DataDir)
	if err != nil || len(list) != 1 || len(list[0].Witnesses) != 1 || list[0].Witnesses[0].Name != "w.test/1" || list[0].Witnesses[0].Since == nil {
		t.Errorf("the copy says of its witnesses %+v, %v", list, err)
	}
	stranger := newPerson(t, clock, two.URL(), user.env["CTX_API_KEY"]) // who has never seen the first is told by the witness alone
	stranger.does(t, 0, "fresh")
	for end := time.Now().Add(time.Minute); log.Count("witness does not sign") == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the witness signs the copy, or nobody says that it does not\n%s", log)
		}
	}
	stranger.does(t, cli.ExitUnproven, "verify", "--witness", witness, "--witnesses", "1")
}

// TestDated has a daemon put rounds of a beacon into its leaves: ctx tells a state of before it was configured, one with a round, and one of
// a time when the beacon lied.
func TestDated(t *testing.T) {
	t.Parallel()
	var round atomic.Int64
	round.Store(1000)
	drand := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"round":%d,"randomness":"fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd",`+
			`"signature":"b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"}`, round.Load())
	}))
	t.Cleanup(drand.Close)
	clock, log, dir := daemontest.NewClock(), &testbed.Log{}, t.TempDir()
	config := func(beacon string) func(*daemon.Config) {
		return func(c *daemon.Config) {
			c.DataDir, c.Now, c.Logger, c.Beacon = filepath.Join(dir, "data"), clock.Now, log.Logger(), beacon
		}
	}
	bad, cfg := drand.URL+"/public/latest", daemon.Config{}
	cfg.Beacon = bad
	if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), "log.beacon.url: ") {
		t.Errorf("%s is taken: %v", bad, err)
	}
	daemontest.Start(t, config("")).Stop(t)
	clock.Advance(5 * time.Minute)
	d := daemontest.Start(t, config(drand.URL+"/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971/public/latest"))
	user := newPerson(t, clock, d.URL(), d.Key(t, api.TierPro))
	next := func() {
		t.Helper()
		clock.Advance(5 * time.Minute)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	next()
	round.Store(1001) // which that signature is not of
	next()
	next()
	const dated, none = "not made before 2023-08-23 15:59:24 UTC, says round 1000 of drand quicknet", "No outside time is known"
	for at, want := range map[string]string{"2026-11-20T20:01": none, "2026-11-20T20:11": dated, "2026-11-20T20:16": none} {
		if stdout, _ := user.does(t, 0, "verify", "--at", at); !strings.Contains(stdout, want) {
			t.Errorf("%s: no %q\n%s", at, want, stdout)
		}
	}
	if n := log.Count("beacon gives no round"); n != 1 {
		t.Errorf("the outage is told %d times\n%s", n, log)
	}
}

// lied is a recording in which one source says something else.
type lied struct {
	daemon.Recording
	host     string
	old, new string
}

func (l lied) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.Recording.RoundTrip(req)
	if err != nil || req.URL.Hostname() != l.host {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte(l.old), []byte(l.new))))
	resp.ContentLength = -1
	return resp, err
}

// TestCorroborates compares services that asked the same sources: all rows are equal, but for those of a source that told one of them
// something else, whose figures are told.
func TestCorroborates(t *testing.T) {
	t.Parallel()
	clock := daemontest.NewClock()
	start := func(changes ...func(*daemon.Config)) *daemontest.Daemon {
		return daemontest.Start(t, append(changes, func(c *daemon.Config) { c.Now = clock.Now })...)
	}
	one, same := start(), start()
	other := start(func(c *daemon.Config) {
		c.Recording = lied{c.Recording, "mempool.space", `"fastestFee":`, `"fastestFee":1`}
	})
	clock.Advance(time.Minute)
	user := newPerson(t, clock, one.URL(), one.Key(t, api.TierPro))
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(other.Key(t, api.TierPro)), 0o600); err != nil {
		t.Fatal(err)
	}
	user.does(t, 0, "profile", "add", "other", "--base-url", other.URL(), "--api-key-file", key)
	sources := len(pack.Crypto().Sources)
	for _, c := range []struct {
		with string
		want []string
	}{
		{same.URL(), []string{fmt.Sprintf("has the same rows of %[1]d of %[1]d sources", sources)}},
		{other.URL(), []string{fmt.Sprintf("has the same rows of %d of %d sources", sources-1, sources), "\n  differs   mempool-fees, fetched 0s apart: ",
			" % apart at most, "}},
	} {
		stdout, _ := user.does(t, 0, "verify", "--corroborate", c.with)
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("no %q\n%s", want, stdout)
			}
		}
	}
}

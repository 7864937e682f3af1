package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// buffer is a bytes.Buffer that may be read while it is written.
type buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write appends p.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is what was written.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// ctxOf is ctx in this process against a service, by a clock. On a terminal it is one of 100 columns without colours.
type ctxOf struct {
	t    *testing.T
	url  string
	key  string // "" for none
	tty  bool
	now  func() time.Time
	said buffer // stderr
}

// run runs ctx and returns what it wrote.
func (c *ctxOf) run(args ...string) string {
	c.t.Helper()
	var out buffer
	if exit := c.start(c.t.Context(), &out, args...); exit != 0 {
		c.t.Fatalf("ctx %v: exit %d\n%s%s", args, exit, out.String(), c.said.String())
	}
	return out.String()
}

// start runs ctx, which writes to out, and returns its exit code.
func (c *ctxOf) start(ctx context.Context, out io.Writer, args ...string) int {
	env := map[string]string{"CTX_BASE_URL": c.url, "HOME": c.t.TempDir(), "NO_COLOR": "1", "LANG": "C.UTF-8"}
	if c.key != "" {
		env["CTX_API_KEY"] = c.key
	}
	return client.Main(ctx, args, cli.System{In: strings.NewReader(""), Out: out, Err: &c.said, OutTTY: c.tty, Width: 100, Now: c.now,
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }})
}

// lineOf is the first line of text that begins so, "" where none does.
func lineOf(text, prefix string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}

// marked checks that a line says of its datum that it is so old where it is overdue, and nothing else.
func marked(t *testing.T, step, what, line string, age time.Duration, late bool) {
	t.Helper()
	want := ""
	if late {
		want = human.Stale(age)
	}
	if line == "" || !strings.Contains(line, want) || (want == "") == strings.Contains(line, "STALE") {
		t.Errorf("%s: %s is marked %q by %q", step, what, want, line)
	}
}

// TestAgeIsNeverALie walks a daemon through outages. At every step ctx tells the age of each price as it is, in text and in JSON.
func TestAgeIsNeverALie(t *testing.T) {
	t.Parallel()
	w := daemontest.NewWalk(t)
	key := w.Key(t, api.TierPro)
	text := &ctxOf{t: t, url: w.URL(), key: key, tty: true, now: w.Clock.Now}
	program := &ctxOf{t: t, url: w.URL(), key: key, now: w.Clock.Now}
	w.Outages(func(step string) {
		t.Helper()
		want := w.Truth()
		var fresh api.StateResponse
		if err := json.Unmarshal([]byte(program.run("fresh")), &fresh); err != nil || !reflect.DeepEqual(withoutSources(fresh.Freshness), want) {
			t.Errorf("%s, ctx state: %+v, %v; the truth is %+v", step, fresh.Freshness, err, want)
		}
		header := "state age " + human.Age(time.Duration(want.AgeSeconds)*time.Second)
		if want.DataAgeSeconds > want.AgeSeconds {
			header += ", data up to " + human.Age(time.Duration(want.DataAgeSeconds)*time.Second)
		}
		says := func(command, line string) {
			t.Helper()
			if !strings.Contains(line, header) || strings.Contains(line, "STALE") != (want.DataAgeSeconds > api.MaxFreshAge) {
				t.Errorf("%s, %s does not say %q: %s", step, command, header, line)
			}
		}
		overview := text.run("fresh")
		says("ctx state on a terminal", lineOf(overview, "crypto"))
		checkRows(t, step, w, overview, fresh.State)

		brief := text.run("brief")
		says("ctx brief", lineOf(brief, "crypto brief"))
		for _, c := range fresh.Citations {
			age, _ := w.Late(c.Ref)
			if line := lineOf(brief, text.anchor(c.Ref)); line != "" && !strings.Contains(line, "fetched "+human.Age(age)+" ago") {
				t.Errorf("%s, ctx brief: [%d] is %s old: %s", step, c.Ref, human.Age(age), line)
			}
		}
		var event struct{ Freshness api.Freshness }
		if err := json.Unmarshal([]byte(program.run("tail", "--count", "1")), &event); err != nil || !reflect.DeepEqual(withoutSources(event.Freshness), want) {
			t.Errorf("%s, ctx state follow: %+v, %v; the truth is %+v", step, event.Freshness, err, want)
		}
		if line := text.run("tail", "--count", "1"); want.DataAgeSeconds > want.AgeSeconds {
			says("ctx state follow on a terminal", line)
		}
	})
}

// withoutSources is f as far as the walk knows the truth of it; daemon tests the rest.
func withoutSources(f api.Freshness) api.Freshness {
	f.Sources, f.Flags, f.Provenance = nil, nil, ""
	return f
}

// anchor is how the line of a source of the brief begins.
func (c *ctxOf) anchor(ref int) string {
	return cli.Style{}.FitRight("["+human.Count(int64(ref))+"]", 4) + " "
}

// checkRows compares what the overview says of the rows of a state with the truth of their sources.
func checkRows(t *testing.T, step string, w *daemontest.Walk, overview string, state json.RawMessage) {
	t.Helper()
	var s api.CryptoState
	if err := json.Unmarshal(state, &s); err != nil {
		t.Fatal(err)
	}
	check := func(what, prefix string, ref int) {
		t.Helper()
		if line := lineOf(overview, "  "+prefix+" "); line != "" {
			age, late := w.Late(ref)
			marked(t, step, what, line, age, late)
		}
	}
	for i, m := range s.TopMovers {
		if i < 5 && lineOf(overview, "  "+m.Symbol+" ") == "" {
			t.Errorf("%s: %s is not shown:\n%s", step, m.Symbol, overview)
		}
		check(m.ID, m.Symbol, m.Ref)
	}
	for _, r := range s.ProtocolTVL {
		check(r.ID, r.Name, r.Ref)
	}
	for _, p := range s.TrendingPools {
		check(p.ID, p.Pair, p.Ref)
	}
	check("fear and greed", "Fear & Greed", s.Sentiment.FearGreed.Ref)
	if s.Sentiment.Market != nil {
		check("the market", "Market cap", s.Sentiment.Market.Ref)
	}
	if s.Sentiment.Fees != nil {
		check("fees", "BTC fee", s.Sentiment.Fees.Ref)
	}
}

// TestTailMarksRows: what changes in a row whose source is overdue says so, and what changes elsewhere does not.
func TestTailMarksRows(t *testing.T) {
	t.Parallel()
	w := daemontest.NewWalk(t)
	c := &ctxOf{t: t, url: w.URL(), key: w.Key(t, api.TierPro), tty: true, now: w.Clock.Now}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		exit := c.start(ctx, in, "tail", "--all", "--count", "2")
		_ = in.Close()
		ended <- exit
	}()
	first := make([]byte, 4096)
	if n, err := out.Read(first); err != nil || strings.Contains(string(first[:n]), "STALE") {
		t.Fatalf("%v: %s", err, first[:n])
	}
	w.Clock.Advance(4 * time.Minute)
	w.Recording.Advance()
	w.Recording.Break("api.coingecko.com", nil)
	if err := w.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if exit := <-ended; exit != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", exit, err, c.said.String())
	}
	head, lines, _ := strings.Cut(string(text), "\n")
	if !strings.Contains(head, "state age 0s, data up to 4m00s") {
		t.Errorf("the line over the changes: %s", head)
	}
	carried := 0
	for line := range strings.Lines(lines) {
		if strings.Contains(line, "].stale") && strings.HasPrefix(line, "  + ") {
			carried++
			marked(t, "tail", "a carried row", line, 4*time.Minute, true)
		}
		if strings.Contains(line, "  protocol_tvl[") || strings.HasPrefix(line, "  - ") {
			marked(t, "tail", "a fresh row, or one that is gone", line, 0, false)
		}
	}
	if carried == 0 || !strings.Contains(lines, "  protocol_tvl[") {
		t.Errorf("no row of either kind changed:\n%s", text)
	}
}

// TestReplayIsOld: an answer that was paid for and is given again after 20 hours is as old as it is, and so is each price in it.
func TestReplayIsOld(t *testing.T) {
	t.Parallel()
	chain := daemontest.Chain(t)
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	d := daemontest.Start(t, daemontest.On(chain), func(c *daemon.Config) { c.Now, c.Every = now, 5*time.Minute })
	at, err := url.Parse(d.URL())
	if err != nil {
		t.Fatal(err)
	}
	proof := map[string]string{}
	for _, path := range []string{api.PathFresh, api.PathBrief} {
		proof[path] = daemontest.Pay(t, chain, d.URL()+path)
	}
	paid := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Header.Set(api.HeaderPayment, proof[r.In.URL.Path])
	}})
	defer paid.Close()
	text := &ctxOf{t: t, url: paid.URL, tty: true, now: now}
	program := &ctxOf{t: t, url: paid.URL, now: now}
	if first := text.run("fresh"); strings.Contains(first, "STALE") {
		t.Errorf("new it is old:\n%s", first)
	}
	brief := text.run("brief")
	ahead.Store(int64(20 * time.Hour))
	again := text.run("fresh")
	for _, line := range []string{lineOf(again, "crypto"), lineOf(again, "  BTC "), lineOf(again, "  Lido "), lineOf(again, "  Market cap ")} {
		if !strings.Contains(line, "STALE") || !strings.Contains(line, "20h0") {
			t.Errorf("after 20 hours it says %q:\n%s", line, again)
		}
	}
	if old := text.run("brief"); strings.Contains(brief, "STALE") || !strings.Contains(lineOf(old, "crypto brief"), "STALE state age 20h0") ||
		!strings.Contains(old, "fetched 20h0") {
		t.Errorf("the brief:\n%s", old)
	}
	var fresh api.StateResponse
	if err := json.Unmarshal([]byte(program.run("fresh")), &fresh); err != nil || fresh.Freshness.AgeSeconds < 72_000 || fresh.Freshness.DataAgeSeconds < 72_000 {
		t.Errorf("as JSON: %+v, %v", fresh.Freshness, err)
	}
	if exit := program.start(t.Context(), io.Discard, "fresh", "--max-age", "19h"); exit != cli.ExitStale {
		t.Errorf("--max-age 19h ends with %d", exit)
	}
	if said := program.said.String(); !strings.Contains(said, "given again, 20h0") {
		t.Errorf("it does not say that it is given again: %s", said)
	}
	if res, err := http.Get(paid.URL + api.PathFresh); err != nil || res.Body.Close() != nil || res.Header.Get(api.HeaderReplayed) != "true" {
		t.Errorf("it was not given again: %v", err)
	}
}

package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// marked is a pack of an id whose states bear a mark. It asks the sources of the crypto pack.
func marked(id, mark string) daemon.Pack {
	p := pack.Crypto()
	compact := p.Compact
	p.ID, p.Title, p.Digest = id, id, mark
	p.Compact = func(in pack.Input) ([]byte, error) {
		text, err := compact(in)
		return slices.Concat([]byte(`{"mark":"`+mark+`",`), text[1:]), err
	}
	return daemon.Pack{Pack: p}
}

// reordered is p with its first two sources in each other's place.
func reordered(p daemon.Pack) daemon.Pack {
	other := *p.Pack
	other.Sources = slices.Clone(p.Sources)
	other.Sources[0], other.Sources[1] = other.Sources[1], other.Sources[0]
	other.Digest += ", in another order"
	p.Pack = &other
	return p
}

// fewer is p without its last source.
func fewer(p daemon.Pack) daemon.Pack {
	other := *p.Pack
	other.Sources = other.Sources[:len(other.Sources)-1]
	other.Digest += ", fewer"
	p.Pack = &other
	return p
}

// mark is that of a state.
func mark(state json.RawMessage) string {
	var s struct{ Mark string }
	_ = json.Unmarshal(state, &s)
	return s.Mark
}

// apply has d serve packs, and crypto before them.
func apply(t *testing.T, d *daemontest.Daemon, packs ...daemon.Pack) error {
	t.Helper()
	next := d.Config.Reloadable
	next.Packs = append([]daemon.Pack{{Pack: pack.Crypto()}}, packs...)
	return d.Apply(t.Context(), next)
}

// mcpCall calls a method of MCP without a session and returns the answer.
func mcpCall(t *testing.T, d *daemontest.Daemon, key, method, params string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+api.PathMCP, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// heard collects the events of a stream until it ends.
type heard struct {
	mu     sync.Mutex // guards what follows
	marks  []string   // of the states
	errors []string
	err    error // of the end
	ended  bool
}

// hear subscribes to a pack. The stream ends with the test at the latest.
func hear(t *testing.T, c *sdk.Client, pack string) *heard {
	t.Helper()
	h, done := &heard{}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for e, err := range c.Subscribe(sdk.SubscribeRequest{Pack: pack}).Events(ctx) {
			h.note(e, err)
		}
	}()
	until(t, "the first state comes", func() bool { return len(h.read().marks) > 0 })
	return h
}

func (h *heard) note(e sdk.Event, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		h.err, h.ended = err, true
	case e.Type == api.EventError:
		h.errors = append(h.errors, e.Message)
	default:
		h.marks = append(h.marks, mark(e.State.State))
	}
}

// read is what was heard so far.
func (h *heard) read() *heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &heard{marks: slices.Clone(h.marks), errors: slices.Clone(h.errors), err: h.err, ended: h.ended}
}

// jobsOf are the jobs of a pack.
func jobsOf(d *daemontest.Daemon, pack string) []admin.Job {
	return slices.DeleteFunc(d.Jobs(), func(j admin.Job) bool { return j.Pack != pack })
}

// scene is a daemon with the crypto pack, to which others come.
type scene struct {
	t   *testing.T
	d   *daemontest.Daemon
	key string
	c   *sdk.Client
}

func newScene(t *testing.T, changes ...func(*daemon.Config)) *scene {
	t.Helper()
	d := daemontest.Start(t, append(changes, func(c *daemon.Config) { c.AdminListen = "127.0.0.1:0" })...)
	key := d.Key(t, api.TierTeam)
	d.Grant(t, key, 1000)
	return &scene{t, d, key, client(t, d, key)}
}

// mark is that of the newest state of a pack, "" where there is none.
func (s *scene) mark(pack string) string {
	s.t.Helper()
	answer, err := s.c.Fresh(s.t.Context(), pack)
	if err != nil {
		return ""
	}
	return mark(answer.State)
}

// credits are what is left.
func (s *scene) credits() int64 {
	s.t.Helper()
	have, err := s.d.Credits().Balance(s.t.Context(), account.OperatorID, s.key[:api.KeyIDLength])
	if err != nil {
		s.t.Fatal(err)
	}
	return have.Balance
}

// served checks whether all ways to a pack are there, or none.
func (s *scene) served(id string, want bool) {
	s.t.Helper()
	list, err := s.c.Packs(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.c.Fresh(s.t.Context(), id)
	quoted := `"` + id + `"`
	for what, is := range map[string]bool{
		"fresh":                !errors.Is(err, sdk.ErrPackNotFound),
		"the list of packs":    slices.ContainsFunc(list.Packs, func(p api.PackInfo) bool { return p.ID == id }),
		"its jobs":             len(jobsOf(s.d, id)) == 2,
		"the metrics":          strings.Contains(read(s.t, s.d.AdminURL()+"/metrics"), `pack=`+quoted),
		"the tools of MCP":     strings.Contains(mcpCall(s.t, s.d, s.key, "tools/list", "{}"), quoted),
		"the resources":        strings.Contains(mcpCall(s.t, s.d, s.key, "resources/list", "{}"), "context://packs/"+id+"/state"),
		"a resource":           strings.Contains(mcpCall(s.t, s.d, s.key, "resources/read", `{"uri":"context://packs/`+id+`/state"}`), "generatedAt"),
		"a tool":               strings.Contains(mcpCall(s.t, s.d, s.key, "tools/call", `{"name":"context.fresh","arguments":{"pack":`+quoted+`}}`), "generatedAt"),
		"the briefs' operator": !errors.Is(s.d.Narrate(s.t.Context(), id), sdk.ErrPackNotFound),
	} {
		if is != want {
			s.t.Errorf("%s know %s: %t, want %t", what, id, is, want)
		}
	}
}

// TestPacksComeAndGo: while the daemon runs, a pack is added, replaced and removed, by every way there is to it; the others notice nothing.
func TestPacksComeAndGo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.served("perps", false)
	untouched, crypto := hear(t, s.c, api.PackCrypto), jobsOf(s.d, api.PackCrypto)

	if err := apply(t, s.d, marked("perps", "one")); err != nil {
		t.Fatal(err)
	}
	until(t, "the new pack has a state", func() bool { return s.mark("perps") == "one" && jobsOf(s.d, "perps")[0].Runs > 0 })
	s.served("perps", true)
	watcher := hear(t, s.c, "perps")

	if err := apply(t, s.d, marked("perps", "one")); err != nil { // made again of the same
		t.Fatal(err)
	}
	runs := jobsOf(s.d, "perps")[0].Runs
	if err := apply(t, s.d, marked("perps", "two")); err != nil {
		t.Fatal(err)
	}
	until(t, "the stream goes on with the pack in its place", func() bool { return slices.Contains(watcher.read().marks, "two") })
	until(t, "the refresh is over", func() bool { return jobsOf(s.d, "perps")[0].Runs == runs+1 })
	if h := watcher.read(); !slices.Equal(h.marks, []string{"one", "two"}) || h.ended || len(h.errors) > 0 {
		t.Errorf("the stream heard %q, then %q, %v", h.marks, h.errors, h.err)
	}

	waiting, before := make(chan string, 1), s.credits()
	go func() {
		waiting <- mcpCall(t, s.d, s.key, "tools/call", `{"name":"context.subscribe","arguments":{"pack":"perps"}}`)
	}()
	until(t, "the tool watches, which was charged", func() bool { return s.credits() < before })
	if err := apply(t, s.d); err != nil {
		t.Fatal(err)
	}
	s.served("perps", false)
	if text := <-waiting; !strings.Contains(text, `"reason":"removed"`) || !strings.Contains(text, "pack perps is not served any more") {
		t.Errorf("the tool subscribe ends with %s", text)
	}
	until(t, "the stream ends", func() bool { return watcher.read().ended })
	if h := watcher.read(); !slices.Equal(h.errors, []string{"pack perps is not served any more"}) || !errors.Is(h.err, sdk.ErrPackNotFound) {
		t.Errorf("the stream ends with %q, %v", h.errors, h.err)
	}

	s.d.Recording.Break("", nil) // what is served from now on was stored
	if err := apply(t, s.d, marked("perps", "three")); err != nil {
		t.Fatal(err)
	}
	if got := s.mark("perps"); got != "two" {
		t.Errorf("the pack that is back has the state %q", got)
	}
	if h := untouched.read(); len(h.marks) != 1 || len(h.errors) > 0 || h.ended {
		t.Errorf("the stream of another pack heard %d states, %q, %v", len(h.marks), h.errors, h.err)
	}
	if now := jobsOf(s.d, api.PackCrypto); now[0].Runs != crypto[0].Runs || now[0].Failures != crypto[0].Failures {
		t.Errorf("another pack was refreshed: %+v, before %+v", now[0], crypto[0])
	}
}

// TestPacksAreClosed: what a pack has is freed once, when another has its place, when it goes and when the daemon ends; not while it is
// served, though it was asked for again.
func TestPacksAreClosed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var mu sync.Mutex // guards closed
	var closed []string
	closing := func(id, mark string) daemon.Pack {
		p := marked(id, mark)
		p.Close = func() {
			mu.Lock()
			defer mu.Unlock()
			closed = append(closed, id+" "+mark)
		}
		return p
	}
	for _, step := range []struct {
		what  string
		packs []daemon.Pack
		want  []string
	}{
		{"they come", []daemon.Pack{closing("perps", "one"), closing("rates", "one")}, nil},
		{"they are asked for again", []daemon.Pack{closing("perps", "one"), closing("rates", "one")}, nil},
		{"one is refused", []daemon.Pack{closing("perps", "two"), reordered(closing("rates", "one"))}, nil},
		{"one is another", []daemon.Pack{closing("perps", "two"), closing("rates", "one")}, []string{"perps one"}},
		{"one goes", []daemon.Pack{closing("perps", "two")}, []string{"perps one", "rates one"}},
	} {
		err := apply(t, s.d, step.packs...)
		if refused := step.what == "one is refused"; (err != nil) != refused {
			t.Fatalf("%s: %v", step.what, err)
		}
		for _, p := range step.packs {
			if err == nil {
				until(t, p.ID+" has a state", func() bool { return s.mark(p.ID) == strings.Fields(p.Digest)[0] })
			}
		}
		if !slices.Equal(closed, step.want) {
			t.Errorf("%s: closed are %q, want %q", step.what, closed, step.want)
		}
	}
	s.d.Stop(t)
	if want := []string{"perps one", "rates one", "perps two"}; !slices.Equal(closed, want) {
		t.Errorf("at the end closed are %q, want %q", closed, want)
	}
}

// TestBrokenPackChangesNothing: where one pack of several is wrong, all stay as they were and go on.
func TestBrokenPackChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := apply(t, s.d, marked("perps", "one"), marked("rates", "one")); err != nil {
		t.Fatal(err)
	}
	until(t, "the packs have states", func() bool { return s.mark("perps") == "one" && s.mark("rates") == "one" })
	if err := apply(t, s.d, marked("perps", "one")); err != nil {
		t.Fatal(err)
	}
	watcher := hear(t, s.c, "perps")
	for what, c := range map[string]struct {
		packs  []daemon.Pack
		change func(*daemon.Reloadable)
		say    string
	}{
		"another order of a pack that is served": {packs: []daemon.Pack{reordered(marked("perps", "two"))},
			say: "pack perps: version 2 has states whose sources are [1] coingecko-markets [2] coingecko-trending"},
		"another order of one that was": {packs: []daemon.Pack{marked("perps", "two"), reordered(marked("rates", "one"))}, say: "raise its version"},
		"a source less":                 {packs: []daemon.Pack{marked("perps", "two"), fewer(marked("rates", "one"))}, say: "raise its version"},
		"one id twice":                  {packs: []daemon.Pack{marked("perps", "two"), marked("perps", "three")}, say: "two packs have the id perps"},
		"a source that no pack has": {packs: []daemon.Pack{marked("perps", "two")},
			change: func(r *daemon.Reloadable) { r.Disabled = []string{"none"} }, say: `source "none"`},
		"an alert on a pack that goes": {change: func(r *daemon.Reloadable) {
			r.Alerts = []operate.Alert{{Name: "x", Pack: "perps", Hook: alert.Hook{URL: "http://127.0.0.1:1/"}}}
		}, say: `pack "perps" is not served`},
	} {
		r := s.d.Config.Reloadable
		r.Packs = append([]daemon.Pack{{Pack: pack.Crypto()}}, c.packs...)
		if c.change != nil {
			c.change(&r)
		}
		if err := s.d.Apply(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %q", what, err, c.say)
		}
		s.served("perps", true)
		s.served("rates", false)
	}
	before := len(watcher.read().marks)
	if err := s.d.Refresh(t.Context(), "perps"); err != nil {
		t.Error(err)
	}
	until(t, "the pack goes on", func() bool { return len(watcher.read().marks) > before })
	if h := watcher.read(); h.ended || len(h.errors) > 0 || slices.Contains(h.marks, "two") {
		t.Errorf("the stream heard %q, then %q, %v", h.marks, h.errors, h.err)
	}

	risen := reordered(marked("rates", "two"))
	risen.Version++
	risen.Compact = func(pack.Input) ([]byte, error) { return []byte(`{"mark":"risen"}`), nil } // the anchors of crypto are not its
	if err := apply(t, s.d, marked("perps", "one"), risen); err != nil {
		t.Errorf("another order in the next version: %v", err)
	}
	until(t, "the next version has a state", func() bool { return s.mark("rates") == "risen" })
}

// TestOrderIsKeptOverRestarts: a daemon does not start with a pack whose anchors would mean something else than those of its states.
func TestOrderIsKeptOverRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.Start(t, at(dir), func(c *daemon.Config) { c.Packs = []daemon.Pack{{Pack: pack.Crypto()}, marked("perps", "one")} })
	if err := d.Refresh(t.Context(), "perps"); err != nil {
		t.Fatal(err)
	}
	cfg := d.Config
	d.Stop(t)
	cfg.Packs = []daemon.Pack{{Pack: pack.Crypto()}, reordered(marked("perps", "one"))}
	if _, err := daemon.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "pack perps: version 2 has states") {
		t.Errorf("opened with %v", err)
	}
}

// TestPackWithoutState: a pack whose sources have never answered is refused, and the daemon is ready for the others.
func TestPackWithoutState(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.d.Recording.Break("", nil)
	if err := apply(t, s.d, marked("perps", "one")); err != nil {
		t.Fatal(err)
	}
	if err := s.d.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if _, err := s.c.Fresh(t.Context(), "perps"); !errors.Is(err, &api.Error{Reason: api.ReasonStateUnavailable}) {
		t.Errorf("fresh: %v", err)
	}
	dark := daemontest.Open(t)
	if err := dark.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "no pack has a state yet") {
		t.Errorf("a daemon without any state is ready: %v", err)
	}
}

// TestAlertsOfPackThatCame: the operator is told of a pack that was added, with the alerts of the same settings.
func TestAlertsOfPackThatCame(t *testing.T) {
	t.Parallel()
	s, h := newScene(t), newHook(t)
	next := s.d.Config.Reloadable
	next.Packs = []daemon.Pack{{Pack: pack.Crypto()}, marked("perps", "one")}
	next.Alerts = []operate.Alert{{Name: "ops", Pack: "perps", Severity: api.SeverityNotice, Hook: alert.Hook{URL: h.URL, Secret: []byte(alertSecret)}}}
	if err := s.d.Apply(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	for range 4 { // at which there are some
		_ = s.d.Refresh(t.Context(), "perps")
	}
	until(t, "an alert comes", func() bool { events, _ := h.taken(); return len(events) > 0 })
	if events, _ := h.taken(); slices.ContainsFunc(events, func(e alert.Event) bool { return e.Pack != "perps" }) {
		t.Errorf("told %+v", events)
	}
}

// scribe is a writer of briefs.
type scribe struct{ brief.Writer }

// Name is that of no other.
func (scribe) Name() string { return "scribe" }

// TestWriterOfPack: a pack has its briefs written by its own writer, also when they are tried out.
func TestWriterOfPack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	own := marked("perps", "one")
	own.Writer = scribe{brief.BuiltIn()}
	if err := apply(t, s.d, own); err != nil {
		t.Fatal(err)
	}
	until(t, "the pack has a state", func() bool { return s.mark("perps") == "one" })
	operator, err := admin.Open(t.Context(), admin.Config{DataDir: s.d.Config.DataDir})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	for id, want := range map[string]string{"perps": "scribe", api.PackCrypto: brief.BuiltIn().Name()} {
		r, err := operator.CheckBriefs(t.Context(), id)
		if err != nil || len(r.Briefs) == 0 || r.Briefs[0].Writer != want || !slices.Equal(r.Writers, []string{want}) {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
	}
}

// TestPacksChangeUnderLoad adds, replaces and removes packs while they are read, refreshed and streamed. It is for the race detector.
func TestPacksChangeUnderLoad(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, do := range []func(){
		func() { _, _ = s.c.Fresh(ctx, "perps") },
		func() { _, _ = s.c.Packs(ctx) },
		func() { _ = s.d.Refresh(ctx, "perps") },
		func() { _ = s.d.Narrate(ctx, "perps") },
		func() { _ = s.d.Ready(ctx); _ = s.d.Jobs() },
		func() {
			for range s.c.Subscribe(sdk.SubscribeRequest{Pack: "perps"}).Events(ctx) {
				break
			}
		},
	} {
		all.Go(func() {
			for ctx.Err() == nil {
				do()
				time.Sleep(time.Millisecond)
			}
		})
	}
	for i := range 12 {
		var packs []daemon.Pack
		if i%3 < 2 {
			packs = []daemon.Pack{marked("perps", fmt.Sprint(i))}
		}
		if err := apply(t, s.d, packs...); err != nil {
			t.Error(err)
		}
	}
	stop()
	all.Wait()
	s.served("perps", false)
	if _, err := s.c.Fresh(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

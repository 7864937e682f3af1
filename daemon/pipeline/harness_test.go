package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// packID is the pack of all these tests.
const packID = "test"

// slack is how much before its interval is over a source may be asked.
const slack = 30 * time.Second

// virtual runs a test in virtual time, which begins at midnight UTC. The store is real: while SQLite works, time stands still.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// feesState is what the pack of these tests makes.
type feesState struct {
	Fees         []row              `json:"fees"`
	SourceStatus []api.SourceStatus `json:"source_status"`
}

type row struct {
	ID  string  `json:"id"`
	Fee float64 `json:"fee"`
	Ref int     `json:"ref"`
}

// newPack returns a pack of sources with the given intervals, named s1, s2 and so on, that all speak of fees.
func newPack(intervals ...time.Duration) *pack.Pack {
	p := &pack.Pack{ID: packID, Version: 1, Excerpts: func(*state.Document) map[string]string { return nil }}
	for i, every := range intervals {
		id := fmt.Sprintf("s%d", i+1)
		p.Sources = append(p.Sources, pack.Source{
			Connector: source.Connector{ID: id, Interval: every, StaleAfter: 3 * every, New: func() source.Doc { return new(source.FeesDoc) }},
			Name:      id, PublicURL: "https://" + id + ".example/",
		})
	}
	p.Compact = func(in pack.Input) ([]byte, error) {
		s := feesState{SourceStatus: p.Status(in)}
		for i, src := range p.Sources {
			if doc, ok := in.Readings[src.ID].Doc.(*source.FeesDoc); ok {
				s.Fees = append(s.Fees, row{src.ID, *doc.Fastest, i + 1})
			}
		}
		return json.Marshal(s)
	}
	return p
}

// times is n intervals of five minutes.
func times(n int) []time.Duration { return slices.Repeat([]time.Duration{5 * time.Minute}, n) }

// answer says how a source answers its n-th attempt, counted from 1.
type answer func(ctx context.Context, n int) source.Outcome

// fee is a good answer.
func fee(x float64) source.Outcome {
	return source.Outcome{Class: source.ClassOK, Doc: &source.FeesDoc{Fastest: &x}}
}

// counting answers the number of the attempt.
func counting(_ context.Context, n int) source.Outcome { return fee(float64(n)) }

// failing fails in a class, and asks for a pause if it is not 0.
func failing(class source.Class, pause time.Duration) answer {
	return func(context.Context, int) source.Outcome {
		return source.Outcome{Class: class, Err: fmt.Errorf("%s: out of order", class), RetryAfter: pause}
	}
}

// hanging answers when the refresh gives up.
func hanging(ctx context.Context, _ int) source.Outcome {
	<-ctx.Done()
	return source.Outcome{Class: source.ClassNetwork, Err: fmt.Errorf("network: %w", ctx.Err())}
}

// attempt is one call of Fetch.
type attempt struct {
	id   string
	at   time.Time
	last source.Doc
}

// fetcher is a Fetcher with set answers; without one it counts.
type fetcher struct {
	mu         sync.Mutex // guards what follows
	now        func() time.Time
	answers    map[string]answer
	attempts   []attempt
	known      source.Versions
	busy, most int // calls under way now, and at the most
}

func (d *fetcher) Know(read source.Versions) { d.known = read }

func (d *fetcher) Fetch(ctx context.Context, c source.Connector, last source.Doc) source.Outcome {
	d.mu.Lock()
	d.attempts = append(d.attempts, attempt{c.ID, d.now(), last})
	n := len(d.of(c.ID))
	d.busy++
	d.most = max(d.most, d.busy)
	respond := d.answers[c.ID]
	d.mu.Unlock()
	if respond == nil {
		respond = counting
	}
	o := respond(ctx, n)
	d.mu.Lock()
	d.busy--
	d.mu.Unlock()
	return o
}

// of lists the attempts at a source, at all of them if id is "". The caller holds mu.
func (d *fetcher) of(id string) (list []attempt) {
	for _, a := range d.attempts {
		if id == "" || a.id == id {
			list = append(list, a)
		}
	}
	return list
}

// asked is how often a source was asked, all of them if id is "".
func (d *fetcher) asked(id string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.of(id))
}

// asking lists when a source was asked, as time since begin.
func (d *fetcher) asking(id string, begin time.Time) (list []time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.of(id) {
		list = append(list, a.at.Sub(begin))
	}
	return list
}

// tell says how sources answer from now on.
func (d *fetcher) tell(how answer, ids ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		d.answers[id] = how
	}
}

// clock is the time of the bubble, moved by what a test says.
type clock struct {
	mu sync.Mutex // guards by
	by time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by).Round(0) // without the monotonic reading, as after a restart
}

func (c *clock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += by
}

// rig is a pipeline between sources that answer as told and a real store and feed.
type rig struct {
	*pipeline.Pipeline
	t       *testing.T
	dir     string
	clock   *clock
	fetcher *fetcher
	store   *history.History
	feed    *feed.Feed
	log     *testbed.Log
	cfg     pipeline.Config
}

// build makes a rig and opens its pipeline, after change had its way with the configuration.
func build(t *testing.T, p *pack.Pack, change func(*rig)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), clock: new(clock), log: new(testbed.Log)}
	r.fetcher = &fetcher{now: r.clock.now, answers: make(map[string]answer)}
	r.cfg = pipeline.Config{
		Pack: p, Fetcher: r.fetcher, Now: r.clock.now,
		Jitter: -1, Early: -1, // none
		Logger: r.log.Logger(),
	}
	r.open(change)
	return r
}

// open opens store, feed and pipeline again in the same directory, as a restart does. change may be nil.
func (r *rig) open(change func(*rig)) {
	r.t.Helper()
	var err error
	if r.store, err = history.Open(r.t.Context(), r.dir, r.clock.now()); err != nil {
		r.t.Fatal(err)
	}
	opened := r.store
	r.t.Cleanup(func() { _ = opened.Close() })
	r.feed = feed.New(packID)
	r.cfg.Store, r.cfg.Feed = r.store, r.feed
	if change != nil {
		change(r)
	}
	if r.Pipeline, err = pipeline.Open(r.t.Context(), r.cfg); err != nil {
		r.t.Fatal(err)
	}
}

// reopen restarts the rig.
func (r *rig) reopen(change func(*rig)) {
	r.t.Helper()
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.open(change)
}

// start runs the pipeline and returns what stops it and waits for its end. It also ends with the test.
func (r *rig) start() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	r.t.Cleanup(stop)
	return stop
}

// refresh refreshes and expects a new state.
func (r *rig) refresh() pipeline.Report {
	r.t.Helper()
	report, err := r.Refresh(r.t.Context(), false)
	if err != nil || report.GeneratedAt.IsZero() {
		r.t.Fatalf("Refresh = %+v, %v; want a state", report, err)
	}
	return report
}

// edition is what the feed serves; there must be something.
func (r *rig) edition() *feed.Edition {
	r.t.Helper()
	e, ok := r.feed.Latest(packID)
	if !ok || e == nil {
		r.t.Fatal("nothing is published")
	}
	return e
}

// served is the published state.
func (r *rig) served() (s feesState) {
	r.t.Helper()
	decode(r.t, r.edition().State, &s)
	return s
}

// saved is what the store keeps.
func (r *rig) saved() state.Saved {
	r.t.Helper()
	saved, err := r.store.OpenPack(r.t.Context(), packID, r.clock.now())
	if err != nil {
		r.t.Fatal(err)
	}
	return saved
}

// record is what the store keeps of one source.
func (r *rig) record(id string) state.SourceRecord {
	r.t.Helper()
	list := r.saved().Sources
	i := slices.IndexFunc(list, func(s state.SourceRecord) bool { return s.Source == id })
	if i < 0 {
		r.t.Fatalf("the store knows nothing of %s", id)
	}
	return list[i]
}

// status is that of one source.
func (r *rig) status(id string) api.SourceStatus {
	r.t.Helper()
	list := r.Status()
	return list[slices.IndexFunc(list, func(s api.SourceStatus) bool { return s.ID == id })]
}

func decode(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

// want compares two values of any kind as fmt shows them.
func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: %s, want %s", what, g, w)
	}
}

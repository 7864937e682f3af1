// Package pipeline is the verb of the data flow: fetch what is due, compact, narrate, save, publish.
//
// A Pipeline runs one pack. It decides when a source is asked again and what counts as a failed refresh; it fetches through
// daemon/source, compacts by the pack's own pure function, saves to a Store and publishes to daemon/feed. A state is saved
// before it is published, so whatever a reader saw is in history. Its brief is written by rules, saved and published with it. Language
// models write a brief a day beside that, and never hold up a refresh.
//
// # One refresh
//
// Every is 5 minutes and the phase of this process 7 s, so its slots begin at 20:00:07, 20:05:07 and so on. At 20:05:07:
//
//  1. Due are coingecko-markets (every 5 minutes, asked at 20:00:07) and mempool-fees, which failed then. Not due are
//     coingecko-global (every 15 minutes, asked at 19:55:07) and kraken-ticker, which said Retry-After: 600 at 20:00:07. A forced
//     refresh asks coingecko-global too, and still not kraken-ticker.
//  2. Both are asked at once. Markets answer at 20:05:08; fees fail again. That is their second failure: they are due again
//     9 minutes 30 s after the refresh began, which is the slot of 20:15:07, unless the network was at fault, which is tried
//     in every slot.
//  3. One good answer makes a new state. The pack compacts what every source last said, so that of the fees from 19:55 is carried
//     as stale. Had nobody answered, the refresh would fail with ErrAllFailed and leave the state of 20:00:08 as it is.
//  4. A brief of that state is written by rules. It, the state of 20:05:08 and the records of both sources are saved in one transaction.
//  5. State and brief are published together, and the narrator is woken. Where there are models, the first state after BriefAt, say
//     06:00, has a brief written of it by them; it is then told with every state of the day in place of that by rules, with what came
//     after it. If no model can, the briefs by rules go on.
//
// Sources that take 9 s would make the next state 9 s late. So the refresh begins before its slot, at 20:09:56 if the longest of the last
// ones took 9 s, and its state waits for 20:10:07: from state to state it is 5 minutes, and none gets older.
//
// Each process has a phase of its own. A kill before 4 loses the answers and nothing else: Open publishes the state of 20:00:08, and
// Run refreshes at once, as no source was asked in this slot. A kill between 4 and 5 loses nothing: Open publishes the state of
// 20:05:08, and the next refresh is that of the next slot. A kill while a model writes costs its text; Run finds at once that a brief
// is due.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// DefaultTextWithin is how long a writer may take for one text unless told otherwise.
const DefaultTextWithin = 2 * time.Minute

// ErrAllFailed says that every source that was asked failed, so that there is no new state.
var ErrAllFailed = errors.New("every source failed")

// failedAll is what readers are told then.
const failedAll = "refresh failed: every source failed"

// Fetcher asks one source; *source.Fetcher is one.
type Fetcher interface {
	Fetch(ctx context.Context, c source.Connector, last source.Doc) source.Outcome
	Know(source.Versions) // of what the stored answers were read from
}

// Publisher takes what is new; *feed.Feed is one.
type Publisher interface {
	Publish(p state.Pulse, b state.Narration, rows *state.Tables) error
	Restore(p state.Pulse, b state.Narration, rows *state.Tables) error // p was stored; it may be told already
	PublishBrief(pack string, b state.Narration) error
	// PublishHealth says how the sources do of which no newer state was made, and what rows they have.
	PublishHealth(pack string, rows *state.Tables, health api.Ages) error
	Fail(pack, message string) // a refresh brought no new state
}

// Observer is told what a pipeline did; *metrics.Metrics is one.
type Observer interface {
	Refreshed(pack, outcome string, took time.Duration) // ok, unchanged, failed or error
	Fetched(pack, source, class string)
	Ending(pack, source string) // an answer announced the end of its service
	Briefed(pack, writer string, err error)
	Refused(pack, writer, why string) // a text for a brief was not taken
}

type noopObserver struct{}

func (noopObserver) Refreshed(string, string, time.Duration) {}
func (noopObserver) Fetched(string, string, string)          {}
func (noopObserver) Ending(string, string)                   {}
func (noopObserver) Briefed(string, string, error)           {}
func (noopObserver) Refused(string, string, string)          {}

// Names of what is done on schedule.
const (
	JobRefresh = "refresh"
	JobBrief   = "brief"
)

// Config is what a Pipeline needs.
type Config struct {
	Pack    *pack.Pack
	Fetcher Fetcher
	Store   Store
	Feed    Publisher
	Writer  brief.Writer   // by rules, with every state; nil means brief.BuiltIn
	Models  []brief.Writer // of the daily brief, tried in order; none means that the briefs by rules are all there is

	Disabled []string                      // ids of sources that are not asked; they keep their places
	Unasked  func(source.Connector) string // why a source is not asked beside these, "" where it is; nil means that all are

	Program    string        // who reads; what another has read is read again after a restart, and with "" everything is
	Remade     bool          // the pack is another than that whose records are stored, so that what failed may be mended
	Every      time.Duration // from refresh to refresh, aligned to the clock; 0 means api.RefreshInterval
	Deadline   time.Duration // bound of one refresh; 0 means 60 s
	Jitter     time.Duration // the most that this process shifts its refreshes; 0 means Every/20, at most 15 s, and less means none
	Early      time.Duration // how long before its slot a refresh begins at least, whatever the ones before took; less than 0 means never
	BriefAt    time.Duration // time of day, UTC, of the daily brief
	TextWithin time.Duration // bound of one text of a writer; 0 means DefaultTextWithin
	AlwaysDue  bool          // ask every source at every refresh, whatever its interval (demo)

	Observer Observer // is told what happened; nil means nobody

	// NotBefore asks for a value that nobody could know before now, while the sources are asked; nil for none.
	NotBefore func(context.Context) *api.LogNotBefore

	// Track notes a scheduled run of JobRefresh or JobBrief; not ok means that it is to be left out. Nil means nothing.
	Track func(pack, job string) (done func(error), ok bool)

	Before func()           // called before every refresh; nil means nothing (demo: next recording)
	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // nil means slog.Default
}

// Pipeline keeps one pack fresh. Make one with Open; it is safe for concurrent use.
type Pipeline struct {
	cfg        Config
	refreshing chan struct{} // holds one token; a refresh takes it
	wake       chan struct{} // tells the narrator that a state is new
	hint       chan struct{} // tells Follow that there is something
	phase      time.Duration // this process's shift against the clock

	mu     sync.Mutex      // guards what follows
	tracks []*track        // in the order of the pack's sources
	took   []time.Duration // by the sources in the last refreshes, the newest last
	start  time.Time
	newest state.Pulse       // zero GeneratedAt while there is none
	after  time.Time         // every state is later: of a stored one that is not served
	news   bool              // a source answered well since newest
	known  *api.LogNotBefore // of the refresh that is under way
	tried  time.Time         // when the daily brief was written, or failed to be
	told   toldBrief
	seen   state.Mark // of what another node has saved; zero where this one has saved since
}

// Report says what a refresh did.
type Report struct {
	GeneratedAt time.Time // of the new state; zero if there is none
	Asked       int       // sources asked
	Failed      int       // of those
	Unreachable int       // of those: no connection came about

	waited time.Duration // for the slot
}

// Open restores what the store keeps of the pack and publishes its newest state and brief at once.
func Open(ctx context.Context, cfg Config) (*Pipeline, error) {
	if cfg.Every == 0 {
		cfg.Every = api.RefreshInterval
	}
	if cfg.Deadline == 0 {
		cfg.Deadline = time.Minute
	}
	if cfg.Jitter == 0 {
		cfg.Jitter = min(cfg.Every/20, 15*time.Second)
	}
	if cfg.TextWithin == 0 {
		cfg.TextWithin = DefaultTextWithin
	}
	if cfg.Writer == nil {
		cfg.Writer = brief.BuiltIn()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Observer == nil {
		cfg.Observer = noopObserver{}
	}
	if cfg.Track == nil {
		cfg.Track = func(string, string) (func(error), bool) { return func(error) {}, true }
	}
	cfg.Logger = cfg.Logger.With("pack", cfg.Pack.ID)
	p := &Pipeline{
		cfg: cfg, refreshing: make(chan struct{}, 1), wake: make(chan struct{}, 1), hint: make(chan struct{}, 1),
		phase: rand.N(max(cfg.Jitter, 0) + 1),
	}
	if err := p.restore(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// restore loads the pack's past from the store.
func (p *Pipeline) restore(ctx context.Context) error {
	saved, err := p.cfg.Store.OpenPack(ctx, p.cfg.Pack.ID, p.cfg.Now())
	if err != nil {
		return err
	}
	p.start = saved.Start
	p.tracks = make([]*track, len(p.cfg.Pack.Sources))
	records := make(map[string]state.SourceRecord, len(saved.Sources))
	for _, r := range saved.Sources {
		records[r.Source] = r
	}
	for i, s := range p.cfg.Pack.Sources {
		r := records[s.ID]
		if p.cfg.Remade && r.Err != "" && !strings.HasPrefix(r.Err, string(source.ClassRateLimited)) {
			r.AttemptedAt, r.NotBefore = time.Time{}, time.Time{}
		}
		p.tracks[i] = newTrack(s.Connector, r, p.off(s.Connector, p.cfg.Disabled), p.cfg.Logger)
		if p.tracks[i].reading.Doc != nil {
			p.cfg.Fetcher.Know(p.versions(r.Versions))
		}
	}
	if saved.Damaged > 0 {
		p.cfg.Logger.Error("newest stored states are damaged; serving an older one", "damaged", saved.Damaged)
	}
	p.after = saved.Withheld
	if saved.Pulse == nil {
		return nil
	}
	if err := p.cfg.Pack.CheckAnchors(*saved.Pulse); err != nil {
		return err
	}
	p.newest = *saved.Pulse
	p.newest.Doc = p.newest.Read()
	p.remember(ctx)
	p.receive(saved)
	in := p.input()
	p.newest.Health = p.health(p.newest, p.cfg.Pack.Status(in))
	in.Now = p.newest.GeneratedAt
	if err := p.cfg.Feed.Restore(p.newest, p.told.with(p.newest), p.rowsOf(p.newest, in)); err != nil {
		return fmt.Errorf("publish stored state: %w", err)
	}
	return nil
}

// SetDisabled changes which sources are switched off, from the next refresh on. One that is switched on has nothing until it answers.
func (p *Pipeline) SetDisabled(ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, t := range p.tracks {
		if off := p.off(t.connector, ids); off != t.off {
			// A new track: the answer of a refresh that is under way goes to the old one, and counts no longer.
			p.tracks[i] = newTrack(t.connector, state.SourceRecord{}, off, p.cfg.Logger)
		}
	}
}

// off says why a source is not asked, "" where it is.
func (p *Pipeline) off(c source.Connector, disabled []string) string {
	if slices.Contains(disabled, c.ID) {
		return "disabled"
	}
	if p.cfg.Unasked == nil {
		return ""
	}
	return p.cfg.Unasked(c)
}

// Status says how each source does now.
func (p *Pipeline) Status() []api.SourceStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cfg.Pack.Status(p.input())
}

// input is what the pack compacts. The caller holds mu.
func (p *Pipeline) input() pack.Input {
	in := pack.Input{Readings: make(map[string]pack.Reading, len(p.tracks)), Prev: p.newest.Doc, Ended: p.newest.Ended,
		Every: p.cfg.Every, Now: p.cfg.Now()}
	if p.newest.Health != nil {
		in.Beside = p.newest.Health.Freshness(p.newest.GeneratedAt, in.Now).Flags
	}
	for _, t := range p.tracks {
		in.Readings[t.connector.ID] = t.reading
	}
	return in
}

// Refresh fetches what is due, and with force also what is not due yet but may be asked, then compacts, saves and publishes.
// One refresh runs at a time; a second one waits. It fails with ErrAllFailed when no source answered; the schedule is not
// disturbed by it.
func (p *Pipeline) Refresh(ctx context.Context, force bool) (Report, error) {
	return p.refreshFor(ctx, time.Time{}, force)
}

// refreshFor is Refresh whose state is of a time at the earliest, unless there is none yet.
func (p *Pipeline) refreshFor(ctx context.Context, slot time.Time, force bool) (Report, error) {
	began := p.cfg.Now()
	report, err := p.refresh(ctx, slot, force)
	p.observe(report, err, p.cfg.Now().Sub(began)-report.waited)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, ErrAllFailed):
		p.cfg.Feed.Fail(p.cfg.Pack.ID, failedAll)
	default:
		p.cfg.Feed.Fail(p.cfg.Pack.ID, "refresh failed: an internal error") // which one is for the log
	}
	return report, err
}

// observe tells the observer of a refresh.
func (p *Pipeline) observe(report Report, err error, took time.Duration) {
	outcome := "ok"
	switch {
	case errors.Is(err, ErrAllFailed):
		outcome = "failed"
	case err != nil:
		outcome = "error"
	case report.GeneratedAt.IsZero():
		outcome = "unchanged"
	}
	p.cfg.Observer.Refreshed(p.cfg.Pack.ID, outcome, took)
}

// refresh is refreshFor without telling the watchers of a failure.
func (p *Pipeline) refresh(ctx context.Context, slot time.Time, force bool) (Report, error) {
	select {
	case p.refreshing <- struct{}{}:
		defer func() { <-p.refreshing }()
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
	if p.cfg.Before != nil {
		p.cfg.Before()
	}
	changed, report, err := p.collect(ctx, force)
	if err != nil {
		return report, err
	}
	if !p.hasNews() {
		return report, p.endWithoutState(ctx, report, changed)
	}
	if wait := slot.Sub(p.cfg.Now()); wait > 0 && wait <= longestEarly && !p.generatedAt().IsZero() {
		if report.waited = wait; !p.wait(ctx, wait) {
			return report, ctx.Err()
		}
	}
	pulse, rows, err := p.compact()
	if err != nil {
		return report, err
	}
	own, err := p.narrateState(ctx, pulse)
	if err != nil {
		return report, err
	}
	if pulse.Proof, err = p.cfg.Store.SavePulse(ctx, pulse, own, changed); err != nil {
		return report, fmt.Errorf("save state: %w", err)
	}
	own.Proof = pulse.Proof
	err = p.publish(pulse, own, rows)
	p.saved(&pulse)
	if err != nil {
		return report, fmt.Errorf("publish state: %w", err)
	}
	select {
	case p.wake <- struct{}{}:
	default: // the narrator has not looked at the last one yet
	}
	report.GeneratedAt = pulse.GeneratedAt
	return report, nil
}

// hasNews reports whether a source answered well since the newest state. It may have been in an earlier refresh, whose state
// could not be saved.
func (p *Pipeline) hasNews() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.news
}

// endWithoutState ends a refresh that makes no state: it keeps what is known of the sources and tells whether that is a failure.
func (p *Pipeline) endWithoutState(ctx context.Context, report Report, changed []state.SourceRecord) error {
	if len(changed) > 0 {
		if err := p.cfg.Store.SaveSources(ctx, p.cfg.Pack.ID, changed); err != nil {
			return err
		}
		p.saved(nil)
	}
	if report.Asked == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(ErrAllFailed, p.publishHealth())
}

// compact makes the next pulse of what the sources last said, and the rows of all of it. Its time is later than that of the one before even
// if the clock was set back.
func (p *Pipeline) compact() (state.Pulse, *state.Tables, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := p.input()
	in.Now = in.Now.UTC().Truncate(time.Millisecond)
	last := p.after
	if p.newest.GeneratedAt.After(last) {
		last = p.newest.GeneratedAt
	}
	if !in.Now.After(last) {
		in.Now = last.Add(time.Millisecond)
	}
	if in.Now.Equal(in.Now.Truncate(time.Minute)) { // as printed it would name the minute, and not this state
		in.Now = in.Now.Add(time.Millisecond)
	}
	text, err := p.cfg.Pack.Compact(in)
	if err != nil {
		return state.Pulse{}, nil, fmt.Errorf("compact: %w", err)
	}
	doc := state.Read(text)
	if doc.Err() != nil {
		return state.Pulse{}, nil, errors.New("compact: the state is not JSON")
	}
	pulse := state.Pulse{
		Pack: p.cfg.Pack.ID, Version: p.cfg.Pack.Version, GeneratedAt: in.Now, State: text, Doc: doc,
		Citations: p.cfg.Pack.Citations(doc, p.cfg.Pack.Status(in), p.start),
		Made:      state.Made{Sources: p.sources(), Digest: p.cfg.Pack.Manifest, Every: p.cfg.Every, NotBefore: p.known},
	}
	rows := p.rows(in)
	if rows != nil {
		if pulse.Made.Tables, err = translog.RowsRoot(rows); err != nil {
			return state.Pulse{}, nil, fmt.Errorf("hash the rows: %w", err)
		}
	}
	pulse.Remember(p.newest)
	pulse.Health = p.health(pulse, nil)
	return pulse, rows, nil
}

// health is how the sources of a pulse do: as it says, or as status says where that is newer.
func (p *Pipeline) health(pulse state.Pulse, status []api.SourceStatus) *api.Ages {
	names := make(map[string]string, len(p.cfg.Pack.Sources))
	for _, s := range p.cfg.Pack.Sources {
		names[s.ID] = s.Name
	}
	ages := pulse.Read().Ages().Updated(status, names)
	return &ages
}

// publishHealth tells of how the sources do that were asked and made no newer state. The caller holds mu.
func (p *Pipeline) publishHealth() error {
	if p.newest.GeneratedAt.IsZero() {
		return nil
	}
	in := p.input()
	p.newest.Health = p.health(p.newest, p.cfg.Pack.Status(in))
	return p.cfg.Feed.PublishHealth(p.cfg.Pack.ID, p.rowsOf(p.newest, in), *p.newest.Health)
}

// rowsOf are the rows to tell a stored state with; none where its citations give other meanings to their anchors.
func (p *Pipeline) rowsOf(pulse state.Pulse, in pack.Input) *state.Tables {
	if !p.cfg.Pack.Continues(pulse.Citations) {
		return nil
	}
	return p.rows(in)
}

// rows are all that the sources last said; nil for a pack without tables.
func (p *Pipeline) rows(in pack.Input) *state.Tables {
	if p.cfg.Pack.Tables == nil {
		return nil
	}
	return p.cfg.Pack.Tables(in)
}

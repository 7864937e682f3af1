package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

// Pack is a pack that is to be served.
type Pack struct {
	*pack.Pack
	Writer brief.Writer // of its brief by rules, with every state; nil means brief.BuiltIn
	Close  func()       // frees what the pack has, once it is served no more; nil means nothing
}

// packList are the packs that r asks for.
func (r Reloadable) packList() []Pack {
	if len(r.Packs) == 0 {
		return []Pack{{Pack: pack.Crypto()}}
	}
	return r.Packs
}

// idsOf are the ids of packs.
func idsOf(packs []Pack) (ids []string) {
	for _, p := range packs {
		ids = append(ids, p.ID)
	}
	return ids
}

// writerOf is that of the briefs by rules of a pack, nil for the built-in one.
func writerOf(packs []Pack, id string) brief.Writer {
	i := slices.IndexFunc(packs, func(p Pack) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return packs[i].Writer
}

// checkPacks reports two packs of one id.
func checkPacks(packs []Pack) error {
	for i, id := range idsOf(packs) {
		if slices.Contains(idsOf(packs[:i]), id) {
			return fmt.Errorf("two packs have the id %s", id)
		}
	}
	return nil
}

// servedPack is a pack that is served, with what keeps it fresh.
type servedPack struct {
	Pack
	line *pipeline.Pipeline
	life life
}

// packSet is the packs that are served. Who changes it holds changing; to look takes no lock.
type packSet struct {
	changing sync.Mutex
	running  bool // guarded by changing
	over     bool // guarded by changing; no other set can follow

	list atomic.Pointer[[]*servedPack] // in the order of the configuration
}

// all are the packs that are served now.
func (s *packSet) all() []*servedPack {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

// packs are all as they were asked for.
func (s *packSet) packs() (packs []Pack) {
	for _, p := range s.all() {
		packs = append(packs, p.Pack)
	}
	return packs
}

// ids are those of all.
func (s *packSet) ids() []string { return idsOf(s.packs()) }

// of is the pack of an id, nil if it is not served.
func (s *packSet) of(id string) *servedPack {
	for _, p := range s.all() {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// turn is a change of the packs that are served, made ready: what is to be replaced stands still, what is new is open and does not run.
type turn struct {
	next    []*servedPack
	added   []*servedPack
	changed []*servedPack
	stopped []*servedPack // that those in changed take the place of
	gone    []*servedPack
}

// prepare makes ready to serve packs. After an error everything is as it was. The caller holds changing.
func (d *Daemon) prepare(ctx context.Context, packs []Pack, disabled []string) (t *turn, err error) {
	if d.served.over {
		return nil, errors.New("the daemon is stopping")
	}
	t = &turn{}
	defer func() {
		if err != nil {
			d.abandon(ctx, t)
		}
	}()
	for _, p := range packs {
		if edition, _ := d.feed.Latest(p.ID); edition != nil { // before anything is stopped
			if err := p.CheckAnchors(edition.Pulse); err != nil {
				return t, err
			}
		}
	}
	for _, p := range packs {
		if err := d.prepareOne(ctx, t, p, disabled); err != nil {
			return t, err
		}
	}
	for _, old := range d.served.all() {
		if !slices.Contains(idsOf(packs), old.ID) {
			t.gone = append(t.gone, old)
		}
	}
	return t, nil
}

// prepareOne makes ready to serve p.
func (d *Daemon) prepareOne(ctx context.Context, t *turn, p Pack, disabled []string) error {
	old, next := d.served.of(p.ID), &servedPack{Pack: p}
	switch {
	case old != nil && old.Same(p.Pack):
		t.next = append(t.next, old)
		return nil
	case old != nil:
		t.stopped = append(t.stopped, old)
		old.life.stop() // two pipelines of a pack would both save its states
	default:
		t.added = append(t.added, next)
		d.feed.Add(p.ID)
	}
	advance := d.advance
	if len(t.next) > 0 {
		advance = nil // the first pack plays on for all
	}
	var err error
	if next.line, err = pipeline.Open(ctx, pipeline.Config{
		Pack: p.Pack, Writer: p.Writer, Fetcher: d.fetcher, Store: d.history, Feed: d.feed, Models: d.editor.Models(),
		Every: d.cfg.Every, BriefAt: d.cfg.Briefs.At, TextWithin: d.cfg.Briefs.TextWithin, Disabled: disabled,
		AlwaysDue: d.cfg.Recording != nil, Before: advance, Observer: d.metrics,
		Track: d.jobs.Track, Now: d.cfg.Now, Logger: d.cfg.Logger,
	}); err != nil {
		return err
	}
	t.next = append(t.next, next)
	if old != nil {
		t.changed = append(t.changed, next)
	}
	return nil
}

// abandon undoes t.
func (d *Daemon) abandon(ctx context.Context, t *turn) {
	for _, p := range t.added {
		d.feed.Remove(p.ID, "") // nobody watches it
	}
	for _, p := range t.stopped {
		p.life.begin(ctx)
		if d.served.running {
			d.runPack(p, false)
		}
	}
}

// commit puts t in effect. The caller holds changing.
func (d *Daemon) commit(ctx context.Context, t *turn) {
	for _, p := range slices.Concat(t.added, t.changed) {
		p.life.begin(ctx)
	}
	d.served.list.Store(&t.next)
	if d.reader != nil {
		d.reader.SetPacks(d.readable())
		if err := d.mcp.SetPacks(d.served.ids()); err != nil { // it has made the same schemas before
			d.cfg.Logger.Error("MCP lists not updated", "error", err)
		}
	}
	for _, p := range t.stopped {
		p.free()
	}
	for _, p := range t.gone {
		p.life.stop()
		p.free()
		d.jobs.Remove(p.ID)
		d.metrics.Removed(p.ID)
		d.feed.Remove(p.ID, fmt.Sprintf("pack %s is not served any more", p.ID))
	}
	for _, p := range t.added {
		d.metrics.Served(p.ID)
		d.addPackJobs(p.ID)
	}
	if d.served.running {
		for _, p := range slices.Concat(t.added, t.changed) {
			d.runPack(p, true)
		}
	}
}

// free frees what p has.
func (p *servedPack) free() {
	if p.Close != nil {
		p.Close()
	}
}

// runPack does for p what every node does, and what belongs to its role once it has one. came says that p has come while the daemon runs.
func (d *Daemon) runPack(p *servedPack, came bool) {
	if d.cluster.role != roleNone {
		d.runLine(p, d.cluster.role == roleLeads, came)
	}
	p.life.spend(func(ctx context.Context) { d.mcp.Tell(ctx, p.ID) })
	p.life.spend(func(ctx context.Context) { d.page.Follow(ctx, p.ID) })
}

// runPacks runs every pack, and those that come later.
func (d *Daemon) runPacks() {
	d.served.changing.Lock()
	defer d.served.changing.Unlock()
	d.served.running = true
	for _, p := range d.served.all() {
		d.runPack(p, false)
	}
}

// endPacks ends what runs for packs, and waits for that.
func (d *Daemon) endPacks() {
	d.served.changing.Lock()
	defer d.served.changing.Unlock()
	d.served.over = true
	var all sync.WaitGroup
	for _, p := range d.served.all() {
		all.Go(func() {
			p.life.stop()
			p.free()
		})
	}
	all.Wait()
}

// openFetcher makes what asks the sources of all packs, so that it knows all calls of a host.
func (d *Daemon) openFetcher() {
	fetch := source.Config{Transport: d.cfg.Transport, CoinGeckoKey: d.cfg.CoinGeckoKey, PrivateHosts: d.cfg.PrivateHosts, Now: d.cfg.Now}
	if rec := d.cfg.Recording; rec != nil {
		fetch.Transport, fetch.Shift = rec, rec.Shift
		var started atomic.Bool // the first refresh plays the moment the recording stands at
		d.advance = func() {
			if started.Swap(true) {
				rec.Advance()
			}
		}
	}
	d.fetcher = source.NewFetcher(fetch)
}

// packInfo says what is served.
func (d *Daemon) packInfo() (list []api.PackInfo) {
	for _, p := range d.served.all() {
		list = append(list, p.Info(cmp.Or(d.cfg.Every, api.RefreshInterval)))
	}
	return list
}

// readable are the packs that are served as the reader knows them.
func (d *Daemon) readable() (list []reader.Pack) {
	for _, p := range d.served.all() {
		names := make(map[string]string, len(p.Sources))
		for _, s := range p.Sources {
			names[s.ID] = s.Name
		}
		list = append(list, reader.Pack{ID: p.ID, Names: names, Shown: p.Shown})
	}
	return list
}

// trouble says how the sources of a pack do, nil for one that is not served.
func (d *Daemon) trouble(id string) []api.SourceStatus {
	if p := d.served.of(id); p != nil {
		return p.line.Status()
	}
	return nil
}

// errStopping is the answer to what is asked for too late.
func errStopping() error {
	return api.Errorf(api.ReasonStateUnavailable, "the daemon is stopping").WithHint("try again").
		WithRetryAfter(api.StateUnavailableRetry * time.Second)
}

// inLine is inPack for what only the leader does.
func (d *Daemon) inLine(ctx context.Context, id string, do func(ctx context.Context, line *pipeline.Pipeline) error) error {
	return d.asLeader(ctx, func(ctx context.Context) error { return d.inPack(ctx, id, do) })
}

// inPack does something with the pipeline of a pack. It ends with ctx, and with the serving of the pack.
func (d *Daemon) inPack(ctx context.Context, id string, do func(ctx context.Context, line *pipeline.Pipeline) error) error {
	p := d.served.of(id)
	if p == nil {
		return api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", id)
	}
	err := p.life.join(ctx, func(ctx context.Context) error { return do(ctx, p.line) })
	if errors.Is(err, errOver) && d.stopping.Load() {
		return errStopping()
	}
	if errors.Is(err, errOver) {
		return api.Errorf(api.ReasonPackNotFound, "pack %q was removed or replaced meanwhile", id).WithHint("try again")
	}
	return err
}

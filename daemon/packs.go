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
	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/sdk/api"
)

// Pack is a pack that is to be served.
type Pack struct {
	*pack.Pack
	Writer   brief.Writer // of its brief by rules, with every state; nil means brief.BuiltIn
	Warnings []string     // what is served otherwise than its manifest says
	Close    func()       // frees what the pack has, once it is served no more; nil means nothing
}

func (r Reloadable) packList() []Pack {
	if len(r.Packs) == 0 {
		return []Pack{{Pack: pack.Crypto()}}
	}
	return r.Packs
}

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

// servedPack is a pack that is served, with what keeps it fresh. It is the work of a node.
type servedPack struct {
	Pack
	line   *pipeline.Pipeline
	jobs   *operate.Scheduler
	alerts *operate.Alerts
	look   func(ctx context.Context, pack string) // for watches
	tasks  cluster.Tasks                          // all that runs for it
	added  atomic.Bool                            // while the daemon runs, and no role has begun with it
}

var _ cluster.Work = (*servedPack)(nil)

// PackID is its id.
func (p *servedPack) PackID() string { return p.ID }

// CatchUp publishes what the leader before has saved.
func (p *servedPack) CatchUp(ctx context.Context) error { return p.line.CatchUp(ctx) }

// Lead keeps p fresh and watches its states for alerts. One that was added while the daemon runs is refreshed at once, all of it: what is
// stored was made by another of its id, or long ago.
func (p *servedPack) Lead(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { p.alerts.Watch(ctx, p.ID) })
	all.Go(func() { p.look(ctx, p.ID) })
	if p.added.Swap(false) {
		_ = p.jobs.RunFor(ctx, pipeline.JobRefresh, p.ID) // logged; the schedule goes on
	}
	p.line.Run(ctx)
	all.Wait()
}

// Follow publishes what the leader saves.
func (p *servedPack) Follow(ctx context.Context) {
	p.added.Store(false)
	p.line.Follow(ctx)
}

func (p *servedPack) free() {
	if p.Close != nil {
		p.Close()
	}
}

// servedPacks are the packs that are served now, in the order of the configuration. They are read without a lock.
type servedPacks struct {
	list atomic.Pointer[[]*servedPack]
}

// all are the packs with what keeps them fresh.
func (s *servedPacks) all() []*servedPack {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (s *servedPacks) packs() (packs []Pack) {
	for _, p := range s.all() {
		packs = append(packs, p.Pack)
	}
	return packs
}

// made is the pack of an id, nil if it is not served.
func (s *servedPacks) made(id string) *pack.Pack {
	if p := s.of(id); p != nil {
		return p.Pack.Pack
	}
	return nil
}

func (s *servedPacks) ids() []string { return idsOf(s.packs()) }

// of is the pack of an id, nil if it is not served.
func (s *servedPacks) of(id string) *servedPack {
	for _, p := range s.all() {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// description is that of a pack, "" for one that is not served.
func (s *servedPacks) description(id string) string {
	if p := s.of(id); p != nil {
		return p.Description
	}
	return ""
}

// trouble says how the sources of a pack do, nil for one that is not served.
func (s *servedPacks) trouble(id string) []api.SourceStatus {
	if p := s.of(id); p != nil {
		return p.line.Status()
	}
	return nil
}

func (s *servedPacks) readable() (list []reader.Pack) {
	for _, p := range s.all() {
		names := make(map[string]string, len(p.Sources))
		for _, s := range p.Sources {
			names[s.ID] = s.Name
		}
		list = append(list, reader.Pack{ID: p.ID, Names: names, Shown: p.Shown, Notices: p.Notices()})
	}
	return list
}

// follow has all publish at once what another node has saved.
func (s *servedPacks) follow() {
	for _, p := range s.all() {
		p.line.Hint()
	}
}

// packSet changes which packs are served, and runs them.
type packSet struct {
	*servedPacks
	cfg     Config
	node    *cluster.Node
	sources sources
	feed    *feed.Feed
	history *history.History
	models  []brief.Writer
	jobs    *operate.Scheduler
	metrics *metrics.Metrics
	alerts  *operate.Alerts
	look    func(ctx context.Context, pack string)

	notBefore func(context.Context) *api.LogNotBefore // nil without a beacon
	evidence  *evidence.Store                         // nil where none is kept

	changing sync.Mutex                               // held by who changes the packs; guards what follows
	each     []func(ctx context.Context, pack string) // that every node runs for every pack; nil before run
	over     bool                                     // no other packs can follow
}

func (s *packSet) info() (list []api.PackInfo) {
	for _, p := range s.all() {
		list = append(list, p.Info(cmp.Or(s.cfg.Every, api.RefreshInterval), s.sources.unasked))
	}
	return list
}

// packChange is a change of the packs that are served, made ready: what is to be replaced stands still, what is new is open and does not
// run.
type packChange struct {
	next    []*servedPack
	added   []*servedPack
	changed []*servedPack
	stopped []*servedPack // that those in changed take the place of
	gone    []*servedPack
}

// prepare makes ready to serve packs. After an error everything is as it was. The caller holds changing.
func (s *packSet) prepare(ctx context.Context, packs []Pack, disabled []string) (c *packChange, err error) {
	if s.over {
		return nil, errors.New("the daemon is stopping")
	}
	c = &packChange{}
	defer func() {
		if err != nil {
			s.abandon(ctx, c)
		}
	}()
	for _, p := range packs {
		if edition, _ := s.feed.Latest(p.ID); edition != nil { // before anything is stopped
			if err := p.CheckAnchors(edition.Pulse); err != nil {
				return c, err
			}
		}
	}
	for _, p := range packs {
		if err := s.prepareOne(ctx, c, p, disabled); err != nil {
			return c, err
		}
	}
	for _, old := range s.all() {
		if !slices.Contains(idsOf(packs), old.ID) {
			c.gone = append(c.gone, old)
		}
	}
	return c, nil
}

// prepareOne makes ready to serve p.
func (s *packSet) prepareOne(ctx context.Context, c *packChange, p Pack, disabled []string) error {
	old, next := s.of(p.ID), &servedPack{Pack: p, jobs: s.jobs, alerts: s.alerts, look: s.look}
	switch {
	case old != nil && old.Same(p.Pack):
		c.next = append(c.next, old)
		return nil
	case old != nil:
		c.stopped = append(c.stopped, old)
		s.node.Remove(old)
		old.tasks.Stop() // two pipelines of a pack would both save its states
		for _, source := range p.Sources {
			s.sources.Forget(source.Connector)
		}
	default:
		c.added = append(c.added, next)
		s.feed.Add(p.ID)
	}
	advance := s.sources.advance
	if len(c.next) > 0 {
		advance = nil // the first pack plays on for all
	}
	for _, warning := range p.Warnings {
		s.cfg.Logger.Warn("manifest: "+warning, "pack", p.ID)
	}
	store := keepingHistory{servedHistory{s.history, func(string) *pack.Pack { return p.Pack }}, s.evidence}
	var err error
	if next.line, err = pipeline.Open(ctx, pipeline.Config{
		Pack: p.Pack, Writer: p.Writer, Fetcher: s.sources.Fetcher, Store: store, Feed: provenFeed{s.feed, s.evidence}, Models: s.models,
		Every: s.cfg.Every, Early: s.early(), BriefAt: s.cfg.Briefs.At, TextWithin: s.cfg.Briefs.TextWithin, Disabled: disabled,
		Unasked: s.sources.unasked, Remade: old != nil, Program: build.Read().Commit,
		AlwaysDue: s.cfg.Recording != nil, Before: advance, Observer: s.metrics,
		NotBefore: s.notBefore, Track: s.jobs.Track, Now: s.cfg.Now, Logger: s.cfg.Logger,
	}); err != nil {
		return err
	}
	c.next = append(c.next, next)
	if old != nil {
		c.changed = append(c.changed, next)
	}
	return nil
}

// mostEarly is how long before its slot a refresh begins at least, so that an upstream that takes long for once makes no state late.
const mostEarly = 10 * time.Second

// early is mostEarly, or less where refreshes are frequent. A recording answers at once.
func (s *packSet) early() time.Duration {
	if s.cfg.Recording != nil {
		return 0
	}
	return min(cmp.Or(s.cfg.Every, api.RefreshInterval)/30, mostEarly)
}

// abandon undoes what prepare has done for c. The caller holds changing.
func (s *packSet) abandon(ctx context.Context, c *packChange) {
	for _, p := range c.added {
		s.feed.Remove(p.ID, "") // nobody watches it
	}
	for _, p := range c.stopped {
		p.tasks.Start(ctx)
		s.start(p)
	}
}

// swap has the packs of c served in place of those before. finish follows. The caller holds changing.
func (s *packSet) swap(ctx context.Context, c *packChange) {
	for _, p := range slices.Concat(c.added, c.changed) {
		p.tasks.Start(ctx)
	}
	for _, p := range c.changed {
		if edition, _ := s.feed.Latest(p.ID); edition != nil && !p.Serves(edition.Pulse) {
			s.feed.Remove(p.ID, fmt.Sprintf("pack %s is served without some of its sources from now on", p.ID))
			s.feed.Add(p.ID)
		}
	}
	s.list.Store(&c.next)
}

// finish ends the packs that c replaces or removes, and runs those that are new. The caller holds changing.
func (s *packSet) finish(c *packChange) {
	for _, p := range c.stopped {
		p.free()
	}
	for _, p := range c.gone {
		s.node.Remove(p)
		p.tasks.Stop()
		p.free()
		s.jobs.Remove(p.ID)
		s.metrics.Removed(p.ID)
		s.feed.Remove(p.ID, fmt.Sprintf("pack %s is not served any more", p.ID))
	}
	for _, p := range c.added {
		s.metrics.Served(p.ID)
		s.jobs.Add(pipeline.JobRefresh, p.ID, "ask the sources that are due and make a state", 0,
			func(ctx context.Context) error { return s.refresh(ctx, p.ID) })
		s.jobs.Add(pipeline.JobBrief, p.ID, "write a brief of the newest state", 0,
			func(ctx context.Context) error { return s.narrate(ctx, p.ID) })
	}
	for _, p := range slices.Concat(c.added, c.changed) {
		p.added.Store(s.each != nil)
		s.start(p)
	}
}

// start does for p what belongs to the role of this node and, once the daemon runs, what every node does. The caller holds changing.
func (s *packSet) start(p *servedPack) {
	s.node.Add(p, &p.tasks)
	s.startEach(p)
}

func (s *packSet) startEach(p *servedPack) {
	for _, do := range s.each {
		p.tasks.Go(func(ctx context.Context) { do(ctx, p.ID) })
	}
}

// run runs each for every pack, and for those that come later.
func (s *packSet) run(each ...func(ctx context.Context, pack string)) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.each = each
	for _, p := range s.all() {
		s.startEach(p)
	}
}

// end ends what runs for packs, and waits for that.
func (s *packSet) end() {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.over = true
	var all sync.WaitGroup
	for _, p := range s.all() {
		all.Go(func() {
			p.tasks.Stop()
			p.free()
		})
	}
	all.Wait()
}

// refresh refreshes a pack now, as the leader. Sources are asked too that are not due.
func (s *packSet) refresh(ctx context.Context, id string) error {
	return s.withPipeline(ctx, id, func(ctx context.Context, line *pipeline.Pipeline) error {
		_, err := line.Refresh(ctx, true)
		return err
	})
}

// narrate writes a brief of a pack now, as the leader.
func (s *packSet) narrate(ctx context.Context, id string) error {
	return s.withPipeline(ctx, id, func(ctx context.Context, line *pipeline.Pipeline) error { return line.Narrate(ctx) })
}

// withPipeline does something that only the leader does with the pipeline of a pack. It ends with ctx, and when the pack is no longer
// served.
func (s *packSet) withPipeline(ctx context.Context, id string, do func(ctx context.Context, line *pipeline.Pipeline) error) error {
	return s.node.AsLeader(ctx, func(ctx context.Context) error {
		p := s.of(id)
		if p == nil {
			return api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", id)
		}
		err := p.tasks.Do(ctx, func(ctx context.Context) error { return do(ctx, p.line) })
		switch {
		case !errors.Is(err, cluster.ErrStopped):
			return err
		case s.node.Stopping():
			return cluster.Stopping()
		default:
			return api.Errorf(api.ReasonPackNotFound, "pack %q was removed or replaced meanwhile", id).WithHint("try again")
		}
	})
}

// hasState reports whether calls on a pack can be answered.
func (s *packSet) hasState(id string) bool {
	edition, _ := s.feed.Latest(id)
	return edition != nil
}

// stateTimes are when the newest state of each pack was made.
func (s *packSet) stateTimes() map[string]time.Time {
	times := map[string]time.Time{}
	for _, id := range s.ids() {
		if edition, _ := s.feed.Latest(id); edition != nil {
			times[id] = edition.GeneratedAt
		}
	}
	return times
}

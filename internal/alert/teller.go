package alert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	firstWait   = time.Second            // after a target failed; doubles up to longestWait
	longestWait = 5 * time.Minute        // unless the target itself asks for longer
	heeded      = time.Hour              // the longest that a target can ask for
	grace       = 500 * time.Millisecond // for a delivery under way at a stop
	maxQueued   = 10_000                 // events that wait while the journal cannot be written
)

// Report is the state of a Teller for its operator. It holds no secret.
type Report struct {
	Event  *Event        // nil where it is not about one
	Target string        // that has taken Event, or failed to; "" where it is not about one
	Done   bool          // no other target is to take Event
	Err    error         // what went wrong, nil for a delivery
	Wait   time.Duration // until that is tried again; 0 where that is up to others
}

// Config is what a Teller needs.
type Config struct {
	Path  string // of the journal, for one Teller alone
	Rules []Rule

	// Notify hears of deliveries and of trouble, perhaps from several goroutines at a time. It must not call the Teller. Nil: nobody.
	Notify func(Report)

	FirstWait time.Duration // after a target failed; 0 means a second
	Grace     time.Duration // for a delivery under way at a stop; 0 means half a second

	room func(f *os.File, line []byte) error // asked before a line is written to f; nil means that there is always room
}

// Teller finds events and has them delivered. Make one with Open; it is safe for concurrent use.
type Teller struct {
	cfg Config

	mu      sync.Mutex // guards what follows
	rules   []Rule
	edges   map[string]map[string]*edge // by rule and key
	queue   []*queued                   // oldest first
	seen    map[string]time.Time        // At of the newest state, by rule
	last    map[string]time.Time        // the same for rules of one member, also from before a restart
	log     *journal
	dirty   bool          // the journal says less than is known here
	changed chan struct{} // closed and made again when there may be something to do
	ruled   chan struct{} // closed and made again when there are other rules
}

// Open takes the journal and reads what it knows. The error is ErrInUse where somebody else has it.
func Open(cfg Config) (*Teller, error) {
	if cfg.Notify == nil {
		cfg.Notify = func(Report) {}
	}
	if cfg.FirstWait == 0 {
		cfg.FirstWait = firstWait
	}
	if cfg.Grace == 0 {
		cfg.Grace = grace
	}
	t := &Teller{
		cfg: cfg, edges: map[string]map[string]*edge{}, seen: map[string]time.Time{}, last: map[string]time.Time{},
		changed: make(chan struct{}), ruled: make(chan struct{}),
	}
	var damaged int
	var err error
	if t.log, damaged, err = openJournal(cfg.Path, cfg.room, t.apply); err != nil {
		return nil, err
	}
	if damaged > 0 {
		cfg.Notify(Report{Err: fmt.Errorf("%d lines of the journal cannot be read and are left out: %s", damaged, cfg.Path)})
	}
	t.dirty = true // it is rewritten at every start, without what it need not say
	t.SetRules(cfg.Rules)
	return t, nil
}

// apply notes what a record says. The caller holds mu, or is alone.
func (t *Teller) apply(r record) {
	for rule, edges := range r.Edges {
		if t.edges[rule] == nil {
			t.edges[rule] = map[string]*edge{}
		}
		for key, e := range edges {
			if e == nil || e.Last == nil {
				delete(t.edges[rule], key)
			} else {
				t.edges[rule][key] = e
			}
		}
	}
	maps.Copy(t.last, r.Last)
	t.queue = append(t.queue, r.Events...)
	for _, d := range r.Done {
		t.strike(d)
	}
}

// strike takes a target off an event, and the event off the queue where it was the last. done says that it was. The caller holds mu.
func (t *Teller) strike(d delivery) (done bool) {
	i := slices.IndexFunc(t.queue, func(q *queued) bool { return q.Event.ID == d.ID })
	if i < 0 {
		return false
	}
	q := t.queue[i]
	q.To = slices.DeleteFunc(q.To, func(name string) bool { return name == d.To })
	if len(q.To) > 0 {
		return false
	}
	t.queue = slices.Delete(t.queue, i, i+1)
	return true
}

// record notes r here and in the journal. The caller holds mu. The error says that the journal will have it later.
func (t *Teller) record(r record) error {
	t.apply(r)
	if t.dirty {
		return t.write()
	}
	if err := t.log.append(r); err != nil {
		t.dirty = true
		return err
	}
	if t.log.full() {
		_ = t.log.rewrite(t.snapshot()) // it is longer than need be, and stays good
	}
	return nil
}

// write rewrites the journal if it says less than is known. The caller holds mu.
func (t *Teller) write() error {
	if !t.dirty {
		return nil
	}
	if err := t.log.rewrite(t.snapshot()); err != nil {
		return err
	}
	t.dirty = false
	t.wake()
	return nil
}

// snapshot is all that is known. The caller holds mu.
func (t *Teller) snapshot() []record {
	records := []record{{Edges: t.edges, Last: t.last}}
	for _, q := range t.queue {
		records = append(records, record{Events: []*queued{q}})
	}
	return records
}

// wake tells everybody who waits that there may be something to do. The caller holds mu.
func (t *Teller) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// SetRules puts other rules in effect. A rule of the same name goes on where it was; of one that is gone nothing is known any more, and
// what its targets have not taken yet is told as dropped.
func (t *Teller) SetRules(rules []Rule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = rules
	var known []string
	for _, r := range rules {
		for _, target := range r.Targets {
			known = append(known, target.Name)
		}
	}
	gone := func(rule string) bool {
		return !slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == rule })
	}
	maps.DeleteFunc(t.last, func(rule string, _ time.Time) bool { return gone(rule) })
	for rule, edges := range t.edges {
		if !gone(rule) {
			continue
		}
		forgotten := map[string]*edge{}
		for key := range edges {
			forgotten[key] = nil
		}
		t.save(record{Edges: map[string]map[string]*edge{rule: forgotten}})
		delete(t.edges, rule)
	}
	for _, q := range slices.Clone(t.queue) {
		for _, name := range slices.Clone(q.To) {
			if !slices.Contains(known, name) {
				t.save(record{Done: []delivery{{q.Event.ID, name}}})
				t.cfg.Notify(Report{Event: &q.Event, Err: fmt.Errorf("event %s is dropped: there is no %s any more", q.Event.ID, name)})
			}
		}
	}
	if err := t.write(); err != nil {
		t.cfg.Notify(Report{Err: err})
	}
	clear(t.seen) // the others have not looked at the newest state
	close(t.ruled)
	t.ruled = make(chan struct{})
	t.wake()
}

// save records r, and tells where that failed. The caller holds mu.
func (t *Teller) save(r record) {
	if err := t.record(r); err != nil {
		t.cfg.Notify(Report{Err: err})
	}
}

// Last is when the state was made that the rule of a name looked at last, before a restart too. It is zero for one that has looked at none,
// or looks at more than one member.
func (t *Teller) Last(rule string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last[rule]
}

// Standing are the newest events of what holds still, oldest first.
func (t *Teller) Standing() (list []Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, edges := range t.edges {
		for _, e := range edges {
			if e.Up && e.Last != nil && e.Last.Change != Ended {
				list = append(list, *e.Last)
			}
		}
	}
	slices.SortFunc(list, func(a, b Event) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return list
}

// Observe looks at a state and returns the events in it, which Run delivers. For a rule that has looked at one that is as new it has none,
// and a past one is for the rules of its member alone. The error says why a rule could not look, or why the journal could not be written:
// the events hold all the same.
func (t *Teller) Observe(ctx context.Context, s State) ([]Event, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dirty && len(t.queue) >= maxQueued {
		return nil, errors.Join(fmt.Errorf("%d events wait for the journal, and states are not looked at", len(t.queue)), t.write())
	}
	var errs []error
	var events []Event
	r := record{Edges: map[string]map[string]*edge{}, Last: map[string]time.Time{}}
	for _, rule := range t.rules {
		if !t.isNew(s, rule) {
			continue
		}
		if t.seen[rule.Name] = s.At; rule.Member != "" {
			r.Last[rule.Name] = s.At
		}
		found, err := rule.Find(ctx, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", rule.Name, err))
			continue
		}
		changed, told := rule.step(t.edges[rule.Name], found, s)
		if len(changed) > 0 {
			r.Edges[rule.Name] = changed
		}
		for _, e := range told {
			events = append(events, e)
			if to := rule.targets(); len(to) > 0 {
				r.Events = append(r.Events, &queued{Event: e, To: to})
			}
		}
	}
	if len(r.Edges)+len(r.Last) > 0 {
		errs = append(errs, t.record(r))
		t.wake()
	}
	return events, errors.Join(errs...)
}

// isNew reports whether a rule is to look at s. The caller holds mu.
func (t *Teller) isNew(s State, rule Rule) bool {
	if rule.Pack != s.Pack || s.Member != "" && (s.Member != rule.Member || !s.At.After(t.last[rule.Name])) {
		return false
	}
	last, ok := t.seen[rule.Name]
	return !ok || s.At.After(last)
}

func (r Rule) targets() (names []string) {
	for _, t := range r.Targets {
		names = append(names, t.Name)
	}
	return names
}

// Pending is how many events wait to be delivered, and since when the oldest does.
func (t *Teller) Pending() (n int, oldest time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) > 0 {
		oldest = t.queue[0].Event.At
	}
	return len(t.queue), oldest
}

// Waiting is how many events wait in the journal at path, and since when the oldest does; somebody else may be writing it.
func Waiting(path string) (n int, oldest time.Time, err error) {
	t := &Teller{edges: map[string]map[string]*edge{}, last: map[string]time.Time{}}
	if _, err := readJournal(path, t.apply); err != nil {
		return 0, time.Time{}, err
	}
	n, oldest = t.Pending()
	return n, oldest, nil
}

// Run delivers until ctx is done. A delivery under way then has the grace of the Config to end.
func (t *Teller) Run(ctx context.Context) {
	for ctx.Err() == nil {
		t.mu.Lock()
		targets, ruled := map[string]Target{}, t.ruled
		for _, r := range t.rules {
			for _, target := range r.Targets {
				targets[target.Name] = target
			}
		}
		t.mu.Unlock()
		round, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		for _, name := range slices.Sorted(maps.Keys(targets)) {
			all.Go(func() { t.serve(round, targets[name]) })
		}
		all.Go(func() { t.mend(round) })
		select {
		case <-ctx.Done():
		case <-ruled:
		}
		stop()
		all.Wait()
	}
}

// Close gives the journal free. It is for after Run.
func (t *Teller) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.write(), t.log.close())
}

// mend writes the journal as soon as that works, where it did not.
func (t *Teller) mend(ctx context.Context) {
	for failures := 0; ; {
		t.mu.Lock()
		dirty, changed := t.dirty, t.changed
		err := t.write()
		t.mu.Unlock()
		switch {
		case err != nil:
			wait := t.pause(failures, nil)
			failures++
			t.cfg.Notify(Report{Err: err, Wait: wait})
			if !sleep(ctx, wait) {
				return
			}
			continue
		case dirty:
			failures = 0
			continue // the channel is another one by now
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// serve delivers to a target what it has not taken yet. After a failure it is the turn of the next event: one that the target refuses
// holds up no other.
func (t *Teller) serve(ctx context.Context, target Target) {
	failures, failed := 0, ""
	for {
		e, changed := t.next(target.Name, failed)
		if e == nil {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		err := t.deliver(ctx, target, *e)
		if err == nil {
			failures, failed = 0, ""
			t.taken(*e, target.Name)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		wait := t.pause(failures, err)
		failures, failed = failures+1, e.ID
		t.cfg.Notify(Report{Event: e, Target: target.Name, Err: err, Wait: wait})
		if !sleep(ctx, wait) {
			return
		}
	}
}

// next is the event that a target is to take: the one behind the event that failed, or else the first; nil for none. changed is closed
// when there may be one.
func (t *Teller) next(target, failed string) (e *Event, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dirty { // what is delivered now could not be recorded
		return nil, t.changed
	}
	var first *Event
	behind := false
	for _, q := range t.queue {
		if slices.Contains(q.To, target) {
			if behind {
				return &q.Event, t.changed
			}
			if first == nil {
				first = &q.Event
			}
		}
		behind = behind || q.Event.ID == failed
	}
	return first, t.changed
}

// deliver has a target take e. A stop does not cut it off at once: whether e was taken would not be known.
func (t *Teller) deliver(ctx context.Context, target Target, e Event) error {
	attempt, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(t.cfg.Grace, cancel) })
	defer stop()
	return target.Deliver(attempt, e)
}

func (t *Teller) taken(e Event, target string) {
	t.mu.Lock()
	last := slices.ContainsFunc(t.queue, func(q *queued) bool { return q.Event.ID == e.ID && len(q.To) == 1 })
	err := t.record(record{Done: []delivery{{e.ID, target}}})
	if err != nil {
		t.wake() // for mend
	}
	t.mu.Unlock()
	if err != nil {
		t.cfg.Notify(Report{Err: err})
	}
	t.cfg.Notify(Report{Event: &e, Target: target, Done: last})
}

// pause is how long to wait after some failures in a row, of which err is the last.
func (t *Teller) pause(failures int, err error) time.Duration {
	wait := min(t.cfg.FirstWait<<min(failures, 20), longestWait)
	wait = wait/2 + rand.N(wait/2+1)
	if later, ok := errors.AsType[*Later](err); ok {
		wait = max(wait, min(later.After, heeded))
	}
	return wait
}

// sleep waits, and reports whether ctx outlasted it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

package operate

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/sdk/api"
)

// Job is how a job stands. Times are nil for never since the start.
type Job struct {
	Name         string
	Pack         string // that it concerns, "" for all
	Does         string
	EverySeconds int64 // 0 for one that has a schedule of its own
	Running      bool
	StartedAt    *time.Time
	SucceededAt  *time.Time
	TookMillis   int64 // the last run
	Runs         int64 // since the start
	Failures     int64 // of those
	Error        string
}

// job is something that the daemon does now and then, never twice at once.
type job struct {
	anyNode bool          // else only the leader runs it
	every   time.Duration // 0 for one that has a schedule of its own, whose runs Track notes
	run     func(ctx context.Context) error
	status  Job
}

// Scheduler runs the jobs of a daemon, by their schedules and when it is asked to. Its fields are set before it is used; it is safe for
// concurrent use then.
type Scheduler struct {
	Now      func() time.Time
	Logger   *slog.Logger
	AsLeader func(ctx context.Context, act func(context.Context) error) error // runs what only the leader does, or refuses it

	mu   sync.Mutex // guards list and the status of those in it
	list []*job     // in the order in which they were added, those of packs first

	ctx  context.Context // of runs in the background, set by Schedule
	runs sync.WaitGroup  // in the background
}

// Add adds a job. pack is "" for one that concerns all.
func (s *Scheduler) Add(name, pack, does string, every time.Duration, run func(ctx context.Context) error) {
	added := &job{every: every, run: run, status: Job{Name: name, Pack: pack, Does: does, EverySeconds: int64(every / time.Second)}}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.list, func(one *job) bool { return one.status.Pack == "" })
	if pack == "" || at < 0 {
		at = len(s.list)
	}
	s.list = slices.Insert(s.list, at, added)
}

// OnAnyNode lets jobs run on every node of a cluster.
func (s *Scheduler) OnAnyNode(names ...string) {
	for _, name := range names {
		for _, one := range s.named(name) {
			one.anyNode = true
		}
	}
}

// Remove removes the jobs of a pack.
func (s *Scheduler) Remove(pack string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(one *job) bool { return one.status.Pack == pack })
}

// named are the jobs of a name, one for each pack where they concern packs.
func (s *Scheduler) named(name string) []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*job
	for _, one := range s.list {
		if one.status.Name == name {
			found = append(found, one)
		}
	}
	return found
}

// Schedule runs every job at once and then in each of its intervals, until ctx is done. Of what was missed while the daemon was down or
// the machine slept, one run makes up for all.
func (s *Scheduler) Schedule(ctx context.Context, all *sync.WaitGroup, anyNode bool) {
	if anyNode {
		s.ctx = ctx
	}
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	for _, one := range list {
		if one.every == 0 || one.anyNode != anyNode {
			continue
		}
		all.Go(func() {
			ticker := time.NewTicker(one.every)
			defer ticker.Stop()
			for {
				_ = s.do(ctx, one) // logged
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
			}
		})
	}
}

// Track notes the run of a job that a pipeline does on a schedule of its own: done is called at its end. ok is false while one is under
// way, and then there is to be no other.
func (s *Scheduler) Track(pack, name string) (done func(error), ok bool) {
	if one := s.of(name, pack); one != nil {
		return s.begin(one)
	}
	return func(error) {}, true
}

// of is the job of a name for a pack, nil where there is none.
func (s *Scheduler) of(name, pack string) *job {
	for _, one := range s.named(name) {
		if one.status.Pack == pack {
			return one
		}
	}
	return nil
}

// begin notes that a job begins, unless it is under way.
func (s *Scheduler) begin(one *job) (done func(error), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := &one.status
	if status.Running {
		return nil, false
	}
	began := s.Now()
	status.Running, status.StartedAt = true, &began
	return func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		ended := s.Now()
		status.Running, status.TookMillis, status.Error = false, ended.Sub(began).Milliseconds(), ""
		status.Runs++
		if err == nil {
			status.SucceededAt = &ended
			return
		}
		status.Failures++
		status.Error = err.Error()
	}, true
}

// do runs a job, unless it is under way, and logs what went wrong.
func (s *Scheduler) do(ctx context.Context, one *job) (err error) {
	done, ok := s.begin(one)
	if !ok {
		return api.Errorf(api.ReasonInvalidRequest, "job %s is running already", one.status.Name).WithHint("contextd jobs list")
	}
	err = errors.New("it panicked")
	defer func() { done(err) }()
	run := one.run
	if !one.anyNode {
		run = func(ctx context.Context) error { return s.AsLeader(ctx, one.run) }
	}
	if err = run(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Error("job failed", "job", one.status.Name, "error", err)
	}
	return err
}

// List says how the jobs stand.
func (s *Scheduler) List() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Job, len(s.list))
	for i, one := range s.list {
		list[i] = one.status
	}
	return list
}

// Run runs a job now, beside the schedule, and returns when it has ended. For one that concerns packs it runs that of each.
func (s *Scheduler) Run(ctx context.Context, name string) error {
	found := s.named(name)
	if len(found) == 0 {
		return api.Errorf(api.ReasonNotFound, "there is no job %q", name).WithHint("contextd jobs list")
	}
	var errs []error
	for _, one := range found {
		errs = append(errs, s.do(ctx, one))
	}
	return errors.Join(errs...)
}

// RunFor is Run for one pack.
func (s *Scheduler) RunFor(ctx context.Context, name, pack string) error {
	one := s.of(name, pack)
	if one == nil {
		return api.Errorf(api.ReasonNotFound, "pack %s has no job %q", pack, name).WithHint("contextd jobs list")
	}
	return s.do(ctx, one)
}

// Start runs a job in the background. One that is under way is left alone.
func (s *Scheduler) Start(name string) error {
	if len(s.named(name)) == 0 {
		return api.Errorf(api.ReasonNotFound, "there is no job %q", name)
	}
	for _, one := range s.named(name) {
		if !one.anyNode {
			if err := s.AsLeader(s.ctx, func(context.Context) error { return nil }); err != nil {
				return err
			}
		}
	}
	s.runs.Go(func() { _ = s.Run(s.ctx, name) }) // logged
	return nil
}

// Wait waits until nothing runs in the background any more.
func (s *Scheduler) Wait() { s.runs.Wait() }

// Readings are how the jobs stand, for the metrics.
func (s *Scheduler) Readings() map[string]metrics.Job {
	list := map[string]metrics.Job{}
	for _, one := range s.List() {
		r := metrics.Job{Failures: one.Failures}
		if one.SucceededAt != nil {
			r.Succeeded = *one.SucceededAt
		}
		name := one.Name
		if one.Pack != "" {
			name += "/" + one.Pack
		}
		list[name] = r
	}
	return list
}

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/sdk/api"
)

// job is something that the daemon does now and then, never twice at once.
type job struct {
	anyNode bool          // else only the leader runs it
	every   time.Duration // 0 for one that has a schedule of its own, and tells of its runs
	run     func(ctx context.Context) error
	status  admin.Job
}

// Board holds the jobs of a daemon. Its fields are set before it is used.
type Board struct {
	Now    func() time.Time
	Logger *slog.Logger
	Lead   func(ctx context.Context, act func(context.Context) error) error // runs what only the leader does, or refuses it

	mu   sync.Mutex // guards list and the status of those in it
	list []*job     // in the order in which they were added, those of packs first

	ctx  context.Context // of runs in the background, set by Schedule
	runs sync.WaitGroup  // in the background
}

// Add adds a job. pack is "" for one that concerns all.
func (j *Board) Add(name, pack, does string, every time.Duration, run func(ctx context.Context) error) {
	added := &job{every: every, run: run, status: admin.Job{Name: name, Pack: pack, Does: does, EverySeconds: int64(every / time.Second)}}
	j.mu.Lock()
	defer j.mu.Unlock()
	at := slices.IndexFunc(j.list, func(one *job) bool { return one.status.Pack == "" })
	if pack == "" || at < 0 {
		at = len(j.list)
	}
	j.list = slices.Insert(j.list, at, added)
}

// OnAnyNode lets jobs run on every node of a cluster.
func (j *Board) OnAnyNode(names ...string) {
	for _, name := range names {
		for _, one := range j.named(name) {
			one.anyNode = true
		}
	}
}

// Remove removes the jobs of a pack.
func (j *Board) Remove(pack string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = slices.DeleteFunc(j.list, func(one *job) bool { return one.status.Pack == pack })
}

// named are the jobs of a name, one for each pack where they concern packs.
func (j *Board) named(name string) []*job {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []*job
	for _, one := range j.list {
		if one.status.Name == name {
			found = append(found, one)
		}
	}
	return found
}

// Schedule runs every job at once and then in each of its intervals, until ctx is done. Of what was missed while the daemon was down or
// the machine slept, one run makes up for all.
func (j *Board) Schedule(ctx context.Context, all *sync.WaitGroup, anyNode bool) {
	if anyNode {
		j.ctx = ctx
	}
	j.mu.Lock()
	list := slices.Clone(j.list)
	j.mu.Unlock()
	for _, one := range list {
		if one.every == 0 || one.anyNode != anyNode {
			continue
		}
		all.Go(func() {
			ticker := time.NewTicker(one.every)
			defer ticker.Stop()
			for {
				_ = j.do(ctx, one) // logged
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
func (j *Board) Track(pack, name string) (done func(error), ok bool) {
	if one := j.of(name, pack); one != nil {
		return j.begin(one)
	}
	return func(error) {}, true
}

// of is the job of a name for a pack, nil where there is none.
func (j *Board) of(name, pack string) *job {
	for _, one := range j.named(name) {
		if one.status.Pack == pack {
			return one
		}
	}
	return nil
}

// begin notes that a job begins, unless it is under way.
func (j *Board) begin(one *job) (done func(error), ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &one.status
	if s.Running {
		return nil, false
	}
	began := j.Now()
	s.Running, s.StartedAt = true, &began
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		ended := j.Now()
		s.Running, s.TookMillis, s.Error = false, ended.Sub(began).Milliseconds(), ""
		s.Runs++
		if err == nil {
			s.SucceededAt = &ended
			return
		}
		s.Failures++
		s.Error = err.Error()
	}, true
}

// do runs a job, unless it is under way, and logs what went wrong.
func (j *Board) do(ctx context.Context, one *job) (err error) {
	done, ok := j.begin(one)
	if !ok {
		return api.Errorf(api.ReasonInvalidRequest, "job %s is running already", one.status.Name).WithHint("contextd jobs list")
	}
	err = errors.New("it panicked")
	defer func() { done(err) }()
	run := one.run
	if !one.anyNode && j.Lead != nil {
		run = func(ctx context.Context) error { return j.Lead(ctx, one.run) }
	}
	if err = run(ctx); err != nil && ctx.Err() == nil {
		j.Logger.Error("job failed", "job", one.status.Name, "error", err)
	}
	return err
}

// List says how the jobs stand.
func (j *Board) List() []admin.Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := make([]admin.Job, len(j.list))
	for i, one := range j.list {
		list[i] = one.status
	}
	return list
}

// Run runs a job now, beside the schedule, and returns when it has ended. For one that concerns packs it runs that of each.
func (j *Board) Run(ctx context.Context, name string) error {
	found := j.named(name)
	if len(found) == 0 {
		return api.Errorf(api.ReasonNotFound, "there is no job %q", name).WithHint("contextd jobs list")
	}
	var errs []error
	for _, one := range found {
		errs = append(errs, j.do(ctx, one))
	}
	return errors.Join(errs...)
}

// RunFor is Run for one pack.
func (j *Board) RunFor(ctx context.Context, name, pack string) error {
	one := j.of(name, pack)
	if one == nil {
		return api.Errorf(api.ReasonNotFound, "pack %s has no job %q", pack, name).WithHint("contextd jobs list")
	}
	return j.do(ctx, one)
}

// Start runs a job in the background. One that is under way is left alone.
func (j *Board) Start(name string) error {
	if len(j.named(name)) == 0 {
		return api.Errorf(api.ReasonNotFound, "there is no job %q", name)
	}
	for _, one := range j.named(name) {
		if !one.anyNode && j.Lead != nil {
			if err := j.Lead(j.ctx, func(context.Context) error { return nil }); err != nil {
				return err
			}
		}
	}
	j.runs.Go(func() { _ = j.Run(j.ctx, name) }) // logged
	return nil
}

// Wait waits until nothing runs in the background any more.
func (j *Board) Wait() { j.runs.Wait() }

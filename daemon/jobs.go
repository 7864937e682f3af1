package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/web/observe"
	"github.com/contextd/contextd/sdk/api"
)

// How often the jobs run that have no schedule of their own.
const (
	flushEvery = 30 * time.Second
	pruneEvery = time.Hour
	sweepEvery = 30 * time.Second
	scanEvery  = 15 * time.Second
)

// job is something that the daemon does now and then, never twice at once.
type job struct {
	every  time.Duration // 0 for one that has a schedule of its own, and tells of its runs
	run    func(ctx context.Context) error
	status web.AdminJob
}

// jobs are those of a daemon.
type jobs struct {
	now    func() time.Time
	logger *slog.Logger

	mu   sync.Mutex // guards the status of those in list
	list []*job     // in the order in which they were added; never changed once the daemon runs

	ctx  context.Context // of runs in the background, set before the daemon answers
	runs sync.WaitGroup  // in the background
}

// add adds a job. pack is "" for one that concerns all.
func (j *jobs) add(name, pack, does string, every time.Duration, run func(ctx context.Context) error) {
	j.list = append(j.list, &job{every: every, run: run, status: web.AdminJob{Name: name, Pack: pack, Does: does, EverySeconds: int64(every / time.Second)}})
}

// named are the jobs of a name, one for each pack where they concern packs.
func (j *jobs) named(name string) []*job {
	var found []*job
	for _, one := range j.list {
		if one.status.Name == name {
			found = append(found, one)
		}
	}
	return found
}

// schedule runs every job at once and then in each of its intervals, until ctx is done. Of what was missed while the daemon was down or
// the machine slept, one run makes up for all.
func (j *jobs) schedule(ctx context.Context, all *sync.WaitGroup) {
	for _, one := range j.list {
		if one.every == 0 {
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

// track notes the run of a job that a pipeline does on a schedule of its own: done is called at its end. ok is false while one is under
// way, and then there is to be no other.
func (j *jobs) track(pack, name string) (done func(error), ok bool) {
	for _, one := range j.named(name) {
		if one.status.Pack == pack {
			return j.begin(one)
		}
	}
	return func(error) {}, true
}

// begin notes that a job begins, unless it is under way.
func (j *jobs) begin(one *job) (done func(error), ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &one.status
	if s.Running {
		return nil, false
	}
	began := j.now()
	s.Running, s.StartedAt = true, &began
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		ended := j.now()
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
func (j *jobs) do(ctx context.Context, one *job) (err error) {
	done, ok := j.begin(one)
	if !ok {
		return api.Errorf(api.ReasonInvalidRequest, "job %s is running already", one.status.Name).WithHint("contextd jobs list")
	}
	err = errors.New("it panicked")
	defer func() { done(err) }()
	if err = one.run(ctx); err != nil && ctx.Err() == nil {
		j.logger.Error("job failed", "job", one.status.Name, "error", err)
	}
	return err
}

// Jobs says how the daemon's jobs stand.
func (d *Daemon) Jobs() []web.AdminJob {
	d.jobs.mu.Lock()
	defer d.jobs.mu.Unlock()
	list := make([]web.AdminJob, len(d.jobs.list))
	for i, one := range d.jobs.list {
		list[i] = one.status
	}
	return list
}

// RunJob runs a job now, beside the schedule, and returns when it has ended. For one that concerns packs it runs that of each.
func (d *Daemon) RunJob(ctx context.Context, name string) error {
	found := d.jobs.named(name)
	if len(found) == 0 {
		return api.Errorf(api.ReasonNotFound, "there is no job %q", name).WithHint("contextd jobs list")
	}
	var errs []error
	for _, one := range found {
		errs = append(errs, d.jobs.do(ctx, one))
	}
	return errors.Join(errs...)
}

// startJob runs a job in the background. One that is under way is left alone.
func (d *Daemon) startJob(name string) error {
	if len(d.jobs.named(name)) == 0 {
		return api.Errorf(api.ReasonNotFound, "there is no job %q", name)
	}
	d.jobs.runs.Go(func() { _ = d.RunJob(d.jobs.ctx, name) }) // logged
	return nil
}

// addJobs adds the jobs of the daemon.
func (d *Daemon) addJobs() {
	for _, id := range slices.Sorted(maps.Keys(d.pipelines)) {
		d.jobs.add(pipeline.JobRefresh, id, "ask the sources that are due and make a state", 0, func(ctx context.Context) error { return d.Refresh(ctx, id) })
		d.jobs.add(pipeline.JobBrief, id, "write a brief of the newest state", 0, func(ctx context.Context) error { return d.Narrate(ctx, id) })
	}
	d.jobs.add("deposits", "", "look for payments of purchases on the chain", scanEvery, d.Scan)
	d.jobs.add("expire", "", "end purchases that nobody paid", scanEvery, d.expire)
	d.jobs.add("prune", "", "drop single calls, sessions and sign-ins that have ended", pruneEvery, d.prune)
	d.jobs.add("sweep", "", "look again at payments by call that may have vanished from the chain", sweepEvery, d.Sweep)
	d.jobs.add("flush", "", "write down when keys were last used", flushEvery, d.keys.Flush)
	d.jobs.add(jobBackup, "", "back up the databases and keys", 0, d.BackUp)
}

// expire ends purchases that nobody paid.
func (d *Daemon) expire(ctx context.Context) error {
	if d.counter == nil {
		return nil
	}
	if err := d.counter.Expire(ctx); err != nil {
		return fmt.Errorf("expire purchases: %w", err)
	}
	return nil
}

// jobReadings is how the jobs stand, for the metrics.
func (d *Daemon) jobReadings() map[string]observe.Job {
	list := map[string]observe.Job{}
	for _, one := range d.Jobs() {
		r := observe.Job{Failures: one.Failures}
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

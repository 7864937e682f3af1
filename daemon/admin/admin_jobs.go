package admin

import (
	"github.com/contextd/contextd/daemon/web"
)

import (
	"context"
	"net/http"
	"time"
)

// Paths of the admin socket for jobs.
const (
	PathJobs   = "/jobs"
	PathRunJob = "/jobs/{name}"
)

// Job is how a job of the daemon stands. Times are nil for never since the start.
type Job struct {
	Name         string     `json:"name"`
	Pack         string     `json:"pack,omitempty"` // that it concerns
	Does         string     `json:"does"`
	EverySeconds int64      `json:"everySeconds"` // 0 for one that has a schedule of its own
	Running      bool       `json:"running"`
	StartedAt    *time.Time `json:"startedAt"`
	SucceededAt  *time.Time `json:"succeededAt"`
	TookMillis   int64      `json:"tookMillis"` // the last run
	Runs         int64      `json:"runs"`       // since the start
	Failures     int64      `json:"failures"`   // of those
	Error        string     `json:"error,omitempty"`
}

// JobsResponse answers a GET of PathJobs.
type JobsResponse struct {
	Jobs []Job `json:"jobs"`
}

// Jobs are what the admin socket knows of the daemon's jobs.
type Jobs struct {
	List func() []Job
	Run  func(ctx context.Context, name string) error // and wait for its end
}

// routes are those about jobs, none for nil.
func (j *Jobs) routes(into web.Routes) {
	if j == nil {
		return
	}
	list := func(w http.ResponseWriter, _ *http.Request) error {
		return web.WriteJSON(w, http.StatusOK, JobsResponse{Jobs: j.List()})
	}
	run := func(w http.ResponseWriter, r *http.Request) error {
		if err := j.Run(r.Context(), r.PathValue("name")); err != nil {
			return err
		}
		return list(w, r)
	}
	into[PathJobs] = map[string]web.Handler{http.MethodGet: list}
	into[PathRunJob] = map[string]web.Handler{http.MethodPost: run}
}

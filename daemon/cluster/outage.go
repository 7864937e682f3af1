package cluster

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// calmFor is the time without a call that fails after which an outage is over.
const calmFor = 2 * time.Second

// Outage logs a time in which the database does not answer as one, however many calls fail in it. A nil *Outage is that of SQLite. It is
// safe for concurrent use.
type Outage struct {
	log   *slog.Logger
	clock func() time.Time // that of the machine, which runs on whatever a daemon has for a clock

	mu    sync.Mutex // guards what follows
	lasts bool
	calls int       // that failed
	last  time.Time // that one did
}

// NewOutage makes the Outage of a database that answers.
func NewOutage(log *slog.Logger) *Outage { return &Outage{log: log, clock: time.Now} }

// Covers reports whether a call failed with err because the database does not answer. If so, the call is counted and needs no line of its
// own in the log.
func (o *Outage) Covers(err error) bool {
	var gone interface{ Unavailable() bool }
	if o == nil || !errors.As(err, &gone) || !gone.Unavailable() {
		return false
	}
	o.note(err, 1)
	return true
}

// note notes that a poll ended with err, or that so many calls failed with it.
func (o *Outage) note(err error, calls int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock()
	if o.calls += calls; calls > 0 {
		o.last = now
	}
	switch {
	case err != nil && !o.lasts:
		o.lasts = true
		o.log.Error("database does not answer; calls that need it are refused until it does", "error", err)
	case err == nil && o.lasts && now.Sub(o.last) >= calmFor:
		o.log.Info("database answers again", "refused_calls", o.calls)
		o.lasts, o.calls, o.last = false, 0, time.Time{}
	}
}

package web

import (
	"net/http"
	"sync/atomic"
	"time"
)

// TimedWriter writes an answer that may take for ever to a reader who may be slow, but has to take what is there: instead of the
// server's bound for the whole answer there is one for each write. It goes by a timer and not by the time of day, as clocks may be held
// in the past. One goroutine at a time may use it.
type TimedWriter struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	within time.Duration
	timer  *time.Timer // nil until something is written
	late   atomic.Bool
}

// NewTimedWriter makes a TimedWriter to w that gives up a reader who does not take a write within the given time.
func NewTimedWriter(w http.ResponseWriter, within time.Duration) *TimedWriter {
	return &TimedWriter{w: w, rc: http.NewResponseController(w), within: within}
}

// Write writes p. It fails when the reader is given up.
func (t *TimedWriter) Write(p []byte) (int, error) {
	t.wait()
	defer t.timer.Stop()
	return t.w.Write(p)
}

// FlushError sends what was written. It fails when the reader is given up.
func (t *TimedWriter) FlushError() error {
	t.wait()
	defer t.timer.Stop()
	return t.rc.Flush()
}

// Begun reports whether something was written.
func (t *TimedWriter) Begun() bool { return t.timer != nil }

// Stalled reports whether the reader was given up.
func (t *TimedWriter) Stalled() bool { return t.late.Load() }

func (t *TimedWriter) wait() {
	if t.timer != nil {
		t.timer.Reset(t.within)
		return
	}
	_ = t.rc.SetWriteDeadline(time.Time{}) // only what is no connection has none
	t.timer = time.AfterFunc(t.within, func() {
		t.late.Store(true)
		_ = t.rc.SetWriteDeadline(time.Unix(1, 0)) // long past: the write under way ends now
	})
}

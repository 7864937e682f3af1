package web_test

import (
	"errors"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/web"
)

// sluggish is a reader who takes each write, and each flush, after a while.
type sluggish struct {
	http.ResponseWriter
	writes, flushes time.Duration
	deadline        chan time.Time
}

// take waits for d, or for a deadline that has passed.
func (s *sluggish) take(d time.Duration) error {
	done := time.After(d)
	for {
		select {
		case <-done:
			return nil
		case at := <-s.deadline:
			if !at.IsZero() {
				return os.ErrDeadlineExceeded
			}
		}
	}
}

func (s *sluggish) Write(p []byte) (int, error)         { return len(p), s.take(s.writes) }
func (s *sluggish) FlushError() error                   { return s.take(s.flushes) }
func (s *sluggish) SetWriteDeadline(at time.Time) error { s.deadline <- at; return nil }

func TestTimedWriter(t *testing.T) {
	t.Parallel()
	const within = time.Minute
	for name, c := range map[string]struct {
		writes, flushes time.Duration
		pause           time.Duration // between what is written
		stalled         bool
	}{
		"quick":                     {},
		"slow":                      {writes: within - 1, flushes: within - 1},
		"nothing to write for long": {pause: time.Hour},
		"write is not taken":        {writes: within + 1, stalled: true},
		"flush is not taken":        {flushes: within + 1, stalled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := web.NewTimedWriter(&sluggish{writes: c.writes, flushes: c.flushes, deadline: make(chan time.Time, 9)}, within)
				if w.Begun() || w.Stalled() {
					t.Error("it has begun before anything was written")
				}
				var err error
				begin := time.Now()
				for range 3 {
					if _, err = w.Write([]byte("frame")); err == nil {
						err = w.FlushError()
					}
					if err != nil {
						break
					}
					time.Sleep(c.pause)
				}
				if errors.Is(err, os.ErrDeadlineExceeded) != c.stalled || w.Stalled() != c.stalled || !w.Begun() {
					t.Errorf("stalled is %v, begun %v: %v", w.Stalled(), w.Begun(), err)
				}
				if took := time.Since(begin); c.stalled && took != within {
					t.Errorf("the reader was given up after %v", took)
				}
			})
		})
	}
}

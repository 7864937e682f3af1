package mcp_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/mcp"
)

// fake is a session that can be closed.
type fake struct {
	id    string
	ended chan struct{}
	once  sync.Once
}

func (f *fake) ID() string   { return f.id }
func (f *fake) Wait() error  { <-f.ended; return nil }
func (f *fake) Close() error { f.once.Do(func() { close(f.ended) }); return nil }

// TestIdleSessionsEnd once nothing was under way in them for as long as they get, and not while a stream is open.
func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const idle = 10 * time.Minute
		table := mcp.NewSessionTable(mcp.SessionLimits{}, idle, time.Now)
		defer table.Close()
		after := func(d time.Duration, want int, what string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := table.Len(); got != want {
				t.Errorf("%s: %d sessions", what, got)
			}
		}
		listens := &fake{id: "listens", ended: make(chan struct{})}
		table.Add("key", listens, nil)
		table.Add("key", &fake{id: "silent", ended: make(chan struct{})}, nil)
		stream, err := table.Begin("key", "listens")
		if err != nil {
			t.Fatal(err)
		}
		if foreign, err := table.Begin("other", "silent"); err != nil {
			t.Fatal(err)
		} else {
			defer foreign() // which does not hold it open
		}
		after(idle-time.Second, 2, "before the time")
		after(2*time.Second, 1, "silent")
		call, _ := table.Begin("key", "listens")
		call()
		after(3*idle, 1, "with a stream")
		stream()
		after(idle-time.Second, 1, "after the stream")
		after(2*time.Second, 0, "long after the stream")
		<-listens.ended
	})
}

package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/sdk/api"
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
		table := mcp.NewSessionTable(mcp.SessionLimits{}, idle, nil, time.Now)
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
		table.Add(callerOf("owner", "key"), listens, nil)
		table.Add(callerOf("owner", "key"), &fake{id: "silent", ended: make(chan struct{})}, nil)
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

// slow is a session that takes its time to close.
type slow struct {
	fake
	hold chan struct{}
}

func (s *slow) Close() error { <-s.hold; return s.fake.Close() }

// TestSessionThatCloses is gone for every request from the moment at which it is no longer in the table.
func TestSessionThatCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := mcp.NewSessionTable(mcp.SessionLimits{}, time.Minute, nil, time.Now)
		defer table.Close()
		one := &slow{fake{id: "one", ended: make(chan struct{})}, make(chan struct{})}
		table.Add(callerOf("owner", "key"), one, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		var e *api.Error
		if _, err := table.Begin("key", "one"); table.Len() != 0 || !errors.As(err, &e) || e.Status != http.StatusNotFound {
			t.Errorf("%d sessions, a request in one that closes: %v", table.Len(), err)
		}
		if other, err := table.Begin("key", ""); err != nil {
			t.Error(err)
		} else {
			other()
		}
		close(one.hold)
		synctest.Wait()
		if after, err := table.Begin("key", "one"); err != nil { // from then on the SDK knows that it is gone
			t.Error(err)
		} else {
			after()
		}
	})
}

// callerOf is the caller with a key of an owner.
func callerOf(owner, key string) gate.Caller {
	return gate.Caller{Call: billing.Call{OwnerID: owner, KeyID: key}}
}

// TestFullTable closes the session of an owner without credits that has been idle for longest, and one in use only where none is idle. Who
// has credits keeps theirs, also when they bought them later; where all have, there is no room. An owner with all that they may have loses
// the one idle for longest, and none that is in use.
func TestFullTable(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	rich := map[string]bool{"rich": true}
	looked := 0
	credits := func(_ context.Context, c gate.Caller) (bool, error) { looked++; return rich[c.OwnerID], nil }
	table := mcp.NewSessionTable(mcp.SessionLimits{All: 6, PerOwner: 4}, time.Hour, credits, func() time.Time { return now })
	defer table.Close()
	open := map[string]*fake{}
	add := func(id, owner string) error {
		t.Helper()
		now = now.Add(time.Second)
		done, err := table.Room(t.Context(), callerOf(owner, owner+"'s key"))
		if err != nil {
			return err
		}
		defer done()
		open[id] = &fake{id: id, ended: make(chan struct{})}
		table.Add(callerOf(owner, owner+"'s key"), open[id], nil)
		return nil
	}
	gone := func(want string) {
		t.Helper()
		select {
		case <-open[want].ended:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s was not closed", want)
		}
		delete(open, want)
		for id, s := range open {
			select {
			case <-s.ended:
				t.Fatalf("%s was closed, not %s", id, want)
			default:
			}
		}
	}
	for _, s := range [][2]string{{"r1", "rich"}, {"r2", "rich"}, {"busy", "a"}, {"a1", "a"}, {"b1", "b"}, {"b2", "b"}} {
		if err := add(s[0], s[1]); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := table.Begin("a's key", "busy")
	if err != nil {
		t.Fatal(err)
	}
	defer stream()
	now = now.Add(time.Second)
	if used, err := table.Begin("a's key", "a1"); err != nil { // so that b's are idle for longer
		t.Fatal(err)
	} else {
		used()
	}
	for _, step := range []struct{ id, owner, closes string }{{"r3", "rich", "b1"}, {"c1", "c", "b2"}} {
		if err := add(step.id, step.owner); err != nil {
			t.Fatal(err)
		}
		gone(step.closes)
	}
	if looked > 3 {
		t.Errorf("it was looked %d times who has credits", looked)
	}
	rich["a"] = true // bought later
	if err := add("r4", "rich"); err != nil {
		t.Fatal(err)
	}
	gone("c1")
	if err := add("r5", "rich"); err != nil {
		t.Fatal(err)
	}
	gone("r1") // of a fifth session, the owner's own that has been idle for longest
	for _, id := range []string{"r2", "r3", "r4", "r5"} {
		stream, err := table.Begin("rich's key", id)
		if err != nil {
			t.Fatal(err)
		}
		defer stream()
	}
	var e *api.Error
	if err := add("r6", "rich"); !errors.As(err, &e) || e.Status != http.StatusTooManyRequests ||
		!strings.Contains(e.Message, "of this owner are open, and all are in use") || e.RetryAfter != time.Second {
		t.Errorf("a fifth session of one owner whose others are in use: %+v", err)
	}
	if err := add("d1", "d"); !errors.As(err, &e) || e.Status != http.StatusTooManyRequests || e.RetryAfter != time.Second {
		t.Errorf("with credits everywhere: %+v", err)
	}
	rich["a"] = false
	if table.Len() != 6 || len(open) != 6 {
		t.Errorf("%d sessions are open, want %d", table.Len(), len(open))
	}
}

// TestSessionsThatOpen: those that have room and are not there yet count, for their owner and in all, until they are or have failed.
func TestSessionsThatOpen(t *testing.T) {
	t.Parallel()
	none := func(context.Context, gate.Caller) (bool, error) { return false, nil }
	table := mcp.NewSessionTable(mcp.SessionLimits{All: 3, PerOwner: 2}, time.Hour, none, time.Now)
	defer table.Close()
	room := func(owner string) (func(), error) { return table.Room(t.Context(), callerOf(owner, owner+"'s key")) }
	var failed func()
	for _, c := range []struct{ owner, refused string }{
		{"a", ""}, {"a", ""}, {"a", "2 sessions of this owner"}, {"b", ""}, {"c", "3 sessions are open"},
	} {
		done, err := room(c.owner)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("a session of %s: %v", c.owner, err)
		}
		if failed == nil {
			failed = done
		}
	}
	failed()
	if _, err := room("a"); err != nil {
		t.Errorf("after one has failed: %v", err)
	}
}

// TestSessionInUse goes only where no other is left.
func TestSessionInUse(t *testing.T) {
	t.Parallel()
	table := mcp.NewSessionTable(mcp.SessionLimits{All: 1}, time.Hour, func(context.Context, gate.Caller) (bool, error) { return false, nil }, time.Now)
	defer table.Close()
	one := &fake{id: "one", ended: make(chan struct{})}
	table.Add(callerOf("a", "a"), one, nil)
	stream, err := table.Begin("a", "one")
	if err != nil {
		t.Fatal(err)
	}
	defer stream()
	done, err := table.Room(t.Context(), callerOf("b", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Room(t.Context(), callerOf("c", "c")); err == nil {
		t.Error("a place was given twice")
	}
	done()
	<-one.ended
}

package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/sdk/api"
)

// SessionLimits bound what is open. The zero value of a field is its default.
type SessionLimits struct {
	PerOwner int // sessions of an owner, or of a key of the operator; 0 means 64. One more ends the one that has been idle for longest
	All      int // sessions together; 0 means 5000. One more takes the place of one of an owner without credits
	Requests int // requests of a key under way, streams among them; 0 means 64
}

// withDefaults is l with its defaults.
func (l SessionLimits) withDefaults() SessionLimits {
	const perOwner, all, requests = 64, 5000, 64
	if l.PerOwner == 0 {
		l.PerOwner = perOwner
	}
	if l.All == 0 {
		l.All = all
	}
	if l.Requests == 0 {
		l.Requests = requests
	}
	return l
}

// session is what the table needs of one; *mcp.ServerSession is one.
type session interface {
	ID() string
	Close() error
	Wait() error
}

// openSession is a session with the caller whose it is.
type openSession struct {
	id      string
	session session
	caller  gate.Caller
	credits bool // its owner had some when it was last looked
	used    time.Time
	under   int         // requests under way, a stream among them
	idle    *time.Timer // closes it; stopped while there are any
}

// sessionTable is what is open. Make one with newSessionTable; it is safe for concurrent use.
type sessionTable struct {
	limits  SessionLimits
	idle    time.Duration
	credits func(context.Context, gate.Caller) (bool, error) // reports who has some
	now     func() time.Time

	mu       sync.Mutex // guards what follows
	sessions map[string]*openSession
	closing  map[string]bool      // ids of sessions that are in the table no more and that the SDK has not closed yet
	opening  map[string]int       // sessions that have room and are not there yet, by holder
	requests map[string]*requests // under way, by key; there is none without any
	all      sync.WaitGroup       // goroutines that wait for the end of sessions
}

// requests are those of a key that are under way.
type requests struct {
	n    int
	none chan struct{} // closes when there is none left
}

// grace is how long the calls under way of a key that has ended get to answer that.
const grace = 2 * time.Second

// newSessionTable makes a table whose sessions end once they have been idle for so long.
func newSessionTable(l SessionLimits, idle time.Duration, credits func(context.Context, gate.Caller) (bool, error),
	now func() time.Time) *sessionTable {
	return &sessionTable{
		limits: l.withDefaults(), idle: idle, credits: credits, now: now, sessions: map[string]*openSession{},
		closing: map[string]bool{}, opening: map[string]int{}, requests: map[string]*requests{},
	}
}

// Begin notes a request of key, in the session with the given id or "", which lasts until done is called, or returns the error to
// answer with.
func (t *sessionTable) Begin(key, id string) (done func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing[id] {
		return nil, noSession()
	}
	mine := t.requests[key]
	switch {
	case mine == nil:
		mine = &requests{none: make(chan struct{})}
		t.requests[key] = mine
	case mine.n >= t.limits.Requests:
		return nil, busy("%d requests of this caller are under way", mine.n).WithHint("wait for one to end")
	}
	mine.n++
	s := t.sessions[id]
	if s != nil && s.caller.KeyID != key {
		s = nil
	}
	if s != nil {
		s.used = t.now()
		s.under++
		s.idle.Stop()
	}
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.n--; mine.n == 0 {
			close(mine.none)
			delete(t.requests, key)
		}
		if s == nil {
			return
		}
		s.used = t.now()
		if s.under--; s.under == 0 && t.sessions[id] == s {
			s.idle.Reset(t.idle)
		}
	}), nil
}

// expire closes the session with the given id unless it is in use again.
func (t *sessionTable) expire(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[id]
	if s != nil && s.under == 0 {
		t.drop(id)
	}
}

// drop closes the session with the given id, if it is there. The caller holds mu.
func (t *sessionTable) drop(id string) {
	s := t.sessions[id]
	if s == nil {
		return
	}
	delete(t.sessions, id)
	t.closing[id] = true
	t.all.Go(func() {
		_ = s.session.Close() // it waits for calls under way, and is gone either way
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.closing, id)
	})
}

// Room makes room for one more session of c until done is called, when it is there or has failed, or returns the error to answer with.
func (t *sessionTable) Room(ctx context.Context, c gate.Caller) (done func(), err error) {
	done, full, err := t.reserve(c.Holder(), t.limits.All)
	if !full {
		return done, err
	}
	if err := t.evict(ctx); err != nil {
		return nil, err
	}
	done, _, err = t.reserve(c.Holder(), t.limits.All)
	return done, err
}

// reserve is Room in a table that takes so many sessions; full says that it has them.
func (t *sessionTable) reserve(whose string, most int) (done func(), full bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.opening[whose]
	var idlest *openSession
	for _, s := range t.sessions {
		if s.caller.Holder() != whose {
			continue
		}
		if mine++; s.under == 0 && (idlest == nil || s.used.Before(idlest.used)) {
			idlest = s
		}
	}
	switch {
	case mine < t.limits.PerOwner:
	case idlest == nil:
		return nil, false, busy("%d sessions of this owner are open, and all are in use", mine).
			WithHint("end one with DELETE, or call without a session: POST without initialize")
	default:
		t.drop(idlest.id) // clients rarely send DELETE when they leave
	}
	all := len(t.sessions)
	for _, n := range t.opening {
		all += n
	}
	if all >= most {
		return nil, true, busy("%d sessions are open", all).WithHint("wait, or call without a session: POST without initialize")
	}
	t.opening[whose]++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.opening[whose]--; t.opening[whose] == 0 {
			delete(t.opening, whose)
		}
	}), false, nil
}

// evict closes the session of an owner without credits that has been idle for longest, if there is one.
func (t *sessionTable) evict(ctx context.Context) error {
	for {
		s := t.longestIdle()
		if s == nil {
			return nil
		}
		rich, err := t.credits(ctx, s.caller) // they may have bought some since
		if err != nil {
			return err
		}
		if !rich {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.drop(s.id)
			return nil
		}
		t.spare(s.caller.Holder())
	}
}

// spare notes that the holder of some sessions has credits.
func (t *sessionTable) spare(whose string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		s.credits = s.credits || s.caller.Holder() == whose
	}
}

// longestIdle is the session to close first where there are too many, nil if all are of owners who had credits: those in which nothing is
// under way before the others.
func (t *sessionTable) longestIdle() (first *openSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		switch {
		case s.credits:
		case first == nil, s.under == 0 && first.under > 0, (s.under == 0) == (first.under == 0) && s.used.Before(first.used):
			first = s
		}
	}
	return first
}

// Add notes a session of c, whose key closes it when it ends.
func (t *sessionTable) Add(c gate.Caller, s session, ended <-chan struct{}) {
	id := s.ID() // it loses that when it ends
	t.mu.Lock()
	defer t.mu.Unlock()
	o := &openSession{id: id, session: s, caller: c, used: t.now(), idle: time.AfterFunc(t.idle, func() { t.expire(id) })}
	t.sessions[id] = o
	closed := make(chan struct{})
	t.all.Go(func() {
		_ = s.Wait() // why it ended does not matter
		close(closed)
		t.mu.Lock()
		defer t.mu.Unlock()
		o.idle.Stop()
		delete(t.sessions, id)
	})
	t.all.Go(func() {
		select {
		case <-ended:
			t.waitIdle(c.KeyID)
			_ = s.Close() // it is gone either way
		case <-closed:
		}
	})
}

// waitIdle waits until the requests of key have ended, which they do when the key ends, or for as long as they get.
func (t *sessionTable) waitIdle(key string) {
	t.mu.Lock()
	mine := t.requests[key]
	t.mu.Unlock()
	if mine == nil {
		return
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-mine.none:
	case <-late.C:
	}
}

// Len is the number of sessions.
func (t *sessionTable) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.sessions)
}

// Close closes every session and waits until they have ended.
func (t *sessionTable) Close() {
	t.mu.Lock()
	var list []session
	for _, s := range t.sessions {
		list = append(list, s.session)
	}
	t.mu.Unlock()
	for _, s := range list {
		_ = s.Close()
	}
	t.all.Wait()
}

func noSession() *api.Error {
	return api.Errorf(api.ReasonNotFound, "there is no such session; it may have ended").WithHint("initialize again")
}

// busy is the answer to who has too much open.
func busy(format string, args ...any) *api.Error {
	return api.Errorf(api.ReasonRateLimited, format, args...).WithRetryAfter(time.Second)
}

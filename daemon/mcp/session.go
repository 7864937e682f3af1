package mcp

import (
	"sync"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// SessionLimits bound what is open. The zero value of a field is its default.
type SessionLimits struct {
	PerKey   int // sessions of a key; 0 means 32. One more closes the one that was used least recently
	All      int // sessions together; 0 means 5000
	Requests int // requests of a key under way, streams among them; 0 means 64
}

// withDefaults is l with its defaults.
func (l SessionLimits) withDefaults() SessionLimits {
	const perKey, all, requests = 32, 5000, 64
	if l.PerKey == 0 {
		l.PerKey = perKey
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

// openSession is a session with its owner.
type openSession struct {
	session session
	key     string
	used    time.Time
	under   int         // requests under way, a stream among them
	idle    *time.Timer // closes it; stopped while there are any
}

// sessionTable is what is open. Make one with newSessionTable; it is safe for concurrent use.
type sessionTable struct {
	limits SessionLimits
	idle   time.Duration
	now    func() time.Time

	mu       sync.Mutex // guards what follows
	sessions map[string]*openSession
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
func newSessionTable(l SessionLimits, idle time.Duration, now func() time.Time) *sessionTable {
	return &sessionTable{
		limits: l.withDefaults(), idle: idle, now: now, sessions: map[string]*openSession{}, requests: map[string]*requests{},
	}
}

// Begin notes a request of key, in the session with the given id or "", which lasts until done is called, or returns the error to
// answer with.
func (t *sessionTable) Begin(key, id string) (done func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.requests[key]
	switch {
	case mine == nil:
		mine = &requests{none: make(chan struct{})}
		t.requests[key] = mine
	case mine.n >= t.limits.Requests:
		return nil, busy("%d requests of this caller are under way", mine.n).WithHint("wait until one has ended")
	}
	mine.n++
	s := t.sessions[id]
	if s != nil && s.key != key {
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
	if s == nil || s.under > 0 {
		return
	}
	delete(t.sessions, id)
	t.all.Go(func() { _ = s.session.Close() }) // it is gone either way
}

// Room makes room for one more session of key, or returns the error to answer with.
func (t *sessionTable) Room(key string) error {
	t.mu.Lock()
	var mine int
	var oldest *openSession
	for _, s := range t.sessions {
		if s.key != key {
			continue
		}
		mine++
		if oldest == nil || s.used.Before(oldest.used) {
			oldest = s
		}
	}
	if mine < t.limits.PerKey {
		oldest = nil
	} else {
		delete(t.sessions, oldest.session.ID())
	}
	all := len(t.sessions)
	t.mu.Unlock()
	if oldest != nil {
		t.all.Go(func() { _ = oldest.session.Close() }) // it waits for calls under way; why it fails does not matter
	}
	if all >= t.limits.All {
		return busy("%d sessions are open", all).WithHint("wait, or call without a session: POST without initialize")
	}
	return nil
}

// Add notes a session of key, whose end closes it.
func (t *sessionTable) Add(key string, s session, ended <-chan struct{}) {
	id := s.ID() // it loses that when it ends
	t.mu.Lock()
	defer t.mu.Unlock()
	o := &openSession{session: s, key: key, used: t.now(), idle: time.AfterFunc(t.idle, func() { t.expire(id) })}
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
			t.settle(key)
			_ = s.Close() // it is gone either way
		case <-closed:
		}
	})
}

// settle waits until the requests of key have ended, which they do when the key ends, or for as long as they get.
func (t *sessionTable) settle(key string) {
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

// busy is the answer to who has too much open.
func busy(format string, args ...any) *api.Error {
	return api.Errorf(api.ReasonRateLimited, format, args...).WithRetryAfter(time.Second)
}

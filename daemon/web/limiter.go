package web

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

const (
	// maxSubjects bounds the subjects that a Limiter tells apart exactly at a time.
	maxSubjects = 20_000

	// depth and cells are the shape of the sketch in which those that come when it is full are counted.
	depth = 4
	cells = 1 << 16 // of each row; a subject's cell is 16 bits of its hash
)

// Limiter bounds how often each of many subjects may do something. Make one with NewLimiter; it is safe for concurrent use.
//
// However many subjects there are and however long their names, its memory is bounded, and nobody pays for the others: those that find it
// full are counted in a sketch, where one is refused only if all of its four cells were used up by others or by itself. What a subject has
// used is never forgotten before it is whole again.
type Limiter struct {
	now  func() time.Time
	seed maphash.Seed // so that nobody can look for subjects that share cells

	mu        sync.Mutex // guards what follows
	every     time.Duration
	burst     int
	bySubject map[uint64]int64 // when the subject's allowance is whole again, in nanoseconds since 1970, by its hash
	others    [][cells]int64   // the same of the sketch's cells; nil until it is needed
	forgot    time.Time        // when there was last looked for places
}

// NewLimiter makes a Limiter that lets each subject act burst times at once, and once every so often.
func NewLimiter(burst int, every time.Duration, now func() time.Time) *Limiter {
	return &Limiter{now: now, seed: maphash.MakeSeed(), every: every, burst: burst, bySubject: map[uint64]int64{}}
}

// Set changes how often subjects may act. Everybody's allowance is whole afterwards, if that is another than before.
func (l *Limiter) Set(burst int, every time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if burst == l.burst && every == l.every {
		return
	}
	l.burst, l.every, l.others = burst, every, nil
	clear(l.bySubject)
}

func (l *Limiter) setPer(n int, long time.Duration) { l.Set(n, max(long/time.Duration(n), 1)) }

// Allow returns nil if the subject may act now, which counts, else the *api.Error that says when.
func (l *Limiter) Allow(subject string) error { return l.AllowAll(subject) }

// AllowAll is Allow for somebody who is several subjects at once, an address and its network: all of them must be allowed, and only then
// it counts, for each.
func (l *Limiter) AllowAll(subjects ...string) error { return l.take(1, "your address", subjects...) }

// give gives back n of what a subject has taken or, for less than 0, takes them whether they are left or not.
func (l *Limiter) give(n int, subject string) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := maphash.String(l.seed, subject)
	whole := max(l.wholeAt(hash), now.UnixNano()) - int64(n)*int64(l.every)
	l.use(hash, min(whole, now.Add(time.Duration(l.burst)*l.every).UnixNano()), now)
}

// take is AllowAll for what counts n times, of whom an error says whose the limit is; that of a second subject is the network's.
func (l *Limiter) take(n int, whose string, subjects ...string) error {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	var wait time.Duration
	whole := make([]int64, len(subjects))
	for i, subject := range subjects {
		whole[i] = l.wholeAt(maphash.String(l.seed, subject))
		if whole[i] > now.Add(time.Duration(l.burst)*l.every).UnixNano() {
			whole[i] = 0 // the clock was set back: nobody waits for that
		}
		whole[i] = max(whole[i], now.UnixNano()) + int64(n)*int64(l.every)
		if left := time.Duration(whole[i]-now.UnixNano()) - time.Duration(l.burst)*l.every; left > wait {
			if wait = left; i > 0 {
				whose = "your network"
			}
		}
	}
	if wait > 0 {
		return api.Errorf(api.ReasonRateLimited, "too many requests from %s", whose).
			WithHint("wait for Retry-After").WithRetryAfter(max(wait, time.Second))
	}
	for i, subject := range subjects {
		l.use(maphash.String(l.seed, subject), whole[i], now)
	}
	return nil
}

// used notes that the subject acted at each of times, from the oldest on, as far as they are past.
func (l *Limiter) used(subject string, times []time.Time) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	var whole int64
	for _, at := range times {
		if !at.After(now) {
			whole = max(whole, at.UnixNano()) + int64(l.every)
		}
	}
	l.use(maphash.String(l.seed, subject), min(whole, now.Add(time.Duration(l.burst)*l.every).UnixNano()), now)
}

// wholeAt is when the allowance of the subject with the given hash is whole again. The caller holds mu.
func (l *Limiter) wholeAt(hash uint64) int64 {
	if at, ok := l.bySubject[hash]; ok || l.others == nil {
		return at
	}
	at := l.others[0][cell(hash, 0)]
	for row := range depth {
		at = min(at, l.others[row][cell(hash, row)])
	}
	return at
}

// use notes when the allowance of the subject with the given hash is whole again. The caller holds mu.
func (l *Limiter) use(hash uint64, whole int64, now time.Time) {
	_, known := l.bySubject[hash]
	if !known && len(l.bySubject) >= maxSubjects && now.Sub(l.forgot) >= time.Second { // looking takes a while
		l.forget(now)
	}
	if known || len(l.bySubject) < maxSubjects {
		l.bySubject[hash] = whole
		return
	}
	if l.others == nil {
		l.others = make([][cells]int64, depth)
	}
	for row := range depth {
		at := &l.others[row][cell(hash, row)]
		*at = max(*at, whole)
	}
}

// cell is the place in a row of the subject with the given hash.
func cell(hash uint64, row int) uint64 { return hash >> (16 * row) % cells }

// forget drops the subjects whose allowance is whole again: they are as if they had never come. The caller holds mu.
func (l *Limiter) forget(now time.Time) {
	l.forgot = now
	for hash, whole := range l.bySubject {
		if whole <= now.UnixNano() {
			delete(l.bySubject, hash)
		}
	}
}

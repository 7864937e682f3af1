package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/contextd/contextd/sdk/api"
)

// maxSubjects bounds the subjects that a Limiter tells apart at a time. Those that come when it is full share one allowance.
const maxSubjects = 20_000

// Limiter bounds how often each of many subjects may do something. Make one with NewLimiter; it is safe for concurrent use.
type Limiter struct {
	now func() time.Time

	mu        sync.Mutex // guards what follows
	every     time.Duration
	burst     int
	bySubject map[string]*rate.Limiter
	others    *rate.Limiter // of all that find no place
	forgot    time.Time     // when there was last looked for places
}

// NewLimiter makes a Limiter that lets each subject act burst times at once, and once every so often.
func NewLimiter(burst int, every time.Duration, now func() time.Time) *Limiter {
	l := &Limiter{every: every, burst: burst, now: now, bySubject: map[string]*rate.Limiter{}}
	l.others = l.fresh()
	return l
}

// Set changes how often subjects may act. Everybody's allowance is whole afterwards, if that is another than before.
func (l *Limiter) Set(burst int, every time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if burst == l.burst && every == l.every {
		return
	}
	l.burst, l.every = burst, every
	clear(l.bySubject)
	l.others = l.fresh()
}

// fresh is an allowance that is not used yet.
func (l *Limiter) fresh() *rate.Limiter { return rate.NewLimiter(rate.Every(l.every), l.burst) }

// Allow returns nil if the subject may act now, which counts, else the *api.Error that says when.
func (l *Limiter) Allow(subject string) error {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.bySubject[subject]
	if mine == nil {
		if len(l.bySubject) >= maxSubjects && now.Sub(l.forgot) >= time.Second { // looking takes a while
			l.forget(now)
		}
		if mine = l.others; len(l.bySubject) < maxSubjects {
			mine = l.fresh()
			l.bySubject[subject] = mine
		}
	}
	if mine.AllowN(now, 1) {
		return nil
	}
	wait := time.Duration((1 - mine.TokensAt(now)) * float64(l.every))
	return api.Errorf(api.ReasonRateLimited, "too many requests from here").
		WithHint("wait for Retry-After").WithRetryAfter(max(wait, time.Second))
}

// forget drops the subjects whose allowance is whole again: they are as if they had never come. The caller holds mu.
func (l *Limiter) forget(now time.Time) {
	l.forgot = now
	for subject, mine := range l.bySubject {
		if mine.TokensAt(now) >= float64(l.burst) {
			delete(l.bySubject, subject)
		}
	}
}

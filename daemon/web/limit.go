package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
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
	return api.Errorf(api.ReasonRateLimited, "too many requests from here").WithHint("wait for Retry-After").WithRetryAfter(max(wait, time.Second))
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

// headerForwardedFor names the clients that proxies have served, the nearest proxy's client last.
const headerForwardedFor = "X-Forwarded-For"

// Proxies are the networks of proxies whose X-Forwarded-For is believed. nil are none. It is safe for concurrent use.
type Proxies struct {
	networks atomic.Pointer[[]netip.Prefix]
}

// NewProxies makes Proxies.
func NewProxies(networks []netip.Prefix) *Proxies {
	p := new(Proxies)
	p.Set(networks)
	return p
}

// Set replaces the networks.
func (p *Proxies) Set(networks []netip.Prefix) { p.networks.Store(&networks) }

// have reports whether addr is in one of the networks.
func (p *Proxies) have(addr netip.Addr) bool {
	if p == nil {
		return false
	}
	for _, n := range *p.networks.Load() {
		if n.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}

// ClientOf says who sent r, as a subject of a Limiter: the address that connected or, where that is a proxy's, the nearest one before
// it in X-Forwarded-For that is not. Who can connect to a Unix socket counts as a proxy: its mode is for nobody else. Of an IPv6
// address only the network counts, which is what a client has of its own.
func (p *Proxies) ClientOf(r *http.Request) string {
	hops := strings.Split(strings.Join(r.Header[headerForwardedFor], ","), ",")
	i := len(hops) - 1
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil { // a Unix socket
		host = strings.TrimSpace(hops[i])
		i--
	}
	client, err := netip.ParseAddr(host)
	if err != nil {
		return "local"
	}
	for ; i >= 0 && p.have(client); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break // the proxy that wrote this is all that is known
		}
		client = before
	}
	if client = client.Unmap(); client.Is6() {
		const network = 64
		return netip.PrefixFrom(client.WithZone(""), network).Masked().String()
	}
	return client.String()
}

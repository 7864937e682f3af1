package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// A unit of Crowd is half a millisecond of a processor, or 64 KB that are sent.
const (
	unitBytes  = 64 << 10
	crowdUnits = 400 // a second, for all together
	crowdShare = 4   // a network has a fourth of that
	crowdBurst = 3   // seconds' worth at once
)

// Crowd bounds what requests without a key or a session may cost that cost more than a unit: those of all callers together, so that
// something is left for whoever has one, with a share for each network, an IPv4 address or a /48, so that no network can use it up. Make
// one with NewCrowd; nil bounds nothing. It is safe for concurrent use.
type Crowd struct {
	who   *Proxies
	known func(r *http.Request) bool
	all   *Limiter // the one subject ""
	each  *Limiter // per network
}

// NewCrowd makes a Crowd of callers as who names them, but for those who known says have a key or a session; nil means that nobody has.
func NewCrowd(who *Proxies, known func(r *http.Request) bool, now func() time.Time) *Crowd {
	of := func(perSecond int) *Limiter {
		return NewLimiter(crowdBurst*perSecond, time.Second/time.Duration(perSecond), now)
	}
	return &Crowd{who: who, known: known, all: of(crowdUnits), each: of(crowdUnits / crowdShare)}
}

// Take takes n units for r or returns the *api.Error to answer with.
func (c *Crowd) Take(r *http.Request, n int) error {
	if c == nil || n == 0 || c.known != nil && c.known(r) {
		return nil
	}
	network := c.who.NetworkOf(r)
	if err := c.each.take(n, "your network", network); err != nil {
		return err
	}
	if err := c.all.take(n, "all callers without a key", ""); err != nil {
		c.each.give(n, network)
		return api.Errorf(api.ReasonRateLimited, "requests without a key cost too much now; this limit is of all callers, not yours").
			WithHint("wait for Retry-After, or send Authorization: Bearer <API_KEY>").WithRetryAfter(api.AsError(err).RetryAfter)
	}
	return nil
}

// Give gives n units back that r has not cost, or for less than 0 takes those that it has cost besides.
func (c *Crowd) Give(r *http.Request, n int) {
	if c == nil || n == 0 || c.known != nil && c.known(r) {
		return
	}
	c.each.give(n, c.who.NetworkOf(r))
	c.all.give(n, "")
}

// Bounded is routes whose answers cost who has no key what they weigh.
func (c *Crowd) Bounded(routes Routes) Routes {
	for _, methods := range routes {
		for method, h := range methods {
			methods[method] = func(w http.ResponseWriter, r *http.Request) error {
				if err := c.Take(r, 1); err != nil {
					return err
				}
				weighed := &weighing{ResponseWriter: w}
				err := h(weighed, r)
				c.Give(r, 1-weighed.bytes/unitBytes)
				return err
			}
		}
	}
	return routes
}

// weighing counts the bytes of an answer.
type weighing struct {
	http.ResponseWriter
	bytes int
}

// Write writes p.
func (w *weighing) Write(p []byte) (int, error) {
	w.bytes += len(p)
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *weighing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// CostOfBody is what it costs, in units, to read and to check JSON of so many bytes; of a body that does not tell, less than 0, it is the
// most.
func CostOfBody(bytes int64) int {
	const perUnit = 4 << 10
	if bytes < 0 {
		bytes = api.MaxBodyBytes
	}
	return int(bytes / perUnit)
}

// CostOf is what it costs, in units, to find out whether q can be answered, which who has not paid yet is told.
func CostOf(q api.Query) int {
	const row, past = 2, 4
	switch q.Op {
	case api.OpLookup:
		return row * (1 + strings.Count(q.Text, ","))
	case api.OpQuery:
		if q.Over > 0 || q.At != (api.Moment{}) {
			return row + past
		}
		return row
	case api.OpSeries:
		return past
	case api.OpCheck: // earlier states are read for a figure that is not that of the moment
		return row + past
	case api.OpCite:
		if q.At != (api.Moment{}) {
			return past
		}
	}
	return 0
}

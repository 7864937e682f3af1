package source

import (
	"context"
	"slices"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Fallback is who is asked where a source fails. It is declared beside the source, and says the same in a document of its kind.
type Fallback struct {
	Via  string // who answers then, as people call it
	Asks []Ask
	Use  api.Use // what its terms allow
	Less bool    // it says so much less that it is asked only where the source itself may not be served

	// read asks and decodes as a Connector's does. It refuses what it can compare with last, or with others, and does not agree.
	read func(ctx context.Context, a *attempt, last Doc) (doc Doc, dropped int, err error)
}

// trouble is that a source with a fallback fails.
type trouble struct {
	failures int
	until    time.Time // it is not asked before
	last     Outcome   // of it
}

// slack is how much before the end of a pause a source may be asked, so that the jitter of refreshes does not make it miss one.
const slack = 30 * time.Second

// withFallback asks c, unless it is to be left alone for its failures, and where it fails those that stand in for it. The outcome is that
// of c itself where these fail too.
func (f *Fetcher) withFallback(ctx context.Context, c Connector, last Doc) Outcome {
	own := f.own(ctx, c, last)
	if own.Err == nil || ctx.Err() != nil {
		return own
	}
	for _, b := range c.Fallbacks {
		if b.Less && !c.ownWithheld {
			continue
		}
		a := f.client.Attempt(c.ID)
		doc, dropped, err := b.read(ctx, a, last)
		if err == nil && doc.Len() == 0 {
			err = fail(ClassEmpty, "no row made sense")
		}
		if err != nil {
			if c.ownWithheld { // who was not asked has not failed
				own = failed(err)
			}
			continue
		}
		c.shift(doc, a)
		f.client.forget(c.Asks)
		out := Outcome{
			Doc: doc, Bodies: a.bodies, At: a.Now, Class: ClassOK, Dropped: dropped, Ending: own.Ending, Latency: own.Latency + a.Latency(),
			Via: b.Via, Own: own.Err,
		}
		if dropped > 0 {
			out.Class = ClassPartial
		}
		return out
	}
	return own
}

// forget has what hosts say read whatever its version: it is not what a source said last any more.
func (c *client) forget(asks []Ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for url := range c.known {
		host := Ask{URL: url}.Host()
		if slices.ContainsFunc(asks, func(a Ask) bool { return a.Host() == host }) {
			delete(c.known, url)
		}
	}
}

// Forget has the next attempt at c read its answer whatever its version, and whatever came of those before: c is another than it was.
func (f *Fetcher) Forget(c Connector) {
	f.client.forget(c.Asks)
	f.client.mu.Lock()
	defer f.client.mu.Unlock()
	delete(f.client.troubles, c.ID)
}

// own asks c itself, or says what came of it before where it is to be left alone.
func (f *Fetcher) own(ctx context.Context, c Connector, last Doc) Outcome {
	if c.ownWithheld {
		return f.fetch(ctx, c, last) // which asks nobody, and fails
	}
	now := f.client.cfg.Now()
	f.client.mu.Lock()
	t := f.client.troubles[c.ID]
	f.client.mu.Unlock()
	if left := t.until.Sub(now); left > 0 && left <= max(maxRetryAfter, c.Interval) {
		out := t.last
		out.Latency, out.RetryAfter = 0, left
		return out
	}
	out := f.fetch(ctx, c, last)
	f.client.mu.Lock()
	defer f.client.mu.Unlock()
	switch {
	case out.Err == nil:
		delete(f.client.troubles, c.ID)
	case ctx.Err() == nil && f.client.cfg.Shift == nil:
		t.failures, t.until, t.last = t.failures+1, time.Time{}, out
		if out.Class != ClassNetwork || out.Slow {
			t.until = now.Add(max(Backoff(t.failures, c.Interval)-slack, out.RetryAfter))
		}
		f.client.troubles[c.ID] = t
	}
	return out
}

package source

import (
	"context"
	"errors"
	"maps"
	"time"
)

// Outcome is what one attempt brought.
type Outcome struct {
	Doc         Doc           // nil when there is nothing new: a failure, or not modified
	Bodies      []string      // what upstream sent for Doc: the SHA-256 of each uncompressed body in hexadecimal, by request
	At          time.Time     // when the attempt began that brought Doc, in whole milliseconds; zero without one
	Class       Class         // the judgement
	Err         error         // for operators and for source_status, at most 120 runes; nil if Doc is set or NotModified
	Versions    Versions      // of the documents that Doc was read from, to be kept
	RetryAfter  time.Duration // what upstream asked to wait, at most an hour; 0 if it asked nothing
	Dropped     int           // rows that made no sense
	NotModified bool          // upstream says that the last Doc still holds
	Latency     time.Duration // of the whole attempt
	Slow        bool          // upstream was asked, and did not answer in time
	Ending      string        // what an answer said of the end of its service, "" if nothing
	Via         string        // who answered in place of the source, "" if nobody had to
	Own         error         // why the source did not answer itself, where Via is set
}

// Fetcher fetches sources politely. It is safe for concurrent use and keeps limits and ETags for all of its life, so a daemon
// has one.
type Fetcher struct{ client *client }

// NewFetcher returns a Fetcher.
func NewFetcher(cfg Config) *Fetcher { return &Fetcher{client: newClient(cfg)} }

// Versions are those of documents, by URL.
type Versions map[string]Version

// Know has attempts ask whether what was read at another time, and is given to Fetch as the last, still is the newest.
func (f *Fetcher) Know(read Versions) {
	f.client.mu.Lock()
	defer f.client.mu.Unlock()
	maps.Copy(f.client.known, read)
}

// Fetch asks the source c once, with at most one retry, and judges its answer. last is the last good Doc, the newest that Fetch
// returned if it returned any, nil if there is none: it is never changed, only compared, confirmed, and asked for what need not
// be read again.
func (f *Fetcher) Fetch(ctx context.Context, c Connector, last Doc) Outcome {
	if len(c.Fallbacks) > 0 {
		return f.withFallback(ctx, c, last)
	}
	return f.fetch(ctx, c, last)
}

func (f *Fetcher) fetch(ctx context.Context, c Connector, last Doc) Outcome {
	a := f.client.Attempt(c.ID)
	a.from, a.to = c.declared, c.Moved
	doc, dropped, err := c.read(ctx, a, last)
	out := c.judge(a, last, doc, err)
	out.Dropped, out.Ending = dropped, a.ending
	if out.Doc != nil {
		out.Bodies, out.At = a.bodies, a.Now
		if c.Moved == "" { // an address of the operator's may have a secret in it
			out.Versions = a.known
		}
	}
	if out.Class == ClassOK && dropped > 0 {
		out.Class = ClassPartial
	}
	out.Latency = a.Latency()
	return out
}

// judge turns what a connector read into an Outcome.
func (c Connector) judge(a *attempt, last, doc Doc, err error) Outcome {
	confirmed := errors.Is(err, errNotModified)
	switch {
	case confirmed:
		doc = last
	case err != nil:
		return failed(err)
	case doc.Len() == 0:
		return failed(fail(ClassPartial, "no row made sense"))
	default:
		c.shift(doc, a)
	}
	if c.fresh != nil {
		if err := c.fresh(doc, a.Now); err != nil {
			return failed(err)
		}
	}
	if c.moves {
		if age := a.unchanged(c, doc, last); age > c.StaleAfter {
			return failed(fail(ClassStale, "the answer has been the same for %d minutes", int(age.Minutes())))
		}
	}
	if confirmed {
		return Outcome{Class: ClassOK, NotModified: true}
	}
	if last != nil && !c.varies && 2*doc.Len() < last.Len() {
		return failed(fail(ClassBadContent, "%d rows where the last answer had %d", doc.Len(), last.Len()))
	}
	a.Accept()
	return Outcome{Doc: doc, Class: ClassOK}
}

func failed(err error) Outcome {
	f := asFailure(err)
	return Outcome{Class: f.Class, Err: f, RetryAfter: f.RetryAfter, Slow: f.Slow}
}

// shift moves the times of a replayed doc to now.
func (c Connector) shift(doc Doc, a *attempt) {
	by := a.Now.Sub(a.At)
	if c.wholeDays {
		by = a.Now.Truncate(day).Sub(a.At.Truncate(day))
	}
	if by != 0 {
		doc.Shift(by)
	}
}

const day = 24 * time.Hour

// longestBackoff is the longest pause of a source that is asked more often than that while all goes well.
const longestBackoff = 40 * time.Minute

// Backoff is the pause after a number of failures in a row of a source with an interval: 5, 10, 20, then 40 minutes, or on to the interval
// where that is longer, so that a source which fails for long is not asked more often than one that answers. It is 0 without a failure.
func Backoff(failures int, interval time.Duration) time.Duration {
	if failures <= 0 {
		return 0
	}
	return min(5*time.Minute<<min(failures-1, 16), max(longestBackoff, interval))
}

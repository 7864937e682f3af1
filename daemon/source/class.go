package source

import (
	"errors"
	"fmt"
	"time"
)

// Class is the judgement on one attempt to fetch.
type Class string

// The classes of an attempt. All but the first two are failures.
const (
	ClassOK            Class = "ok"             // every row was good, or nothing changed since the last answer
	ClassPartial       Class = "ok_partial"     // some rows were dropped
	ClassEmpty         Class = "empty"          // a well-formed answer without rows
	ClassBadContent    Class = "bad_content"    // not what the source says elsewhere: HTML, cut off, too large, too few rows
	ClassRateLimited   Class = "rate_limited"   // upstream, or our own limit for its host, asks to wait
	ClassAuth          Class = "auth"           // a key is needed or refused
	ClassForbidden     Class = "forbidden"      // upstream does not talk to us
	ClassRegionBlocked Class = "region_blocked" // upstream does not serve this region
	ClassNotFound      Class = "not_found"      // the document is gone
	ClassUpstream      Class = "upstream_5xx"   // upstream is broken
	ClassStale         Class = "stale_upstream" // a good answer with old data
	ClassNetwork       Class = "network"        // cannot connect, TLS, timeout
)

// Mendable reports whether a failure of class c may be one of the configuration here, such as a key or a host that is not allowed.
func (c Class) Mendable() bool {
	return c == ClassAuth || c == ClassForbidden || c == ClassNotFound
}

// errNotModified says that the document is still the one whose ETag was sent.
var errNotModified = errors.New("not modified")

// failure is an attempt that brought nothing. Its text is for operators: short, and free of URLs and keys.
type failure struct {
	Class      Class
	Text       string
	Status     int           // the HTTP status if that is what failed, else 0
	RetryAfter time.Duration // what upstream asked to wait, at most an hour; 0 if it asked nothing
	Slow       bool          // upstream was asked, and did not answer in time
}

// fail returns a failure of class whose text is formatted as by fmt.Sprintf. Text of upstream in args has to be clean already.
func fail(class Class, format string, args ...any) *failure {
	return &failure{Class: class, Text: fmt.Sprintf(format, args...)}
}

// Refuse is the failure of an attempt whose answer does not hold, for decoders outside of this package. Text of upstream in args has to be
// clean already.
func Refuse(class Class, format string, args ...any) error { return fail(class, format, args...) }

// Judged is the class and the text of a failure, for those who have to tell another process of it. What is none is one of the network.
func Judged(err error) (Class, string) {
	f := asFailure(err)
	return f.Class, f.Text
}

// maxErrorRunes caps the text of a failure: it is shown in the state of a pack.
const maxErrorRunes = 120

// Error is the class and the text, at most 120 runes.
func (f *failure) Error() string {
	text := string(f.Class) + ": " + f.Text
	if f.RetryAfter > 0 {
		text += fmt.Sprintf(", retry after %ds", int(f.RetryAfter.Seconds()))
	}
	if runes := []rune(text); len(runes) > maxErrorRunes {
		return string(runes[:maxErrorRunes-1]) + "…"
	}
	return text
}

// asFailure returns the failure in err, or a new one of class network if there is none.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return networkFailure(err)
}

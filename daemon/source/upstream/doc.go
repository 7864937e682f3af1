// Package upstream talks to servers we do not control: it asks politely and reads leniently, and says in one word what went
// wrong.
//
// It owns the limits per host, the one retry, Retry-After, conditional requests, bounds on bodies, the classes of failure, and
// the decoding of JSON that may be broken, hostile or merely odd. It knows no source and no Doc: daemon/source builds its
// connectors on it.
package upstream

import (
	"errors"
	"fmt"
	"time"
)

// Class is the judgement on one attempt to fetch.
type Class string

// The classes of an attempt. All but the first two are failures.
const (
	OK            Class = "ok"             // every row was good, or nothing changed since the last answer
	Partial       Class = "ok_partial"     // some rows were dropped
	Empty         Class = "empty"          // a well-formed answer without rows
	BadContent    Class = "bad_content"    // not what the source says elsewhere: HTML, cut off, too large, too few rows
	RateLimited   Class = "rate_limited"   // upstream, or our own limit for its host, asks to wait
	Auth          Class = "auth"           // a key is needed or refused
	Forbidden     Class = "forbidden"      // upstream does not talk to us
	RegionBlocked Class = "region_blocked" // upstream does not serve this region
	NotFound      Class = "not_found"      // the document is gone
	ServerError   Class = "upstream_5xx"   // upstream is broken
	Stale         Class = "stale_upstream" // a good answer with old data
	Network       Class = "network"        // cannot connect, TLS, timeout
)

// ErrNotModified says that the document is still the one whose ETag was sent.
var ErrNotModified = errors.New("not modified")

// Failure is an attempt that brought nothing. Its text is for operators: short, and free of URLs and keys.
type Failure struct {
	Class      Class
	Text       string
	Status     int           // the HTTP status if that is what failed, else 0
	RetryAfter time.Duration // what upstream asked to wait, at most an hour; 0 if it asked nothing
}

// Fail returns a Failure of class whose text is formatted as by fmt.Sprintf. Text of upstream in args has to be clean already.
func Fail(class Class, format string, args ...any) *Failure {
	return &Failure{Class: class, Text: fmt.Sprintf(format, args...)}
}

// maxErrorRunes caps the text of a failure: it is shown in the state of a pack.
const maxErrorRunes = 120

// Error is the class and the text, at most 120 runes.
func (f *Failure) Error() string {
	text := string(f.Class) + ": " + f.Text
	if f.RetryAfter > 0 {
		text += fmt.Sprintf(", retry after %ds", int(f.RetryAfter.Seconds()))
	}
	if runes := []rune(text); len(runes) > maxErrorRunes {
		return string(runes[:maxErrorRunes-1]) + "…"
	}
	return text
}

// AsFailure returns the Failure in err, or a new one of class network if there is none.
func AsFailure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return networkFailure(err)
}

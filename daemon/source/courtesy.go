package source

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// Ask is a document that an attempt asks for.
type Ask struct {
	URL   string        // may hold times, see ExpandURL
	Times int           // documents of this kind; 0 is one
	Every time.Duration // from one to the next; 0 is with every attempt
}

// Host is the host that is asked.
func (a Ask) Host() string {
	u, err := url.Parse(ExpandURL(a.URL, time.Unix(0, 0)))
	if err != nil {
		return ""
	}
	return u.Host
}

// needsContact reports whether a host refuses those who give no e-mail address. The SEC refuses also those who give an address of the web
// beside it.
func needsContact(host string) bool {
	return host == "www.bls.gov" || host == "sec.gov" || strings.HasSuffix(host, ".sec.gov")
}

// likesContact reports whether a host bears more with those who give an e-mail address.
func likesContact(host string) bool { return strings.HasSuffix(host, ".arxiv.org") }

// userAgent is how we name ourselves to a host.
func (cfg Config) userAgent(host string) string {
	switch {
	case cfg.Contact == "":
	case needsContact(host):
		return "contextd " + cfg.Contact
	case likesContact(host):
		return cfg.UserAgent + " " + cfg.Contact
	}
	return cfg.UserAgent
}

// leastHold is how long a host is left alone that turned us away and did not say for how long.
const leastHold = time.Minute

// hold leaves host alone, all sources of it, for as long as it asked by f.
func (c *client) hold(host string, f *failure) {
	pause := f.RetryAfter
	if f.Status == http.StatusTooManyRequests {
		pause = max(pause, leastHold)
	}
	if pause == 0 || c.cfg.Shift != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[host] = c.cfg.Now().Add(pause)
}

// left is for how long a host is to be left alone still. A longer time was noted by a clock that has been set back since.
func (c *client) left(host string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.held[host].Sub(c.cfg.Now())
	if left > maxRetryAfter {
		return 0
	}
	return left
}

// traced is ctx for a request, and what says whether a connection was made for it.
func traced(ctx context.Context) (_ context.Context, sent func() bool) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	return httptrace.WithClientTrace(ctx, trace), connected.Load
}

// ending is what the header of an answer says of the end of the service, "" if nothing: RFC 9745, RFC 8594, and warnings that last.
func ending(h http.Header) string {
	var parts []string
	if d := h.Get("Deprecation"); d != "" && d != "false" {
		parts = append(parts, "deprecated")
	}
	if at, err := http.ParseTime(h.Get("Sunset")); err == nil {
		parts = append(parts, "ends on "+at.UTC().Format(time.DateOnly))
	}
	for _, w := range h.Values("Warning") {
		if text, is := strings.CutPrefix(w, "299 "); is {
			_, text, _ = strings.Cut(text, " ")
			parts = append(parts, human.Label(strings.Trim(text, "\""), CapHeadline))
		}
	}
	return strings.Join(parts, "; ")
}

// Unasked says why c is not asked by those who give contact as their e-mail address, "" where it is.
func (c Connector) Unasked(contact string) string {
	if c.Withheld != "" {
		return c.Withheld
	}
	for _, a := range c.Asks {
		if host := a.Host(); contact == "" && needsContact(host) {
			return fmt.Sprintf("not asked: %s wants an e-mail address, see sources.contact", host)
		}
	}
	return ""
}

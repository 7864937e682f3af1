package main

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/human"
)

const (
	waitsLong = time.Hour        // for an event of an alert to be delivered
	hookTime  = 10 * time.Second // to connect to a webhook
)

// waiting looks at the events that wait to be delivered.
func (e examiner) waiting() {
	if e.Journal == "" {
		return
	}
	n, oldest, err := alert.Waiting(filepath.Join(e.DataDir, e.Journal))
	switch age := e.Now().Sub(oldest); {
	case err != nil:
		e.fail("alerts", "run this as the daemon's user", "%v", err)
	case n == 0:
		e.ok("alerts", "none undelivered")
	case age > waitsLong:
		e.warn("alerts", "see the log for the receiver; the daemon retries every 5 minutes", "%s undelivered, the oldest for %s",
			human.Plural(n, "event"), human.Age(age))
	default:
		e.ok("alerts", "%s undelivered, the oldest for %s", human.Plural(n, "event"), human.Age(age))
	}
}

// hooks connects to the webhooks of alerts, and sends nothing.
func (e examiner) hooks(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(e.Hooks)) {
		u, err := url.Parse(e.Hooks[name])
		if err != nil {
			continue // which the configuration was refused for
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		dialer := net.Dialer{Timeout: hookTime}
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
		if err != nil {
			e.warn("alert "+name, "start the receiver, or correct alerts in the configuration", "%s is unreachable: %v", u.Host, err)
			continue
		}
		_ = conn.Close() // nothing was said
		e.ok("alert "+name, "%s is reachable", u.Host)
	}
}

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
		e.fail("alerts", "run it as the daemon's user", "%v", err)
	case n == 0:
		e.ok("alerts", "none waits to be delivered")
	case age > waitsLong:
		e.warn("alerts", "the log says who does not take them; they are tried again every 5 minutes", "%s, the oldest for %s",
			human.Plural(n, "event")+" to be delivered", human.Age(age))
	default:
		e.ok("alerts", "%s to be delivered, the oldest for %s", human.Plural(n, "event"), human.Age(age))
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
			e.warn("alert "+name, "start what answers there, or mend alerts in the configuration", "%s cannot be reached: %v", u.Host, err)
			continue
		}
		_ = conn.Close() // nothing was said
		e.ok("alert "+name, "%s can be reached", u.Host)
	}
}

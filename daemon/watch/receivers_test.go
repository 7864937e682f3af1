package watch_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/outbound"
	"github.com/contextd/contextd/sdk/api"
)

// wire answers in place of a network.
type wire func(*http.Request) (*http.Response, error)

// RoundTrip answers.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// body is one that goes on for as long as it is read, and counts the bytes.
type body struct {
	ctx  context.Context
	each time.Duration // for a byte; 0 means that there are always more
	read int
}

// Read reads more.
func (b *body) Read(p []byte) (int, error) {
	if b.each > 0 {
		p = p[:1]
		select {
		case <-time.After(b.each):
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
	for i := range p {
		p[i] = ' '
	}
	b.read += len(p)
	return len(p), nil
}

// Close ends it.
func (b *body) Close() error { return nil }

// hook is the watch of a webhook at url.
func hook(url string) event.Watch {
	return event.Watch{ID: "w_1", KeyID: "key", Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: url}, Secret: []byte("secret")}
}

// challenges lets every key challenge.
func challenges(string) error { return nil }

// TestSlowReceivers: an attempt ends after ten seconds, whether a receiver says nothing or never ends; what it says is read to a bound.
func TestSlowReceivers(t *testing.T) {
	t.Parallel()
	const most, bound = 10 * time.Second, 64 << 10
	for name, c := range map[string]struct {
		silent bool
		each   time.Duration
		failed string
		takes  time.Duration
	}{
		"silent":      {silent: true, failed: "timeout", takes: most},
		"drips":       {each: time.Second, takes: most},
		"never stops": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var said *body
				s := watch.New(watch.Config{Challenges: challenges})
				watch.Through(s, wire(func(r *http.Request) (*http.Response, error) {
					if c.silent {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					said = &body{ctx: r.Context(), each: c.each}
					return &http.Response{StatusCode: http.StatusOK, Body: said, Request: r}, nil
				}))
				began := time.Now()
				w := hook("https://receiver.example/")
				o := watch.Attempt(s, t.Context(), event.Delivery{Watch: w, Event: "a", Body: []byte("{}")})
				if took := time.Since(began); took != c.takes || o.Error != c.failed || o.Taken != (c.failed == "") {
					t.Errorf("after %s: %+v", took, o)
				}
				if retried := o.Next.Sub(o.At); c.failed != "" && retried != 10*time.Second {
					t.Errorf("it is tried again after %s", retried)
				}
				if said != nil && (said.read > bound || c.each == 0 && said.read < bound) {
					t.Errorf("%d bytes were read", said.read)
				}
				began = time.Now()
				err := watch.Challenge(s, t.Context(), w)
				if took := time.Since(began); took != c.takes || !errors.Is(err, &api.Error{Reason: api.ReasonCallbackRefused}) {
					t.Errorf("challenged for %s: %v", took, err)
				}
			})
		})
	}
}

// TestPages: a receiver that answers with a page has the event if the status says so, and has answered no challenge; nothing of what it
// said is in an error. An answer to a challenge is no longer than it needs to be.
func TestPages(t *testing.T) {
	t.Parallel()
	const page = "<!DOCTYPE html><title>s3cret</title>"
	blanks := strings.Repeat(" ", 4<<10-len(`{"challenge":""}`)-len(rand.Text()))
	for name, c := range map[string]struct {
		status           int
		before, after    string // what stands around the challenge; "" for both means the page
		failed, answered string
	}{
		"a page":            {status: 200, answered: "challenge_failed"},
		"a page of errors":  {status: 503, failed: "http_5xx", answered: "http_5xx, 503"},
		"a page of others":  {status: 404, failed: "http_4xx", answered: "http_4xx, 404"},
		"a page elsewhere":  {status: 302, failed: "http_3xx", answered: "http_3xx, 302"},
		"the challenge":     {status: 200, before: `{"challenge":"`, after: `"}`},
		"4 KiB":             {status: 200, before: `{"challenge":"`, after: `"}` + blanks},
		"a byte more":       {status: 200, before: `{"challenge":"`, after: `"} ` + blanks, answered: "challenge_failed"},
		"a megabyte":        {status: 200, before: `{"challenge":"`, after: `"}` + strings.Repeat(" ", 1<<20), answered: "challenge_failed"},
		"half of an answer": {status: 200, before: `{"challenge":"`, after: `"`, answered: "challenge_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked struct{ Challenge string }
				_ = json.NewDecoder(r.Body).Decode(&asked) // an event has none
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Location", "/s3cret")
				w.WriteHeader(c.status)
				if c.before == "" {
					_, _ = io.WriteString(w, page)
					return
				}
				_, _ = io.WriteString(w, c.before+asked.Challenge+c.after)
			}))
			t.Cleanup(srv.Close)
			s := watch.New(watch.Config{Loopback: true, Challenges: challenges})
			o := watch.Attempt(s, t.Context(), event.Delivery{Watch: hook(srv.URL), Event: "a", Body: []byte("{}")})
			if o.Taken != (c.failed == "") || o.Error != c.failed || o.Next.IsZero() != (c.failed == "") {
				t.Errorf("an event: %+v, want %q", o, c.failed)
			}
			err := watch.Challenge(s, t.Context(), hook(srv.URL))
			switch {
			case (err == nil) != (c.answered == ""):
				t.Errorf("a challenge: %v, want %q", err, c.answered)
			case err != nil && (!strings.Contains(err.Error(), "("+c.answered+")") || strings.Contains(err.Error(), "s3cret")):
				t.Errorf("a challenge: %v, want %q", err, c.answered)
			}
		})
	}
}

// TestRotation: what is delivered is signed with the secret, and for a while with the one before it too.
func TestRotation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	w := hook("https://receiver.example/")
	w.SecretBefore, w.BeforeUntil = []byte("the one before it"), now.Add(time.Hour)
	for after, keys := range map[time.Duration][][]byte{
		0: {w.Secret, w.SecretBefore}, time.Hour - time.Millisecond: {w.Secret, w.SecretBefore}, time.Hour: {w.Secret},
	} {
		at := now.Add(after)
		s := watch.New(watch.Config{Now: func() time.Time { return at }})
		want, got := http.Header{}, http.Header{}
		watch.Through(s, wire(func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		}))
		watch.Attempt(s, t.Context(), event.Delivery{Watch: w, Event: "a", Body: []byte("{}")})
		alert.Sign(want, "a", at, []byte("{}"), keys...)
		if signed := got.Get("webhook-signature"); signed != want.Get("webhook-signature") {
			t.Errorf("after %s it is signed %q, want %q", after, signed, want.Get("webhook-signature"))
		}
	}
}

// full is a store in which all is due at once.
type full struct{ overtaken }

// DueDeliveries are those that are due.
func (s *full) DueDeliveries(context.Context, time.Time) ([]event.Delivery, error) {
	if s.reads.Add(1) == 1 {
		return s.due, nil
	}
	if int(s.ended.Load()) >= len(s.due) {
		s.stop()
	}
	return nil, nil
}

// TestSlowHost: a host that is slow has two deliveries at a time, and holds up nobody else's.
func TestSlowHost(t *testing.T) {
	t.Parallel()
	const many = 50
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	quick := make(chan struct{}) // is closed once all for the other host came, and as many as may be are held
	var mu sync.Mutex
	now, most, swift := 0, 0, 0
	came := sync.OnceFunc(func() { close(quick) })
	note := func() { // mu is held
		if swift == many && most >= 2 {
			came()
		}
	}
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		note()
		mu.Unlock()
		select {
		case <-quick:
		case <-ctx.Done():
		}
		mu.Lock()
		now--
		mu.Unlock()
	}))
	defer slow.Close()
	fast := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		swift++
		note()
	}))
	defer fast.Close()
	store := &full{overtaken{stop: cancel}}
	for _, url := range []string{slow.URL, fast.URL} {
		for i := range many {
			w := hook(url)
			w.Host = strings.TrimPrefix(url, "http://")
			store.due = append(store.due, event.Delivery{Watch: w, Event: w.Host + string(rune('A'+i)), Body: []byte("{}")})
		}
	}
	taken := 0
	s := watch.New(watch.Config{Store: store, Loopback: true, Keys: anyKey{}, Delivered: func(ok bool, _ string) {
		if ok {
			taken++
		}
		store.ended.Add(1)
	}})
	s.Run(ctx)
	if most != 2 || taken != 2*many {
		t.Errorf("%d deliveries at a time to a host, %d of %d taken", most, taken, 2*many)
	}
}

// TestRebound: a name that was good when a watch was made is asked for again at every attempt: where it leads to a private address then,
// nothing is sent.
func TestRebound(t *testing.T) {
	t.Parallel()
	name, err := os.Hostname() // this machine, which hosts files put at an address of its own
	found, wrong := net.DefaultResolver.LookupNetIP(t.Context(), "ip", name)
	if err != nil || wrong != nil || !outbound.Special(found[0]) {
		t.Skip("SKIPPED: this machine has no private address by its name")
	}
	s := watch.New(watch.Config{Challenges: challenges})
	w := hook("https://" + strings.ToLower(name) + "/")
	for attempts := range 2 {
		o := watch.Attempt(s, t.Context(), event.Delivery{Watch: w, Event: "a", Body: []byte("{}"), Attempts: attempts})
		if o.Taken || o.Error != "private_address" || o.Next.IsZero() {
			t.Errorf("attempt %d: %+v", attempts, o)
		}
	}
	if err := watch.Challenge(s, t.Context(), w); err == nil || !strings.Contains(err.Error(), "(private_address)") {
		t.Errorf("challenged: %v", err)
	}
}

package daemon_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk/api"
)

// receiver takes events as Standard Webhooks has them, and notes them.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex // guards what follows
	secret string
	status int    // that it answers with; 0 takes events
	lies   string // what it answers challenges with; "" means what it was sent
	posts  []post
	bad    []string
}

// post is what a receiver was sent.
type post struct {
	id, at, body string
	status       int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP takes an event.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	var said struct{ Type, Challenge, EventID string }
	_ = json.Unmarshal(body, &said)
	id, at := req.Header.Get("webhook-id"), req.Header.Get("webhook-timestamp")
	if said.Type == "verification" {
		if r.lies != "" {
			said.Challenge = r.lies
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"challenge": said.Challenge})
		return
	}
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, id+"."+at+"."+string(body))
	if req.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		r.bad = append(r.bad, "signature of "+id)
	}
	if said.EventID != id && !strings.HasPrefix(id, "msg_") {
		r.bad = append(r.bad, id+" is not of "+string(body))
	}
	status := r.status
	if status == 0 {
		status = http.StatusOK
	}
	r.posts = append(r.posts, post{id, at, string(body), status})
	if status/100 == 3 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

// set has r answer otherwise.
func (r *receiver) set(secret string, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status = status; secret != "" {
		r.secret = secret
	}
}

// got are the posts so far.
func (r *receiver) got() []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.posts)
}

// onLoopback lets receivers be on this machine.
func onLoopback(c *daemon.Config) { c.Watches.HTTPLoopback = true }

// hooked makes a watch of states with a webhook at r.
func hooked(t *testing.T, d *daemontest.Daemon, key string, r *receiver) *api.Watch {
	t.Helper()
	w, err := clientOf(t, d, key).CreateWatch(t.Context(), api.WatchRequest{Type: api.WatchStatePublished,
		Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: r.URL + "/hook"}})
	if err != nil {
		t.Fatal(err)
	}
	r.set(w.Secret, 0)
	return w
}

// failed waits until so many attempts for the only watch of a key are noted as failed.
func failed(t *testing.T, d *daemontest.Daemon, key string, n int) {
	t.Helper()
	asked := 0
	until(t, "attempts that failed", func() bool {
		if asked++; asked%20 != 1 { // a key may not ask so often
			return false
		}
		list, err := clientOf(t, d, key).Watches(t.Context())
		return err == nil && list[0].Failures >= n
	})
}

// later moves the clock, and has deliveries looked at until done reports that what was to come came.
func later(t *testing.T, d *daemontest.Daemon, after time.Duration, what string, done func() bool) {
	t.Helper()
	d.Clock.Advance(after)
	looks := 0
	until(t, what, func() bool {
		if looks++; looks%100 == 0 { // an attempt that took too long is made again later
			d.Clock.Advance(after)
		}
		tidy(t, d)
		return done()
	})
}

// TestWebhook: a webhook is told the events that are read by cursor, with their ids, signed. One that fails is sent the same again, signed
// anew; what it does not take in five attempts is given up, and a gap is told once it answers. Nothing is lost across a restart.
func TestWebhook(t *testing.T) {
	t.Parallel()
	r, dir, clock := newReceiver(t), t.TempDir(), daemontest.NewClock()
	change := func(c *daemon.Config) { c.DataDir, c.Now = dir, clock.Now; onLoopback(c) }
	d := daemontest.Start(t, change)
	d.Clock = clock
	key := d.Key(t, api.TierFree)
	w := hooked(t, d, key, r)
	if again, err := clientOf(t, d, key).CreateWatch(t.Context(), api.WatchRequest{Type: w.Type, Delivery: api.WatchDelivery{
		Type: api.DeliverWebhook, URL: w.Delivery.URL}}); err != nil || again.ID != w.ID || again.Secret != "" {
		t.Errorf("made once more: %+v, %v", again, err)
	}
	refresh(t, d, 3)
	until(t, "three states", func() bool { return len(r.got()) == 3 })
	ids, _, _ := eventsAfter(t, clientOf(t, d, key), w.ID, w.Cursor)
	var told []string
	for _, p := range r.got() {
		told = append(told, p.id)
	}
	slices.Sort(told)
	if !slices.Equal(told, slices.Sorted(slices.Values(ids))) {
		t.Errorf("told %q, read %q", told, ids)
	}
	r.set("", http.StatusInternalServerError)
	refresh(t, d, 1)
	failed(t, d, key, 1)
	d.Stop(t)
	d = again(t, d, change)
	for i, wait := range []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		before := len(r.got())
		later(t, d, wait-10*time.Second, "nothing", func() bool { return len(r.got()) == before })
		later(t, d, 10*time.Second, "the next attempt", func() bool { return len(r.got()) > before })
		failed(t, d, key, 2+i)
	}
	attempts := r.got()[3:]
	for _, p := range attempts {
		if p.id != attempts[0].id || p.body != attempts[0].body || p != attempts[0] && p.at == attempts[0].at {
			t.Errorf("repeated as %+v", p)
		}
	}
	r.set("", 0)
	refresh(t, d, 1)
	var gap struct{ Type, Cursor string }
	later(t, d, time.Minute, "the gap", func() bool {
		return slices.ContainsFunc(r.got(), func(p post) bool { return json.Unmarshal([]byte(p.body), &gap) == nil && gap.Type == "gap" })
	})
	missed, _, _ := eventsAfter(t, clientOf(t, d, key), w.ID, gap.Cursor)
	if len(missed) == 0 || missed[0] != attempts[0].id {
		t.Errorf("behind the gap's cursor is %q, want %s first", missed, attempts[0].id)
	}
	list, err := clientOf(t, d, key).Watches(t.Context())
	if err != nil || list[0].LastDeliveryAt == nil || list[0].Failures != 0 || list[0].Secret != "" {
		t.Errorf("%+v, %v", list, err)
	}
	if len(r.bad) > 0 {
		t.Errorf("%q", r.bad)
	}
}

// TestWebhookClockBack: where the clock is set back, what was put off comes within the longest pause, and new events come as they did; each
// once, and the day is paid once.
func TestWebhookClockBack(t *testing.T) {
	t.Parallel()
	r, d := newReceiver(t), daemontest.Start(t, onLoopback)
	key := d.Key(t, api.TierPro)
	d.Grant(t, key, 5)
	w := hooked(t, d, key, r)
	refresh(t, d, 2)
	until(t, "two states", func() bool { return len(r.got()) == 2 })
	r.set("", http.StatusInternalServerError)
	refresh(t, d, 1)
	failed(t, d, key, 1)
	r.set("", 0)
	d.Clock.Advance(-3 * time.Hour)
	taken := func() (ids []string) {
		for _, p := range r.got() {
			if p.status == http.StatusOK {
				ids = append(ids, p.id)
			}
		}
		return ids
	}
	later(t, d, 0, "what was put off", func() bool { return len(taken()) == 3 })
	refresh(t, d, 2)
	later(t, d, 0, "two more states", func() bool { return len(taken()) >= 5 })
	ids, _, truncated := eventsAfter(t, clientOf(t, d, key), w.ID, w.Cursor)
	if told := taken(); truncated || len(ids) != 5 || !slices.Equal(slices.Sorted(slices.Values(told)), slices.Sorted(slices.Values(ids))) {
		t.Errorf("told %q, read %q, truncated %t", told, ids, truncated)
	}
	if b, err := d.Credits().Balance(t.Context(), account.OperatorID, w.KeyID); err != nil || b.Balance != 4 {
		t.Errorf("%+v, %v", b, err)
	}
	if len(r.bad) > 0 {
		t.Errorf("%q", r.bad)
	}
}

// TestWebhookBeganMeanwhile: what happens while a receiver is challenged is before the cursor, or it is told.
func TestWebhookBeganMeanwhile(t *testing.T) {
	t.Parallel()
	r, d := newReceiver(t), daemontest.Start(t, onLoopback)
	key := d.Key(t, api.TierFree)
	first := hooked(t, d, key, r)
	refresh(t, d, 1)
	until(t, "the first event", func() bool { return len(r.got()) == 1 })
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var asked struct{ Type, Challenge string }
		if err := json.NewDecoder(req.Body).Decode(&asked); err != nil || asked.Type != "verification" {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.posts = append(r.posts, post{id: "other " + req.Header.Get("webhook-id")})
			return
		}
		refresh(t, d, 1)
		until(t, "the event of who watched before", func() bool { return len(r.got()) == 2 })
		_ = json.NewEncoder(w).Encode(map[string]string{"challenge": asked.Challenge})
	}))
	t.Cleanup(slow.Close)
	second, err := clientOf(t, d, key).CreateWatch(t.Context(), api.WatchRequest{Type: first.Type,
		Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: slow.URL}})
	if err != nil {
		t.Fatal(err)
	}
	refresh(t, d, 1)
	ids, _, _ := eventsAfter(t, clientOf(t, d, key), second.ID, second.Cursor)
	later(t, d, time.Second, "what is behind the cursor", func() bool { return len(r.got()) == 3+len(ids) })
	for _, id := range ids {
		if !slices.ContainsFunc(r.got(), func(p post) bool { return p.id == "other "+id }) {
			t.Errorf("%s is behind the cursor, and never came", id)
		}
	}
}

// TestWebhookBacklog: of more events behind a cursor than may wait, the first are told, and where the rest begins.
func TestWebhookBacklog(t *testing.T) {
	t.Parallel()
	long.Test(t)
	const states = 3*api.WatchStates + 1
	r, d := newReceiver(t), daemontest.Start(t, onLoopback)
	c := clientOf(t, d, d.Key(t, api.TierFree))
	read, err := c.CreateWatch(t.Context(), api.WatchRequest{Type: api.WatchStatePublished})
	if err != nil {
		t.Fatal(err)
	}
	refresh(t, d, states)
	all, _, _ := eventsAfter(t, c, read.ID, read.Cursor)
	w, err := c.CreateWatch(t.Context(), api.WatchRequest{Type: read.Type, Cursor: read.Cursor,
		Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: r.URL}})
	if err != nil || len(all) != states {
		t.Fatalf("%d events, %v", len(all), err)
	}
	rest, _, _ := eventsAfter(t, c, w.ID, w.Gap)
	if len(rest) == 0 || len(all)-len(rest) < event.MostWaiting || !slices.Equal(rest, all[len(all)-len(rest):]) {
		t.Errorf("behind the gap are %d of %d events", len(rest), len(all))
	}
}

// TestWebhookAnswers: 410 and 413 end a message, the first without blame; a redirect is not followed, and a key that ends ends the watch.
func TestWebhookAnswers(t *testing.T) {
	t.Parallel()
	for status, failures := range map[int]int{http.StatusGone: 0, http.StatusRequestEntityTooLarge: 1, http.StatusFound: 1} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			r, d := newReceiver(t), daemontest.Start(t, onLoopback)
			key := d.Key(t, api.TierFree)
			w := hooked(t, d, key, r)
			r.set("", status)
			refresh(t, d, 1)
			c := clientOf(t, d, key)
			until(t, "an attempt", func() bool { return len(r.got()) == 1 })
			until(t, "its record", func() bool {
				list, err := c.Watches(t.Context())
				return err == nil && (list[0].Failures > 0 || failures == 0)
			})
			retried := status == http.StatusFound
			later(t, d, 11*time.Second, "what follows", func() bool { return !retried || len(r.got()) == 2 })
			if n := len(r.got()); n != 1 && !retried {
				t.Errorf("%d attempts", n)
			}
			list, err := c.Watches(t.Context())
			if err != nil || (list[0].Failures > 0) != (failures > 0) {
				t.Errorf("%+v, %v", list, err)
			}
			r.set("", 0)
			n := len(r.got())
			if _, err := d.Keys().Revoke(t.Context(), w.KeyID); err != nil {
				t.Fatal(err)
			}
			later(t, d, 0, "its end", func() bool { return len(r.got()) > n })
			if last := r.got()[n]; !strings.Contains(last.body, `"terminated"`) || strings.Contains(last.body, "/elsewhere") {
				t.Errorf("%+v", last)
			}
		})
	}
}

// TestReceivers: only who answers the challenge is told; private addresses, other schemes and users in addresses are refused, and nothing
// is stored or charged.
func TestReceivers(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	r.lies = "another"
	at := strings.TrimPrefix(r.URL, "http://")
	for _, c := range []struct {
		loopback bool
		url      string
		reason   api.Reason
	}{
		{true, r.URL, api.ReasonCallbackRefused}, {true, r.URL + "/#x", api.ReasonInvalidDelivery},
		{true, "http://u:p@" + at, api.ReasonInvalidDelivery}, {false, r.URL, api.ReasonInvalidDelivery},
		{false, "https://" + at, api.ReasonInvalidDelivery}, {false, "https://localhost/", api.ReasonInvalidDelivery},
		{false, "https://[::ffff:10.0.0.1]/", api.ReasonInvalidDelivery}, {false, "https://2130706433/", api.ReasonInvalidDelivery},
		{true, "ftp://" + at, api.ReasonInvalidDelivery}, {true, "http://10.0.0.1/", api.ReasonInvalidDelivery},
		{true, "", api.ReasonInvalidDelivery},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel()
			d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Watches.HTTPLoopback, cfg.Limits.FreeCalls = c.loopback, 1 })
			client := clientOf(t, d, d.Key(t, api.TierFree))
			_, err := client.CreateWatch(t.Context(), api.WatchRequest{Type: api.WatchFlagChanged,
				Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: c.url}})
			if !errors.Is(err, &api.Error{Reason: c.reason}) {
				t.Errorf("%v, want %s", err, c.reason)
			}
			if list, err := client.Watches(t.Context()); err != nil || len(list) > 0 {
				t.Errorf("%+v, %v", list, err)
			}
			if _, err := client.Fresh(t.Context(), ""); err != nil {
				t.Errorf("it was charged: %v", err)
			}
		})
	}
}

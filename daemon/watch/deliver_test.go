package watch_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

// TestSign is the vector of Standard Webhooks; a secret of another length, or that is no base64, is refused.
func TestSign(t *testing.T) {
	t.Parallel()
	key, err := watch.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	body, at := []byte(`{"test": 2432232314}`), time.Unix(1614265330, 0)
	alert.Sign(h, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body, key, []byte("the one before it"))
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	got := strings.Fields(h.Get("webhook-signature"))
	if len(got) != 2 || got[0] != want || got[1] == want || len(got[1]) != len(want) || h.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("%v", h)
	}
	for text, good := range map[string]bool{
		"": false, "whsec_": false, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": false, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS": false,
		watch.SecretText(make([]byte, 23)): false, watch.SecretText(make([]byte, 24)): true, watch.SecretText(make([]byte, 64)): true,
		watch.SecretText(make([]byte, 65)): false,
	} {
		if _, err := watch.ParseSecret(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRealClientsVerify has the library of Standard Webhooks for Node verify a message, where CONTEXTD_MCP_CLIENTS names a directory
// with it.
func TestRealClientsVerify(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONTEXTD_MCP_CLIENTS")
	if dir == "" {
		t.Skip("there is no library of others")
	}
	key, body, h := make([]byte, 32), []byte(`{"eventId":"a","name":"state.published"}`), http.Header{}
	alert.Sign(h, "a", time.Now(), body, key, []byte("the one before it, as it rotates"))
	const script = `const {Webhook} = require("standardwebhooks"), [secret, body, id, at, signed] = process.argv.slice(1);
		const headers = {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": signed};
		new Webhook(secret).verify(body, headers);
		try { new Webhook(secret).verify(body + " ", headers); process.exit(3) } catch (e) { process.exit(0) }`
	c := exec.CommandContext(t.Context(), "node", "-e", script, watch.SecretText(key), string(body), h.Get("webhook-id"),
		h.Get("webhook-timestamp"), h.Get("webhook-signature"))
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNtfy: a topic is posted to with the words of an event as they are, its link and the token; one that refuses is asked again.
func TestNtfy(t *testing.T) {
	t.Parallel()
	var got, token string
	status := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, token = r.Method+" "+r.URL.RequestURI()+" "+string(body), r.Header.Get("Authorization")
		w.WriteHeader(status)
	}))
	defer srv.Close()
	s := watch.New(watch.Config{Loopback: true})
	d := event.Delivery{
		Watch: event.Watch{ID: "w_1", Delivery: api.WatchDelivery{Type: api.DeliverNtfy, URL: srv.URL, Topic: "flags"}, Secret: []byte("tk_1")},
		Event: "0123", Body: []byte(`{"eventId":"0123","data":{"message":"Zürich moved","url":"https://example.org/a","demo":true,` +
			`"citations":[{"n":3,"name":"Börse","url":"https://example.org/b"}]}}`),
	}
	const want = `POST / {"click":"https://example.org/a","message":"Zürich moved\n[3] Börse https://example.org/b\nThis is synthetic data.",` +
		`"title":"Zürich moved","topic":"flags"}`
	if o := watch.Attempt(s, t.Context(), d); !o.Taken || got != want || token != "Bearer tk_1" {
		t.Errorf("%+v, posted with %q: %s\nwant %s", o, token, got, want)
	}
	status = http.StatusInsufficientStorage
	if o := watch.Attempt(s, t.Context(), d); o.Taken || o.Error != "http_5xx" || o.Next.IsZero() {
		t.Errorf("of one that is full: %+v", o)
	}
}

// overtaken is a store whose reading of what is due ends after the first of it was delivered.
type overtaken struct {
	event.Store
	due       []event.Delivery
	reads     atomic.Int32
	delivered chan struct{}
	ended     atomic.Int32
	stop      context.CancelFunc
}

func (s *overtaken) DueDeliveries(context.Context, time.Time) ([]event.Delivery, error) {
	switch s.reads.Add(1) {
	case 1:
		return s.due[:1], nil
	case 2:
		<-s.delivered
		return s.due, nil
	}
	if int(s.ended.Load()) >= len(s.due) {
		s.stop()
	}
	return nil, nil
}

func (s *overtaken) NextDelivery(context.Context) (time.Time, error)         { return time.Time{}, nil }
func (s *overtaken) RecordDeliveries(context.Context, []event.Outcome) error { return nil }

// anyKey knows every key.
type anyKey struct{}

func (anyKey) Lookup(string) (account.Key, error) { return account.Key{}, nil }

// TestOvertaken: what is read as due while it is delivered is not delivered once more.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	store := &overtaken{delivered: make(chan struct{}, 3), stop: cancel}
	var mu sync.Mutex
	var posts []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		posts = append(posts, r.Header.Get("webhook-id"))
		mu.Unlock()
		for store.reads.Load() < 2 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}))
	defer srv.Close()
	for _, id := range []string{"first", "second"} {
		store.due = append(store.due, event.Delivery{Event: id, Body: []byte("{}"), Watch: event.Watch{ID: "w_1", Host: "127.0.0.1",
			Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: srv.URL}, Secret: []byte("secret")}})
	}
	s := watch.New(watch.Config{Store: store, Loopback: true, Keys: anyKey{}, Delivered: func(bool, string) {
		store.ended.Add(1)
		store.delivered <- struct{}{}
	}})
	s.Wake()
	s.Run(ctx)
	if !slices.Equal(posts, []string{"first", "second"}) {
		t.Errorf("delivered %q", posts)
	}
}

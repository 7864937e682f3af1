package alert_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

// event is one to deliver.
func event() alert.Event {
	return alert.Event{ID: "0123", Alert: "peg", Pack: "crypto", At: began(), Change: alert.Appeared, Kind: api.FlagDepeg,
		Severity: api.SeverityCritical, Subject: "USDX", Message: "USDX trades below its peg", Value: json.RawMessage(`{"id":"depeg:usdx"}`)}
}

// TestWebhook: an event is posted as JSON, with its id, and signed where there is a secret.
func TestWebhook(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", "sixteen bytes or more", "whsec_c2l4dGVlbiBieXRlcyBvciBtb3Jl"} {
		var got *http.Request
		var body []byte
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r
			body, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusAccepted)
		}))
		defer srv.Close()
		hook, err := alert.NewWebhook(alert.Hook{URL: srv.URL + "/in/box?tpl=1", Secret: []byte(secret), Now: began})
		if err != nil {
			t.Fatal(err)
		}
		if err := hook.Deliver(t.Context(), event()); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"Content-Type": "application/json", "Idempotency-Key": "0123",
			api.HeaderJobTimestamp: "", api.HeaderJobSignature: "", "webhook-id": "", "webhook-signature": ""}
		if secret != "" {
			standard := http.Header{}
			alert.Sign(standard, "0123", began(), body, []byte("sixteen bytes or more"))
			want["webhook-id"], want["webhook-signature"] = "0123", standard.Get("webhook-signature")
			want[api.HeaderJobTimestamp] = strconv.FormatInt(began().Unix(), 10)
			want[api.HeaderJobSignature] = api.SignRequest([]byte(secret), began(), http.MethodPost, "/in/box", body)
		}
		for name, value := range want {
			if got.Header.Get(name) != value {
				t.Errorf("%s is %q, want %q", name, got.Header.Get(name), value)
			}
		}
		const text = `{"id":"0123","alert":"peg","pack":"crypto","at":"2026-11-20T20:00:00Z","change":"appeared","kind":"stablecoin_depeg",` +
			`"severity":"critical","subject":"USDX","message":"USDX trades below its peg","value":{"id":"depeg:usdx"}}`
		if got.Method != http.MethodPost || got.URL.RequestURI() != "/in/box?tpl=1" || string(body) != text {
			t.Errorf("%s %s %s", got.Method, got.URL, body)
		}
	}
}

// TestWebhookWithoutPath is signed with the path that the server sees.
func TestWebhookWithoutPath(t *testing.T) {
	t.Parallel()
	secret := []byte("sixteen bytes or more")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get(api.HeaderJobSignature) != api.SignRequest(secret, began(), r.Method, r.URL.Path, body) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer srv.Close()
	hook, err := alert.NewWebhook(alert.Hook{URL: srv.URL, Secret: secret, Now: began})
	if err != nil {
		t.Fatal(err)
	}
	if err := hook.Deliver(t.Context(), event()); err != nil {
		t.Error(err)
	}
}

// TestWebhookRefusals: what is no 2xx is a failure, a redirect is not followed, and no error shows the address.
func TestWebhookRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		retryAfter string
		want       string
		later      time.Duration
	}{
		{200, "", "", 0}, {204, "", "", 0}, {299, "", "", 0},
		{199 + 101, "", "300, a redirect", 0}, {302, "", "302, a redirect, which is not followed", 0}, {307, "", "307, a redirect", 0},
		{400, "", "400 Bad Request", 0}, {401, "", "401 Unauthorized", 0}, {500, "", "500 Internal Server Error", 0},
		{429, "7", "429 Too Many Requests", 7 * time.Second}, {503, "x", "503 Service Unavailable", 0}, {503, "-1", "503 Service", 0},
	} {
		asked := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			w.Header().Set("Location", "/elsewhere")
			if c.retryAfter != "" {
				w.Header().Set("Retry-After", c.retryAfter)
			}
			w.WriteHeader(c.status)
		}))
		hook, err := alert.NewWebhook(alert.Hook{URL: srv.URL + "/SECRET"})
		if err != nil {
			t.Fatal(err)
		}
		err = hook.Deliver(t.Context(), event())
		later, _ := errors.AsType[*alert.Later](err)
		switch {
		case (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%d: %v", c.status, err)
		case err != nil && strings.Contains(err.Error(), "SECRET"):
			t.Errorf("%d: the address is shown: %v", c.status, err)
		case (later != nil) != (c.later > 0) || later != nil && later.After != c.later:
			t.Errorf("%d: %+v", c.status, later)
		}
		if asked != 1 {
			t.Errorf("%d: asked %d times", c.status, asked)
		}
		srv.Close()
		if err := hook.Deliver(t.Context(), event()); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("nobody there: %v", err)
		}
	}
}

// TestWebhookAddresses: private addresses are good, what is no address is not, and no error shows it.
func TestWebhookAddresses(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"http://127.0.0.1:9/SECRET": true, "http://192.168.1.1/": true, "https://user:SECRET@example.org": true, "https://[::1]/": true,
		"": false, "example.org/SECRET": false, "ftp://example.org/SECRET": false, "http:///SECRET": false, "https://example.org/#SECRET": false,
		"https://example.org/%zzSECRET": false, "file:///etc/SECRET": false,
	} {
		_, err := alert.NewWebhook(alert.Hook{URL: address})
		if (err == nil) != good || err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

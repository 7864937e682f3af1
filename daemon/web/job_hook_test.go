package web_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// TestSigned sends good requests and each way of being wrong. The signature is made here by the words of the contract.
func TestSigned(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", web.MinJobsKey))
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	began, started := now, []string{}
	mux := http.NewServeMux()
	for path, methods := range web.HookRoutes(web.HookConfig{Key: key, Now: func() time.Time { return now }, Start: func(name string) error {
		if name == "dance" {
			return api.Errorf(api.ReasonNotFound, "there is no job %q", name)
		}
		started = append(started, name)
		return nil
	}}) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if err := methods[r.Method](w, r); err != nil {
				e := api.AsError(err)
				_ = web.WriteJSON(w, e.Status, api.ErrorBody{Error: e})
			}
		})
	}
	sign := func(at time.Time, text string) string {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%d\n%s", at.Unix(), text)
		return hex.EncodeToString(mac.Sum(nil))
	}
	post := func(path, body string, at time.Time, signature string) int {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("X-Contextd-Timestamp", fmt.Sprint(at.Unix()))
		r.Header.Set("X-Contextd-Signature", signature)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code
	}
	now = began.Add(10 * time.Minute)
	const path = "/api/internal/jobs/refresh"
	good := sign(now, "POST\n"+path+"\n")
	for _, test := range []struct {
		what, path, body string
		at               time.Time
		signature        string
		want             int
	}{
		{"good", path, "", now, good, 202},
		{"the same again", path, "", now, good, 401},
		{"good with a body", path, "{}", now, sign(now, "POST\n"+path+"\n{}"), 202},
		{"another body", path, "{ }", now, sign(now, "POST\n"+path+"\n{}"), 401},
		{"another path", "/api/internal/jobs/brief", "", now, good, 401},
		{"another method signed", path, "", now, sign(now, "GET\n"+path+"\n"), 401},
		{"another time", path, "", now.Add(time.Second), good, 401},
		{"no signature", path, "", now.Add(2 * time.Second), "", 401},
		{"too old", path, "", now.Add(-window - time.Second), sign(now.Add(-window-time.Second), "POST\n"+path+"\n"), 401},
		{"too new", path, "", now.Add(window + time.Second), sign(now.Add(window+time.Second), "POST\n"+path+"\n"), 401},
		{"old enough", path, "", now.Add(-window), sign(now.Add(-window), "POST\n"+path+"\n"), 202},
		{"new enough", path, "", now.Add(window), sign(now.Add(window), "POST\n"+path+"\n"), 202},
		{"no such job", "/api/internal/jobs/dance", "", now, sign(now, "POST\n/api/internal/jobs/dance\n"), 404},
		{"a large body", path, strings.Repeat("x", 2000), now, good, 413},
	} {
		if got := post(test.path, test.body, test.at, test.signature); got != test.want {
			t.Errorf("%s: status %d, want %d", test.what, got, test.want)
		}
	}
	if len(started) != 4 {
		t.Errorf("started %q", started)
	}
	// What was signed before the start may have been used then.
	now = began.Add(time.Second)
	if got := post(path, "", began.Add(-time.Second), sign(began.Add(-time.Second), "POST\n"+path+"\n")); got != 401 {
		t.Errorf("from before the start: status %d", got)
	}
	if got := post(path, "", began, sign(began, "POST\n"+path+"\n")); got != 202 {
		t.Errorf("from the start on: status %d", got)
	}
}

// TestSignatureIsUsedOnce: a signature is remembered for as long as its time would be let in, at both ends of the window, and forgotten by
// none of what comes meanwhile.
func TestSignatureIsUsedOnce(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", web.MinJobsKey))
	signed := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for what, first := range map[string]time.Time{"early": signed.Add(-window), "in time": signed, "late": signed.Add(window)} {
		now := signed.Add(-time.Hour) // of the start
		routes := web.HookRoutes(web.HookConfig{Key: key, Now: func() time.Time { return now }, Start: func(string) error { return nil }})
		post := func(at time.Time) error {
			r := httptest.NewRequest(http.MethodPost, api.PathInternalJobs+"/refresh", http.NoBody)
			r.Header.Set(api.HeaderJobTimestamp, fmt.Sprint(at.Unix()))
			r.Header.Set(api.HeaderJobSignature, api.SignRequest(key, at, r.Method, r.URL.Path, nil))
			return routes[api.PathInternalJobs+"/{name}"][http.MethodPost](httptest.NewRecorder(), r)
		}
		now = first
		if err := post(signed); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for now = first; !now.After(signed.Add(window)); now = now.Add(time.Minute) {
			if now.After(first) { // another one, which clears out what is old
				if err := post(now.Add(30 * time.Second)); err != nil {
					t.Errorf("%s, at %v: %v", what, now, err)
				}
			}
			if err := post(signed); err == nil || !strings.Contains(err.Error(), "used already") {
				t.Errorf("%s, again at %v: %v", what, now, err)
			}
		}
	}
}

const window = 5 * time.Minute

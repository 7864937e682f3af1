package web_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// TestOtherOriginsWriteNothing: a page of another origin cannot write with the cookie of who looks at it.
func TestOtherOriginsWriteNothing(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) { c.PublicURL = "https://context.example.org" })
	u := newUser(t, d)
	u.signIn("origin@example.org")
	host := strings.TrimPrefix(d.URL(), "http://")
	for _, c := range []struct {
		header map[string]string
		passes bool
	}{
		{map[string]string{}, true}, // no browser
		{map[string]string{"Origin": "https://context.example.org"}, true},
		{map[string]string{"Origin": "http://" + host}, true},
		{map[string]string{"Sec-Fetch-Site": "same-origin"}, true},
		{map[string]string{"Sec-Fetch-Site": "none"}, true},
		{map[string]string{"Origin": "https://evil.example.com"}, false},
		{map[string]string{"Origin": "null"}, false},
		{map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
		{map[string]string{"Sec-Fetch-Site": "same-site"}, false},
		{map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.com", "Content-Type": "text/plain"}, false},
	} {
		u.header = c.header
		got := u.call(http.MethodPost, api.PathKeys, api.CreateKeyRequest{Name: "x"})
		if c.passes {
			u.into(got, http.StatusCreated, nil)
			continue
		}
		u.refused(got, api.ReasonCrossOrigin)
		for _, route := range []string{"POST /api/auth/email", "POST /api/auth/wallet/verify", "DELETE /api/auth/session", "DELETE /api/keys/x", "PUT /api/console/prompts/crypto"} {
			method, path, _ := strings.Cut(route, " ")
			u.refused(u.call(method, path, nil), api.ReasonCrossOrigin)
		}
		u.into(u.call(http.MethodGet, api.PathKeys, nil), http.StatusOK, nil) // reading is for the browser to refuse
	}
	u.header = nil
	if got := u.call(http.MethodGet, api.PathKeys, nil); got.Header.Get("Access-Control-Allow-Origin") != "" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", got.Header)
	}
}

// TestSignInsAreBounded per client, where only trusted proxies say who that is.
func TestSignInsAreBounded(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) {
		c.Limits = daemon.Limits{SignIns: 3, Mails: 1000}
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	})
	u := newUser(t, d)
	try := func(forwarded string) answer {
		u.header["X-Forwarded-For"] = forwarded
		return u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: "x"})
	}
	for _, same := range []string{"198.51.100.7", "203.0.113.9, 198.51.100.7", "198.51.100.7, 10.1.2.3"} {
		u.refused(try(same), api.ReasonInvalidSignIn)
	}
	got := try("1.1.1.1,198.51.100.7")
	u.refused(got, api.ReasonRateLimited)
	if got.Header.Get(api.HeaderRetryAfter) != "20" {
		t.Errorf("Retry-After is %s, want 20", got.Header.Get(api.HeaderRetryAfter))
	}
	u.refused(try("198.51.100.8"), api.ReasonInvalidSignIn) // somebody else
	d.Clock.Advance(20 * time.Second)
	u.refused(try("198.51.100.7"), api.ReasonInvalidSignIn)
	u.refused(try("198.51.100.7"), api.ReasonRateLimited)
	// Clients of IPv6 have a whole network each.
	for i := range 3 {
		u.refused(try(fmt.Sprintf("2001:db8:1:2::%d", i)), api.ReasonInvalidSignIn)
	}
	u.refused(try("2001:db8:1:2:ffff::"), api.ReasonRateLimited)
	u.refused(try("2001:db8:1:3::"), api.ReasonInvalidSignIn)
}

func TestNobodyIsBelievedWithoutTrust(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 2} })
	u := newUser(t, d)
	for i := range 3 {
		u.header["X-Forwarded-For"] = fmt.Sprintf("198.51.100.%d", i)
		got := u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: "x"})
		u.refused(got, []api.Reason{api.ReasonInvalidSignIn, api.ReasonInvalidSignIn, api.ReasonRateLimited}[i])
	}
}

// TestNobodyIsMailedTooOften by any number of callers.
func TestNobodyIsMailedTooOften(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 1000, Mails: 2} })
	u := newUser(t, d)
	ask := func(email string) answer {
		return u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email})
	}
	for _, email := range []string{"a@example.org", "A@example.org ", "b@example.org"} {
		u.into(ask(email), http.StatusAccepted, nil)
	}
	u.refused(ask("a@EXAMPLE.org"), api.ReasonRateLimited)
	if n := len(d.Mails(t)); n != 3 {
		t.Errorf("%d mails were sent, want 3", n)
	}
	d.Clock.Advance(8 * time.Minute)
	u.into(ask("a@example.org"), http.StatusAccepted, nil)
}

func TestConsoleIsBounded(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits = daemon.Limits{Requests: 3} })
	u := newUser(t, d)
	u.signIn("fast@example.org")
	for range 3 {
		u.into(u.call(http.MethodGet, api.PathKeys, nil), http.StatusOK, nil)
	}
	u.refused(u.call(http.MethodGet, api.PathKeys, nil), api.ReasonRateLimited)
	if a := u.call(http.MethodGet, api.PathFresh, nil); a.Status != http.StatusUnauthorized { // calls are bounded by what they cost
		t.Errorf("a call: %d %s", a.Status, a.Body)
	}
}

// FuzzConsole sends anything to every route of the console: it is answered, with an envelope where it is refused, and never with
// a fault of ours.
func FuzzConsole(f *testing.F) {
	d := daemontest.Start(f, free)
	u := newUser(f, d)
	id := u.signIn("fuzz@example.org").UserID
	if err := d.Keys().SetTier(f.Context(), id, api.TierPro); err != nil {
		f.Fatal(err)
	}
	secret := u.secret
	routes := []string{
		"POST /api/auth/email", "POST /api/auth/email/verify", "POST /api/auth/wallet", "POST /api/auth/wallet/verify", "GET /api/auth/session",
		"GET /api/keys", "POST /api/keys", "DELETE /api/keys/", "GET /api/console/credits", "GET /api/console/usage", "PUT /api/console/prompts/",
		"GET /auth/email", "POST /auth/email",
	}
	for i, body := range []string{
		`{"email":"a@b.org"}`, `{"token":"x"}`, `{"address":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}`, `{"message":"a\nb","signature":"0x00"}`, "", "",
		`{"name":"x","traceConsent":"full"}`, "", "", "", `{"prompt":"x"}`, "", "token=x",
	} {
		f.Add(i, "days=3&keyId=x&token=x", "crypto", body, true)
	}
	f.Fuzz(func(t *testing.T, route int, query, rest, body string, signedIn bool) {
		method, path, _ := strings.Cut(routes[(route%len(routes)+len(routes))%len(routes)], " ")
		if strings.HasSuffix(path, "/") {
			path += url.PathEscape(rest)
		}
		u := newUser(t, d)
		if signedIn {
			u.secret = secret
		}
		got := u.call(method, path+"?"+url.PathEscape(query), body)
		switch {
		case got.Status >= http.StatusInternalServerError:
			t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
		case got.Status >= http.StatusBadRequest && !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html"):
			if !strings.HasPrefix(string(got.Body), `{"error":{"code":"`) {
				t.Errorf("%s %s: %d without an envelope: %s", method, path, got.Status, got.Body)
			}
		}
	})
}

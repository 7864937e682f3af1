package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

var (
	form   = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)">\s*<input type="hidden" name="token" value="([^"]*)">\s*<button type="submit">`)
	code   = regexp.MustCompile(`<pre>([0-9A-Za-z]{43})</pre>`)
	style  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	loaded = regexp.MustCompile(`(?i)<script|src=|href=|url\(|@import|\son[a-z]+=`)
)

// checkPage looks at what a page is made of.
func checkPage(t *testing.T, got answer) string {
	t.Helper()
	text, policy := string(got.Body), got.Header.Get("Content-Security-Policy")
	if got.Header.Get("Content-Type") != "text/html; charset=utf-8" || got.Header.Get("Cache-Control") != "no-store" ||
		got.Header.Get("Referrer-Policy") != "same-origin" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", got.Header)
	}
	for _, part := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q has no %s", policy, part)
		}
	}
	css := style.FindStringSubmatch(text)
	if css == nil {
		t.Fatal("the page has no style")
	}
	sum := sha256.Sum256([]byte(css[1]))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
		t.Errorf("the policy %q does not allow the page's own style: %s", policy, want)
	}
	if found := loaded.FindString(text); found != "" {
		t.Errorf("the page has %q", found)
	}
	return text
}

// submit posts the form of a page as a browser does.
func (u *user) submit(text string) answer {
	u.t.Helper()
	found := form.FindStringSubmatch(text)
	if found == nil {
		u.t.Fatalf("no form in %s", text)
	}
	u.header = map[string]string{
		"Content-Type": "application/x-www-form-urlencoded", "Origin": u.d.URL(), "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate",
	}
	defer func() { u.header = nil }()
	return u.call(http.MethodPost, html.UnescapeString(found[1]), url.Values{"token": {html.UnescapeString(found[2])}}.Encode())
}

// TestPage goes from the mail through the browser back to the terminal.
func TestPage(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	const email = "page@example.org"
	newUser(t, d).call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email})
	browser := newUser(t, d)
	path := strings.TrimPrefix(d.MailedLink(t, email), d.URL())
	var text string
	for range 3 { // looking at it does not use it
		got := browser.call(http.MethodGet, path, nil)
		browser.into(got, http.StatusOK, nil)
		text = checkPage(t, got)
	}
	got := browser.submit(text)
	browser.into(got, http.StatusOK, nil)
	done := checkPage(t, got)
	if browser.secret == "" || !strings.Contains(done, email) {
		t.Errorf("not signed in: %s", done)
	}
	var session, terminal api.Session
	browser.into(browser.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, &session)
	found := code.FindStringSubmatch(done)
	if found == nil {
		t.Fatalf("no code for the terminal in %s", done)
	}
	ctx := newUser(t, d)
	ctx.into(ctx.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: found[1]}), http.StatusOK, &terminal)
	if terminal.UserID != session.UserID {
		t.Error("the terminal is signed in as somebody else")
	}
	again := browser.submit(text) // the link is used
	if again.Status != http.StatusUnauthorized || code.MatchString(checkPage(t, again)) {
		t.Errorf("a used link: %d %s", again.Status, again.Body)
	}
}

func TestPageOfABadLink(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits = web.ConsoleLimits{SignIns: 1} })
	u := newUser(t, d)
	got := u.call(http.MethodGet, api.PathAuthEmailLanding, nil)
	if got.Status != http.StatusBadRequest || !strings.Contains(checkPage(t, got), "not whole") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	got = u.call(http.MethodGet, api.PathAuthEmailLanding+"?token="+url.QueryEscape(`"><script>alert(1)</script>`), nil)
	u.into(got, http.StatusOK, nil)
	text := checkPage(t, got) // which finds a script
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
		if got = u.submit(text); got.Status != status || u.secret != "" {
			t.Errorf("%d %s, want %d", got.Status, got.Body, status)
		}
		checkPage(t, got)
	}
	u.header = map[string]string{"Origin": "https://evil.example.com", "Content-Type": "application/x-www-form-urlencoded"}
	if got = u.call(http.MethodPost, api.PathAuthEmailLanding, "token=x"); got.Status == http.StatusOK {
		t.Errorf("another origin submits the form: %s", got.Body)
	}
}

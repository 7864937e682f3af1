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
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

var (
	form   = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)">\s*<input type="hidden" name="token" value="([^"]*)">\s*<button type="submit">`)
	code   = regexp.MustCompile(`<pre>([0-9A-Za-z]{43})</pre>`)
	style  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	loaded = regexp.MustCompile(`(?i)<script|src=|href=|url\(|@import|\son[a-z]+=`)
)

// checkPage looks at what a page is made of.
func checkPage(t testing.TB, got answer) string {
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
	if found := loaded.FindString(strings.Replace(text, `<a href="/account">`, "", 1)); found != "" {
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
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 1} })
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

// button is the text of a page's button, confirm what is posted with it.
var (
	button  = regexp.MustCompile(`<button type="submit">([^<]*)</button>`)
	confirm = regexp.MustCompile(`<input type="hidden" name="confirm" value="([^"]*)">`)
)

// open looks at the page of the newest mail's link and returns its text and token.
func (u *user) open(email string) (text, token string) {
	u.t.Helper()
	token = u.d.MailedToken(u.t, email)
	got := u.call(http.MethodGet, api.PathAuthEmailLanding+"?token="+token, nil)
	u.into(got, http.StatusOK, nil)
	return checkPage(u.t, got), token
}

// post posts the form of a page with more than its token.
func (u *user) post(form url.Values) answer {
	u.t.Helper()
	u.header = map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": u.d.URL(), "Sec-Fetch-Site": "same-origin"}
	defer func() { u.header = nil }()
	return u.call(http.MethodPost, api.PathAuthEmailLanding, form.Encode())
}

// TestPageNamesTheAccount: it says whom the link signs in, and asks before it replaces somebody else who is signed in.
func TestPageNamesTheAccount(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	bob := newUser(t, d)
	bob.ask("bob@example.org")
	text, _ := bob.open("bob@example.org")
	if !strings.Contains(text, "as <strong>bob@example.org</strong>") || confirm.MatchString(text) {
		t.Errorf("the page names nobody, or asks for nothing: %s", text)
	}
	bob.into(bob.submit(text), http.StatusOK, nil)
	var was, is api.Session
	bob.into(bob.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, &was)

	newUser(t, d).ask("eve@example.org") // who sends bob the link, so that he pays for her account
	text, token := bob.open("eve@example.org")
	if !strings.Contains(text, "signed in as <strong>bob@example.org</strong>") || button.FindStringSubmatch(text)[1] != "Sign in as eve@example.org" {
		t.Errorf("the page does not ask: %s", text)
	}
	for _, agreed := range []string{"", "x", "eve@example.org"} { // no form of that page
		got := bob.post(url.Values{"token": {token}, "confirm": {agreed}})
		bob.into(got, http.StatusOK, nil)
		if code.MatchString(checkPage(t, got)) || !confirm.Match(got.Body) {
			t.Errorf("signed in with %q: %s", agreed, got.Body)
		}
	}
	bob.into(bob.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, &is)
	if is.UserID != was.UserID {
		t.Errorf("bob is %+v now", is)
	}
	got := bob.post(url.Values{"token": {token}, "confirm": {confirm.FindStringSubmatch(text)[1]}})
	if bob.into(got, http.StatusOK, nil); !code.Match(got.Body) {
		t.Errorf("not signed in: %s", got.Body)
	}
	if bob.into(bob.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, &is); is.UserID == was.UserID {
		t.Error("bob agreed and is bob still")
	}
	newUser(t, d).ask("eve@example.org") // who is signed in as her already is not asked
	if text, _ = bob.open("eve@example.org"); confirm.MatchString(text) {
		t.Errorf("the page asks before it replaces nobody: %s", text)
	}
}

// TestPageOfAnAddedAddress: mail and page say whose account an address would be added to.
func TestPageOfAnAddedAddress(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	ada := newUser(t, d)
	ada.signIn("ada@example.org")
	ada.into(ada.ask("second@example.org"), http.StatusAccepted, nil)
	if to := mailed(t, d, len(d.Mails(t))-1, "Subject: Add this address to an account", "add second@example.org to the account of ada@example.org"); len(to) != 1 {
		t.Error("the mail does not say what the link adds to what")
	}
	text, _ := ada.open("second@example.org")
	if !strings.Contains(text, "Add <strong>second@example.org</strong> to the account of <strong>ada@example.org</strong>") ||
		button.FindStringSubmatch(text)[1] != "Add the address" {
		t.Errorf("the page does not say what the link does: %s", text)
	}
	ada.into(ada.submit(text), http.StatusOK, nil)
	if n := len(ada.identities()); n != 2 {
		t.Errorf("%d identities, want 2", n)
	}
	ada.into(ada.ask("ada@example.org"), http.StatusAccepted, nil) // again, which adds nothing
	if to := mailed(t, d, len(d.Mails(t))-1, "Subject: Sign in to contextd"); len(to) != 1 {
		t.Error("a mail that adds nothing says that it adds")
	}
}

// TestPageAsksForAnInvitation of who has no account, and of nobody else.
func TestPageAsksForAnInvitation(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) { c.Accounts.Signup = account.SignupInvite })
	u := newUser(t, d)
	u.ask("new@example.org")
	text, token := u.open("new@example.org")
	if !strings.Contains(text, `name="invite"`) {
		t.Errorf("the page asks for no invitation: %s", text)
	}
	if got := u.post(url.Values{"token": {token}, "invite": {"x"}}); got.Status != http.StatusForbidden || u.secret != "" {
		t.Errorf("a bad invitation: %d %s", got.Status, got.Body)
	}
	if got := u.post(url.Values{"token": {token}, "invite": {invite(t, d)}}); got.Status != http.StatusOK || !code.Match(got.Body) {
		t.Errorf("a good one: %d %s", got.Status, got.Body)
	}
	u.secret = ""
	u.ask("new@example.org")
	if text, _ = u.open("new@example.org"); strings.Contains(text, `name="invite"`) {
		t.Errorf("the page asks an owner for an invitation: %s", text)
	}
}

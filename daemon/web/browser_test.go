package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// browser is a real browser, driven by WebDriver.
type browser struct {
	t    *testing.T
	base string // of the driver's session
}

// newBrowser starts the driver that CONTEXTD_CHROMEDRIVER names, and a browser with it, which runs scripts or not. Without one the test ends:
// the same way is walked over HTTP by TestPage.
func newBrowser(t *testing.T, scripts bool) *browser {
	t.Helper()
	driver := os.Getenv("CONTEXTD_CHROMEDRIVER")
	if driver == "" {
		t.Skip("CONTEXTD_CHROMEDRIVER names no chromedriver")
	}
	c := exec.Command(driver, "--port=0")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	late := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	b := &browser{t: t}
	for said := bufio.NewScanner(out); b.base == "" && said.Scan(); {
		if _, port, ok := strings.Cut(said.Text(), "started successfully on port "); ok {
			b.base = "http://127.0.0.1:" + strings.TrimSuffix(port, ".")
		}
	}
	if late.Stop(); b.base == "" {
		t.Fatal("the driver does not start")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	allowed := map[bool]int{true: 1, false: 2}[scripts]
	var session struct{ SessionID string }
	b.do(http.MethodPost, "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName": "chrome",
		"goog:chromeOptions": map[string]any{
			"args": []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
				"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir()},
			"prefs": map[string]any{"profile.managed_default_content_settings.javascript": allowed},
		},
		"goog:loggingPrefs": map[string]string{"browser": "ALL"},
	}}}, &session)
	b.base += "/session/" + session.SessionID
	t.Cleanup(func() { b.do(http.MethodDelete, "", nil, nil) })
	b.do(http.MethodPost, "/timeouts", map[string]int{"implicit": 10_000}, nil) // to find what is on the next page
	return b
}

// do calls the driver and decodes the value of its answer.
func (b *browser) do(method, path string, body, value any) {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	if body == nil {
		text = []byte("{}")
	}
	req, err := http.NewRequest(method, b.base+path, bytes.NewReader(text)) // of no context: it also ends the session after the test
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, text, err)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(text, &struct{ Value any }{value}); err != nil {
		b.t.Fatalf("%s %s: %s: %v", method, path, text, err)
	}
}

// text is what can be read on the page.
func (b *browser) text() (text string) {
	b.t.Helper()
	b.do(http.MethodGet, "/element/"+b.find("body")+"/text", nil, &text)
	return text
}

// find is the element that a selector means.
func (b *browser) find(selector string) string {
	b.t.Helper()
	var element map[string]string
	b.do(http.MethodPost, "/element", map[string]string{"using": "css selector", "value": selector}, &element)
	for _, id := range element {
		return id
	}
	b.t.Fatalf("no %s on the page", selector)
	return ""
}

// TestPageInABrowser follows a mailed link in a real browser without scripts, presses the button and goes on in the terminal.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	d := daemontest.Start(t)
	const email = "browser@example.org"
	u := newUser(t, d)
	u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email})
	b.do(http.MethodPost, "/url", map[string]string{"url": d.MailedLink(t, email)}, nil)
	if text := b.text(); !strings.Contains(text, "Sign in") || !strings.Contains(text, "ctx login") {
		t.Errorf("the page reads %q", text)
	}
	b.do(http.MethodPost, "/element/"+b.find("button")+"/click", nil, nil)
	pre := b.find("pre")
	if text := b.text(); !strings.Contains(text, "You are signed in") || !strings.Contains(text, email) {
		t.Fatalf("after the button the page reads %q", text)
	}
	var code, width string
	b.do(http.MethodGet, "/element/"+pre+"/text", nil, &code)
	u.into(u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: code}), http.StatusOK, nil)
	var cookie struct {
		Value    string
		HTTPOnly bool
		SameSite string
	}
	b.do(http.MethodGet, "/cookie/"+api.SessionCookie, nil, &cookie)
	if cookie.Value == "" || !cookie.HTTPOnly || cookie.SameSite != "Lax" {
		t.Errorf("the cookie is %+v", cookie)
	}
	b.do(http.MethodGet, "/element/"+b.find("main")+"/css/max-width", nil, &width)
	if width == "none" {
		t.Error("the browser does not use the style of the page")
	}
	b.quiet()
}

// quiet fails if the browser complains of anything, as of a breach of a policy.
func (b *browser) quiet() {
	b.t.Helper()
	var log []struct{ Level, Message string }
	b.do(http.MethodPost, "/se/log", map[string]string{"type": "browser"}, &log)
	for _, line := range log {
		if !strings.Contains(line.Message, "favicon") {
			b.t.Errorf("the browser says %s: %s", line.Level, line.Message)
		}
	}
}

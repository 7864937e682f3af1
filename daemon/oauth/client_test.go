package oauth_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/internal/outbound"
)

// web is the network as far as documents of clients are there.
type web struct {
	mu     sync.Mutex // guards what follows
	answer func(r *http.Request) (*http.Response, error)
	asked  int
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	return w.answer(r)
}

// says has w answer every request so, and returns how often it was asked before.
func (w *web) says(answer func(r *http.Request) (*http.Response, error)) (asked int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
	return w.asked
}

const documentID = "https://agent.example/oauth/client.json"

// document is one of a client, with headers: names and values, one after the other.
func document(text string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

const good = `{"client_id":"` + documentID + `","client_name":"Agent <b>","redirect_uris":["http://localhost/back"],` +
	`"grant_types":["authorization_code","urn:ietf:params:oauth:grant-type:jwt-bearer"],"token_endpoint_auth_method":"private_key_jwt"}`

func status(code int, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		res, err := document(good, headers...)(r)
		res.StatusCode = code
		return res, err
	}
}

// slow answers after a minute, to who waits for that.
func slow(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(time.Minute):
		return document(good)(r)
	}
}

// TestDocuments: a client is known by the document at its id, which is read for who is signed in alone, and must be what it says.
func TestDocuments(t *testing.T) {
	t.Parallel()
	all := &web{}
	h := newHouse(t, func(c *daemon.Config) { c.AgentDocuments = all })
	owner := h.browser("ada@example.org")
	ask := func(c *http.Client, id string) answer {
		h.Clock.Advance(31 * time.Second) // past the limits, and past what is remembered of a failure
		return do(t, c, "GET", h.request("client_id", id, "redirect_uri", "http://localhost:5/back"), "")
	}
	all.says(document(good))
	if a := ask(client(t, nil), documentID); a.status != 200 || hidden.MatchString(a.text) || all.says(document(good)) != 0 {
		t.Errorf("nobody is signed in: %d %s", a.status, a.text)
	}
	for name, c := range map[string]struct {
		says func(*http.Request) (*http.Response, error)
		want string
	}{
		"refused":          {status(403), "answers 403"},
		"moved":            {status(302, "Location", "https://agent.example/else"), "answers 302"},
		"down":             {func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }, "does not answer"},
		"slow":             {slow, "does not answer"},
		"a page":           {document(good, "Content-Type", "text/html"), "no JSON"},
		"huge":             {document(good + strings.Repeat(" ", 16<<10)), "does not end"},
		"of another":       {document(strings.Replace(good, "client.json", "other.json", 1)), "not its address"},
		"no object":        {document(`[]`), "no JSON object"},
		"a secret":         {document(strings.Replace(good, "{", `{"client_secret":"x",`, 1)), "has a secret"},
		"without a name":   {document(strings.Replace(good, "client_name", "name", 1)), "no client_name"},
		"without redirect": {document(strings.Replace(good, "redirect_uris", "redirects", 1)), "0 redirect_uris"},
		"a bad redirect":   {document(strings.Replace(good, "http://localhost/back", "http://evil.example/", 1)), "neither https nor"},
	} {
		all.says(c.says)
		if a := ask(owner, documentID); a.status != 400 || !strings.Contains(a.text, c.want) || a.header.Get("Location") != "" {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.text, c.want)
		}
	}
	before := all.says(document(good, "Cache-Control", "public, max-age=600"))
	a := ask(owner, documentID)
	if a.status != 200 || !strings.Contains(a.text, "<strong>agent.example</strong>") || strings.Contains(a.text, "<b>") {
		t.Fatalf("a good one: %d %s", a.status, a.text)
	}
	tokens := h.exchange(h.press(owner, h.form(a)).where(t).Get("code"), "client_id", documentID, "redirect_uri", "http://localhost:5/back")
	if tokens.status != 200 {
		t.Errorf("its tokens: %d %s", tokens.status, tokens.text)
	}
	ask(owner, documentID)
	if n := all.says(status(500)) - before; n != 1 {
		t.Errorf("it was read %d times while it was fresh", n)
	}
	h.Clock.Advance(600 * time.Second)
	if a := ask(owner, documentID); a.status != 200 || all.says(status(500))-before != 2 {
		t.Errorf("an old copy: %d %s", a.status, a.text)
	}
	if a := do(t, owner, "GET", h.request("client_id", documentID, "redirect_uri", "http://localhost:5/back"), ""); a.status != 200 ||
		all.says(status(500))-before != 2 {
		t.Error("a failure is not remembered")
	}
	h.Clock.Advance(7 * 24 * time.Hour)
	if a := ask(h.browser("ada@example.org"), documentID); a.status != 400 {
		t.Errorf("too old a copy: %d %s", a.status, a.text)
	}
	before = all.says(document(good))
	for _, id := range []string{
		"http://agent.example/client.json", "https://agent.example", "https://agent.example/", "https://agent.example/c?x=1", "https://agent.example/c?",
		"https://agent.example/c#x", "https://u@agent.example/c", "https://agent.example:8443/c", "https://agent.example/a/../c", "https://agent.example/a/%2e%2e/c",
		"https://127.0.0.1/c", "https://[::1]/c", "https://2130706433/c", "https://localhost/c", "https://printer.local/c", "https://agent.example/" + strings.Repeat("c", 500),
	} {
		if a := ask(owner, id); a.status != 400 {
			t.Errorf("%s: %d", id, a.status)
		}
	}
	if n := all.says(document(good)); n != before {
		t.Errorf("%d of them were asked", n-before)
	}
}

// TestPrivateDocuments: the address of a document leads to no private host by a name that looks like any.
func TestPrivateDocuments(t *testing.T) {
	t.Parallel()
	name, err := os.Hostname() // this machine, which hosts files put at an address of its own
	found, wrong := net.DefaultResolver.LookupNetIP(t.Context(), "ip", name)
	if err != nil || wrong != nil || !outbound.Special(found[0]) {
		t.Skip("this machine has no private address by its name")
	}
	h := newHouse(t)
	id := "https://" + strings.ToLower(name) + "/client"
	a := do(t, h.browser("ada@example.org"), "GET", h.request("client_id", id, "redirect_uri", "http://localhost/back"), "")
	if a.status != 400 || !strings.Contains(a.text, "is at a private address") {
		t.Errorf("%s: %d %s", id, a.status, a.text)
	}
}

// TestFetchLimit: an address has ten documents read in a minute; those that are known already do not count.
func TestFetchLimit(t *testing.T) {
	t.Parallel()
	all := &web{}
	all.says(status(404))
	h := newHouse(t, func(c *daemon.Config) { c.AgentDocuments = all })
	owner := h.browser("ada@example.org")
	for i := range 11 {
		a := do(t, owner, "GET", h.request("client_id", fmt.Sprintf("https://agent.example/%d", i)), "")
		if want := map[bool]int{true: 400, false: 429}[i < 10]; a.status != want {
			t.Errorf("document %d: %d %s", i, a.status, a.text)
		}
	}
	if a := do(t, owner, "GET", h.request(), ""); a.status != 200 {
		t.Errorf("a known client: %d", a.status)
	}
}

// TestRegister: what an agent says of itself comes back as its id, which nobody else can make, and all its redirects are taken or none.
func TestRegister(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	register := func(body string) answer {
		h.Clock.Advance(time.Hour)
		return do(t, h.http, "POST", h.base+"/oauth/register", body, "Content-Type", "application/json")
	}
	cursor := []string{"cursor://anysphere.cursor-mcp/oauth/callback", "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"}
	a := register(`{"client_name":"Cursor","redirect_uris":["` + strings.Join(cursor, `","`) + `"],"token_endpoint_auth_method":"client_secret_post","logo_uri":"x"}`)
	if a.status != 201 || a.json("redirect_uris") != fmt.Sprint(cursor) || a.json("token_endpoint_auth_method") != "none" || a.json("client_secret") != "" ||
		a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Fatalf("%d %s", a.status, a.text)
	}
	id := a.json("client_id")
	for redirect, status := range map[string]int{
		cursor[0]: 200, cursor[1]: 200, cursor[2]: 200, "http://localhost:1/callback": 200, "https://www.cursor.com/agents/mcp/oauth/callback2": 400,
		"cursor://other/oauth/callback": 400,
	} {
		page := do(t, owner, "GET", h.request("client_id", id, "redirect_uri", redirect), "")
		if page.status != status || status == 200 && !strings.Contains(page.text, "nobody has checked it") {
			t.Errorf("%s: %d %s", redirect, page.status, page.text)
		}
		if want := map[string]string{cursor[0]: "form-action 'self' cursor:;", cursor[1]: "form-action 'self' https://www.cursor.com;"}[redirect]; !strings.Contains(page.header.Get("Content-Security-Policy"), want) {
			t.Errorf("%s: %v", redirect, page.header)
		}
		if local := strings.Contains(page.text, "Any program on your machine"); status == 200 && local != (redirect != cursor[1]) {
			t.Errorf("%s: the warning is %t", redirect, local)
		}
	}
	owner = h.browser("ada@example.org")
	sent := h.press(owner, h.form(do(t, owner, "GET", h.request("client_id", id, "redirect_uri", cursor[0]), "")))
	if !strings.HasPrefix(sent.header.Get("Location"), cursor[0]+"?code=") {
		t.Errorf("%v", sent.header)
	}
	for i := range id[4:] {
		if page := do(t, owner, "GET", h.request("client_id", id[:4+i]+map[bool]string{true: "B", false: "A"}[id[4+i] == 'A']+id[5+i:], "redirect_uri", cursor[0]), ""); page.status == 200 {
			t.Fatalf("character %d of the id may be another", i)
		}
		if h.Clock.Advance(3 * time.Second); i > 40 {
			break
		}
	}
	for body, want := range map[string]string{
		`{`: "invalid_client_metadata", `[]`: "invalid_client_metadata", `{"redirect_uris":[]}`: "invalid_redirect_uri",
		`{"redirect_uris":["http://evil.example/"]}`: "invalid_redirect_uri", `{"redirect_uris":["javascript://x.y/%0aalert(1)"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["data:text/html,x"]}`: "invalid_redirect_uri", `{"redirect_uris":["https://a.example/#x"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["https://a.example;script-src/"]}`: "invalid_redirect_uri", `{"redirect_uris":["https://сlaude.ai/"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["https://a.example,b/"]}`: "invalid_redirect_uri", `{"redirect_uris":["https://xn--laude-2of.ai:8443/"]}`: "",
		`{"redirect_uris":["https:///cb"]}`:  "invalid_redirect_uri",
		`{"redirect_uris":["myapp://x/cb"]}`: "invalid_redirect_uri", `{"redirect_uris":["com.example.app:/cb"]}`: "",
		`{"redirect_uris":[` + strings.Repeat(`"https://a.example/",`, 9) + `"https://a.example/"]}`:  "",
		`{"redirect_uris":[` + strings.Repeat(`"https://a.example/",`, 10) + `"https://a.example/"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["https://a.example/` + strings.Repeat("x", 400) + `","https://b.example/` + strings.Repeat("x", 400) + `","https://c.example/` +
			strings.Repeat("x", 400) + `","https://d.example/` + strings.Repeat("x", 400) + `"]}`: "invalid_client_metadata",
	} {
		if a := register(body); a.json("error") != want || (a.status == 201) != (want == "") {
			t.Errorf("%.60s: %d %s, want %s", body, a.status, a.text, want)
		}
	}
	h.Clock.Advance(time.Hour)
	for i := range 21 {
		a := do(t, h.http, "POST", h.base+"/oauth/register", `{"redirect_uris":["https://a.example/"]}`)
		if want := map[bool]int{true: 201, false: 429}[i < 20]; a.status != want {
			t.Errorf("registration %d: %d", i, a.status)
		}
	}
}

// TestLimits: an address asks for pages, tokens, and with what is wrong, so often in a minute.
func TestLimits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 31 {
		a := do(t, h.http, "GET", h.request(), "")
		if want := map[bool]int{true: 200, false: 429}[i < 30]; a.status != want {
			t.Errorf("page %d: %d", i, a.status)
		}
	}
	for i := range 61 {
		a := h.token(url.Values{"grant_type": {"password"}, "client_id": {"x"}})
		if want := map[bool]int{true: 400, false: 429}[i < 60]; a.status != want {
			t.Errorf("token %d: %d", i, a.status)
		}
	}
	h.Clock.Advance(time.Minute)
	for i := range 11 {
		a := h.exchange("none")
		if want := map[bool]int{true: 400, false: 429}[i < 10]; a.status != want {
			t.Errorf("wrong code %d: %d", i, a.status)
		}
	}
}

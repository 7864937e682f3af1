package oauth_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/oauth"
	"github.com/contextd/contextd/sdk/api"
)

// TestMetadata: both documents name the issuer by the same characters, at the paths that clients try, for scripts of every origin.
func TestMetadata(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	server := do(t, h.http, "GET", h.base+"/.well-known/oauth-authorization-server", "")
	for name, want := range map[string]string{
		"issuer": h.base, "authorization_endpoint": h.base + "/oauth/authorize", "token_endpoint": h.base + "/oauth/token",
		"registration_endpoint": h.base + "/oauth/register", "revocation_endpoint": h.base + "/oauth/revoke", "jwks_uri": "",
		"code_challenge_methods_supported": "[S256]", "token_endpoint_auth_methods_supported": "[none]", "response_types_supported": "[code]",
		"grant_types_supported": "[authorization_code refresh_token]", "client_id_metadata_document_supported": "true",
		"authorization_response_iss_parameter_supported": "true", "scopes_supported": "[context:read events:subscribe]",
	} {
		if got := server.json(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, path := range []string{"/mcp", ""} {
		a := do(t, h.http, "GET", h.base+"/.well-known/oauth-protected-resource"+path, "")
		if a.json("resource") != h.base+"/mcp" || a.json("authorization_servers") != "["+h.base+"]" || a.json("bearer_methods_supported") != "[header]" ||
			a.header.Get("Content-Type") != "application/json" || strings.Contains(a.text, "offline_access") {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		for method, status := range map[string]int{"GET": 200, "HEAD": 200, "OPTIONS": 204, "POST": 405} {
			a := do(t, h.http, method, h.base+path, "")
			if a.status != status || status < 300 && a.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s %s: %d %v", method, path, a.status, a.header)
			}
		}
	}
	a := do(t, h.http, "POST", h.base+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if want := `Bearer resource_metadata="` + h.base + `/.well-known/oauth-protected-resource/mcp", scope="context:read events:subscribe"`; a.status != 401 ||
		a.header.Get("WWW-Authenticate") != want {
		t.Errorf("%d %q, want %q", a.status, a.header.Get("WWW-Authenticate"), want)
	}
	if a := do(t, h.http, "GET", h.base+"/mcp", "", "Accept", "text/html"); !strings.Contains(a.text, "sign in and choose") {
		t.Errorf("the page: %s", a.text)
	}
}

// TestPublicURL: agents sign in only where the issuer can be named, and the daemon does not start elsewhere.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"https://context.example.org": true, "https://context.example.org/": true, "https://context.example.org:8443": true,
		"http://127.0.0.1:8402": true, "http://localhost:8402": true, "http://[::1]:8402": true,
		"https://context.example.org/data": false, "http://context.example.org": false, "http://192.168.1.2": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := oauth.CheckURL(u); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		cfg := daemon.Config{DataDir: t.TempDir(), Serve: daemon.Serve{PublicURL: text, OAuth: daemon.OAuth{Enabled: true}}}
		if err := cfg.Check(); (err == nil) != ok {
			t.Errorf("the daemon with %s: %v", text, err)
		}
	}
	cfg := daemon.Config{DataDir: t.TempDir(), Serve: daemon.Serve{OAuth: daemon.OAuth{Enabled: true}}}
	if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), "public_url is not set") {
		t.Errorf("without a public URL: %v", err)
	}
}

// TestNothingWithoutIt: switched off, there is no authorization server, and no token counts.
func TestNothingWithoutIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *daemon.Config) { c.OAuth.Enabled = false })
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp", "/oauth/authorize"} {
		if a := do(t, h.http, "GET", h.base+path, ""); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := do(t, h.http, "POST", h.base+"/mcp", "{}"); a.status != 401 || a.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// TestRequests is what an agent may ask for: while client and redirect are unproven the mistake is shown, then it is sent back.
func TestRequests(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	const shown, form = "shown", "form"
	for _, c := range []struct {
		changes []string
		want    string // shown, form, or the error that is sent back
	}{
		{nil, form},
		{[]string{"resource", ""}, form},
		{[]string{"state", ""}, form},
		{[]string{"scope", "context:read offline_access openid"}, form},
		{[]string{"redirect_uri", "http://127.0.0.1:1/callback"}, form},
		{[]string{"redirect_uri", "http://localhost/callback"}, form},
		{[]string{"redirect_uri", "http://127.0.0.1:7777/callbacks"}, shown},
		{[]string{"redirect_uri", "http://127.0.0.1:7777/callback?x=1"}, shown},
		{[]string{"redirect_uri", "https://127.0.0.1:7777/callback"}, shown},
		{[]string{"redirect_uri", "http://127.0.0.2/callback"}, shown},
		{[]string{"redirect_uri", "http://localhost.evil.example/callback"}, shown},
		{[]string{"redirect_uri", "http://user@localhost/callback"}, shown},
		{[]string{"redirect_uri", "http://localhost/callback#x"}, shown},
		{[]string{"redirect_uri", `http://localhost\@evil.example/callback`}, shown},
		{[]string{"redirect_uri", "//localhost/callback"}, shown},
		{[]string{"redirect_uri", "javascript:alert(1)"}, shown},
		{[]string{"redirect_uri", ""}, shown},
		{[]string{"client_id", ""}, shown},
		{[]string{"client_id", "nobody"}, shown},
		{[]string{"client_id", "dcr_AAAA"}, shown},
		{[]string{"client_id", "https://chatgpt.com/oauth/client.json", "redirect_uri", "https://chatgpt.com/connector/oauth/a1-_Z"}, form},
		{[]string{"client_id", "https://chatgpt.com/oauth/client.json", "redirect_uri", "https://chatgpt.com/connector/oauth/a/b"}, shown},
		{[]string{"client_id", "https://chatgpt.com/oauth/client.json", "redirect_uri", "https://chatgpt.com/connector/oauth/"}, shown},
		{[]string{"state", strings.Repeat("x", 2048)}, form},
		{[]string{"state", strings.Repeat("x", 2049)}, shown},
		{[]string{"response_type", "token"}, "unsupported_response_type"},
		{[]string{"code_challenge", ""}, "invalid_request"},
		{[]string{"code_challenge_method", "plain"}, "invalid_request"},
		{[]string{"code_challenge_method", ""}, "invalid_request"},
		{[]string{"code_challenge", "short"}, "invalid_request"},
		{[]string{"resource", "https://evil.example/mcp"}, "invalid_target"},
		{[]string{"resource", h.base + "/api/mcp"}, "invalid_target"},
		{[]string{"prompt", "none"}, "interaction_required"},
	} {
		h.Clock.Advance(3 * time.Second) // one address may ask so often
		a := do(t, owner, "GET", h.request(c.changes...), "")
		switch c.want {
		case form:
			if a.status != 200 || !hidden.MatchString(a.text) {
				t.Errorf("%q: %d %s", c.changes, a.status, a.text)
			}
		case shown:
			if a.status != 400 || a.header.Get("Location") != "" || !strings.Contains(a.text, "cannot be let in") {
				t.Errorf("%q: %d %v %s", c.changes, a.status, a.header, a.text)
			}
		default:
			q := a.where(t)
			if q.Get("error") != c.want || q.Get("iss") != h.base || q.Get("state") != "st&te" || !strings.HasPrefix(a.header.Get("Location"), redirect+"?") {
				t.Errorf("%q: %d %v", c.changes, a.status, a.header)
			}
		}
	}
	if a := do(t, owner, "GET", h.request()+"&state=again", ""); a.status != 400 {
		t.Errorf("a parameter twice: %d", a.status)
	}
}

// TestConsentPage: it says who asks and where that leads, lets the form go there alone, and is in no frame.
func TestConsentPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	a := do(t, owner, "GET", h.request(), "")
	for _, want := range []string{
		"<strong>Claude Code</strong>", "<strong>claude.ai</strong>", "<strong>127.0.0.1:7777</strong>", "Any program on your machine", "ada@example.org",
		`name="packs" value="crypto" checked`, `value="100"`, "It cannot buy, make keys or move money", "be told of changes",
	} {
		if !strings.Contains(a.text, want) {
			t.Errorf("there is no %q in %s", want, a.text)
		}
	}
	policy := a.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "form-action 'self' http://127.0.0.1:7777;") || !strings.Contains(policy, "frame-ancestors 'none'") || a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%v", a.header)
	}
	a = do(t, owner, "GET", h.request("scope", "context:read"), "")
	if strings.Contains(a.text, "be told of changes") {
		t.Error("more is shown than was asked for")
	}
	a = do(t, client(t, nil), "GET", h.request(), "")
	if a.status != 200 || hidden.MatchString(a.text) || !strings.Contains(a.text, "Mail me a link") || !strings.Contains(a.text, `src="/oauth/signin.js"`) {
		t.Errorf("nobody is signed in: %d %s", a.status, a.text)
	}
	if a := do(t, h.http, "GET", h.base+"/oauth/signin.js", ""); a.status != 200 {
		t.Errorf("the script: %d", a.status)
	}
}

// TestConsent: a press counts once, in the browser that was asked, from the page itself, for a quarter of an hour.
func TestConsent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner, other := h.browser("ada@example.org"), h.browser("bob@example.org")
	ask := func() url.Values { return h.form(do(t, owner, "GET", h.request(), "")) }
	refused := func(what string, a answer) {
		t.Helper()
		if a.status < 400 || a.status >= 500 || a.header.Get("Location") != "" {
			t.Errorf("%s: %d %v", what, a.status, a.header)
		}
	}
	form := ask()
	refused("without a session", h.press(client(t, nil), form))
	refused("another browser", h.press(other, form))
	refused("the same owner in another browser", h.press(h.browser("ada@example.org"), form))
	refused("a page of another site", h.press(owner, form, "Sec-Fetch-Site", "cross-site"))
	refused("a page of a neighbor", h.press(owner, form, "Sec-Fetch-Site", "same-site"))
	refused("a page of another origin, in an old browser", h.press(owner, form, "Sec-Fetch-Site", "", "Origin", "https://evil.example"))
	for name, changes := range map[string][]string{
		"a changed form": {"form", form.Get("form") + "A"}, "no form": {"form", ""}, "no decision": {"decision", ""}, "no packs": {"packs", ""},
		"an unknown pack": {"packs", "none"}, "no bound": {"daily", ""}, "a bound of nothing": {"daily", "0"}, "too large a bound": {"daily", "1000001"},
		"another end": {"days", "91"}, "no name": {"name", " "}, "too long a name": {"name", strings.Repeat("x", 65)},
	} {
		changed := url.Values{}
		for k, v := range form {
			changed[k] = slices.Clone(v)
		}
		refused(name, h.press(owner, with(changed, changes)))
	}
	denied := h.press(owner, h.form(do(t, owner, "GET", h.request(), ""), "decision", "deny")).where(t)
	if denied.Get("error") != "access_denied" || denied.Get("iss") != h.base || denied.Get("state") != "st&te" || denied.Get("code") != "" {
		t.Errorf("no: %v", denied)
	}
	allowed := h.press(owner, form).where(t)
	if allowed.Get("code") == "" || allowed.Get("iss") != h.base || allowed.Get("state") != "st&te" {
		t.Errorf("yes: %v", allowed)
	}
	refused("the same form again", h.press(owner, form))
	late, last := ask(), ask()
	h.Clock.Advance(15*time.Minute - time.Second)
	h.press(owner, last).where(t)
	h.Clock.Advance(time.Second)
	refused("a quarter of an hour later", h.press(owner, late))
	if n := len(agentsOf(h)); n != 0 {
		t.Errorf("%d keys were made before a code was exchanged", n)
	}
}

// credit gives credits to the owner of an agent's key, on a key that is not the agent's.
func (h *house) credit(c *http.Client, agent account.Key, credits int64) {
	h.t.Helper()
	a := do(h.t, c, "POST", h.base+api.PathKeys, `{"name":"mine"}`, "Content-Type", "application/json")
	for id, ok := range map[string]bool{agent.ID: false, a.json("keyId"): true} {
		e := billing.Entry{KeyID: id, Amount: credits, Kind: billing.KindGrant, Reason: "test"}
		if _, err := h.Credits().Move(h.t.Context(), agent.OwnerID, e); (err == nil) != ok {
			h.t.Fatalf("credits on key %s: %v", id, err)
		}
	}
}

// agentsOf are the keys of agents that are active.
func agentsOf(h *house) []account.Key {
	return slices.DeleteFunc(h.Keys().List(""), func(k account.Key) bool { return k.Grant == nil || !k.RevokedAt.IsZero() })
}

// TestCode: it is exchanged once, within a minute, by the client, for the redirect and with the verifier that it was made for.
func TestCode(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	given := h.consent(owner)
	for name, c := range map[string]struct {
		changes []string
		want    string
	}{
		"another client":      {[]string{"client_id", "https://claude.ai/oauth/mcp-oauth-client-metadata"}, "invalid_grant"},
		"another redirect":    {[]string{"redirect_uri", "http://127.0.0.1:7778/callback"}, "invalid_grant"},
		"another verifier":    {[]string{"code_verifier", strings.Repeat("x", 43)}, "invalid_grant"},
		"no verifier":         {[]string{"code_verifier", ""}, "invalid_request"},
		"a short verifier":    {[]string{"code_verifier", strings.Repeat("x", 42)}, "invalid_request"},
		"another resource":    {[]string{"resource", "https://evil.example/mcp"}, "invalid_target"},
		"no client":           {[]string{"client_id", ""}, "invalid_client"},
		"another grant":       {[]string{"grant_type", "password"}, "unsupported_grant_type"},
		"a code that is none": {[]string{"code", "none"}, "invalid_grant"},
	} {
		if a := h.exchange(given, c.changes...); a.json("error") != c.want || a.status < 400 || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.text, c.want)
		}
	}
	a := h.exchange(given)
	if a.status != 200 || a.json("token_type") != "Bearer" || a.json("expires_in") != "3600" || a.json("scope") != "context:read events:subscribe" ||
		!strings.HasPrefix(a.json("access_token"), "cvo_") || !strings.HasPrefix(a.json("refresh_token"), "cvr_") || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", a.status, a.header, a.text)
	}
	if b := h.call(a.json("access_token"), "context.fresh", "{}"); b.status != 200 {
		t.Fatalf("a call: %d %s", b.status, b.text)
	}
	if b := h.exchange(given); b.json("error") != "invalid_grant" {
		t.Errorf("a code twice: %d %s", b.status, b.text)
	}
	if b := h.call(a.json("access_token"), "context.fresh", "{}"); b.status != 401 {
		t.Errorf("what a code gave that was used twice: %d %s", b.status, b.text)
	}
	if a := do(t, h.http, "POST", h.base+"/oauth/token", `{}`, "Content-Type", "application/json"); a.json("error") != "invalid_request" {
		t.Errorf("JSON: %d %s", a.status, a.text)
	}
}

// TestCodeExpires is both sides of a code's minute.
func TestCodeExpires(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	early, late := h.consent(owner), h.consent(owner)
	h.Clock.Advance(account.CodeLifetime - time.Millisecond)
	if a := h.exchange(early); a.status != 200 {
		t.Errorf("within the minute: %d %s", a.status, a.text)
	}
	h.Clock.Advance(time.Millisecond)
	if a := h.exchange(late); a.json("error") != "invalid_grant" {
		t.Errorf("after it: %d %s", a.status, a.text)
	}
}

// TestRefresh: a refresh token that two programs use at once serves both, and one that comes back later ends all of them.
func TestRefresh(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.exchange(h.consent(h.browser("ada@example.org")))
	var both [2]answer
	var all sync.WaitGroup
	for i := range both {
		all.Go(func() { both[i] = h.refresh(first.json("refresh_token")) })
	}
	all.Wait()
	for _, a := range both {
		if a.status != 200 || h.call(a.json("access_token"), "context.fresh", "{}").status != 200 {
			t.Fatalf("two at once: %d %s", a.status, a.text)
		}
	}
	if a := h.token(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {first.json("refresh_token")}, "client_id": {"other"}}); a.json("error") != "invalid_grant" {
		t.Errorf("another client: %d %s", a.status, a.text)
	}
	if a := h.refresh(first.json("access_token")); a.json("error") != "invalid_grant" {
		t.Errorf("an access token: %d %s", a.status, a.text)
	}
	h.Clock.Advance(account.RefreshGrace - time.Millisecond)
	if a := h.refresh(first.json("refresh_token")); a.status != 200 {
		t.Errorf("within the grace: %d %s", a.status, a.text)
	}
	h.Clock.Advance(time.Millisecond)
	if a := h.refresh(first.json("refresh_token")); a.json("error") != "invalid_grant" || a.status != 400 {
		t.Errorf("after the grace: %d %s", a.status, a.text)
	}
	for _, a := range both {
		if b := h.call(a.json("access_token"), "context.fresh", "{}"); b.status != 401 {
			t.Errorf("an access token of what has ended: %d", b.status)
		}
		if b := h.refresh(a.json("refresh_token")); b.json("error") != "invalid_grant" {
			t.Errorf("a refresh token of what has ended: %d", b.status)
		}
	}
	keys := h.Keys().List("")
	if i := slices.IndexFunc(keys, func(k account.Key) bool { return k.Grant != nil }); i < 0 || keys[i].RevokedAt.IsZero() || !keys[i].Grant.Copied {
		t.Errorf("the owner is not told why it ended: %+v", keys)
	}
}

// TestClockOff: where the clock goes ahead or back by ten minutes, as on a node that takes over, a code is good for no longer than it says,
// a form and tokens go on, and nobody signs in twice.
func TestClockOff(t *testing.T) {
	t.Parallel()
	const off = 10 * time.Minute
	for _, by := range []time.Duration{off, -off} {
		h := newHouse(t)
		owner := h.browser("ada@example.org")
		page := do(t, owner, "GET", h.request(), "")
		unused, tokens := h.consent(owner), h.exchange(h.consent(owner))
		h.Clock.Advance(by)
		for range 2 {
			next := h.refresh(tokens.json("refresh_token"))
			if next.status != 200 || h.call(next.json("access_token"), "context.fresh", "{}").status != 200 {
				t.Errorf("%s, a refresh: %d %s", by, next.status, next.text)
			}
		}
		if a := h.exchange(unused); (a.status == 200) != (by < 0) {
			t.Errorf("%s, a code that is good for a minute: %d %s", by, a.status, a.text)
		}
		if a := h.press(owner, h.form(page)); a.status != http.StatusSeeOther {
			t.Errorf("%s, a form that is good for a quarter of an hour: %d %s", by, a.status, a.text)
		}
	}
}

// TestLifetimes is both sides of an access token's hour, a refresh token's ninety days, which begin again with each use, and the end that
// the owner has set.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	tokens := h.exchange(h.press(owner, h.form(do(t, owner, "GET", h.request(), ""), "days", "none")).where(t).Get("code"))
	h.Clock.Advance(account.AccessLifetime - time.Millisecond)
	if a := h.call(tokens.json("access_token"), "context.cite", `{"ref":1}`); a.status != 200 {
		t.Errorf("within the hour: %d %s", a.status, a.text)
	}
	h.Clock.Advance(time.Millisecond)
	if a := h.call(tokens.json("access_token"), "context.cite", `{"ref":1}`); a.status != 401 || !strings.Contains(a.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("after it: %d %v", a.status, a.header)
	}
	h.Clock.Advance(account.RefreshLifetime - account.AccessLifetime - time.Millisecond)
	second := h.refresh(tokens.json("refresh_token"))
	if second.status != 200 {
		t.Fatalf("within ninety days: %d %s", second.status, second.text)
	}
	h.Clock.Advance(account.RefreshLifetime)
	if a := h.refresh(second.json("refresh_token")); a.json("error") != "invalid_grant" {
		t.Errorf("after ninety days without a use: %d %s", a.status, a.text)
	}
	owner = h.browser("ada@example.org")
	short := h.exchange(h.press(owner, h.form(do(t, owner, "GET", h.request(), ""), "days", "30", "name", "short")).where(t).Get("code"))
	h.Clock.Advance(30*24*time.Hour - time.Minute)
	last := h.refresh(short.json("refresh_token"))
	if last.status != 200 || last.json("expires_in") != "60" {
		t.Errorf("a minute before the end: %d %s", last.status, last.text)
	}
	h.Clock.Advance(time.Minute)
	if a := h.call(last.json("access_token"), "context.cite", `{"ref":1}`); a.status != 401 {
		t.Errorf("at the end: %d %s", a.status, a.text)
	}
	if a := h.refresh(last.json("refresh_token")); a.json("error") != "invalid_grant" {
		t.Errorf("at the end: %d %s", a.status, a.text)
	}
}

// TestEnds: an owner, the agent and the operator each end what was agreed to at once; nobody else does.
func TestEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	revoke := func(token, id string) {
		t.Helper()
		form := url.Values{"token": {token}, "client_id": {id}}
		if a := do(t, h.http, "POST", h.base+"/oauth/revoke", form.Encode(), "Content-Type", "application/x-www-form-urlencoded"); a.status != 200 {
			t.Errorf("revoke: %d %s", a.status, a.text)
		}
	}
	for name, end := range map[string]func(tokens answer, id string){
		"the owner": func(_ answer, id string) {
			if a := do(t, owner, "DELETE", h.base+api.PathKeys+"/"+id, ""); a.status != 200 {
				t.Errorf("%d %s", a.status, a.text)
			}
		},
		"the agent, by its access token":  func(tokens answer, _ string) { revoke(tokens.json("access_token"), agentID) },
		"the agent, by its refresh token": func(tokens answer, _ string) { revoke(tokens.json("refresh_token"), agentID) },
		"the agent, signing in again":     func(answer, string) { h.exchange(h.consent(owner)) },
	} {
		tokens := h.exchange(h.consent(owner))
		revoke(tokens.json("access_token"), "somebody else")
		revoke("nothing", agentID)
		if a := h.call(tokens.json("access_token"), "context.cite", `{"ref":1}`); a.status != 200 {
			t.Fatalf("%s: before the end: %d %s", name, a.status, a.text)
		}
		end(tokens, agentsOf(h)[0].ID)
		if a := h.call(tokens.json("access_token"), "context.cite", `{"ref":1}`); a.status != 401 {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
}

// TestBounds: an agent spends no more than its owner has said, reads no other packs, makes no other calls, and its token counts nowhere
// else.
func TestBounds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	page := do(t, owner, "GET", h.request("scope", "context:read"), "")
	tokens := h.exchange(h.press(owner, h.form(page, "daily", "2", "days", "none")).where(t).Get("code"))
	token, key := tokens.json("access_token"), agentsOf(h)[0]
	h.credit(owner, key, 10)
	for i, want := range []string{`"isError":true`, `"isError":true`, "daily_credits_spent"} {
		a := h.call(token, "context.fresh", "{}")
		if i < 2 == strings.Contains(a.text, want) || a.status != 200 {
			t.Errorf("call %d: %d %s", i, a.status, a.text)
		}
	}
	h.Clock.Advance(4 * time.Hour) // midnight UTC
	tokens = h.refresh(tokens.json("refresh_token"))
	token = tokens.json("access_token")
	if a := h.call(token, "context.fresh", "{}"); a.status != 200 || strings.Contains(a.text, `"isError":true`) {
		t.Errorf("the next day: %d %s", a.status, a.text)
	}
	for _, tool := range []string{"context.subscribe", "context.watch"} {
		a := h.call(token, tool, `{}`)
		if a.status != 403 || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), `Bearer error="insufficient_scope", scope="context:read events:subscribe", resource_metadata="`) {
			t.Errorf("%s: %d %v %s", tool, a.status, a.header, a.text)
		}
	}
	for _, path := range []string{"/v1/fresh", api.PathMCP} {
		if a := do(t, h.http, "GET", h.base+path, "", "Authorization", "Bearer "+token); a.status != 401 {
			t.Errorf("%s with a token: %d %s", path, a.status, a.text)
		}
	}
	if a := do(t, owner, "POST", h.base+api.PathKeys+"/"+key.ID+"/rotate", ""); a.status != 400 {
		t.Errorf("rotate: %d %s", a.status, a.text)
	}
	list := do(t, owner, "GET", h.base+api.PathKeys, "")
	if !strings.Contains(list.text, `"oauth":{"clientId":"`+agentID+`","client":"Claude Code","redirect":"127.0.0.1:7777","scopes":["context:read"]}`) {
		t.Errorf("the list of keys: %s", list.text)
	}
	for i := range account.MaxConsents - 1 {
		if i == 5 { // as many keys as who never paid makes in a day
			h.Clock.Advance(24 * time.Hour)
		}
		a := h.press(owner, h.form(do(t, owner, "GET", h.request(), ""), "name", fmt.Sprint("agent ", i)))
		if a = h.exchange(a.where(t).Get("code")); a.status != 200 {
			t.Fatalf("agent %d: %d %s", i, a.status, a.text)
		}
	}
	if a := h.press(owner, h.form(do(t, owner, "GET", h.request(), ""), "name", "one more")); a.status != 400 || !strings.Contains(a.text, "the limit is 10") {
		t.Errorf("one more: %d %s", a.status, a.text)
	}
}

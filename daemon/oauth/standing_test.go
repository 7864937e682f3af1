package oauth_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/oauth"
)

// TestConfiguredClients: a program that the operator knows is known without its document, before those that are built in; what is wrong
// with one is told at the start.
func TestConfiguredClients(t *testing.T) {
	t.Parallel()
	all := &web{}
	all.says(func(*http.Request) (*http.Response, error) { return nil, errors.New("down") })
	h := newHouse(t, func(c *daemon.Config) {
		c.AgentDocuments = all
		c.OAuth.Clients = []oauth.Client{
			{ID: documentID, Name: "Our agent", Redirects: []string{"http://localhost/back"}},
			{ID: agentID, Name: "Claude Code of ours", Redirects: []string{redirect}},
		}
	})
	owner := h.browser("ada@example.org")
	page := do(t, owner, "GET", h.request("client_id", documentID, "redirect_uri", "http://localhost:5/back"), "")
	if page.status != 200 || !strings.Contains(page.text, "Our agent") || !strings.Contains(page.text, "<strong>agent.example</strong>") {
		t.Errorf("%d %s", page.status, page.text)
	}
	if page := do(t, owner, "GET", h.request(), ""); page.status != 200 || !strings.Contains(page.text, "Claude Code of ours") {
		t.Errorf("one that is built in: %d %s", page.status, page.text)
	}
	page = do(t, owner, "GET", h.request("client_id", documentID, "redirect_uri", "http://localhost:5/elsewhere"), "")
	if n := all.says(nil); page.status != 400 || n != 0 {
		t.Errorf("another redirect: %d, and %d documents were read", page.status, n)
	}
	for want, c := range map[string]oauth.Client{
		"no address":  {ID: "http://agent.example/c", Name: "A", Redirects: []string{redirect}},
		"its name":    {ID: documentID, Redirects: []string{redirect}},
		"characters":  {ID: documentID, Name: strings.Repeat("x", 49), Redirects: []string{redirect}},
		"0 redirect":  {ID: documentID, Name: "A"},
		"neither htt": {ID: documentID, Name: "A", Redirects: []string{"http://agent.example/back"}},
	} {
		_, err := openWith(t, c)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "oauth.clients") {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

// TestStanding: the status counts consents, tokens and what was refused, and the agents that are there.
func TestStanding(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	stands := func(want admin.AgentStatus) {
		t.Helper()
		s, err := h.Status(t.Context())
		if err != nil || s.Agents == nil || *s.Agents != want {
			t.Fatalf("%+v, %v, want %+v", s.Agents, err, want)
		}
	}
	stands(admin.AgentStatus{})
	do(t, owner, "GET", h.request("code_challenge_method", "plain"), "") // is sent back
	do(t, owner, "GET", h.request("redirect_uri", "https://evil.example/"), "")
	stands(admin.AgentStatus{Refused: 2})
	given := h.consent(owner)
	stands(admin.AgentStatus{Authorized: 1, Refused: 2})
	tokens := h.exchange(given)
	stands(admin.AgentStatus{Agents: 1, Authorized: 1, Tokens: 1, Refused: 2})
	if a := h.refresh(tokens.json("refresh_token")); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.text)
	}
	h.refresh("cvr_none")
	stands(admin.AgentStatus{Agents: 1, Authorized: 1, Tokens: 2, Refused: 3})
	for range 20 {
		do(t, h.http, "POST", h.base+"/oauth/register", `{"redirect_uris":["https://a.example/"]}`)
	}
	stands(admin.AgentStatus{Agents: 1, Authorized: 1, Tokens: 2, Refused: 3})
	do(t, h.http, "POST", h.base+"/oauth/register", `{"redirect_uris":["https://a.example/"]}`) // is one too many
	stands(admin.AgentStatus{Agents: 1, Authorized: 1, Tokens: 2, Refused: 4})
	if _, err := h.Keys().Revoke(t.Context(), agentsOf(h)[0].ID); err != nil {
		t.Fatal(err)
	}
	stands(admin.AgentStatus{Authorized: 1, Tokens: 2, Refused: 4})
}

func openWith(t *testing.T, c oauth.Client) (*daemon.Daemon, error) {
	t.Helper()
	cfg := daemon.Config{DataDir: t.TempDir()}
	cfg.OAuth.Clients = []oauth.Client{c}
	return daemon.Open(t.Context(), cfg)
}

package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

const (
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	callTool  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.fresh","arguments":{}}}`
)

// TestAccountMode: at /mcp who has no key gets a real 401 with the challenge, whatever else they send, and a key does what it does at
// /api/mcp.
func TestAccountMode(t *testing.T) {
	t.Parallel()
	const where = `resource_metadata="https://context.example.org/.well-known/oauth-protected-resource/mcp"`
	const told = where + `, scope="context:read events:subscribe"`
	page, err := web.ConnectPage("https://context.example.org", true)
	if err != nil {
		t.Fatal(err)
	}
	s := newStudio(t, func(c *mcp.Config) { c.Metadata, c.Connect, c.PublicDiscovery = where, page, true })
	key := s.key(10)
	paid := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"x402/payment":{"x402Version":2}}}}`
	for name, c := range map[string]struct {
		a         answer
		status    int
		challenge string
	}{
		"no credentials":        {s.do("POST", "/mcp", listTools), 401, "Bearer " + told},
		"a call":                {s.do("POST", "/mcp", callTool), 401, "Bearer " + told},
		"no message":            {s.do("POST", "/mcp", "{"), 401, "Bearer " + told},
		"a payment":             {s.do("POST", "/mcp", listTools, "X-402-Payment", "e30="), 401, "Bearer " + told},
		"a standard payment":    {s.do("POST", "/mcp", listTools, "Payment-Signature", "e30="), 401, "Bearer " + told},
		"a payment in messages": {s.do("POST", "/mcp", paid), 401, "Bearer " + told},
		"the scheme Payment":    {s.do("POST", "/mcp", listTools, "Authorization", "Payment x"), 401, "Bearer " + told},
		"another scheme":        {s.do("POST", "/mcp", listTools, "Authorization", "Basic x"), 401, `Bearer error="invalid_token", ` + told},
		"an unknown key":        {s.do("POST", "/mcp", listTools, bearer("cv_test_none")...), 401, `Bearer error="invalid_token", ` + told},
		"a stream":              {s.do("GET", "/mcp", "", "Accept", "text/event-stream"), 401, "Bearer " + told},
		"anything":              {s.do("GET", "/mcp", "", "Accept", "*/*"), 401, "Bearer " + told},
		"an end":                {s.do("DELETE", "/mcp", "", "Mcp-Session-Id", "x"), 401, "Bearer " + told},
		"a page's key":          {s.do("GET", "/mcp", "", bearer("cv_test_none", "Accept", "text/html")...), 401, `Bearer error="invalid_token", ` + told},
		"a page":                {s.do("GET", "/mcp", "", "Accept", "text/html,*/*;q=0.8"), 200, ""},
		"a key":                 {s.do("POST", "/mcp", listTools, bearer(key)...), 200, ""},
		"a key's call":          {s.do("POST", "/mcp", callTool, bearer(key)...), 200, ""},
		"elsewhere":             {s.post(listTools, bearer("cv_test_none")...), 401, `Bearer error="invalid_token"`},
	} {
		if got := c.a.Header.Get("WWW-Authenticate"); c.a.Status != c.status || got != c.challenge {
			t.Errorf("%s: %d %q %s, want %d %q", name, c.a.Status, got, c.a.Body, c.status, c.challenge)
		}
		if c.status == 401 && !strings.Contains(c.a.Body, `"error"`) {
			t.Errorf("%s: there is no envelope: %s", name, c.a.Body)
		}
	}
	if n := s.calls(key, api.OpFresh); n != 1 {
		t.Errorf("%d calls were charged, want 1", n)
	}
	shown := s.do("GET", "/mcp", "", "Accept", "text/html")
	if !strings.Contains(shown.Body, "https://context.example.org/mcp<") || !strings.Contains(shown.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("the page: %v %s", shown.Header, shown.Body)
	}
	client := connect(t, s.base+api.PathMCPAccount, key, "2025-11-25", nil)
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestNothingSoldToAccounts: a key that has spent what it may is refused at /mcp without a quote that nobody could pay there, and with one
// elsewhere.
func TestNothingSoldToAccounts(t *testing.T) {
	t.Parallel()
	other := *pack.Crypto()
	other.ID = "other"
	p := newShop(t, func(c *daemon.Config) { c.Packs = []daemon.Pack{{Pack: pack.Crypto()}, {Pack: &other}} })
	if err := p.d.Refresh(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	key := p.d.Key(t, api.TierTeam)
	for path, quotes := range map[string]bool{api.PathMCP: true, api.PathMCPAccount: false} {
		a := p.do("POST", path, call("context.fresh", `{"pack":"other"}`), bearer(key)...)
		if r := a.read(t); a.Status != http.StatusOK || !r.Result.IsError || strings.Contains(a.Body, `\"payment\"`) != quotes {
			t.Errorf("%s: %d %v %s", path, a.Status, a.Header, a.Body)
		}
	}
}

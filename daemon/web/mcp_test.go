package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}`
	callFresh = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"context.fresh","arguments":{}}}`
	callLong  = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"context.subscribe","arguments":{"seconds":55},` +
		`"_meta":{"progressToken":1}}}`
)

// speaksMCP reports whether the daemon serves MCP.
func (s *stage) speaksMCP() bool { return slices.Contains(s.d.Routes(), "POST "+api.PathMCP) }

// streams makes a request one of a client of sessions.
func streams(r *http.Request) { r.Header.Set("Accept", "application/json, text/event-stream") }

// mcp calls the MCP transport.
func (s *stage) mcp() {
	mine, other := openapiBearer(s.key), openapiBearer(s.d.Key(s.t, api.TierFree))
	opened := s.do(200, "POST", api.PathMCP, initialize, mine, streams)
	in := openapiWith("Mcp-Session-Id", opened.Header.Get("Mcp-Session-Id"))
	version := openapiWith("Mcp-Protocol-Version", "2025-11-25")
	s.do(202, "POST", api.PathMCP, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, mine, in, version)
	s.do(200, "POST", api.PathMCP, callFresh, mine)
	s.do(200, "POST", api.PathMCP+"?names=underscore", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, mine)
	s.do(200, "POST", api.PathMCP, `{"jsonrpc":"2.0","id":2,"method":"none"}`, mine)
	s.do(400, "POST", api.PathMCP, `[]`, mine)
	s.do(401, "POST", api.PathMCP, callFresh, openapiBearer("cv_test_none"))
	s.do(402, "POST", api.PathMCP, callFresh)
	s.do(403, "POST", api.PathMCP, callFresh, mine, foreign)
	s.do(404, "POST", api.PathMCP, callFresh, mine, version, openapiWith("Mcp-Session-Id", "none"))
	s.do(413, "POST", api.PathMCP, `"`+strings.Repeat(large(), 5)+`"`, mine)
	s.do(415, "POST", api.PathMCP, callFresh, mine, openapiWith("Content-Type", "text/plain"))
	s.do(400, "POST", api.PathMCP, callFresh, openapiWith(api.HeaderPayment, "x"))
	s.do(503, "POST", api.PathMCP, callFresh, unseen())

	for _, method := range []string{"GET", "DELETE"} {
		s.do(401, method, api.PathMCP, "")
		s.do(400, method, api.PathMCP, "", mine)
		s.do(403, method, api.PathMCP, "", other, in, version)
		s.do(404, method, api.PathMCP, "", mine, version, openapiWith("Mcp-Session-Id", "none"))
	}
	s.do(200, "GET", api.PathMCP, "", mine, in, version)
	second := s.do(200, "POST", api.PathMCP, initialize, mine, streams)
	taken := openapiWith("Mcp-Session-Id", second.Header.Get("Mcp-Session-Id"))
	defer s.hold("GET", "", mine, taken, version)()
	s.do(409, "GET", api.PathMCP, "", mine, taken, version)
	s.crowd()
	s.do(204, "DELETE", api.PathMCP, "", mine, in, version)
}

// mcpAccount calls the MCP transport where nothing is paid by call.
func (s *stage) mcpAccount() {
	mine, version := openapiBearer(s.key), openapiWith("Mcp-Protocol-Version", "2025-11-25")
	opened := s.do(200, "POST", api.PathMCPAccount, initialize, mine, streams)
	in := openapiWith("Mcp-Session-Id", opened.Header.Get("Mcp-Session-Id"))
	s.do(202, "POST", api.PathMCPAccount, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, mine, in, version)
	s.do(200, "POST", api.PathMCPAccount+"?names=underscore", callFresh, mine)
	s.do(400, "POST", api.PathMCPAccount, `[]`, mine)
	s.do(403, "POST", api.PathMCPAccount, callFresh, mine, foreign)
	s.do(404, "POST", api.PathMCPAccount, callFresh, mine, version, openapiWith("Mcp-Session-Id", "none"))
	s.do(413, "POST", api.PathMCPAccount, `"`+strings.Repeat(large(), 5)+`"`, mine)
	s.do(200, "GET", api.PathMCPAccount, "", mine, in, version)
	s.do(200, "GET", api.PathMCPAccount, "", openapiWith("Accept", "text/html"))
	for _, method := range []string{"POST", "GET", "DELETE"} {
		s.do(401, method, api.PathMCPAccount, callFresh)
	}
	s.do(204, "DELETE", api.PathMCPAccount, "", mine, in, version)
	s.do(404, "DELETE", api.PathMCPAccount, "", mine, in, version)
}

// oauth signs an agent in, as far as that is described.
func (s *stage) oauth() {
	for _, path := range []string{"server", "resource", "resource/mcp"} {
		name := strings.NewReplacer("server", "oauth-authorization-server", "resource", "oauth-protected-resource").Replace(path)
		s.do(200, "GET", "/.well-known/"+name, "")
	}
	const redirect = "http://localhost:1/back"
	var agent struct {
		ID string `json:"client_id"`
	}
	s.decode(s.do(201, "POST", "/oauth/register", `{"client_name":"agent","redirect_uris":["`+redirect+`"]}`), &agent)
	s.do(400, "POST", "/oauth/register", `{"redirect_uris":[]}`)
	s.do(413, "POST", "/oauth/register", large())
	verifier := strings.Repeat("x", 43)
	sum := sha256.Sum256([]byte(verifier))
	ask := url.Values{"response_type": {"code"}, "client_id": {agent.ID}, "redirect_uri": {redirect}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}}
	me := session(s.jar)
	page := call(s.t, "GET", s.d.URL()+"/oauth/authorize?"+ask.Encode(), func(r *http.Request) { me(r) })
	_, form, _ := strings.Cut(string(page.Body), `name="form" value="`)
	form, _, _ = strings.Cut(form, `"`)
	agreed := url.Values{"form": {form}, "decision": {"allow"}, "name": {"agent"}, "daily": {"5"}, "days": {"none"}, "packs": {api.PackCrypto}}
	sent := call(s.t, "POST", s.d.URL()+"/oauth/authorize", sending(agreed.Encode()), func(r *http.Request) {
		me(r)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	})
	to, err := url.Parse(sent.Header.Get("Location"))
	if err != nil || to.Query().Get("code") == "" {
		s.t.Fatalf("%d %v %s", sent.Status, sent.Header, sent.Body)
	}
	token := url.Values{"grant_type": {"authorization_code"}, "client_id": {agent.ID}, "code": {to.Query().Get("code")},
		"redirect_uri": {redirect}, "code_verifier": {verifier}}
	var tokens struct {
		Access string `json:"access_token"`
	}
	s.decode(s.do(200, "POST", "/oauth/token", token.Encode()), &tokens)
	s.do(200, "POST", api.PathMCPAccount, callFresh, openapiBearer(tokens.Access))
	s.do(200, "GET", api.PathKeys, "", me)
	for _, path := range []string{"/oauth/token", "/oauth/revoke"} {
		s.do(400, "POST", path, "client_id=x")
		s.do(401, "POST", path, "token=x")
		s.do(413, "POST", path, large())
	}
	s.do(200, "POST", "/oauth/revoke", url.Values{"token": {tokens.Access}, "client_id": {agent.ID}}.Encode())
}

// oauthHurry asks too often of a daemon whose clock stands.
func (s *stage) oauthHurry(d *daemontest.Daemon) {
	for _, path := range []string{"/oauth/token", "/oauth/register"} {
		for i := 0; call(s.t, "POST", d.URL()+path, sending("x")).Status != http.StatusTooManyRequests; i++ {
			if i > 100 {
				s.t.Fatalf("%s is never too often", path)
			}
		}
	}
	for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/register"} {
		s.at(d, 429, "POST", path, "client_id=x")
	}
}

// crowd has as many calls of a key under way as there may be, and then calls.
func (s *stage) crowd() {
	var issued api.IssuedKey
	s.decode(s.do(201, "POST", api.PathKeys, `{"name":"busy"}`, session(s.jar)), &issued)
	const most = 64
	for range most {
		defer s.hold("POST", callLong, openapiBearer(issued.Key), streams)()
	}
	s.do(429, "POST", api.PathMCP, callFresh, openapiBearer(issued.Key))
	s.do(429, "POST", api.PathMCPAccount, callFresh, openapiBearer(issued.Key))
	s.do(429, "GET", api.PathMCP, "", openapiBearer(issued.Key), openapiWith("Mcp-Session-Id", "any"))
	s.do(429, "DELETE", api.PathMCP, "", openapiBearer(issued.Key), openapiWith("Mcp-Session-Id", "any"))
}

// hold opens a stream of the MCP transport and leaves it open until release.
func (s *stage) hold(method, body string, changes ...openapiChange) (release func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	r, err := http.NewRequestWithContext(ctx, method, s.d.URL()+api.PathMCP, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, c := range changes {
		c(r)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s is answered %s", method, res.Status)
	}
	openapiFrame(s.t, res.Body)
	return func() {
		cancel()
		res.Body.Close()
	}
}

// unseen is a proof of a transaction that is on no chain.
func unseen() openapiChange {
	text := fmt.Sprintf(`{"scheme":"x402","network":"l2chain","txHash":"0x%s","payer":"0x%s"}`, strings.Repeat("ab", 32), strings.Repeat("ab", 20))
	return openapiWith(api.HeaderPayment, base64.StdEncoding.EncodeToString([]byte(text)))
}

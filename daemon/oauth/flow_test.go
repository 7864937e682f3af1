package oauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"go.uber.org/goleak"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

func TestMain(m *testing.M) {
	daemontest.Overlap(8)
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// house is a daemon at which agents sign in, with its owner's browser.
type house struct {
	*daemontest.Daemon
	t    testing.TB
	base string
	http *http.Client // without cookies, of agents
}

func newHouse(t testing.TB, changes ...func(*daemon.Config)) *house {
	t.Helper()
	d := daemontest.Start(t, append([]func(*daemon.Config){func(c *daemon.Config) { c.OAuth.Enabled = true }}, changes...)...)
	return &house{Daemon: d, t: t, base: d.URL(), http: client(t, nil)}
}

// client makes one that follows no redirects.
func client(t testing.TB, jar http.CookieJar) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// answer is a response, read whole.
type answer struct {
	status int
	header http.Header
	text   string
}

// json reads a member of an answer that is an object of texts and numbers.
func (a answer) json(name string) string {
	var all map[string]any
	_ = json.Unmarshal([]byte(a.text), &all) // what is none has no members
	if all[name] == nil {
		return ""
	}
	return fmt.Sprint(all[name])
}

// where are the parameters with which an answer sends the browser back.
func (a answer) where(t testing.TB) url.Values {
	t.Helper()
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.status != http.StatusSeeOther {
		t.Fatalf("%d %v %s: not sent back", a.status, a.header, a.text)
	}
	return u.Query()
}

func do(t testing.TB, c *http.Client, method, address, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// browser is one in which somebody has signed in.
func (h *house) browser(address string) *http.Client {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	c := client(h.t, jar)
	const kind = "application/json"
	if a := do(h.t, c, "POST", h.base+api.PathAuthEmail, `{"email":"`+address+`"}`, "Content-Type", kind); a.status != http.StatusAccepted {
		h.t.Fatalf("ask for a link: %d %s", a.status, a.text)
	}
	a := do(h.t, c, "POST", h.base+api.PathAuthEmailVerify, `{"token":"`+h.MailedToken(h.t, address)+`"}`, "Content-Type", kind)
	if a.status != http.StatusOK {
		h.t.Fatalf("sign in: %d %s", a.status, a.text)
	}
	return c
}

const (
	code     = "hello-hello-hello-hello-hello-hello-hello-hello" // that the agent proves it has
	redirect = "http://127.0.0.1:7777/callback"
	agentID  = "https://claude.ai/oauth/claude-code-client-metadata"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// request is what an agent asks for, with changes: names and values, one after the other. An empty value leaves the parameter out.
func (h *house) request(changes ...string) string {
	q := url.Values{
		"response_type": {"code"}, "client_id": {agentID}, "redirect_uri": {redirect}, "state": {"st&te"},
		"code_challenge": {challengeOf(code)}, "code_challenge_method": {"S256"}, "resource": {h.base + "/mcp"},
	}
	return h.base + "/oauth/authorize?" + with(q, changes).Encode()
}

func with(q url.Values, changes []string) url.Values {
	for i := 0; i < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

var (
	hidden = regexp.MustCompile(`name="form" value="([^"]+)"`)
	daily  = regexp.MustCompile(`name="daily"[^>]* value="(\d+)"`)
)

// form is that of a consent page, as it is filled in, with changes.
func (h *house) form(page answer, changes ...string) url.Values {
	h.t.Helper()
	found, most := hidden.FindStringSubmatch(page.text), daily.FindStringSubmatch(page.text)
	if page.status != http.StatusOK || found == nil || most == nil {
		h.t.Fatalf("%d %v: there is no form in %s", page.status, page.header, page.text)
	}
	return with(url.Values{
		"form": {html.UnescapeString(found[1])}, "decision": {"allow"}, "name": {"my agent"}, "daily": {most[1]}, "days": {"90"},
		"packs": {api.PackCrypto},
	}, changes)
}

// press submits a form as a browser does.
func (h *house) press(c *http.Client, form url.Values, headers ...string) answer {
	h.t.Helper()
	return do(h.t, c, "POST", h.base+"/oauth/authorize", form.Encode(), append([]string{
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin",
	}, headers...)...)
}

// consent has the owner of a browser agree to what an agent asks for with changes, and returns the code.
func (h *house) consent(c *http.Client, changes ...string) string {
	h.t.Helper()
	found := h.press(c, h.form(do(h.t, c, "GET", h.request(changes...), ""))).where(h.t).Get("code")
	if found == "" {
		h.t.Fatal("there is no code")
	}
	return found
}

// exchange asks for tokens, with changes.
func (h *house) exchange(given string, changes ...string) answer {
	h.t.Helper()
	return h.token(with(url.Values{
		"grant_type": {"authorization_code"}, "code": {given}, "client_id": {agentID}, "redirect_uri": {redirect}, "code_verifier": {code},
		"resource": {h.base + "/mcp"},
	}, changes))
}

func (h *house) token(form url.Values) answer {
	h.t.Helper()
	return do(h.t, h.http, "POST", h.base+"/oauth/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

func (h *house) refresh(token string) answer {
	h.t.Helper()
	return h.token(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {agentID}})
}

// call calls a tool with a token.
func (h *house) call(token, name, arguments string) answer {
	h.t.Helper()
	return do(h.t, h.http, "POST", h.base+"/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`,
		"Authorization", "Bearer "+token, "Content-Type", "application/json")
}

// TestSDK has the client of the Go SDK, which knows nothing but the URL, sign in, and use what it was let in to.
func TestSDK(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.browser("ada@example.org")
	for name, c := range map[string]struct {
		documents *sdkauth.ClientIDMetadataDocumentConfig
		dynamic   *sdkauth.DynamicClientRegistrationConfig
	}{
		"a known document": {documents: &sdkauth.ClientIDMetadataDocumentConfig{URL: agentID}},
		"registration": {dynamic: &sdkauth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Gopher", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
		}}},
	} {
		pressed := 0
		handler, err := sdkauth.NewAuthorizationCodeHandler(&sdkauth.AuthorizationCodeHandlerConfig{
			ClientIDMetadataDocumentConfig: c.documents, DynamicClientRegistrationConfig: c.dynamic, RedirectURL: redirect,
			AuthorizationCodeFetcher: func(_ context.Context, args *sdkauth.AuthorizationArgs) (*sdkauth.AuthorizationResult, error) {
				pressed++
				q := h.press(owner, h.form(do(t, owner, "GET", args.URL, ""), "name", name)).where(t)
				return &sdkauth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
			},
			Client: h.http,
		})
		if err != nil {
			t.Fatal(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: h.base + "/mcp", HTTPClient: h.http, OAuthHandler: handler,
		}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "context.fresh", Arguments: map[string]any{}})
		if err != nil || res.IsError || pressed != 1 {
			t.Errorf("%s: %+v, %v, pressed %d times", name, res, err, pressed)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	var agents []account.Key
	for _, k := range h.Keys().List("") {
		if k.Grant != nil {
			agents = append(agents, k)
		}
	}
	if len(agents) != 2 || agents[0].Daily != 100 || agents[0].RevokesAt.Sub(h.Clock.Now()).Round(time.Hour) != 90*24*time.Hour ||
		agents[0].LastUsedAt.IsZero() || agents[0].Grant.Redirect != "127.0.0.1:7777" {
		t.Errorf("the keys of the agents: %+v", agents)
	}
}

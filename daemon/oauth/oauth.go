// Package oauth lets agents sign in for an owner: the authorization server, on the same origin as the MCP endpoint that it guards.
//
// It is an edge, as daemon/web and daemon/mcp: it reads requests, shows pages and answers. What a consent is worth, and how tokens follow
// one another, is daemon/account's; who is signed in, daemon/web's console knows. It never says what an agent may do beyond what its owner
// has ticked, and there is nothing to tick for buying, keys or withdrawals.
//
// As an example, somebody pastes https://context.example.org/mcp into an agent:
//
//   - The agent asks /mcp, is answered 401, and reads the two documents of metadata (oauth.go).
//   - It says who it is: by the address of a document about it, which for those that many people have is compiled in (client.go), or it
//     registers, which leaves nothing behind: its client_id is what it said, with a MAC.
//   - It opens /oauth/authorize in a browser (authorize.go). While client and redirect are unproven, a mistake is shown and never sent on.
//     Who is not signed in signs in there, in that browser. Then there is a form, good for one press, for that session, for a quarter of an
//     hour: all that it is about is in it, with a MAC.
//   - The press makes a code and sends the browser back with it. The agent exchanges the code for tokens (token.go); with them the key
//     of the consent is made, which its owner sees and ends at /account, as any key.
package oauth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/outbound"
	"github.com/contextd/contextd/sdk/api"
)

// Paths of the authorization server.
const (
	pathServer    = "/.well-known/oauth-authorization-server"
	pathResource  = "/.well-known/oauth-protected-resource"
	pathAuthorize = "/oauth/authorize"
	pathToken     = "/oauth/token"
	pathRegister  = "/oauth/register"
	pathRevoke    = "/oauth/revoke"
	pathScript    = "/oauth/signin.js"
)

// Documents keeps what was read about clients; *store.Store does. Client fails with account.ErrNoToken where there is nothing.
type Documents interface {
	Client(ctx context.Context, id string) (document string, read, fresh time.Time, err error)
	SaveClient(ctx context.Context, id, document string, read, fresh time.Time) error
}

// Config is what a Server needs.
type Config struct {
	Tokens    *account.Tokens
	Keys      *account.Keys
	Documents Documents
	Console   *web.Console            // who is signed in
	Packs     func() []string         // ids of those that are served
	PublicURL *url.URL                // which CheckURL has nothing against
	Secret    []byte                  // which all nodes have
	Clients   []Client                // which CheckClients has nothing against
	Counted   func(step, code string) // of each step, with the code of its error, "" for none; nil means nobody
	Proxies   *web.Proxies            // nil means none
	Transport http.RoundTripper       // to the documents of clients; nil means to public addresses alone
	Now       func() time.Time        // nil means time.Now
	Logger    *slog.Logger            // nil means slog.Default
}

// Server is the authorization server. Make one with New; it is safe for concurrent use.
type Server struct {
	cfg    Config
	issuer string
	client *http.Client
	signIn web.Handler
	pages  *template.Template
	failed failures
	counts counts

	authorizes, tokens, wrong, registers, fetches, fetchesInAll *web.Limiter
}

// How often a client address may ask, in a minute but for registrations.
const (
	maxAuthorizes = 30
	maxTokens     = 60
	maxWrong      = 10
	maxRegisters  = 20 // in an hour
	maxFetches    = 10
	maxFetchesAll = 60 // of all addresses
)

// CheckURL says why agents cannot sign in at a service with the given public URL, nil if they can.
func CheckURL(public *url.URL) error {
	const hint = "set public_url to https://NAME without a path, or oauth.enabled to false"
	switch {
	case strings.Trim(public.Path, "/") != "":
		return api.Errorf(api.ReasonInvalidRequest, "agents cannot sign in (oauth.enabled): public_url has the path %s", public.Path).
			WithHint(hint)
	case public.Scheme != "https" && !web.LoopbackHost(public.Host):
		return api.Errorf(api.ReasonInvalidRequest, "agents cannot sign in (oauth.enabled): public_url is not https").WithHint(hint)
	}
	return nil
}

// New makes a Server.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Transport == nil {
		cfg.Transport = outbound.NewTransport(nil)
	}
	if err := CheckURL(cfg.PublicURL); err != nil {
		return nil, err
	}
	signIn, err := web.SignInPage(pathScript)
	if err != nil {
		return nil, err
	}
	pages, err := template.New("page").Parse(consentHTML)
	if err != nil {
		return nil, err
	}
	a := func(n int) *web.Limiter { return web.NewLimiter(n, time.Minute/time.Duration(n), cfg.Now) }
	return &Server{
		cfg: cfg, issuer: Issuer(cfg.PublicURL), signIn: signIn, pages: pages, failed: failures{at: map[string]time.Time{}},
		client: &http.Client{
			Transport: cfg.Transport, Timeout: fetchTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		authorizes: a(maxAuthorizes), tokens: a(maxTokens), wrong: a(maxWrong), fetches: a(maxFetches), fetchesInAll: a(maxFetchesAll),
		registers: web.NewLimiter(maxRegisters, time.Hour/maxRegisters, cfg.Now),
	}, nil
}

// Issuer is the name of the authorization server, character for character: the public URL without a slash behind it.
func Issuer(public *url.URL) string { return public.Scheme + "://" + public.Host }

// Metadata is the parameter of WWW-Authenticate that says where clients of the MCP endpoint find out how to get a token.
func Metadata(public *url.URL) string {
	return `resource_metadata="` + Issuer(public) + pathResource + api.PathMCPAccount + `"`
}

// resource is the URL that tokens are for, as users enter it.
func (s *Server) resource() string { return s.issuer + api.PathMCPAccount }

// Routes are those of the authorization server.
func (s *Server) Routes() web.Routes {
	guarded := map[string]web.Handler{http.MethodGet: open(s.describeResource), http.MethodOptions: preflight("GET")}
	routes := web.Routes{
		pathServer:                        {http.MethodGet: open(s.describe), http.MethodOptions: preflight("GET")},
		pathResource:                      guarded,
		pathResource + api.PathMCPAccount: guarded,
		pathAuthorize:                     {http.MethodGet: s.authorize, http.MethodPost: s.decide},
		pathToken:                         {http.MethodPost: open(s.counted(stepToken, s.token)), http.MethodOptions: preflight("POST")},
		pathRegister: {
			http.MethodPost:    open(s.counted(stepRegister, s.register)),
			http.MethodOptions: preflight("POST"),
		},
		pathRevoke: {http.MethodPost: open(s.counted(stepRevoke, s.revoke)), http.MethodOptions: preflight("POST")},
		pathScript: {http.MethodGet: web.SignInScript()},
	}
	for _, methods := range routes {
		for method, h := range methods {
			methods[method] = s.cfg.Console.Named(h)
		}
	}
	return routes
}

// open lets scripts of every origin read the answers of h: they carry no cookie.
func open(h web.Handler) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		return h(w, r)
	}
}

func preflight(method string) web.Handler {
	return open(func(w http.ResponseWriter, _ *http.Request) error {
		h := w.Header()
		h.Set("Allow", method+", OPTIONS")
		h.Set("Access-Control-Allow-Methods", method)
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Mcp-Protocol-Version")
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

func scopes() []string { return []string{api.ScopeRead, api.ScopeEvents} }

// describe is the document of RFC 8414.
func (s *Server) describe(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return web.WriteJSON(w, http.StatusOK, struct {
		oauthex.AuthServerMeta
		JWKSURI string `json:"jwks_uri,omitempty"` // which there is none of: an empty one is no URL
	}{AuthServerMeta: oauthex.AuthServerMeta{
		Issuer: s.issuer, AuthorizationEndpoint: s.issuer + pathAuthorize, TokenEndpoint: s.issuer + pathToken,
		RegistrationEndpoint: s.issuer + pathRegister, RevocationEndpoint: s.issuer + pathRevoke,
		ResponseTypesSupported: []string{"code"}, ResponseModesSupported: []string{"query"},
		GrantTypesSupported:           []string{"authorization_code", "refresh_token"},
		CodeChallengeMethodsSupported: []string{"S256"}, TokenEndpointAuthMethodsSupported: []string{"none"},
		RevocationEndpointAuthMethodsSupported: []string{"none"}, ScopesSupported: scopes(),
		ClientIDMetadataDocumentSupported: true, AuthorizationResponseIssParameterSupported: true,
		ServiceDocumentation: s.issuer + api.PathDocs,
	}})
}

// describeResource is the document of RFC 9728.
func (s *Server) describeResource(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return web.WriteJSON(w, http.StatusOK, oauthex.ProtectedResourceMetadata{
		Resource: s.resource(), AuthorizationServers: []string{s.issuer}, ScopesSupported: scopes(),
		BearerMethodsSupported: []string{"header"}, ResourceName: "contextd", ResourceDocumentation: s.issuer + api.PathDocs,
	})
}

// seal is v as text that only this service can have made, for a purpose.
func (s *Server) seal(purpose string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(s.mac(purpose, text), text...)), nil
}

const macSize = 16

func (s *Server) mac(purpose string, text []byte) []byte {
	h := hmac.New(sha256.New, s.cfg.Secret)
	h.Write([]byte(purpose + "\n")) // never fails
	h.Write(text)
	return h.Sum(nil)[:macSize]
}

// unseal reads into v what seal has made for the purpose, and reports whether it has.
func (s *Server) unseal(purpose, sealed string, v any) bool {
	text, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(text) < macSize || !hmac.Equal(text[:macSize], s.mac(purpose, text[macSize:])) {
		return false
	}
	return json.Unmarshal(text[macSize:], v) == nil
}

package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/outbound"
	"github.com/contextd/contextd/sdk/api"
)

// client is a program that asks to be let in.
type client struct {
	ID        string   `json:"-"`
	Name      string   `json:"n"`           // what it calls itself
	Redirects []string `json:"r"`           // where browsers may be sent back to
	Made      int64    `json:"t,omitempty"` // when it registered
	Host      string   `json:"-"`           // whose document vouches for it; "" where nothing does
}

// Client is a program that is known without its document. Its fields are settings, by their tags.
type Client struct {
	ID        string   `key:"id,name"`
	Name      string   `key:"name,required" doc:"What owners are asked to let in."`
	Redirects []string `key:"redirects,required" doc:"Where browsers may be sent back to: on this machine, at any port."`
}

// CheckClients says what is wrong with a list of known programs, nil if nothing is.
func CheckClients(list []Client) error {
	for _, c := range list {
		wrong := checkDocumentURL(c.ID)
		switch {
		case wrong != nil:
			wrong = errors.New("it is no address of a document: https, a path, and no port, query or private host")
		case c.Name == "" || nameOf(c.Name) != c.Name:
			wrong = fmt.Errorf("its name is not 1 to %d characters of text", maxName)
		default:
			wrong = checkRedirects(c.Redirects)
		}
		if wrong != nil {
			return api.Errorf(api.ReasonInvalidRequest, "client %q of oauth.clients: %s", human.Label(c.ID, 80), wrong).
				WithHint("use oauth.clients: {https://NAME/client.json: {name: NAME, redirects: [https://NAME/callback]}}")
		}
	}
	return nil
}

// known are clients that the operator knows, and those that many people have: the hosts of some of their documents refuse data centres.
func (s *Server) known(id string) (c client, ok bool) {
	if i := slices.IndexFunc(s.cfg.Clients, func(c Client) bool { return c.ID == id }); i >= 0 {
		one := s.cfg.Clients[i]
		return client{ID: id, Name: one.Name, Redirects: one.Redirects, Host: hostOf(id)}, true
	}
	c = map[string]client{
		"https://claude.ai/oauth/mcp-oauth-client-metadata": {
			Name: "Claude", Redirects: []string{"https://claude.ai/api/mcp/auth_callback"},
		},
		"https://claude.ai/oauth/claude-code-client-metadata": {
			Name: "Claude Code", Redirects: []string{"http://localhost/callback", "http://127.0.0.1/callback"},
		},
		"https://chatgpt.com/oauth/client.json": {
			Name:      "ChatGPT",
			Redirects: []string{"https://chatgpt.com/connector_platform_oauth_redirect", "https://chatgpt.com/connector/oauth/{id}"},
		},
		"https://vscode.dev/oauth/client-metadata.json": {
			Name: "Visual Studio Code", Redirects: []string{"http://127.0.0.1:33418/", "https://vscode.dev/redirect"},
		},
	}[id]
	if c.Name == "" {
		return c, false
	}
	c.ID, c.Host = id, hostOf(id)
	return c, true
}

const registered = "dcr_" // how the ids of clients begin that have registered

// errUnknownClient is that a client_id is none.
var errUnknownClient = errors.New("the program that sent you here is not known: its client_id is not valid")

// clientOf is the client with the given id. It reads a document only where mayFetch says nothing against it.
func (s *Server) clientOf(ctx context.Context, id string, mayFetch func() error) (client, error) {
	if c, ok := s.known(id); ok {
		return c, nil
	}
	if sealed, ok := strings.CutPrefix(id, registered); ok {
		c := client{ID: id}
		if !s.unseal("client", sealed, &c) {
			return client{}, errUnknownClient
		}
		return c, nil
	}
	if err := checkDocumentURL(id); err != nil {
		return client{}, err
	}
	return s.documented(ctx, id, mayFetch)
}

const maxClientID = 512

// checkDocumentURL says what is wrong with the address of a client's document.
func checkDocumentURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxClientID || u.String() != text || strings.ContainsAny(text, "#?\\ ") {
		return errUnknownClient
	}
	_, err = netip.ParseAddr(u.Hostname())
	dots := slices.ContainsFunc(strings.Split(u.Path, "/"), func(part string) bool { return part == "." || part == ".." })
	if u.Scheme != "https" || u.User != nil || u.Port() != "" || u.Opaque != "" || strings.Trim(u.Path, "/") == "" || dots || err == nil ||
		outbound.Local(u.Hostname()) {
		return errUnknownClient
	}
	return nil
}

// Documents of clients: how long one may take to come, how long it may be, within which bounds it is fresh, until when it is used where its
// host does not answer, and how long a failure is remembered.
const (
	fetchTime   = 5 * time.Second
	maxDocument = 16 << 10
	leastFresh  = 5 * time.Minute
	mostFresh   = 24 * time.Hour
	staleUsed   = 7 * 24 * time.Hour
	failureKept = 30 * time.Second
)

// failures are documents that could not be read just now.
type failures struct {
	mu sync.Mutex // guards at
	at map[string]time.Time
}

// recent reports whether one has failed within failureKept.
func (f *failures) recent(id string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.at[id]
	return ok && now.Sub(at) < failureKept
}

func (f *failures) note(id string, now time.Time) {
	const most = 1000
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.at) >= most {
		clear(f.at)
	}
	f.at[id] = now
}

// documented is the client that a document describes: as it was read last while that is fresh, else as it is now or, where its host fails,
// as it was.
func (s *Server) documented(ctx context.Context, id string, mayFetch func() error) (client, error) {
	kept, read, fresh, err := s.cfg.Documents.Client(ctx, id)
	if err != nil && !errors.Is(err, account.ErrNoToken) {
		return client{}, fmt.Errorf("read client: %w", err)
	}
	now := s.cfg.Now()
	old, usable := client{}, err == nil && now.Sub(read) < staleUsed
	if usable {
		old, err = parseDocument(id, []byte(kept))
		if usable = err == nil; usable && now.Before(fresh) {
			return old, nil
		}
	}
	if s.failed.recent(id, now) {
		if usable {
			return old, nil
		}
		return client{}, fmt.Errorf("the document of the program cannot be read: it failed just now")
	}
	if err := mayFetch(); err != nil {
		if usable && api.AsError(err).Status == http.StatusTooManyRequests {
			return old, nil
		}
		return client{}, err
	}
	text, lasts, err := s.fetch(ctx, id)
	c := client{}
	if err == nil {
		c, err = parseDocument(id, text)
	}
	if err != nil {
		s.failed.note(id, now)
		s.cfg.Logger.Info("document of a client cannot be read", "host", hostOf(id), "error", err)
		if usable {
			return old, nil
		}
		return client{}, fmt.Errorf("the document of the program cannot be read: %w", err)
	}
	return c, s.cfg.Documents.SaveClient(ctx, id, string(text), now, now.Add(lasts))
}

// fetch reads the document at an address, and for how long it is fresh.
func (s *Server) fetch(ctx context.Context, address string) (text []byte, lasts time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := s.client.Do(req)
	if private := new(outbound.PrivateError); errors.As(err, &private) {
		return nil, 0, errors.New("its host is at a private address")
	}
	if err != nil {
		return nil, 0, errors.New("its host does not answer")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("its host answers %d", res.StatusCode)
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, 0, errors.New("it is no JSON")
	}
	text, err = io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err != nil || len(text) > maxDocument {
		return nil, 0, fmt.Errorf("it does not end within %d bytes and %s", maxDocument, fetchTime)
	}
	return text, min(max(maxAge(res.Header.Get("Cache-Control")), leastFresh), mostFresh), nil
}

// maxAge is the max-age of a Cache-Control, 0 if there is none.
func maxAge(control string) time.Duration {
	for part := range strings.SplitSeq(control, ",") {
		if text, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(part)), "max-age="); ok {
			n, err := strconv.ParseInt(strings.Trim(text, `"`), 10, 32)
			if err == nil {
				return time.Duration(n) * time.Second
			}
		}
	}
	return 0
}

// document is what counts of a client's metadata.
type document struct {
	ID        string          `json:"client_id"`
	Name      string          `json:"client_name"`
	Redirects []string        `json:"redirect_uris"`
	Secret    json.RawMessage `json:"client_secret"`
	Expires   json.RawMessage `json:"client_secret_expires_at"`
}

// parseDocument reads the document of the client with the given id.
func parseDocument(id string, text []byte) (client, error) {
	var d document
	switch err := json.Unmarshal(text, &d); {
	case err != nil:
		return client{}, errors.New("it is no JSON object of a client")
	case d.ID != id:
		return client{}, errors.New("its client_id is not its address")
	case d.Secret != nil || d.Expires != nil:
		return client{}, errors.New("it has a secret")
	}
	c := client{ID: id, Name: nameOf(d.Name), Redirects: d.Redirects, Host: hostOf(id)}
	if c.Name == "" {
		return client{}, errors.New("it has no client_name")
	}
	return c, checkRedirects(c.Redirects)
}

const maxName = 48 // characters of a client's name

// nameOf is the name of a client, clean.
func nameOf(text string) string { return strings.TrimSpace(human.Label(text, maxName)) }

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

const (
	maxRedirects   = 10
	maxRedirectURI = 512
)

// checkRedirects says what is wrong with the redirect URIs of a client.
func checkRedirects(list []string) error {
	if len(list) == 0 || len(list) > maxRedirects {
		return fmt.Errorf("it has %d redirect_uris, not 1 to %d", len(list), maxRedirects)
	}
	for _, text := range list {
		if err := checkRedirect(text); err != nil {
			return err
		}
	}
	return nil
}

// hostForm is how the host of a redirect is written: as an owner can tell it from another, and a policy of browsers can name it.
var hostForm = regexp.MustCompile(`^(?i)[a-z0-9.-]+(:\d{1,5})?$`)

// scheme is one that programs have for themselves.
var scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// checkRedirect says why browsers are not sent to a redirect URI, nil if they may be: to https, to this machine, and to programs there.
func checkRedirect(text string) error {
	u, err := url.Parse(text)
	wrong := fmt.Errorf("redirect_uri %q is neither https nor of a program on the user's machine", human.Label(text, 80))
	if err != nil || len(text) > maxRedirectURI || u.User != nil || u.Opaque != "" || strings.ContainsAny(text, "#\\ \t\r\n") ||
		strings.Contains(u.EscapedPath(), "//") {
		return wrong
	}
	switch {
	case u.Scheme == "https" && hostForm.MatchString(u.Host):
		return nil
	case u.Scheme == "http":
		if !loopback(u) {
			return wrong
		}
		return nil
	case !scheme.MatchString(u.Scheme) || !strings.HasPrefix(text, u.Scheme+":/"):
		return wrong
	case strings.Contains(u.Scheme, "."), slices.Contains([]string{"cursor", "vscode", "vscode-insiders", "windsurf", "zed"}, u.Scheme):
		return nil
	}
	return wrong
}

// loopback reports whether u is of this machine, by a name that is always its.
func loopback(u *url.URL) bool {
	return u.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// allows reports whether browsers may be sent back to a redirect URI for c: one of its, on this machine at any port.
func (c client) allows(redirect string) bool {
	if checkRedirect(redirect) != nil {
		return false
	}
	return slices.ContainsFunc(c.Redirects, func(one string) bool { return one == redirect || matches(one, redirect) })
}

// matches reports whether a redirect URI is one but for the port, on this machine, or for the part {id} of one that is compiled in.
func matches(one, redirect string) bool {
	if before, ok := strings.CutSuffix(one, "{id}"); ok {
		id, ok := strings.CutPrefix(redirect, before)
		return ok && id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
	}
	want, err := url.Parse(one)
	got, wrong := url.Parse(redirect)
	if err != nil || wrong != nil || !loopback(want) || !loopback(got) {
		return false
	}
	want.Host, got.Host = want.Hostname(), got.Hostname()
	return want.String() == got.String()
}

// local reports whether browsers are sent back to the user's machine alone, where any program may wait for them.
func local(redirect string) bool { return !strings.HasPrefix(redirect, "https:") }

// destination is how a redirect URI is shown: its host, or the scheme of a program.
func destination(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return ""
	}
	if u.Scheme == "https" || u.Scheme == "http" {
		return u.Host
	}
	return u.Scheme + ":"
}

// maxRegistration bounds the body of a registration, and maxRegistered what is kept of it in the id.
const (
	maxRegistration = 16 << 10
	maxRegistered   = 2 << 10
)

// register answers RFC 7591: what counts of the request comes back as the id.
func (s *Server) register(w http.ResponseWriter, r *http.Request) error {
	if err := s.registers.AllowAll(s.cfg.Proxies.ClientsOf(r)...); err != nil {
		return err
	}
	text, err := web.ReadText(w, r, maxRegistration)
	if err != nil {
		return err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return s.refuse(w, stepRegister, http.StatusBadRequest, "invalid_client_metadata", "the body is no JSON object of a client")
	}
	if err := checkRedirects(d.Redirects); err != nil {
		return s.refuse(w, stepRegister, http.StatusBadRequest, "invalid_redirect_uri", err.Error())
	}
	c := client{Name: nameOf(d.Name), Redirects: d.Redirects, Made: s.cfg.Now().Unix()}
	if c.Name == "" {
		c.Name = destination(d.Redirects[0])
	}
	id, err := s.seal("client", c)
	if err != nil {
		return err
	}
	if len(id) > maxRegistered {
		return s.refuse(w, stepRegister, http.StatusBadRequest, "invalid_client_metadata",
			fmt.Sprintf("name and redirects are over %d bytes", maxRegistered))
	}
	w.Header().Set("Cache-Control", "no-store")
	s.count(stepRegister, "")
	return web.WriteJSON(w, http.StatusCreated, map[string]any{
		"client_id": registered + id, "client_id_issued_at": c.Made, "client_name": c.Name, "redirect_uris": c.Redirects,
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none",
	})
}

package oauth

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // consent.html
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

//go:embed consent.html
var consentHTML string

const (
	formLifetime = 15 * time.Minute
	maxState     = 2 << 10
	maxForm      = 32 << 10

	usualDaily = 500 // credits a day, on the form; of who never bought any, usualFree
	usualFree  = 100
	usualDays  = 90
)

// asked is what an agent asks its owner for. It is in the form, with a MAC.
type asked struct {
	ClientID  string   `json:"c"`
	Name      string   `json:"n"`
	Host      string   `json:"h"` // that vouches for the name; "" where nothing does
	Redirect  string   `json:"r"`
	State     string   `json:"s"`
	Challenge string   `json:"p"`
	Scopes    []string `json:"o"`
	Session   string   `json:"w"` // by the hash of its secret
	Until     int64    `json:"u"` // Unix seconds
	Nonce     string   `json:"x"`
}

var errSignIn = errors.New("somebody has to be signed in")

// authorize shows the consent page to who is signed in.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) error {
	clients := s.cfg.Proxies.ClientsOf(r)
	if err := s.authorizes.AllowAll(clients...); err != nil {
		return s.problem(w, err)
	}
	session, err := s.cfg.Console.SignedIn(w, r)
	nobody := web.IsNobody(err)
	if err != nil && !nobody {
		return err
	}
	q, err := parameters(r.URL.RawQuery)
	if err != nil {
		return s.problem(w, err)
	}
	c, err := s.clientOf(r.Context(), q["client_id"], func() error {
		if nobody {
			return errSignIn
		}
		if err := s.fetches.AllowAll(clients...); err != nil {
			return err
		}
		return s.fetchesInAll.Allow("")
	})
	if errors.Is(err, errSignIn) {
		return s.signIn(w, r)
	}
	a := asked{ClientID: c.ID, Name: c.Name, Host: c.Host, Redirect: q["redirect_uri"], State: q["state"], Challenge: q["code_challenge"]}
	switch {
	case err != nil:
		return s.problem(w, err)
	case !c.allows(a.Redirect): // nobody is sent there
		return s.problem(w, fmt.Errorf("the program asks to send you to %s, which is not its address", destination(a.Redirect)))
	case len(a.State) > maxState:
		return s.problem(w, errors.New("the state of the request is too long"))
	}
	if code, text := s.wrongRequest(q); code != "" {
		return s.sendBack(w, a, url.Values{"error": {code}, "error_description": {text}})
	}
	if nobody {
		return s.signIn(w, r)
	}
	for _, scope := range scopes() {
		if slices.Contains(strings.Fields(q["scope"]), scope) {
			a.Scopes = append(a.Scopes, scope)
		}
	}
	if len(a.Scopes) == 0 {
		a.Scopes = scopes()
	}
	a.Session, a.Nonce = hex.EncodeToString(session.Hash[:]), rand.Text()
	a.Until = s.cfg.Now().Add(formLifetime).Unix()
	return s.ask(w, r, a, session)
}

// parameters reads those of a request. None may be there twice, but for resource.
func parameters(text string) (map[string]string, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, errors.New("the request cannot be read")
	}
	q := map[string]string{}
	for name, list := range values {
		if len(list) > 1 && name != "resource" {
			return nil, fmt.Errorf("the request has %s twice", name)
		}
		q[name] = strings.Join(list, "\n")
	}
	return q, nil
}

// wrongRequest is what an agent is told that asks for what there is not; code is "" where it asks well.
func (s *Server) wrongRequest(q map[string]string) (code, text string) {
	switch {
	case q["response_type"] != "code":
		return "unsupported_response_type", "response_type has to be code"
	case q["code_challenge"] == "":
		return "invalid_request", "PKCE is needed: code_challenge is missing"
	case q["code_challenge_method"] != "S256":
		return "invalid_request", "code_challenge_method has to be S256"
	case !challenge(q["code_challenge"]):
		return "invalid_request", "code_challenge is no base64url of a SHA-256"
	case !s.ours(q["resource"]):
		return "invalid_target", "resource has to be " + s.resource()
	case q["prompt"] == "none":
		return "interaction_required", "the owner has to agree"
	}
	return "", ""
}

// challenge reports whether text can be one of PKCE by S256.
func challenge(text string) bool {
	return len(text) == 43 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// ours reports whether resources, one a line, are the one that there is. None means it.
func (s *Server) ours(resources string) bool {
	for _, one := range strings.Fields(resources) {
		if !oauthex.MatchesResource([]string{one}, s.resource()) {
			return false
		}
	}
	return true
}

// view is what the page shows: a Form, or a Problem.
type view struct {
	Style         template.CSS
	Title         string
	Client        string
	Host          string // that vouches for Client; "" where nothing does
	To            string
	Local         bool
	Who           string
	Service       string
	Events        bool
	Packs         []string
	Daily         int
	Days          int
	Form          string
	Problem, Hint string
	RequestID     string
}

// ask shows the form of a.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, a asked, session account.Session) error {
	form, err := s.seal("consent", a)
	if err != nil {
		return err
	}
	paid, err := s.cfg.Keys.HasPaid(r.Context(), session.OwnerID)
	if err != nil {
		return fmt.Errorf("look for purchases: %w", err)
	}
	v := view{
		Title: "Let " + a.Name + " in?", Client: a.Name, Host: a.Host, To: destination(a.Redirect), Local: local(a.Redirect),
		Who: session.Name(), Service: s.cfg.PublicURL.Host, Events: slices.Contains(a.Scopes, api.ScopeEvents), Packs: s.cfg.Packs(),
		Daily: usualFree, Days: usualDays, Form: form,
	}
	if paid {
		v.Daily = usualDaily
	}
	return s.show(w, http.StatusOK, v, a.Redirect)
}

// show sends a page, whose form may lead to a redirect URI; "" means nowhere else.
func (s *Server) show(w http.ResponseWriter, status int, v view, redirect string) error {
	v.Style = template.CSS(web.PlainCSS())
	v.RequestID = w.Header().Get(api.HeaderRequestID)
	var text bytes.Buffer
	if err := s.pages.Execute(&text, v); err != nil {
		return err
	}
	web.PlainHeaders(w.Header(), formTarget(redirect))
	w.Header().Set("Cache-Control", "no-store")
	web.Send(w, status, "text/html; charset=utf-8", text.Bytes())
	return nil
}

// formTarget is the source by which a policy lets the answer to a form lead to a redirect URI.
func formTarget(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil || redirect == "":
		return ""
	case u.Scheme == "https" || u.Scheme == "http" && u.Hostname() != "::1": // which policies cannot name
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + ":"
}

// problem shows what is wrong to who is in front of the browser. Nobody is sent anywhere.
func (s *Server) problem(w http.ResponseWriter, err error) error {
	s.countProblem(err)
	v, status := view{Title: "This agent cannot be let in"}, http.StatusBadRequest
	e := new(api.Error)
	if errors.As(err, &e) {
		if e.Status >= http.StatusInternalServerError {
			return err
		}
		if status = e.Status; e.RetryAfter > 0 {
			w.Header().Set(api.HeaderRetryAfter, web.Seconds(e.RetryAfter))
		}
		v.Problem, v.Hint = e.Message, e.Hint
	} else {
		v.Problem, v.Hint = err.Error(), "begin again in the agent; if that does not help, its maker has to mend it"
	}
	v.Problem = strings.ToUpper(v.Problem[:1]) + v.Problem[1:] + "."
	return s.show(w, status, v, "")
}

// sendBack sends the browser back to the agent with an answer.
func (s *Server) sendBack(w http.ResponseWriter, a asked, answer url.Values) error {
	to, err := url.Parse(a.Redirect)
	if err != nil {
		return err
	}
	if a.State != "" {
		answer.Set("state", a.State)
	}
	answer.Set("iss", s.issuer)
	s.count(stepAuthorize, answer.Get("error"))
	if to.RawQuery != "" {
		to.RawQuery += "&"
	}
	to.RawQuery += answer.Encode()
	h := w.Header()
	h.Set("Location", to.String())
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// errForm is that a form is not one that the owner has in front of them.
var errForm = errors.New("this page is no longer good: it was used, is a quarter of an hour old, or is of another browser or sign-in")

// decide takes the press of a button.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) error {
	if err := s.authorizes.AllowAll(s.cfg.Proxies.ClientsOf(r)...); err != nil {
		return s.problem(w, err)
	}
	if err := s.cfg.Console.SameOrigin(r); err != nil {
		return s.problem(w, err)
	}
	session, err := s.cfg.Console.SignedIn(w, r)
	if web.IsNobody(err) {
		return s.problem(w, err)
	} else if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return s.problem(w, errors.New("the form cannot be read"))
	}
	var a asked
	form := r.PostForm.Get("form")
	if !s.unseal("consent", form, &a) || a.Session != hex.EncodeToString(session.Hash[:]) || s.cfg.Now().Unix() >= a.Until {
		return s.problem(w, errForm)
	}
	switch r.PostForm.Get("decision") {
	case "deny":
		return s.sendBack(w, a, url.Values{"error": {"access_denied"}, "error_description": {"the owner said no"}})
	case "allow":
	default:
		return s.problem(w, errors.New("the form has no decision"))
	}
	c, err := s.consent(r.PostForm, a, session)
	if err != nil {
		return s.problem(w, err)
	}
	code, err := s.cfg.Tokens.Agree(r.Context(), c, sha256.Sum256([]byte(form)), a.Redirect, a.Challenge)
	switch refused := new(api.Error); {
	case errors.Is(err, account.ErrUsed):
		return s.problem(w, errForm)
	case errors.As(err, &refused):
		return s.problem(w, err)
	case err != nil:
		return err
	}
	return s.sendBack(w, a, url.Values{"code": {code}})
}

// consent is what an owner has agreed to in a form.
func (s *Server) consent(form url.Values, a asked, session account.Session) (c account.Consent, err error) {
	wrong := func(text string) error {
		return api.Errorf(api.ReasonInvalidRequest, "%s", text).WithHint("go back, and correct it")
	}
	c = account.Consent{OwnerID: session.OwnerID, Name: form.Get("name"), Grant: &api.Grant{
		ClientID: a.ClientID, Client: a.Name, Redirect: destination(a.Redirect), Scopes: a.Scopes,
	}}
	if c.Daily, err = strconv.ParseInt(strings.TrimSpace(form.Get("daily")), 10, 64); err != nil {
		return c, wrong("credits a day are not a whole number")
	}
	switch days := form.Get("days"); days {
	case "30", "90", "365":
		n, _ := strconv.Atoi(days) // it is one of these
		c.Ends = s.cfg.Now().UTC().Truncate(time.Millisecond).AddDate(0, 0, n)
	case "none":
	default:
		return c, wrong("the end is none of 30, 90 and 365 days, and none")
	}
	served := s.cfg.Packs()
	for _, pack := range served {
		if slices.Contains(form["packs"], pack) {
			c.Grant.Packs = append(c.Grant.Packs, pack)
		}
	}
	switch len(c.Grant.Packs) {
	case 0:
		return c, wrong("no pack is ticked")
	case len(served):
		c.Grant.Packs = nil // those that are added later, too
	}
	return c, nil
}

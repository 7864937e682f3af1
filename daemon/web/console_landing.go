package web

import (
	"bytes"
	"cmp"
	_ "embed" // landing.html and landing.css
	"errors"
	"html/template"
	"net/http"
	"strings"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

//go:embed landing.html
var landingHTML string

//go:embed landing.css
var landingCSS string

// view is what a page shows: a Token to post and what that would do, a Code to go on with, or a Problem.
type view struct {
	Title, Host, URL, Action string
	Account                  string // where the account's page is, "" for none
	Style                    template.CSS
	Token                    string
	Landing                  account.Landing
	Confirm                  string // posted with the token; who is signed in and agrees to be no more
	Code, Email              string
	Minutes                  int
	Problem, Hint, RequestID string
}

func (c *Console) show(w http.ResponseWriter, status int, v view) error {
	v.Host = c.cfg.PublicURL.Host
	v.URL = c.cfg.PublicURL.String()
	v.Style = template.CSS(landingCSS)
	v.Minutes = int(api.SignInLifetime.Minutes())
	v.Action = c.cfg.PublicURL.Path + api.PathAuthEmailLanding
	if c.cfg.Pages {
		v.Account = c.cfg.PublicURL.Path + pathAccount
	}
	var text bytes.Buffer
	if err := c.landed.Execute(&text, v); err != nil {
		return err
	}
	h := w.Header()
	pageHeaders(h, landingCSS)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // the token is in the address; with no-referrer the form would be of no origin
	Send(w, status, contentHTML, text.Bytes())
	return nil
}

// landing shows the page of a mailed link. It does not use the link: mail programs look at links before their readers do.
func (c *Console) landing(w http.ResponseWriter, r *http.Request) error {
	token := r.URL.Query().Get("token")
	if token == "" {
		return c.show(w, http.StatusBadRequest, view{
			Title: "This link is not whole", Problem: "The address of this page should end in ?token= and a token.",
			Hint: "open the link in the mail again, or copy all of it",
		})
	}
	v, err := c.visitor(r, "")
	if err != nil {
		return c.show(w, http.StatusOK, view{Title: "Sign in", Token: token}) // the button will tell
	}
	asked, err := c.ask(r, token, v)
	if err != nil {
		asked = view{Title: "Sign in", Token: token}
	}
	return c.show(w, http.StatusOK, asked)
}

// ask is the page that asks v whether to use the link with the given token.
func (c *Console) ask(r *http.Request, token string, v account.Visitor) (view, error) {
	would, err := c.cfg.SignIn.Preview(r.Context(), token, v)
	asked := view{Title: "Sign in", Token: token, Landing: would}
	if would.Adds != "" {
		asked.Title = "Add an address"
	}
	if would.Replaces != "" {
		asked.Title, asked.Confirm = "Sign in as somebody else?", v.Session.OwnerID
	}
	return asked, err
}

// land signs in with the button of that page.
func (c *Console) land(w http.ResponseWriter, r *http.Request) error {
	v, err := c.bySubmit(w, r)
	if err == nil {
		return c.show(w, http.StatusOK, v)
	}
	e := api.AsError(err)
	if e.Status >= http.StatusInternalServerError {
		return err
	}
	if e.RetryAfter > 0 {
		w.Header().Set(api.HeaderRetryAfter, Seconds(e.RetryAfter))
	}
	problem := strings.ToUpper(e.Message[:1]) + e.Message[1:] + "."
	return c.show(w, e.Status, view{
		Title: "You are not signed in", Problem: problem, Hint: e.Hint, RequestID: w.Header().Get(api.HeaderRequestID),
	})
}

// bySubmit signs in with a submitted form and returns how to go on.
func (c *Console) bySubmit(w http.ResponseWriter, r *http.Request) (view, error) {
	if err := c.admit(c.signIns, r); err != nil {
		return view{}, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, api.MaxBodyBytes)
	if err := r.ParseForm(); errors.As(err, new(*http.MaxBytesError)) {
		return view{}, api.Errorf(api.ReasonInvalidRequest, "the form is too large").WithStatus(http.StatusRequestEntityTooLarge).
			WithHint("open the link in the mail again")
	} else if err != nil {
		return view{}, api.Errorf(api.ReasonInvalidRequest, "the form cannot be read").WithHint("open the link in the mail again")
	}
	v, err := c.visitor(r, r.PostForm.Get("invite"))
	if err != nil {
		return view{}, err
	}
	token := r.PostForm.Get("token")
	asked, err := c.ask(r, token, v)
	if err != nil || asked.Confirm != r.PostForm.Get("confirm") && asked.Confirm != "" {
		return asked, err // somebody has signed in since the page was shown, or the form is not that of the page
	}
	session, err := c.redeem(w, r, token, v)
	if err != nil {
		return view{}, err
	}
	code, err := c.cfg.SignIn.AnotherToken(r.Context(), cmp.Or(asked.Landing.Subject, *session.Email))
	return view{Title: "You are signed in", Code: code, Email: *session.Email}, err // who came by a link has one
}

package web

import (
	"bytes"
	_ "embed" // signin.html
	"html/template"
	"net/http"

	"github.com/contextd/contextd/daemon/account"
)

//go:embed signin.html
var signInHTML string

const signInBegin = `<title>Sign in · contextd</title>
<meta name="robots" content="noindex">
<script src="{{.}}" defer></script>
</head>
<body data-root="/" data-next="on">
<main id="main">
<h1>Sign in to let an agent in</h1>
<noscript><p class="flag warning">This page needs its script, from this service.</p></noscript>
<p>An agent asks to read contextd for you. Sign in here, in this browser; then you see what it asks for, and decide.</p>
<p id="say" class="say" role="status"></p>
<p hidden><span id="who"></span></p>
{{template "signin"}}</main>
</body>
</html>
`

// SignInPage is a page on which somebody signs in, and which is asked for again, at the same address, once they have. SignInScript answers
// at the path script.
func SignInPage(script string) (Handler, error) {
	page, err := template.New("page").Parse(signInBegin + signInHTML)
	if err != nil {
		return nil, err
	}
	css := pageCSS + accountCSS
	text := bytes.NewBufferString(pageBegin(css))
	err = page.Execute(text, script)
	return func(w http.ResponseWriter, _ *http.Request) error {
		scriptHeaders(w.Header(), css)
		w.Header().Set("Cache-Control", "no-store")
		Send(w, http.StatusOK, contentHTML, text.Bytes())
		return nil
	}, err
}

// SignInScript answers with the script of that page.
func SignInScript() Handler { return script(accountJS) }

// PlainCSS is the style of pages without a script.
func PlainCSS() string { return landingCSS }

// PlainHeaders sets the headers of such a page, whose forms may lead to target too, a source of a policy; "" means here alone.
func PlainHeaders(h http.Header, target string) {
	pageHeaders(h, landingCSS, target)
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form would be of no origin
}

// Named lets h answer requests that name this service.
func (c *Console) Named(h Handler) Handler { return c.named(h) }

// SignedIn is the session of r, which it renews. Where IsNobody says so of the error, there is none.
func (c *Console) SignedIn(w http.ResponseWriter, r *http.Request) (account.Session, error) {
	return c.signedIn(w, r)
}

// IsNobody reports whether err says that a request has no session that holds.
func IsNobody(err error) bool { return isNobody(err) }

// SameOrigin refuses a request that writes and that a page of another origin has sent.
func (c *Console) SameOrigin(r *http.Request) error { return c.ownOrigin(r) }

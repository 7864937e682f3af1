package web

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// Books report credits; *billing.Books is one.
type Books interface {
	Balance(ctx context.Context, ownerID, keyID string) (api.CreditBalanceResponse, error)
	Usage(ctx context.Context, ownerID string, days int) (api.UsageResponse, error)
}

// ConsoleConfig is what a Console needs.
type ConsoleConfig struct {
	SignIn         *account.SignIn
	Keys           *account.Keys
	Books          Books
	Prompts        *account.Prompts
	Watches        Watches
	Sale           *Sale           // nil means that no credits are sold
	Packs          func() []string // ids of the packs that are served
	Pages          bool            // there is a page of the account
	PublicURL      *url.URL        // of the service; with https, cookies are sent over that alone
	Hosts          OriginCheck     // what browsers may call the service
	TrustedProxies *Proxies        // nil means none
	Limits         ConsoleLimits
	SignedUp       []time.Time      // when the owners of the last day were made, oldest first; they count
	Now            func() time.Time // nil means time.Now
}

// ConsoleLimits bound requests. A zero field means its default.
type ConsoleLimits struct {
	SignIns         int // sign-in requests per minute and client
	Mails           int // mails per quarter of an hour and address
	MailsPerDay     int // mails in all per day
	Requests        int // other requests per minute and client
	NewOwners       int // new owners per day and client
	NewOwnersPerDay int // new owners in all per day
}

// The defaults of ConsoleLimits that are no limits of the api.
const (
	DefaultSignIns     = 20
	DefaultMails       = 5
	DefaultMailsPerDay = 6_000
	DefaultRequests    = 300
)

// perSite is how many networks' worth of requests a site of IPv6 may send.
const perSite = 10

// Console answers owners. Make one with NewConsole.
type Console struct {
	cfg               ConsoleConfig
	sameOrigin        *http.CrossOriginProtection
	signIns, requests bound
	mails             mailBounds
	newOwners         *Limiter           // per client
	newInAll          *Limiter           // of all of them, the one subject ""
	purchases         bound              // by who never paid
	landed            *template.Template // the page of a mailed link
}

// bound is how often clients may ask.
type bound struct{ clients, sites *Limiter }

// allow lets somebody ask, or says when they may.
func (b bound) allow(clients []string) error {
	if len(clients) > 1 {
		if err := b.sites.take(1, "your network", clients[1]); err != nil {
			return err
		}
	}
	return b.clients.Allow(clients[0])
}

// NewConsole makes a Console.
func NewConsole(cfg ConsoleConfig) (*Console, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	limiter := func() *Limiter { return NewLimiter(1, time.Minute, cfg.Now) }
	c := &Console{
		cfg: cfg, sameOrigin: http.NewCrossOriginProtection(), landed: template.Must(template.New("page").Parse(landingHTML)),
		signIns: bound{limiter(), limiter()}, requests: bound{limiter(), limiter()}, newOwners: limiter(), newInAll: limiter(),
		mails: mailBounds{
			clients: bound{limiter(), limiter()}, pairs: limiter(), inboxes: limiter(), days: limiter(), rush: limiter(), shares: limiter(),
			changes: limiter(), inAll: limiter(),
		},
		purchases: bound{limiter(), limiter()},
	}
	c.purchases.clients.setPer(api.MaxClientDeposits, day)
	c.purchases.sites.setPer(perSite*api.MaxClientDeposits, day)
	c.SetLimits(cfg.Limits)
	c.newInAll.used("", cfg.SignedUp)
	// Behind a proxy, the host that the daemon sees may be another than the one in the browser.
	if err := c.sameOrigin.AddTrustedOrigin(cfg.PublicURL.Scheme + "://" + cfg.PublicURL.Host); err != nil {
		return nil, err
	}
	return c, nil
}

// SetLimits changes how often clients may ask, from the next request on.
func (c *Console) SetLimits(l ConsoleLimits) {
	signIns, requests := cmp.Or(l.SignIns, DefaultSignIns), cmp.Or(l.Requests, DefaultRequests)
	c.signIns.clients.setPer(signIns, time.Minute)
	c.signIns.sites.setPer(perSite*signIns, time.Minute)
	c.requests.clients.setPer(requests, time.Minute)
	c.requests.sites.setPer(perSite*requests, time.Minute)
	c.mails.set(cmp.Or(l.Mails, DefaultMails), cmp.Or(l.MailsPerDay, DefaultMailsPerDay))
	c.newOwners.setPer(cmp.Or(l.NewOwners, api.NewOwnersPerClient), day)
	c.newInAll.setPer(cmp.Or(l.NewOwnersPerDay, api.NewOwnersPerDay), day)
}

// Routes are those of the console, for Config.
func (c *Console) Routes() Routes {
	signIn := func(h Handler) Handler { return c.guard(c.signIns, h) }
	owner := func(h func(http.ResponseWriter, *http.Request, api.Session) error) Handler {
		return c.guard(c.requests, c.owner(h))
	}
	routes := Routes{
		api.PathAuthEmail:                        {http.MethodPost: signIn(c.sendLink)},
		api.PathAuthEmailVerify:                  {http.MethodPost: signIn(c.byLink)},
		api.PathAuthEmailLanding:                 {http.MethodGet: c.landing, http.MethodPost: c.land},
		api.PathAuthWallet:                       {http.MethodPost: signIn(c.message)},
		api.PathAuthWalletVerify:                 {http.MethodPost: signIn(c.byWallet)},
		api.PathAuthIdentities:                   {http.MethodGet: owner(c.identities)},
		api.PathAuthIdentities + "/{identityId}": {http.MethodDelete: owner(c.unlink)},
		api.PathAuthSession:                      {http.MethodGet: owner(c.session), http.MethodDelete: c.guard(c.requests, c.signOut)},
		api.PathKeys:                             {http.MethodGet: owner(c.listKeys), http.MethodPost: owner(c.issueKey)},
		api.PathKeys + "/{keyId}":                {http.MethodPatch: owner(c.editKey), http.MethodDelete: owner(c.revokeKey)},
		api.PathKeys + "/{keyId}/rotate":         {http.MethodPost: owner(c.rotateKey)},
		api.PathCredits:                          {http.MethodGet: owner(c.balance)},
		api.PathUsage:                            {http.MethodGet: owner(c.usage)},
		api.PathOwnWatches:                       {http.MethodGet: owner(c.watches)},
		api.PathOwnWatches + "/{watchId}":        {http.MethodDelete: owner(c.removeWatch)},
		api.PathOwnWatches + "/{watchId}/test":   {http.MethodPost: owner(c.testWatch)},
		api.PathPrompts + "/{pack}": {
			http.MethodGet: owner(c.prompt), http.MethodPut: owner(c.setPrompt), http.MethodDelete: owner(c.dropPrompt),
		},
	}
	if c.cfg.Sale != nil {
		routes[api.PathCredits][http.MethodPost] = owner(c.buy)
		routes[api.PathCredits+"/{depositId}"] = map[string]Handler{http.MethodGet: owner(c.deposit)}
		routes[api.PathCredits+"/{depositId}/verify"] = map[string]Handler{http.MethodPost: owner(c.verify)}
	}
	for _, methods := range routes {
		for method, h := range methods {
			methods[method] = c.named(h)
		}
	}
	return routes
}

// named lets h answer requests that name this service: under a name that somebody else has pointed here, a page of theirs would be of the
// same origin and have the cookie.
func (c *Console) named(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := c.cfg.Hosts.Admits(r.Host, ""); err != nil {
			return err
		}
		return h(w, r)
	}
}

// guard lets h answer requests that come neither too often nor, if they write, from another origin.
func (c *Console) guard(limit bound, h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := c.admit(limit, r); err != nil {
			return err
		}
		w.Header().Set("Cache-Control", "no-store")
		return h(w, r)
	}
}

// admit says why r is not answered, nil if it is.
func (c *Console) admit(limit bound, r *http.Request) error {
	if err := limit.allow(c.cfg.TrustedProxies.ClientsOf(r)); err != nil {
		return err
	}
	return c.ownOrigin(r)
}

func (c *Console) ownOrigin(r *http.Request) error {
	if err := c.sameOrigin.Check(r); err != nil {
		return api.Errorf(api.ReasonCrossOrigin, "the request comes from a page of another origin").
			WithHint("call from %s, or from a program other than a browser", c.cfg.PublicURL)
	}
	return nil
}

func (c *Console) owner(h func(http.ResponseWriter, *http.Request, api.Session) error) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		session, err := c.signedIn(w, r)
		if err != nil {
			return err
		}
		return h(w, r, session.ToAPI())
	}
}

// signedIn is the session of r, which it renews; w may be nil, for no renewal. Of several cookies any that is good counts: on plain HTTP a
// neighboring site can set one of the same name.
func (c *Console) signedIn(w http.ResponseWriter, r *http.Request) (s account.Session, err error) {
	err = api.Errorf(api.ReasonMissingSession, "nobody is signed in").WithHint("sign in: ctx login")
	for _, secret := range c.secrets(r) {
		var renewed bool
		s, renewed, err = c.cfg.SignIn.Session(r.Context(), secret)
		if renewed && w != nil {
			c.setCookie(w, secret, s.ExpiresAt)
		}
		if !isNobody(err) {
			break
		}
	}
	return s, err
}

// Knows reports whether r is of who is signed in.
func (c *Console) Knows(r *http.Request) bool {
	_, err := c.signedIn(nil, r)
	return err == nil
}

// isNobody reports whether err says that a request has no session that holds.
func isNobody(err error) bool {
	return errors.Is(err, &api.Error{Reason: api.ReasonInvalidSession}) || errors.Is(err, &api.Error{Reason: api.ReasonMissingSession})
}

// secrets are what the session cookies of r hold; each costs a look into the books.
func (c *Console) secrets(r *http.Request) (list []string) {
	const most = 4
	for _, cookie := range r.CookiesNamed(c.cookieName()) {
		if cookie.Value != "" && len(list) < most {
			list = append(list, cookie.Value)
		}
	}
	return list
}

func (c *Console) onHTTPS() bool { return c.cfg.PublicURL.Scheme == "https" }

func (c *Console) cookieName() string {
	if c.onHTTPS() {
		return api.SecureSessionCookie
	}
	return api.SessionCookie
}

// visitor is who sent r. A session that does not hold counts for nothing: who signs in needs none.
func (c *Console) visitor(r *http.Request, invite string) (account.Visitor, error) {
	clients := c.cfg.TrustedProxies.ClientsOf(r)
	v := account.Visitor{Client: clients[0], Invite: invite, Admit: func() error { return c.admitNew(clients) }, Notify: c.mails.notify}
	session, err := c.signedIn(nil, r)
	if isNobody(err) {
		return v, nil
	}
	v.Session = &session
	return v, err
}

// admitNew says why no new owner may be made by somebody now, nil if one may.
func (c *Console) admitNew(clients []string) error {
	if err := c.newOwners.AllowAll(clients...); err != nil {
		refused := api.AsError(err)
		refused.Message = strings.Replace(refused.Message, "requests", "new accounts", 1) // and whose limit it is
		return refused
	}
	if err := c.newInAll.Allow(""); err != nil {
		return api.Errorf(api.ReasonRateLimited, "too many new accounts for a day; this limit is of all callers, not yours").
			WithHint("try again after Retry-After").WithRetryAfter(api.AsError(err).RetryAfter)
	}
	return nil
}

// setCookie gives the browser, or ctx, the secret of a session that ends at the given time.
func (c *Console) setCookie(w http.ResponseWriter, secret string, ends time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(), Value: secret, Path: "/", Expires: ends, MaxAge: int(math.Ceil(ends.Sub(c.cfg.Now()).Seconds())),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.onHTTPS(),
	})
}

// dropCookie takes it away again.
func (c *Console) dropCookie(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.onHTTPS(),
	})
}

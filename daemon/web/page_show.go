package web

import (
	"cmp"
	"context"
	_ "embed" // the page's files
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/sdk/api"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
	//go:embed favicon.ico
	pageIcon []byte
)

// PageMode says who sees the state on the pages.
type PageMode string

// The modes: there are no pages; owners and this machine; everybody.
const (
	PageOff    PageMode = "off"
	PageOn     PageMode = "on"
	PagePublic PageMode = "public"
)

// Sheets are packs as people read them; *reader.Reader has them.
type Sheets interface {
	Sheet(ctx context.Context, pack string, last *reader.Sheet) (*reader.Sheet, error)
	SheetAt(ctx context.Context, pack string, at api.Moment, window time.Duration) (*reader.Sheet, error)
	Course(ctx context.Context, s *reader.Sheet, span time.Duration, points int) (*reader.Course, error)
	Find(ctx context.Context, pack, text string, everywhere bool, window time.Duration) (reader.Found, error)
	Check(ctx context.Context, pack, text, at string, window time.Duration) (api.CheckResponse, error)
}

// PageConfig is what a Page needs.
type PageConfig struct {
	Mode    PageMode // "" means PageOn
	Sheets  Sheets
	Window  func(api.Tier) time.Duration // how far back owners may look; nil means Tier.SnapshotWindow
	Streams Streams
	Console *Console                        // whose sessions and names of this service count
	Packs   func() []api.PackInfo           // that are served
	Ready   func(ctx context.Context) error // nil means always ready
	Unsold  func() []string                 // what may not be sold and is; nil where calls are not charged
	Sells   bool                            // calls can be paid one by one, and credits bought
	Exact   Exact                           // nil means that no payments of standard x402 are taken
	Crowd   *Crowd                          // of who has no key; nil bounds nothing
	Demo    bool                            // what is shown is synthetic
	Now     func() time.Time                // nil means time.Now
	Logger  *slog.Logger                    // nil means slog.Default
}

// Page answers browsers. Make one with NewPage; it is safe for concurrent use.
type Page struct {
	cfg      PageConfig
	html     *template.Template
	accounts *template.Template
	style    *feed.Frame // how every page begins
	asks     *Limiter    // lookups, searches and checks, per client
	looks    *Limiter    // views of rows and of past minutes, per client
	rooms    pageRooms
	stopping <-chan struct{}
	end      func()

	mu   sync.Mutex // guards what follows
	sets map[string]*pageSet
	past []*pageMade // of past states, the last that was asked for at the end
}

// How many lookups, searches and checks a client may make on pages in a minute, and how many rows and past minutes a visitor may look at.
const (
	maxAsks  = 30
	maxLooks = 30
)

// Paths of the pages and of their scripts.
const (
	pathFront      = "/{$}"
	pathPack       = "/packs/{pack}"
	pathPackEvents = "/packs/{pack}/events"
	pathPackRow    = "/packs/{pack}/row"
	pathPageScript = "/page.js"
	pathIcon       = "/favicon.ico"

	pathAccount       = "/account"
	pathAccountScript = "/account.js"
	pathAccountCode   = "/account/qr"
)

// NewPage makes a Page.
func NewPage(cfg PageConfig) *Page {
	cfg.Mode = cmp.Or(cfg.Mode, PageOn)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Window == nil {
		cfg.Window = api.Tier.SnapshotWindow
	}
	p := &Page{
		cfg: cfg, asks: NewLimiter(maxAsks, time.Minute/maxAsks, cfg.Now), sets: map[string]*pageSet{},
		looks: NewLimiter(maxLooks, time.Minute/maxLooks, cfg.Now),
		html: template.Must(template.New("page").Funcs(template.FuncMap{"clock": clock, "moment": moment, "mark": severityMark,
			"web": webURL,
			"age": func(now, at time.Time) string { return reader.SheetAge(now.Sub(at)) }}).Parse(pageHTML)),
		accounts: template.Must(template.Must(template.New("account").Parse(accountHTML)).Parse(signInHTML)),
	}
	p.stopping, p.end = stopper()
	p.style = feed.NewText([]byte(pageBegin(pageCSS)))
	return p
}

// pageBegin is how pages begin, with their style.
func pageBegin(css string) string {
	return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>" + css + "</style>\n"
}

// End ends every stream of events, cleanly and at once. It is for a stop.
func (p *Page) End() { p.end() }

// Routes are those of the pages, for Config. At the front plain answers whoever is no browser, and everybody where pages are off.
func (p *Page) Routes(plain Handler) Routes {
	icon := document{contentType: "image/x-icon", text: pageIcon, cache: "public, max-age=86400"}.handler()
	if p.cfg.Mode == PageOff {
		return Routes{pathFront: {http.MethodGet: plain}, pathIcon: {http.MethodGet: icon}}
	}
	named := p.cfg.Console.named
	return Routes{
		pathAccount:       {http.MethodGet: negotiated(named(p.account), nothing)},
		pathAccountCode:   {http.MethodGet: named(p.cfg.Console.guard(p.cfg.Console.requests, p.cfg.Console.owner(paymentCode)))},
		pathAccountScript: {http.MethodGet: script(accountJS)},
		pathFront:         {http.MethodGet: negotiated(named(p.show), plain), http.MethodPost: negotiated(named(p.show), nothing)},
		pathPack:          {http.MethodGet: negotiated(named(p.show), nothing), http.MethodPost: negotiated(named(p.show), nothing)},
		pathPackEvents:    {http.MethodGet: named(p.events)},
		pathPackRow:       {http.MethodGet: named(p.row)},
		pathPageScript:    {http.MethodGet: script(pageJS)},
		pathIcon:          {http.MethodGet: icon},
	}
}

func script(text string) Handler {
	return document{contentType: "text/javascript; charset=utf-8", text: []byte(text), cache: "no-cache",
		header: http.Header{"X-Content-Type-Options": {"nosniff"}}}.handler()
}

// negotiated has page answer browsers, and plain all others.
func negotiated(page, plain Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Add("Vary", "Accept")
		if acceptsHTML(r.Header["Accept"]) {
			return page(w, r)
		}
		return plain(w, r)
	}
}

// nothing is what there is for whoever is no browser.
func nothing(_ http.ResponseWriter, r *http.Request) error { return nothingAt(r) }

// acceptsHTML reports whether the values of an Accept header name pages. What takes anything is no browser.
func acceptsHTML(values []string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			kind, params, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/html") {
				return !slices.ContainsFunc(strings.Split(params, ";"), refused)
			}
		}
	}
	return false
}

// pageVisitor is what a reader of the pages may see.
type pageVisitor struct {
	all, crypto bool // every pack, the crypto pack
	signedIn    bool
	owner       bool          // signed in, or on this machine
	window      time.Duration // how far back they may look
}

// sees reports whether v may see pack.
func (v pageVisitor) sees(pack string) bool { return v.all || v.crypto && pack == api.PackCrypto }

// visitor says what who sent r may see, and renews their session.
func (p *Page) visitor(w http.ResponseWriter, r *http.Request) (v pageVisitor, err error) {
	c := p.cfg.Console
	v.owner = c.cfg.TrustedProxies.fromHere(r)
	v.all, v.window = p.cfg.Mode == PagePublic || v.owner, p.cfg.Window(api.TierFree)
	if v.owner { // who could read the history itself
		v.window = p.cfg.Window(api.TierEnterprise)
	}
	q := r.URL.Query()
	if v.owner || v.all && !q.Has("at") && !q.Has("row") || len(c.secrets(r)) == 0 { // nothing depends on who it is
		return v, nil
	}
	if err := c.requests.allow(c.cfg.TrustedProxies.ClientsOf(r)); err != nil {
		return v, err
	}
	session, err := c.signedIn(w, r)
	if isNobody(err) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	balance, err := c.cfg.Books.Balance(r.Context(), session.OwnerID, "")
	v.signedIn, v.owner, v.crypto, v.all = true, true, true, v.all || balance.Balance > 0
	v.window = max(v.window, p.cfg.Window(session.Tier))
	return v, err
}

// place is where a page stands: how links to others begin, and the pack that it is of.
type place struct{ Root, Pack string }

// placeOf is that of r. The front page is of the first pack.
func (p *Page) placeOf(r *http.Request) (at place, known bool) {
	packs := p.cfg.Packs()
	at = place{"../", r.PathValue("pack")}
	if at.Pack == "" && len(packs) > 0 {
		at = place{"", packs[0].ID}
	}
	return at, slices.ContainsFunc(packs, func(one api.PackInfo) bool { return one.ID == at.Pack })
}

// show answers with the page of a pack, or with what everybody may see of it.
func (p *Page) show(w http.ResponseWriter, r *http.Request) error {
	at, known := p.placeOf(r)
	v, err := p.visitor(w, r)
	switch {
	case err != nil:
		return p.closed(w, r, at, v, api.AsError(err))
	case !known:
		return p.closed(w, r, at, v, api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", at.Pack))
	case !v.sees(at.Pack):
		return p.closed(w, r, at, v, nil)
	}
	made, err := p.asked(r, at.Pack, v)
	if err != nil {
		return p.closed(w, r, at, v, api.AsError(err))
	}
	frames, err := p.frames(w, r, at, v, made)
	if err != nil {
		return p.closed(w, r, at, v, api.AsError(err))
	}
	if r.URL.RawQuery != "" {
		w.Header().Set(robots, "noindex")
	}
	p.write(w, r, http.StatusOK, frames...)
	return nil
}

// frames are the pieces of the page of made, with what r asks for there.
func (p *Page) frames(w http.ResponseWriter, r *http.Request, at place, v pageVisitor, made *pageMade) ([]*feed.Frame, error) {
	row, err := p.drawer(r, at, v, made)
	if err != nil {
		return nil, err
	}
	ask, err := p.ask(r, at, v.all, made)
	if err != nil {
		return nil, err
	}
	check, err := p.check(w, r, at, v, made)
	if err != nil {
		return nil, err
	}
	second, err := made.at(p.cfg.Now(), at.Root)
	if err != nil {
		return nil, err
	}
	frames := []*feed.Frame{p.style, second.head, made.top}
	if row != nil {
		frames = append(frames, row)
	}
	return append(frames, ask, check, made.main, second.foot), nil
}

// asked is the page that r asks for: that of the newest state, or of a past one. It takes what looking at a row or a past state costs.
func (p *Page) asked(r *http.Request, pack string, v pageVisitor) (*pageMade, error) {
	at, row := strings.TrimSpace(r.URL.Query().Get("at")), r.URL.Query().Get("row")
	if at != "" || row != "" {
		if err := p.viewed(r, v); err != nil {
			return nil, err
		}
	}
	if at != "" {
		if err := p.reads(r, v); err != nil {
			return nil, err
		}
		return p.then(r.Context(), pack, at, v.window)
	}
	return p.set(pack).ready(r.Context())
}

// scriptHeaders sets the headers of a page with a script of ours and css in its one style element.
func scriptHeaders(h http.Header, css string) {
	pageHeaders(h, css)
	h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; script-src 'self'; connect-src 'self'; img-src 'self'")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Referrer-Policy", "no-referrer")
}

// write sends a page made of pieces, which were compressed once.
func (p *Page) write(w http.ResponseWriter, r *http.Request, status int, pieces ...*feed.Frame) {
	h := w.Header()
	scriptHeaders(h, pageCSS)
	h.Add("Vary", "Accept-Encoding, Cookie")
	var text []byte
	if !acceptsGzip(r.Header["Accept-Encoding"]) {
		for _, piece := range pieces {
			text = append(text, piece.Text()...)
		}
		Send(w, status, contentHTML, text)
		return
	}
	var zip feed.Zip
	text = append(text, zip.Head()...)
	for _, piece := range pieces {
		text = append(text, zip.Next(piece)...)
	}
	h.Set("Content-Encoding", "gzip")
	Send(w, status, contentHTML, append(text, zip.Tail()...))
}

package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/sdk/api"
)

type pageAsk struct {
	Self                string // the page of the newest state
	At                  string // a past minute
	Q, Example, Problem string
	Asked               bool
	Rows                []pageRow
	Notes, Near         []string
	Matches             []reader.Match
}

// ask are the forms of the page of made, with what r asks there. everywhere says whether who asks may see every pack.
func (p *Page) ask(r *http.Request, at place, everywhere bool, made *pageMade) (*feed.Frame, error) {
	pack := at.Pack
	a := pageAsk{
		Self: at.self(), At: api.Minute(cmp.Or(made.asOf, made.sheet.GeneratedAt)).Key(),
		Q: strings.TrimSpace(r.URL.Query().Get("q")), Example: "a name, a price, a figure",
	}
	if pack == api.PackCrypto {
		a.Example = "ADA price, tether supply, solana tvl"
	}
	if a.Q != "" {
		if err := p.find(&a, r, pack, everywhere); err != nil {
			e := api.AsError(err)
			a.Problem = strings.TrimSuffix(e.Message+". "+e.Hint, ". ")
		}
	}
	text, err := p.text("ask", a)
	return feed.NewText([]byte(text)), err
}

func (p *Page) find(a *pageAsk, r *http.Request, pack string, everywhere bool) error {
	if err := p.asks.AllowAll(p.cfg.Console.cfg.TrustedProxies.ClientsOf(r)...); err != nil {
		return err
	}
	if err := p.cfg.Crowd.Take(r, CostOf(api.Query{Op: api.OpLookup, Text: a.Q})); err != nil {
		return err
	}
	found, err := p.cfg.Sheets.Find(r.Context(), pack, a.Q, everywhere, api.TierFree.SnapshotWindow())
	if err != nil {
		return err
	}
	a.Asked, a.Notes, a.Near, a.Matches = true, found.Notes, found.Near, found.Matches
	for _, row := range found.Rows {
		made := pageRow{Cells: []pageCell{headCell(row, ""), readingCell(row.Cells), {Class: "rf", HTML: refLink(row.Ref)}}}
		made.Cells[1].HTML += ` <small>` + agoTime(row.At) + `</small>`
		a.Rows = append(a.Rows, made)
	}
	return nil
}

type pagePrice struct{ Path, Credits, USDG string }

type packHealth struct {
	ID, Title, Age string
	Good, Of       int
}

// pageClosed is what everybody may see.
type pageClosed struct {
	place
	Problem         string
	SignedIn, Sells bool
	Sees            bool     // the state, if there was one
	Why             []string // what sources say that have none
	Offline         bool     // all of them have no network
	Ready           bool
	Free            int
	Health          []packHealth
	Prices          []pagePrice
	Controls        string // of clients of @x402; "" where standard x402 is not taken
}

// closed answers with what everybody may see: health, how to sign in, prices, and why there is no more, nil for no right to it.
func (p *Page) closed(w http.ResponseWriter, r *http.Request, at place, v pageVisitor, why *api.Error) error {
	data := pageClosed{
		place: at, SignedIn: v.signedIn, Sees: v.sees(at.Pack), Sells: p.cfg.Sells, Free: api.FreeCallsPerDay, Prices: prices(),
		Controls: spendControls(p.cfg.Exact), Ready: p.cfg.Ready == nil || p.cfg.Ready(r.Context()) == nil, Health: p.health(r.Context()),
	}
	status := http.StatusOK
	if why != nil {
		status, data.Problem = why.Status, strings.ToUpper(why.Message[:1])+why.Message[1:]+"."
		if why.RetryAfter > 0 {
			w.Header().Set(api.HeaderRetryAfter, Seconds(why.RetryAfter))
		}
		if data.Sees && why.Reason == api.ReasonStateUnavailable {
			w.Header().Set("Refresh", pageRefresh)
			data.Why = reader.SheetReasons(why.SourceStatus)
			data.Offline = !slices.ContainsFunc(data.Why, func(one string) bool { return !strings.Contains(one, ": network") })
		}
	}
	head, err := p.text("head", p.headOf(nil, at, p.cfg.Now()))
	if err != nil {
		return err
	}
	body, err := p.text("closed", data)
	if err != nil {
		return err
	}
	p.write(w, r, status, p.style, feed.NewText([]byte(head)), feed.NewText([]byte(body)))
	return nil
}

// pageRefresh is after how many seconds a browser asks again for a state that is not there yet.
const pageRefresh = "10"

func (p *Page) health(ctx context.Context) (list []packHealth) {
	for _, pack := range p.cfg.Packs() {
		one := packHealth{ID: pack.ID, Title: pack.Title}
		if made, err := p.set(pack.ID).ready(ctx); err == nil {
			h := p.headOf(made.sheet, place{}, p.cfg.Now())
			one.Age, one.Good, one.Of = h.Age, h.Good, len(made.sheet.Sources)
		}
		list = append(list, one)
	}
	return list
}

func prices() (list []pagePrice) {
	for _, op := range api.Ops() {
		one := pagePrice{Path: op.Path(), Credits: "1 credit", USDG: "with a key only"}
		if op == api.OpHistory {
			one.Credits = "1 credit a day"
		}
		if micros := op.PriceMicros(); micros > 0 {
			one.USDG = usdgText(micros) + " USDG"
		}
		list = append(list, one)
	}
	return list
}

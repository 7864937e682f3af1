package web

import (
	"bytes"
	_ "embed" // the account's files
	"fmt"
	"net/http"
	"strings"
	"time"

	"rsc.io/qr"

	"github.com/contextd/contextd/sdk/api"
)

var (
	//go:embed account.html
	accountHTML string
	//go:embed account.css
	accountCSS string
	//go:embed account.js
	accountJS string
)

// pageOffer is a pack of credits that is sold.
type pageOffer struct {
	api.CreditOffer
	USDG string
}

// pageRail is a chain that purchases are paid on.
type pageRail struct {
	ID      string
	ChainID int64
}

// account answers with the page of an account. There is nothing of the owner in it: its script asks for that.
func (p *Page) account(w http.ResponseWriter, r *http.Request) error {
	data := struct {
		Packs  []api.PackInfo
		Offers []pageOffer
		Rails  []pageRail
		Told   []string // of the sources, before a purchase
		Unsold []string // what may not be sold and is, for the operator
		Demo   bool
		Now    time.Time
	}{Packs: p.cfg.Packs(), Demo: p.cfg.Demo, Now: p.cfg.Now()}
	if p.cfg.Unsold != nil && p.cfg.Console.cfg.TrustedProxies.fromHere(r) {
		data.Unsold = p.cfg.Unsold()
	}
	sale := p.cfg.Console.cfg.Sale
	if sale != nil {
		data.Told = sale.Notices()
	}
	if sale != nil && len(sale.Rails) > 1 { // or there is nothing to choose
		for _, id := range sale.Rails {
			data.Rails = append(data.Rails, pageRail{id, sale.Places[id].ChainID})
		}
	}
	for _, pack := range api.CreditPacks() {
		if offer, ok := pack.Offer(); ok && sale != nil {
			data.Offers = append(data.Offers, pageOffer{offer, usdgText(offer.PriceMicros)})
		}
	}
	css := pageCSS + accountCSS
	var b bytes.Buffer
	b.WriteString(pageBegin(css))
	if err := p.accounts.Execute(&b, data); err != nil {
		return err
	}
	scriptHeaders(w.Header(), css)
	Send(w, http.StatusOK, contentHTML, b.Bytes())
	return nil
}

// usdgText is an amount in as few decimals as say it.
func usdgText(micros int64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6), "0"), ".")
}

// maxCode bounds the text of a QR code, and codeQuiet is the white around it.
const (
	maxCode   = 400
	codeQuiet = 4
)

// paymentCode draws the link of a transfer as a QR code, black on white whatever the theme.
func paymentCode(w http.ResponseWriter, r *http.Request, _ api.Session) error {
	text := r.URL.Query().Get("text")
	if !strings.HasPrefix(text, "ethereum:") || len(text) > maxCode {
		return api.Errorf(api.ReasonInvalidRequest, "text is not a transfer link").WithHint("send the paymentUri of a purchase")
	}
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return fmt.Errorf("draw a code of %d bytes: %w", len(text), err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+codeQuiet, y+codeQuiet)
			}
		}
	}
	size := code.Size + 2*codeQuiet
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	Send(w, http.StatusOK, "image/svg+xml", fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%dH0z"/><path d="%s"/></svg>`, size, size, size, size, path.String()))
	return nil
}

package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

var hashForm = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)

// buying is what goes on below the balance: a package is being chosen, or a purchase is shown until it is sent away.
type buying struct {
	env      *Env
	choosing bool
	packs    view.List
	asking   bool       // the service was asked for a purchase and has not answered
	bought   *purchase  // nil while there is none
	hash     view.Input // of the transaction that paid
	large    bool       // the code fills the terminal
}

type purchase struct {
	offer  api.CreditOffer
	key    string // that gets the credits, "" for the oldest
	intent *api.DepositIntent
	since  time.Time    // when it was begun, by the clock of the service
	ended  *api.Deposit // nil while it waits for its payment
	note   string       // what is known beyond that
	gone   bool         // cancelled: only its payment is told
}

// What the commands of a purchase find.
type (
	purchaseMsg struct {
		p   *purchase
		err error // why none was begun
	}
	payMsg     struct{ p *purchase } // the user agreed to it
	cancelMsg  struct{ p *purchase } // so did they to its end
	depositMsg struct {              // how it stands now
		p *purchase
		d *api.Deposit // nil where that is not known
		s string       // said of it
	}
)

func newBuying(env *Env) buying {
	return buying{env: env, hash: view.NewInput("0x… of the transaction that paid", 66)}
}

// active reports whether something is shown in place of what was spent.
func (b *buying) active() bool { return b.choosing || b.bought != nil }

// typing reports whether keys belong to the purchase alone.
func (b *buying) typing() bool { return b.hash.Focused() || b.large }

// bindings are the keys that do something now.
func (b *buying) bindings() []key.Binding {
	k := b.env.Keys
	switch {
	case b.choosing:
		return []key.Binding{view.KeyGroup("enter", "buy"), view.KeyGroup("esc", "do not")}
	case b.hash.Focused():
		return []key.Binding{view.KeyGroup("enter", "look there"), view.KeyGroup("esc", "do not")}
	case b.bought == nil:
		return []key.Binding{k.Buy}
	case b.bought.ended != nil:
		return []key.Binding{view.KeyGroup("esc", "close")}
	}
	list := []key.Binding{k.Code, view.KeyGroup(view.KeyLabel(k.Copy), "copy link"), k.Cancel, k.Paid}
	if b.env.Pay != nil {
		list = append([]key.Binding{k.Wallet}, list...)
	}
	return append(list, view.KeyGroup("esc", "close"))
}

// update applies what a command found, and keys. ok is false where they are for others.
func (b *buying) update(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	switch msg := msg.(type) {
	case purchaseMsg:
		b.asking = false
		if msg.err != nil {
			return Send(Fail(msg.err)), true
		}
		b.bought = msg.p
		b.bought.since = b.env.Session.ServiceNow()
		b.wait()
		return b.await(msg.p), true
	case payMsg:
		if msg.p.ended != nil { // while the user was asked
			return Notify("nothing was paid: the purchase has come to its end already"), true
		}
		msg.p.note = "the wallet pays, which takes some seconds"
		return b.pay(msg.p), true
	case cancelMsg:
		return b.cancel(msg.p), true
	case depositMsg:
		return b.take(msg), true
	case BuyMsg:
		return b.choose(), true
	case tea.KeyMsg:
		return b.press(msg)
	}
	return nil, false
}

func (b *buying) press(msg tea.KeyMsg) (cmd tea.Cmd, ok bool) {
	k := b.env.Keys
	switch {
	case b.large:
		b.large = false
		return nil, true
	case b.hash.Focused():
		return b.pressHash(msg), true
	case b.choosing:
		return b.pressChoice(msg)
	case key.Matches(msg, k.Buy):
		return b.choose(), true
	case b.bought == nil:
		return nil, false
	case msg.Type == tea.KeyEsc:
		b.bought, b.env.Session.Purchase = nil, ""
		return nil, true
	case b.bought.ended != nil:
		return nil, false
	}
	return b.pressPurchase(msg)
}

func (b *buying) pressPurchase(msg tea.KeyMsg) (cmd tea.Cmd, ok bool) {
	k, p := b.env.Keys, b.bought
	switch {
	case p.intent.NonceRequired && (key.Matches(msg, k.Code) || key.Matches(msg, k.Copy)):
		return Notify("there is no link: it could not carry the nonce"), true
	case key.Matches(msg, k.Code):
		if b.env.Theme.Glyphs.ASCII {
			return Notify("a code cannot be drawn with ASCII; " + view.KeyLabel(k.Copy) + " copies the link"), true
		}
		b.large = true
	case key.Matches(msg, k.Copy):
		return CopyText(p.intent.PaymentURI, "the link for a wallet"), true
	case key.Matches(msg, k.Paid):
		b.hash.Set("")
		b.hash.Focus()
	case key.Matches(msg, k.Cancel):
		return Send(ConfirmMsg{Question: "Cancel the purchase of " + human.Count(p.offer.Credits) + " credits?",
			Lines: []string{"Nothing is to be paid then.", "What was sent already still counts until the deadline."},
			Yes:   Send(cancelMsg{p})}), true
	case key.Matches(msg, k.Wallet) && b.env.Pay == nil:
		return Notify("no wallet of ctx is configured: ctx wallet new NAME"), true
	case key.Matches(msg, k.Wallet):
		return Send(ConfirmMsg{Question: "Pay " + view.Line(p.intent.AmountUSDC) + " " + api.AssetUSDG + " from your wallet?",
			Lines: []string{"for " + human.Count(p.offer.Credits) + " credits", "to  " + view.Line(p.intent.Recipient)},
			Yes:   Send(payMsg{p})}), true
	default:
		return nil, false
	}
	return nil, true
}

func (b *buying) pressChoice(msg tea.KeyMsg) (cmd tea.Cmd, ok bool) {
	packs := api.CreditPacks()
	switch {
	case msg.Type == tea.KeyEsc:
		b.choosing = false
	case msg.Type == tea.KeyEnter:
		b.choosing, b.asking = false, true
		return b.begin(packs[b.packs.Cursor]), true
	default:
		return nil, b.env.Move(&b.packs, len(packs), msg)
	}
	return nil, true
}

func (b *buying) pressHash(msg tea.KeyMsg) tea.Cmd {
	switch {
	case msg.Type == tea.KeyEsc:
		b.hash.Blur()
	case msg.Type != tea.KeyEnter:
		b.hash.Update(msg)
	case !hashForm.MatchString(b.hash.Value()):
		return Notify("a hash is 0x and 64 digits of 0 to 9 and a to f")
	default:
		b.hash.Blur()
		b.bought.note = "the service looks there"
		return b.find(b.bought, b.hash.Value())
	}
	return nil
}

func (b *buying) choose() tea.Cmd {
	switch {
	case b.env.ReadOnly:
		return Notify("nothing is bought: this was started with --read-only")
	case b.env.Seller == nil:
		return Notify("nobody sells credits here")
	case b.asking:
		return nil
	case b.bought != nil && b.bought.ended == nil:
		return Notify("a purchase waits already; " + view.KeyLabel(b.env.Keys.Cancel) + " cancels it")
	}
	b.choosing, b.bought = true, nil
	return nil
}

// begin asks the service for a purchase, for the key in use where that is the owner's.
func (b *buying) begin(pack api.CreditPack) tea.Cmd {
	seller, ctx, id := b.env.Seller, b.env.Ctx, b.env.KeyID
	if b.env.Session.Foreign {
		id = ""
	}
	offer, _ := pack.Offer() // there is one for each
	return func() tea.Msg {
		intent, err := seller.Buy(ctx, pack, id)
		if err != nil {
			return purchaseMsg{err: err}
		}
		return purchaseMsg{p: &purchase{offer: offer, key: id, intent: intent}}
	}
}

func (b *buying) await(p *purchase) tea.Cmd {
	seller, ctx := b.env.Seller, b.env.Ctx
	return func() tea.Msg { return found(ctx, p, "")(seller.AwaitDeposit(ctx, p.intent.ID, "")) }
}

// find has the service look for the payment in a transaction.
func (b *buying) find(p *purchase, hash string) tea.Cmd {
	seller, ctx := b.env.Seller, b.env.Ctx
	const pending = "the chain does not show that payment yet; the service goes on looking"
	return func() tea.Msg { return found(ctx, p, pending)(seller.Deposit(ctx, p.intent.ID, hash)) }
}

func (b *buying) pay(p *purchase) tea.Cmd {
	pay, ctx := b.env.Pay, b.env.Ctx
	return func() tea.Msg { return found(ctx, p, "")(pay(ctx, p.intent)) }
}

// found makes the message of what was learnt of a purchase. pending is what to say where it still waits.
func found(ctx context.Context, p *purchase, pending string) func(*api.Deposit, error) tea.Msg {
	return func(d *api.Deposit, err error) tea.Msg {
		var paid *sdk.PaidError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &paid):
			return depositMsg{p, nil, "transaction " + paid.Payment.ID + " is sent; the service finds it by itself"}
		case err != nil:
			return tea.BatchMsg{Send(Fail(err)), Send(depositMsg{p, nil, ""})}
		case d.Status == api.DepositPending:
			return depositMsg{p, nil, cmp.Or(d.Message, pending)}
		}
		return depositMsg{p, d, ""}
	}
}

// cancel shows a purchase no more. The service has no such call: an order that nobody pays ends by itself.
func (b *buying) cancel(p *purchase) tea.Cmd {
	if p.ended != nil { // while the user was asked
		return Notify("the purchase has come to its end already")
	}
	p.gone, b.bought = true, nil
	b.wait()
	return Notify("cancelled: do not send its amount any more")
}

// take notes how a purchase stands. One that was closed, and one whose end is known, are told of no more.
func (b *buying) take(msg depositMsg) tea.Cmd {
	p, s := msg.p, b.env.Session
	p.note = view.Line(msg.s)
	if msg.d == nil || p.ended != nil || p.gone && msg.d.Status != api.DepositVerified {
		return nil
	}
	p.ended = msg.d
	b.wait()
	b.large = false
	said := "nothing arrived for the purchase of " + human.Count(p.offer.Credits) + " credits"
	if msg.d.Status == api.DepositVerified {
		said = human.Count(msg.d.Credits) + " credits are yours"
	}
	s.Log.Add(s.Now, session.Info, said)
	return Notify(said)
}

// wait tells the session whether a purchase waits for its payment.
func (b *buying) wait() {
	b.env.Session.Purchase = ""
	if p := b.bought; p != nil && p.ended == nil {
		b.env.Session.Purchase = view.Line(p.intent.AmountUSDC) + " " + api.AssetUSDG + ", open until " + until(p).Format(untilForm)
	}
}

// untilForm is how the end of a purchase is written.
const untilForm = time.DateTime + " MST"

// until is when a purchase ends if nobody pays, in UTC as the service's pages have it.
func until(p *purchase) time.Time { return time.Unix(p.intent.ExpiresAt, 0).UTC() }

// network is where a purchase is paid. The chain of a demo is on its machine, whatever its id says.
func (b *buying) network(p *purchase) string {
	if b.env.Session.Demo {
		return fmt.Sprintf("the test chain of this demo, chain %d", p.intent.ChainID)
	}
	return api.ChainName(p.intent.ChainID)
}

func (b *buying) draw(width, height int) []string {
	t := *b.env.Theme
	if b.choosing {
		packs := api.CreditPacks()
		rows := b.packs.Rows(t, len(packs), width-2, height-3, true, func(i int) string {
			o, _ := packs[i].Offer()
			return fmt.Sprintf("%-8s %9s credits %4d %s", packs[i], human.Count(o.Credits), o.PriceMicros/1_000_000, api.AssetUSDG)
		})
		rows = append([]string{" Which package? Nothing is paid yet."}, rows...)
		return view.Box{Title: "Buy credits", Note: "enter asks what to transfer", Focus: true}.Draw(t, rows, width, height)
	}
	p := b.bought
	box := view.Box{Title: "Purchase of " + human.Count(p.offer.Credits) + " credits", Focus: true}
	if p.ended != nil {
		return box.Draw(t, b.endLines(p), width, height)
	}
	lines := b.waitLines(p, width-4)
	code := b.code(p, width-2-maxWaitLine, height-2)
	for i, line := range code {
		if i == len(lines) {
			lines = append(lines, "")
		}
		lines[i] = view.Fit(lines[i], maxWaitLine, t.Glyphs.Ellipsis) + line
	}
	return box.Draw(t, lines, width, height)
}

// maxWaitLine is how wide the lines of a purchase are where a code is beside them.
const maxWaitLine = 62

func (b *buying) waitLines(p *purchase, width int) []string {
	t, i := *b.env.Theme, p.intent
	left := until(p).Sub(b.env.Session.ServiceNow())
	share := max(0, min(1, left.Seconds()/until(p).Sub(p.since).Seconds()))
	state := t.Warn.On(t.Glyphs.Retry) + " waiting for the transfer"
	if left <= 0 {
		state = t.Warn.On(t.Glyphs.Warn) + " the time is over; a transfer within it still counts"
	}
	if p.note != "" {
		state = t.Accent.On(t.Glyphs.Arrow) + " " + p.note
	}
	lines := []string{
		" Send exactly this amount: " + t.Bold.On(view.Line(i.AmountUSDC)+" "+api.AssetUSDG), "",
		" to       " + view.Line(i.Recipient), " token    " + view.Line(i.Token), " network  " + b.network(p),
		" until    " + until(p).Format(untilForm) + " " + view.Bar(share, 12, t.Glyphs) + " " + human.Clock(left) + " left", "",
		" " + state,
	}
	if i.NonceRequired {
		lines[1] = " " + t.Warn.On("with the nonce: a plain transfer pays for nothing; your wallet here sends it")
	}
	if b.hash.Focused() {
		lines[len(lines)-1] = " Paid in " + b.hash.View(t, min(width-12, 66))
	}
	return append(lines, " "+t.Dim.On("You may leave: it is credited without this screen."))
}

func (b *buying) endLines(p *purchase) []string {
	t, d := *b.env.Theme, p.ended
	if d.Status != api.DepositVerified {
		return []string{"", " " + t.Bad.On(t.Glyphs.Bad) + " nothing arrived until " + until(p).Format(untilForm), "",
			" If you have paid, tell the operator the hash of the transaction: nothing that",
			" arrived is lost. The purchase is " + view.Line(d.ID)}
	}
	lines := []string{"", " " + t.Good.On(t.Glyphs.OK) + " " + t.Bold.On(human.Count(d.Credits)+" credits are yours")}
	if p.key != "" {
		lines = append(lines, "   on key "+view.Line(p.key))
	}
	if d.TxHash != nil {
		lines = append(lines, "", "   by   "+view.Line(*d.TxHash))
	}
	if d.PayerAddress != nil {
		lines = append(lines, "   from "+view.Line(*d.PayerAddress))
	}
	return lines
}

// code is the link of a purchase as a QR code, none where it does not fit.
func (b *buying) code(p *purchase, width, height int) []string {
	t := *b.env.Theme
	if t.Glyphs.ASCII || p.intent.NonceRequired {
		return nil
	}
	lines := view.QRCode(view.Line(p.intent.PaymentURI), view.QuietZone/2, t.Depth != view.NoColor)
	if len(lines) == 0 || len(lines) > height || view.Width(lines[0]) > width {
		return nil
	}
	return lines
}

// full is the code alone, for terminals where it does not fit beside anything; nil where it is not asked for.
func (b *buying) full(width, height int) []string {
	if !b.large || b.bought == nil {
		return nil
	}
	lines := b.code(b.bought, width, height)
	if lines == nil {
		lines = []string{"The code is larger than this terminal.",
			"Any key goes back; " + view.KeyLabel(b.env.Keys.Copy) + " copies the link."}
	}
	left := max(width-view.Width(lines[0]), 0) / 2
	out := view.Blank(width, max(height-len(lines), 0)/2)
	for _, line := range lines {
		out = append(out, view.Fit(view.Spaces(left)+line, width, ""))
	}
	return append(out, view.Blank(width, height-len(out))...)
}

package brief

import (
	"fmt"
	"math"
	"strconv"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// tone tells how the whole market does. alarmed says that flags were told before it.
func (n *news) tone(alarmed bool) (p paragraph) {
	p.add(vital, n.market(alarmed))
	if f := n.Sentiment.FearGreed; f != nil {
		p.add(vital, fearGreed(f, n.in.dated(f.Of)))
	}
	p.add(vital, n.breadth())
	if s := n.Sentiment.Stablecoins; s != nil {
		r := useful
		if s.Change1dPct == nil || math.Abs(*s.Change1dPct) < 0.5 {
			r = detail
		}
		p.add(r, "Stablecoin supply is "+human.USDInWords(*s.SupplyUSD)+then(s.Change1dPct, " on the day")+cite(s.Ref)+".")
	}
	if f := n.Sentiment.Fees; f != nil {
		p.add(spare, fmt.Sprintf("A Bitcoin transaction in the next block pays %s sat/vB%s.", human.Plain(*f.BTCFastestSatVb), cite(f.Ref)))
	}
	if g := n.Sentiment.Gas; g != nil {
		p.add(spare, fmt.Sprintf("Gas on Ethereum costs %s gwei%s.", human.Plain(*g.ETHAverageGwei),
			inBrackets(n.in.dated(g.Of))+cite(g.Ref)))
	}
	p.add(useful, n.notices())
	return p
}

func (n *news) market(alarmed bool) string {
	m := n.Sentiment.Market
	if m == nil {
		return ""
	}
	subject := "the crypto market"
	switch {
	case alarmed:
		subject = "the wider market"
	case len(n.Flags) == 0:
		subject = "with no flag standing, the crypto market"
	}
	said := " is worth "
	if m.TotalMarketCapUSD == nil {
		said = " is " + moved(*m.Change24hPct) + " in 24 hours"
	} else {
		said += human.USDInWords(*m.TotalMarketCapUSD) + then(m.Change24hPct, " in 24 hours")
	}
	var more []string
	if m.BTCDominancePct != nil && *m.BTCDominancePct > 0 {
		more = append(more, "Bitcoin makes up "+human.PercentInWords(*m.BTCDominancePct)+" of its value")
	}
	if m.Volume24hUSD != nil {
		more = append(more, human.USDInWords(*m.Volume24hUSD)+" changed hands")
	}
	if len(more) > 0 {
		said += "; " + clauses(more)
	}
	return sentenceCase(subject) + said + inBrackets(n.in.dated(m.Of)) + cite(m.Ref) + "."
}

// fearGreed tells the index and where it comes from, and what it was before, counted from today. Of another day, of says which.
func fearGreed(f *api.FearGreed, of string) string {
	text := fmt.Sprintf("Fear & Greed reads %d", f.Value)
	if sayable(f.Label, maxName) {
		text += " (" + f.Label + ")"
	}
	if of != "" {
		return text + " " + of + cite(f.Ref) + "."
	}
	var before []string
	day, week := f.PreviousDay, f.WeekAgo
	switch {
	case day != nil && *day == f.Value:
		text += ", unchanged from yesterday"
	case day != nil:
		before = append(before, fmt.Sprintf("%d yesterday", *day))
	}
	if week != nil && *week != f.Value {
		before = append(before, fmt.Sprintf("%d a week ago", *week))
	}
	switch {
	case len(before) > 0 && day != nil && *day == f.Value:
		text += fmt.Sprintf("; a week ago it was %d", *week)
	case len(before) > 0:
		text += ", after " + and(before)
	}
	return text + cite(f.Ref) + "."
}

// breadth tells how many coins go with the market or against it.
func (n *news) breadth() string {
	b := n.Sentiment.Breadth
	if b == nil {
		return ""
	}
	intro, noun := "Of the large coins, ", ""
	if m := n.Sentiment.Market; m != nil && m.Change24hPct != nil && !flat(*m.Change24hPct) {
		intro, noun = "Breadth agrees: ", " large "+plural(b.Advancing, "coin", "coins")
		switch rising := b.Advancing > b.Declining; {
		case b.Advancing == b.Declining:
			intro = "Breadth is even: "
		case rising != (*m.Change24hPct > 0):
			intro = "Breadth says otherwise: "
		}
	}
	rose, fell := fmt.Sprintf("%d%s", b.Advancing, noun), strconv.Itoa(b.Declining)
	switch {
	case b.Declining == 0:
		fell = "none"
	case b.Advancing == 0 && noun != "":
		rose = "no large coin"
	case b.Advancing == 0:
		rose = "none"
	}
	return intro + rose + " rose and " + fell + " fell" + cite(b.Ref) + "."
}

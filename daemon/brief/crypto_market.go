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
		at := reading("stablecoins")
		r := useful
		if s.Change1dPct == nil || math.Abs(*s.Change1dPct) < 0.5 {
			r = detail
		}
		supply := at.says("supplyUsd", human.USDInWords(*s.SupplyUSD)) + at.then("change1dPct", s.Change1dPct, " on the day")
		p.add(r, "Stablecoin supply is "+supply+cite(s.Ref)+".")
	}
	if f := n.Sentiment.Fees; f != nil {
		p.add(spare, fmt.Sprintf("A Bitcoin transaction in the next block pays %s sat/vB%s.",
			reading("fees").says("btcFastestSatVb", human.Plain(*f.BTCFastestSatVb)), cite(f.Ref)))
	}
	if g := n.Sentiment.Gas; g != nil {
		p.add(spare, fmt.Sprintf("Gas on Ethereum costs %s gwei%s.", reading("gas").says("ethAverageGwei", human.Plain(*g.ETHAverageGwei)),
			inBrackets(reading("gas").says("of", n.in.dated(g.Of)))+cite(g.Ref)))
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
	at, told := reading("market"), " is worth "
	if m.TotalMarketCapUSD == nil {
		told = " is " + at.says("change24hPct", moved(*m.Change24hPct)) + " in 24 hours"
	} else {
		told += at.says("totalMarketCapUsd", human.USDInWords(*m.TotalMarketCapUSD)) +
			at.then("change24hPct", m.Change24hPct, " in 24 hours")
	}
	var more []string
	if m.BTCDominancePct != nil && *m.BTCDominancePct > 0 {
		more = append(more, "Bitcoin makes up "+at.says("btcDominancePct", human.PercentInWords(*m.BTCDominancePct))+" of its value")
	}
	if m.Volume24hUSD != nil {
		more = append(more, at.says("volume24hUsd", human.USDInWords(*m.Volume24hUSD))+" changed hands")
	}
	if len(more) > 0 {
		told += "; " + clauses(more)
	}
	return sentenceCase(subject) + told + inBrackets(at.says("of", n.in.dated(m.Of))) + cite(m.Ref) + "."
}

// reading is the place of a market-wide reading.
func reading(name string) placed { return placed{"sentiment." + name} }

// fearGreed tells the index and where it comes from, and what it was before, counted from today. Of another day, of says which.
func fearGreed(f *api.FearGreed, of string) string {
	at := reading("fearGreed")
	text := "Fear & Greed reads " + at.says("value", strconv.Itoa(f.Value))
	if sayable(f.Label, maxName) {
		text += " (" + f.Label + ")"
	}
	if of != "" {
		return text + " " + at.says("of", of) + cite(f.Ref) + "."
	}
	var before []string
	day, week := f.PreviousDay, f.WeekAgo
	switch {
	case day != nil && *day == f.Value:
		text += ", unchanged from yesterday"
	case day != nil:
		before = append(before, at.says("previousDay", strconv.Itoa(*day))+" yesterday")
	}
	if week != nil && *week != f.Value {
		before = append(before, at.says("weekAgo", strconv.Itoa(*week))+" a week ago")
	}
	switch {
	case len(before) > 0 && day != nil && *day == f.Value:
		text += "; a week ago it was " + at.says("weekAgo", strconv.Itoa(*week))
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
	at := reading("breadth")
	rose, fell := at.says("advancing", strconv.Itoa(b.Advancing))+noun, at.says("declining", strconv.Itoa(b.Declining))
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

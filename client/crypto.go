package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// How many rows of a kind the overview shows. The whole state is in -o json.
const (
	moversShown     = 5
	protocolsShown  = 6
	chainsShown     = 4
	poolsShown      = 5
	narrativesShown = 5
	flagsShown      = 8
)

// crypto draws the overview.
func (p Page) crypto(s *api.CryptoState) {
	p.flags(s.Flags)
	p.movers(s.TopMovers)
	p.protocols(s.ProtocolTVL)
	p.pools(s.TrendingPools)
	p.sentiment(s.Sentiment)
	p.narratives(s.Narratives)
	p.sources(s.SourceStatus)
}

// flags draws the flags, gravest first as they come.
func (p Page) flags(flags []api.Flag) {
	if len(flags) == 0 {
		return
	}
	p.heading("FLAGS")
	for _, f := range flags[:min(len(flags), flagsShown)] {
		mark := p.Style.Mark("warning") + " " + human.Line(string(f.Severity))
		switch f.Severity {
		case api.SeverityCritical:
			mark = p.Style.Bad(mark)
		case api.SeverityWarning:
			mark = p.Style.Warn(mark)
		}
		said := p
		if f.Kind == api.FlagSourceStale || f.Kind == api.FlagSourceError {
			said.ages = api.Ages{} // a warning about a source is no data of it
		}
		said.cited("  "+p.Style.Fit(mark, 11)+" ", human.Line(f.Message), f.Ref)
	}
	p.more(len(flags), flagsShown)
}

// narrow reports whether the columns of an 80-column terminal do not fit.
func (p Page) narrow() bool { return p.Width < 76 }

// movers draws the majors and the rows that moved most.
func (p Page) movers(rows []api.Mover) {
	if len(rows) == 0 {
		return
	}
	name := 15
	if p.narrow() {
		name = 0
	}
	if slices.ContainsFunc(rows, func(m api.Mover) bool { return p.late(m.Ref) != "" }) {
		name = 15
	}
	p.heading(p.columns("MOVERS", 11+name, "price", "1h", "24h", "7d", "volume"))
	for _, group := range []string{api.GroupMajor, api.GroupGainer, api.GroupLoser} {
		shown := 0
		for _, m := range rows {
			if m.Group != group || shown == moversShown {
				continue
			}
			if shown++; shown == 1 && group != api.GroupMajor {
				p.line("  %s", p.Style.Dim(group+"s"))
			}
			p.line("  %s %s%s %s %s %s %s", p.Style.Fit(human.Line(m.Symbol), 8), p.named(human.Line(m.Name), name, p.late(m.Ref)),
				p.Style.FitRight(human.Price(m.PriceUSD), 13), p.column(m.Change1hPct), p.column(m.Change24hPct), p.column(m.Change7dPct),
				p.Style.FitRight(human.CompactUSD(m.Volume24hUSD), 8))
		}
	}
}

// columns is a heading over columns, the first of which begins after width.
func (p Page) columns(title string, width int, first string, rest ...string) string {
	text := p.Style.Fit(title, width) + p.Style.FitRight(first, 13)
	for i, name := range rest {
		text += " " + p.Style.FitRight(name, []int{9, 9, 9, 8}[i])
	}
	return text
}

// protocols draws the value locked in protocols and on chains.
func (p Page) protocols(rows []api.ProtocolTVL) {
	if len(rows) == 0 {
		return
	}
	p.heading(p.columns("TVL", 26, "value", "1d", "7d"))
	limit := map[string]int{api.GroupTop: protocolsShown, api.GroupChain: chainsShown}
	for _, r := range rows {
		if limit[r.Group]--; limit[r.Group] < 0 {
			continue
		}
		p.line("  %s%s %s %s", p.named(human.Line(r.Name), 24, p.late(r.Ref)), p.Style.FitRight(human.CompactUSD(r.TVLUSD), 13),
			p.column(r.Change1dPct), p.column(r.Change7dPct))
	}
}

// pools draws the trending pools.
func (p Page) pools(rows []api.TrendingPool) {
	if len(rows) == 0 {
		return
	}
	p.heading(p.columns("TRENDING POOLS", 26, "volume", "1h", "24h", "liquid"))
	for _, r := range rows[:min(len(rows), poolsShown)] {
		name := human.Line(r.Pair) + " " + p.Style.Dim(human.Line(r.Network))
		p.line("  %s%s %s %s %s %s", p.named(name, 24, p.late(r.Ref)), p.Style.FitRight(human.CompactUSD(r.Volume24hUSD), 13),
			p.column(r.Change1hPct), p.column(r.Change24hPct),
			p.Style.FitRight(human.CompactUSD(r.LiquidityUSD), 9), p.Style.Warn(human.Line(strings.Join(r.Risk, ","))))
	}
	p.more(len(rows), poolsShown)
}

// sentiment draws the market-wide readings, each where it is known.
func (p Page) sentiment(s api.Sentiment) {
	if s.FearGreed == nil && s.Market == nil && s.Breadth == nil && s.Stablecoins == nil && s.Fees == nil && s.Gas == nil &&
		len(s.Predictions) == 0 {
		return
	}
	p.heading("SENTIMENT")
	if g := s.FearGreed; g != nil {
		p.reading("Fear & Greed", fmt.Sprintf("%d %s, yesterday %s, a week ago %s",
			g.Value, human.Line(g.Label), orDash(g.PreviousDay), orDash(g.WeekAgo)), g.Ref)
	}
	if m := s.Market; m != nil {
		p.reading("Market cap", fmt.Sprintf("%s %s in 24h, volume %s",
			human.CompactUSD(m.TotalMarketCapUSD), p.change(m.Change24hPct), human.CompactUSD(m.Volume24hUSD)), m.Ref)
		p.reading("Dominance", fmt.Sprintf("BTC %s, ETH %s", human.Share(m.BTCDominancePct), human.Share(m.ETHDominancePct)), m.Ref)
	}
	if b := s.Breadth; b != nil {
		p.reading("Breadth", fmt.Sprintf("%d up, %d down (%s up)", b.Advancing, b.Declining, human.Share(b.AdvancingPct)), b.Ref)
	}
	if c := s.Stablecoins; c != nil {
		p.reading("Stablecoins", fmt.Sprintf("%s %s in 1d", human.CompactUSD(c.SupplyUSD), p.change(c.Change1dPct)), c.Ref)
	}
	p.fees(s.Fees, s.Gas)
	for _, q := range s.Predictions {
		if q.Probability != nil {
			p.cited(fmt.Sprintf("  %3.0f%% %s ", *q.Probability*100, p.Style.Fit(human.Line(q.Says()), 8)), human.Line(q.Question), q.Ref)
		}
	}
}

// fees draws what transactions cost.
func (p Page) fees(f *api.Fees, g *api.Gas) {
	if f != nil && f.BTCFastestSatVb != nil {
		p.reading("BTC fee", fmt.Sprintf("%g sat/vB", *f.BTCFastestSatVb), f.Ref)
	}
	if g != nil && g.ETHAverageGwei != nil {
		p.reading("ETH gas", fmt.Sprintf("%g gwei", *g.ETHAverageGwei), g.Ref)
	}
}

// reading draws a reading of the market.
func (p Page) reading(name, text string, ref int) { p.cited("  "+p.Style.Fit(name, 14), text, ref) }

// narratives draws the themes with the newest headline of each.
func (p Page) narratives(rows []api.Narrative) {
	if len(rows) == 0 {
		return
	}
	p.heading("NARRATIVES")
	for _, n := range rows[:min(len(rows), narrativesShown)] {
		theme := fmt.Sprintf("  %s %4.2f %s  ", p.named(human.Line(n.Name), 20, p.late(n.Ref)), n.Score, p.column(n.Change24hPct))
		if len(n.Headlines) == 0 {
			p.line("%s", theme)
			continue
		}
		p.cited(theme, human.Line(n.Headlines[0].Title), n.Headlines[0].Ref)
	}
	p.more(len(rows), narrativesShown)
}

// sources draws how the sources do: a count, and those that are not well.
func (p Page) sources(rows []api.SourceStatus) {
	ok := 0
	for _, s := range rows {
		if s.Status == api.SourceOK {
			ok++
		}
	}
	p.heading("SOURCES")
	mark := p.Style.Good(p.Style.Mark("ok"))
	if ok < len(rows) {
		mark = p.Style.Warn(p.Style.Mark("warning"))
	}
	p.line("  %s %d of %d ok", mark, ok, len(rows))
	for _, s := range rows {
		if s.Status == api.SourceOK {
			continue
		}
		why, since := "", "never answered"
		if s.Error != nil {
			why = ": " + human.Line(*s.Error)
		}
		if s.FetchedAt != nil {
			since = "last answered " + human.Age(p.Now.Sub(*s.FetchedAt)) + " ago"
		}
		p.line("  %s %s, %s%s %s", p.Style.Warn(p.Style.Fit(human.Line(string(s.Status)), 5)), human.Line(s.ID), since, why, p.ref(s.Ref))
	}
}

// more says that rows were left out.
func (p Page) more(rows, shown int) {
	if rows > shown {
		p.line("  %s", p.Style.Dim(fmt.Sprintf("%d more in -o json", rows-shown)))
	}
}

// ref is the anchor of a source.
func (p Page) ref(n int) string { return p.Style.Link(fmt.Sprintf("[%d]", n)) }

// column is change in a column of nine.
func (p Page) column(pct *float64) string { return p.Style.FitRight(p.change(pct), 9) }

// change is a percent with its sign; a dash where it is not known.
func (p Page) change(pct *float64) string {
	if pct == nil {
		return human.Unknown
	}
	told := human.Change(pct) + "%"
	switch {
	case *pct > 0:
		return p.Style.Good(told)
	case *pct < 0:
		return p.Style.Bad(told)
	}
	return told
}

// orDash is n, or a dash where it is not known.
func orDash(n *int) string {
	if n == nil {
		return human.Unknown
	}
	return fmt.Sprint(*n)
}

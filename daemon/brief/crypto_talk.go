package brief

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// themes tells the narratives and what the papers say of them.
func (n *news) themes() (p paragraph) {
	if len(n.Narratives) == 0 {
		return nil
	}
	first := n.Narratives[0]
	text := first.Name + " is the leading narrative" + first.then("change24hPct", first.Change24hPct, " in 24 hours") + cite(first.Ref)
	quoted := map[string]bool{}
	if len(first.Headlines) > 0 {
		text += ", with " + quote(first.Headlines[0]) + cite(carriers(n.in, first.Headlines[0])...) + " among the headlines"
		quoted[first.Headlines[0].Title] = true
	}
	p.add(useful, text+".")
	p.add(useful, n.currents())
	var items []string
	for _, t := range n.Narratives {
		for _, h := range t.Headlines {
			if !quoted[h.Title] && len(items) < 2 {
				quoted[h.Title] = true
				items = append(items, quote(h)+cite(carriers(n.in, h)...))
				break
			}
		}
	}
	if len(items) > 0 {
		p.add(detail, "Also in the news: "+and(items)+".")
	}
	return p
}

// currents tells which of the other narratives gain and which lose.
func (n *news) currents() string {
	rows := filter(slices.Clone(n.Narratives[1:]), func(t narrative) bool { return t.Change24hPct != nil && !flat(*t.Change24hPct) })
	slices.SortStableFunc(rows, func(a, b narrative) int { return cmp.Compare(math.Abs(*b.Change24hPct), math.Abs(*a.Change24hPct)) })
	var items []string
	var refs []int
	for _, side := range []struct {
		verb string
		sign float64
	}{{" gains ", 1}, {" loses ", -1}} {
		var names []string
		for _, t := range rows {
			if *t.Change24hPct*side.sign > 0 && len(names) < 2 {
				names = append(names, t.Name+side.verb+t.says("change24hPct", human.PercentInWords(*t.Change24hPct)))
				refs = append(refs, t.Ref)
				side.verb = " " // the second goes without
			}
		}
		if len(names) > 0 {
			items = append(items, and(names))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return strings.Join(items, ", while ") + cite(refs...) + "."
}

func quote(h headline) string { return "“" + h.says("title", h.Title) + "”" }

// carriers lists the anchors of the publishers of a headline.
func carriers(in Input, h headline) []int {
	refs := []int{h.Ref}
	for _, s := range h.Sources {
		if citable(in, s) {
			refs = append(refs, s)
		}
	}
	return refs
}

func (n *news) odds() (p paragraph) {
	var items []string
	var refs []int
	for _, m := range n.Sentiment.Predictions[:min(len(n.Sentiment.Predictions), 2)] {
		chance := "near zero"
		if p := *m.Probability * 100; !flat(p) {
			chance = m.says("probability", human.PercentInWords(p))
		}
		said := fmt.Sprintf("“%s” at %s", m.says("question", m.Question), chance)
		if m.Says() != "yes" {
			said += " for " + m.Outcome
		}
		items = append(items, said)
		refs = append(refs, m.Ref)
	}
	if len(items) > 0 {
		p.add(useful, "Prediction markets put "+and(items)+cite(refs...)+".")
	}
	return p
}

// sources tells what is missing and what is old, so that a short brief says why it is short.
func (n *news) sources() (p paragraph) {
	told := map[int]bool{}
	var missing, withheld []string
	for _, m := range n.absent() {
		ref := n.refOf(m.source)
		switch {
		case ref <= 0:
		case slices.ContainsFunc(n.SourceStatus, func(s api.SourceStatus) bool { return s.Ref == ref && s.NotSold() }):
			withheld = append(withheld, m.what+cite(ref))
		default:
			missing = append(missing, m.what+cite(ref))
			told[ref] = true
		}
	}
	if len(withheld) > 0 {
		p.add(useful, "Not served here, by the terms of the sources: "+and(withheld)+".")
	}
	if len(missing) > 0 {
		p.add(vital, "This brief is without "+and(missing)+".")
	}
	var stale, failed []string
	for _, s := range n.SourceStatus {
		switch {
		case s.Status == api.SourceStale:
			stale = append(stale, s.ID+cite(s.Ref))
		case s.Status == api.SourceError && !told[s.Ref] && !s.NotSold():
			failed = append(failed, s.ID+cite(s.Ref))
		}
	}
	if len(stale) > 0 {
		p.add(vital, "The last good answer still stands in for "+few(stale)+".")
	}
	if len(failed) > 0 {
		p.add(vital, "No usable data comes from "+few(failed)+".")
	}
	return p
}

// few lists at most four items and counts the others.
func few(items []string) string {
	if more := len(items) - 4; more > 1 {
		items = append(slices.Clone(items[:4]), inWords(more)+" others")
	}
	return and(items)
}

// absence is a part of the brief that its source did not give.
type absence struct{ what, source string }

func (n *news) absent() []absence {
	var list []absence
	lacks := func(lacks bool, what, source string) {
		if lacks {
			list = append(list, absence{what, source})
		}
	}
	of := func(r protocol) string { return r.Group }
	s := n.Sentiment
	lacks(s.Market == nil, "the market totals", "coingecko-global")
	lacks(s.FearGreed == nil, "the Fear & Greed index", "alternativeme-fng")
	lacks(len(n.TopMovers) == 0, "coin prices", "coingecko-markets")
	lacks(len(group(n.ProtocolTVL, api.GroupTop, of)) == 0, "protocol TVL", "defillama-protocols")
	lacks(len(group(n.ProtocolTVL, api.GroupChain, of)) == 0, "TVL by chain", "defillama-chains")
	lacks(s.Stablecoins == nil, "stablecoin supply", "defillama-stablecoins")
	lacks(len(n.TrendingPools) == 0, "trending pools", "geckoterminal-trending")
	lacks(len(n.Narratives) == 0, "narratives", "coingecko-categories")
	lacks(len(s.Predictions) == 0, "prediction markets", "polymarket-crypto")
	lacks(s.Fees == nil, "Bitcoin fees", "mempool-fees")
	lacks(s.Gas == nil, "gas prices", "blockscout-gas")
	return list
}

// refOf is the anchor of a source, 0 if the pack has none of this id.
func (n *news) refOf(source string) int {
	return slices.IndexFunc(n.in.Citations, func(c api.Citation) bool { return c.SourceID == source }) + 1
}

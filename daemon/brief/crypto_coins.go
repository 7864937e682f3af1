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

func (n *news) coins() (p paragraph) {
	of := func(m mover) string { return m.Group }
	if majors := group(n.TopMovers, api.GroupMajor, of); len(majors) > 0 {
		n.addMajors(&p, majors)
	}
	gainers := strongest(group(n.TopMovers, api.GroupGainer, of), 1)
	losers := strongest(group(n.TopMovers, api.GroupLoser, of), -1)
	if len(gainers) > 0 {
		text := gainers[0].Name + " is the one gainer of note, "
		if len(gainers) > 1 {
			text = gainers[0].Name + " leads the gainers, "
		}
		p.add(useful, text+gainers[0].step(moved)+behind(gainers, ", with ", " next")+cite(refsOfMovers(gainers)...)+".")
	}
	if len(losers) > 0 {
		text := losers[0].Name + " falls furthest, "
		if len(gainers) > 0 {
			text = "At the other end, " + losers[0].Name + " is "
		}
		p.add(useful, text+losers[0].step(moved)+behind(losers, ", followed by ", "")+cite(refsOfMovers(losers)...)+".")
	}
	return p
}

// strongest is the three coins that moved most in the direction of sign.
func strongest(rows []mover, sign float64) []mover {
	rows = filter(rows, func(m mover) bool {
		return m.Change24hPct != nil && !flat(*m.Change24hPct) && *m.Change24hPct*sign > 0
	})
	slices.SortStableFunc(rows, func(a, b mover) int { return cmp.Compare(math.Abs(*b.Change24hPct), math.Abs(*a.Change24hPct)) })
	return rows[:min(len(rows), 3)]
}

// behind names the coins after the first, if there are any.
func behind(rows []mover, before, after string) string {
	if len(rows) < 2 {
		return ""
	}
	return before + and(withChanges(rows[1:])) + after
}

// withChanges names coins, each with the size of its change.
func withChanges(rows []mover) []string {
	var items []string
	for _, m := range rows {
		items = append(items, m.Name+" ("+m.step(signed)+")")
	}
	return items
}

// price is what m costs, and step how far it went in a day, as written.
func (m mover) price() string { return m.says("priceUsd", human.PriceInWords(*m.PriceUSD)) }

func (m mover) step(write func(float64) string) string {
	return m.says("change24hPct", write(*m.Change24hPct))
}

func refsOfMovers(rows []mover) []int {
	var refs []int
	for _, m := range rows {
		refs = append(refs, m.Ref)
	}
	return refs
}

// addMajors tells the majors: all in one sentence if they go one way, else the first two with their prices and the others by
// direction.
func (n *news) addMajors(p *paragraph, rows []mover) {
	up, down, still := sides(rows)
	count := inWords(len(rows))
	switch all := len(rows); {
	case all > 2 && len(up) == all:
		p.add(vital, "All "+count+" majors are higher on the day: "+and(steps(rows))+cite(refsOfMovers(rows)...)+".")
	case all > 2 && len(down) == all:
		p.add(vital, "All "+count+" majors are lower on the day: "+and(steps(rows))+cite(refsOfMovers(rows)...)+".")
	case all > 2 && len(still) == all:
		p.add(vital, "The "+count+" majors have not moved: "+and(priced(rows))+cite(refsOfMovers(rows)...)+".")
	case len(up)+len(down)+len(still) == 0:
		p.add(vital, "The majors trade without a known change: "+and(priced(rows))+cite(refsOfMovers(rows)...)+".")
	default:
		p.add(vital, firstTwo(rows[:min(all, 2)]))
		p.add(vital, others(rows[min(all, 2):], len(up) == 1, len(down) == 1))
	}
	addWeek(p, rows[:min(len(rows), 2)])
	p.add(spare, n.venues(rows[0]))
	if !slices.ContainsFunc(rows, func(m mover) bool { return m.Rank != nil || m.MarketCapUSD != nil }) {
		p.add(useful, "Their source gives neither rank nor market value"+cite(rows[0].Ref)+".")
	}
}

// sides parts the coins whose change is known by its direction.
func sides(rows []mover) (up, down, still []mover) {
	for _, m := range rows {
		switch c := m.Change24hPct; {
		case c == nil:
		case flat(*c):
			still = append(still, m)
		case *c > 0:
			up = append(up, m)
		default:
			down = append(down, m)
		}
	}
	return up, down, still
}

// steps tells by how much each coin moved and where it is now; the sentence has told the direction.
func steps(rows []mover) []string {
	var items []string
	for _, m := range rows {
		items = append(items, m.Name+" by "+m.step(human.PercentInWords)+" to "+m.price())
	}
	return items
}

func priced(rows []mover) []string {
	var items []string
	for _, m := range rows {
		items = append(items, m.Name+" at "+m.price())
	}
	return items
}

func firstTwo(rows []mover) string {
	text := "Among the majors, " + rows[0].Name + " trades at " + rows[0].price() + rows[0].then("change24hPct", rows[0].Change24hPct, "")
	if len(rows) > 1 {
		if rows[0].Change24hPct != nil {
			text += ","
		}
		text += " and " + rows[1].Name + " at " + rows[1].price() + rows[1].then("change24hPct", rows[1].Change24hPct, "")
	}
	return text + cite(refsOfMovers(rows)...) + "."
}

// others tells the majors behind the first two by direction. loneUp and loneDown say that among all majors one alone rose or fell.
func others(rows []mover, loneUp, loneDown bool) string {
	up, down, still := sides(rows)
	var items []string
	for _, side := range []struct {
		rows []mover
		lone bool
		word string
	}{{up, loneUp, "higher"}, {down, loneDown, "lower"}} {
		if len(side.rows) == 0 {
			continue
		}
		item := and(withChanges(side.rows)) + plural(len(side.rows), " is ", " are ") + side.word
		if side.lone {
			item = "only " + side.rows[0].Name + " is " + side.word + " (" + side.rows[0].step(signed) + ")"
		}
		items = append(items, item)
	}
	if len(still) > 0 {
		var names []string
		for _, m := range still {
			names = append(names, m.Name)
		}
		items = append(items, and(names)+plural(len(still), " is", " are")+" unchanged")
	}
	if len(items) == 0 {
		return ""
	}
	text := clauses(items)
	if len(items) == 2 {
		text = items[0] + ", while " + items[1]
	}
	if strings.HasPrefix(text, "only ") {
		text = sentenceCase(text)
	}
	return text + cite(refsOfMovers(slices.Concat(up, down, still))...) + "."
}

// venues tells the prices of a coin at exchanges.
func (n *news) venues(m mover) string {
	var items []string
	for _, q := range m.Venues {
		if q.PriceUSD == nil || !citable(n.in, q.Ref) {
			continue
		}
		name := map[string]string{"kraken-ticker": "Kraken", "coinbase-exchange": "Coinbase"}[n.in.Citations[q.Ref-1].SourceID]
		if name != "" {
			items = append(items, "at "+q.says("priceUsd", human.PriceInWords(*q.PriceUSD))+" on "+name+cite(q.Ref))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return m.Name + " last traded " + and(items) + "."
}

func addWeek(p *paragraph, rows []mover) {
	rows = filter(slices.Clone(rows), func(m mover) bool { return m.Change7dPct != nil })
	var items []string
	for _, m := range rows {
		items = append(items, fmt.Sprintf("%s is %s", m.Name, m.says("change7dPct", moved(*m.Change7dPct))))
	}
	if len(items) > 0 {
		p.add(spare, "Over seven days "+and(items)+cite(refsOfMovers(rows)...)+".")
	}
}

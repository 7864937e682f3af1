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
	of := func(m api.Mover) string { return m.Group }
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
		p.add(useful, text+moved(*gainers[0].Change24hPct)+behind(gainers, ", with ", " next")+cite(refsOfMovers(gainers)...)+".")
	}
	if len(losers) > 0 {
		text := losers[0].Name + " falls furthest, "
		if len(gainers) > 0 {
			text = "At the other end, " + losers[0].Name + " is "
		}
		p.add(useful, text+moved(*losers[0].Change24hPct)+behind(losers, ", followed by ", "")+cite(refsOfMovers(losers)...)+".")
	}
	return p
}

// strongest is the three coins that moved most in the direction of sign.
func strongest(rows []api.Mover, sign float64) []api.Mover {
	rows = filter(rows, func(m api.Mover) bool {
		return m.Change24hPct != nil && !flat(*m.Change24hPct) && *m.Change24hPct*sign > 0
	})
	slices.SortStableFunc(rows, func(a, b api.Mover) int { return cmp.Compare(math.Abs(*b.Change24hPct), math.Abs(*a.Change24hPct)) })
	return rows[:min(len(rows), 3)]
}

// behind names the coins after the first, if there are any.
func behind(rows []api.Mover, before, after string) string {
	if len(rows) < 2 {
		return ""
	}
	return before + and(withChanges(rows[1:])) + after
}

// withChanges names coins, each with the size of its change.
func withChanges(rows []api.Mover) []string {
	var items []string
	for _, m := range rows {
		items = append(items, m.Name+" ("+signed(*m.Change24hPct)+")")
	}
	return items
}

func refsOfMovers(rows []api.Mover) []int {
	var refs []int
	for _, m := range rows {
		refs = append(refs, m.Ref)
	}
	return refs
}

// addMajors tells the majors: all in one sentence if they go one way, else the first two with their prices and the others by
// direction.
func (n *news) addMajors(p *paragraph, rows []api.Mover) {
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
	if !slices.ContainsFunc(rows, func(m api.Mover) bool { return m.Rank != nil || m.MarketCapUSD != nil }) {
		p.add(useful, "These prices come from a fallback source, which gives neither rank nor market value"+cite(rows[0].Ref)+".")
	}
}

// sides parts the coins whose change is known by its direction.
func sides(rows []api.Mover) (up, down, still []api.Mover) {
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
func steps(rows []api.Mover) []string {
	var items []string
	for _, m := range rows {
		items = append(items, m.Name+" by "+human.PercentInWords(*m.Change24hPct)+" to "+human.PriceInWords(*m.PriceUSD))
	}
	return items
}

func priced(rows []api.Mover) []string {
	var items []string
	for _, m := range rows {
		items = append(items, m.Name+" at "+human.PriceInWords(*m.PriceUSD))
	}
	return items
}

func firstTwo(rows []api.Mover) string {
	text := "Among the majors, " + rows[0].Name + " trades at " + human.PriceInWords(*rows[0].PriceUSD) + then(rows[0].Change24hPct, "")
	if len(rows) > 1 {
		if rows[0].Change24hPct != nil {
			text += ","
		}
		text += " and " + rows[1].Name + " at " + human.PriceInWords(*rows[1].PriceUSD) + then(rows[1].Change24hPct, "")
	}
	return text + cite(refsOfMovers(rows)...) + "."
}

// others tells the majors behind the first two by direction. loneUp and loneDown say that among all majors one alone rose or fell.
func others(rows []api.Mover, loneUp, loneDown bool) string {
	up, down, still := sides(rows)
	var items []string
	for _, side := range []struct {
		rows []api.Mover
		lone bool
		word string
	}{{up, loneUp, "higher"}, {down, loneDown, "lower"}} {
		if len(side.rows) == 0 {
			continue
		}
		item := and(withChanges(side.rows)) + plural(len(side.rows), " is ", " are ") + side.word
		if side.lone {
			item = "only " + side.rows[0].Name + " is " + side.word + " (" + signed(*side.rows[0].Change24hPct) + ")"
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
func (n *news) venues(m api.Mover) string {
	var items []string
	for _, q := range m.Venues {
		if q.PriceUSD == nil || !citable(n.in, q.Ref) {
			continue
		}
		name := map[string]string{"kraken-ticker": "Kraken", "coinbase-exchange": "Coinbase"}[n.in.Citations[q.Ref-1].SourceID]
		if name != "" {
			items = append(items, "at "+human.PriceInWords(*q.PriceUSD)+" on "+name+cite(q.Ref))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return m.Name + " last traded " + and(items) + "."
}

func addWeek(p *paragraph, rows []api.Mover) {
	rows = filter(slices.Clone(rows), func(m api.Mover) bool { return m.Change7dPct != nil })
	var items []string
	for _, m := range rows {
		items = append(items, fmt.Sprintf("%s is %s", m.Name, moved(*m.Change7dPct)))
	}
	if len(items) > 0 {
		p.add(spare, "Over seven days "+and(items)+cite(refsOfMovers(rows)...)+".")
	}
}

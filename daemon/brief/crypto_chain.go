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

// locked tells where value is locked and where it leaves or arrives.
func (n *news) locked() (p paragraph) {
	of := func(r protocol) string { return r.Group }
	byValue := func(a, b protocol) int { return cmp.Compare(*b.TVLUSD, *a.TVLUSD) }
	top := group(n.ProtocolTVL, api.GroupTop, of)
	slices.SortStableFunc(top, byValue)
	if len(top) > 0 {
		text := "In DeFi, " + top[0].Name + " holds the most value at " + top[0].locked()
		refs := []int{top[0].Ref}
		var items []string
		for _, r := range top[1:min(len(top), 3)] {
			items = append(items, r.Name+" at "+r.locked())
			refs = append(refs, r.Ref)
		}
		if len(items) > 0 {
			text += ", ahead of " + and(items)
		}
		p.add(useful, text+cite(refs...)+".")
	}
	n.shifts(&p, group(n.ProtocolTVL, api.GroupMover, of))
	chains := group(n.ProtocolTVL, api.GroupChain, of)
	slices.SortStableFunc(chains, byValue)
	var items []string
	var refs []int
	for _, r := range chains[:min(len(chains), 3)] {
		items = append(items, r.Name+" holds "+r.locked())
		refs = append(refs, r.Ref)
	}
	for i := 1; i < len(items); i++ {
		items[i] = strings.Replace(items[i], " holds ", " ", 1)
	}
	if len(items) > 0 {
		p.add(detail, "By chain, "+and(items)+cite(refs...)+".")
	}
	return p
}

func (r protocol) tvl() string { return r.says("tvlUsd", human.USDInWords(*r.TVLUSD)) }

// locked is the TVL and how it changed.
func (r protocol) locked() string { return r.tvl() + r.aside("change1dPct", r.Change1dPct) }

// shifts tells the protocols whose value changed most, without those that a flag has told of.
func (n *news) shifts(p *paragraph, rows []protocol) {
	rows = filter(rows, func(r protocol) bool { return r.Change1dPct != nil && !flat(*r.Change1dPct) })
	moving := len(rows)
	rows = filter(rows, func(r protocol) bool { return !n.mentioned[r.Name] })
	other := ""
	if len(rows) < moving {
		other = "other "
	}
	slices.SortStableFunc(rows, func(a, b protocol) int { return cmp.Compare(math.Abs(*b.Change1dPct), math.Abs(*a.Change1dPct)) })
	rows = rows[:min(len(rows), 2)]
	if len(rows) == 0 {
		return
	}
	var items []string
	var refs []int
	for _, r := range rows {
		items = append(items, r.Name+", "+r.says("change1dPct", moved(*r.Change1dPct))+" to "+r.tvl())
		refs = append(refs, r.Ref)
	}
	sharp := useful
	if math.Abs(*rows[0].Change1dPct) < 10 {
		sharp = detail
	}
	p.add(sharp, fmt.Sprintf("The sharpest %smove%s in a day %s %s%s.",
		other, plural(len(rows), "", "s"), plural(len(rows), "is", "are"), strings.Join(items, ", and "), cite(refs...)))
}

// pools tells the first trending pool, those with marks of risk, and the busiest.
func (n *news) pools() (p paragraph) {
	rows := n.TrendingPools
	if len(rows) == 0 {
		return nil
	}
	first := rows[0]
	text := first.Pair + on(first.Network) + " tops the trending pools" + first.then("change24hPct", first.Change24hPct, "")
	var of []string
	if first.Volume24hUSD != nil {
		of = append(of, first.volume()+" of volume")
	}
	if first.LiquidityUSD != nil {
		of = append(of, first.says("liquidityUsd", human.USDInWords(*first.LiquidityUSD))+" of liquidity")
	}
	if len(of) > 0 {
		text += " on " + and(of)
	}
	marked := filter(slices.Clone(rows), func(r pool) bool { return len(r.Risk) > 0 })
	switch {
	case len(first.Risk) > 0:
		text += "; it is marked for its " + and(risks(first.Risk))
	case len(marked) == 0:
		text += "; no pool of the list is marked as risky"
	}
	p.add(useful, text+cite(first.Ref)+".")
	marked = filter(marked, func(r pool) bool { return r.ID != first.ID })
	var items []string
	var refs []int
	for _, r := range marked[:min(len(marked), 3)] {
		why := strings.Join(risks(r.Risk), ", ")
		if r.Change24hPct != nil && !flat(*r.Change24hPct) {
			why = r.says("change24hPct", moved(*r.Change24hPct)) + "; " + why
		}
		items = append(items, r.Pair+" ("+why+")")
		refs = append(refs, r.Ref)
	}
	if len(items) > 0 {
		p.add(useful, plural(len(items), "A risk mark goes", "Risk marks go")+" to "+and(items)+cite(refs...)+".")
	}
	n.busiest(&p)
	return p
}

// busiest tells the pool with the most volume, unless it is the first.
func (n *news) busiest(p *paragraph) {
	traded := filter(slices.Clone(n.TrendingPools), func(r pool) bool { return r.Volume24hUSD != nil })
	slices.SortStableFunc(traded, func(a, b pool) int { return cmp.Compare(*b.Volume24hUSD, *a.Volume24hUSD) })
	if len(traded) > 1 && traded[0].ID != n.TrendingPools[0].ID {
		p.add(spare, fmt.Sprintf("The busiest of them is %s%s, with %s traded%s.",
			traded[0].Pair, on(traded[0].Network), traded[0].volume(), cite(traded[0].Ref)))
	}
}

func (p pool) volume() string { return p.says("volume24hUsd", human.USDInWords(*p.Volume24hUSD)) }

func on(network string) string {
	switch network {
	case "eth":
		return " on Ethereum"
	case "bsc":
		return " on BNB Chain"
	case "polygon_pos":
		return " on Polygon"
	case "solana", "base", "arbitrum", "optimism", "avalanche", "tron", "ton", "sui-network":
		return " on " + sentenceCase(strings.TrimSuffix(network, "-network"))
	}
	if sayable(network, maxName) {
		return " on " + network
	}
	return ""
}

func risks(marks []string) []string {
	var list []string
	for _, m := range marks {
		switch m {
		case api.RiskLowLiquidity:
			list = append(list, "thin liquidity")
		case api.RiskNewPool:
			list = append(list, "young age")
		case api.RiskExtremeMove:
			list = append(list, "extreme move")
		case api.RiskHighTurnover:
			list = append(list, "high turnover")
		default:
			if sayable(m, maxName) {
				list = append(list, strings.ReplaceAll(m, "_", " "))
			}
		}
	}
	return list
}

package tui

import (
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// The members of the crypto pack, named as in the state.
const (
	Movers     Member = "top_movers"
	Protocols  Member = "protocol_tvl"
	Pools      Member = "trending_pools"
	Sentiment  Member = "sentiment"
	Narratives Member = "narratives"
)

// CryptoMembers are all of them in the order in which they are visited.
func CryptoMembers() []Member {
	return []Member{Movers, Protocols, Pools, Sentiment, Narratives, Flags}
}

// CryptoSorts are the orders that movers, protocols and pools can be put in; the first is that of the service.
func CryptoSorts() []string { return []string{asSent, "1 h %", "24 h %", "volume", "value"} }

// crypto fills the table of a member of the crypto pack.
func (p painter) crypto(t *Table, c *api.CryptoState) {
	switch t.Member {
	case Movers:
		t.Columns, t.Rows = p.movers(c.TopMovers)
	case Protocols:
		t.Columns, t.Rows = p.protocols(c.ProtocolTVL)
	case Pools:
		t.Columns, t.Rows = p.pools(c.TrendingPools)
	case Sentiment:
		t.Columns, t.Rows = p.sentiment(&c.Sentiment)
		t.Bare = true
		return
	case Narratives:
		t.Columns, t.Rows = p.narratives(c.Narratives)
		return
	}
	t.Sorts = CryptoSorts()
}

func (p painter) movers(rows []api.Mover) ([]view.Column, []Row) {
	price := 9
	for _, m := range rows {
		price = max(price, view.Width(human.Price(m.PriceUSD)))
	}
	columns := []view.Column{{Title: "ASSET", Width: 8}, {Title: "PRICE", Width: price, Right: true}, {Width: 1},
		{Title: "1h %", Width: 7, Right: true}, {Title: "24h %", Width: 7, Right: true}, {Title: "7d %", Right: true},
		{Title: "VOLUME", Right: true}, {Title: p.trendTitle()}}
	rest := p.width - 8 - price - 1 - 7 - 7 - 5
	const wideTrend = 24 // which goes before more columns
	if rest > wideTrend+7 {
		columns[6].Width, rest = 6, rest-7
	}
	if rest > wideTrend+8 {
		columns[5].Width, rest = 7, rest-8
	}
	const leastTrend = 7
	if rest >= leastTrend {
		columns[7].Width = min(rest, 72)
	}
	if rest < len(columns[7].Title) {
		columns[7].Title = "TREND"
	}
	out := make([]Row, 0, len(rows))
	for i, m := range rows {
		path, key := at(Movers, i), session.Key(string(Movers), m.ID)
		main := path + ".priceUsd"
		out = append(out, Row{Path: path, Main: main, Label: view.Line(m.Symbol), Value: exact(m.PriceUSD),
			Series: key, field: "priceUsd", Ref: m.Ref,
			Find: view.Line(m.Name + " " + m.Group),
			sort: []float64{known(m.Change1hPct), known(m.Change24hPct), known(m.Volume24hUSD), known(m.PriceUSD)},
			cells: []string{
				p.t.Bold.On(view.Cut(view.Line(m.Symbol), 8, p.t.Glyphs.Ellipsis)),
				p.flashed(main, human.Price(m.PriceUSD)), p.mark(main),
				p.change(path+".change1hPct", m.Change1hPct), p.change(path+".change24hPct", m.Change24hPct),
				p.change(path+".change7dPct", m.Change7dPct), human.Compact(m.Volume24hUSD), "",
			}})
	}
	p.trended(columns, out)
	return columns, out
}

func (p painter) protocols(rows []api.ProtocolTVL) ([]view.Column, []Row) {
	columns := []view.Column{{Title: "PROTOCOL"}, {Title: "LOCKED", Width: 6, Right: true}, {Width: 1},
		{Title: "1d %", Width: 6, Right: true}, {Title: "7d %", Width: 6, Right: true}, {Title: p.trendTitle()}}
	rest := p.width - 6 - 1 - 6 - 6 - 4
	if rest < 14 { // the name goes before the week
		columns[4].Width, rest = 0, rest+7
	}
	columns[0].Width = min(max(rest, 8), 18)
	if rest -= columns[0].Width; rest > 8 {
		columns[5].Width = min(rest-1, 40)
	}
	out := make([]Row, 0, len(rows))
	for i, r := range rows {
		path, key := at(Protocols, i), session.Key(string(Protocols), r.ID)
		main := path + ".tvlUsd"
		out = append(out, Row{Path: path, Main: main, Label: view.Line(r.Name), Value: whole(r.TVLUSD),
			Series: key, field: "tvlUsd", Ref: r.Ref,
			Find: view.Line(r.Category + " " + r.Group),
			sort: []float64{known(r.Change1dPct), known(r.Change1dPct), known(r.TVLUSD), known(r.TVLUSD)},
			cells: []string{
				view.Line(r.Name), p.flashed(main, human.Compact(r.TVLUSD)), p.mark(main),
				p.change(path+".change1dPct", r.Change1dPct), p.change(path+".change7dPct", r.Change7dPct),
				"",
			}})
	}
	p.trended(columns, out)
	return columns, out
}

package tui

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// CryptoMember is a member of the state that has a table.
type CryptoMember string

// The members, named as in the state.
const (
	Movers     CryptoMember = "top_movers"
	Protocols  CryptoMember = "protocol_tvl"
	Pools      CryptoMember = "trending_pools"
	Sentiment  CryptoMember = "sentiment"
	Narratives CryptoMember = "narratives"
	Flags      CryptoMember = "flags"
)

// CryptoMembers are all of them in the order in which they are visited.
func CryptoMembers() []CryptoMember {
	return []CryptoMember{Movers, Protocols, Pools, Sentiment, Narratives, Flags}
}

// Title is the name of a member for people.
func (m CryptoMember) Title() string {
	switch m {
	case Movers:
		return "Top movers"
	case Protocols:
		return "Value locked"
	case Pools:
		return "Trending pools"
	case Sentiment:
		return "Sentiment"
	case Narratives:
		return "Narratives"
	}
	return "Flags"
}

// CryptoRow is a row of a table.
type CryptoRow struct {
	Path   string // of the row
	Main   string // of its main value
	Label  string // what it is called
	Value  string // the main value, exact, as it is copied
	Find   string // what filters look in, besides Label
	Series string // key of its numbers over time, "" for none
	URL    string // of its own, "" for that of its source
	Ref    int    // of its source
	Late   string // how old it is where its source is overdue, else ""
	Facts  [][2]string

	cells []string
	sort  []float64 // by CryptoSorts
}

// CryptoTable is the rows of a member.
type CryptoTable struct {
	Member  CryptoMember
	Columns []view.Column
	Rows    []CryptoRow
}

// CryptoSorts are the orders that movers, protocols and pools can be put in; the first is that of the service.
func CryptoSorts() []string { return []string{"as sent", "1 h %", "24 h %", "volume", "value"} }

// Sort puts the rows in one of the orders of CryptoSorts, largest first. Unknown values come last.
func (t *CryptoTable) Sort(by int) {
	if by <= 0 {
		return
	}
	slices.SortStableFunc(t.Rows, func(a, b CryptoRow) int {
		if by > len(a.sort) || by > len(b.sort) {
			return 0
		}
		x, y := a.sort[by-1], b.sort[by-1]
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
}

// Filter keeps the rows that match.
func (t *CryptoTable) Filter(filter string) {
	if filter != "" {
		t.Rows = slices.DeleteFunc(t.Rows, func(r CryptoRow) bool { return !view.Matches(filter, r.Label+" "+r.Find) })
	}
}

// Draw is row i as a line.
func (t *CryptoTable) Draw(th view.Theme, i int) string {
	if late := t.Rows[i].Late; late != "" {
		return view.Marked(th, t.Columns, t.Rows[i].cells, th.Warn.On(late))
	}
	return view.Row(th, t.Columns, t.Rows[i].cells)
}

// NewCryptoTable makes the table of a member in width columns.
func NewCryptoTable(m CryptoMember, s *session.Session, th view.Theme, width int) CryptoTable {
	p := painter{s: s, t: th, width: width - 1}
	t := CryptoTable{Member: m}
	if s.Crypto == nil {
		return t
	}
	switch m {
	case Movers:
		t.Columns, t.Rows = p.movers(s.Crypto.TopMovers)
	case Protocols:
		t.Columns, t.Rows = p.protocols(s.Crypto.ProtocolTVL)
	case Pools:
		t.Columns, t.Rows = p.pools(s.Crypto.TrendingPools)
	case Sentiment:
		t.Columns, t.Rows = p.sentiment(&s.Crypto.Sentiment)
	case Narratives:
		t.Columns, t.Rows = p.narratives(s.Crypto.Narratives)
	case Flags:
		t.Columns, t.Rows = p.flags(s.Crypto.Flags)
	}
	for i, r := range t.Rows {
		if m != Flags || !aboutSource(s.Crypto.Flags[i].Kind) {
			t.Rows[i].Late = s.Late(r.Ref)
		}
	}
	return t
}

// aboutSource reports whether a kind of flag is a warning about a source and no data of it.
func aboutSource(kind string) bool { return kind == api.FlagSourceStale || kind == api.FlagSourceError }

type painter struct {
	s     *session.Session
	t     view.Theme
	width int
}

// mark is the sign of a value that changed in the last seconds, and a space else.
func (p painter) mark(path string) string {
	switch changed, up, down := p.s.Flash(path); {
	case up:
		return p.t.Good.On(p.t.Glyphs.Up)
	case down:
		return p.t.Bad.On(p.t.Glyphs.Down)
	case changed:
		return p.t.Flash.On("*")
	}
	return " "
}

// flashed is value, bold if it changed in the last seconds.
func (p painter) flashed(path, value string) string {
	if changed, _, _ := p.s.Flash(path); changed {
		return p.t.Flash.On(value)
	}
	return value
}

// change is a percent with its sign, coloured by it, bold if it changed in the last seconds.
func (p painter) change(path string, v *float64) string {
	s := human.Change(v)
	if v != nil && *v > 0 {
		s = p.t.Good.On(s)
	} else if v != nil && *v < 0 {
		s = p.t.Bad.On(s)
	}
	return p.flashed(path, s)
}

func (p painter) trend(key string, width int) string {
	values := p.s.Series(key)
	line := view.Sparkline(values, width, p.t.Glyphs)
	if line == "" {
		return ""
	}
	style := p.t.Dim
	if first, last := values[max(0, len(values)-width)], values[len(values)-1]; last > first {
		style = p.t.Good
	} else if last < first {
		style = p.t.Bad
	}
	return style.On(line)
}

func at(m CryptoMember, i int) string { return string(m) + "[" + strconv.Itoa(i) + "]" }

// known is v, or less than every number where it is not known.
func known[T int64 | float64](v *T) float64 {
	if v == nil {
		return -1e300
	}
	return float64(*v)
}

// exact is v in its shortest form, as it stands in the state.
func exact(v *float64) string {
	if v == nil {
		return "null"
	}
	return human.Plain(*v)
}

func whole(n *int64) string {
	if n == nil {
		return "null"
	}
	return strconv.FormatInt(*n, 10)
}

func signed(v *float64) string {
	if v == nil {
		return "not known"
	}
	return human.Change(v) + "%"
}

func dollars(n *int64) string {
	if n == nil {
		return "not known"
	}
	return "$" + human.Compact(n)
}

func (p painter) movers(rows []api.Mover) ([]view.Column, []CryptoRow) {
	columns := []view.Column{{Title: "ASSET", Width: 8}, {Title: "PRICE", Width: 12, Right: true}, {Width: 1},
		{Title: "1h %", Width: 7, Right: true}, {Title: "24h %", Width: 7, Right: true}, {Title: "7d %", Right: true},
		{Title: "VOLUME", Right: true}, {Title: "TREND"}}
	rest := p.width - 8 - 12 - 1 - 7 - 7 - 5
	if rest > 16 {
		columns[6].Width, rest = 6, rest-7
	}
	if rest > 18 {
		columns[5].Width, rest = 7, rest-8
	}
	if rest > 4 {
		columns[7].Width = min(rest, 60)
	}
	out := make([]CryptoRow, 0, len(rows))
	for i, m := range rows {
		path, key := at(Movers, i), session.Key(string(Movers), m.ID)
		price := path + ".priceUsd"
		out = append(out, CryptoRow{Path: path, Main: price, Label: view.Line(m.Symbol), Value: exact(m.PriceUSD), Series: key, Ref: m.Ref,
			Find: view.Line(m.Name + " " + m.Group),
			Facts: [][2]string{
				{"name", view.Line(m.Name)}, {"group", view.Line(m.Group)}, {"price", "$" + human.Price(m.PriceUSD)},
				{"1 hour", signed(m.Change1hPct)}, {"24 hours", signed(m.Change24hPct)}, {"7 days", signed(m.Change7dPct)},
				{"volume", dollars(m.Volume24hUSD)}, {"market cap", dollars(m.MarketCapUSD)},
			},
			sort: []float64{known(m.Change1hPct), known(m.Change24hPct), known(m.Volume24hUSD), known(m.PriceUSD)},
			cells: []string{
				p.t.Bold.On(view.Cut(view.Line(m.Symbol), 8, p.t.Glyphs.Ellipsis)),
				p.flashed(price, human.Price(m.PriceUSD)), p.mark(price),
				p.change(path+".change1hPct", m.Change1hPct), p.change(path+".change24hPct", m.Change24hPct),
				p.change(path+".change7dPct", m.Change7dPct), human.Compact(m.Volume24hUSD), p.trend(key, columns[7].Width),
			}})
	}
	return columns, out
}

func (p painter) protocols(rows []api.ProtocolTVL) ([]view.Column, []CryptoRow) {
	columns := []view.Column{{Title: "PROTOCOL"}, {Title: "LOCKED", Width: 6, Right: true}, {Width: 1},
		{Title: "1d %", Width: 6, Right: true}, {Title: "7d %", Width: 6, Right: true}, {Title: "TREND"}}
	rest := p.width - 6 - 1 - 6 - 6 - 4
	columns[0].Width = min(max(rest, 8), 18)
	if rest -= columns[0].Width; rest > 5 {
		columns[5].Width = min(rest-1, 40)
	}
	out := make([]CryptoRow, 0, len(rows))
	for i, r := range rows {
		path, key := at(Protocols, i), session.Key(string(Protocols), r.ID)
		main := path + ".tvlUsd"
		facts := [][2]string{{"name", view.Line(r.Name)}, {"kind", view.Line(r.Category)}, {"locked", dollars(r.TVLUSD)},
			{"1 day", signed(r.Change1dPct)}, {"7 days", signed(r.Change7dPct)}}
		if r.TopChain != "" {
			facts = append(facts, [2]string{"chains", fmt.Sprintf("%d, most on %s", r.Chains, view.Line(r.TopChain))})
		}
		out = append(out, CryptoRow{Path: path, Main: main, Label: view.Line(r.Name), Value: whole(r.TVLUSD), Series: key, Ref: r.Ref,
			Find: view.Line(r.Category + " " + r.Group), Facts: facts,
			sort: []float64{known(r.Change1dPct), known(r.Change1dPct), known(r.TVLUSD), known(r.TVLUSD)},
			cells: []string{
				view.Line(r.Name), p.flashed(main, human.Compact(r.TVLUSD)), p.mark(main),
				p.change(path+".change1dPct", r.Change1dPct), p.change(path+".change7dPct", r.Change7dPct), p.trend(key, columns[5].Width),
			}})
	}
	return columns, out
}

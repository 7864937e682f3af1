package tui

import (
	"fmt"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

func (p painter) pools(rows []api.TrendingPool) ([]view.Column, []Row) {
	columns := []view.Column{{Title: "POOL"}, {Title: "NETWORK"}, {Title: "24h %", Width: 7, Right: true}, {Width: 1},
		{Title: "VOLUME", Width: 6, Right: true}, {Title: "RISK"}}
	rest := p.width - 7 - 1 - 6 - 3
	columns[0].Width = min(max(rest, 8), 18)
	rest -= columns[0].Width
	if rest > 9 {
		columns[1].Width = 8
		rest -= 9
	}
	longest := 0
	for _, r := range rows {
		longest = max(longest, view.Width(strings.Join(r.Risk, ", ")))
	}
	if longest > 0 && rest > min(longest, 12) {
		columns[5].Width = min(rest-1, 30)
	} else {
		columns[0].Width += rest
	}
	out := make([]Row, 0, len(rows))
	for i, r := range rows {
		path, key := at(Pools, i), session.Key(string(Pools), r.ID)
		main, risk := path+".priceUsd", strings.ReplaceAll(view.Line(strings.Join(r.Risk, ", ")), "_", " ")
		mark := " "
		if risk != "" {
			mark = p.t.Warn.On(p.t.Glyphs.Warn)
		}
		out = append(out, Row{Path: path, Main: main, Label: view.Line(r.Pair), Value: exact(r.PriceUSD),
			Series: key, field: "priceUsd", Ref: r.Ref,
			Find: view.Line(r.Network+" "+r.Dex) + " " + risk,
			sort: []float64{known(r.Change1hPct), known(r.Change24hPct), known(r.Volume24hUSD), known(r.LiquidityUSD)},
			cells: []string{
				view.Line(r.Pair),
				p.t.Dim.On(view.Cut(view.Line(r.Network), columns[1].Width, p.t.Glyphs.Ellipsis)),
				p.change(path+".change24hPct", r.Change24hPct), mark,
				p.flashed(path+".volume24hUsd", human.Compact(r.Volume24hUSD)),
				p.t.Warn.On(view.Cut(risk, columns[5].Width, p.t.Glyphs.Ellipsis)),
			}})
	}
	return columns, out
}

// reading is a row of Sentiment before it has columns.
type reading struct {
	path, label, value, exact, series string
	ref                               int
}

func (p painter) sentiment(s *api.Sentiment) ([]view.Column, []Row) {
	columns := []view.Column{{Title: "READING", Width: min(max(p.width*2/5, 12), 16)}, {Title: "VALUE"}}
	columns[1].Width = max(p.width-columns[0].Width-1, 4)
	list := p.readings(s)
	for i, q := range s.Predictions {
		if q.Probability != nil {
			path := fmt.Sprintf("sentiment.predictions[%d].probability", i)
			said := fmt.Sprintf("%.0f%% %s", *q.Probability*100, view.Line(q.Says()))
			list = append(list, reading{path, said, view.Line(q.Question), exact(q.Probability), "", q.Ref})
		}
	}
	out := make([]Row, 0, len(list))
	for _, r := range list {
		value := p.flashed(r.path, r.value)
		room := columns[1].Width - view.Width(r.value) - 2
		if line := p.trend(r.series, 0, min(room, 12)); r.series != "" && room > 3 && line != "" {
			value += " " + line
		}
		out = append(out, Row{Path: parent(r.path), Main: r.path, Label: r.label, Value: r.exact, Series: r.series, Ref: r.ref,
			cells: []string{r.label, value}})
	}
	return columns, out
}

// readings are those that have a place of their own.
func (p painter) readings(s *api.Sentiment) []reading {
	var list []reading
	if g := s.FearGreed; g != nil {
		value := fmt.Sprint(g.Value)
		if g.PreviousDay != nil {
			value += fmt.Sprintf(" (%+d)", g.Value-*g.PreviousDay)
		}
		value += " " + strings.ToLower(view.Line(g.Label))
		list = append(list, reading{"sentiment.fearGreed.value", "Fear & Greed", value, fmt.Sprint(g.Value), session.KeyFearGreed, g.Ref})
	}
	if m := s.Market; m != nil {
		value := dollars(m.TotalMarketCapUSD) + " " + signed(m.Change24hPct)
		list = append(list,
			reading{"sentiment.market.totalMarketCapUsd", "Market cap", value, whole(m.TotalMarketCapUSD), session.KeyMarket, m.Ref},
			reading{"sentiment.market.btcDominancePct", "BTC share", share(m.BTCDominancePct), exact(m.BTCDominancePct), "", m.Ref},
			reading{"sentiment.market.ethDominancePct", "ETH share", share(m.ETHDominancePct), exact(m.ETHDominancePct), "", m.Ref})
	}
	if b := s.Breadth; b != nil {
		value := fmt.Sprintf("%d up, %d down", b.Advancing, b.Declining)
		list = append(list, reading{"sentiment.breadth.advancing", "Coins up", value, fmt.Sprint(b.Advancing), "", b.Ref})
	}
	if c := s.Stablecoins; c != nil {
		value := dollars(c.SupplyUSD) + " " + signed(c.Change1dPct)
		list = append(list, reading{"sentiment.stablecoins.supplyUsd", "Stablecoins", value, whole(c.SupplyUSD), "", c.Ref})
	}
	if f := s.Fees; f != nil && f.BTCFastestSatVb != nil {
		value := exact(f.BTCFastestSatVb)
		list = append(list, reading{"sentiment.fees.btcFastestSatVb", "Bitcoin fee", value + " sat/vB", value, session.KeyFee, f.Ref})
	}
	if g := s.Gas; g != nil && g.ETHAverageGwei != nil {
		value := exact(g.ETHAverageGwei)
		list = append(list, reading{"sentiment.gas.ethAverageGwei", "Ethereum gas", value + " gwei", value, "", g.Ref})
	}
	return list
}

func share(v *float64) string {
	if v == nil {
		return "not known"
	}
	return human.Share(v)
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '.'); i > 0 {
		return path[:i]
	}
	return path
}

func (p painter) narratives(rows []api.Narrative) ([]view.Column, []Row) {
	columns := []view.Column{{Title: "THEME"}, {Title: "SCORE", Width: 5, Right: true}, {Width: 1},
		{Title: "24h %", Width: 6, Right: true}, {Title: ""}}
	rest := p.width - 16
	if p.width < 36 { // the bar says the score too
		columns[1].Width, rest = 0, rest+6
	}
	longest := 18
	for _, n := range rows {
		longest = max(longest, view.Width(view.Line(n.Name)))
	}
	columns[0].Width = min(max(rest-6, 8), longest)
	if rest -= columns[0].Width; rest > 4 {
		columns[4].Width = min(rest, 12)
	}
	out := make([]Row, 0, len(rows))
	for i, n := range rows {
		path := at(Narratives, i)
		find, url := "", ""
		for j, h := range n.Headlines {
			find += " " + view.Line(h.Title)
			if j == 0 {
				url = h.URL
			}
		}
		bar := strings.TrimRight(view.Bar(n.Score, columns[4].Width, p.t.Glyphs), p.t.Glyphs.Empty)
		out = append(out, Row{Path: path, Main: path + ".score", Label: view.Line(n.Name), Value: exact(&n.Score),
			Series: session.Key(string(Narratives), n.ID), field: "marketCapUsd", Ref: n.Ref, URL: url, Find: find,
			cells: []string{
				view.Line(n.Name), p.flashed(path+".score", fmt.Sprintf("%.2f", n.Score)), p.direction(n.Direction),
				p.change(path+".change24hPct", n.Change24hPct), p.t.Accent.On(bar),
			}})
	}
	return columns, out
}

func (p painter) direction(d string) string {
	switch d {
	case api.DirectionUp:
		return p.t.Good.On(p.t.Glyphs.Up)
	case api.DirectionDown:
		return p.t.Bad.On(p.t.Glyphs.Down)
	}
	return " "
}

func (p painter) flags(rows []api.Flag) ([]view.Column, []Row) {
	columns := []view.Column{{Title: "", Width: 1}, {Title: "SINCE", Width: 6, Right: true}, {Title: "WHAT", Width: max(p.width-9, 8)}}
	out := make([]Row, 0, len(rows))
	for i, f := range rows {
		path := at(Flags, i)
		said := view.Line(f.Message)
		out = append(out, Row{Path: path, Main: path + ".message", Label: view.Line(f.Subject), Value: said, Ref: f.Ref,
			Find: view.Line(string(f.Severity) + " " + f.Kind + " " + f.Message),
			Facts: [][2]string{
				{"flag", said}, {"severity", view.Line(string(f.Severity))},
				{"value", figure(f.Value, f.Unit)}, {"limit", figure(f.Threshold, f.Unit)},
				{"since", f.Since.In(p.s.Now.Location()).Format("Jan 2, 15:04:05")},
			},
			cells: []string{Severity(p.t, f.Severity), human.Age(p.s.ServiceNow().Sub(f.Since)),
				view.CutWhole(said, columns[2].Width, p.t.Glyphs.Ellipsis)}})
	}
	return columns, out
}

func figure(x float64, unit string) string {
	switch unit {
	case "usd":
		return human.USD(x)
	case "pct":
		return human.Plain(x) + "%"
	}
	return human.Plain(x) + " " + view.Line(unit)
}

// Severity is how grave a flag is, as a sign: one for each, so that it does not need its colour.
func Severity(t view.Theme, s api.Severity) string {
	switch s {
	case api.SeverityCritical:
		return t.Bad.On(t.Glyphs.Bad)
	case api.SeverityWarning:
		return t.Warn.On(t.Glyphs.Warn)
	}
	return t.Dim.On("i")
}

package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// thing is a row as upstream has it: all that the raw payloads say of one subject.
type thing struct {
	kind, key, name, symbol string
	numbers                 map[string]fact
	texts                   map[string]string // what conditions ask for beside numbers
}

// things are the facts of a moment by subject, in their order.
func things(facts []fact) (list []*thing) {
	at := map[string]*thing{}
	for _, f := range facts {
		t := at[f.kind+"/"+f.key]
		if t == nil {
			t = &thing{f.kind, f.key, f.name, f.symbol, map[string]fact{}, map[string]string{}}
			at[f.kind+"/"+f.key] = t
			list = append(list, t)
		}
		if f.text == "" || f.field != "" {
			t.numbers[f.field] = f
		} else {
			t.texts["text"] = f.text
		}
	}
	return list
}

// cryptoThings are those of the crypto pack.
func (r *raw) cryptoThings() []*thing {
	var facts []fact
	texts := map[string]map[string]string{}
	say := func(f fact, name, text string) {
		id := f.kind + "/" + f.key
		if texts[id] == nil {
			texts[id] = map[string]string{}
		}
		texts[id][name] = text
	}
	add := func(base fact, field string, value *float64, s slack) {
		if value != nil {
			facts = append(facts, base.of(field, *value, s))
		}
	}
	stable := map[string]bool{}
	for _, s := range r.stables {
		base, amount := s.fact(0), s.Circulating[s.PegType]
		stable[s.ID] = true
		say(base, "peg", s.PegType)
		add(base, "priceUsd", s.Price, price)
		if s.Price != nil && s.PegType == "peggedUSD" {
			off := (*s.Price - 1) * 100
			add(base, "pegDeviationPct", &off, percent)
		}
		add(base, "supplyUsd", &amount, whole)
	}
	for _, c := range r.coins {
		base := c.fact(0)
		if stable[c.ID] {
			say(base, "stable", "1")
		}
		add(base, "priceUsd", &c.Price, price)
		add(base, "change1hPct", c.Hour, percent)
		add(base, "change24hPct", c.Day, percent)
		add(base, "change7dPct", c.Week, percent)
		add(base, "marketCapUsd", &c.Cap, whole)
		add(base, "volume24hUsd", &c.Volume, whole)
		add(base, "rank", &c.Rank, exact)
	}
	for _, p := range r.protocols {
		base := p.fact(0)
		say(base, "category", p.Category)
		if p.excluded() {
			say(base, "excluded", "1")
		}
		add(base, "tvlUsd", &p.TVL, whole)
		add(base, "change24hPct", p.Day, percent)
		add(base, "change7dPct", p.Week, percent)
	}
	for _, c := range r.chains {
		add(c.fact(0), "tvlUsd", &c.TVL, whole)
	}
	for i, p := range r.pools {
		base := fact{kind: "pool", key: p.ID, name: p.Attributes.Name}
		a, position := p.Attributes, float64(i+1)
		for field, text := range map[string]string{
			"priceUsd": a.Price, "volume24hUsd": a.Volume.H24, "liquidityUsd": a.Reserve, "change1hPct": a.Changes.H1.String(),
			"change24hPct": a.Changes.H24.String(),
		} {
			if x := atof(text); !math.IsNaN(x) {
				add(base, field, &x, map[string]slack{
					"priceUsd": price, "change1hPct": percent, "change24hPct": percent, "volume24hUsd": whole, "liquidityUsd": whole,
				}[field])
			}
		}
		txns := a.Transactions.H24.Buys + a.Transactions.H24.Sells
		add(base, "txns24h", &txns, exact)
		add(base, "position", &position, exact)
	}
	for _, h := range r.hacks {
		day := time.Unix(h.Date, 0).UTC().Format(time.DateOnly)
		base := fact{kind: "hack", key: day + " " + h.Name, name: h.Name}
		say(base, "date", day)
		date := float64(h.Date)
		add(base, "amountUsd", h.Amount, whole)
		add(base, "date", &date, moment)
	}
	facts = slices.Concat(facts, r.categories, r.global, r.rest, r.odds, r.coinbase)
	list := things(facts)
	for _, t := range list {
		maps.Copy(t.texts, texts[t.kind+"/"+t.key])
	}
	return list
}

// want is one part of what a question asks for. A part is rows by kind and key, rows by an order, all rows of a condition, an aggregate,
// news, flags, what is told about a subject, or a refusal with its reason.
type want struct {
	Kind      string   `json:"kind"`
	Keys      []string `json:"keys"`
	Fields    []string `json:"fields"` // of each row; none: any
	At        string   `json:"at"`     // a moment, or two that are the ends of a span
	Over      string   `json:"over"`   // the change of the first field since then
	One       bool     `json:"one"`    // one of the keys is enough
	Order     string   `json:"order"`
	Place     int      `json:"place"` // the first of the rows in the order, from 1
	Limit     int      `json:"limit"`
	Where     []string `json:"where"`
	All       bool     `json:"all"`
	Agg       string   `json:"agg"`
	News      bool     `json:"news"`
	Source    string   `json:"source"`
	Words     string   `json:"words"`
	Newest    bool     `json:"newest"`
	Not       string   `json:"not"`
	Flag      string   `json:"flag"`
	FlagOf    string   `json:"flagOf"`
	About     string   `json:"about"`
	Refuse    string   `json:"refuse"`
	MayRefuse bool     `json:"mayRefuse"` // a reader could take it as unclear, or it need not be kept
}

// where are the things that a part's conditions hold of.
func (w want) where(list []*thing) (found []*thing) {
	for _, t := range list {
		if t.kind == w.Kind && !slices.ContainsFunc(w.Where, func(c string) bool { return !t.meets(c) }) {
			found = append(found, t)
		}
	}
	return found
}

// rounded is f's value as the contract rounds it, where that can make it 0.
func (f fact) rounded() float64 {
	if f.slack == percent {
		return math.Round(f.value*100) / 100
	}
	return f.value
}

// meets reports whether a condition, such as rank<=20, holds of t.
func (t *thing) meets(condition string) bool {
	for _, op := range []string{"!~", "!=", "<=", ">=", "~", "=", "<", ">"} {
		name, value, found := strings.Cut(condition, op)
		if !found {
			continue
		}
		text, known := map[string]string{"key": t.key, "name": t.name, "symbol": t.symbol}[name]
		if !known {
			text, known = t.texts[name]
		}
		f, number := t.numbers[name]
		x := f.rounded()
		limit, err := strconv.ParseFloat(value, 64)
		switch op {
		case "!~":
			return !strings.Contains(text, value)
		case "!=":
			return text != value
		case "~":
			return known && strings.Contains(text, value)
		case "=":
			return known && text == value
		case "<=":
			return number && err == nil && x <= limit
		case ">=":
			return number && err == nil && x >= limit
		case "<":
			return number && err == nil && x < limit
		case ">":
			return number && err == nil && x > limit
		}
	}
	return false
}

// ordered are the things of a part in its order.
func (w want) ordered(list []*thing) []*thing {
	field, most := strings.CutPrefix(w.Order, "-")
	found := slices.DeleteFunc(w.where(list), func(t *thing) bool { _, is := t.numbers[field]; return !is })
	slices.SortStableFunc(found, func(a, b *thing) int {
		x, y := a.numbers[field].value, b.numbers[field].value
		if most {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
	from := min(max(w.Place-1, 0), len(found))
	return found[from:min(from+w.Limit, len(found))]
}

// is reports whether t is what a row is about.
func (t *thing) is(row map[string]any) bool {
	return t.kind == str(row, "kind") && (t.key == str(row, "key") || t.kind == "chain" && t.name == str(row, "name"))
}

// of is the thing that a row is about, nil if upstream has none.
func of(list []*thing, row map[string]any) *thing {
	if i := slices.IndexFunc(list, func(t *thing) bool { return t.is(row) }); i >= 0 {
		return list[i]
	}
	return nil
}

// keyed is the thing of a kind with a key, which may go without what its source puts before or behind it: the day of a release, the tag of
// a version.
func keyed(list []*thing, kind, key string) *thing {
	for _, t := range list {
		if t.kind == kind && (t.key == key || t.name == key || kind == "release" && (strings.HasSuffix(t.key, "-"+key) ||
			strings.HasPrefix(t.key, key+"/"))) {
			return t
		}
	}
	return nil
}

// amounts are what an aggregate may be: several where its words leave open what is counted.
func (w want) amounts(list []*thing) (all []float64) {
	if w.Kind == "stablecoin" && w.Agg == "sum" && len(w.Where) == 0 { // of the dollar, or all
		dollar := w
		dollar.Where = []string{"peg=peggedUSD"}
		all = dollar.amounts(list)
	}
	if slices.Contains([]string{"up", "down", "breadth"}, w.Agg) {
		for _, without := range []func(t *thing) bool{
			func(*thing) bool { return false }, func(t *thing) bool { return t.texts["stable"] != "" },
			func(t *thing) bool { // that have the price of another coin
				return t.texts["stable"] != "" || slices.Contains([]string{"staked-ether", "wrapped-bitcoin", "weth"}, t.key)
			},
		} {
			up, down := 0.0, 0.0
			for _, t := range list {
				if day := t.numbers["change24hPct"].rounded(); t.kind == "asset" && !without(t) && day > 0 {
					up++
				} else if t.kind == "asset" && !without(t) && day < 0 {
					down++
				}
			}
			all = append(all, map[string][]float64{"up": {up}, "down": {down}, "breadth": {up, down, 100 * up / (up + down)}}[w.Agg]...)
		}
		return all
	}
	found := w.where(list)
	if w.Agg == "count" {
		return []float64{float64(len(found))}
	}
	sum, n := 0.0, 0.0
	for _, t := range found {
		if f, is := t.numbers[w.Fields[0]]; is {
			sum += f.value
			n++
		}
	}
	if w.Agg == "avg" {
		return []float64{sum / n}
	}
	return append(all, sum)
}

// moments are the ends of the span in which a part's moment lies: a tick may be as far from it as states are apart.
func moments(text string, now time.Time) (from, until time.Time, err error) {
	const apart = 5*time.Minute + 30*time.Second
	if text == "yesterday" {
		return now.Add(-24 * time.Hour).Truncate(24 * time.Hour), now.Truncate(24 * time.Hour).Add(-time.Second), nil
	}
	first, last, span := strings.Cut(text, "..")
	at := func(text string) (time.Time, error) {
		if back, relative := strings.CutPrefix(text, "-"); relative {
			if days, is := strings.CutSuffix(back, "d"); is {
				n, err := strconv.Atoi(days)
				return now.AddDate(0, 0, -n), err
			}
			d, err := time.ParseDuration(back)
			return now.Add(-d), err
		}
		return time.Parse("2006-01-02T15:04", text)
	}
	if from, err = at(first); err != nil {
		return from, until, fmt.Errorf("read moment %q: %w", text, err)
	}
	if !span {
		return from.Add(-apart), from.Add(apart), nil
	}
	until, err = at(last)
	return from, until, err
}

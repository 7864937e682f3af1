package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// queried are the tables that queries of tests are asked of, and where their rows stand in states.
func queried() (*state.Tables, []state.Shown) {
	usd := []state.ShownField{{Name: "priceUsd"}, {Name: "change24hPct"}}
	at := func(hour int) time.Time { return time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC) }
	coin := func(key, symbol string, price, day float64) state.Row {
		return state.Row{Kind: "asset", Key: key, Entity: key, Name: strings.ToUpper(key[:1]) + key[1:], Symbol: symbol, Size: price,
			Ref: 1,
			URL: "https://coins.test/" + key, Fields: api.Fields{{Name: "priceUsd", Value: price}, {Name: "change24hPct", Value: day}}}
	}
	protocol := func(key, category string, tvl int64) state.Row {
		return state.Row{Kind: "protocol", Key: key, Name: key, Size: float64(tvl), Ref: 2,
			Fields: api.Fields{{Name: "tvlUsd", Value: tvl}, {Name: "category", Value: category}}}
	}
	wrapped := coin("wrapped", "WBTC", 90_000, 9)
	wrapped.Echo = true
	silent := coin("silent", "SIL", 1, 0)
	silent.Fields = silent.Fields[:1]
	return state.NewTables([]state.Kind{
			{Name: "asset", Size: "priceUsd", Fields: []state.Field{{Name: "priceUsd"}, {Name: "change24hPct"}}},
			{Name: "protocol", Size: "tvlUsd", Group: "category", Fields: []state.Field{{Name: "tvlUsd"}, {Name: "category"}}},
			{Name: "headline", Size: "publishedAt", Own: true}, {Name: "hack", Own: true}, {Name: "empty",
				Fields: []state.Field{{Name: "priceUsd"}}},
		}, []state.Row{
			coin("bitcoin", "BTC", 91_000, 0.5), coin("ether", "ETH", 3_000, -2.25), coin("solana", "SOL", 150, 7), wrapped, silent,
			protocol("aave", "Lending", 30), protocol("morpho", "lending", 12), protocol("lido", "Liquid Staking", 40),
			{Kind: "headline", Key: "h1", Name: "Bitcoin falls, ether too", Size: 1, Fields: api.Fields{{Name: "publishedAt",
				Value: at(9)}}},
			{Kind: "headline", Key: "h2", Name: "A quiet day", Size: 2, Fields: api.Fields{{Name: "publishedAt", Value: at(11)}}},
			{Kind: "hack", Key: "x", Name: "X", Fields: api.Fields{{Name: "date", Value: "2026-11-03"}, {Name: "amountUsd",
				Value: int64(5)}}},
			{Kind: "hack", Key: "y", Name: "Y", Fields: api.Fields{{Name: "date", Value: "2026-10-30"}, {Name: "amountUsd",
				Value: int64(7)}}},
		}), []state.Shown{
			{Kind: "asset", Path: "coins", Label: "name", Fields: usd}, {Kind: "protocol", Path: "locked", Label: "name",
				Fields: []state.ShownField{{Name: "tvlUsd"}}},
		}
}

// pulseOf is a state of coins, written as key price change24hPct, with a flag and the status of a source.
func pulseOf(hour int, coins ...string) state.Pulse {
	var rows []string
	for _, c := range coins {
		var key string
		var price, day float64
		fmt.Sscan(c, &key, &price, &day)
		rows = append(rows, fmt.Sprintf(`{"id":%q,"name":%q,"symbol":"S","priceUsd":%v,"change24hPct":%v,"ref":1}`, key, key, price, day))
	}
	return state.Pulse{
		GeneratedAt: time.Date(2026, 11, 20, hour, 0, 2, 0, time.UTC), Citations: []api.Citation{{Ref: 1, URL: "https://coins.test/"}},
		State: fmt.Appendf(nil, `{"coins":[%s],"locked":[],"flags":[
			{"id":"f1","kind":"price_move","severity":"warning","subject":"Zcash","value":9.5,"unit":"pct","since":"2026-11-20T08:00:00Z","message":"Zcash moved","ref":1},
			{"id":"f2","kind":"depeg","severity":"critical","subject":"X","value":3,"unit":"pct","since":"2026-11-20T08:30:00Z","message":"X lost its peg","ref":1}],
			"source_status":[{"ref":1,"id":"coins","status":"stale","fetchedAt":"2026-11-20T07:59:00Z","items":3,"failures":2}]}`, strings.Join(rows, ",")),
	}
}

// rowQuery reads one that is written as its parameters, with spaces in place of &, and + for a space.
func rowQuery(t testing.TB, text string) (q api.RowQuery) {
	t.Helper()
	for part := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(strings.ReplaceAll(part, "+", " "), ":")
		switch name {
		case "table":
			q.Table = value
		case "where":
			c, err := api.ParseCondition(value)
			if err != nil {
				t.Fatal(err)
			}
			q.Where = append(q.Where, c)
		case "fields":
			q.Fields = strings.Split(value, ",")
		case "order":
			q.Order = value
		case "agg":
			q.Agg = strings.Split(value, ",")
		case "limit":
			fmt.Sscan(value, &q.Limit)
		case "at":
			q.At = value
		case "over":
			q.Over = value
		}
	}
	return q
}

// answered writes an answer in a line: rows with what became of them, aggregates, and what is missing.
func answered(t *testing.T, q api.RowQuery, a state.Queried) string {
	t.Helper()
	var b strings.Builder
	for i, r := range a.Rows {
		b.WriteString([]string{"", " "}[min(i, 1)] + r.Key)
		for _, f := range q.Fields {
			fmt.Fprintf(&b, " %v", r.Fields.Get(f))
			if m, moved := r.Over[f]; moved {
				text, _ := json.Marshal(m)
				b.Write(text)
			}
		}
	}
	fmt.Fprintf(&b, " of %d", a.Total)
	for _, agg := range q.Agg {
		text, _ := json.Marshal(a.Aggregates[agg])
		fmt.Fprintf(&b, "; %s %s", agg, text)
	}
	for _, m := range a.Missing {
		fmt.Fprintf(&b, "; %s %s", m.What, m.Why)
	}
	return b.String()
}

// TestQuery: conditions of every type, orders, aggregates, moments and spans.
func TestQuery(t *testing.T) {
	t.Parallel()
	tables, shown := queried()
	now := pulseOf(12, "bitcoin 91000 0.5", "ether 3000 -2.25")
	then := pulseOf(6, "bitcoin 90000 1", "doge 0.25 3", "ether 2500 -1")
	for text, want := range map[string]string{
		"table:asset": "bitcoin wrapped ether solana silent of 5",
		"table:Assets where:symbol+=+btc fields:priceUsd":            "bitcoin 91000 of 1",
		"table:asset where:symbol+in+(SOL,+eth) order:priceUsd":      "solana ether of 2",
		"table:asset where:change24hPct>=0.5 where:derivative=false": "bitcoin solana of 2",
		"table:asset where:change24hPct!=7":                          "bitcoin wrapped ether of 3",
		"table:asset order:-change24hPct limit:2":                    "wrapped solana of 5",
		"table:asset order:change24hPct":                             "ether bitcoin solana wrapped silent of 5",
		"table:asset where:name+=+doge agg:count,sum:priceUsd,avg:priceUsd,max:priceUsd": ` of 0; count {"value":0,"rows":0}; sum:priceUsd {"value":null,"rows":0}; ` +
			`avg:priceUsd {"value":null,"rows":0}; max:priceUsd {"value":null,"rows":0}`,
		"table:protocol where:group=Lending agg:sum:tvlUsd,avg:tvlUsd,min:tvlUsd,count": `aave morpho of 2; sum:tvlUsd {"value":42,"rows":2}; ` +
			`avg:tvlUsd {"value":21,"rows":2}; min:tvlUsd {"value":12,"rows":2,"row":"protocol/morpho"}; count {"value":2,"rows":2}`,
		"table:protocol where:category~staking":                                "lido of 1",
		"table:headlines where:name~ether where:publishedAt<2026-11-20T10:00Z": "h1 of 1",
		"table:headline where:publishedAt=2026-11-20":                          "h2 h1 of 2",
		"table:headline where:publishedAt<=2026-11-20T09:00":                   "h1 of 1",
		"table:headline where:publishedAt>2026-11-20T09:00":                    "h2 of 1",
		"table:hack where:date>=2026-11-01 fields:amountUsd":                   "x 5 of 1",
		"table:hack order:-date":                                               "x y of 2",
		"table:flags where:severity>=warning order:-severity fields:subject":   "f2 X f1 Zcash of 2",
		"table:flags where:group=depeg agg:count":                              `f2 of 1; count {"value":1,"rows":1}`,
		"table:sources where:status!=ok fields:failures":                       "coins 2 of 1",
		"table:empty": " of 0",

		"table:asset at:x":                                          "bitcoin ether doge of 3; asset not_kept",
		"table:asset at:x where:key=bitcoin":                        "bitcoin of 1",
		"table:asset at:x where:symbol+in+SOL,SIL":                  " of 0; asset/solana not_kept; asset/silent not_kept",
		"table:asset at:x where:key=doge":                           "doge of 1",
		"table:protocol at:x where:group=Lending fields:tvlUsd":     " of 0; protocol.category not_kept; protocol not_kept",
		"table:protocol at:x where:key=aave fields:category,tvlUsd": " of 0; protocol.category not_kept; protocol/aave not_kept",
		"table:hack at:x":                                           " of 0; hack not_kept",
		"table:asset at:x where:derivative=false":                   " of 0; asset.derivative not_kept; asset not_kept",
		"table:flags at:x":                                          "f1 f2 of 2",
		"table:asset at:x order:-change24hPct where:key!=ether":     "doge bitcoin of 2; asset not_kept",

		"table:asset over:6h where:key=ether fields:priceUsd,change24hPct": `ether 3000{"from":2500,"change":500,"changePct":20} ` +
			`-2.25{"from":-1,"change":-1.25} of 1`,
		"table:asset over:6h fields:priceUsd order:-changePct limit:2": `ether 3000{"from":2500,"change":500,"changePct":20} ` +
			`bitcoin 91000{"from":90000,"change":1000,"changePct":1.11} of 5`,
		"table:asset over:6h where:symbol=SOL": "solana of 1; asset/solana not_kept",
		"table:hack over:6h":                   "x y of 2; hack not_kept",
		"table:asset over:6h where:key=bitcoin agg:max:priceUsd,min:priceUsd": `bitcoin of 1; max:priceUsd {"value":95000.5,"rows":1,"row":"asset/bitcoin",` +
			`"at":"2026-11-20T09:00:02Z","states":2}; min:priceUsd {"value":90000,"rows":1,"row":"asset/bitcoin","at":"2026-11-20T06:00:02Z","states":2}`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			q, err := tables.Complete(rowQuery(t, text))
			if err != nil {
				t.Fatal(err)
			}
			asked := state.Asked{Query: q, Tables: tables, Shown: shown, State: now}
			if q.At != "" {
				asked.State, asked.Past = then, true
			}
			if q.Over != "" {
				asked.Before = &then
			}
			passes := 0
			if state.Spans(q) {
				middle := pulseOf(9, "bitcoin 95000.5 1", "ether 9000000 1")
				asked.Through = func(yield func(state.Pulse, error) bool) {
					passes++
					_ = yield(state.Pulse{}, nil) && yield(then, nil) && yield(then, nil) && yield(middle, nil)
				}
			}
			a, err := state.Query(asked)
			if err != nil {
				t.Fatal(err)
			}
			if got := answered(t, q, a); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if passes > 1 {
				t.Errorf("the states of the span are read %d times", passes)
			}
		})
	}
}

// TestQueryText: a query in a line, and what is written out.
func TestQueryText(t *testing.T) {
	t.Parallel()
	tables, _ := queried()
	for text, want := range map[string]string{
		"table:asset":                          "assets | -priceUsd 10",
		"table:asset order:-priceUsd limit:10": "assets | -priceUsd 10",
		"table:asset where:symbol=BTC fields:priceUsd at:12:00Z":  "assets where symbol = BTC, field priceUsd, at 12:00Z | -priceUsd 10",
		"table:protocols where:group=Liquid+Staking agg:count":    `protocols where category = "Liquid Staking", count | -tvlUsd 10`,
		"table:asset where:symbol+in+a,b+c limit:3 order:symbol":  `assets where symbol in (a, "b c"), order symbol, limit 3 | symbol 3`,
		"table:asset fields:name,priceUsd over:24h where:name~x,": `assets where name ~ "x,", fields name priceUsd, over 24h | -priceUsd 10`,
	} {
		q, err := tables.Complete(rowQuery(t, text))
		if got := fmt.Sprintf("%s | %s %d", q.Text, q.Order, q.Limit); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestQueryRefused: what is wrong, and what there is.
func TestQueryRefused(t *testing.T) {
	t.Parallel()
	tables, _ := queried()
	for text, want := range map[string]struct {
		reason api.Reason
		there  string
	}{
		"table:coins":                            {api.ReasonInvalidTable, "asset, protocol, headline, hack, empty, flags, sources"},
		"table:":                                 {api.ReasonInvalidTable, "asset, protocol"},
		"table:asset where:tvlUsd>1":             {api.ReasonInvalidWhere, "priceUsd, change24hPct"},
		"table:asset where:group=x":              {api.ReasonInvalidWhere, "priceUsd"},
		"table:asset where:priceUsd=NaN":         {api.ReasonInvalidWhere, "priceUsd"},
		"table:asset where:priceUsd<1e999":       {api.ReasonInvalidWhere, "priceUsd"},
		"table:asset where:priceUsd<0x10":        {api.ReasonInvalidWhere, "priceUsd"},
		"table:asset where:priceUsd~1":           {api.ReasonInvalidWhere, "priceUsd"},
		"table:asset where:name<b":               {api.ReasonInvalidWhere, "priceUsd"},
		"table:asset where:name~!!":              {api.ReasonInvalidWhere, "priceUsd"},
		"table:headline where:publishedAt>today": {api.ReasonInvalidWhere, "publishedAt"},
		"table:asset where:derivative=1":         {api.ReasonInvalidWhere, "derivative"},
		"table:flags where:severity>high":        {api.ReasonInvalidWhere, "severity"},
		"table:asset fields:priceUsd,tvlUsd":     {api.ReasonInvalidField, "priceUsd"},
		"table:asset order:-tvlUsd":              {api.ReasonInvalidOrder, "priceUsd"},
		"table:asset order:changePct":            {api.ReasonInvalidOrder, "over=24h"},
		"table:asset agg:median:priceUsd":        {api.ReasonInvalidAgg, "count, sum:field"},
		"table:asset agg:count:priceUsd":         {api.ReasonInvalidAgg, "count, sum:field"},
		"table:asset agg:sum:name":               {api.ReasonInvalidAgg, "priceUsd"},
		"table:asset agg:sum:tvlUsd":             {api.ReasonInvalidAgg, "priceUsd"},
		"table:flags over:1h":                    {api.ReasonInvalidOver, "changes"},
	} {
		_, err := tables.Complete(rowQuery(t, text))
		if e := (*api.Error)(nil); !errors.As(err, &e) || e.Reason != want.reason || !strings.Contains(e.Hint, want.there) {
			t.Errorf("%s: %+v, want %s with %q", text, err, want.reason, want.there)
		}
	}
}

// TestSchema: the types of fields, and which of them states have.
func TestSchema(t *testing.T) {
	t.Parallel()
	tables, shown := queried()
	var b strings.Builder
	for _, s := range tables.Schema(shown) {
		fmt.Fprintf(&b, "%s %d %s %s:", s.Table, s.Rows, s.Group, s.Order)
		for _, f := range s.Fields {
			fmt.Fprintf(&b, " %s %s %v", f.Name, f.Type, f.Past)
		}
		b.WriteByte('\n')
	}
	for _, want := range []string{
		"asset 5  -priceUsd: priceUsd number true change24hPct number true derivative boolean false\n",
		"protocol 3 category -tvlUsd: tvlUsd number true category text false\n",
		"hack 2  : date time false amountUsd number false\n", "empty 0  : priceUsd number false\n", "flags 0 kind : severity severity true",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}

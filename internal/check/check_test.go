package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/check"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestCitedRow: where no word says what is measured, what a cited row says now verifies a figure, and what it once said does not.
func TestCitedRow(t *testing.T) {
	t.Parallel()
	kinds := []state.Kind{{Name: "deal", Fields: []state.Field{
		{Name: "feePct", Words: []string{"fee"}}, {Name: "sharePct", Words: []string{"share"}}}}}
	rows := []state.Row{{Kind: "deal", Key: "widget", Entity: "widget", Name: "Widget", Ref: 1,
		Fields: api.Fields{{Name: "feePct", Value: 4.0}, {Name: "sharePct", Value: 61.0}}}}
	at := time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)
	m := check.Material{At: at, Tables: state.NewTables(kinds, rows), State: state.Read([]byte(`{}`)), Within: api.CheckWithin, All: true,
		Earlier: func(_, _, field string) []state.Point {
			return map[string][]state.Point{"feePct": {{At: at.Add(-5 * time.Minute), Value: 5.2}}}[field]
		}}
	for _, c := range []struct{ text, want string }{
		{"Widget gives 4% [1].", "verified"}, {"Widget gives 61% [1].", "verified"}, {"Widget gives 4% [2].", "unknown no_such_field"},
		{"Widget gives 4%.", "unknown no_such_field"}, {"Widget gives 5.2% [1].", "unknown ambiguous_field"},
		{"Widget is at 30% [1].", "unknown ambiguous_field"}, {"The fee of Widget is 5.2% [1].", "verified"},
	} {
		f := check.Judge(c.text, m).Findings[0]
		if got := strings.TrimSpace(string(f.Verdict) + " " + string(f.Reason)); got != c.want {
			t.Errorf("%q is %s, want %s: %+v", c.text, got, c.want, f)
		}
	}
}

// TestRowOfTheSameName: where a sentence cites one of two rows with a name, the other one verifies nothing.
func TestRowOfTheSameName(t *testing.T) {
	t.Parallel()
	field := []state.Field{{Name: "change24hPct", Words: []string{"change"}}}
	m := check.Material{At: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC), State: state.Read([]byte(`{}`)), All: true,
		Tables: state.NewTables([]state.Kind{{Name: "coin", Fields: field}, {Name: "chain", Fields: field}}, []state.Row{
			{Kind: "coin", Key: "w", Entity: "w", Name: "Widget", Ref: 1, Fields: api.Fields{{Name: "change24hPct", Value: 3.1}}},
			{Kind: "chain", Key: "w", Entity: "w", Name: "Widget", Ref: 6, Fields: api.Fields{{Name: "change24hPct", Value: 7.4}}},
		})}
	for text, want := range map[string]api.CheckVerdict{
		"Widget is up 3.1% [1].": api.CheckVerified, "Widget is up 7.4% [1].": api.CheckUnknown, "Widget is up 7.4% [6].": api.CheckVerified,
		"Widget is up 7.4%.": api.CheckVerified, "Widget is up 7.4% [2].": api.CheckVerified, "Widget is up 3.1% [1][6].": api.CheckVerified,
	} {
		if f := check.Judge(text, m).Findings[0]; f.Verdict != want {
			t.Errorf("%q is %s, want %s: %+v", text, f.Verdict, want, f)
		}
	}
}

// TestSourcesApart: where a number stood still all day, a figure that another source may have of it is not refuted.
func TestSourcesApart(t *testing.T) {
	t.Parallel()
	kinds := []state.Kind{{Name: "coin", Fields: []state.Field{{Name: "supplyUsd", Words: []string{"supply"}},
		{Name: "change24hPct", Words: []string{"change"}}, {Name: "sharePct", Words: []string{"share"}}}}}
	at := time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)
	now := map[string]float64{"supplyUsd": 549_870_000, "change24hPct": 3.1, "sharePct": 20}
	m := check.Material{At: at, State: state.Read([]byte(`{}`)), Tables: state.NewTables(kinds, []state.Row{{Kind: "coin", Key: "w",
		Entity: "w", Name: "Widget", Ref: 1, Fields: api.Fields{{Name: "supplyUsd", Value: now["supplyUsd"]},
			{Name: "change24hPct", Value: now["change24hPct"]}, {Name: "sharePct", Value: now["sharePct"]}}}})}
	m.Earlier = func(_, _, field string) (list []state.Point) {
		for i := range 12 {
			v := now[field]
			if i == 0 && field == "sharePct" { // it moves by the hour
				v += 0.1
			}
			list = append(list, state.Point{At: at.Add(-time.Duration(i+1) * 5 * time.Minute), Value: v})
		}
		return list
	}
	for text, want := range map[string]api.CheckVerdict{
		"Widget's supply is $550.42 million.": api.CheckUnknown, "Widget's supply is $550.44 million.": api.CheckRefuted,
		"Widget rose 3.21% today.": api.CheckUnknown, "Widget rose 3.23% today.": api.CheckRefuted,
		"Widget's supply is $551.0 million.": api.CheckRefuted, "Widget's supply is $551 million.": api.CheckUnknown,
		"Widget's share is 20.41%.": api.CheckUnknown, "Widget's share is 20.43%.": api.CheckRefuted,
	} {
		if f := check.Judge(text, m).Findings[0]; f.Verdict != want {
			t.Errorf("%q is %s %s, want %s: %+v", text, f.Verdict, f.Reason, want, f)
		}
	}
}

// TestWhatRefutes: what leaves one meaning, and what may be meant otherwise, decides whether a figure that nothing bears out is refuted.
func TestWhatRefutes(t *testing.T) {
	t.Parallel()
	change := func(field string, words ...string) state.Field { return state.Field{Name: field, Words: words} }
	kinds := []state.Kind{
		{Name: "coin", Fields: []state.Field{change("priceUsd", "price"), change("change24hPct", "change"), change("change1hPct", "change")}},
		{Name: "chain", Fields: []state.Field{change("change24hPct", "change")}},
		{Name: "market", Words: []string{"wider market"}, Sole: true, Fields: []state.Field{change("change24hPct", "change"),
			change("sharePct", "share")}},
		{Name: "news", Own: true},
	}
	coin := func(key, name, symbol string, day, hour float64) state.Row {
		return state.Row{Kind: "coin", Key: key, Entity: key, Name: name, Symbol: symbol, Ref: 1, Fields: api.Fields{
			{Name: "priceUsd", Value: 14.0}, {Name: "change24hPct", Value: day}, {Name: "change1hPct", Value: hour}}}
	}
	rows := []state.Row{
		coin("widget", "Widget", "LINK", 3.1, -0.4), coin("gadget", "Gadget", "GDG", 8.8, 0.1), coin("gizmo", "Gizmo", "GZM", 5.2, 0.3),
		{Kind: "chain", Key: "w", Entity: "chain/w", Name: "Gizmo Chain", Aliases: []string{"Gizmo"}, Ref: 2,
			Fields: api.Fields{{Name: "change24hPct", Value: 7.4}}},
		{Kind: "chain", Key: "g", Entity: "chain/g", Name: "Gadget Chain", Symbol: "Gadget", Ref: 2,
			Fields: api.Fields{{Name: "change24hPct", Value: 7.4}}},
		{Kind: "market", Key: "all", Entity: "all", Name: "Market", Ref: 3,
			Fields: api.Fields{{Name: "change24hPct", Value: 2.0}, {Name: "sharePct", Value: 33.3}}},
		{Kind: "news", Key: "1", Name: "Gadget falls 41.1%"}, {Kind: "news", Key: "2", Name: "Losses of 42.2%"},
		{Kind: "news", Key: "3", Name: "Gadget at $43.3"},
		{Kind: "news", Key: "4", Name: "Widget is up 44.4%"},
		{Kind: "news", Key: "5", Name: "Widget: venues differ by 45.5%"},
	}
	m := check.Material{At: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC), State: state.Read([]byte(`{}`)), All: true,
		Tables: state.NewTables(kinds, rows)}
	for text, want := range map[string]string{
		"Widget (LINK) trades at $140.": "refuted other_value", "Widget trades at $140.": "refuted other_value",
		"Gizmo fell 41.7% today.": "refuted other_value", "Gizmo rose 7.4% today.": "verified",
		"Gizmo (GZM) rose 7.4% today.": "unknown ambiguous_subject", "Gadget fell 41.7% today.": "unknown ambiguous_subject",
		"Widget fell 41.1% today.": "refuted other_value", "Gadget Chain fell 42.2% today.": "unknown ambiguous_subject",
		"Widget has risen 44.4%.": "verified", "Widget fell 45.5%.": "unknown ambiguous_subject",
		"In 2021 Widget cost $140.": "unknown other_time", "Widget has fallen 44.4%.": "unknown ambiguous_subject",
		"ビットコインは140ドルで取引されています。Widget 14ドル。": "unknown ambiguous_field", "Widget itself trades at $140.": "refuted other_value",
		"Widget trades at $14 y la capitalización total es $9.": "verified",
		"Widget fell 42.2% today.":                              "unknown ambiguous_subject", "Widget trades at $43.3.": "unknown ambiguous_subject",
		"Widget is down 0.4% in the last hour.": "verified", "Widget is down 0.4%.": "unknown near", "Widget is up 3.1%.": "verified",
		"The wider market is up 8.8%; Gadget is next.": "unknown ambiguous_subject",
		"The wider market has a share of 2% [3].":      "unknown ambiguous_subject",
		"Widget is up 33.3% [3].":                      "unknown no_history", "Widget has 33.3% [3].": "verified",
	} {
		f := check.Judge(text, m).Findings[0]
		if got := strings.TrimSpace(string(f.Verdict) + " " + string(f.Reason)); got != want {
			t.Errorf("%q is %s, want %s: %+v", text, got, want, f)
		}
	}
	for _, text := range []string{ // what is of the other name of the sentence
		"Gadget is at $14, and among the majors Widget is up 8.8%.", "Gadget, among the majors, with Widget is up 0.1%.",
		"Among the majors Widget is at $14, down 41.1%, and Gadget is at $14.",
	} {
		for _, f := range check.Judge(text, m).Findings {
			if f.Text != "$14" && f.Verdict != api.CheckUnknown {
				t.Errorf("%q: %+v", text, f)
			}
		}
	}
}

// TestOfTheFirstFigure: words that lead to the second figure of a sentence say nothing of the first.
func TestOfTheFirstFigure(t *testing.T) {
	t.Parallel()
	kinds := []state.Kind{{Name: "perp", Words: []string{"perps"}, Fields: []state.Field{{Name: "markUsd", Words: []string{"trade", "mark"}},
		{Name: "openInterestUsd", Words: []string{"open interest"}}}}}
	m := check.Material{At: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC), State: state.Read([]byte(`{}`)), All: true,
		Tables: state.NewTables(kinds, []state.Row{{Kind: "perp", Key: "g", Entity: "g", Name: "Gadget", Ref: 1, Fields: api.Fields{
			{Name: "markUsd", Value: 14.0}, {Name: "openInterestUsd", Value: 9e6}}}})}
	for _, f := range check.Judge("The Gadget perp trades at $14 with open interest of $9 million.", m).Findings {
		if f.Verdict != api.CheckVerified {
			t.Errorf("%+v", f)
		}
	}
}

// TestFieldOfFigure: which of the numbers of a thing a figure is of, by its unit, its way, its period and the words around it.
func TestFieldOfFigure(t *testing.T) {
	t.Parallel()
	field := func(name string, words ...string) state.Field { return state.Field{Name: name, Words: words} }
	kinds := []state.Kind{
		{Name: "volatility", Words: []string{"implied volatility", "future"}, Fields: []state.Field{field("dvolPct", "volatility"),
			field("change24hPct", "day")}},
		{Name: "perp", Words: []string{"perps"}, Fields: []state.Field{field("markUsd", "trade", "mark"), field("openInterestUsd", "oi"),
			field("funding1hPct", "funding"), field("openInterestChange1hPct", "open interest")}},
		{Name: "rate", Fields: []state.Field{field("ratePct", "rate"), field("sharePct", "share")}},
		{Name: "model", Fields: []state.Field{field("inPerMillionUsd", "per million", "input"),
			field("inPerMillionWasUsd", "per million", "input"), field("outPerMillionUsd", "per million", "output"), field("likes", "likes")}},
		{Name: "news", Own: true},
		{Name: "index", Fields: []state.Field{field("level", "level"), field("previous", "yesterday"), field("a"), field("b"), field("c"),
			field("d"), field("e"), field("f")}},
		{Name: "jobs", Fields: []state.Field{field("ratePct"), field("added", "added")}},
		{Name: "debt", Fields: []state.Field{field("debtUsd", "debt"), field("heldUsd", "held")}},
	}
	row := func(kind, name string, fields ...api.Field) state.Row {
		return state.Row{Kind: kind, Key: name, Entity: name, Name: name, Ref: 1, Fields: fields}
	}
	rows := []state.Row{
		row("volatility", "Widget", api.Field{Name: "dvolPct", Value: 72.5}, api.Field{Name: "change24hPct", Value: 8.55}),
		row("perp", "Gadget", api.Field{Name: "markUsd", Value: 14.0}, api.Field{Name: "openInterestUsd", Value: 9e6},
			api.Field{Name: "funding1hPct", Value: -0.0004}, api.Field{Name: "openInterestChange1hPct", Value: 6.1}),
		row("rate", "SOFR", api.Field{Name: "ratePct", Value: 4.1}, api.Field{Name: "sharePct", Value: 61.0}),
		row("rate", "ESTR", api.Field{Name: "ratePct", Value: 1.9}), row("volatility", "ESTR", api.Field{Name: "change24hPct", Value: 0.3}),
		row("rate", "effective funds rate", api.Field{Name: "ratePct", Value: 4.2}),
		row("model", "Giro 4.5", api.Field{Name: "inPerMillionUsd", Value: 2.1}, api.Field{Name: "inPerMillionWasUsd", Value: 3.3},
			api.Field{Name: "outPerMillionUsd", Value: 12.5}, api.Field{Name: "likes", Value: 1914.0}),
		{Kind: "news", Key: "1", Name: "Input of Giro 4.5 now for $2.15"},
		row("index", "Vexo", api.Field{Name: "level", Value: 18.2}, api.Field{Name: "previous", Value: 17.7}),
		row("jobs", "Payrolls", api.Field{Name: "ratePct", Value: 4.0}, api.Field{Name: "added", Value: -17000.0}),
		row("debt", "US public debt", api.Field{Name: "debtUsd", Value: 38.2e12}, api.Field{Name: "heldUsd", Value: 30e12}),
		row("index", "USD/XYZ", api.Field{Name: "level", Value: 16.5}), row("index", "XYZ/USD", api.Field{Name: "level", Value: 6.05}),
	}
	m := check.Material{At: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC), State: state.Read([]byte(`{}`)), All: true,
		Tables: state.NewTables(kinds, rows)}
	for text, want := range map[string]string{
		"Widget implied volatility rose 8.55% in 24 hours.": "verified", "Widget implied volatility is at 72.5%.": "verified",
		"Widget implied volatility rose 38% in 24 hours.": "refuted", "Widget implied volatility rose 72.5% in 24 hours.": "refuted",
		"Gadget costs longs 0.0004% an hour.": "verified", "Gadget costs longs 0.0029% an hour.": "unknown", "Gadget trades at $14.": "verified",
		"Gadget perps trade at $41.": "refuted", "The oi of Gadget perps is $19 million.": "refuted", "Gadget is at $9 million.": "unknown",
		"SOFR is at 4.1%.": "verified", "SOFR is at 61%.": "unknown", "SOFR: 9.1%": "refuted", "ESTR: 9.1%": "unknown", "effective funds rate: 9.2%": "refuted",
		"Giro 4.5 costs $12.50 per million input tokens.": "refuted",
		"Giro 4.5 costs $2.10 per million input tokens.":  "verified",
		"The input cost of Giro 4.5 is $2.10.":            "verified", "The input cost of Giro 4.5 is $12.50.": "refuted",
		"Giro 4.5 costs $3.30 per million input tokens.": "refuted",  // which it did before
		"The input cost of Giro 4.5 is $2.15.":           "verified", // as a headline has it
		"The output cost of Giro 4.5 is $2.15.":          "unknown",
		"Giro 4.5 has 1914 likes.":                       "verified",
		"Vexo is at 18.2.":                               "verified", "Vexo was at 23.4 yesterday.": "unknown", "Vexo was at 17.7 yesterday.": "verified",
		"Payrolls fell by 17,000 added jobs.": "verified", "Payrolls rose by 17,000 added jobs.": "unknown",
		"US public debt is $38.2 trillion.": "verified", "US public debt is $48.2 trillion.": "unknown",
		"In 2021 USD/XYZ was at 21.5.": "unknown", "USD/XYZ is at 21.5.": "refuted",
		"XYZ/USD 21.5": "refuted", "XYZ/USD 6.05": "verified", "XYZ/USD is at 21.5.": "refuted",
	} {
		list := check.Judge(text, m).Findings
		if f := list[len(list)-1]; string(f.Verdict) != want {
			t.Errorf("%q is %s %s, want %s: %+v", text, f.Verdict, f.Reason, want, f)
		}
	}
}

// TestNameAndKind: words behind a name that say which of the things with it is meant, a venue in it, and what a number was before.
func TestNameAndKind(t *testing.T) {
	t.Parallel()
	field := func(name string, words ...string) state.Field { return state.Field{Name: name, Words: words} }
	kinds := []state.Kind{
		{Name: "perp", Words: []string{"perps"}, Fields: []state.Field{field("markUsd", "mark"), field("change24hPct", "change"),
			field("openInterestUsd", "oi", "open interest"), field("funding1hPct", "hourly", "funding")}},
		{Name: "volatility", Words: []string{"implied volatility", "chain"}, Fields: []state.Field{field("dvolPct", "volatility"),
			field("change24hPct", "change")}},
		{Name: "term", Words: []string{"implied volatility"}, Fields: []state.Field{field("change7dPct", "change")}},
		{Name: "funding", Fields: []state.Field{field("funding8hPct", "rate"), field("change24hPct", "change")}},
		{Name: "model", Fields: []state.Field{field("inputUsd", "prompt"), field("inputUsdWas", "prompt"), field("outputUsd", "answer"),
			field("likes", "likes")}},
		{Name: "news", Own: true},
	}
	row := func(kind, key, of, name, symbol string, fields ...api.Field) state.Row {
		return state.Row{Kind: kind, Key: key, Entity: of, Name: name, Symbol: symbol, Ref: 1, Fields: fields}
	}
	is := func(name string, v float64) api.Field { return api.Field{Name: name, Value: v} }
	m := check.Material{At: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC), State: state.Read([]byte(`{}`)), All: true,
		Tables: state.NewTables(kinds, []state.Row{
			row("perp", "wdg", "wdg", "Widget", "WDG", is("markUsd", 14), is("change24hPct", 1.2), is("funding1hPct", -0.001)),
			row("volatility", "wdg", "wdg", "Widget", "WDG", is("dvolPct", 54), is("change24hPct", -8.5)),
			row("volatility", "gdg", "gdg", "Gadget", "LINK", is("dvolPct", 61.24), is("change24hPct", 0.15)),
			row("funding", "wdg/a", "wdg", "Widget on Avenue", "", is("funding8hPct", 0.0078)),
			row("funding", "wdg/b", "wdg", "Widget on Boulevard", "", is("funding8hPct", 0.0088), is("change24hPct", 0.1234)),
			row("term", "wdg", "wdg", "Widget", "WDG", is("change7dPct", 6.6)),
			row("term", "gdg", "gdg", "Gadget", "LINK", is("change7dPct", 7.7)),
			row("perp", "gdg", "gdg", "Gadget", "LINK", is("markUsd", 9), is("openInterestUsd", 51e6), is("funding1hPct", 0.0022)),
			row("model", "giro", "giro", "Giro", "", is("inputUsd", 5.2), is("inputUsdWas", 4.2), is("outputUsd", 11)),
			row("model", "giro20", "giro20", "giro-20b", "", is("likes", 1409)), row("perp", "time", "time", "Chrono", "TIME", is("markUsd", 5)),
			{Kind: "news", Key: "1", Name: "Giro now costs $6.10 of the prompt and $11.50 of the answer"},
			{Kind: "news", Key: "2", Name: "Giro 4 asks for the answer $12.60, of the prompt $6.20"},
		})}
	for text, want := range map[string]string{
		"Widget implied volatility fell 8.5% in 24 hours.": "verified", "Widget implied volatility rose 8.5% in 24 hours.": "refuted",
		"Widget implied volatility rose 38.4% in 24 hours.": "refuted", "Widget implied volatility rose 1.2% in 24 hours.": "refuted",
		"Widget rose 1.2% in 24 hours.": "verified", "Widget implied volatility stands at 54%.": "verified",
		"Widget implied volatility is at 94%.": "refuted", "Gadget implied volatility fell 0.15% in 24 hours.": "unknown",
		"Widget implied volatility rose 6.6% this week.": "verified", "Widget chain rose 1.2% in 24 hours.": "verified",
		"Gadget implied volatility is at 61.2437%.": "verified", "Widget rose 1.204% in 24 hours.": "verified",
		"The mark of Widget is $14 after $14.": "verified, verified", "giro-20b has 5m likes.": "unknown",
		"The Gadget perp is at 94% today.": "unknown", "Widget costs $1" + strings.Repeat("0", 400) + ".": "unknown",
		"LINK open interest is $51 million.": "verified", "LINK open interest is $24.8 million.": "refuted",
		"The LINK to it costs $24.8 million.":         "unknown",
		"The rate of Widget on Avenue is +0.0078%.":   "verified",
		"The rate of Widget on Avenue is +0.0088%.":   "unknown",
		"The rate of Widget is +0.0088%.":             "verified",
		"The hourly funding of WDG is -0.001%.":       "verified",
		"The hourly funding of WDG is -0.0013%.":      "unknown",
		"The hourly funding of WDG is -0.00104%.":     "verified",
		"Of the prompt, Giro asks $5.20 after $4.20.": "verified, verified",
		"Of the prompt, Giro asks $5.20 after $5.20.": "verified, unknown",
		"Of the prompt, Giro asks $5.20 after $6.10.": "verified, unknown",
		"The answer of Giro costs $11.50.":            "verified", "The prompt of Giro costs $11.50.": "unknown",
		"The answer of Giro costs $12.60.": "verified", "The prompt of Giro costs $6.20.": "verified",
		"The prompt of Giro costs $12.60.": "unknown", "The answer of Giro costs $6.10.": "unknown", "The prompt of Giro costs $6.10.": "verified",
	} {
		var got []string
		for _, f := range check.Judge(text, m).Findings {
			got = append(got, string(f.Verdict))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q is %s, want %s: %+v", text, got, want, check.Judge(text, m).Findings)
		}
	}
}

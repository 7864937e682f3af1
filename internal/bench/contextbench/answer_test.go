package main

import (
	"encoding/json"
	"testing"
	"time"
)

// TestSets: all sets read, no id and no question stands twice, and nothing is wanted that the judge does not know.
func TestSets(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	total := 0
	for _, set := range questionSets {
		list, err := readQuestions(set)
		if err != nil {
			t.Fatal(err)
		}
		total += len(list)
		for _, q := range list {
			if seen[q.ID] || seen[q.Pack+q.Q] || len(q.Want) == 0 || q.Style == "" || q.Category == "" {
				t.Errorf("%s stands twice or is not whole", q.ID)
			}
			seen[q.ID], seen[q.Pack+q.Q] = true, true
			for _, w := range q.Want {
				if w.Refuse == "" && !w.News && w.Flag == "" && w.FlagOf == "" && w.About == "" && w.Kind == "" {
					t.Errorf("%s wants nothing: %+v", q.ID, w)
				}
			}
		}
	}
	if total < 1200 {
		t.Errorf("%d questions", total)
	}
}

// TestJudgeAsked: what is true is right, what is not is false, and what is marked or missing is neither.
func TestJudgeAsked(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 21, 12, 1, 2, 0, time.UTC)
	at := func(btc, eth float64) []*thing {
		coin := func(key string, usd, rank float64) []fact {
			base := fact{kind: "asset", key: key, name: key}
			return row(base, num("priceUsd", usd, price), num("marketCapUsd", usd*1e6, whole), num("rank", rank, exact))
		}
		return things(append(coin("bitcoin", btc, 1), coin("ethereum", eth, 2)...))
	}
	p := &past{at: func(tick int) time.Time { return began.Add(time.Duration(tick) * 5 * time.Minute) }, tick: 12,
		now: began.Add(time.Hour), things: map[int][]*thing{0: at(80_000, 4_000), 12: at(100_000, 3_000)},
		stories: []story{{source: "news-coindesk", title: "Bitcoin rises"}, {source: "news-decrypt", title: "Ether falls"}}}
	p.feed = p.stories
	sum := want{Agg: "sum", Kind: "asset", Fields: []string{"priceUsd"}}
	rank := want{Kind: "asset", Keys: []string{"bitcoin"}, Fields: []string{"rank"}}
	line := func(members string) string { return `{"results":[{` + members + `}]}` }
	btc := func(usd, rest string) string {
		return `{"kind":"asset","key":"bitcoin","fields":{"priceUsd":` + usd + `,"marketCapUsd":100000000000,"rank":1},"asked":["priceUsd"]` +
			rest + `}`
	}
	eth := `{"kind":"asset","key":"ethereum","fields":{"priceUsd":3000,"marketCapUsd":3000000000,"rank":2},"asked":["priceUsd"]}`
	bitcoin := want{Kind: "asset", Keys: []string{"bitcoin"}, Fields: []string{"priceUsd"}}
	both := want{Kind: "asset", Keys: []string{"bitcoin", "ethereum"}, Fields: []string{"priceUsd"}}
	then, since, most := bitcoin, bitcoin, want{Kind: "asset", Order: "-priceUsd", Limit: 1}
	then.At, since.Over = "-1h", "-1h"
	for name, tt := range map[string]struct {
		want    want
		style   string
		said    string
		outcome string
	}{
		"right":                {bitcoin, "", `"rows":[` + btc("100000", "") + `]`, wholly},
		"another figure":       {bitcoin, "", `"rows":[` + btc("99000", "") + `]`, untrue},
		"another row":          {bitcoin, "", `"rows":[` + eth + `]`, untrue},
		"another field":        {rank, "", `"rows":[` + btc("100000", "") + `]`, untrue},
		"none":                 {bitcoin, "", `"rows":[]`, nothing},
		"marked":               {bitcoin, "", `"rows":[` + btc("100000", `,"match":"spelling"`) + `]`, marked},
		"marked, of another":   {bitcoin, "", `"rows":[` + btc("99000", `,"match":"spelling"`) + `]`, misled},
		"marked, not to be":    {want{Refuse: "no_such_field"}, "", `"rows":[` + btc("100000", `,"match":"words"`) + `]`, misled},
		"marked, of an error":  {bitcoin, "typing errors", `"rows":[` + btc("100000", `,"match":"spelling"`) + `]`, wholly},
		"by alias":             {bitcoin, "", `"rows":[` + btc("100000", `,"match":"alias"`) + `]`, wholly},
		"both":                 {both, "", `"rows":[` + eth + "," + btc("100000", "") + `]`, wholly},
		"one of both":          {both, "", `"rows":[` + eth + `]`, nothing},
		"now for then":         {then, "", `"rows":[` + btc("100000", "") + `]`, untrue},
		"then":                 {then, "", `"read":{"query":{"at":"2026-11-21T12:01:02Z"}},"rows":[` + btc("80000", "") + `]`, wholly},
		"then, of another day": {then, "", `"read":{"query":{"at":"2026-11-20T12:01:02Z"}},"rows":[` + btc("80000", "") + `]`, untrue},
		"change":               {since, "", `"rows":[` + btc("100000", `,"over":{"priceUsd":{"from":80000,"changePct":25}}`) + `]`, wholly},
		"another change":       {since, "", `"rows":[` + btc("100000", `,"over":{"priceUsd":{"from":90000,"changePct":11.11}}`) + `]`, untrue},
		"first":                {most, "", `"rows":[` + btc("100000", "") + "," + eth + `]`, wholly},
		"last":                 {most, "", `"rows":[` + eth + `]`, untrue},
		"sum":                  {sum, "", `"rows":[],"aggregates":{"sum:priceUsd":{"value":103000,"rows":2}}`, wholly},
		"another sum":          {sum, "", `"rows":[],"aggregates":{"sum:priceUsd":{"value":1,"rows":2}}`, untrue},
		"row for a sum":        {sum, "", `"rows":[` + btc("100000", "") + `]`, untrue},
		"news":                 {want{News: true, Source: "news-decrypt"}, "", `"rows":[{"kind":"headline","name":"Ether falls"}]`, wholly},
		"news of another":      {want{News: true, Source: "news-decrypt"}, "", `"rows":[{"kind":"headline","name":"Bitcoin rises"}]`, untrue},
		"news of nothing":      {want{News: true, Words: "doge"}, "", `"rows":[]`, refused},
		"flag":                 {want{Flag: "any"}, "", `"rows":[{"kind":"flag","name":"x"}]`, wholly},
		"no flag":              {want{Flag: "any"}, "", `"rows":[` + eth + `]`, untrue},
		"refused":              {want{Refuse: "no_such_field"}, "", `"rows":[],"missing":[{"word":"supply","why":"no_such_field"}]`, refused},
		"answered anyway":      {want{Refuse: "no_such_field"}, "", `"rows":[` + eth + `]`, untrue},
		"may be refused":       {want{Kind: "asset", Keys: bitcoin.Keys, MayRefuse: true}, "", `"rows":[]`, refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var doc map[string]any
			if err := json.Unmarshal([]byte(line(tt.said)), &doc); err != nil {
				t.Fatal(err)
			}
			if a := judgeAsked(asked{Style: tt.style, Want: []want{tt.want}}, p, doc); a.outcome != tt.outcome {
				t.Errorf("%s is %q (%s)", tt.said, a.outcome, a.why)
			}
		})
	}
}

// TestJudgeOfWhatIsPartlyThere: what is there is to be answered, and what is not, told.
func TestJudgeOfWhatIsPartlyThere(t *testing.T) {
	t.Parallel()
	coin := fact{kind: "asset", key: "bitcoin", name: "Bitcoin"}
	p := &past{at: func(int) time.Time { return time.Time{} }, things: map[int][]*thing{0: things(row(coin, num("priceUsd", 100_000, price)))}}
	rows := `{"results":[{"rows":[{"kind":"asset","key":"bitcoin","fields":{"priceUsd":100000},"asked":["priceUsd"]}]`
	for said, outcome := range map[string]string{
		rows + `,"missing":[{"word":"doge","why":"unknown_word"}]}]}`: wholly,
		rows + `}]}`: untrue,
		`{"results":[{"rows":[],"missing":[{"word":"doge","why":"unknown_word"}]}]}`: nothing,
	} {
		var doc map[string]any
		if err := json.Unmarshal([]byte(said), &doc); err != nil {
			t.Fatal(err)
		}
		parts := []want{{Kind: "asset", Keys: []string{"bitcoin"}, Fields: []string{"priceUsd"}}, {News: true, Words: "doge"}}
		if a := judgeAsked(asked{Want: parts}, p, doc); a.outcome != outcome {
			t.Errorf("%s is %q (%s)", said, a.outcome, a.why)
		}
	}
	// a part that could be answered, and is told to be missing, makes the answer not whole, and not false
	var doc map[string]any
	if err := json.Unmarshal([]byte(rows+`,"missing":[{"word":"how many","why":"no_such_field"}]}]}`), &doc); err != nil {
		t.Fatal(err)
	}
	bitcoin := want{Kind: "asset", Keys: []string{"bitcoin"}, Fields: []string{"priceUsd"}}
	parts := []want{bitcoin, {Kind: "asset", Agg: "sum", Fields: []string{"priceUsd"}, Where: []string{"priceUsd<1"}}}
	if a := judgeAsked(asked{Want: parts}, p, doc); a.outcome != nothing {
		t.Errorf("in part: %q (%s)", a.outcome, a.why)
	}
}

package reader_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// rows are three assets, one of them with all that JSON has to escape, and a headline of a source that nothing cites.
func rows(price float64) *state.Tables {
	kinds := []state.Kind{
		{Name: "asset", Words: []string{"assets"}, Fields: []state.Field{{Name: "priceUsd", Words: []string{"price"}}, {Name: "note"}}},
		{Name: "headline", Words: []string{"news"}, Own: true},
	}
	return state.NewTables(kinds, []state.Row{
		{Kind: "asset", Key: "bitcoin", Entity: "bitcoin", Name: "Bitcoin", Symbol: "BTC", Ref: 1, URL: "https://one.test/?a=1&b=2",
			FetchedAt: newest().Add(-time.Second), Fields: api.Fields{{Name: "priceUsd", Value: price}, {Name: "note",
				Value: `"asked":[] \ <é>`}}},
		{Kind: "asset", Key: `a"b`, Entity: "odd", Name: `Odd "asked":[] <&>`, Ref: 2, FetchedAt: newest().Add(-time.Minute), Stale: true},
		{Kind: "asset", Key: "fund", Entity: "fund", Name: "BTC", Ref: 2, FetchedAt: newest(), Size: 5},
		{Kind: "headline", Key: "h", Entity: "h", Name: "Bitcoin rises", Ref: 9, FetchedAt: newest(), Fields: api.Fields{{Name: "n",
			Value: 1e-9}}},
	})
}

// looked is the answer to a lookup, which has to be on the wire as encoding/json writes it.
func (w *world) looked(t *testing.T, q api.Query) (r api.LookupResponse) {
	t.Helper()
	a := w.get(t, q, api.TierFree)
	decoder := json.NewDecoder(bytes.NewReader(a.JSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		t.Fatalf("%q: %v in %s", q.Text, err, a.JSON)
	}
	if again, err := jsonx.Encode(r); err != nil || !bytes.Equal(again, a.JSON) {
		t.Errorf("%q is answered\n     %s\nnot %s", q.Text, a.JSON, again)
	}
	if found := bytes.Contains(a.JSON, []byte(`"rows":[{`)); a.Nothing == found {
		t.Errorf("%q: nothing is %t in %s", q.Text, a.Nothing, a.JSON)
	}
	return r
}

// TestLookupOnTheWire asks everything twice: for the second who asks, less is made.
func TestLookupOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, rows(91240))
	for _, text := range []string{"btc price", "BTC", "btc price note", "news", "assets", "odd", "bitcoim", `wh"at <é>\`,
		"btc,odd,nothing,news,btc"} {
		for _, limit := range []int{1, 3} {
			for _, wait := range []time.Duration{61 * time.Second, 62 * time.Second, 0} {
				w.clock(newest().Add(wait))
				r := w.looked(t, api.Query{Op: api.OpLookup, Pack: "crypto", Text: text, Limit: limit})
				if n := len(r.Results[0].Rows); n > limit || text == "assets" && n != limit {
					t.Errorf("%q has %d rows, limit %d", text, n, limit)
				}
			}
		}
	}
}

// TestGoesBack: what was told before is a part of the question where that goes back to it.
func TestGoesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, rows(91240))
	for text, want := range map[string]string{
		"that was btc, and the price of it":                    "that was btc, and the price of it",
		"that was btc, and the btc price":                      "and the btc price",
		"Thanks, that settles odd. And btc, what's that price": "And btc, what's that price",
		"You gave odd earlier; I'd now like the btc price":     "I'd now like the btc price",
		"You gave odd earlier; I'd now like its price":         "You gave odd earlier; I'd now like its price",
	} {
		r := w.looked(t, api.Query{Op: api.OpLookup, Pack: "crypto", Text: text, Limit: 3})
		if len(r.Results) != 1 || strings.Join(strings.Fields(r.Results[0].Q), " ") != want {
			t.Errorf("%s: %+v", text, r.Results)
		}
	}
}

// TestCommasOfASentence: what a comma parts is a question of its own where it can be one, and belongs to the others where it cannot.
func TestCommasOfASentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"btc price,odd":                                   2,
		"btc price,nothing":                               2, // a name that is not known
		"btc price,supply of btc":                         2, // a figure that is not known
		"btc, btc price":                                  2, // as of a watchlist
		"btc, price":                                      1,
		"rises, news":                                     1, // what is found by words alone may be another thing
		"assets, first two":                               1,
		"assets, sorted by price":                         1,
		"assets, highest":                                 1,
		"of all assets, which one is highest":             1,
		"if I went there, btc price":                      1,
		"looking back a week, btc price":                  1,
		"assets above 91,000":                             1,
		"assets above 91,000,odd":                         2,
		"assets below 1,000,000":                          1,
		"which has the better ratio, btc":                 1, // which is what it was asked of
		"btc, which has the better ratio":                 1,
		"how strange is btc, news":                        1, // of what it is about
		"how strange is it, news":                         2,
		"highest asset, btc left aside":                   1,
		"highest asset, btc put strangely excluded aside": 1,
		"which has the better ratio, btc price":           2,
		"how strange is btc, 24h":                         1,
		"highest asset, btc doesn't count":                1,
		"total price of btc, odd":                         1, // of both
		"the whole price of btc, odd":                     1,
		"price of the whole btc, odd":                     2,
		"btc price, odd about it":                         1,
		"for btc, btc price":                              1,
		"btc price,12,odd":                                3, // no thousands
		"btc price, and its news":                         1,
		"odd, btc price, its news":                        2,
		"rank btc, odd by price":                          1,
		"ok that was btc, and the price of assets":        1, // what was told before is no question
		"thanks for btc, what does btc cost in price":     1,
		"that was btc, and its price":                     1,
		"that was btc, and odd":                           2,
		"you told me the btc price, and what about odd":   1, // the price of it
		"btc price, now the same for assets":              1, // of what was asked
		"btc, newest oddities":                            1, // half of it is known, so it may be of btc
		"btc, oddities":                                   2,
		"odd as margin, the highest asset on it":          1, // of what cannot be read
		"odd as margin, the highest asset there":          1,
		"given these assets, odd":                         1,
		"odd as margin, is there an asset":                2,
		"among the assets, which has the highest price":   1,
		"btc price, should it all go":                     1,
		"btc oddly shaped, what are the chances":          1, // those of others are no answer
		"btc price, is the boss odd":                      1, // a question of its own, which goes with the one before
		"highest asset, and which has the lowest price":   1,
		"highest price, top 3 assets":                     1, // what the order is of stands behind it
		"odd as margin, what do assets say on that":       1,
		"oddly shaped, and the assets":                    1,
		"oddly shaped, which assets":                      1,
		"oddly shaped, and the btc price":                 2,
		"got it for odd, but the btc price":               1,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.has(t, rows(91240))
			r := w.looked(t, api.Query{Op: api.OpLookup, Pack: "crypto", Text: text, Limit: 3})
			if len(r.Results) != want {
				t.Errorf("%d answers, want %d: %+v", len(r.Results), want, r.Results)
			}
		})
	}
}

// TestLookupAges: of a row that is kept, its age alone goes on.
func TestLookupAges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, rows(91240))
	ask := api.Query{Op: api.OpLookup, Pack: "crypto", Text: "btc price,odd", Limit: 3}
	for _, c := range []struct{ after, btc, odd int64 }{{61, 62, 121}, {0, 1, 60}, {-30, 0, 30}, {3600, 3601, 3660}} {
		w.clock(newest().Add(time.Duration(c.after) * time.Second))
		r := w.looked(t, ask)
		btc, odd := r.Results[0].Rows[0], r.Results[1].Rows[0]
		if btc.AgeSeconds != c.btc || odd.AgeSeconds != c.odd || btc.Stale || !odd.Stale || btc.Fields.Get("priceUsd") != 91240.0 {
			t.Errorf("after %d s: %+v, %+v", c.after, btc, odd)
		}
		if len(r.Citations) != 2 || r.Citations[0].Excerpt != "BTC at $91,240" || fmt.Sprint(btc.Asked) != "[priceUsd]" {
			t.Errorf("after %d s: citations %+v, asked %v", c.after, r.Citations, btc.Asked)
		}
	}
	if both := w.looked(t, api.Query{Op: api.OpLookup, Pack: "crypto", Text: "btc", Limit: 2}).Results[0].Rows; both[0].Key != "bitcoin" {
		t.Errorf("a symbol stands behind a name: %+v", both)
	}
	w.has(t, rows(90000))
	if price := w.looked(t, ask).Results[0].Rows[0].Fields.Get("priceUsd"); price != 90000.0 {
		t.Errorf("after new rows the price is %v", price)
	}
}

// TestLookupOfASourceThatFails: rows are stale from the first failure on, and are left out once what the source said is too old, although
// the state, whose bytes stay, calls it ok.
func TestLookupOfASourceThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := newest().Add(time.Minute)
	p := pulse("crypto", at,
		fmt.Sprintf(`{"coins":[{"name":"Bitcoin","ref":1}],"source_status":[{"ref":1,"id":"one","status":"ok","fetchedAt":%q,`+
			`"intervalSeconds":60,"staleAfterSeconds":180},{"ref":2,"id":"two","status":"ok","fetchedAt":%q,"staleAfterSeconds":9000}]}`,
			at.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano)))
	if err := w.feed.Publish(p, state.Narration{}, rows(91240)); err != nil {
		t.Fatal(err)
	}
	edition, _ := w.feed.Latest("crypto")
	ask := api.Query{Op: api.OpLookup, Pack: "crypto", Text: "btc price", Limit: 1}
	for _, c := range []struct {
		after    time.Duration
		failures int
		want     string // stale of the row, of the sources and kinds of flags
	}{
		{119 * time.Second, 0, "false"},
		{121 * time.Second, 0, "true"}, // it is overdue
		{61 * time.Second, 1, "true one stale"},
		{61 * time.Second, 2, "true one stale source_stale"},
		{181 * time.Second, 0, "true one stale source_stale"},
		{541 * time.Second, 3, "none one error source_error"},
	} {
		w.clock(at.Add(c.after))
		status := slices.Clone(edition.Doc.Sources())
		if status[0].Failures = c.failures; c.failures > 0 {
			status[0].Status = api.SourceStale
		}
		if err := w.feed.PublishHealth("crypto", nil, edition.Doc.Ages().Updated(status, nil)); err != nil {
			t.Fatal(err)
		}
		r := w.looked(t, ask)
		got := "none"
		if rows := r.Results[0].Rows; len(rows) > 0 {
			got = fmt.Sprint(rows[0].Stale)
		}
		for _, s := range r.Freshness.Sources {
			got += " " + s.ID + " " + string(s.Status)
		}
		for _, f := range r.Freshness.Flags {
			got += " " + f.Kind
		}
		if got != c.want {
			t.Errorf("after %s and %d failures: %s, want %s", c.after, c.failures, got, c.want)
		}
	}
}

// TestLookupsOfMany: of more questions than are kept, each has its own answer.
func TestLookupsOfMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, rows(91240))
	for i := range 1200 {
		text := fmt.Sprintf("n%d", i)
		if i%2 > 0 {
			text = fmt.Sprintf("bitcoin,n%d", i)
		}
		a := w.get(t, api.Query{Op: api.OpLookup, Pack: "crypto", Text: text, Limit: 1 + i%3}, api.TierFree)
		if a.Nothing != (i%2 == 0) || !bytes.Contains(a.JSON, fmt.Appendf(nil, `"q":"n%d"`, i)) {
			t.Fatalf("%q is answered %s", text, a.JSON)
		}
	}
}

// TestLookupPacks: what is asked of one pack and of all, what each caller may read, and which packs would answer.
func TestLookupPacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	price := state.Field{Name: "priceUsd", Words: []string{"price"}}
	coins := func(extra state.Field) []state.Kind {
		return []state.Kind{{Name: "asset", Words: []string{"coins"}, Size: "priceUsd", Fields: []state.Field{price, extra}}}
	}
	row := func(key, symbol string, fields api.Fields) state.Row {
		return state.Row{Kind: "asset", Key: key, Entity: key, Name: key, Symbol: symbol, Ref: 1, FetchedAt: newest(), Fields: fields}
	}
	figure := func(name string, x float64) api.Field { return api.Field{Name: name, Value: x} }
	w.has(t, state.NewTables(coins(state.Field{Name: "rank", Words: []string{"rank"}}), []state.Row{
		row("bitcoin", "BTC", api.Fields{figure("priceUsd", 90_000), figure("rank", 1)}),
		row("ether", "ETH", api.Fields{figure("priceUsd", 3_000), figure("rank", 2)}),
		row("platinum token", "PTK", api.Fields{figure("rank", 3)})}))
	other := state.NewTables(coins(state.Field{Name: "fundingPct", Words: []string{"funding"}}), []state.Row{
		row("bitcoin", "BTC", api.Fields{figure("priceUsd", 90_001), figure("fundingPct", 0.01)}),
		row("gold", "XAU", api.Fields{figure("priceUsd", 4_000)}), row("platinum", "XPT", api.Fields{figure("fundingPct", 0.02)})})
	if err := w.feed.Publish(pulse("ai", newest().Add(-5*time.Second), `{}`), state.Narration{}, other); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pack, q    string
		everywhere bool
		want       string // rows with their anchors and what was asked
		instead    string
	}{
		{"crypto", "btc price", true, "bitcoin[1][priceUsd]", ""},
		{"crypto", "btc funding", true, "", "ai"},
		{"crypto", "btc funding yesterday", true, "", "ai"},
		{"crypto", "btc funding", false, "", ""},
		{"crypto", "gold", true, "", "ai"},
		{"crypto", "gold founder", true, "", ""},
		{"ai", "ether rank", false, "", "crypto"},
		{"*", "btc funding", true, "bitcoin[ai:1][fundingPct]", ""},
		{"*", "btc funding", false, "", ""},
		{"*", "eth price", true, "ether[crypto:1][priceUsd]", ""},
		{"*", "platinum", true, "platinum[ai:1][]", ""}, // by words alone it is another thing
		{"crypto", "platinum", true, "platinum token[1][]", ""},
		{"*", "btc price", true, "bitcoin[crypto:1][priceUsd] bitcoin[ai:1][priceUsd]", ""},
		{"*", "highest price", true, "bitcoin[crypto:1][priceUsd] ether[crypto:1][priceUsd] bitcoin[ai:1][priceUsd] gold[ai:1][priceUsd]", ""},
		{"*", "how many coins with price above 5", true, "", "crypto ai"}, // there is no one figure of both
		{"*", "btc founder", true, "", ""},
		{"*", "gold price, highest", true, "", ""}, // belongs to what stands before it in every pack
	} {
		t.Run(fmt.Sprintf("%s %q %t", c.pack, c.q, c.everywhere), func(t *testing.T) {
			t.Parallel()
			v, err := w.Ready(api.Query{Op: api.OpLookup, Pack: c.pack, Text: c.q, Limit: 3})
			if err != nil {
				t.Fatal(err)
			}
			v = v.Everywhere(c.everywhere)
			a, err := w.Answer(t.Context(), v, time.Hour)
			var r api.LookupResponse
			if err == nil {
				err = json.Unmarshal(a.JSON, &r)
			}
			if again, _ := jsonx.Encode(r); err != nil || !bytes.Equal(again, a.JSON) {
				t.Fatalf("%s, as encoding/json has it %s: %v", a.JSON, again, err)
			}
			var rows, instead []string
			for _, row := range r.Results[0].Rows {
				rows = append(rows, fmt.Sprintf("%s[%s]%s", row.Key, row.Ref, row.Asked))
				if !slices.ContainsFunc(r.Citations, func(c api.AnchoredCitation) bool { return c.Ref == row.Ref }) {
					t.Errorf("%s is not cited: %+v", row.Ref, r.Citations)
				}
			}
			for _, m := range r.Results[0].Missing {
				if m.Why == api.MissingNoRows || m.Why == api.MissingAmbiguous && strings.HasPrefix(c.q, "how many") {
					instead = append(instead, m.Instead...)
				}
			}
			if got := strings.Join(rows, " "); got != c.want || strings.Join(instead, " ") != c.instead || a.Nothing != (c.want == "") {
				t.Errorf("%s, instead %q, nothing %t; want %s, instead %q", got, instead, a.Nothing, c.want, c.instead)
			}
			if c.pack == api.PackAll && c.everywhere && r.Freshness.GeneratedAt != newest().Add(-5*time.Second) {
				t.Errorf("as old as %v, the other is older", r.Freshness.GeneratedAt)
			}
			err = w.Deliverable(t.Context(), v, time.Hour)
			if failure := (*api.Error)(nil); errors.As(err, &failure) != a.Nothing ||
				a.Nothing && c.pack != api.PackAll && strings.Contains(failure.Hint, "pack "+c.instead+" answers") != (c.instead != "") {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

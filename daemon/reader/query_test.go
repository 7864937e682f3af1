package reader_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// queryWorld is a world whose two packs have a table of coins each, one of which has a table more, and crypto three states before.
func queryWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	for i, price := range []string{"80000", "99000.5", "90000"} {
		at := newest().Add(time.Duration(i-3) * time.Hour)
		w.history.pulses = append(w.history.pulses, pulse("crypto", at, `{"assets":[{"id":"bitcoin","priceUsd":`+price+`,"ref":1}]}`))
	}
	w.history.pulses = append(w.history.pulses, pulse("crypto", newest(), `{}`))
	asset := func(key, symbol string, price float64, ref int) state.Row {
		return state.Row{Kind: "asset", Key: key, Entity: key, Name: key, Symbol: symbol, Size: price, Ref: ref, FetchedAt: newest().Add(1234),
			Fields: api.Fields{{Name: "priceUsd", Value: price}}}
	}
	kinds := []state.Kind{{Name: "asset", Size: "priceUsd", Fields: []state.Field{{Name: "priceUsd", Words: []string{"price"}}}}}
	w.has(t, state.NewTables(kinds, []state.Row{asset("bitcoin", "BTC", 91_000, 1), asset("ether", "ETH", 3_000, 2)}))
	if err := w.feed.Publish(pulse("ai", newest().Add(-time.Second), `{}`), state.Narration{}, state.NewTables(
		append(kinds, state.Kind{Name: "model", Fields: []state.Field{{Name: "likes"}}}),
		[]state.Row{asset("gold", "XAU", 4_000, 1), {Kind: "model", Key: "m", Name: "M", Fields: api.Fields{{Name: "likes", Value: 5}}}})); err != nil {
		t.Fatal(err)
	}
	return w
}

// query asks one that is written as in a URL, of a caller who may read every pack or crypto alone.
func (w *world) query(t *testing.T, text string, everywhere bool) (r api.QueryResponse, a reader.Answer, err error) {
	t.Helper()
	values, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := api.Parse(api.OpQuery, api.FaceHTTP, values)
	if err != nil {
		return r, a, err
	}
	v, err := w.Ready(q)
	if err != nil {
		return r, a, err
	}
	v = v.Everywhere(everywhere)
	window := api.TierFree.SnapshotWindow()
	check := w.Deliverable(t.Context(), v, window)
	if a, err = w.Answer(t.Context(), v, window); err != nil || errors.Is(check, &api.Error{Reason: api.ReasonNothingFound}) != a.Nothing {
		if check == nil || err == nil {
			t.Errorf("%s: the check says %v, the answer %v", text, check, err)
		}
		return r, a, err
	}
	if err := json.Unmarshal(a.JSON, &r); err != nil {
		t.Fatal(err)
	}
	return r, a, nil
}

// TestQueryPacks: what is asked of one pack and of all, what each caller may read, and where else it is.
func TestQueryPacks(t *testing.T) {
	t.Parallel()
	w := queryWorld(t)
	for _, c := range []struct {
		query      string
		everywhere bool
		want       string // keys with refs
		instead    string
	}{
		{"table=asset", true, "bitcoin[1] ether[2]", ""}, {"pack=ai&table=assets", true, "gold[1]", ""},
		{"pack=*&table=asset", true, "bitcoin[crypto:1] gold[ai:1] ether[crypto:2]", ""}, {"pack=*&table=asset", false, "bitcoin[crypto:1] ether[crypto:2]", ""},
		{"pack=*&table=asset&order=priceUsd&limit=2", true, "ether[crypto:2] gold[ai:1]", ""}, {"pack=*&table=model", true, "m[ai:0]", ""},
		{"pack=*&table=model", false, "", ""}, {"table=asset&where=symbol%3DXAU", true, "", "ai"}, {"table=asset&where=symbol%3DXAU", false, "", ""},
		{"pack=ai&table=asset&where=symbol%3DBTC", false, "", "crypto"}, {"pack=*&table=asset&where=symbol%3DNO", true, "", ""},
	} {
		r, a, err := w.query(t, c.query, c.everywhere)
		var keys []string
		for _, row := range r.Rows {
			keys = append(keys, row.Key+"["+row.Ref.String()+"]")
		}
		instead := ""
		for _, m := range r.Missing {
			instead += strings.Join(m.Instead, " ")
		}
		if got := strings.Join(keys, " "); err != nil || got != c.want || instead != c.instead || a.Nothing != (c.want == "") || r.Query.Pack+"x" == "x" {
			t.Errorf("%s, everywhere %t: %s, instead %q, nothing %t, %v; want %s, instead %q", c.query, c.everywhere, got, instead, a.Nothing, err, c.want, c.instead)
		}
		for _, citation := range r.Citations {
			if !slices.ContainsFunc(r.Rows, func(row api.QueryRow) bool { return row.Ref == citation.Ref }) {
				t.Errorf("%s cites %+v", c.query, citation)
			}
		}
	}
	r, _, err := w.query(t, "pack=*&table=asset&agg=count,sum:priceUsd,max:priceUsd&limit=1", true)
	sum, most := r.Aggregates["sum:priceUsd"], r.Aggregates["max:priceUsd"]
	if err != nil || r.Total != 3 || r.Aggregates["count"].Rows != 3 || *sum.Value != 98_000 || sum.Rows != 3 || *most.Value != 91_000 || most.Row != "asset/bitcoin" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestQueryPast: rows, changes and extremes of the states of before, and the answers to moments that nobody can ask for.
func TestQueryPast(t *testing.T) {
	t.Parallel()
	w := queryWorld(t)
	for query, want := range map[string]string{
		"table=asset&at=2026-11-20T18:30":                        "bitcoin 99000.5; asset",
		"table=asset&at=2026-11-20T18:30&where=symbol%3DETH":     "; asset/ether",
		"table=asset&at=2026-11-20T18:30&where=key%3Dbitcoin":    "bitcoin 99000.5",
		"table=asset&over=1h&where=key%3Dbitcoin":                "bitcoin 91000 from 90000",
		"table=asset&over=1h":                                    "bitcoin 91000 from 90000 ether 3000; asset/ether",
		"table=asset&at=2026-11-20T18:30&over=1h&limit=1":        "bitcoin 99000.5 from 80000; asset",
		"table=asset&over=2h&agg=max:priceUsd&fields=priceUsd":   "bitcoin 91000 from 99000.5 ether 3000; asset/ether; max 99000.5 of 3",
		"table=asset&over=2h&agg=min:priceUsd&where=key~bitcoin": "bitcoin 91000 from 99000.5; min 90000 of 3",
		"table=asset&at=2026-11-20T17:00":                        "snapshot_not_found",
		"table=asset&at=2026-11-20T20:06":                        "snapshot_not_found",
		"table=asset&at=2026-11-19T20:00":                        "snapshot_not_found",
		"table=asset&over=25h":                                   "snapshot_not_found",
		"table=asset&over=24h":                                   "snapshot_not_found",
		"table=asset&at=2026-11-20T18:30&over=2h":                "snapshot_not_found",
		"pack=*&table=model&at=2026-11-20T18:30":                 "snapshot_not_found",
		"pack=*&table=asset&at=2026-11-20T18:30":                 "bitcoin 99000.5; asset",
	} {
		r, _, err := w.query(t, query, true)
		var b strings.Builder
		for i, row := range r.Rows {
			b.WriteString([]string{"", " "}[min(i, 1)] + row.Key + " " + plain(row.Fields.Get("priceUsd")))
			if m, moved := row.Over["priceUsd"]; moved {
				b.WriteString(" from " + plain(m.From))
			}
		}
		for _, m := range r.Missing {
			b.WriteString("; " + m.What)
		}
		for agg, a := range r.Aggregates {
			of, _, _ := strings.Cut(agg, ":")
			b.WriteString("; " + of + " " + plain(*a.Value) + " of " + plain(a.States))
		}
		got := b.String()
		if e := (*api.Error)(nil); errors.As(err, &e) {
			got = string(e.Reason)
		}
		if got != want {
			t.Errorf("%s: %s, %v, want %s", query, got, err, want)
		}
	}
}

// TestPeaks: the most and the least that a figure of one thing was in a span are those of all its states.
func TestPeaks(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"highest btc price in the last 2 hours": "max:priceUsd 99000.5 of 3",
		"btc low of the last 2 hours":           "min:priceUsd 90000 of 3",
		"btc high of the last hour":             "max:priceUsd 91000 of 2",
		"highest btc in the last 2 hours":       "",
		"btc high":                              "",
		"highest eth price in the last 2 hours": "",
		"highest btc price in the last 2 weeks": "",
	} {
		t.Run(q, func(t *testing.T) {
			t.Parallel()
			r := queryWorld(t).looked(t, api.Query{Op: api.OpLookup, Pack: "crypto", Text: q, Limit: 3}).Results[0]
			got := ""
			for agg, a := range r.Aggregates {
				got = fmt.Sprintf("%s %s of %d", agg, plain(*a.Value), a.States)
			}
			if got != want || (len(r.Missing) > 0) != (want == "") {
				t.Errorf("%s, missing %v, want %q", got, r.Missing, want)
			}
		})
	}
}

// TestAgainst: what is compared with a moment is what became of it since then, and no figure of then alone.
func TestAgainst(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"btc price vs 2 hours ago":                       "91000 from 99000.5",
		"btc off the 19:00 print":                        "91000 from 99000.5",
		"btc price vs eth":                               "91000",
		"btc price vs 2 hours ago and 1 hour ago":        "",
		"btc price against a moment that nobody read at": "",
	} {
		t.Run(q, func(t *testing.T) {
			t.Parallel()
			r := queryWorld(t).looked(t, api.Query{Op: api.OpLookup, Pack: "crypto", Text: q, Limit: 3}).Results[0]
			got := ""
			if len(r.Rows) > 0 {
				got = plain(r.Rows[0].Fields.Get("priceUsd"))
				if m, moved := r.Rows[0].Over["priceUsd"]; moved {
					got += " from " + plain(m.From)
				}
			}
			if got != want || (len(r.Missing) > 0) != (want == "") {
				t.Errorf("%s, missing %v, want %q", got, r.Missing, want)
			}
		})
	}
}

func plain(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// TestQueryRefused: what is wrong is said with what there is, in this pack or in others.
func TestQueryRefused(t *testing.T) {
	t.Parallel()
	w := queryWorld(t)
	for query, want := range map[string][2]string{
		"":                                {"invalid_table", "describe=true"},
		"table=":                          {"invalid_table", "describe=true"},
		"table=model":                     {"invalid_table", "tables: asset, flags, sources; pack ai has table model"},
		"pack=*&table=nope":               {"invalid_table", "tables: asset, flags, sources, model"},
		"pack=none&table=asset":           {"pack_not_found", "crypto, ai"},
		"table=asset&where=likes>1":       {"invalid_where", "priceUsd"},
		"pack=*&table=model&where=nope>1": {"invalid_where", "likes"},
		"table=asset&where=a=1&where=b=1&where=c=1&where=d=1&where=e=1&where=f=1&where=g=1&where=h=1&where=i=1": {"invalid_where", "op in"},
		"table=asset&fields=nope":            {"invalid_field", "priceUsd"},
		"table=asset&order=nope":             {"invalid_order", "priceUsd"},
		"table=asset&agg=sum:name":           {"invalid_agg", "priceUsd"},
		"table=asset&over=30m":               {"invalid_over", "24h"},
		"table=asset&over=":                  {"invalid_over", "24h"},
		"table=flags&over=1h":                {"invalid_over", "changes"},
		"table=asset&limit=101":              {"invalid_limit", "10"},
		"table=asset&at=tomorrow":            {"invalid_at", "2026-11-20T20:05"},
		"table=%e2%80%aetessa&where=name~x":  {"invalid_table", "asset"},
		"table=asset'; drop table":           {"invalid_table", "asset"},
		"table=asset&where=name = %00":       {"invalid_where", "symbol = BTC"},
		"table=asset&where=priceUsd > 1e400": {"invalid_where", "priceUsd"},
		"table=asset&where=priceUsd = NaN":   {"invalid_where", "priceUsd"},
	} {
		_, _, err := w.query(t, strings.ReplaceAll(strings.ReplaceAll(query, ";", "%3B"), " ", "+"), true)
		if e := (*api.Error)(nil); !errors.As(err, &e) || string(e.Reason) != want[0] || !strings.Contains(e.Hint, want[1]) ||
			strings.ContainsAny(e.Message, "\u202e\x00") {
			t.Errorf("%s: %+v, want %s with %q", query, err, want[0], want[1])
		}
	}
}

// TestQueryCanonical: a query is one request to a payment however it is written.
func TestQueryCanonical(t *testing.T) {
	t.Parallel()
	w := queryWorld(t)
	canonical := func(text string) string {
		values, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		q, err := api.Parse(api.OpQuery, api.FaceHTTP, values)
		if err != nil {
			t.Fatal(err)
		}
		return w.Canonical(q)
	}
	first := canonical("table=asset&where=symbol%3DBTC&where=priceUsd>1")
	for _, same := range []string{
		"table=Assets&where=priceUsd+>+1&where=symbol+=+BTC", "table=asset&where=symbol%3DBTC&where=priceUsd>1&limit=10&order=-priceUsd&pack=crypto",
		"describe=false&table=asset&where=+symbol++=BTC&where=symbol%3DBTC&where=priceUsd>1&limit=010",
	} {
		if got := canonical(same); got != first {
			t.Errorf("%s is %s, not %s", same, got, first)
		}
	}
	seen := map[string]string{}
	for _, other := range []string{
		"table=asset", "table=asset&where=symbol%3DBTC", "table=asset&where=symbol%3Dbtc", "table=asset&order=priceUsd", "table=asset&limit=3", "table=flags",
		"table=asset&pack=*", "table=asset&at=2026-11-20T18:30", "table=asset&over=1h", "table=asset&agg=count", "table=asset&fields=priceUsd", "table=nope",
	} {
		if was := seen[canonical(other)]; was != "" {
			t.Errorf("%s and %s are one request", other, was)
		}
		seen[canonical(other)] = other
	}
}

// TestTables describes what the caller may read.
func TestTables(t *testing.T) {
	t.Parallel()
	w := queryWorld(t)
	for _, c := range []struct {
		pack       string
		everywhere bool
		want       string
	}{
		{api.PackAll, true, "crypto: asset 2, flags 0, sources 0; ai: asset 1, model 1, flags 0, sources 0"}, {api.PackAll, false, "crypto: asset 2, flags 0, sources 0"},
		{"ai", true, "ai: asset 1, model 1, flags 0, sources 0"}, {"ai", false, ""},
	} {
		tables, err := w.Tables(c.pack, c.everywhere, 24*time.Hour)
		var packs []string
		for _, p := range tables.Packs {
			var names []string
			for _, s := range p.Tables {
				names = append(names, s.Table+" "+plain(s.Rows))
			}
			packs = append(packs, p.Pack+": "+strings.Join(names, ", "))
		}
		if got := strings.Join(packs, "; "); err != nil || got != c.want || tables.Spans.Window != "24h" {
			t.Errorf("%s, %t: %s, %v, want %s", c.pack, c.everywhere, got, err, c.want)
		}
	}
	if _, err := w.Tables("none", true, 0); !errors.Is(err, &api.Error{Reason: api.ReasonPackNotFound}) {
		t.Error(err)
	}
}

// TestQueryStale: rows of a source that fails are marked, and left out once they are too old; the sources of now say how they do now.
func TestQueryStale(t *testing.T) {
	t.Parallel()
	w := queryWorld(t)
	edition, _ := w.feed.Latest("crypto")
	for _, c := range []struct {
		status api.SourceState
		want   string // rows with marks, and sources that are not ok
	}{{api.SourceOK, "bitcoin false ether false; "}, {api.SourceStale, "bitcoin true ether false; one stale"}, {api.SourceError, "ether false; one error"}} {
		fetched := newest()
		status := []api.SourceStatus{{Ref: 1, ID: "one", Status: c.status, FetchedAt: &fetched, Failures: 9, IntervalSeconds: 300, StaleAfterSeconds: 900},
			{Ref: 2, ID: "two", Status: api.SourceOK, FetchedAt: &fetched, IntervalSeconds: 300, StaleAfterSeconds: 900}}
		if c.status == api.SourceOK {
			status[0].Failures = 0
		}
		if err := w.feed.PublishHealth("crypto", nil, edition.Ages().Updated(status, nil)); err != nil {
			t.Fatal(err)
		}
		r, _, err := w.query(t, "table=asset&agg=count", true)
		got := ""
		for _, row := range r.Rows {
			got += row.Key + " " + plain(row.Stale) + " "
		}
		if err != nil || r.Total != len(r.Rows) || r.Aggregates["count"].Rows != len(r.Rows) || (len(r.Freshness.Sources) > 0) != (c.status != api.SourceOK) {
			t.Errorf("%s: %+v, %v", c.status, r, err)
		}
		got = strings.TrimSuffix(got, " ") + "; "
		for _, s := range r.Freshness.Sources {
			got += s.ID + " " + string(s.Status)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.status, got, c.want)
		}
	}
}

// TestQueryOverTheWindow: a span may be as long as the window of the caller, though its beginning is told in whole milliseconds, which is a
// moment too early.
func TestQueryOverTheWindow(t *testing.T) {
	t.Parallel()
	w := queryWorld(t)
	long := pulse("crypto", newest().Add(-26*time.Hour), `{"assets":[{"id":"bitcoin","priceUsd":70000,"ref":1}]}`)
	w.history.pulses = append([]state.Pulse{long}, w.history.pulses...)
	w.clock(newest().Add(61*time.Second + 500*time.Microsecond))
	for query, want := range map[string]api.Reason{
		"table=asset&where=key%3Dbitcoin&over=24h": "", "table=asset&where=key%3Dbitcoin&over=25h": api.ReasonSnapshotNotFound,
	} {
		r, _, err := w.query(t, query, true)
		if e := (*api.Error)(nil); errors.As(err, &e) != (want != "") || want != "" && e.Reason != want ||
			want == "" && r.Rows[0].Over["priceUsd"].From != 70_000 {
			t.Errorf("%s: %+v, %v", query, r.Rows, err)
		}
	}
}

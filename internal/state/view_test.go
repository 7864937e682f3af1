package state_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// recorded is a state of the crypto pack.
func recorded(t *testing.T) *state.Document {
	t.Helper()
	text, err := os.ReadFile("../../daemon/pack/testdata/tick1.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	return state.Read(text)
}

// TestView has every row of every member, at the path where it stands, and all that it says.
func TestView(t *testing.T) {
	t.Parallel()
	doc := recorded(t)
	v, ok := doc.View(api.PackCrypto)
	if !ok || len(v.Tables) != 5 || len(v.Flags) != len(doc.Flags()) || len(v.Sources) != len(doc.Sources()) {
		t.Fatalf("%t, %d tables, %d flags, %d sources", ok, len(v.Tables), len(v.Flags), len(v.Sources))
	}
	for _, table := range v.Tables {
		t.Run(table.Member, func(t *testing.T) {
			t.Parallel()
			if list := doc.Root().Member(table.Member); list.IsArray() && len(table.Rows) != len(list.Members) {
				t.Errorf("%d rows of %d", len(table.Rows), len(list.Members))
			}
			for _, r := range table.Rows {
				if r.Name == "" || r.Label == "" || r.Ref == 0 || len(r.Fields) == 0 || (r.Cells != nil) != table.Readings ||
					!strings.HasPrefix(r.Path, table.Member) {
					t.Errorf("%+v", r)
				}
			}
			for _, c := range table.Columns {
				if len(c.Cells) != len(table.Rows) || !slices.ContainsFunc(c.Cells, state.Cell.Known) {
					t.Errorf("column %s: %v", c.Field, c.Cells)
				}
			}
			if found := strings.Contains(string(doc.Text()), `"`+table.Past+`"`); !found && !table.Readings {
				t.Errorf("no row says %s", table.Past)
			}
		})
	}
}

// TestViewReadings tells each reading by its layout: what is not known stands as the face writes it, and what is needed is left out.
func TestViewReadings(t *testing.T) {
	t.Parallel()
	v,
		ok := state.Read([]byte(`{"sentiment":{"fearGreed":{"value":24,"label":"Fear","previousDay":null,"ref":1},"breadth":null,"fees":{"btcFastestSatVb":null,"ref":2},
		"predictions":[{"question":"Q?","probability":0.5,"ref":3},{"question":"None?","probability":null,"ref":3},{"question":"R?","outcome":"No","probability":1,"ref":3}]},
		"source_status":[{"ref":1}]}`)).View(api.PackCrypto)
	var got []string
	for _, r := range v.Table("sentiment").Rows {
		text := r.Label + ": "
		for _, c := range r.Cells {
			text += c.Text
		}
		got = append(got, text)
	}
	want := []string{"Fear & Greed: 24 Fear (alternative.me), yesterday -, a week ago -", "50% yes: Q?", "100% No: R?"}
	if !ok || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%t %q, want %q", ok, got, want)
	}
}

// TestPlainView: a state that consists of tables needs no layout; all that a row says stands in columns.
func TestPlainView(t *testing.T) {
	t.Parallel()
	v,
		ok := state.Read([]byte(`{"fx_rates":[{"id":"a","name":"A\u202e","symbol":"X","fundingPct":-0.5,"at":"2026-11-20T19:00:00Z","venue":"v","ref":1},
		{"id":"b","fundingPct":null,"ref":2,"stale":true}],"none":[]}`)).View("perps")
	if !ok || len(v.Tables) != 2 || v.Tables[0].Title != "FX rates" || v.Tables[0].Main != "fundingPct" || v.Table("none") == nil ||
		v.Table("") != nil {
		t.Fatalf("%t %+v", ok, v)
	}
	rows, columns := v.Tables[0].Rows, v.Tables[0].Columns
	if rows[0].Label != "A (X)" || rows[1].Label != "b" || rows[1].Path != "fx_rates[1]" || rows[1].Late(api.Ages{},
		time.Time{}) != "STALE" {
		t.Errorf("rows %+v", rows)
	}
	if c := columns[0].Cells; columns[0].Words || c[0] != (state.Cell{Text: "-0.50%", Sign: -1}) || c[1].Known() {
		t.Errorf("the rate is %+v", columns[0])
	}
	if at, venue := columns[1], columns[2]; !at.Words || at.Cells[0].At.IsZero() || !venue.Words || venue.Cells[0].Text != "v" {
		t.Errorf("the others are %+v, %+v", at, venue)
	}
}

// TestHeads: a field and a member are called alike everywhere.
func TestHeads(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		state.Head("inputPerMillionUsd", ""): "input/M", state.Head("change1hPct", "priceUsd"): "1h",
		state.Title("top_movers"): "Top movers", state.Title("fearGreed"): "Fear greed",
		state.Title("fx"): "FX", state.Called("EUR/USD", "EURUSD"): "EUR/USD", state.Called("Bitcoin", "BTC"): "Bitcoin (BTC)",
		state.Called("X", ""): "X",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNoView: a state of another form has none.
func TestNoView(t *testing.T) {
	t.Parallel()
	if _, ok := recorded(t).View("perps"); ok {
		t.Error("another pack is shown by layouts")
	}
	for _, text := range []string{
		`{`, `[]`, `{}`, `null`, `{"top_movers":7,"source_status":[{"ref":1}]}`,
	} {
		if _, ok := state.Read([]byte(text)).View(api.PackCrypto); ok {
			t.Errorf("%s is shown by layouts", text)
		}
	}
}

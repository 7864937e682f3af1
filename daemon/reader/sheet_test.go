package reader_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestSheetTiles: rows that lead the crypto pack stand above all, in their order; of other packs the first numbers of each table.
func TestSheetTiles(t *testing.T) {
	t.Parallel()
	const rows = `"assets":[{"id":"ethereum","name":"Ethereum","symbol":"ETH","priceUsd":3184,"ref":1},` +
		`{"id":"bitcoin","name":"Bitcoin","symbol":"BTC","priceUsd":91240,"change24hPct":-1.84,"word":"up","ref":1}]`
	for _, c := range []struct{ pack, doc, want string }{
		{"crypto", `{` + rows + `}`, "BTC $91,240.00 -1.84% up, ETH $3,184.00"},
		{"ai", `{` + rows + `,"mood":{"name":"Mood","value":24,"word":"Fear","ref":2}}`,
			"24 Fear, ETH $3,184.00, BTC $91,240.00 -1.84% up"},
		{"ai", `{"words":[{"id":"a","name":"A","said":"so","ref":1}]}`, ""},
	} {
		w := newWorld(t)
		if err := w.feed.Publish(pulse(c.pack, newest().Add(time.Minute), c.doc), state.Narration{}, nil); err != nil {
			t.Fatal(err)
		}
		s, err := w.Sheet(t.Context(), c.pack, nil)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, tile := range s.Tiles {
			told = append(told, strings.Join(strings.Fields(tile.Row.Symbol+" "+tile.Value.Text+" "+tile.Move.Text+" "+tile.Note), " "))
		}
		if got := strings.Join(told, ", "); got != c.want {
			t.Errorf("%s: tiles %q, want %q", c.doc, got, c.want)
		}
	}
}

// TestSheet: what people read of a state is cleaned, rounded and told with its source; the same edition gives the same sheet.
func TestSheet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const doc = `{"assets":[{"id":"btc","name":"Bit\u202ecoin","symbol":"BTC","priceUsd":91240,"change24hPct":-1.84,"dueAt":"2026-12-01T10:00:00Z","network":"base","ref":1},` +
		`{"id":"new","priceUsd":0.5,"ref":2,"stale":true}],"mood":{"name":"Mo\u202eod","value":24,"word":"Fear","ref":2},` +
		`"flags":[{"id":"a","severity":"notice","message":"a"},{"id":"b","severity":"critical","message":"b\u202e"},{"id":"c","severity":"warning","message":"c"}],` +
		`"source_status":[{"ref":1,"id":"one","status":"ok","fetchedAt":"2026-11-20T20:05:00Z","intervalSeconds":300},{"ref":2,"id":"two","status":"error","fetchedAt":null,"error":"down"}]}`
	p := pulse("crypto", newest().Add(time.Minute), doc)
	w.history.pulses = []state.Pulse{pulse("crypto", newest().Add(-2*time.Hour), `{"assets":[{"id":"btc","priceUsd":90000,"ref":1}]}`), p}
	told := state.Narration{Brief: state.Brief{Text: "BTC trades at $91,240 [1].\n\nFear [2] <i>.", At: newest(), Of: p.GeneratedAt}}
	if err := w.feed.Publish(p, told, nil); err != nil {
		t.Fatal(err)
	}
	w.clock(newest().Add(3 * time.Minute))
	s, err := w.Sheet(t.Context(), "crypto", nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.Sheet(t.Context(), "crypto", s); err != nil || again != s {
		t.Errorf("the same edition gives another sheet: %v", err)
	}
	if len(s.Flags) != 3 || s.Flags[0].Message != "b" || s.Flags[1].ID != "c" {
		t.Errorf("flags %+v", s.Flags)
	}
	if len(s.Groups) != 3 || s.Groups[0].Text != "b" {
		t.Errorf("lines of flags %+v", s.Groups)
	}
	if len(s.Tables) != 2 || !s.Tables[0].Readings || s.Tables[1].Title != "Assets" {
		t.Fatalf("tables %+v", s.Tables)
	}
	if mood := s.Tables[0].Rows[0]; mood.Name != "Mood" || mood.Cells[0].Text != "24" || mood.Cells[1].Text != "Fear" || mood.Ref != 2 {
		t.Errorf("the reading is %+v", mood)
	}
	table := s.Tables[1]
	if len(table.Columns) != 2 || table.Columns[0].Field != "priceUsd" || !table.Columns[1].Words {
		t.Fatalf("columns %+v", table.Columns)
	}
	btc, other, prices, due := table.Rows[0], table.Rows[1], table.Columns[0].Cells, table.Columns[1].Cells
	if btc.Name != "btc" || btc.Symbol != "" || prices[0].Text != "$91,240.00" || due[0].At.IsZero() || btc.Note != "base" ||
		len(s.Trend(btc)) != 48 {
		t.Errorf("the first row is %+v: %v, %v", btc, prices[0], due[0])
	}
	if !other.Stale || prices[1].Text != "$0.5000" || due[1].Text != "-" || s.Trend(other) != nil {
		t.Errorf("the second row is %+v: %v, %v", other, prices[1], due[1])
	}
	if len(s.Brief) != 2 || s.Brief[0][1].Ref != 1 || s.Brief[0][1].Text != "$91,240" ||
		s.Brief[0][1].Tip != "btc: $91,240.00 · One & Only" || s.Brief[1][1].Text != "2" {
		t.Errorf("the brief is %+v", s.Brief)
	}
	if s.Sources[1].Status != api.SourceError || s.Sources[1].Error != "down" || !s.Sources[1].At.IsZero() ||
		s.Sources[0].Name != "One & Only" {
		t.Errorf("sources %+v", s.Sources)
	}
	if _, err := w.Sheet(t.Context(), "ai", nil); err == nil {
		t.Error("a pack without a state has a sheet")
	}
	if found, err := w.Find(t.Context(), "crypto", "91240", false, time.Hour); err != nil || len(found.Matches) != 1 ||
		found.Matches[0].Path != "assets[0].priceUsd" {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := w.Find(t.Context(), "crypto", " ", false, time.Hour); err == nil {
		t.Error("an empty question is answered")
	}
}

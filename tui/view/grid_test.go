package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/tui/view"
)

// rates are rows of which most lack most fields.
func rates() view.Grid {
	rows := []map[string]any{
		{"ratePct": 4.08, "volumeUsd": 96e9, "volumeChange1hPct": 1.0, "venue": strings.Repeat("long ", 9), "at": "2026-11-24T15:04:00Z"},
		{"averagePct": 4.09, "at": "2027-01-05T15:04:00Z"}, {"ratePct": 4.11, "volumeUsd": 3.19e12, "at": "2026-11-20T15:04:00Z"}, {"ratePct": 4.1},
	}
	g := view.Grid{Rows: []int{0, 1, 2, 3}, Gap: 2, Now: time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC)}
	for _, field := range []string{"averagePct", "ratePct", "volumeUsd", "volumeChange1hPct", "venue", "at"} {
		values := make([]any, len(rows))
		for i, row := range rows {
			values[i] = row[field]
		}
		g.Columns = append(g.Columns, state.NewColumn(field, values))
	}
	return g
}

// TestGrid: no row is without a value, what most rows have comes before what most lack, a change is headed by its span behind what it is
// of, texts give way and numbers never do, and all fits.
func TestGrid(t *testing.T) {
	t.Parallel()
	g := rates()
	for width, want := range map[int]string{
		100: "name 20, average 7, rate 5, volume 7, 1h 6, venue 24, at 12", 60: "name 13, average 7, rate 5, volume 7, 1h 6, at 12", 43: "name 18, average 7, rate 5, volume 7",
		29: "name 13, average 7, rate 5", 20: "name 11, average 7", 14: "name 7, rate 5", 4: "name 4",
	} {
		name, columns := g.Beside(width, 20, 12)
		got, sum := fmt.Sprintf("name %d", name), name
		for _, c := range columns {
			got += fmt.Sprintf(", %s %d", c.Title, c.Width)
			sum += g.Gap + c.Width
		}
		if got != want || sum > width {
			t.Errorf("%d columns have %s, want %s", width, got, want)
		}
	}
	_, columns := g.Beside(100, 20, 12)
	if got := fmt.Sprint(columns[5].Cells, columns[1].Cells); got != "[Nov 24 15:04 2027-01-05 15:04 -] [4.08% - 4.11% 4.10%]" {
		t.Errorf("the cells are %s", got)
	}
	if name, columns := (view.Grid{Rows: []int{0}}).Beside(10, 3, 12); name != 3 || columns != nil {
		t.Errorf("without fields: %d, %v", name, columns)
	}
	for text, want := range map[string]string{"open interest": "OPEN INTEREST", "1h": "1h", "volume 24h": "VOLUME 24h", "": ""} {
		if got := view.Heading(text); got != want {
			t.Errorf("%q is headed %q", text, got)
		}
	}
}

package state_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/state"
)

// TestFind takes the words of a query alone, in values and in names at any depth, and parts of neither.
func TestFind(t *testing.T) {
	t.Parallel()
	const doc = `{"top_movers":[{"name":"Zcash","symbol":"ZEC","priceUsd":429.5,"venues":[{"priceUsd":430,"ref":15}]},{"name":"Solana","symbol":"SOL","priceUsd":148}],
		"sentiment":{"fearGreed":{"value":24,"label":"Extreme Fear"},"fees":{"btcFastestSatVb":9},"breadth":{"advancing":32,"none":null}},
		"narratives":[{"name":"Privacy","tags":["ZEC"],"headlines":[{"title":"Zcash tops 20%","ref":11},{"title":"SEC sues"}]}],
		"flags":[{"id":"a","message":"X lost $2M"},{"id":"b","message":"Y is down"}],"source_status":[{"id":"one","staleAfterSeconds":900}]}`
	for q, want := range map[string]string{
		"SEC": "narratives[0].headlines[1]", "zcash": "top_movers[0] narratives[0].headlines[0]", "Zcash price": "top_movers[0]",
		"price zcash": "top_movers[0]",
		"fees":        "sentiment.fees", "flags": "flags[0] flags[1]", "breadth": "sentiment.breadth", "fearGreed": "sentiment.fearGreed",
		"fear":       "sentiment.fearGreed",
		"fear greed": "sentiment.fearGreed", "seconds": "source_status[0]", "zec": "top_movers[0] narratives[0]",
		"message": "flags[0] flags[1]",
		"430":     "top_movers[0]", "top movers": "top_movers[0] top_movers[1]",
		"title": "narratives[0].headlines[0] narratives[0].headlines[1]",
		"zca":   "", "": "", "none": "", "…": "", "nothing of it": "",
	} {
		rows, total := state.Read([]byte(doc)).Find(q, 10)
		var paths []string
		for _, r := range rows {
			paths = append(paths, r.Path())
		}
		if got := strings.Join(paths, " "); got != want || total != len(rows) {
			t.Errorf("%q finds %q of %d, want %q", q, got, total, want)
		}
	}
	for k, want := range map[int]int{-1: 0, 0: 0, 1: 1, 2: 2, 3: 2} {
		if rows, total := state.Read([]byte(doc)).Find("flags", k); len(rows) != want || total != 2 {
			t.Errorf("k=%d: %d of %d", k, len(rows), total)
		}
	}
	if rows, total := state.Read([]byte(`[`)).Find("a", 1); rows != nil || total != 0 {
		t.Error("what is no JSON has rows")
	}
}

package source_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// TestRowsOf: what our clock and earlier answers add to a document is no part of its rows, and what upstream says is.
func TestRowsOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	number := func(x float64) *float64 { return &x }
	for name, tt := range map[string]struct {
		doc, same, other source.Doc
		whole            bool
	}{
		"index": {
			doc:   &source.FearGreedDoc{Days: []source.FearGreedDay{{Value: 9, At: at}}, NextUpdate: &at},
			same:  &source.FearGreedDoc{Days: []source.FearGreedDay{{Value: 9, At: at}}},
			other: &source.FearGreedDoc{Days: []source.FearGreedDay{{Value: 9, At: at.Add(1)}}, NextUpdate: &at},
		},
		"chains": {
			doc: &source.ChainsDoc{Chains: []source.Chain{{Name: "a", CoinID: "b", TVL: 3, Change1d: number(1), Change7d: number(2)}},
				HistoryAt: at, Hours: []source.ChainHour{{At: at}}, Histories: map[string]string{"a": "x"}},
			same:  &source.ChainsDoc{Chains: []source.Chain{{Name: "a", CoinID: "b", TVL: 3}}},
			other: &source.ChainsDoc{Chains: []source.Chain{{Name: "a", CoinID: "c", TVL: 3}}, HistoryAt: at},
		},
		"declared": {
			doc: &source.RowsDoc{At: at, Since: at, Past: map[string][]source.Sample{"a": {{At: at}}},
				Picks: map[string][]string{"x": {"a"}},
				Marks: map[string]map[string]source.Mark{"f": {"a": {Hold: true}}},
				Rows: []source.DeclaredRow{{Key: "a", Values: []source.Value{
					{Name: "x", Number: number(1)}, {Name: "x_was", Number: number(2), Ours: true},
					{Name: "x_at", Time: &at, Ours: true}}}}},
			same:  &source.RowsDoc{Rows: []source.DeclaredRow{{Key: "a", Values: []source.Value{{Name: "x", Number: number(1)}}}}},
			other: &source.RowsDoc{At: at, Rows: []source.DeclaredRow{{Key: "a", Values: []source.Value{{Name: "x", Number: number(2)}}}}},
		},
		"others": {
			doc: &source.FeesDoc{Fastest: number(1)}, same: &source.FeesDoc{Fastest: number(1)}, other: &source.FeesDoc{Fastest: number(2)},
			whole: true,
		},
	} {
		rows := func(d source.Doc) string {
			list, whole := source.RowsOf(d)
			text, err := json.Marshal(list)
			if err != nil || whole != tt.whole {
				t.Errorf("%s: %v, whole %v", name, err, whole)
			}
			return string(text)
		}
		before, err := json.Marshal(tt.doc)
		if got := rows(tt.doc); got != rows(tt.same) || got == rows(tt.other) || err != nil {
			t.Errorf("%s: %s, %s and %s", name, got, rows(tt.same), rows(tt.other))
		}
		if after, _ := json.Marshal(tt.doc); string(after) != string(before) {
			t.Errorf("%s: the document was changed", name)
		}
	}
}

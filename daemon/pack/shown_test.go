package pack_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestShownIsWhatTablesSay: what a state shows of a row under a name is what lookup says of it under the same, for every row of the recorded
// data and every field; and the first field of a kind is the one that lookup tells first.
func TestShownIsWhatTablesSay(t *testing.T) {
	t.Parallel()
	p := pack.Crypto()
	in := tick(t, 1)
	doc, _ := compact(t, in)
	tables := p.Tables(in)
	compared := map[string]int{}
	for _, shown := range p.Shown {
		for i, field := range shown.Fields {
			if err := state.CheckSeries(p.Shown, shown.Kind+"/"+cmp.Or(shown.Key, "x"), field.Name); err != nil {
				t.Errorf("%s of %s: %v", field.Name, shown.Kind, err)
			}
			s := state.NewSeries([]state.Shown{shown}, shown.Path, field.Name, read(doc))
			s.Add(doc)
			for _, r := range s.Rows() {
				row := tables.Row(r.Kind, r.Key)
				if row == nil {
					t.Errorf("%s/%s is in no table", r.Kind, r.Key)
					continue
				}
				if i == 0 && row.Fields[0].Name != field.Name {
					t.Errorf("%s begins with %s in lookup and with %s here", r.Kind, row.Fields[0].Name, field.Name)
				}
				if r.Name != row.Name {
					t.Errorf("%s/%s is called %q and %q", r.Kind, r.Key, r.Name, row.Name)
				}
				if field.Name == "score" { // which is the state's own
					continue
				}
				compared[r.Kind]++
				if want, ok := number(row.Fields.Get(field.Name)); ok != (r.Values[0] != nil) || ok && want != *r.Values[0] {
					t.Errorf("%s of %s/%s is %v, in lookup %v", field.Name, r.Kind, r.Key, deref(r.Values[0]), row.Fields.Get(field.Name))
				}
			}
		}
	}
	kinds := []string{"asset", "breadth", "category", "chain", "fee", "index", "market", "pool", "prediction", "protocol", "stablecoin_total"}
	for _, kind := range kinds {
		if compared[kind] == 0 {
			t.Errorf("no %s was compared", kind)
		}
	}
	for kind := range compared {
		if !slices.Contains(kinds, kind) {
			t.Errorf("nobody expects %s", kind)
		}
	}
}

// number is v as a number.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	}
	return 0, false
}

// TestMembersHaveSeries: every member of the state that holds numbers of things has them as series, and the others say which have.
func TestMembersHaveSeries(t *testing.T) {
	t.Parallel()
	p := pack.Crypto()
	doc, s := compact(t, tick(t, 1))
	for path, want := range map[string]int{
		"top_movers": len(s.TopMovers), "protocol_tvl": len(s.ProtocolTVL), "trending_pools": len(s.TrendingPools), "narratives": len(s.Narratives),
		"sentiment": 5 + len(s.Sentiment.Predictions), "sentiment.predictions": len(s.Sentiment.Predictions), "sentiment.market": 1,
	} {
		if err := state.CheckSeries(p.Shown, path, ""); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if got := len(state.NewSeries(p.Shown, path, "", read(doc)).Rows()); got != want {
			t.Errorf("%s has %d rows, want %d", path, got, want)
		}
	}
	for _, path := range []string{"flags", "source_status"} {
		if got := api.AsError(state.CheckSeries(p.Shown, path, "")); got.Reason != api.ReasonInvalidPath {
			t.Errorf("%s: %v", path, got)
		}
	}
}

package brief_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestSince: what rose, became graver, ended and moved is told from the current state, with its sources and no others.
func TestSince(t *testing.T) {
	t.Parallel()
	of := time.Date(2026, 11, 20, 17, 0, 1, 0, time.UTC)
	in := brief.Input{Pack: "crypto", State: state.Read([]byte(`{"flags":[
		{"id":"exploit:x","kind":"exploit_reported","severity":"critical","subject":"X","message":"X: $31.0M loss reported","since":"2026-11-20T18:00:00Z","ref":3},
		{"id":"move:y","kind":"price_move","severity":"warning","subject":"Y","message":"Y is up 40% in 24 hours","since":"2026-11-20T10:00:00Z","ref":1},
		{"id":"move:z","kind":"price_move","severity":"notice","subject":"Z","message":"Z is up 21% in 24 hours","since":"2026-11-20T10:00:00Z","ref":1}],
		"top_movers":[{"id":"bitcoin","name":"Bitcoin","priceUsd":90000,"ref":2},{"id":"tether","name":"Tether","priceUsd":1.001,"ref":2},{"id":"bitcoin","name":"Bitcoin","priceUsd":90000,"ref":2}]}`)),
		Citations: []api.Citation{{Ref: 1, SourceID: "one"}, {Ref: 2, SourceID: "two"}, {Ref: 3, SourceID: "three"}, {Ref: 4, SourceID: "four"}}}
	before := state.Read([]byte(`{"flags":[{"id":"move:y","kind":"price_move","severity":"notice","subject":"Y"},{"id":"move:z","kind":"price_move","severity":"notice","subject":"Z"},
		{"id":"fees:btc","kind":"fee_spike","severity":"notice","subject":"Bitcoin fees","ref":4}],
		"top_movers":[{"id":"bitcoin","priceUsd":93750},{"id":"tether","priceUsd":1}]}`))
	got := brief.Since(before, of, in)
	const want = "New: critical, X: $31.0M loss reported [3]; now warning, Y is up 40% in 24 hours [1]. Ended: Bitcoin fees (fee spike) [4]. Moved: Bitcoin −4.0% to $90,000 [2]."
	if got.Text != want || len(got.Citations) != 4 || got.Citations[3].SourceID != "four" {
		t.Errorf("%+v, want %s", got, want)
	}
	if got := brief.Since(nil, of, in); got.Text != "New: critical, X: $31.0M loss reported [3]." { // the state of the brief is not kept any more
		t.Errorf("without the state before: %+v", got)
	}
	if got := brief.Since(in.State, of.Add(2*time.Hour), in); !strings.Contains(got.Text, "No flag rose") || got.Citations == nil || len(got.Citations) != 0 {
		t.Errorf("of the same state: %+v", got)
	}
}

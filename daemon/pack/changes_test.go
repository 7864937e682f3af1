package pack_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestRowsAreThoseOfTheTables has every row that a state shows in the tables, by its kind and key, and with the same figures.
func TestRowsAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 3; n++ {
		in := tick(t, n)
		text, shown := compact(t, in)
		tables, kinds := pack.Crypto().Tables(in), map[string]int{}
		for _, r := range read(text).Rows(pack.Crypto().Shown) {
			kinds[r.Kind]++
			was := tables.Row(r.Kind, r.Key)
			if was == nil {
				t.Errorf("tick %d: there is no row %s/%s", n, r.Kind, r.Key)
				continue
			}
			if r.Name != was.Name || r.Symbol != was.Symbol || r.Ref != was.Ref || r.Stale != was.Stale || r.Entity != "" && r.Entity != was.Entity {
				t.Errorf("tick %d: %+v, in the tables %+v", n, r, *was)
			}
			if r.Fields[0].Name != was.Fields[0].Name {
				t.Errorf("tick %d: %s/%s begins with %s, in the tables with %s", n, r.Kind, r.Key, r.Fields[0].Name, was.Fields[0].Name)
			}
			for _, f := range r.Fields {
				if x, ok := number(f.Value); ok && r.Kind != "prediction" { // whose state has fewer digits
					if want, ok := number(was.Fields.Get(f.Name)); ok && x != want {
						t.Errorf("tick %d: %s of %s/%s is %v, in the tables %v", n, f.Name, r.Kind, r.Key, f.Value, want)
					}
				} else if want := was.Fields.Get(f.Name); !ok && !reflect.DeepEqual(f.Value, want) {
					t.Errorf("tick %d: %s of %s/%s is %v, in the tables %v", n, f.Name, r.Kind, r.Key, f.Value, want)
				}
			}
		}
		protocols := kinds["protocol"] + kinds["chain"]
		if kinds["asset"] != len(shown.TopMovers) || protocols != len(shown.ProtocolTVL) || kinds["pool"] != len(shown.TrendingPools) ||
			kinds["prediction"] != len(shown.Sentiment.Predictions) || kinds["category"] != len(shown.Narratives) ||
			kinds["headline"] == 0 || kinds["market"] != 1 || kinds["index"] != 1 || kinds["fee"] != 1 {
			t.Errorf("tick %d: %v", n, kinds)
		}
	}
}

// pulses are the pulses of two recorded ticks, each made from the one before, and the tables of the second.
func pulses(t testing.TB, a, b int) (from, to state.Pulse, tables *state.Tables) {
	t.Helper()
	var prev []byte
	for i, n := range []int{a, b} {
		in := tick(t, n)
		in.Prev = read(prev)
		prev, _ = compact(t, in)
		var status struct {
			SourceStatus []api.SourceStatus `json:"source_status"`
		}
		if err := json.Unmarshal(prev, &status); err != nil {
			t.Fatal(err)
		}
		p := state.Pulse{Pack: "crypto", GeneratedAt: in.Now, State: prev, Citations: pack.Crypto().Citations(read(prev), status.SourceStatus, in.Now)}
		if i == 0 {
			from = p
			continue
		}
		to, tables = p, pack.Crypto().Tables(in)
	}
	return from, to, tables
}

// TestChangesOfTicks tells what happens in the recorded data from its first tick to the next.
func TestChangesOfTicks(t *testing.T) {
	t.Parallel()
	from, to, tables := pulses(t, 1, 2)
	c := state.Compare(from, to, pack.Crypto().Shown, tables, state.Ask{Min: 1, Kinds: []string{"asset", "protocol", "headline"}})
	var got strings.Builder
	for _, f := range c.Flags {
		fmt.Fprintf(&got, "%s %s %s [%d] %s\n", f.Change, f.Severity, f.ID, f.Ref, f.Since.Format(time.TimeOnly))
	}
	for _, r := range c.Rows {
		fmt.Fprintf(&got, "%s/%s of %s %s %v > %v %+.2f%% [%d] %s\n", r.Kind, r.Key, r.Entity, r.Field, r.From, r.To, *r.ChangePct, r.Ref, r.URL)
	}
	for _, h := range c.Headlines {
		fmt.Fprintf(&got, "%s %s [%d]\n", h.At.Format(time.TimeOnly), h.Title, h.Ref)
	}
	fmt.Fprintf(&got, "%v %d of %d clear %v, %d citations\n", c.Sources, c.SourcesAnswered, c.SourcesAsked, c.Clear, len(c.Citations))
	golden(t, "changes.golden", []byte(got.String()))

	if c = state.Compare(to, to, pack.Crypto().Shown, tables, state.Ask{}); len(c.Flags)+len(c.Rows)+len(c.Headlines)+len(c.Sources) > 0 || !c.Clear {
		t.Errorf("a state differs from itself: %+v", c)
	}
}

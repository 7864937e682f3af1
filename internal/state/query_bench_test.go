package state_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// BenchmarkQuery asks tables of the usual size, states of the past with them, and a day of states: the 99th percentile is p99-ns.
func BenchmarkQuery(b *testing.B) {
	fields := []state.ShownField{{Name: "priceUsd"}, {Name: "change1hPct"}, {Name: "change24hPct"}, {Name: "marketCapUsd"}, {Name: "volume24hUsd"}}
	shown := []state.Shown{{Kind: "asset", Path: "top_movers", Label: "name", Fields: fields}}
	var rows []state.Row
	for i := range 500 {
		kind := []string{"asset", "protocol", "headline", "venue", "pool"}[i%5]
		r := state.Row{Kind: kind, Key: fmt.Sprintf("coin-%d", i/5), Name: fmt.Sprintf("Coin %d of many", i/5), Symbol: fmt.Sprintf("C%d", i/5), Size: float64(i), Ref: 1}
		for j, f := range fields {
			r.Fields = append(r.Fields, api.Field{Name: f.Name, Value: float64((i*7919+j*31)%977) / 3})
		}
		rows = append(rows, r)
	}
	var kinds []state.Kind
	for _, name := range []string{"asset", "protocol", "headline", "venue", "pool"} {
		kinds = append(kinds, state.Kind{Name: name, Size: "marketCapUsd"})
	}
	tables := state.NewTables(kinds, rows)
	then := state.Pulse{State: wideState(usualRows), GeneratedAt: time.Unix(1e9, 0)}
	now := then
	now.Doc = state.Read(now.State)
	for _, c := range []struct {
		name, query string
		past        bool
		states      int
	}{
		{"one", "table:asset where:symbol=C7 fields:priceUsd", false, 0},
		{"eight conditions", "table:asset where:priceUsd>1 where:priceUsd<300 where:change1hPct>1 where:change24hPct>1 where:name~coin " +
			"where:name!=x where:symbol!=x where:marketCapUsd>1 order:-change24hPct limit:100 agg:count,avg:priceUsd", false, 0},
		{"flags", "table:flags where:severity>=notice", false, 0}, {"at", "table:asset order:-priceUsd at:x", true, 0},
		{"at and over", "table:asset where:key~coin order:-changePct at:x over:24h", true, 1}, {"a day of states", "table:asset over:24h agg:max:priceUsd", false, 288},
	} {
		b.Run(c.name, func(b *testing.B) {
			q, err := tables.Complete(rowQuery(b, c.query))
			if err != nil {
				b.Fatal(err)
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				of := state.Asked{Query: q, Tables: tables, Shown: shown, State: now, Past: c.past}
				if c.past {
					of.State = then // which nobody has parsed
				}
				if q.Over != "" {
					before := then
					of.Before = &before
				}
				if c.states > 1 {
					of.Through = func(yield func(state.Pulse, error) bool) {
						for i := range c.states {
							p := then
							if p.GeneratedAt = p.GeneratedAt.Add(time.Duration(i) * time.Second); !yield(p, nil) {
								return
							}
						}
					}
				}
				if _, err := state.Query(of); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
		})
	}
}

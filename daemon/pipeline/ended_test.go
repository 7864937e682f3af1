package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
)

// TestFlagsThatEndedAreRemembered lets a flag end and come back, with restarts and kills between: what ended is known for an hour, and one
// that comes back in that time stands since it first did.
func TestFlagsThatEndedAreRemembered(t *testing.T) {
	for name, again := range map[string]func(*rig){
		"running": func(*rig) {}, "restarted": func(r *rig) { r.reopen(nil) }, "killed": func(r *rig) { r.open(nil) }, // nothing is closed
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := pack.Crypto()
				p.ID = packID
				r := build(t, p, nil)
				begin := time.Now()
				step := func(fastest float64) {
					t.Helper()
					r.fetcher.tell(func(context.Context, int) source.Outcome { return fee(fastest) }, "mempool-fees")
					r.refresh()
					again(r)
					time.Sleep(5 * time.Minute)
				}
				flags := func() string { // standing, and ended; with minutes since the begin
					text := ""
					for _, f := range r.edition().Doc.Flags() {
						text += fmt.Sprint(f.ID, " since ", f.Since.Sub(begin).Round(time.Minute), ";")
					}
					for _, e := range r.edition().Ended {
						text += fmt.Sprint(e.ID, " since ", e.Since.Sub(begin).Round(time.Minute), " until ", e.EndedAt.Sub(begin).Round(time.Minute), ";")
					}
					return text
				}
				step(80)
				want(t, "first", flags(), "fees:btc since 0s;")
				step(5)
				want(t, "ended", flags(), "fees:btc since 0s until 5m0s;")
				step(80)
				want(t, "back after minutes", flags(), "fees:btc since 0s;")
				step(5)
				for range 12 {
					want(t, "remembered", flags(), "fees:btc since 0s until 15m0s;")
					step(5)
				}
				want(t, "remembered for the hour", flags(), "fees:btc since 0s until 15m0s;")
				step(5)
				want(t, "forgotten", flags(), "")
				step(80)
				want(t, "back after more than an hour", flags(), "fees:btc since 1h25m0s;")
			})
		})
	}
}

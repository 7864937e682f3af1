package packs_test

import (
	"flag"
	"testing"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/packtest"
)

// states is how many random states each pack makes: go -C internal/bench test ./packs -states 100000 -seed 7.
var (
	states = flag.Int("states", 1000, "how many random states each pack makes")
	seed   = flag.Uint64("seed", 0, "what they are drawn by")
)

// TestShippedAnyState: a state of random rows is as good as a recorded one, and so is its brief.
func TestShippedAnyState(t *testing.T) {
	t.Parallel()
	for _, id := range manifest.Shipped() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			text, _ := manifest.ShippedText(id)
			m, err := manifest.Read(text, true)
			if err != nil {
				t.Fatal(err)
			}
			e, err := manifest.NewLocal(m)
			if err != nil {
				t.Fatal(err)
			}
			cfg := packtest.Config{Manifest: m, Evaluator: e, Tape: packtest.Shipped(), Dir: t.TempDir(), Seed: *seed}
			findings, err := packtest.Random(t.Context(), cfg, *states)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				t.Error(f)
			}
		})
	}
}

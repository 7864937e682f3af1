// Package chance checks properties of tests with the same values in every run. What other values find is for .ci/run full, which draws
// them by a seed of its own, RAPID_SEED.
package chance

import (
	"flag"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// set is done once: tests that run beside each other read the flags.
var set = sync.OnceFunc(func() {
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		_ = seed.Value.Set("1")
	}
	_ = flag.Set("rapid.nofailfile", "true") // the seed tells the case, and a test leaves nothing behind
})

// Check has rapid check a property.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	set()
	rapid.Check(t, property)
}

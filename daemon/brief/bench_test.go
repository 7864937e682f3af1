package brief_test

import (
	"testing"

	"github.com/contextd/contextd/daemon/brief"
)

// BenchmarkCheck checks the built-in brief of a recorded state.
func BenchmarkCheck(b *testing.B) {
	in := input(b, readState(b, "tick3"))
	text := write(b, in)
	for b.Loop() {
		if list := brief.Check(text, in); len(list) > 0 {
			b.Fatal(report(list))
		}
	}
}

package pack_test

import (
	"testing"

	"github.com/contextd/contextd/daemon/pack"
)

// BenchmarkCompact compacts a recorded tick with the flags of its own state.
func BenchmarkCompact(b *testing.B) {
	p, in := pack.Crypto(), tick(b, 3)
	prev, err := p.Compact(in)
	if err != nil {
		b.Fatal(err)
	}
	in.Prev = prev
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Compact(in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(prev)), "bytes/state")
}

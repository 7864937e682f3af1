package pack_test

import (
	"runtime"
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
	in.Prev = read(prev)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Compact(in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(prev)), "bytes/state")
}

// BenchmarkTables makes the tables of a recorded tick, and says how much memory they keep beside what the sources said.
func BenchmarkTables(b *testing.B) {
	p, in := pack.Crypto(), tick(b, 3)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tables := p.Tables(in)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	for b.Loop() {
		p.Tables(in)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB/tables")
	b.ReportMetric(float64(len(tables.Rows())), "rows")
}

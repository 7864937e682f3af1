package daemon_test

import (
	"io"
	"log/slog"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
)

// BenchmarkRefresh refreshes all packs of the program, each source of which answers something new, and says what processor time that takes
// and how much memory a daemon keeps. That of the crypto pack alone is what the others are held against.
func BenchmarkRefresh(b *testing.B) {
	for name, ids := range map[string][]string{"crypto": nil, "all": manifest.Shipped()} {
		b.Run(name, func(b *testing.B) {
			packs := []daemon.Pack{{Pack: pack.Crypto()}}
			for _, id := range ids {
				packs = append(packs, shipped(b, id))
			}
			var before runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			d := daemontest.Open(b, func(cfg *daemon.Config) {
				cfg.Packs, cfg.Logger = packs, slog.New(slog.NewTextHandler(io.Discard, nil))
			})
			sources := 0
			refresh := func() {
				sources = 0
				for _, p := range packs {
					if err := d.Refresh(b.Context(), p.ID); err != nil {
						b.Fatal(err)
					}
					sources += len(p.Sources)
				}
				d.Clock.Advance(5 * time.Minute)
			}
			for range 12 { // an hour, after which changes are known
				refresh()
			}
			spent := processor(b)
			for b.Loop() {
				refresh()
			}
			b.ReportMetric(float64((processor(b)-spent).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			var after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20), "MiB-heap")
			b.ReportMetric(float64(sources), "sources")
		})
	}
}

// shipped makes a pack that is part of the program.
func shipped(t testing.TB, id string) daemon.Pack {
	t.Helper()
	text, _ := manifest.ShippedText(id)
	m, err := manifest.Read(text, true)
	if err != nil {
		t.Fatal(err)
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	p, w, err := m.Make(e)
	if err != nil {
		t.Fatal(err)
	}
	return daemon.Pack{Pack: p, Writer: w}
}

// processor is the processor time that this process has taken.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

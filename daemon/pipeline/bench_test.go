package pipeline_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/daemon/store/history"
)

// shelf is a Fetcher that answers at once with what was decoded before: the recorded ticks in turns.
type shelf struct {
	ticks []map[string]source.Outcome // by source
	turn  int
}

// Know implements pipeline.Fetcher.
func (s *shelf) Know(source.Versions) {}

func (s *shelf) Fetch(_ context.Context, c source.Connector, _ source.Doc) source.Outcome {
	return s.ticks[s.turn%len(s.ticks)][c.ID]
}

// newShelf reads three recorded ticks of p's sources.
func newShelf(b *testing.B, p *pack.Pack, now func() time.Time) *shelf {
	b.Helper()
	s, recording := new(shelf), replay.New(now)
	f := source.NewFetcher(source.Config{Transport: recording, Now: now, Shift: recording.Shift})
	for range 3 {
		tick := map[string]source.Outcome{}
		for _, src := range p.Sources {
			o := f.Fetch(b.Context(), src.Connector, nil)
			if o.Err != nil {
				b.Fatalf("%s: %v", src.ID, o.Err)
			}
			tick[src.ID] = o
		}
		s.ticks = append(s.ticks, tick)
		recording.Advance()
	}
	return s
}

// BenchmarkPublication is a refresh of the crypto pack from the last answer to the published edition: state, tables, brief, history on disk
// and bodies. MiB/edition is what an edition with its tables keeps of the heap, beside what the sources said.
func BenchmarkPublication(b *testing.B) {
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	p := pack.Crypto()
	shelf := newShelf(b, p, now)
	store, err := history.Open(b.Context(), b.TempDir(), at)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	published := feed.New(p.ID)
	pipe, err := pipeline.Open(b.Context(), pipeline.Config{
		Pack: p, Fetcher: shelf, Store: store, Feed: published, Now: now, Jitter: -1, AlwaysDue: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	publish := func() {
		at = at.Add(5 * time.Minute)
		shelf.turn++
		if _, err := pipe.Refresh(b.Context(), true); err != nil {
			b.Fatal(err)
		}
	}
	publish()
	publish() // into what the first has left in caches
	b.ReportAllocs()
	for b.Loop() {
		publish()
	}
	with := heap()
	edition, _ := published.Latest(p.ID)
	rows := len(edition.Rows.Rows())
	edition, published = nil, nil
	pipe = nil
	b.ReportMetric(float64(with-heap())/(1<<20), "MiB/edition")
	b.ReportMetric(float64(rows), "rows")
	runtime.KeepAlive(shelf)
}

// heap is how many bytes are in use.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

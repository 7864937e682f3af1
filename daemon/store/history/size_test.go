package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

var pulses = flag.Int("pulses", 3000, "how many pulses BenchmarkHistory writes")

// pulsesPerYear is one every five minutes.
const pulsesPerYear = 365 * 24 * 12

// sizes sums up what a history takes.
type sizes struct {
	pulses                int
	states, bodies, files int64 // bytes: of the states as JSON, of the rows' bodies, of the files with all that is in them
}

// write writes n pulses of a walk and returns how long each took to save.
func write(t testing.TB, s *history.History, w *walk, n int) (saving []time.Duration, total sizes) {
	t.Helper()
	if _, err := s.OpenPack(t.Context(), api.PackCrypto, epoch()); err != nil {
		t.Fatal(err)
	}
	for range n {
		p := w.step()
		total.pulses++
		total.states += int64(len(p.State))
		begin := time.Now()
		if _, err := s.SavePulse(t.Context(), p, state.Brief{}, nil); err != nil {
			t.Fatal(err)
		}
		saving = append(saving, time.Since(begin))
	}
	return saving, total
}

// measure adds what the closed history in dir takes.
func (s *sizes) measure(t testing.TB, dir string) {
	t.Helper()
	path := filepath.Join(dir, history.File)
	db := testbed.SQL(t, dir, history.File)
	if err := db.QueryRowContext(t.Context(), "SELECT sum(length(body)) FROM pulses").Scan(&s.bodies); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil { // else what the store writes next stays in the log
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s.files = info.Size()
}

// ratio is the size of the file per size of the states.
func (s *sizes) ratio() float64 { return float64(s.files) / float64(s.states) }

// since is what came after before: a new file has some pages that are hardly used yet.
func (s *sizes) since(before sizes) sizes {
	return sizes{s.pulses - before.pulses, s.states - before.states, s.bodies - before.bodies, s.files - before.files}
}

// TestHistoryIsSmall: a history grows by at most 14 % of what its states would take, with everything that the file holds: 12 % is for the
// states, the rest for the leaves that prove them.
func TestHistoryIsSmall(t *testing.T) {
	long.Test(t)
	t.Parallel()
	dir, w := testbed.Files(t), newWalk(t, 1)
	const blocks = 25
	var total, empty sizes
	for i, n := range []int{2 * history.KeyframeEvery, blocks * history.KeyframeEvery} {
		s := open(t, dir)
		_, written := write(t, s, w, n)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		total.pulses, total.states = total.pulses+written.pulses, total.states+written.states
		if total.measure(t, dir); i == 0 {
			empty = total
		}
	}
	grown := total.since(empty)
	if size := grown.states / int64(grown.pulses); size < 14_000 || size > 32_000 {
		t.Errorf("states of %d bytes are not what the pack makes", size)
	}
	if grown.ratio() > 0.14 {
		t.Errorf("the history grows by %.1f %% of its states: %+v", 100*grown.ratio(), grown)
	}
	t.Logf("%.2f %% of %d bytes a state: %+v", 100*grown.ratio(), grown.states/int64(grown.pulses), grown)
}

// TestLogIsBounded: what is not in the database file yet does not grow for ever either.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	dir := testbed.Files(t)
	s := open(t, dir)
	for i := range 120 {
		save(t, s, pulseAt(i, "x"))
	}
	info, err := os.Stat(filepath.Join(dir, history.File+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 6<<20 {
		t.Errorf("the log has %d bytes after 120 states", info.Size())
	}
}

// TestWalkReadsBack saves what a live daemon would and reads all of it back.
func TestWalkReadsBack(t *testing.T) {
	t.Parallel()
	s := open(t, testbed.Place(t))
	const n = history.KeyframeEvery + 20
	write(t, s, newWalk(t, 2), n)
	again, before := newWalk(t, 2), epoch()
	for range n {
		p := again.step()
		got, err := s.PulseBefore(t.Context(), p.Pack, p.GeneratedAt.Add(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, p)
		if older, err := s.PulseBefore(t.Context(), p.Pack, p.GeneratedAt); !errors.Is(err, state.ErrNoPulse) && !older.GeneratedAt.Equal(before) {
			t.Errorf("before %v: %v, %v; want %v", p.GeneratedAt, older.GeneratedAt, err, before)
		}
		before = p.GeneratedAt
	}
}

// TestLargeState: a state need not be as small as those of the pack, nor as like its keyframe.
func TestLargeState(t *testing.T) {
	t.Parallel()
	s, rnd := open(t, testbed.Place(t)), rand.New(rand.NewPCG(5, 5))
	for i := range 3 {
		p := pulseAt(i, "x")
		var rows []float64
		for range 80_000 {
			rows = append(rows, rnd.NormFloat64())
		}
		var err error
		if p.State, err = json.Marshal(map[string]any{"rows": rows}); err != nil {
			t.Fatal(err)
		}
		save(t, s, p)
		got, err := s.PulseBefore(t.Context(), p.Pack, p.GeneratedAt.Add(time.Millisecond))
		if err != nil {
			t.Fatalf("state of %d bytes: %v", len(p.State), err)
		}
		same(t, got, p)
	}
}

// percentile is the p-th percentile of some times, in milliseconds.
func percentile(times []time.Duration, p int) float64 {
	slices.Sort(times)
	return float64(times[min(len(times)-1, len(times)*p/100)].Microseconds()) / 1000
}

// BenchmarkHistory writes -pulses pulses and looks random minutes of them up, with decoders that are cold at first.
// It measures its own times, so -benchtime=1x is enough.
func BenchmarkHistory(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		s := open(b, dir)
		w := newWalk(b, 1)
		saving, total := write(b, s, w, *pulses)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		total.measure(b, dir)
		n := float64(total.pulses)
		b.ReportMetric(float64(total.states)/n, "state_B/pulse")
		b.ReportMetric(float64(total.bodies)/n, "body_B/pulse")
		b.ReportMetric(float64(total.files)/n, "file_B/pulse")
		b.ReportMetric(100*total.ratio(), "%")
		b.ReportMetric(total.ratio()*20_000*pulsesPerYear/1e6, "MB/year@20kB")
		b.ReportMetric(percentile(saving, 50), "save_p50_ms")
		b.ReportMetric(percentile(saving, 99), "save_p99_ms")
		reading := lookUp(b, open(b, dir), w, 5000)
		b.ReportMetric(percentile(reading, 50), "read_p50_ms")
		b.ReportMetric(percentile(reading, 99), "read_p99_ms")
		b.ReportMetric(percentile(reading, 100), "read_max_ms")
		b.ReportMetric(0, "ns/op")
	}
}

// lookUp looks n random minutes of a walk up.
func lookUp(b testing.TB, s *history.History, w *walk, n int) (reading []time.Duration) {
	b.Helper()
	minutes := int64(w.now.Sub(w.begin) / time.Minute)
	rnd := rand.New(rand.NewPCG(3, 3))
	for range n {
		at := w.begin.Add(time.Duration(6+rnd.Int64N(minutes-6)) * time.Minute)
		begin := time.Now()
		if _, err := s.PulseBefore(context.WithoutCancel(b.Context()), api.PackCrypto, at); err != nil {
			b.Fatal(err)
		}
		reading = append(reading, time.Since(begin))
	}
	return reading
}

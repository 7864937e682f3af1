package history_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// made gives states the sources of the crypto pack, each fetched when it is due, with bodies that are never the same: of coinbase-exchange
// five, of defillama-chains one beside six that are read once a day.
type made struct {
	next map[string]time.Time
	last map[string]api.LogSource
	n    uint64
}

// hash is one that was not there before.
func (m *made) hash() string {
	m.n++
	sum := sha256.Sum256(binary.NativeEndian.AppendUint64(nil, m.n))
	return hex.EncodeToString(sum[:])
}

// made is how a state of a time is made.
func (m *made) made(at time.Time) state.Made {
	return state.Made{Sources: m.of(at), Every: 5 * time.Minute, Tables: m.hash()}
}

func (m *made) of(at time.Time) (list []api.LogSource) {
	for _, s := range pack.Crypto().Sources {
		if at.Before(m.next[s.ID]) {
			list = append(list, m.last[s.ID])
			continue
		}
		m.next[s.ID] = at.Add(s.Interval - time.Second)
		many := 1
		if s.ID == "coinbase-exchange" {
			many = 5
		}
		l := api.LogSource{ID: s.ID, FetchedAt: at.Truncate(time.Millisecond)}
		for range many {
			l.Bodies = append(l.Bodies, m.hash())
		}
		for i := range 6 {
			if sum := sha256.Sum256(fmt.Append(nil, at.Format(time.DateOnly), i)); s.ID == "defillama-chains" {
				l.Bodies = append(l.Bodies, hex.EncodeToString(sum[:]))
			}
		}
		l.At, l.Doc = l.FetchedAt.Add(-time.Second), m.hash()
		if _, whole := source.RowsOf(s.New()); !whole {
			l.Rows = m.hash()
		}
		if s.Remembers {
			l.From = m.last[s.ID].Doc
		}
		m.last[s.ID] = l
		list = append(list, l)
	}
	return list
}

// TestLogIsSmall: the log of a year of a pack takes at most 140 MB, by what a history of next to nothing grows by with whole tiles.
func TestLogIsSmall(t *testing.T) {
	long.Test(t)
	t.Parallel()
	var sizes [2]int64
	for i, tiles := range []int{1, 5} {
		dir := t.TempDir()
		s, m := open(t, dir), made{next: map[string]time.Time{}, last: map[string]api.LogSource{}}
		if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
			t.Fatal(err)
		}
		for n := range tiles * translog.Width {
			p := state.Pulse{Pack: "crypto", Version: 2, GeneratedAt: epoch().Add(time.Duration(n) * 5 * time.Minute), State: []byte("{}")}
			p.Made = m.made(p.GeneratedAt)
			if _, err := s.SavePulse(t.Context(), p, state.Brief{Text: "x", At: p.GeneratedAt, Of: p.GeneratedAt}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		sizes[i] = fileSize(t, dir)
	}
	leaf := (sizes[1] - sizes[0]) / (4 * translog.Width)
	if year := leaf * pulsesPerYear; year > 140e6 {
		t.Errorf("a year of leaves takes %d MB", year/1e6)
	}
	t.Logf("%d bytes a leaf, %d MB a year", leaf, leaf*pulsesPerYear/1_000_000)
}

// fileSize is that of the history in dir, which is closed.
func fileSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, history.File))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// processor is how long the process has had one, which says what something costs on a machine that does much else, too.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLeaf measures what a leaf of the crypto pack costs a state: it saves the same states into two histories in turns, one of which
// leaves the log out.
func BenchmarkLeaf(b *testing.B) {
	var with, without []time.Duration
	var ownWork, bareWork time.Duration
	own, bare := open(b, b.TempDir()), open(b, b.TempDir())
	for _, s := range []*history.History{own, bare} {
		if _, err := s.OpenPack(b.Context(), "crypto", epoch()); err != nil {
			b.Fatal(err)
		}
	}
	m := made{next: map[string]time.Time{}, last: map[string]api.LogSource{}}
	for n := 0; b.Loop(); n++ {
		p := pulseAt(n, "x")
		p.Made = m.made(p.GeneratedAt)
		begin, work := time.Now(), processor(b)
		if _, err := own.SavePulse(b.Context(), p, state.Brief{}, nil); err != nil {
			b.Fatal(err)
		}
		with, ownWork = append(with, time.Since(begin)), ownWork+processor(b)-work
		begin, work = time.Now(), processor(b)
		if err := bare.SaveUnproven(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		without, bareWork = append(without, time.Since(begin)), bareWork+processor(b)-work
	}
	for _, p := range []int{50, 90} {
		b.ReportMetric(percentile(with, p)-percentile(without, p), fmt.Sprintf("p%d-ms-more", p))
		b.ReportMetric(percentile(without, p), fmt.Sprintf("p%d-ms-before", p))
	}
	b.ReportMetric((ownWork-bareWork).Seconds()*1000/float64(len(with)), "processor-ms-more")
}

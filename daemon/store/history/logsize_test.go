package history_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/sdk/api"
)

// made gives states the sources of the crypto pack, each fetched when it is due, with bodies that are never the same: of coinbase-exchange
// five, of defillama-chains one beside six that are read once a day.
type made struct {
	next map[string]time.Time
	last map[string]api.LogSource
	n    uint64
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
			m.n++
			sum := sha256.Sum256(binary.NativeEndian.AppendUint64(nil, m.n))
			l.Bodies = append(l.Bodies, hex.EncodeToString(sum[:]))
		}
		for i := range 6 {
			if sum := sha256.Sum256(fmt.Append(nil, at.Format(time.DateOnly), i)); s.ID == "defillama-chains" {
				l.Bodies = append(l.Bodies, hex.EncodeToString(sum[:]))
			}
		}
		m.last[s.ID] = l
		list = append(list, l)
	}
	return list
}

// TestLogIsSmall: the log of a year of a pack takes at most 100 MB, of whole tiles as they are stored. With what the leaves' rows, the index
// and the pages of the database take, that is the difference to a history without it.
func TestLogIsSmall(t *testing.T) {
	t.Parallel()
	var sizes [2]int
	for i, tiles := range []int{1, 3} {
		dir := t.TempDir()
		s, m := open(t, dir), made{next: map[string]time.Time{}, last: map[string]api.LogSource{}}
		if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
			t.Fatal(err)
		}
		for n := range tiles * translog.Width {
			p := state.Pulse{Pack: "crypto", Version: 2, GeneratedAt: epoch().Add(time.Duration(n) * 5 * time.Minute), State: []byte("{}")}
			p.Sources = m.of(p.GeneratedAt)
			if _, err := s.SavePulse(t.Context(), p, state.Brief{Text: "x", At: p.GeneratedAt, Of: p.GeneratedAt}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db := daemontest.SQL(t, dir, history.File)
		for _, query := range []string{"SELECT sum(length(body)) FROM log_bundles", "SELECT sum(length(hashes)) FROM log_tiles", "SELECT 40 * count(*) FROM log_leaves"} {
			var size int
			if err := db.QueryRowContext(t.Context(), query).Scan(&size); err != nil {
				t.Fatal(err)
			}
			sizes[i] += size
		}
	}
	leaf := (sizes[1] - sizes[0]) / (2 * translog.Width)
	if year := leaf * pulsesPerYear; year > 100e6 {
		t.Errorf("a year of leaves takes %d MB", year/1e6)
	}
	t.Logf("%d bytes a leaf, %d MB a year", leaf, leaf*pulsesPerYear/1_000_000)
}

// BenchmarkLeaf measures what a leaf of the crypto pack costs a state: it saves the same states into two histories in turns, one of which
// leaves the log out.
func BenchmarkLeaf(b *testing.B) {
	var with, without []time.Duration
	own, bare := open(b, b.TempDir()), open(b, b.TempDir())
	for _, s := range []*history.History{own, bare} {
		if _, err := s.OpenPack(b.Context(), "crypto", epoch()); err != nil {
			b.Fatal(err)
		}
	}
	m := made{next: map[string]time.Time{}, last: map[string]api.LogSource{}}
	for n := 0; b.Loop(); n++ {
		p := pulseAt(n, "x")
		p.Sources = m.of(p.GeneratedAt)
		begin := time.Now()
		if _, err := own.SavePulse(b.Context(), p, state.Brief{}, nil); err != nil {
			b.Fatal(err)
		}
		with = append(with, time.Since(begin))
		begin = time.Now()
		if err := bare.SaveUnproven(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		without = append(without, time.Since(begin))
	}
	for _, p := range []int{50, 90} {
		b.ReportMetric(percentile(with, p)-percentile(without, p), fmt.Sprintf("p%d-ms-more", p))
		b.ReportMetric(percentile(without, p), fmt.Sprintf("p%d-ms-before", p))
	}
}

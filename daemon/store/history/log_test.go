package history_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// sum is a SHA-256 in hexadecimal.
func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// leaf reads leaf seq of the log that goes on, with the hash that the log has of it.
func leaf(t testing.TB, s *history.History, seq int64) (l api.LogLeaf, hash string) {
	t.Helper()
	head, err := s.LogHead(t.Context(), "crypto")
	if err != nil || seq >= head.Size {
		t.Fatalf("leaf %d of %+v: %v", seq, head, err)
	}
	bundle, err := s.LogBundle(t.Context(), head.Origin, seq/translog.Width)
	if err != nil {
		t.Fatal(err)
	}
	list, err := translog.Entries(bundle)
	if err != nil || int64(len(list)) <= seq%translog.Width {
		t.Fatalf("%d leaves of bundle %d: %v", len(list), seq/translog.Width, err)
	}
	text := list[seq%translog.Width]
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	proof, err := translog.Prove(head.Size, seq, func(level int, n int64) ([]byte, error) { return s.LogTile(t.Context(), head.Origin, level, n) })
	if err != nil {
		t.Fatal(err)
	}
	root, err := tlog.ParseHash(head.Root)
	if err != nil {
		t.Fatal(err)
	}
	h := tlog.RecordHash(text)
	if err := tlog.CheckRecord(proof, head.Size, root, seq, h); err != nil {
		t.Errorf("leaf %d of %d: %v", seq, head.Size, err)
	}
	return l, hex.EncodeToString(h[:])
}

// TestAnchors keeps the first checkpoint of each hour, of that the one which most witnesses signed, and finds the first with a leaf in it.
func TestAnchors(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SavePulse(t.Context(), pulseAt(0, "x"), state.Brief{}, nil); err != nil {
		t.Fatal(err)
	}
	head, err := s.LogHead(t.Context(), "crypto")
	if err != nil {
		t.Fatal(err)
	}
	hour := time.Unix(1_800_000_000, 0).Truncate(time.Hour)
	for _, k := range []struct {
		at         time.Duration
		size       int64
		signatures int
		text       string
	}{
		{0, 5, 1, "first"},
		{time.Second, 5, 2, "by two"},
		{2 * time.Second, 5, 1, "by one again"},
		{time.Hour - time.Second, 6, 3, "later in the hour"},
		{time.Hour, 9, 1, "next hour"},
	} {
		head.Size = k.size
		if err := s.KeepAnchor(t.Context(), head, hour.Add(k.at), k.signatures, k.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if list, err := s.Logs(t.Context()); err != nil || len(list) != 1 || !list[0].AnchoredAt.Equal(hour.Add(time.Hour)) {
		t.Errorf("of its checkpoints it says %+v, %v", list, err)
	}
	for _, w := range []struct {
		seq, size int64
		text      string
	}{{0, 5, "by two"}, {4, 5, "by two"}, {5, 9, "next hour"}, {8, 9, "next hour"}, {9, 0, ""}} {
		if size, text, err := s.Anchor(t.Context(), head.Origin, w.seq); err != nil || size != w.size || text != w.text {
			t.Errorf("leaf %d: %d %q, %v, want %d %q", w.seq, size, text, err, w.size, w.text)
		}
	}
}

// TestEveryStateHasItsLeaf publishes states with their briefs, and briefs of their own, over the end of two tiles and restarts: each has the
// leaf that was said, which has its hashes and proves to be in the log, and what is read back names it.
func TestEveryStateHasItsLeaf(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	n := 2*translog.Width + 3
	if !long.On() {
		n = translog.Width + 13
	}
	states := map[int64]state.Pulse{}
	seq := int64(0)
	for i := range n - 10 {
		p := pulseAt(i, "x")
		p.Made.Sources = []api.LogSource{{ID: "a", FetchedAt: p.GeneratedAt, Bodies: []string{sum(p.State[:i])}}}
		b := state.Brief{Text: fmt.Sprintf("Brief %d [1].", i), At: p.GeneratedAt, Of: p.GeneratedAt, Writer: "built-in"}
		var err error
		if p.Proof, err = s.SavePulse(t.Context(), p, b, nil); err != nil || p.Proof.Seq != seq {
			t.Fatalf("state %d is leaf %d, %v, want %d", i, p.Proof.Seq, err, seq)
		}
		states[seq] = p
		if seq++; i%60 == 59 {
			later := state.Brief{Text: fmt.Sprintf("Model %d [1].", i), At: p.GeneratedAt.Add(time.Minute), Of: p.GeneratedAt, Writer: "pen"}
			proof, err := s.SaveBrief(t.Context(), "crypto", later)
			if err != nil || proof.Seq != seq {
				t.Fatalf("the brief of state %d is leaf %d, %v, want %d", i, proof.Seq, err, seq)
			}
			if l, hash := leaf(t, s, seq); l.Kind != api.LeafBrief || l.Brief != sum([]byte(later.Text)) || l.Of == nil || *l.Of != seq-1 ||
				hash != proof.Leaf || l.State != "" || l.PackVersion != 1 {
				t.Errorf("the brief of state %d has leaf %+v", i, l)
			}
			seq++
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
			if saved, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil || saved.Brief.Proof != proof || saved.Pulse.Proof != p.Proof ||
				saved.BriefState.Proof != p.Proof {
				t.Errorf("restored as %v with brief %v: %v", saved.Pulse.Proof, saved.Brief.Proof, err)
			}
		}
	}
	for seq, p := range states {
		l, hash := leaf(t, s, seq)
		if l.V != 1 || l.Kind != api.LeafState || l.Seq != seq || l.State != sum(p.State) || !l.GeneratedAt.Equal(p.GeneratedAt) || l.Previous != nil ||
			l.Pack != "crypto" || l.PackVersion != 1 || l.Code == "" || len(l.Sources) != 1 ||
			l.Sources[0].Bodies[0] != p.Made.Sources[0].Bodies[0] {
			t.Errorf("leaf %d is %+v", seq, l)
		}
		if got, err := s.PulseBefore(t.Context(), "crypto", p.GeneratedAt.Add(time.Millisecond)); err != nil || got.Proof != p.Proof || hash != got.Proof.Leaf {
			t.Errorf("state %d reads back with proof %v, %v, want %v", seq, got.Proof, err, p.Proof)
		}
		if found, ok, err := s.LogBefore(t.Context(), p.Proof.Log, p.GeneratedAt.Add(time.Second)); err != nil || !ok || found != seq {
			t.Errorf("as of state %d: leaf %d, %v, %v", seq, found, ok, err)
		}
	}
	if got := count(t, dir, "SELECT count(*) FROM log_leaves WHERE body IS NOT NULL"); got != int(seq)%translog.Width {
		t.Errorf("%d leaves of %d are not in bundles", got, seq)
	}
	if _, err := s.Prune(t.Context(), "crypto", epoch().Add(1000*time.Hour)); err != nil {
		t.Fatal(err)
	}
	leaf(t, s, 0)
}

// TestLogGoesOnAfterDamage: a log that cannot be gone on with is followed by another, which names its head; nothing is published unproven.
// Who has appended to it before puts right what was changed since.
func TestLogGoesOnAfterDamage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		query string
		again bool // opened, between the damage and the next state
		ends  bool // the log
	}{
		"a tile cut off":             {"UPDATE log_tiles SET hashes = substr(hashes, 1, 32)", true, true},
		"a changed tile":             {"UPDATE log_tiles SET hashes = zeroblob(96)", true, true},
		"a changed root":             {"UPDATE logs SET root = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='", false, true},
		"nothing":                    {"SELECT 1", true, false},
		"a tile cut off, meanwhile":  {"UPDATE log_tiles SET hashes = substr(hashes, 1, 32)", false, false},
		"a dropped tile, meanwhile":  {"DELETE FROM log_tiles", false, false},
		"a log that is shorter":      {"UPDATE logs SET size = 2", true, true},
		"a tile longer than its log": {"UPDATE log_tiles SET hashes = CAST(hashes || zeroblob(32) AS BLOB)", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testbed.Place(t)
			s := open(t, dir)
			for i := range 3 {
				save(t, s, pulseAt(i, "x"))
			}
			db := testbed.SQL(t, dir, history.File)
			query := tt.query
			if strings.HasPrefix(dir, "postgres") {
				query = regexp.MustCompile(`zeroblob\((\d+)\)`).ReplaceAllString(query, "decode(repeat('00', $1), 'hex')")
				query = strings.ReplaceAll(query, "BLOB", "bytea")
			}
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
			if tt.again {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, dir)
			}
			var before api.LogHead
			if err := db.QueryRowContext(t.Context(), "SELECT origin, size, root FROM logs").Scan(&before.Origin, &before.Size, &before.Root); err != nil {
				t.Fatal(err)
			}
			proof, err := s.SavePulse(t.Context(), pulseAt(3, "x"), state.Brief{}, nil)
			if err != nil || tt.ends != (proof.Log != before.Origin) || tt.ends != (proof.Seq == 0) {
				t.Fatalf("after damage: %v, %v", proof, err)
			}
			l, _ := leaf(t, s, proof.Seq)
			if !tt.ends {
				if _, wrong, err := s.VerifyLogs(t.Context(), 5); err != nil || len(wrong) > 0 {
					t.Errorf("%q, %v", wrong, err)
				}
				return
			}
			if l.Previous == nil || *l.Previous != before {
				t.Errorf("the new log follows %+v, not %+v", l.Previous, before)
			}
			if got, err := s.PulseBefore(t.Context(), "crypto", pulseAt(2, "x").GeneratedAt.Add(time.Second)); err != nil || got.Proof != (api.Proof{}) {
				t.Errorf("a state of the old log has proof %v, %v", got.Proof, err)
			}
		})
	}
}

// TestLongLeaf: a state is saved whatever it is made of. Just below the bound of a leaf all hashes are in it, above it those of the source
// that has most are left out, which the leaf says, and of more sources than any pack has, all.
func TestLongLeaf(t *testing.T) {
	t.Parallel()
	long.Test(t)
	s := open(t, t.TempDir())
	if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	list := func(sources, bodies int) (all []api.LogSource) {
		for i := range sources {
			n := bodies
			if i == 1 {
				n *= 2
			}
			all = append(all, api.LogSource{ID: fmt.Sprintf("source-%03d", i), FetchedAt: epoch(), Bodies: slices.Repeat([]string{sum(nil)}, n)})
		}
		return all
	}
	for i, tt := range []struct {
		sources []api.LogSource
		omitted []int // by source
	}{
		{list(2, 320), []int{0, 0}}, {list(2, 330), []int{0, 660}}, {list(2, 1000), []int{1000, 2000}}, {list(40, 40), nil},
		{list(1200, 1), nil},
	} {
		p := pulseAt(i, "x")
		p.Made.Sources = tt.sources
		proof, err := s.SavePulse(t.Context(), p, state.Brief{}, nil)
		if err != nil || proof.Seq != int64(i) {
			t.Fatalf("case %d: %+v, %v", i, proof, err)
		}
		l, _ := leaf(t, s, proof.Seq)
		switch {
		case i == 3:
			kept := 0
			for _, source := range l.Sources {
				kept += len(source.Bodies)
			}
			if kept+40 < 900 || kept > 1000 || len(l.Sources) != 40 {
				t.Errorf("of 41 times 40 hashes, %d are left", kept)
			}
			continue
		case len(l.Sources) != len(tt.omitted):
			t.Errorf("case %d: %d sources", i, len(l.Sources))
			continue
		}
		for j, want := range tt.omitted {
			if got := l.Sources[j]; got.Omitted != want || len(got.Bodies)+want != len(tt.sources[j].Bodies) {
				t.Errorf("case %d: %s leaves out %d of %d, want %d", i, got.ID, got.Omitted, len(tt.sources[j].Bodies), want)
			}
			if len(tt.sources[j].Bodies) == 0 {
				t.Error("the state itself was changed")
			}
		}
	}
	if _, wrong, err := s.VerifyLogs(t.Context(), 5); err != nil || len(wrong) > 0 {
		t.Errorf("%q, %v", wrong, err)
	}
}

// TestRefusedStateHasNoLeaf: what is not saved is not in the log either.
func TestRefusedStateHasNoLeaf(t *testing.T) {
	t.Parallel()
	s := open(t, testbed.Place(t))
	save(t, s, pulseAt(0, "x"))
	if _, err := s.SavePulse(t.Context(), pulseAt(0, "y"), state.Brief{}, nil); err == nil {
		t.Fatal("a second state of the same time was saved")
	}
	if head, err := s.LogHead(t.Context(), "crypto"); err != nil || head.Size != 1 {
		t.Errorf("the log has %+v, %v", head, err)
	}
	if l, _ := leaf(t, s, 0); !bytes.Equal([]byte(l.State), []byte(sum(pulseAt(0, "x").State))) {
		t.Errorf("%+v", l)
	}
}

// TestBriefOfAnotherLog: a brief whose state is in a log that has ended names no leaf of it, and only its own text has a proof.
func TestBriefOfAnotherLog(t *testing.T) {
	t.Parallel()
	s := open(t, testbed.Place(t))
	if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		p := pulseAt(i, "x")
		if _, err := s.SavePulse(t.Context(), p, state.Brief{Text: "Calm.", At: p.GeneratedAt, Of: p.GeneratedAt}, nil); err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.LogHead(t.Context(), "crypto")
	if err == nil {
		err = errors.Join(s.EndLogs(t.Context()), s.ResumeLogs(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	if now, err := s.LogHead(t.Context(), "crypto"); err != nil || now.Origin == before.Origin || now.Size != 1 {
		t.Errorf("after %+v the log is %+v, %v", before, now, err)
	}
	first := pulseAt(0, "x").GeneratedAt
	later := state.Brief{Text: "Later.", At: first.Add(time.Hour), Of: first}
	proof, err := s.SaveBrief(t.Context(), "crypto", later)
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := leaf(t, s, proof.Seq); l.Kind != api.LeafBrief || l.Of != nil {
		t.Errorf("its leaf is %+v", l)
	}
	if found, err := s.ProofOfBrief(t.Context(), "crypto", later); err != nil || found != proof {
		t.Errorf("its proof is %+v, %v, want %+v", found, err, proof)
	}
	later.Text = "Never."
	if found, err := s.ProofOfBrief(t.Context(), "crypto", later); err != nil || found.Log != "" {
		t.Errorf("another text has the proof %+v, %v", found, err)
	}
}

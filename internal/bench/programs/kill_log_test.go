package programs_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// publishEnv names, for a process of this test, the directory that it publishes into until it is killed.
const publishEnv = "CONTEXTD_BENCH_PUBLISH"

func firstPulse() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 123_000_000, time.UTC) }

// pulseOf is the n-th pulse.
func pulseOf(n int) state.Pulse {
	at := firstPulse().Add(time.Duration(n) * 5 * time.Minute)
	return state.Pulse{
		Pack: api.PackCrypto, Version: 1, GeneratedAt: at,
		State:     fmt.Appendf(nil, `{"n":%d,"top_movers":[{"id":"coin","priceUsd":%g}]}`, n, float64(1000+n)/7),
		Citations: []api.Citation{{Ref: 1, SourceID: "s", URL: "https://example.org/", FetchedAt: at.Add(-time.Second)}},
	}
}

// runPublish saves states and says the proof of each, for ever.
func runPublish(dir string) {
	die := func(err error) {
		if err != nil {
			fmt.Println("!", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	s, err := history.Open(ctx, dir, time.Now())
	die(err)
	saved, err := s.OpenPack(ctx, api.PackCrypto, firstPulse())
	die(err)
	next := 0
	if saved.Pulse != nil {
		next = int(saved.Pulse.GeneratedAt.Sub(firstPulse())/(5*time.Minute)) + 1
	}
	for ; ; next++ {
		p := pulseOf(next)
		b := state.Brief{Text: fmt.Sprintf("Brief %d.", next), At: p.GeneratedAt, Of: p.GeneratedAt, Writer: "built-in"}
		proof, err := s.SavePulse(ctx, p, b, nil)
		die(err)
		said, err := json.Marshal(proof)
		die(err)
		fmt.Println(string(said))
		if next%7 == 0 {
			b.At, b.Text = b.At.Add(time.Second), b.Text+" Later."
			_, err := s.SaveBrief(ctx, api.PackCrypto, b)
			die(err)
		}
	}
}

// TestLogOutlivesKills publishes a thousand states, by processes that are killed at random: after each the log verifies, every state has a
// leaf and every leaf of a state its state, and what was said is there.
func TestLogOutlivesKills(t *testing.T) {
	t.Parallel()
	const total = 1000
	dir, random := t.TempDir(), rand.New(rand.NewPCG(4, 4))
	said := map[int64]api.Proof{}
	kills := 0
	for len(said) < total {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), publishEnv+"="+dir)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := random.IntN(total/8) + 1; n > 0 && lines.Scan(); n-- {
			var p api.Proof
			if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
				t.Fatal(lines.Text())
			}
			said[p.Seq] = p
		}
		if lines.Err() != nil || !lines.Scan() {
			t.Fatalf("the program ended by itself: %v", lines.Err())
		}
		time.Sleep(time.Duration(random.IntN(5000)) * time.Microsecond) // into the next
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // killed
		kills++
		logAgrees(t, dir)
	}
	s := openHistory(t, dir)
	for seq, p := range said {
		if got := leafHash(t, s, seq); got != p.Leaf {
			t.Errorf("leaf %d was said to be %s and is %s", seq, p.Leaf, got)
		}
	}
	t.Logf("%d states, %d kills", len(said), kills)
}

// openHistory opens the history in dir.
func openHistory(t *testing.T, dir string) *history.History {
	t.Helper()
	s, err := history.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// leafHash is the hash of a leaf of the log.
func leafHash(t *testing.T, s *history.History, seq int64) string {
	t.Helper()
	head, err := s.LogHead(t.Context(), api.PackCrypto)
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
	h := tlog.RecordHash(list[seq%translog.Width])
	return hex.EncodeToString(h[:])
}

// logAgrees verifies the log in dir, and counts.
func logAgrees(t *testing.T, dir string) {
	t.Helper()
	s := openHistory(t, dir)
	defer s.Close()
	if _, wrong, err := s.VerifyLogs(t.Context(), 5); err != nil || len(wrong) > 0 {
		t.Fatalf("after a kill: %q, %v", wrong, err)
	}
	db := testbed.SQL(t, dir, history.File)
	defer db.Close()
	var pulses, leaves int
	err := db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM pulses), (SELECT count(*) FROM log_leaves WHERE kind = 0)").Scan(&pulses, &leaves)
	if err != nil || pulses != leaves {
		t.Fatalf("%d states have %d leaves: %v", pulses, leaves, err)
	}
}

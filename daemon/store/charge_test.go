package store_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// opened is when the databases of these tests were opened.
func opened() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

// chargedKey is the n-th key of the tests, and its owner has no other.
func chargedKey(n int) billing.Call {
	return billing.Call{
		KeyID: fmt.Sprintf("cv_test_%08d", n), OwnerID: fmt.Sprintf("owner-%d", n), Tier: api.TierEnterprise, Consent: api.ConsentFull,
		Op: api.OpFresh, Pack: "ai", // of which nothing is free
	}
}

// grant makes the key of c with credits.
func grant(t testing.TB, s *store.Store, c billing.Call, credits int64) {
	t.Helper()
	err := s.CreateKey(t.Context(), account.Key{
		ID: c.KeyID, Hash: sha256.Sum256([]byte(c.KeyID)), OwnerID: c.OwnerID, Name: "k", Tier: c.Tier, Consent: c.Consent, CreatedAt: opened(),
	})
	if err == nil && credits != 0 {
		_, err = s.Move(t.Context(), billing.Entry{KeyID: c.KeyID, Amount: credits, Kind: billing.KindGrant, Reason: "x", At: opened()})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// take books calls of c.
func take(t testing.TB, s *store.Store, c billing.Call, calls int64) error {
	return s.Charge(t.Context(), billing.Batch{
		Debits: map[string]int64{c.KeyID: calls},
		Usage:  map[billing.UsageKey]billing.Count{{KeyID: c.KeyID, Hour: opened().Unix() / 3600, Op: c.Op}: {Paid: calls}},
		Free:   map[string]billing.Stamp{c.KeyID: {At: opened(), Calls: 1}},
		Traces: []billing.Trace{{KeyID: c.KeyID, At: opened(), Op: c.Op, Pack: `"a\ü` + "\n"}},
	}.Whole)
}

// agree checks that the credits of the key of c are those, that so many calls are counted, and that the books agree: those of the file as it
// is, and those that everything was moved to.
func agree(t testing.TB, s *store.Store, dir string, c billing.Call, credits, calls int64) {
	t.Helper()
	copied, err := store.OpenRead(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	for _, one := range []*store.Store{copied, s} { // the second moves
		if findings, err := one.Audit(t.Context()); err != nil || len(findings) > 0 {
			t.Errorf("the audit finds %v, %v", findings, err)
		}
	}
	if have, _, err := s.Balance(t.Context(), c.OwnerID, c.KeyID); err != nil || have != credits {
		t.Errorf("there are %d credits, %v; want %d", have, err, credits)
	}
	usage, err := s.Usage(t.Context(), c.OwnerID, opened())
	if err != nil {
		t.Fatal(err)
	}
	var counted int64
	for _, row := range usage {
		counted += row.Calls
	}
	if counted != calls {
		t.Errorf("%d calls are counted, want %d", counted, calls)
	}
}

// TestChargeBounds takes what there is, in one and in two batches, and one credit more: in the journal, in the tables, and in both.
func TestChargeBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n, test := range []struct {
		have  int64
		take  []int64 // one after another
		taken int64
	}{
		{0, []int64{1}, 0},
		{1, []int64{1}, 1},
		{1, []int64{2}, 0},
		{1, []int64{1, 1}, 1},
		{7, []int64{7}, 7},
		{7, []int64{8}, 0},
		{7, []int64{3, 4}, 7},
		{7, []int64{3, 5}, 3},
		{7, []int64{3, 5, 4, 1}, 7},
		{7, []int64{6, 1, 1}, 7},
	} {
		for _, between := range []string{"nothing", "moved", "restarted", "read"} {
			t.Run(fmt.Sprintf("%d credits, %v, %s", test.have, test.take, between), func(t *testing.T) {
				c := chargedKey(100*n + len(between))
				c.KeyID = `"\é` + c.KeyID
				grant(t, s, c, test.have)
				left, calls := test.have, int64(0)
				for _, take1 := range test.take {
					err := take(t, s, c, take1)
					if refused := take1 > left; refused != errors.Is(err, billing.ErrConflict) || !refused && err != nil {
						t.Errorf("taking %d of %d: %v", take1, left, err)
					}
					if err == nil {
						left, calls = left-take1, calls+take1
					}
					switch between {
					case "moved":
						agree(t, s, dir, c, left, calls)
					case "restarted":
						if err := s.Close(); err != nil {
							t.Fatal(err)
						}
						if s, err = store.Open(t.Context(), dir, opened()); err != nil {
							t.Fatal(err)
						}
					case "read":
						if r, err := s.Records(t.Context(), c.OwnerID); err != nil || r[0].Credits != left {
							t.Errorf("there are %v, %v; want %d", r, err, left)
						}
					}
				}
				if calls != test.taken {
					t.Errorf("%d were taken, want %d", calls, test.taken)
				}
				agree(t, s, dir, c, left, calls)
			})
		}
	}
}

// TestRefusedBatch: where one key of a batch cannot pay, nothing of the batch is booked, and the rest of it alone is.
func TestRefusedBatch(t *testing.T) {
	t.Parallel()
	place := testbed.Place(t)
	s, err := store.Open(t.Context(), place, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pays, poor, revoked := chargedKey(1), chargedKey(2), chargedKey(3)
	grant(t, s, pays, 5)
	grant(t, s, poor, 1)
	grant(t, s, revoked, 9)
	if _, _, err := s.RevokeKey(t.Context(), revoked.KeyID, opened()); err != nil {
		t.Fatal(err)
	}
	db := testbed.SQL(t, place, store.File)
	booked := func(want string) {
		t.Helper()
		if found, err := s.Audit(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the audit finds %v, %v", found, err)
		}
		var credits, calls, free, traces int
		if err := db.QueryRowContext(t.Context(), `SELECT (SELECT sum(credits) FROM keys), (SELECT coalesce(sum(paid), 0) FROM usage),
			(SELECT coalesce(sum(calls), 0) FROM free_calls), (SELECT count(*) FROM traces)`).Scan(&credits, &calls, &free, &traces); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d credits, %d calls, %d free, %d traces", credits, calls, free, traces); got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
	}
	b := billing.Batch{
		Debits: map[string]int64{pays.KeyID: 2},
		Usage:  map[billing.UsageKey]billing.Count{{KeyID: pays.KeyID, Hour: opened().Unix() / 3600, Op: pays.Op}: {Paid: 2}},
		Free:   map[string]billing.Stamp{pays.KeyID: {At: opened(), Calls: 1}},
		Traces: []billing.Trace{{KeyID: pays.KeyID, At: opened(), Op: pays.Op, Pack: pays.Pack}},
	}
	for id, n := range map[string]int64{poor.KeyID: 2, revoked.KeyID: 1, "cv_test_99999999": 1} {
		b.Debits[id] = n
		if err := s.Charge(t.Context(), b.Whole); !errors.Is(err, billing.ErrConflict) {
			t.Errorf("%s cannot pay %d: %v", id, n, err)
		}
		delete(b.Debits, id)
		booked("15 credits, 0 calls, 0 free, 0 traces")
	}
	if err := s.Charge(t.Context(), b.Whole); err != nil {
		t.Error(err)
	}
	booked("13 credits, 2 calls, 1 free, 1 traces")
}

// TestActsSeeEveryCharge has each act that depends on credits follow a charge that no table has.
func TestActsSeeEveryCharge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const have, taken = 10, 4
	for n, act := range []func(c billing.Call) (credits int64){
		func(c billing.Call) int64 { // takes all but one more
			_, err := s.Move(t.Context(), billing.Entry{KeyID: c.KeyID, Amount: taken - have - 1, Kind: billing.KindAdjust, Reason: "x", At: opened()})
			if err == nil {
				t.Error("more was taken than there is")
			}
			return have - taken
		},
		func(c billing.Call) int64 {
			pool, err := s.Move(t.Context(), billing.Entry{KeyID: c.KeyID, Amount: taken - have, Kind: billing.KindAdjust, Reason: "x", At: opened()})
			if err != nil || pool != 0 {
				t.Errorf("taking all: %d, %v", pool, err)
			}
			return 0
		},
		func(c billing.Call) int64 {
			next := account.Key{ID: c.KeyID + "x", OwnerID: c.OwnerID, Hash: sha256.Sum256([]byte(c.KeyID + "x")), Tier: c.Tier, CreatedAt: opened()}
			if moved, err := s.RotateKey(t.Context(), c.KeyID, next, opened().Add(time.Hour)); err != nil || moved != have-taken {
				t.Errorf("%d moved, %v", moved, err)
			}
			return 0
		},
		func(c billing.Call) int64 {
			if _, stranded, err := s.RevokeKey(t.Context(), c.KeyID, opened()); err != nil || stranded != have-taken {
				t.Errorf("%d stranded, %v", stranded, err)
			}
			return have - taken
		},
	} {
		c := chargedKey(n)
		grant(t, s, c, have)
		if err := take(t, s, c, taken); err != nil {
			t.Fatal(err)
		}
		left := act(c)
		active := left > 0 && n == 0
		if err := take(t, s, c, 1); active != (err == nil) || !active && !errors.Is(err, billing.ErrConflict) {
			t.Errorf("act %d: a call after it: %v", n, err)
		}
		calls := int64(taken)
		if active {
			left, calls = left-1, calls+1
		}
		agree(t, s, dir, c, left, calls)
	}
}

// chargeEnv names the directory that a process of TestKillWhileCharging charges in.
const chargeEnv = "CONTEXTD_TEST_CHARGE"

const (
	killedKeys = 8
	callers    = 4 // of each key
)

// chargeUntilKilled calls with all keys, says on out which key each answered call was of, and reads balances meanwhile.
func chargeUntilKilled(ctx context.Context, dir string, out io.Writer) error {
	s, err := store.Open(ctx, dir, opened())
	if err != nil {
		return err
	}
	failed := make(chan error)
	meter := billing.New(billing.Config{Store: s, Now: opened})
	for n := range killedKeys * callers {
		go func() {
			for i := 0; ; i++ {
				c := chargedKey(n % killedKeys)
				if _, err := meter.Charge(ctx, c); err != nil {
					failed <- err
				}
				if _, err := fmt.Fprintln(out, n%killedKeys); err != nil {
					failed <- err
				}
				if i%10 == n%10 { // which moves what was charged
					if _, _, err := s.Balance(ctx, c.OwnerID, c.KeyID); err != nil {
						failed <- err
					}
				}
			}
		}()
	}
	return <-failed
}

// TestKillWhileCharging kills a process that charges, while charges are written and while they are moved. Each call that was answered is charged,
// each once; what was charged and not answered are at most the calls that were under way.
func TestKillWhileCharging(t *testing.T) {
	if dir := os.Getenv(chargeEnv); dir != "" {
		t.Fatal(chargeUntilKilled(t.Context(), dir, os.Stdout))
	}
	t.Parallel()
	const credits = 1_000_000
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, opened())
	if err != nil {
		t.Fatal(err)
	}
	for n := range killedKeys {
		grant(t, s, chargedKey(n), credits)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var answered [killedKeys]int64
	for life := range int64(12) {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillWhileCharging$")
		child.Env = append(os.Environ(), chargeEnv+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		calls, lines := rand.IntN(400), bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			key, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatalf("the process says %q", lines.Text())
			}
			answered[key]++
			if n == calls {
				_ = child.Process.Kill()
			}
		}
		_ = child.Wait()
		if s, err = store.Open(t.Context(), dir, opened()); err != nil {
			t.Fatal(err)
		}
		for n := range killedKeys {
			have, _, err := s.Balance(t.Context(), chargedKey(n).OwnerID, "")
			if charged := credits - have; err != nil || charged < answered[n] || charged > answered[n]+callers*(life+1) {
				t.Errorf("after %d kills %d calls of key %d were answered and %d charged, %v", life+1, answered[n], n, charged, err)
			}
			agree(t, s, dir, chargedKey(n), have, credits-have)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("answered: %v", answered)
}

// TestAuditReadsCharges: what is wrong with charges that no table has is found in a file that cannot be written to.
func TestAuditReadsCharges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"debits":{"cv_test_00000001":2},"usage":[{"k":"cv_test_00000001","h":1,"o":"fresh","p":2,"f":0}]}`: "[]",
		`{"debits":{"cv_test_00000001":2},"usage":[{"k":"cv_test_00000001","h":1,"o":"fresh","p":1,"f":0}]}`: "[{owner owner-1 was debited 2 credits for 1 paid calls}]",
		`{"debits":{"cv_test_00000001":4},"usage":[{"k":"cv_test_00000001","h":1,"o":"fresh","p":4,"f":0}]}`: "[{cv_test_00000001 has 3 credits, of which calls took 4}]",
	} {
		dir := t.TempDir()
		s, err := store.Open(t.Context(), dir, opened())
		if err != nil {
			t.Fatal(err)
		}
		grant(t, s, chargedKey(1), 3)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		query(t, dir, "INSERT INTO charges (batch) VALUES ('"+text+"') RETURNING id", func(r *sql.Rows) error { return nil })
		if s, err = store.OpenRead(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if findings, err := s.Audit(t.Context()); err != nil || fmt.Sprint(findings) != want {
			t.Errorf("the audit of %s finds %v, %v; want %s", text, findings, err, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestJournalIsBounded: what was charged moves into the tables by itself once it takes so much room.
func TestJournalIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("a journal of that size takes its time")
	}
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := chargedKey(1)
	grant(t, s, c, 5)
	// The second row is that large, and a slice for itself. What says that a slice was moved is a row, too.
	for n, want := range []int{1, 2, 3, 3, 4} {
		batch := billing.Batch{
			Debits: map[string]int64{c.KeyID: 1}, Usage: map[billing.UsageKey]billing.Count{{KeyID: c.KeyID, Hour: opened().Unix() / 3600, Op: c.Op}: {Paid: 1}},
		}
		if n == 1 {
			batch.Traces = []billing.Trace{{KeyID: c.KeyID, At: opened(), Op: c.Op, Pack: strings.Repeat("x", 32<<20)}}
		}
		if err := s.Charge(t.Context(), batch.Whole); err != nil {
			t.Fatal(err)
		}
		query(t, dir, "SELECT count(*) FROM charges", func(r *sql.Rows) error {
			var n int
			err := r.Scan(&n)
			if n != want {
				t.Errorf("%d batches wait, want %d", n, want)
			}
			return err
		})
	}
	agree(t, s, dir, c, 0, 5)
}

// TestUnreadJournal reads a balance after a charge that failed, and then another while what was charged before was read again.
func TestUnreadJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := chargedKey(1)
	grant(t, s, c, 10)
	if err := take(t, s, c, 3); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := s.Charge(over, billing.Batch{Debits: map[string]int64{c.KeyID: 1}}.Whole); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if have, _, err := s.Balance(t.Context(), c.OwnerID, c.KeyID); err != nil || have != 7 {
		t.Errorf("there are %d credits, %v; want 7", have, err)
	}
	if free, err := s.FreeCalls(t.Context(), c.OwnerID, opened().Add(-time.Hour)); err != nil || len(free) != 1 {
		t.Errorf("the free calls are %v, %v; want one", free, err)
	}
}

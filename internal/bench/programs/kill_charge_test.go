package programs_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/sdk/api"
)

// charged is when the calls of TestKillWhileCharging are made.
func charged() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

// chargedKey is a call with the n-th key, whose owner has no other.
func chargedKey(n int) billing.Call {
	return billing.Call{
		KeyID: fmt.Sprintf("cv_test_%08d", n), OwnerID: fmt.Sprintf("owner-%d", n), Tier: api.TierEnterprise, Consent: api.ConsentFull,
		Op: api.OpFresh, Pack: "ai", // of which nothing is free
	}
}

// chargeEnv names the directory that a process of TestKillWhileCharging charges in.
// chargeEnv names the directory that a process of TestKillWhileCharging charges in.
const chargeEnv = "CONTEXTD_TEST_CHARGE"

const (
	killedKeys = 8
	callers    = 4 // of each key
)

// chargeUntilKilled calls with all keys, says on out which key each answered call was of, and reads balances meanwhile.
func chargeUntilKilled(ctx context.Context, dir string, out io.Writer) error {
	s, err := store.Open(ctx, dir, charged())
	if err != nil {
		return err
	}
	failed := make(chan error)
	meter := billing.New(billing.Config{Store: s, Now: charged})
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
				if i%10 == n%10 {
					if _, _, err := s.Balance(ctx, c.OwnerID, c.KeyID); err != nil {
						failed <- err
					}
				}
			}
		}()
	}
	return <-failed
}

// TestKillWhileCharging kills a process that charges. Each call that was answered is charged, each once; what was charged and not answered
// are at most the calls that were under way.
func TestKillWhileCharging(t *testing.T) {
	t.Parallel()
	const credits = 1_000_000
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, charged())
	if err != nil {
		t.Fatal(err)
	}
	for n := range killedKeys {
		c := chargedKey(n)
		err := s.CreateKey(t.Context(), account.Key{
			ID: c.KeyID, Hash: sha256.Sum256([]byte(c.KeyID)), OwnerID: c.OwnerID, Name: "k", Tier: c.Tier, Consent: c.Consent, CreatedAt: charged(),
		})
		if err == nil {
			_, err = s.Move(t.Context(), billing.Entry{KeyID: c.KeyID, Amount: credits, Kind: billing.KindGrant, Reason: "x", At: charged()})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var answered [killedKeys]int64
	for kill := range int64(12) {
		child := exec.CommandContext(t.Context(), os.Args[0])
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
		if s, err = store.Open(t.Context(), dir, charged()); err != nil {
			t.Fatal(err)
		}
		for n := range killedKeys {
			have, _, err := s.Balance(t.Context(), chargedKey(n).OwnerID, "")
			if charged := credits - have; err != nil || charged < answered[n] || charged > answered[n]+callers*(kill+1) {
				t.Errorf("after %d kills %d calls of key %d were answered and %d charged, %v", kill+1, answered[n], n, charged, err)
			}
		}
		if findings, err := s.Audit(t.Context()); err != nil || len(findings) > 0 {
			t.Errorf("audit: %v, %v", findings, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("answered: %v", answered)
}

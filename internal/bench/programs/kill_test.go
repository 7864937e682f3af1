package programs_test

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// kills is how often TestKill kills: go -C internal/bench test ./programs -run 'TestKill$' -kills 200.
var kills = flag.Int("kills", 8, "how often each test kills the program")

// rounds is how often each test kills.
func rounds() int { return *kills }

// TestKill kills the program with SIGKILL while it starts and while it refreshes, again and again on one data directory. After each
// kill the databases must open, and every state that a client has read must be in history exactly as it was read.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	seen := map[int64][]byte{} // by generatedAt in Unix milliseconds: the states that clients read
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, uint64(rounds())))
	for life := range rounds() {
		c := program(t, "demo", "--packs", "crypto", "--listen", listen, "--chain-listen", "127.0.0.1:0", "--data-dir", dir, "--refresh", "100ms")
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if life%2 == 0 { // in the middle of its start
			time.Sleep(time.Duration(random.Int64N(int64(600 * time.Millisecond))))
		} else { // some states later
			read(t, dir, listen, 1+random.IntN(8), seen)
			time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil || bytes.Contains(said.Bytes(), []byte("✗ ")) {
			t.Fatalf("the program ended by itself: %v\n%s", err, said.Bytes())
		}
		checkHistory(t, dir, seen)
	}
	t.Logf("%d kills, %d states read by clients, all in history", rounds(), len(seen))
}

// read reads the newest state again and again until it saw n new ones, and keeps them.
func read(t *testing.T, dir, listen string, n int, seen map[int64][]byte) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	known := len(seen)
	soon(t, "new states", func() bool {
		info, err := readDemo(dir)
		if err != nil || !reachable(listen) {
			return false // still starting
		}
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithAPIKey(sdk.NewKey(info.APIKey)),
			sdk.WithRetries(0), sdk.WithHTTPClient(&http.Client{Transport: transport}))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Fresh(t.Context(), "")
		if err != nil {
			t.Fatalf("read a state: %v", err)
		}
		at := answer.Freshness.GeneratedAt.UnixMilli()
		if old := seen[at]; old != nil && !bytes.Equal(old, answer.State) {
			t.Errorf("two states of %d were read", at)
		}
		seen[at] = answer.State
		return len(seen) >= known+n
	})
}

// reachable says whether something listens on addr.
func reachable(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// checkHistory opens the databases of dir, which nobody else has open, and looks up every state that was read.
func checkHistory(t *testing.T, dir string, seen map[int64][]byte) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, history.File)); err != nil {
		return // killed before there was one
	}
	s, err := history.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatalf("the databases do not open: %v", err)
	}
	defer s.Close()
	for at, state := range seen {
		pulse, err := s.PulseBefore(t.Context(), api.PackCrypto, time.UnixMilli(at+1))
		switch {
		case err != nil:
			t.Errorf("a state that was read at %d: %v", at, err)
		case pulse.GeneratedAt.UnixMilli() != at || !bytes.Equal(pulse.State, state):
			t.Errorf("history has a state of %v where a client read one of %v", pulse.GeneratedAt, time.UnixMilli(at).UTC())
		}
	}
	if _, wrong, err := s.VerifyLogs(t.Context(), 5); err != nil || len(wrong) > 0 {
		t.Errorf("the log and history do not agree: %q, %v", wrong, err)
	}
	saved, err := s.OpenPack(t.Context(), api.PackCrypto, time.Now())
	if err != nil || saved.Damaged > 0 {
		t.Errorf("open pack: %v, %d damaged", err, saved.Damaged)
	}
	keys, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
	if err != nil {
		t.Fatalf("the lock outlived the program: %v", err)
	}
	if err := keys.Close(); err != nil {
		t.Error(err)
	}
}

// TestKillUnderLoad kills the program while clients call it with a key that has credits, and then compares the books with what the clients
// saw: every answered call is counted once, and no more are counted than were under way.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	const workers, credits = 8, 1_000_000_000
	dir := oldDemo(t)
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	key := issueWithCredits(t, dir, "load", credits)
	random := rand.New(rand.NewPCG(2, uint64(rounds())))
	var answered int64
	for life := range rounds() {
		c := program(t, "demo", "--packs", "crypto", "--listen", listen, "--chain-listen", "127.0.0.1:0", "--data-dir", dir, "--refresh", "1h")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		now := load(t, dir, listen, key, workers, time.Duration(random.Int64N(int64(400*time.Millisecond))), c.Process.Kill)
		_ = c.Wait()
		answered += now
		counted, spent := readBooks(t, dir)
		if under := counted - answered; under < 0 || under > workers {
			t.Fatalf("life %d: %d calls were answered, %d counted", life, answered, counted)
		}
		answered = counted // what was under way at this kill is settled
		if spent != counted {
			t.Errorf("life %d: %d credits were spent for %d calls", life, spent, counted)
		}
	}
	t.Logf("%d kills, %d calls", rounds(), answered)
	if answered < int64(rounds()) {
		t.Error("too few calls to tell")
	}
}

// issueWithCredits makes a key without a bound in dir and gives it credits, as the operator does.
func issueWithCredits(t *testing.T, dir, name string, credits int64) string {
	t.Helper()
	o, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	issued, err := o.IssueKey(t.Context(), admin.KeyRequest{CreateKeyRequest: api.CreateKeyRequest{Name: name}, Tier: api.TierEnterprise})
	if err != nil {
		t.Fatal(err)
	}
	ask := admin.MoveRequest{Kind: billing.KindGrant, Amount: credits, Reason: "load"}
	if _, err := o.MoveCredits(t.Context(), issued.KeyID, ask); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	return issued.Key
}

// load calls the program from many workers until d after its start, kills it then, and returns how many calls were answered.
func load(t *testing.T, dir, listen, key string, workers int, d time.Duration, kill func() error) int64 {
	t.Helper()
	var info demo.Info
	soon(t, "the demo starts", func() bool {
		if !reachable(listen) {
			return false
		}
		var err error
		info, err = readDemo(dir)
		return err == nil && info.BaseURL == "http://"+listen // or it is of a life elsewhere
	})
	var answered atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithAPIKey(sdk.NewKey(key)),
				sdk.WithRetries(0), sdk.WithHTTPClient(&http.Client{Transport: transport}))
			if err != nil {
				t.Error(err)
				return
			}
			for {
				_, err := client.Cite(t.Context(), "", 1)
				if errors.Is(err, &api.Error{Reason: api.ReasonStateUnavailable}) {
					time.Sleep(time.Millisecond)
					continue // of the first life
				}
				if err != nil {
					return // killed
				}
				answered.Add(1)
			}
		})
	}
	soon(t, "an answer", func() bool { return answered.Load() > 0 })
	time.Sleep(d)
	if err := kill(); err != nil {
		t.Error(err)
	}
	all.Wait()
	return answered.Load()
}

// readBooks is how many calls the books in dir have, which nobody else has open, and how many credits were spent.
func readBooks(t *testing.T, dir string) (calls, spent int64) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatalf("the databases do not open: %v", err)
	}
	defer s.Close()
	rows, err := s.Usage(t.Context(), account.OperatorID, time.Now().Add(-48*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		calls += r.Calls
	}
	entries, err := s.Entries(t.Context(), account.OperatorID, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		spent += e.Amount
	}
	left, _, err := s.Balance(t.Context(), account.OperatorID, "")
	if err != nil {
		t.Fatal(err)
	}
	if findings, err := s.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
	return calls, spent - left
}

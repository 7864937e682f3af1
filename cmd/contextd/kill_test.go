package main

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// kills is how often TestKill kills: go test ./cmd/contextd -run TestKill -kills 200.
var kills = flag.Int("kills", 8, "how often TestKill kills the program")

// TestKill kills the program with SIGKILL while it starts and while it refreshes, again and again on one data directory. After each
// kill the databases must open, and every state that a client has read must be in history exactly as it was read.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	seen := map[int64][]byte{} // by generatedAt in Unix milliseconds: the states that clients read
	listen, err := deadAddress()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, uint64(*kills)))
	for range *kills {
		c := program(t, "demo", "--listen", listen, "--data-dir", dir, "--refresh", "100ms")
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// From the middle of the start to some refreshes after it.
		readUntil(t, dir, listen, time.Duration(random.Int64N(int64(1200*time.Millisecond))), seen)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil || bytes.Contains(said.Bytes(), []byte("contextd:")) {
			t.Fatalf("the program ended by itself: %v\n%s", err, said.Bytes())
		}
		checkHistory(t, dir, seen)
	}
	if len(seen) < *kills {
		t.Errorf("the clients read %d states over %d lives: too few to tell", len(seen), *kills)
	}
	t.Logf("%d kills, %d states read by clients, all in history", *kills, len(seen))
}

// readUntil reads the newest state again and again for d and keeps what it was given.
func readUntil(t *testing.T, dir, listen string, d time.Duration, seen map[int64][]byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for ctx.Err() == nil {
		info, err := readDemo(dir)
		if err != nil || !reachable(listen) {
			time.Sleep(time.Millisecond) // still starting
			continue
		}
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithAPIKey(sdk.NewKey(info.APIKey)),
			sdk.WithRetries(0), sdk.WithHTTPClient(&http.Client{Transport: transport}))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Fresh(ctx, "")
		if err != nil {
			continue
		}
		at := answer.Freshness.GeneratedAt.UnixMilli()
		if old := seen[at]; old != nil && !bytes.Equal(old, answer.State) {
			t.Errorf("two states of %d were read", at)
		}
		seen[at] = answer.State
	}
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
	if _, err := os.Stat(filepath.Join(dir, store.HistoryFile)); err != nil {
		return // killed before there was one
	}
	s, err := store.Open(t.Context(), dir, time.Now())
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
	saved, err := s.OpenPack(t.Context(), api.PackCrypto, time.Now())
	if err != nil || saved.Damaged > 0 {
		t.Errorf("open pack: %v, %d damaged", err, saved.Damaged)
	}
	keys, err := daemon.OpenOperator(t.Context(), dir, nil)
	if err != nil {
		t.Fatalf("the lock outlived the program: %v", err)
	}
	if err := keys.Close(); err != nil {
		t.Error(err)
	}
}

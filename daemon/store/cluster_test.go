package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestLeadersWrites: what only the leader may write is refused to other nodes, and nothing else is.
func TestLeadersWrites(t *testing.T) {
	t.Parallel()
	place, at := testbed.LocalPostgres(t), time.Unix(1_800_000_000, 0)
	s, err := store.Open(t.Context(), place, at)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := history.Open(t.Context(), place, at)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	lease := s.Lease("me")
	h.Use(lease)
	if _, err := h.OpenPack(t.Context(), "crypto", at); err != nil {
		t.Fatal(err)
	}
	if err := h.SignLogs(t.Context(), strings.Repeat("A", 43)+"="); err != nil {
		t.Fatal(err)
	}
	pulse := state.Pulse{Pack: "crypto", Version: 1, GeneratedAt: at, State: []byte(`{}`), Citations: []api.Citation{}}
	writes := map[string]func(ctx context.Context) error{
		"state": func(ctx context.Context) error { _, err := h.SavePulse(ctx, pulse, state.Brief{}, nil); return err },
		"brief": func(ctx context.Context) error {
			_, err := h.SaveBrief(ctx, "crypto", state.Brief{Text: "b", At: at, Of: at})
			return err
		},
		"sources": func(ctx context.Context) error {
			return h.SaveSources(ctx, "crypto", []state.SourceRecord{{Source: "s"}})
		},
		"history": func(ctx context.Context) error { _, err := h.Prune(ctx, "crypto", at); return err },

		"changes":  func(ctx context.Context) error { return s.PruneChanges(ctx) },
		"calls":    func(ctx context.Context) error { return s.PruneCalls(ctx, at) },
		"keys":     func(ctx context.Context) error { _, err := s.PruneKeys(ctx, at, at, 1); return err },
		"sessions": func(ctx context.Context) error { return s.PruneSessions(ctx, at) },
		"tokens":   func(ctx context.Context) error { return s.PruneTokens(ctx, at) },
		"answers":  func(ctx context.Context) error { return s.PruneAnswers(ctx, at) },
		"expired":  func(ctx context.Context) error { return s.ExpireDeposits(ctx, "l2", at, at) },
		"moved":    func(ctx context.Context) error { return s.Moved(ctx, "l2", x402.MinedTx{}) },
		"final":    func(ctx context.Context) error { return s.Finalize(ctx, "l2", [32]byte{}, false) },
		"vanished": func(ctx context.Context) error { return s.Finalize(ctx, "l2", [32]byte{}, true) },
		"scan": func(ctx context.Context) error {
			_, err := s.Arrive(ctx, nil, billing.ScanCursor{Rail: "l2", Next: 1, At: at}, false, at)
			return err
		},
	}
	anybodys := map[string]func(ctx context.Context) error{
		"a hash that a user knows": func(ctx context.Context) error {
			_, err := s.Arrive(ctx, nil, billing.ScanCursor{}, false, at)
			return err
		},
		"replaced keys": func(ctx context.Context) error { return s.EndKeys(ctx, at) },
		"last uses":     func(ctx context.Context) error { return s.TouchKeys(ctx, nil) },
	}
	for name, write := range writes {
		if err := write(t.Context()); !errors.Is(err, database.ErrFenced) {
			t.Errorf("%s by a follower: %v", name, err)
		}
	}
	for name, write := range anybodys {
		if err := write(t.Context()); err != nil {
			t.Errorf("%s by a follower: %v", name, err)
		}
	}
	if term, err := lease.Take(t.Context()); err != nil || term == nil {
		t.Fatalf("take: %v", err)
	}
	for name, write := range writes {
		if err := write(t.Context()); err != nil {
			t.Errorf("%s by the leader: %v", name, err)
		}
	}
}

// TestNodes: they are told of while they run, and keep operators from working on the books directly until they are silent.
func TestNodes(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	s, err := store.Open(t.Context(), place, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	made := time.UnixMilli(1_800_000_000_001).UTC()
	for _, id := range []string{"a", "b"} {
		if err := s.SaveNode(t.Context(), store.Node{ID: id, URL: "http://" + id, Version: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	lease := s.Lease("b")
	if _, err := lease.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveNode(t.Context(), store.Node{ID: "a", States: map[string]time.Time{"crypto": made}}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Cluster(t.Context())
	if err != nil || c.Leader != "b" || c.Epoch != 1 || len(c.Nodes) != 2 || c.Now.Sub(c.Since).Abs() > time.Minute {
		t.Fatalf("%+v, %v", c, err)
	}
	a := c.Nodes[0]
	if a.ID != "a" || a.URL != "http://a" || a.Version != "1" || !a.States["crypto"].Equal(made) || a.SeenAt.Before(a.StartedAt) {
		t.Errorf("a is %+v", a)
	}
	c.Nodes[0].SeenAt, c.Nodes[1].SeenAt = c.Now.Add(-10*time.Second), c.Now.Add(-10*time.Second-time.Millisecond)
	if live := c.Live(); len(live) != 1 || live[0].ID != "a" {
		t.Errorf("after 10 s there live %+v", live)
	}
	db := testbed.SQL(t, place, store.File)
	for _, step := range []struct {
		silent time.Duration // all of them, further
		held   bool
		left   int
	}{{0, true, 2}, {store.NodeSeen + time.Millisecond, false, 2}, {store.NodeKept - store.NodeSeen, false, 0}} {
		if _, err := db.ExecContext(t.Context(), "UPDATE nodes SET seen_at = seen_at - ?", step.silent.Milliseconds()); err != nil {
			t.Fatal(err)
		}
		err := s.Free(t.Context())
		if errors.Is(err, database.ErrHeld) != step.held || step.held && !strings.Contains(err.Error(), "http://a, http://b") {
			t.Errorf("%s later: %v", step.silent, err)
		}
		if err := s.PruneNodes(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c, err := s.Cluster(t.Context()); err != nil || len(c.Nodes) != step.left {
			t.Errorf("%s later there are %+v, %v", step.silent, c.Nodes, err)
		}
	}
	if err := s.SaveNode(t.Context(), store.Node{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveNode(t.Context(), "a"); err != nil || s.Free(t.Context()) != nil {
		t.Errorf("an ended node: %v, %v", err, s.Free(t.Context()))
	}
}

// TestClusterBounds: who leads, works and lags, on both sides of each bound.
func TestClusterBounds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for ago, want := range map[time.Duration]bool{
		0: true, database.LeaseLasts: true, database.LeaseLasts + time.Millisecond: false, -database.LeaseLasts - time.Millisecond: false,
	} {
		if got := (store.Cluster{Now: now, Leader: "me", BeatAt: now.Add(-ago)}).Led(); got != want {
			t.Errorf("a beat %v ago: %v", ago, got)
		}
	}
	if (store.Cluster{Now: now, BeatAt: now}).Led() {
		t.Error("nobody leads")
	}
	state := func(seconds int) map[string]time.Time {
		return map[string]time.Time{"crypto": now.Add(time.Duration(seconds) * time.Second)}
	}
	c := store.Cluster{Now: now, Nodes: []store.Node{
		{ID: "a", SeenAt: now.Add(-store.NodeSeen), States: state(7)},
		{ID: "b", SeenAt: now.Add(-store.NodeSeen - time.Millisecond), States: state(9)},
		{ID: "c", SeenAt: now, States: state(2)},
	}}
	if live := c.Live(); len(live) != 2 || live[0].ID != "a" || live[1].ID != "c" {
		t.Errorf("%+v work", live)
	}
	for i, want := range []time.Duration{0, 0, 5 * time.Second} {
		if lag := c.Lag(c.Nodes[i]); len(lag) != 1 || lag["crypto"] != want {
			t.Errorf("node %d lags %v, want %v", i, lag, want)
		}
	}
}

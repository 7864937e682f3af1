package daemon_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestHandOver: of two daemons on a database one leads, the other refuses what only the leader does, and leads once that has ended.
func TestHandOver(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	first := daemontest.Start(t, func(cfg *daemon.Config) { cfg.StoreURL = place })
	second := daemontest.Open(t, func(cfg *daemon.Config) { cfg.StoreURL = place })
	second.Run(t)
	before := waitNodes(t, place, 2)
	if err := second.Refresh(t.Context(), api.PackCrypto); err == nil || !strings.Contains(err.Error(), "only the leader") {
		t.Errorf("a follower refreshes: %v", err)
	}
	if err := second.RunJob(t.Context(), "prune"); err == nil || !strings.Contains(err.Error(), "only the leader") {
		t.Errorf("a follower prunes: %v", err)
	}
	if err := second.RunJob(t.Context(), "flush"); err != nil {
		t.Errorf("every node writes down last uses: %v", err)
	}
	first.Stop(t)
	after := waitNodes(t, place, 1)
	if after.Epoch <= before.Epoch || after.Leader == before.Leader {
		t.Errorf("%+v after %+v", after, before)
	}
	if err := second.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Errorf("the new leader refreshes: %v", err)
	}
}

package daemontest

import (
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/internal/devchain"
)

// Chain starts a chain that ends with the test. Its clock is the wall clock, as that of every chain, so a daemon on it takes that too.
func Chain(t testing.TB) *devchain.Chain {
	t.Helper()
	c, err := devchain.Open(t.Context(), devchain.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatalf("open chain: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// On has a daemon pay on a chain, by the wall clock and without much patience.
func On(c *devchain.Chain) func(*daemon.Config) {
	return func(cfg *daemon.Config) {
		cfg.ChainID = devchain.ChainID
		cfg.Chain = &daemon.Chain{RPCURL: c.URL(), Token: c.Token(), Treasury: c.Treasury(), Wait: 300 * time.Millisecond}
		cfg.Now = time.Now
	}
}

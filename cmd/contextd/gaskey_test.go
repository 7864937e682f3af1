//go:build !nodevchain

package main

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/doctor"
)

// TestGasKeysWithoutDaemon has doctor say what the keys have that pay the gas, also while no daemon runs.
func TestGasKeysWithoutDaemon(t *testing.T) {
	t.Parallel()
	c := daemontest.Chain(t)
	rail := daemon.Chain{Rail: x402.Rail{ID: "l2chain", ChainID: devchain.ChainID, RPCURL: c.URL(), Token: c.Token(), Treasury: c.Treasury()}}
	for name, one := range map[string]struct {
		key, url string
		outcome  doctor.Outcome // "" finds nothing
		says     string
	}{
		"has some":      {c.Gas().PrivateKey, c.URL(), doctor.OK, " ether, for about "},
		"has none":      {"0x" + strings.Repeat("07", 32), c.URL(), doctor.Failure, "0.000000 ether, for about 0 settlements"},
		"no key":        {"", c.URL(), "", ""},
		"no node":       {c.Gas().PrivateKey, "http://127.0.0.1:1", "", ""},
		"no key at all": {"0xkey", c.URL(), doctor.Failure, "is not 0x and 64 hexadecimal digits"},
	} {
		rail.SettleKey, rail.RPCURL = one.key, one.url
		cfg := daemon.Config{DataDir: t.TempDir()}
		cfg.Chain = &rail
		found := settling(t.Context(), cfg, false)
		if len(found) == 0 && one.outcome == "" {
			continue
		}
		if len(found) != 1 || found[0].Outcome != one.outcome || !strings.Contains(found[0].Found, one.says) || found[0].Check != "gas key l2chain" ||
			(found[0].Fix == "") != (one.outcome == doctor.OK) || strings.Contains(found[0].Found, one.key) {
			t.Errorf("%s: %+v", name, found)
		}
		if found := settling(t.Context(), cfg, true); len(found) > 0 {
			t.Errorf("%s, offline: %+v", name, found)
		}
	}
}

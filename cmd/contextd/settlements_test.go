package main

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/x402"
)

// TestGasSettings reads what gas may cost, on both sides of each bound.
func TestGasSettings(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		percent              int64
		reverts, ether, want string // of the error
	}{
		{100, "0.002", "state", ""}, {0, "0", "", ""}, {-1, "0", "", "gas.max_percent"}, {1, "0.000000000000000001", "3000.5", ""},
		{1, "0.0000000000000000001", "", "gas.revert_budget"}, {1, "-1", "", "gas.revert_budget"}, {1, "", "", "gas.revert_budget"},
		{1, "1e3", "", "gas.revert_budget"}, {1, ".5", "", "gas.revert_budget"}, {1, "1.", "", "gas.revert_budget"},
		{1, "1", "0", "gas.ether_usd"}, {1, "1", "-3", "gas.ether_usd"}, {1, "1", "0.0000001", "gas.ether_usd"}, {1, "1", "0.000001", ""},
	} {
		var c ownerConfig
		c.Gas.MaxPercent, c.Gas.Reverts, c.Gas.Ether = one.percent, one.reverts, one.ether
		_, err := c.gas()
		if (err == nil) != (one.want == "") || err != nil && !strings.Contains(err.Error(), one.want) {
			t.Errorf("%+v: %v", one, err)
		}
	}
	var c ownerConfig
	c.Gas.Reverts, c.Gas.Ether = "0.002", "3184.25"
	if g, err := c.gas(); err != nil || g.Reverts.Cmp(big.NewInt(2e15)) != 0 || g.EtherMicros != 3_184_250_000 || g.ByState {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestSettlingFindings has doctor say what stands badly, with what to do about it, on both sides of each bound.
func TestSettlingFindings(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	micros := func(n int64) *int64 { return &n }
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	good := x402.Standing{
		Rail: "l2chain", By: "0x4", Balance: "1000000000000000", GasPrice: "100000000", Gas: 100_000, CostMicros: micros(1_000), MaxPercent: 100, Lost: "0",
	}
	for name, one := range map[string]struct {
		change  func(*x402.Standing)
		outcome outcome
		says    string
	}{
		"well":    {func(*x402.Standing) {}, outcomeOK, "0.001000 ether, for about 100 settlements"},
		"costs":   {func(*x402.Standing) {}, outcomeOK, "a settlement costs 0.001 USDG of gas, the cheapest call 0.001 USDG"},
		"dear":    {func(s *x402.Standing) { s.CostMicros = micros(1_001) }, outcomeWarning, "only for calls from 0.001001 USDG"},
		"half":    {func(s *x402.Standing) { s.MaxPercent = 50 }, outcomeWarning, "only for calls from 0.002 USDG"},
		"any":     {func(s *x402.Standing) { s.MaxPercent = 0; s.CostMicros = micros(9_000) }, outcomeOK, "costs 0.009 USDG"},
		"unknown": {func(s *x402.Standing) { s.CostMicros = nil }, outcomeOK, "costs 10000 gwei (price in USDG unknown)"},
		"few":     {func(s *x402.Standing) { s.Balance = "999999999999999" }, outcomeWarning, "for about 99 settlements"},
		"off":     {func(s *x402.Standing) { s.Off = "the key is dry" }, outcomeFailure, "not offered: the key is dry"},
		"left": {func(s *x402.Standing) {
			*s = x402.Waiting{Rail: "base", Settlements: 2, OldestAt: now, Purchases: 1}.Standing(false)
		}, outcomeFailure, "2 payments and 1 purchase wait on it: the rail is not in the configuration"},
		"without a key": {func(s *x402.Standing) { *s = x402.Waiting{Rail: "base", Settlements: 1}.Standing(true) }, outcomeFailure,
			"1 payment and 0 purchases wait on it: the rail has neither a key"},
		"lost":           {func(s *x402.Standing) { s.Lost, s.Budget = "5000000000", "9000000000" }, outcomeOK, "5 gwei lost to reverts in 24 hours of 9"},
		"pending":        {func(s *x402.Standing) { s.Pending, s.OldestAt = 2, ago(5*time.Minute) }, outcomeOK, "2 payments being settled"},
		"pending long":   {func(s *x402.Standing) { s.Pending, s.OldestAt = 1, ago(5*time.Minute+1) }, outcomeWarning, "1 payment being settled"},
		"of facilitator": {func(s *x402.Standing) { s.Balance, s.GasPrice, s.CostMicros = "", "", nil }, outcomeOK, "by 0x4"},
	} {
		s := good
		change := one.change
		change(&s)
		said := false
		for _, f := range settlingFindings([]x402.Standing{s}, now) {
			if strings.Contains(f.Found, one.says) {
				said = true
				if f.Outcome != one.outcome || (f.Fix == "") != (f.Outcome == outcomeOK) {
					t.Errorf("%s: %+v", name, f)
				}
			} else if f.Outcome != outcomeOK {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if !said {
			t.Errorf("%s: none says %q: %+v", name, one.says, settlingFindings([]x402.Standing{s}, now))
		}
	}
}

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
)

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
		outcome doctor.Outcome
		says    string
	}{
		"well":    {func(*x402.Standing) {}, doctor.OK, "0.001000 ether, for about 100 settlements"},
		"costs":   {func(*x402.Standing) {}, doctor.OK, "a settlement costs 0.001 USDG of gas, the cheapest call 0.001 USDG"},
		"dear":    {func(s *x402.Standing) { s.CostMicros = micros(1_001) }, doctor.Warning, "only for calls from 0.001001 USDG"},
		"half":    {func(s *x402.Standing) { s.MaxPercent = 50 }, doctor.Warning, "only for calls from 0.002 USDG"},
		"any":     {func(s *x402.Standing) { s.MaxPercent = 0; s.CostMicros = micros(9_000) }, doctor.OK, "costs 0.009 USDG"},
		"unknown": {func(s *x402.Standing) { s.CostMicros = nil }, doctor.OK, "costs 10000 gwei (price in USDG unknown)"},
		"few":     {func(s *x402.Standing) { s.Balance = "999999999999999" }, doctor.Warning, "for about 99 settlements"},
		"off":     {func(s *x402.Standing) { s.Off = "the key is dry" }, doctor.Failure, "not offered: the key is dry"},
		"limited": {func(s *x402.Standing) { s.Limited = true }, doctor.Warning, "only for wallets that have paid before"},
		"foreign": {func(s *x402.Standing) { s.Foreign = 2 }, doctor.Warning, "transactions of others have settled 2 payments"},
		"left": {func(s *x402.Standing) {
			*s = x402.Waiting{Rail: "base", Settlements: 2, OldestAt: now, Purchases: 1}.Standing(false)
		}, doctor.Failure, "2 payments and 1 purchase wait on it: the rail is not in the configuration"},
		"without a key": {func(s *x402.Standing) { *s = x402.Waiting{Rail: "base", Settlements: 1}.Standing(true) }, doctor.Failure,
			"1 payment and 0 purchases wait on it: the rail has neither a key"},
		"lost":           {func(s *x402.Standing) { s.Lost, s.Budget = "5000000000", "9000000000" }, doctor.OK, "5 gwei lost to reverts in 24 hours of 9"},
		"pending":        {func(s *x402.Standing) { s.Pending, s.OldestAt = 2, ago(5*time.Minute) }, doctor.OK, "2 payments being settled"},
		"pending long":   {func(s *x402.Standing) { s.Pending, s.OldestAt = 1, ago(5*time.Minute+1) }, doctor.Warning, "1 payment being settled"},
		"of facilitator": {func(s *x402.Standing) { s.Balance, s.GasPrice, s.CostMicros = "", "", nil }, doctor.OK, "by 0x4"},
	} {
		s := good
		change := one.change
		change(&s)
		said := false
		for _, f := range settlingFindings([]x402.Standing{s}, now) {
			if strings.Contains(f.Found, one.says) {
				said = true
				if f.Outcome != one.outcome || (f.Fix == "") != (f.Outcome == doctor.OK) {
					t.Errorf("%s: %+v", name, f)
				}
			} else if f.Outcome != doctor.OK {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if !said {
			t.Errorf("%s: none says %q: %+v", name, one.says, settlingFindings([]x402.Standing{s}, now))
		}
	}
}

// TestReconciledExit has what does not agree end with 1, and what was not compared, as far as all else agrees, with 9.
func TestReconciledExit(t *testing.T) {
	t.Parallel()
	missing := billing.Reconciliation{Missing: []string{"base"}, Rails: []billing.RailReconciliation{{Rail: "l2chain"}, {Rail: "base", Missing: "no answer"}}}
	both := missing
	both.Findings = []string{"one more"}
	for name, c := range map[string]struct {
		r    billing.Reconciliation
		exit int
		told string
	}{
		"agrees":     {billing.Reconciliation{}, 0, ""},
		"not":        {billing.Reconciliation{Findings: []string{"one more"}}, 1, "one more\n"},
		"incomplete": {missing, int(cli.ExitUnavailable), "rail base was not compared: no answer\n"},
		"both":       {both, 1, "one more\nrail base was not compared: no answer\n"},
	} {
		var told strings.Builder
		err := reconciled(&told, c.r)
		exit := 0
		if failure, ok := errors.AsType[*cli.Failure](err); ok {
			exit = int(failure.Exit)
		} else if err != nil {
			exit = 1
		}
		if exit != c.exit || told.String() != c.told {
			t.Errorf("%s: exit %d, %q; %v", name, exit, told.String(), err)
		}
	}
	rows := reconciliationTable(missing).Rows
	if text := fmt.Sprint(rows); !strings.Contains(text, "not known") {
		t.Errorf("the table is %s", text)
	}
}

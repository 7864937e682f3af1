package api_test

import (
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// same reports a list that is not as the specification has it.
func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s are %v, want %v", what, got, want)
	}
}

func TestEnumerations(t *testing.T) {
	t.Parallel()
	same(t, "tiers", api.Tiers(), []api.Tier{"free", "hobby", "pro", "team", "enterprise"})
	same(t, "credit packs", api.CreditPacks(), []api.CreditPack{"starter", "hobby", "pro", "team"})
	same(t, "consents", []api.TraceConsent{api.ConsentFull, api.ConsentAggregated, api.ConsentNone},
		[]api.TraceConsent{"full", "aggregated", "none"})
	same(t, "attestation types", []api.AttestationType{api.AttestationERC8004, api.AttestationEAS},
		[]api.AttestationType{"erc8004", "eas"})
	same(t, "deposit statuses", []api.DepositStatus{api.DepositPending, api.DepositVerified, api.DepositExpired},
		[]api.DepositStatus{"pending", "verified", "expired"})
	same(t, "pack ids", []string{api.PackCrypto, api.PackAI, api.PackMarkets, api.DefaultPack},
		[]string{"crypto", "ai", "markets", "crypto"})
	same(t, "key environments", []api.KeyEnv{api.EnvLive, api.EnvTest}, []api.KeyEnv{"live", "test"})
	same(t, "events", []api.EventType{api.EventPulse, api.EventDelta, api.EventError}, []api.EventType{"pulse", "delta", "error"})
	same(t, "payment constants", []string{api.SchemeX402, api.NetworkL2, api.AssetUSDG}, []string{"x402", "l2chain", "USDG"})
	same(t, "chain ids", []int{api.ChainIDMain, api.ChainIDTest}, []int{4663, 46630})
}

// TestListsAreCopies keeps a caller that sorts a list from changing it for all others.
func TestListsAreCopies(t *testing.T) {
	t.Parallel()
	api.Tiers()[0], api.Ops()[0], api.CreditPacks()[0], api.Codes()[0], api.Reasons()[0] = "", "", "", "", ""
	if api.Tiers()[0] == "" || api.Ops()[0] == "" || api.CreditPacks()[0] == "" || api.Codes()[0] == "" || api.Reasons()[0] == "" {
		t.Error("a list is shared between its callers")
	}
}

func TestTierAtLeast(t *testing.T) {
	t.Parallel()
	for i, a := range api.Tiers() {
		for j, b := range api.Tiers() {
			if a.AtLeast(b) != (i >= j) {
				t.Errorf("%s.AtLeast(%s) = %v", a, b, a.AtLeast(b))
			}
		}
		if api.Tier("gold").AtLeast(a) || api.Tier("").AtLeast(a) {
			t.Errorf("an unknown tier is at least %s", a)
		}
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, tier := range api.Tiers() {
		if !tier.Valid() {
			t.Errorf("tier %s is not valid", tier)
		}
	}
	for _, c := range []api.TraceConsent{"full", "aggregated", "none"} {
		if !c.Valid() {
			t.Errorf("consent %s is not valid", c)
		}
	}
	if api.Tier("").Valid() || api.Tier("Free").Valid() || api.TraceConsent("").Valid() || api.TraceConsent("all").Valid() {
		t.Error("a value that the specification does not have is valid")
	}
}

func TestTierLimits(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, want := range []struct {
		tier    api.Tier
		calls   int
		history time.Duration
	}{
		{api.TierFree, 0, day},
		{api.TierHobby, 10_000, day},
		{api.TierPro, 100_000, 30 * day},
		{api.TierTeam, 1_000_000, 365 * day},
		{api.TierEnterprise, 0, 365 * day},
		{"gold", 0, day},
	} {
		if got := want.tier.MonthlyCalls(); got != want.calls {
			t.Errorf("%s has %d calls a month, want %d", want.tier, got, want.calls)
		}
		if got := want.tier.SnapshotWindow(); got != want.history {
			t.Errorf("%s reads %v back, want %v", want.tier, got, want.history)
		}
	}
}

func TestCreditOffers(t *testing.T) {
	t.Parallel()
	for _, want := range []api.CreditOffer{
		{Pack: "starter", Credits: 1_000, PriceMicros: 1_000_000, DiscountPercent: 0, Tier: "free"},
		{Pack: "hobby", Credits: 10_000, PriceMicros: 8_000_000, DiscountPercent: 20, Tier: "hobby"},
		{Pack: "pro", Credits: 100_000, PriceMicros: 70_000_000, DiscountPercent: 30, Tier: "pro"},
		{Pack: "team", Credits: 1_000_000, PriceMicros: 600_000_000, DiscountPercent: 40, Tier: "team"},
	} {
		got, ok := want.Pack.Offer()
		if !ok || got != want {
			t.Errorf("offer %s is %+v, %v, want %+v", want.Pack, got, ok, want)
		}
		// A starter credit costs 1,000 micro-USDG: the stated discount is the real one.
		if full := got.Credits * 1_000; got.PriceMicros*100 != full*int64(100-got.DiscountPercent) {
			t.Errorf("offer %s: %d micro-USDG for %d credits is not %d %% off", got.Pack, got.PriceMicros, got.Credits, got.DiscountPercent)
		}
	}
	if got, ok := api.CreditPack("enterprise").Offer(); ok || got != (api.CreditOffer{}) {
		t.Errorf("an unknown pack is on offer: %+v", got)
	}
}

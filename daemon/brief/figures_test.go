package brief_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/sdk/api"
)

// one is a state with a single row of each kind that the case fills in.
func one(m api.Mover, amount int64) *api.CryptoState {
	m.Name, m.Group, m.Ref = "Coin", api.GroupMajor, 1
	return &api.CryptoState{TopMovers: []api.Mover{m}, ProtocolTVL: []api.ProtocolTVL{{Group: api.GroupTop, Name: "Vault", TVLUSD: &amount, Ref: 5}}}
}

func TestBuiltInWritesFiguresForPeople(t *testing.T) {
	t.Parallel()
	number := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		price, change float64
		amount        int64
		want          []string
	}{
		{91285.8, -1.79, 3_321_100_766_802, []string{"$91,286, down 1.8%", "$3.32 trillion"}},
		{999.994, 0.04, 999_499_999, []string{"$999.99, unchanged", "$999 million"}},
		{999.996, -0.04, 999_500_000, []string{"$1,000, unchanged", "$1.00 billion"}},
		{2.11177, 3.65, 999_499_999_999, []string{"$2.11, up 3.7%", "$999 billion"}},
		{0.9999, 99.94, 999_999_999_999, []string{"$1.00, up 99.9%", "$1.00 trillion"}},
		{0.460822, 99.95, 31_280_427_149, []string{"$0.461, up 100%", "$31.3 billion"}},
		{0.00000919, 1234.5, 80_150_400, []string{"$0.00000919, up 1,235%", "$80.2 million"}},
		{0.05, -99.99, 603_426, []string{"$0.0500, down 100%", "$603,426"}},
		{1, 10000, 999_499, []string{"$1.00, up more than a hundredfold", "$999,499"}},
		{12, -0.05, 999_500, []string{"$12.00, down 0.1%", "$1.00 million"}},
		{123456.7, 0, 1, []string{"$123,457, unchanged", "at $1 ["}},
		{7, 0.06, 1_234_567_890_123_456, []string{"up 0.1%", "$1,235 trillion"}},
	} {
		in := input(t, one(api.Mover{PriceUSD: number(c.price), Change24hPct: number(c.change)}, c.amount))
		got := write(t, in)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v %v %d: %q lacks %q", c.price, c.change, c.amount, got, want)
			}
		}
		if list := brief.Check(got, in); len(list) > 0 {
			t.Errorf("%s:\n%s", got, report(list))
		}
	}
}

func TestBuiltInCountsInGoodEnglish(t *testing.T) {
	t.Parallel()
	flag := func(kind string, severity api.Severity, subject string, value float64) api.Flag {
		return api.Flag{Kind: kind, Severity: severity, Subject: subject, Value: value, Unit: "pct", Ref: 7, Message: "see " + subject}
	}
	depeg, critical := flag(api.FlagDepeg, api.SeverityWarning, "aUSD", -1.2), flag(api.FlagDepeg, api.SeverityCritical, "bUSD", 2.5)
	other, stale := flag("odd_kind", api.SeverityWarning, "cUSD", 3), flag(api.FlagSourceStale, api.SeverityWarning, "kraken-ticker", 2)
	notice := flag(api.FlagTVLDrop, api.SeverityNotice, "Vault", -11)
	for _, c := range []struct {
		flags []api.Flag
		want  string
	}{
		{[]api.Flag{depeg}, "One warning stands: aUSD trades 1.20% below its peg [7]."},
		{[]api.Flag{critical}, "One critical flag stands: bUSD trades 2.50% above its peg [7]."},
		{[]api.Flag{depeg, other}, "Two warnings stand: aUSD trades 1.20% below its peg [7], and “see cUSD” [7]."},
		{[]api.Flag{critical, depeg}, "Two flags stand, one of them critical: bUSD trades 2.50% above its peg [7]. A warning is up as well: aUSD trades 1.20% below its peg [7]."},
		{[]api.Flag{depeg, stale}, "Of two flags, one comes first, a warning: aUSD"},
		{[]api.Flag{critical, depeg, other}, "Two warnings follow: aUSD trades 1.20% below its peg [7], and “see cUSD” [7]."},
		{[]api.Flag{depeg, other, depeg, other}, "Four warnings stand: aUSD trades 1.20% below its peg [7], “see cUSD” [7], and aUSD trades 1.20% below its peg [7]. On the same level, “see cUSD” [7]."},
		{[]api.Flag{notice}, "Also flagged: the TVL of Vault is down 11.0% in 24 hours [7]."},
	} {
		s := readState(t, "tick1")
		s.Flags = c.flags
		if got := write(t, input(t, s)); !strings.Contains(got, c.want) {
			t.Errorf("want %q in\n%s", c.want, got)
		}
	}
}

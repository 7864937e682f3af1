package brief_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/sdk/api"
)

// only keeps the movers of a group, at most n of them.
func only(s *api.CryptoState, group string, n int) {
	seen := 0
	s.TopMovers = slices.DeleteFunc(s.TopMovers, func(m api.Mover) bool {
		if m.Group != group {
			return false
		}
		seen++
		return seen > n
	})
}

// majors sets the daily changes of the five majors; nil leaves one unknown.
func majors(s *api.CryptoState, changes ...any) {
	i := 0
	for j := range s.TopMovers {
		if m := &s.TopMovers[j]; m.Group == api.GroupMajor {
			m.Change24hPct = nil
			if c, ok := changes[i].(float64); ok {
				m.Change24hPct = &c
			}
			i++
		}
	}
}

func TestBuiltInFitsItsSentencesToTheRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(*api.CryptoState)
		want []string
		not  []string
	}{
		{"one gainer", func(s *api.CryptoState) { only(s, api.GroupGainer, 1) },
			[]string{"Zcash is the one gainer of note, up 23.1% [1]. At the other end, Official Trump is down 20.4%, followed by Celestia (−9.8%) and Raydium (−9.5%) [1]."}, []string{" next"}},
		{"two gainers", func(s *api.CryptoState) { only(s, api.GroupGainer, 2) },
			[]string{"Zcash leads the gainers, up 23.1%, with Virtuals Protocol (+16.3%) next [1]."}, nil},
		{"no gainer", func(s *api.CryptoState) { only(s, api.GroupGainer, 0) },
			[]string{"Official Trump falls furthest, down 20.4%, followed by"}, []string{"gainer", "At the other end"}},
		{"no mover", func(s *api.CryptoState) { only(s, api.GroupGainer, 0); only(s, api.GroupLoser, 0) },
			nil, []string{"gainer", "falls", "At the other end"}},
		{"no pools", func(s *api.CryptoState) { s.TrendingPools = nil }, []string{"This brief is without trending pools [9]."}, []string{"tops the"}},
		{"no narratives", func(s *api.CryptoState) { s.Narratives = nil }, []string{"This brief is without narratives [4]."}, []string{"leading narrative", "headlines"}},
		{"no fear and greed", func(s *api.CryptoState) { s.Sentiment.FearGreed = nil }, []string{"This brief is without the Fear & Greed index [10]."}, []string{"reads"}},
		{"two gaps", func(s *api.CryptoState) { s.Sentiment.Market, s.Sentiment.FearGreed = nil, nil },
			[]string{"This brief is without the market totals [3] and the Fear & Greed index [10].", "Of the large coins, 32 rose and 58 fell [1]."}, []string{"Breadth"}},
		{"all majors down", func(s *api.CryptoState) { majors(s, -1.0, -2.0, -3.0, -4.0, -5.0) },
			[]string{"All five majors are lower on the day: Bitcoin by 1.0% to $91,286, Ethereum by 2.0% to $3,191,"}, nil},
		{"majors three ways", func(s *api.CryptoState) { majors(s, 1.0, -2.0, 3.0, -4.0, 0.0) },
			[]string{"Among the majors, Bitcoin trades at $91,286, up 1.0%, and Ethereum at $3,191, down 2.0% [1]. Solana (+3.0%) is higher, BNB (−4.0%) is lower, and XRP is unchanged [1]."}, nil},
		{"majors partly known", func(s *api.CryptoState) { majors(s, nil, -2.0, nil, -4.0, nil) },
			[]string{"Bitcoin trades at $91,286 and Ethereum at $3,191, down 2.0% [1]. BNB (−4.0%) is lower [1]."}, nil},
		{"one major", func(s *api.CryptoState) {
			only(s, api.GroupMajor, 1)
			only(s, api.GroupGainer, 0)
		}, []string{"Among the majors, Bitcoin trades at $91,286, down 1.8% [1]. "}, nil},
		{"breadth against the market", func(s *api.CryptoState) { *s.Sentiment.Breadth = api.Breadth{Advancing: 60, Declining: 1, Ref: 1} },
			[]string{"Breadth says otherwise: 60 large coins rose and 1 fell [1]."}, nil},
		{"breadth even", func(s *api.CryptoState) { *s.Sentiment.Breadth = api.Breadth{Advancing: 1, Declining: 1, Ref: 1} },
			[]string{"Breadth is even: 1 large coin rose and 1 fell [1]."}, nil},
		{"nothing rose", func(s *api.CryptoState) { *s.Sentiment.Breadth = api.Breadth{Declining: 90, Ref: 1} },
			[]string{"Breadth agrees: no large coin rose and 90 fell [1]."}, nil},
		{"one narrative", func(s *api.CryptoState) { s.Narratives = s.Narratives[:1] }, []string{"Privacy Coins is the leading narrative, up 11.8%"}, []string{" loses ", " gains "}},
		{"a subject that words of others stand for", func(s *api.CryptoState) {
			news := api.Flag{ID: "news:lido", Kind: "news_kind", Severity: api.SeverityCritical, Subject: "Lido", Message: "Aave V3 is paused", Ref: 8}
			fees := api.Flag{ID: "fees:lido", Kind: api.FlagFeeSpike, Severity: api.SeverityWarning, Subject: "Lido", Value: 63.4, Unit: "sat/vB", Ref: 5}
			gas := api.Flag{ID: "gas:lido", Kind: api.FlagGasSpike, Severity: api.SeverityWarning, Subject: "Lido", Value: 40, Unit: "gwei", Ref: 5}
			s.Flags = []api.Flag{news, fees, gas}
		}, []string{"“Aave V3 is paused” [8], fees on Lido have reached 63.4 sat/vB [5], and it has reached 40 gwei [5]"}, nil},
		{"risks", func(s *api.CryptoState) {
			s.TrendingPools[0].Risk = []string{api.RiskLowLiquidity, api.RiskNewPool}
			s.TrendingPools[1].Risk = []string{api.RiskHighTurnover, "odd_mark"}
		}, []string{"it is marked for its thin liquidity and young age [9]. A risk mark goes to GITLARK / WETH (down 31.1%; high turnover, odd mark) [9]."}, nil},
	} {
		s := readState(t, "tick3")
		c.make(s)
		in := input(t, s)
		got := write(t, in)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: want %q in\n%s", c.name, want, got)
			}
		}
		for _, not := range c.not {
			if strings.Contains(got, not) {
				t.Errorf("%s: do not want %q in\n%s", c.name, not, got)
			}
		}
		if list := brief.Check(got, in); len(list) > 0 {
			t.Errorf("%s:\n%s", c.name, report(list))
		}
	}
}

// TestBuiltInTellsCoinsOfOneNameApart: a coin that bears the name of a major is not taken for it, whatever its case.
func TestBuiltInTellsCoinsOfOneNameApart(t *testing.T) {
	t.Parallel()
	s := readState(t, "tick1")
	s.Flags = []api.Flag{{
		ID: "move:bitcoin-2", Kind: api.FlagPriceMove, Severity: api.SeverityWarning, Subject: "bitcoin", Value: 40.5, Threshold: 20,
		Unit: "pct", Message: "bitcoin is up 40.5% in 24 hours", Ref: 1,
	}}
	if text := write(t, input(t, s)); !strings.Contains(text, "bitcoin is up 40.5% in 24 hours [1]") {
		t.Errorf("the brief does not tell of the other coin: %s", text)
	}
}

package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
)

// published is what a host allows, as its documents say or as was measured where they are silent; 0 is no bound.
type published struct{ minute, day, month int }

// limits are those of the hosts with one. With a key, CoinGecko's are those of the plan.
func limits(account source.CoinGecko) map[string]published {
	gecko := published{minute: 10}
	switch account.Plan {
	case source.PlanDemo:
		gecko = published{minute: 100, month: 10_000}
	case source.PlanPro:
		gecko = published{minute: 250, month: 100_000} // of the smallest of the paid plans
	}
	return map[string]published{
		"api.coingecko.com": gecko, "api.geckoterminal.com": {minute: 10}, "pro-api.coinmarketcap.com": {minute: 30},
		"api.kraken.com": {minute: 20}, "api.exchange.coinbase.com": {minute: 600}, "www.deribit.com": {minute: 1200},
		"api.hyperliquid.xyz": {minute: 60}, "eth.blockscout.com": {minute: 180}, "gamma-api.polymarket.com": {minute: 3000},
		"api.alternative.me": {minute: 60}, "api.bls.gov": {day: 25}, "www.sec.gov": {minute: 600}, "huggingface.co": {minute: 100},
		"hn.algolia.com": {minute: 166}, "rss.arxiv.org": {minute: 20, day: 4}, "export.arxiv.org": {minute: 20, day: 4},
		"home.treasury.gov": {day: 24}, "openrouter.ai": {day: 48},
	}
}

// TestBudget: all four packs together stay below every published limit with each plan of CoinGecko, while all goes well, and with every
// source failing so that those which stand in are asked beside.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, account := range []source.CoinGecko{
		{Plan: source.PlanKeyless}, {Plan: source.PlanDemo, Key: "k"}, {Plan: source.PlanPro, Key: "k"},
	} {
		perMinute, perDay := map[string]int{}, map[string]float64{}
		ask := func(c source.Connector, asks []source.Ask) {
			for _, a := range asks {
				n := max(a.Times, 1)
				perMinute[a.Host()] += n // all in one refresh
				perDay[a.Host()] += float64(n) * float64(24*time.Hour) / float64(max(c.Interval, a.Every, 5*time.Minute))
			}
		}
		for _, c := range allSources(t, account) {
			ask(c, c.Asks)
			for _, b := range c.Fallbacks {
				ask(c, b.Asks)
			}
			if len(c.Asks) == 0 {
				t.Errorf("%s declares nothing that it asks for", c.ID)
			}
		}
		for host, bound := range limits(account) {
			if perDay[host] == 0 {
				t.Errorf("%s: nobody asks %s", account.Plan, host)
			}
			over := bound.minute > 0 && perMinute[host] > bound.minute || bound.day > 0 && perDay[host] > float64(bound.day) ||
				bound.month > 0 && 30*perDay[host] > float64(bound.month)
			if over {
				t.Errorf("%s: %s is asked %d times in a minute, %.0f a day, %.0f in 30 days; it allows %+v",
					account.Plan, host, perMinute[host], perDay[host], 30*perDay[host], bound)
			}
		}
	}
}

// allSources are those of the packs that are part of the program.
func allSources(t *testing.T, account source.CoinGecko) (list []source.Connector) {
	t.Helper()
	packs := []*pack.Pack{pack.Crypto().Paced(account)}
	for _, id := range manifest.Shipped() {
		text, _ := manifest.ShippedText(id)
		m, err := manifest.Read(text, true)
		if err != nil {
			t.Fatal(err)
		}
		e, err := manifest.NewLocal(m)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := m.Make(e)
		if err != nil {
			t.Fatal(err)
		}
		packs = append(packs, p)
	}
	for _, p := range packs {
		for _, s := range p.Sources {
			list = append(list, s.Connector)
		}
	}
	return list
}

// TestRefusedByNobody: of the sources that want a contact each says so, and no other.
func TestRefusedByNobody(t *testing.T) {
	t.Parallel()
	var unasked []string
	for _, c := range allSources(t, source.CoinGecko{}) {
		if c.Unasked("") != "" {
			unasked = append(unasked, c.ID)
		}
		if why := c.Unasked("ops@example.org"); why != "" {
			t.Errorf("%s: %s", c.ID, why)
		}
	}
	if got := strings.Join(unasked, " "); got != "bls-calendar sec-filings" {
		t.Errorf("not asked without a contact: %s", got)
	}
}

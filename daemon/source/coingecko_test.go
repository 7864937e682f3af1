package source_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// TestCoinGeckoPlans: each plan is asked where it is served, with its header, and as often as it allows.
func TestCoinGeckoPlans(t *testing.T) {
	t.Parallel()
	const key = "CG-secret"
	for _, tt := range []struct {
		account           source.CoinGecko
		host, demo, pro   string
		markets, trending time.Duration
		wrong             string
	}{
		{source.CoinGecko{}, "api.coingecko.com", "", "", 5 * time.Minute, 30 * time.Minute, ""},
		{source.CoinGecko{Plan: source.PlanKeyless}, "api.coingecko.com", "", "", 5 * time.Minute, 30 * time.Minute, ""},
		{source.CoinGecko{Key: key}, "api.coingecko.com", key, "", 10 * time.Minute, time.Hour, ""},
		{source.CoinGecko{Plan: source.PlanDemo, Key: key}, "api.coingecko.com", key, "", 10 * time.Minute, time.Hour, ""},
		{source.CoinGecko{Plan: source.PlanPro, Key: key}, "pro-api.coingecko.com", "", key, 5 * time.Minute, 30 * time.Minute, ""},
		{account: source.CoinGecko{Plan: source.PlanPro}, wrong: "plan pro needs a key in key_file"},
		{account: source.CoinGecko{Plan: source.PlanDemo}, wrong: "plan demo needs a key in key_file"},
		{account: source.CoinGecko{Plan: source.PlanKeyless, Key: key}, wrong: "plan keyless takes no key"},
		{account: source.CoinGecko{Plan: "basic", Key: key}, wrong: `plan "basic" is none of keyless, demo and pro`},
	} {
		err := tt.account.Check()
		if (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%+v: %v, want %q", tt.account, err, tt.wrong)
		}
		if tt.wrong != "" {
			continue
		}
		var asked *http.Request
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			if asked == nil { // who stands in is asked after it
				asked = r
			}
			return respond(r, 401, "{}"), nil
		})
		f := source.NewFetcher(source.Config{Transport: transport, CoinGecko: tt.account})
		out := f.Fetch(t.Context(), source.CoinGeckoGlobal(), nil)
		got := []string{asked.URL.Host, asked.Header.Get("x-cg-demo-api-key"), asked.Header.Get("x-cg-pro-api-key")}
		if want := []string{tt.host, tt.demo, tt.pro}; strings.Join(got, " ") != strings.Join(want, " ") || strings.Contains(asked.URL.String(), key) {
			t.Errorf("%+v: asked %v of %s, want %v", tt.account, got, asked.URL, want)
		}
		if out.Class != source.ClassAuth || strings.Contains(out.Err.Error(), key) {
			t.Errorf("refused key: %s, %v", out.Class, out.Err)
		}
		if m, s := tt.account.Interval(source.CoinGeckoMarkets()), tt.account.Interval(source.CoinGeckoTrending()); m != tt.markets || s != tt.trending {
			t.Errorf("%+v: markets every %v, trending every %v", tt.account, m, s)
		}
		if other := tt.account.Interval(source.Kraken()); other != source.Kraken().Interval {
			t.Errorf("%+v: kraken every %v", tt.account, other)
		}
	}
}

func TestKeyIsForCoinGeckoAlone(t *testing.T) {
	t.Parallel()
	for _, plan := range []source.Plan{source.PlanDemo, source.PlanPro} {
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			keyed := r.Header.Get("x-cg-demo-api-key") + r.Header.Get("x-cg-pro-api-key")
			if ours := strings.HasSuffix(r.URL.Host, "api.coingecko.com"); keyed != "" && !ours {
				t.Errorf("key sent to %s", r.URL.Host)
			}
			if keyed != "" {
				return respond(r, 302, "", "Location", "https://elsewhere.example/x"), nil
			}
			return respond(r, 429, ""), nil
		})
		f := source.NewFetcher(source.Config{Transport: transport, CoinGecko: source.CoinGecko{Plan: plan, Key: "CG-secret"}})
		for _, c := range connectors() {
			if out := f.Fetch(t.Context(), c, nil); out.Class != source.ClassRateLimited {
				t.Errorf("%s: %s, %v", c.ID, out.Class, out.Err)
			}
		}
	}
}

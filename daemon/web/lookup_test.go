package web_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// TestLookup asks for rows that no state shows, several at once.
func TestLookup(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierFree))
	d.Clock.Advance(40 * time.Second)
	a := get(t, d.URL()+"/v1/lookup?q="+url.QueryEscape(" ADA  price,tether supply,cordano"), key)
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	r := decode[api.LookupResponse](t, a)
	if len(r.Results) != 3 || r.Results[0].Q != "ADA price" || len(r.Results[0].Rows) != 1 || len(r.Results[1].Rows) != 1 || len(r.Results[2].Rows) != 1 {
		t.Fatalf("the answer is %s", a.Body)
	}
	ada, usdt := r.Results[0].Rows[0], r.Results[1].Rows[0]
	if ada.Kind != "asset" || ada.Key != "cardano" || ada.Symbol != "ADA" || len(ada.Asked) != 1 || ada.Asked[0] != "priceUsd" ||
		ada.Fields.Get("priceUsd") == nil || ada.URL != "https://www.coingecko.com/en/coins/cardano" || ada.AgeSeconds < 39 || ada.Stale {
		t.Errorf("ADA is %+v", ada)
	}
	if usdt.Kind != "stablecoin" || usdt.Fields.Get(usdt.Asked[0]) == nil || usdt.Asked[0] != "supplyUsd" {
		t.Errorf("USDT is %+v", usdt)
	}
	if typed := r.Results[2]; typed.Rows[0].Key != "cardano" || typed.Rows[0].Match != api.MatchSpelling || len(typed.Missing) != 1 ||
		typed.Missing[0].Why != api.MissingUnknownWord || typed.Missing[0].Instead[0] != "cardano" {
		t.Errorf("cordano is %+v", typed)
	}
	if read := r.Results[0].Read; read == nil || read.Text != "assets where symbol = ADA, field priceUsd" || ada.Match != api.MatchSymbol {
		t.Errorf("ADA price is read as %+v by %s", read, ada.Match)
	}
	if len(r.Citations) != 2 || r.Citations[0].Ref != ada.Ref || r.Citations[1].Ref != usdt.Ref || r.Freshness.AgeSeconds < 39 {
		t.Errorf("the citations are %+v, the freshness %+v", r.Citations, r.Freshness)
	}
	only := decode[api.LookupResponse](t, get(t, d.URL()+"/v1/lookup?q=solana&kind=chain&limit=1", key))
	if rows := only.Results[0].Rows; len(rows) != 1 || rows[0].Kind != "chain" {
		t.Errorf("of the kind chain is %+v", rows)
	}
}

// TestLookupOfNothing: what finds nothing costs a key nothing and is not quoted.
func TestLookupOfNothing(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	key := m.d.Key(t, api.TierPro)
	m.d.Grant(t, key, 2)
	left := func() int64 {
		have, err := m.d.Credits().Balance(t.Context(), account.OperatorID, key[:api.KeyIDLength])
		if err != nil {
			t.Fatal(err)
		}
		return have.Balance
	}
	path := m.d.URL() + "/v1/lookup?q=foo"
	if a := get(t, path, bearer(key)); a.Status != http.StatusOK || len(decode[api.LookupResponse](t, a).Results[0].Rows) != 0 || left() != 2 {
		t.Errorf("nothing: %d %s, %d credits left", a.Status, a.Body, left())
	}
	if a := get(t, path+",ada", bearer(key)); a.Status != http.StatusOK || left() != 1 {
		t.Errorf("nothing and something: %d, %d credits left", a.Status, left())
	}
	if failure := refusal(t, get(t, path), http.MethodGet); failure.Error.Reason != api.ReasonNothingFound || failure.Payment != nil {
		t.Errorf("without credentials: %+v", failure)
	}
	found := "/v1/lookup?q=ada"
	p := m.pay(m.quote(found))
	m.paid(found, p, false)
}

// TestLookupsOfNothingAreBounded: 60 at once of a key, and of a client without one, while the clock stands still.
func TestLookupsOfNothingAreBounded(t *testing.T) {
	t.Parallel()
	stopped := time.Now()
	d := daemontest.Start(t, daemontest.On(daemontest.Chain(t)), func(c *daemon.Config) { c.Now = func() time.Time { return stopped } })
	for who, c := range map[string][]change{"a key": {bearer(d.Key(t, api.TierFree))}, "nobody": nil} {
		answered := 0
		for range 70 {
			if a := get(t, d.URL()+"/v1/lookup?q=foo", c...); a.Status != http.StatusTooManyRequests {
				answered++
			}
		}
		if answered != 60 {
			t.Errorf("%s looked up nothing %d times", who, answered)
		}
	}
}

// TestLookupAfterRestart: what the sources last said is known again before any of them has answered.
func TestLookupAfterRestart(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	d.Stop(t)
	again := daemontest.Open(t, func(c *daemon.Config) { c.DataDir, c.Now = d.Config.DataDir, d.Config.Now })
	again.Recording.Break("", nil)
	again.Run(t)
	key := bearer(again.Key(t, api.TierFree))
	rows := decode[api.LookupResponse](t, get(t, again.URL()+"/v1/lookup?q=ada", key)).Results[0].Rows
	if len(rows) != 1 || rows[0].Key != "cardano" || rows[0].Fields.Get("priceUsd") == nil || rows[0].FetchedAt.IsZero() {
		t.Errorf("after a restart it finds %+v", rows)
	}
}

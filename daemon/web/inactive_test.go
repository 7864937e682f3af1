package web_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// TestLaterPhasesAreInactive: what the specification announces for later is accepted where it says so, and does nothing.
func TestLaterPhasesAreInactive(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierPro))
	plain := get(t, d.URL()+"/v1/fresh", key)
	for name, a := range map[string]answer{
		"query":                get(t, d.URL()+"/v1/fresh?query=only+bitcoin", key),
		"an empty query":       get(t, d.URL()+"/v1/fresh?query=", key),
		"the payer's hint":     get(t, d.URL()+"/v1/fresh", key, with(api.HeaderPayerHint, "0xc70a7a8042A6da9Ab6b90F8322486484A1312021")),
		"a hint that is wrong": get(t, d.URL()+"/v1/fresh", key, with(api.HeaderPayerHint, "nobody")),
	} {
		if a.Status != http.StatusOK || !bytes.Equal(a.Body, plain.Body) {
			t.Errorf("%s changes the answer: %d %.200s", name, a.Status, a.Body)
		}
	}
	for _, path := range []string{"/v1/fresh", "/v1/brief", "/v1/search?q=bitcoin", "/v1/cite?ref=1"} {
		if a := get(t, d.URL()+path, key); a.Status != http.StatusOK || bytes.Contains(a.Body, []byte("attestation")) {
			t.Errorf("%s: %d %.200s", path, a.Status, a.Body)
		}
	}
	for _, pack := range []string{api.PackAI, api.PackMarkets} {
		if a := get(t, d.URL()+"/v1/fresh?pack="+pack, key); refusal(t, a, http.MethodGet).Error.Reason != api.ReasonPackNotFound {
			t.Errorf("pack %s: %d %s", pack, a.Status, a.Body)
		}
	}
}

// TestSearchIsLiteral: words that mean the same do not match, only those that are there.
func TestSearchIsLiteral(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierPro))
	for q, found := range map[string]bool{"bitcoin": true, "btc": true, "cryptocurrency+number+one": false, "digital+gold": false} {
		total := decode[api.SearchResponse](t, get(t, d.URL()+"/v1/search?q="+q, key)).Total
		if (total > 0) != found {
			t.Errorf("%s matches %d times", q, total)
		}
	}
}

// TestNoWebSocket: a client that asks for an upgrade gets the stream of events, and stays with HTTP.
func TestNoWebSocket(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/v1/subscribe?token="+d.Key(t, api.TierPro), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	} {
		req.Header.Set(name, value)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Upgrade") != "" {
		t.Errorf("the upgrade is answered %s %v", res.Status, res.Header)
	}
}

// TestHintBuysNoDiscount: a quote is the same for all callers.
func TestHintBuysNoDiscount(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	plain := m.quote("/v1/brief")
	a := get(t, m.d.URL()+"/v1/brief", with(api.HeaderPayerHint, m.chain.Wallet().Address))
	hinted := refusal(t, a, http.MethodGet).Payment
	if hinted == nil {
		t.Fatalf("with a hint there is no quote: %d %s", a.Status, a.Body)
	}
	if hinted.Amount != plain.Amount || hinted.Amount != "0.005" || hinted.Recipient != plain.Recipient {
		t.Errorf("with a hint the quote is %+v, without %+v", hinted, plain)
	}
}

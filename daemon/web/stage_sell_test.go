package web_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// paying sends a new payment of offer, with an identifier unless that is "".
func (s *stage) paying(offer api.StandardRequired, id string) openapiChange {
	s.t.Helper()
	m := &market{t: s.t, chain: s.chain, d: s.d}
	paid := m.sign(s.chain.Wallet(), offer)
	paid.Extensions = nil
	if id != "" {
		paid = identified(paid, id)
	}
	return openapiWith(api.HeaderSignature, payload(s.t, paid))
}

// payload is a payment as a header has it.
func payload(t *testing.T, s standard) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// sell buys credits by standard x402.
func (s *stage) sell() {
	path := pathOf(api.CreditStarter)
	offer := unwrap[api.StandardRequired](s.t, s.do(402, "POST", path, ""), api.HeaderRequired)
	s.do(400, "POST", pathOf("none"), "")
	const id = "purchase-0123456789"
	bought, plain := s.paying(offer, id), s.paying(offer, "")
	for _, payment := range []openapiChange{bought, plain} {
		for call(s.t, "POST", s.d.URL()+path, payment).Status == http.StatusServiceUnavailable { // it is being settled
		}
	}
	s.do(201, "POST", path, "", bought)
	s.do(409, "POST", path, "", s.paying(offer, id))
	s.do(200, "POST", path, "", plain)

	stands := time.Now() // so that no minute passes
	closed := daemontest.Start(s.t, daemontest.On(s.chain), func(c *daemon.Config) {
		c.Chain.SettleKey, c.Accounts.Signup = s.chain.Gas().PrivateKey, account.SignupClosed
		c.Now = func() time.Time { return stands }
	})
	s.at(closed, 403, "POST", path, "", s.paying(offer, ""))
	const most = 60 // payments that a client may present in a minute
	for range most {
		_ = call(s.t, "POST", closed.URL()+path, openapiWith(api.HeaderSignature, "e30="))
	}
	s.at(closed, 429, "POST", path, "", s.paying(offer, ""))

	without := daemontest.Start(s.t, daemontest.On(s.chain), func(c *daemon.Config) { c.Chain.SettleKey = "" })
	s.at(without, 404, "POST", path, "")
}

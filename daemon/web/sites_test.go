package web_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// TestSites bounds what costs nothing for a whole site of IPv6 as for a client of it, who has 65,536 networks there: payments of both dialects
// together, and lookups that find nothing. Another site is not in its way.
func TestSites(t *testing.T) {
	t.Parallel()
	request := func(site, network int, header string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/v1/fresh", nil)
		r.RemoteAddr = fmt.Sprintf("[2001:db8:%x:%x::1]:1000", site, network)
		r.Header.Set(header, base64.StdEncoding.EncodeToString([]byte(`{"scheme":"x402"}`)))
		return r
	}
	for name, one := range map[string]func(p *web.Payers, site, network int) error{
		"payments": func(p *web.Payers, site, network int) error {
			header := []string{api.HeaderPayment, api.HeaderSignature}[network%2]
			_, err := p.Credentials(request(site, network, header), x402.Subject{})
			return err
		},
		"lookups": func(p *web.Payers, site, network int) error {
			return p.Missed(p.Trusted.ClientsOf(request(site, network, "X")), gate.Served[reader.Answer]{}, api.Errorf(api.ReasonNothingFound, "none"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := web.NewPayers(nil, daemontest.NewClock().Now)
			p.Standard = &web.Standard{}
			limited := &api.Error{Reason: api.ReasonRateLimited}
			for i := range 61 {
				if err := one(p, 1, i); errors.Is(err, limited) != (i == 60) {
					t.Errorf("%d of a site: %v", i, err)
				}
			}
			if err := one(p, 2, 0); errors.Is(err, limited) {
				t.Errorf("another site: %v", err)
			}
		})
	}
}

package sdk

import (
	"context"
	"net/http"
	"net/url"

	"github.com/contextd/contextd/sdk/api"
)

// soldPatience is how often the payment of a pack is sent again to a service that is still settling it.
const soldPatience = 15

// BuyKey buys a pack of credits by standard x402 and returns a new key with them. It needs a wallet, from which payer pays, and no account:
// the purchase creates an account for the wallet. After a failure, the same call with the same payer finishes the purchase and returns the
// same key. Key is empty if the service showed it long ago: sign in with the wallet to rotate it.
func (c *Client) BuyKey(ctx context.Context, pack api.CreditPack, payer Payer, opts ...CallOption) (*api.IssuedKey, error) {
	var o call
	for _, opt := range opts {
		opt(&o)
	}
	r := Request{Method: http.MethodPost, Path: api.PathPurchase, Query: url.Values{"pack": {string(pack)}}}
	target, err := c.target(r, o.query)
	if err != nil {
		return nil, err
	}
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	req, err := c.request(ctx, r, target, o)
	if err != nil {
		return nil, err
	}
	req.Header.Del("Authorization") // the key on it is another one
	pays := &PayTransport{Payer: payer, Service: target.Scheme + "://" + target.Host, Base: reaching{c.http.Transport},
		Schemes: []Scheme{Exact{}}, Pack: pack, Patience: soldPatience}
	answer, err := pays.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	text, err := readAnswer(req, answer)
	if err != nil {
		return nil, err
	}
	resp := newResponse(answer, text)
	if o.response != nil {
		*o.response = *resp
	}
	if answer.StatusCode/100 != 2 {
		return nil, decodeError(answer, text)
	}
	return decodeAs[api.IssuedKey](resp)
}

// reaching sends requests. Its errors are those of who cannot reach a service.
type reaching struct{ base http.RoundTripper }

// RoundTrip sends r.
func (s reaching) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.base == nil {
		s.base = http.DefaultTransport
	}
	resp, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, transportError(r, 1, err)
	}
	return resp, nil
}

package sdk_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// FuzzParseRequired: whatever a service says, it is read within bounds or refused, and each way to pay is repeated as it came.
func FuzzParseRequired(f *testing.F) {
	const way = `{"scheme":"exact","network":"eip155:8453","amount":"1000","asset":"0x1","payTo":"0x2","maxTimeoutSeconds":60,"extra":{"name":"USD Coin"}}`
	for _, text := range []string{
		``, `[]`, `{}`, `null`, `{"x402Version":1,"accepts":[{}]}`, `{"x402Version":2,"accepts":[]}`, `{"x402Version":2,"accepts":[` + way + `]}`,
		`{"x402Version":2,"accepts":[` + way + `,{"scheme":"exact","amount":5},null,7],"resource":{"url":"x"},"extensions":{"a":null}}`,
		`{"x402Version":2,"accepts":[` + way + `],"ACCEPTS":[{}]}`, `{"x402version":2,"accepts":[` + strings.Repeat(way+",", 31) + way + `]}`,
		`{"x402Version":2,"accepts":[{"scheme":"exact","extra":{"name":1}}]}`, `{"x402Version":2e0,"accepts":[{}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := sdk.ParseRequired(text)
		if err != nil {
			if !errors.Is(err, sdk.ErrRequired) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if len(r.Accepts) == 0 || len(r.Accepts) > 32 || len(text) > sdk.MaxRequiredBytes {
			t.Errorf("%q has %d ways to pay", text, len(r.Accepts))
		}
		for _, a := range r.Accepts {
			if !json.Valid(a.Raw) || !strings.Contains(string(text), string(a.Raw)) {
				t.Errorf("%q is repeated as %q", text, a.Raw)
			}
		}
	})
}

// TestPaymentHides: no way to print a payment shows what pays.
func TestPaymentHides(t *testing.T) {
	t.Parallel()
	p := sdk.Payment{Scheme: api.SchemeExact, ID: "0x1", Asset: "USDC", Amount: "1", Payload: []byte("secret")}
	lost := &sdk.PaidError{Payment: p, Err: errors.New("lost")}
	for _, text := range []string{p.String(), p.GoString(), lost.Error()} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "0x1") {
			t.Error(text)
		}
	}
}

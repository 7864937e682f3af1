package x402_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// TestAgeOfSignIns: a sign-in holds for five minutes after its nonce was issued, however long its own end is put off, and for a clock that
// is a minute behind.
func TestAgeOfSignIns(t *testing.T) {
	t.Parallel()
	clock := now()
	s := x402.SignIns{
		PublicURL: &url.URL{Scheme: "https", Host: "context.example.org"}, Networks: []string{"eip155:46630"}, Secret: []byte("secret"),
		Recover: func(string, string) (string, error) { return payer, nil }, Now: func() time.Time { return clock },
	}
	offer, err := s.Offer()
	if err != nil {
		t.Fatal(err)
	}
	m := maps.Clone(offer.Info)
	m["chainId"], m["type"], m["address"] = "eip155:46630", "eip191", payer
	m["expirationTime"] = now().Add(time.Hour).Format(time.RFC3339)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for at, ok := range map[time.Duration]bool{
		-time.Minute - time.Millisecond: false, -time.Minute: true, 0: true, 5 * time.Minute: true, 5*time.Minute + time.Millisecond: false,
	} {
		clock = now().Add(at)
		_, err := s.Read(base64.StdEncoding.EncodeToString(text))
		if (err == nil) != ok {
			t.Errorf("after %s: %v", at, err)
		}
		if !ok {
			is(t, err, api.ReasonBadSignature)
		}
	}
}

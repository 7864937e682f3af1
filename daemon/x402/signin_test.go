package x402_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// signIns notes how long a sign-in is known to be used up.
type signIns struct{ until time.Time }

func (s *signIns) UseSignIn(_ context.Context, _ [sha256.Size]byte, _, until time.Time) (bool, error) {
	s.until = until
	return true, nil
}

// TestAgeOfSignIns: a sign-in holds for five minutes after its nonce was issued, however long its own end is put off, and for a clock that
// is a minute behind.
func TestAgeOfSignIns(t *testing.T) {
	t.Parallel()
	clock, used := now(), &signIns{}
	s := x402.SignIns{
		PublicURL: &url.URL{Scheme: "https", Host: "context.example.org"}, Networks: []string{"eip155:46630"}, Secret: []byte("secret"),
		Recover: func(string, string) (string, error) { return payer, nil }, Now: func() time.Time { return clock }, Store: used,
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
		in, err := s.Read(base64.StdEncoding.EncodeToString(text))
		if (err == nil) != ok {
			t.Errorf("after %s: %v", at, err)
		}
		if !ok {
			is(t, err, api.ReasonBadSignature)
		} else if err := in.Use(t.Context()); err != nil || used.until.Before(now().Add(5*time.Minute)) {
			t.Errorf("used after %s, it is known until %s, %v", at, used.until, err)
		}
	}
}

// TestTextOfSignIns: what is checked is the text that wallets sign, by EIP-4361, with all that clients may add, and its times bind. Neither
// what is longer than a header may be, nor what says a member twice, is read.
func TestTextOfSignIns(t *testing.T) {
	t.Parallel()
	var text string
	s := x402.SignIns{
		PublicURL: &url.URL{Scheme: "https", Host: "context.example.org"}, Networks: []string{"eip155:46630"}, Secret: []byte("secret"),
		Recover: func(signed, _ string) (string, error) { text = signed; return payer, nil }, Now: now,
	}
	offer, err := s.Offer()
	if err != nil {
		t.Fatal(err)
	}
	m := maps.Clone(offer.Info)
	m["chainId"], m["type"], m["address"] = "eip155:46630", "eip191", payer
	m["notBefore"], m["requestId"], m["resources"] = m["issuedAt"], "7", []string{"https://one.example", "https://two.example"}
	sent, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("context.example.org wants you to sign in with your Ethereum account:\n%s\n\n%s\n\nURI: https://context.example.org\n"+
		"Version: 1\nChain ID: 46630\nNonce: %s\nIssued At: %s\nExpiration Time: %s\nNot Before: %s\nRequest ID: 7\nResources:\n"+
		"- https://one.example\n- https://two.example", payer, m["statement"], m["nonce"], m["issuedAt"], m["expirationTime"], m["notBefore"])
	if _, err := s.Read(base64.StdEncoding.EncodeToString(sent)); err != nil || text != want {
		t.Errorf("%v, of the text\n%s\nand not of\n%s", err, text, want)
	}
	for name, at := range map[string]time.Duration{"notBefore": time.Second, "expirationTime": 0} {
		other := maps.Clone(m)
		other[name] = now().Add(at).Format(time.RFC3339)
		bound, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(base64.StdEncoding.EncodeToString(bound)); err == nil || !strings.Contains(err.Error(), "does not hold now") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m["requestId"] = strings.Repeat("x", 12<<10)
	long, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]string{
		"long": string(long), "twice": strings.Replace(string(sent), `"nonce":`, `"Nonce":"x","nonce":`, 1),
	} {
		_, err := s.Read(base64.StdEncoding.EncodeToString([]byte(one)))
		is(t, err, api.ReasonBadSignature)
		if err == nil || !strings.Contains(err.Error(), "each member once") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

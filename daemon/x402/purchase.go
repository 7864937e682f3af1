package x402

import (
	"context"
	"crypto/subtle"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// paid names what e pays, for a Shop.
func (s *Settler) paid(a Authorization) account.Paid {
	return account.Paid{Rail: s.cfg.ID, Token: s.cfg.Token, Payer: a.From, Nonce: a.Nonce}
}

// purchase is what e makes where sub is a pack of credits, nil for a call, or why it may not.
func (s *Settler) purchase(ctx context.Context, e Exact, sub Subject) (*account.Purchase, error) {
	switch {
	case sub.Pack == "":
		return nil, nil
	case s.cfg.Shop == nil:
		return nil, fmt.Errorf("packages of credits are not sold here")
	}
	p, err := s.cfg.Shop.Purchase(s.paid(e.Authorization))
	if err != nil {
		return nil, fmt.Errorf("begin purchase: %w", err)
	}
	return &p, s.cfg.Store.AdmitPurchase(ctx, p, s.cfg.Now())
}

// first has the key that e buys belong to the identifier with which its authorization came first, before anybody else has that: without
// it, and where it is one that others guess, nobody gets the key by sending the authorization again.
func (e *exact) first(ctx context.Context) error {
	if e.buys == nil {
		return nil
	}
	noted, first, err := e.cfg.Store.FirstIdentifier(ctx, e.key(), e.paid.Identifier, e.paid.ends())
	switch {
	case err != nil:
		return fmt.Errorf("note identifier of purchase: %w", err)
	case first || e.knows(noted):
		return nil
	}
	return api.Errorf(api.ReasonIDConflict, "the authorization was sent before, with another payment identifier or without a secret one").
		WithHint("this service has settled nothing; sign a new authorization, with a payment identifier of %d characters or more "+
			"that nobody can guess", leastSecretID)
}

// Bounds of when a key is shown again. An authorization and its signature are public once they were broadcast; an identifier is not.
const (
	leastSecretID = 16 // characters of an identifier that nobody guesses
	shownFor      = 24 * time.Hour
)

// mayShow reports whether the key that row has bought is shown to who presents e, after the first answer.
func (e *exact) mayShow(row Settlement) bool {
	return e.knows(row.Identifier) && e.cfg.Now().Before(row.DoneAt.Add(shownFor))
}

// knows reports whether e has the identifier of a payment, and that is a secret.
func (e *exact) knows(identifier string) bool {
	same := subtle.ConstantTimeCompare([]byte(identifier), []byte(e.paid.Identifier)) == 1
	return same && utf8.RuneCountInString(e.paid.Identifier) >= leastSecretID
}

// bought is the key that row, which was settled, has bought: with its plaintext where show is set and its secret is still there.
func (s *Settler) bought(ctx context.Context, row Settlement, show bool) (*api.IssuedKey, error) {
	key, hash, err := s.cfg.Store.BoughtKey(ctx, row.Key())
	if err != nil || !show {
		return &key, err
	}
	secret, ok, err := s.cfg.Shop.Secret(s.paid(row.Authorization), hash)
	if ok {
		key.Key = secret
	}
	return &key, err
}

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
	return account.Paid{Rail: s.cfg.Rail, Token: s.cfg.Token, Payer: a.From, Nonce: a.Nonce}
}

// purchase is what e makes where sub is a pack of credits, nil for a call, or why it may not.
func (s *Settler) purchase(ctx context.Context, e Exact, sub Subject) (*account.Purchase, error) {
	switch {
	case sub.Pack == "":
		return nil, nil
	case s.cfg.Shop == nil:
		return nil, fmt.Errorf("packs of credits are not sold here")
	}
	p, err := s.cfg.Shop.Purchase(s.paid(e.Authorization))
	if err != nil {
		return nil, fmt.Errorf("begin purchase: %w", err)
	}
	return &p, s.cfg.Store.AdmitPurchase(ctx, p, s.cfg.Now())
}

// Bounds of when a key is shown again. An authorization and its signature are public once they were broadcast; an identifier is not.
const (
	leastSecretID = 16 // characters of an identifier that nobody guesses
	shownFor      = 24 * time.Hour
)

// mayShow reports whether the key that row has bought is shown to who presents e, after the first answer.
func (e *exact) mayShow(row Settlement) bool {
	same := subtle.ConstantTimeCompare([]byte(row.Identifier), []byte(e.paid.Identifier)) == 1
	return same && utf8.RuneCountInString(e.paid.Identifier) >= leastSecretID && e.cfg.Now().Before(row.DoneAt.Add(shownFor))
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

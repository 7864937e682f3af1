package x402

import (
	"context"
	"crypto/subtle"
	"errors"
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

// keep writes a settlement down that begins. One that is to make a key reserves its place, while nobody else is at anybody's keys.
func (s *Settler) keep(ctx context.Context, row Settlement) error {
	if row.Purchase == nil {
		return s.cfg.Store.BeginSettlement(ctx, row)
	}
	books, err := s.cfg.Deposits.Lock(ctx)
	if err != nil {
		return err
	}
	defer books.Unlock()
	err = s.cfg.Store.BeginSettlement(ctx, row)
	if errors.Is(err, account.ErrDuplicate) {
		return refusedExact(api.ReasonUnsettled, "no key can be made for this authorization")
	}
	return err
}

// spend spends the transfer of r on a settlement that it has paid for.
func (s *Settler) spend(ctx context.Context, row Settlement, r Receipt) error {
	if row.Pack == "" {
		_, err := s.cfg.Store.FinishSettlement(ctx, row.Key(), r)
		return err
	}
	books, err := s.cfg.Deposits.Lock(ctx)
	if err != nil {
		return err
	}
	defer books.Unlock()
	sold, err := s.cfg.Store.FinishSettlement(ctx, row.Key(), r)
	if err == nil && sold.ID != "" {
		books.Sold(sold)
	}
	return err
}

// Bounds of what is told again of a key. An authorization and its signature are public once they were broadcast; an identifier is not.
const (
	leastSecretID = 16 // characters of an identifier that nobody guesses
	toldFor       = 24 * time.Hour
)

// tells reports whether the key that row has bought is told again to who sends e.
func (s *Settler) tells(row Settlement, e Exact) bool {
	same := subtle.ConstantTimeCompare([]byte(row.Identifier), []byte(e.Identifier)) == 1
	return same && utf8.RuneCountInString(e.Identifier) >= leastSecretID && s.cfg.Now().Before(row.DoneAt.Add(toldFor))
}

// bought is the key that row, which was settled, has bought: with its plaintext where that is to be told, and can be.
func (s *Settler) bought(ctx context.Context, row Settlement, tell bool) (*api.IssuedKey, error) {
	key, hash, err := s.cfg.Store.BoughtKey(ctx, row.Key())
	if err != nil || !tell {
		return &key, err
	}
	secret, ok, err := s.cfg.Shop.Secret(s.paid(row.Authorization), hash)
	if ok {
		key.Key = secret
	}
	return &key, err
}

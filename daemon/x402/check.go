package x402

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// verify checks a payment that was not seen before, without the chain.
func (s *Settler) verify(ctx context.Context, e Exact, sub Subject) error {
	if err := s.check(e, sub); err != nil {
		return err
	}
	if err := s.closed(sub.Price()); err != nil {
		return s.unable(err)
	}
	reverts, err := s.cfg.Store.FailedSettlements(ctx, e.Rail, e.Key().Payer, s.cfg.Now().Add(-revertWindow))
	if err != nil {
		return fmt.Errorf("count settlements: %w", err)
	}
	if reverts >= maxReverts {
		return api.Errorf(api.ReasonRateLimited, "%d payments of this payer failed to settle within an hour", reverts).
			WithHint("nothing was taken; fund the wallet, then try again after Retry-After").WithRetryAfter(revertWindow)
	}
	return nil
}

// simulate has the node try a payment, and says how much gas it takes.
func (s *Settler) simulate(ctx context.Context, e Exact) (gas uint64, err error) {
	gas, err = s.cfg.Sender.Simulate(ctx, e.Authorization)
	switch {
	case errors.Is(err, ErrUsed):
		return 0, refusedExact(api.ReasonAuthUsed, "the authorization was used or cancelled already")
	case errors.Is(err, ErrPoor):
		return 0, refusedExact(api.ReasonNoFunds, "the payer has less than the authorization allows")
	case errors.Is(err, ErrReverts):
		return 0, refusedExact(api.ReasonUnsettled, "%s", err)
	case err != nil:
		return 0, s.unable(err)
	}
	return gas, nil
}

// unable is the answer where nothing was tried, because of us or the chain.
func (s *Settler) unable(cause error) error {
	return errors.Join(api.Errorf(api.ReasonChainUnavailable, "payments cannot be settled now").
		WithHint("nothing was taken; send the same payment again later, or use an API key").WithRetryAfter(retryChain), cause)
}

// check checks what can be checked without the chain. The signature comes last: what it is of, the other reasons say better.
func (s *Settler) check(e Exact, sub Subject) error {
	price := uint64(sub.Price())
	switch {
	case e.Network != "" && e.Network != s.network():
		return refusedExact(api.ReasonWrongNetwork, "the payment is for %q, not %s", e.Network, s.network())
	case e.Asset != "" && !usdg.SameAddress(e.Asset, s.cfg.Token):
		return refusedExact(api.ReasonWrongToken, "the payment is in another token than %s", s.cfg.Token)
	case !usdg.SameAddress(e.To, s.cfg.Treasury):
		return refusedExact(api.ReasonWrongRecipient, "the authorization is for another recipient than %s", s.cfg.Treasury)
	case usdg.SameAddress(e.From, s.cfg.Treasury):
		return refusedExact(api.ReasonPayerMismatch, "the recipient cannot be the payer")
	case e.Value != price, price == 0:
		return refusedExact(api.ReasonAmountMismatch, "the authorization is of %d, the price is %d", e.Value, price)
	}
	if err := s.timely(e); err != nil {
		return err
	}
	if signer, err := s.cfg.SignerOf(e.Authorization); err != nil || !usdg.SameAddress(signer, e.From) {
		return refusedExact(api.ReasonBadSignature,
			"the signature is not of the payer's key, for token %s on %s by the name %q, version %q; contract wallets cannot pay",
			s.cfg.Token, s.network(), s.cfg.Name, s.cfg.Version)
	}
	return nil
}

// timely checks that an authorization holds now, and until it is in a block.
func (s *Settler) timely(e Exact) error {
	now := s.cfg.Now()
	switch {
	case e.ValidAfter > now.Unix():
		return refusedExact(api.ReasonNotYetValid, "the authorization does not hold before %d; it is %d", e.ValidAfter, now.Unix())
	case time.Unix(min(e.ValidBefore, farFuture), 0).Before(now.Add(leastLife)):
		return refusedExact(api.ReasonExpired, "the authorization has to hold for %s more; it ends at %d, and it is %d", leastLife,
			e.ValidBefore, now.Unix())
	}
	return nil
}

// farFuture is a moment in seconds with which one can reckon.
const farFuture = 1 << 40

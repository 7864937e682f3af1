package x402

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// SettlerConfig configures a Settler.
type SettlerConfig struct {
	Rail
	Sender      Sender
	Facilitator string // host, where Sender asks one; "" where it signs itself
	Store       SettlementStore
	Gas         GasPolicy
	Observer    GasObserver       // nil means nobody
	Shop        *account.Shop     // makes the keys of purchases; nil means that no packs of credits are sold
	Deposits    *billing.Deposits // has purchases credited; needed with a Shop
	Wait        time.Duration     // for a settlement to be in a block
	Now         func() time.Time  // nil means time.Now
}

// Settler takes payments by the scheme exact of standard x402 on one rail, which it settles itself. Make one with NewSettler; it is safe
// for concurrent use, and there is at most one for a rail of a SettlementStore on each node.
type Settler struct {
	cfg     SettlerConfig
	locks   locks
	seats   locks         // of payers
	signing chan struct{} // has an item while somebody signs with the next account nonce
	gas     gas
}

// NewSettler makes a Settler.
func NewSettler(cfg SettlerConfig) *Settler {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Settler{cfg: cfg, signing: make(chan struct{}, 1), gas: gas{
		rail: cfg.ID, policy: cfg.Gas, store: cfg.Store, sender: cfg.Sender, observer: cfg.Observer, now: cfg.Now,
	}}
}

// Bounds of a Settler.
const (
	leastLife    = 6 * time.Second // that an authorization has to hold still when it is presented: until it is in a block
	offeredLife  = 2 * time.Minute // that it should hold
	longestLife  = 15 * time.Minute
	maxAttempts  = 3 // of a payer that are pending or have failed within revertWindow
	revertWindow = time.Hour
	maxStrangers = 16 // pending settlements of payers who have settled none, of calls; as many more of packs
)

// exact is a payment by authorization, which is settled once the answer is made.
type exact struct {
	*Settler
	paid    Exact
	subject Subject
	buys    *account.Purchase // the key that it buys, nil for a call; of verify, as the next two are
	balance *big.Int          // of the payer
	gasUsed uint64            // by the simulation
}

var _ scheme = (*exact)(nil)

// ClaimExact claims a payment for a request. While another request holds it, ClaimExact waits.
func (s *Settler) ClaimExact(ctx context.Context, e Exact, sub Subject) (*Claim, error) {
	e.Rail = s.cfg.ID
	return claim(ctx, &s.locks, &exact{Settler: s, paid: e, subject: sub})
}

func (e *exact) key() Key { return e.paid.Key() }

// read looks for the settlement of the authorization, or, where one payment is for all such requests of a day, for another of the payer.
func (e *exact) read(ctx context.Context, c *Claim) error {
	row, err := e.presented(ctx)
	switch {
	case err != nil:
		return err
	case row != nil:
		return e.replay(ctx, c, *row)
	case e.subject.Daily:
		return e.replayDaily(ctx, c)
	}
	return nil
}

// presented is the settlement of the authorization, nil where it was never presented.
func (e *exact) presented(ctx context.Context) (known *Settlement, err error) {
	list, err := e.cfg.Store.Settlements(ctx, e.key(), e.paid.Identifier)
	if err != nil {
		return nil, fmt.Errorf("look up settlement: %w", err)
	}
	for i, row := range list {
		if row.Identifier == e.paid.Identifier && e.paid.Identifier != "" && !e.is(row) {
			return nil, identified()
		}
		if row.Key() == e.key() {
			known = &list[i]
		}
	}
	return known, nil
}

// identified is the answer to a second payment with the identifier of another.
func identified() error {
	return api.Errorf(api.ReasonIDConflict, "the payment identifier belongs to another payment").
		WithHint("this one was not settled; send the first payment again, or use a new identifier")
}

// replay gives c the answer of row, or says what became of it.
func (e *exact) replay(ctx context.Context, c *Claim, row Settlement) (err error) {
	switch {
	case !e.subject.is(row.Fingerprint):
		return refusedExact(api.ReasonAlreadyUsed, "the authorization was used for another request")
	case !e.is(row):
		return refusedExact(api.ReasonAlreadyUsed, "another authorization with this nonce was used")
	}
	var failed error
	if row.State == SettlementPending {
		row, failed = e.confirm(ctx, row, e.cfg.Wait)
	}
	if err := outcome(row, failed); err != nil {
		return err
	}
	answer := &StoredAnswer{Fingerprint: row.Fingerprint, Payer: row.From, At: row.At}
	switch {
	case row.Pack != "":
		if c.Bought, err = e.bought(ctx, row, e.mayShow(row)); err != nil {
			return err
		}
	case row.Body == nil:
		return refusedExact(api.ReasonAlreadyUsed, "the authorization was used at %s; its answer is kept for %s",
			row.At.UTC().Format(time.RFC3339), api.ProofIdempotency)
	default:
		if err := e.tell(ctx, row); err != nil {
			return err
		}
		answer.Body = row.Body
	}
	c.Replay, c.Receipt, c.Settled = answer, e.receipt(e.paid.From, row.TxHash), row.DoneAt
	return nil
}

// is reports whether row is of this very payment, as it was sent.
func (e *exact) is(row Settlement) bool {
	return row.Payload == e.paid.Payload || row.Payload == e.paid.digest()
}

// tell notes that the answer of row, which was settled, is handed out now, or says why it is not. All that is signed is on the chain, for
// anybody to send again. So who knows the identifier, which is not, or has signed in as the payer, gets the answer each time; without
// either, who is first does.
func (e *exact) tell(ctx context.Context, row Settlement) error {
	knows := e.knows(row.Identifier)
	first, err := false, error(nil)
	if knows || !isIdentifier(row.Identifier) {
		first, err = e.cfg.Store.Tell(ctx, row.Key(), e.cfg.Now().UTC())
	}
	switch {
	case err != nil:
		return fmt.Errorf("note that an answer is handed out: %w", err)
	case first, knows:
		return nil
	case e.paid.SignedIn != nil && usdg.SameAddress(e.paid.SignedIn.Address, row.From):
		return e.cfg.tellSignedIn(ctx, e.paid.SignedIn, row)
	}
	return api.Errorf(api.ReasonAlreadyUsed, "the authorization was used at %s, and its answer was handed out",
		row.At.UTC().Format(time.RFC3339)).WithHint("nothing more was settled; answers are given again by the extension "+
		"payment-identifier: put an id of %d characters or more, that nobody guesses, into the next payment", leastSecretID)
}

// replayDaily gives c the answer of another payment of the payer for the same subject within a day: this one is checked, stored nowhere
// and not settled.
func (e *exact) replayDaily(ctx context.Context, c *Claim) error {
	if err := e.check(e.paid, e.subject); err != nil {
		return err
	}
	paid, err := e.cfg.Store.SettledFor(ctx, e.cfg.ID, e.key().Payer, e.subject.Fingerprint, e.cfg.Now().Add(-api.ProofIdempotency))
	if err != nil {
		return fmt.Errorf("look up settlement: %w", err)
	}
	if len(paid) > 0 {
		row := paid[0]
		c.Replay = &StoredAnswer{Fingerprint: row.Fingerprint, Payer: row.From, At: row.At, Body: row.Body}
		c.Receipt, c.Settled = e.receipt(e.paid.From, row.TxHash), row.DoneAt
	}
	return nil
}

// verify checks an authorization that was never presented, first by what it says, then by what the store knows of its payer, and last on
// the chain.
func (e *exact) verify(ctx context.Context, c *Claim) error {
	if err := e.check(e.paid, e.subject); err != nil {
		return err
	}
	if err := e.gas.closed(e.subject.Price()); err != nil {
		return unable(err)
	}
	if err := e.sit(ctx, c); err != nil {
		return err
	}
	p, err := e.cfg.Store.Payer(ctx, e.key(), e.subject.Pack != "", e.since())
	if err != nil {
		return fmt.Errorf("count settlements: %w", err)
	}
	if err := e.admit(p); err != nil {
		return err
	}
	if e.buys, err = e.purchase(ctx, e.paid, e.subject); err != nil {
		return err
	}
	if err := e.tried(ctx, p); err != nil {
		if row, lookup := e.presented(ctx); lookup == nil && row != nil { // at another node meanwhile
			return e.replay(ctx, c, *row)
		}
		return err
	}
	return nil
}

// sit gives c one of its payer's seats, so that their settlements come one after another where they are many.
func (e *exact) sit(ctx context.Context, c *Claim) error {
	k := e.key()
	k.Nonce = [32]byte{}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Wait)
	defer cancel()
	if err := e.seats.seize(ctx, k, maxAttempts); err != nil {
		return crowded("%d payments of this payer are being settled, the limit", maxAttempts)
	}
	c.seat = func() { e.seats.release(k) }
	return nil
}

// since is when the hour began in which failures count.
func (e *exact) since() time.Time { return e.cfg.Now().Add(-revertWindow) }

// admit says why no settlement is begun for a payer who stands so, nil if it is. What fails costs the service gas and the payer nothing.
func (e *exact) admit(p Payer) error {
	switch {
	case p.Failed >= maxAttempts:
		return api.Errorf(api.ReasonRateLimited, "%d payments of this payer failed to settle within an hour", p.Failed).
			WithHint("fund the wallet, then try again after Retry-After").WithRetryAfter(revertWindow)
	case p.Pending+p.Failed >= maxAttempts:
		return crowded("%d payments of this payer are being settled or have failed to within an hour, the limit", p.Pending+p.Failed)
	case p.Customer:
	case e.gas.limited() && e.subject.Pack == "":
		return api.Errorf(api.ReasonChainUnavailable, "calls of wallets that have never paid here are not settled now").
			WithHint("buy a credit package (POST %s?pack=%s), or use an API key", api.PathPurchase, api.CreditStarter).
			WithRetryAfter(revertWindow)
	case p.Strangers >= maxStrangers:
		return crowded("%d payments of wallets that have never paid here are being settled, the limit of the service", p.Strangers)
	}
	if e.balance != nil && e.balance.Cmp(new(big.Int).Add(new(big.Int).SetUint64(p.Value), new(big.Int).SetUint64(e.paid.Value))) < 0 {
		return crowded("the payer has too little for this payment beside those that are being settled")
	}
	return nil
}

// crowded is the answer where others are settled first.
func crowded(format string, args ...any) error {
	return api.Errorf(api.ReasonRateLimited, format, args...).
		WithHint("send the same payment again after Retry-After; do not pay again").WithRetryAfter(retrySettle)
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
	if signer, err := s.cfg.Sender.SignerOf(e.Authorization); err != nil || !usdg.SameAddress(signer, e.From) {
		return refusedExact(api.ReasonBadSignature,
			"the signature is not of the payer's key, for token %s on %s by the name %q, version %q; contract wallets cannot pay",
			s.cfg.Token, s.network(), s.cfg.Domain.Name, s.cfg.Domain.Version)
	}
	return nil
}

// timely checks that an authorization holds now, and until it is in a block.
func (s *Settler) timely(e Exact) error {
	now := s.cfg.Now()
	switch {
	case e.ValidAfter > now.Unix():
		return refusedExact(api.ReasonNotYetValid, "the authorization does not hold before %d; it is %d", e.ValidAfter, now.Unix())
	case e.ends().After(now.Add(longestLife)):
		return refusedExact(api.ReasonExpiresTooLate, "the authorization ends at %d, more than %s from now, %d", e.ValidBefore, longestLife,
			now.Unix())
	case e.ends().Before(now.Add(leastLife)):
		return refusedExact(api.ReasonExpired, "the authorization has to hold for %s more; it ends at %d, and it is %d", leastLife,
			e.ValidBefore, now.Unix())
	}
	return nil
}

// tried asks for the balance of the payer, who stands as p says, and has the node try the settlement. From then on others can use the
// authorization.
func (e *exact) tried(ctx context.Context, p Payer) (err error) {
	if e.balance, err = e.cfg.Sender.BalanceOf(ctx, e.paid.From, e.paid.Value, p.Customer); errors.Is(err, ErrPoor) {
		return refusedExact(api.ReasonNoFunds, "the payer has less than the authorization allows")
	} else if err != nil {
		return unable(err)
	}
	if err := e.admit(p); err != nil {
		return err
	}
	if err := e.first(ctx); err != nil {
		return err
	}
	e.gasUsed, err = e.cfg.Sender.Simulate(ctx, e.paid.Authorization)
	switch {
	case errors.Is(err, ErrUsed):
		return api.Errorf(api.ReasonAuthUsed, "the authorization was used or cancelled already").
			WithHint("unless it was cancelled, its transfer has arrived: name that to the operator; else sign a new authorization")
	case errors.Is(err, ErrReverts):
		return e.given(api.ReasonUnsettled, "%s", err)
	case err != nil:
		return unable(err)
	}
	return nil
}

// given is the answer to a payment that is refused once others have it.
func (e *exact) given(reason api.Reason, format string, args ...any) error {
	return api.Errorf(reason, format, args...).WithHint("this service has settled nothing; the authorization holds until %s: "+
		"send the same payment again, or sign another after its end", e.paid.ends().UTC().Format(time.RFC3339))
}

// unable is the answer where nothing was settled, because of us or the chain.
func unable(cause error) error {
	return errors.Join(api.Errorf(api.ReasonChainUnavailable, "payments cannot be settled now").
		WithHint("send the same payment again later; do not pay again, or use an API key").WithRetryAfter(retryChain), cause)
}

// spend settles the payment and spends it on an answer, or on a key.
func (e *exact) spend(ctx context.Context, c *Claim, body []byte) error {
	if err := e.timely(e.paid); err != nil { // to answer has taken its time
		return e.given(api.ReasonExpired, "%s", api.AsError(err).Message)
	}
	row := Settlement{
		Authorization: e.paid.Authorization, Identifier: e.paid.Identifier, Payload: e.paid.Payload,
		Op: e.subject.Op, Pack: e.subject.Pack, Purchase: e.buys, Fingerprint: e.subject.Fingerprint, Body: body,
		State: SettlementPending, At: e.cfg.Now().UTC(), Facilitator: e.cfg.Facilitator,
	}
	row, broadcast, err := e.begin(ctx, row)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the caller may be gone, but the money moves
	row, err = e.confirm(ctx, row, e.cfg.Wait)
	if err := outcome(row, errors.Join(err, broadcast)); err != nil {
		return err
	}
	c.Receipt, c.Settled = e.receipt(row.From, row.TxHash), row.DoneAt
	if row.Pack != "" {
		c.Bought, err = e.bought(ctx, row, true)
		return err
	}
	return e.tell(ctx, row)
}

// outcome is nil for a payment that was settled, else the answer to it. cause is why it could not be looked at, if it could not.
func outcome(row Settlement, cause error) error {
	switch row.State {
	case SettlementSettled:
		return nil
	case SettlementFailed:
		return api.Errorf(api.ReasonUnsettled, "the authorization was not settled: %s", row.Why).
			WithHint("it holds until %s, and where others submit it, the same payment gets its answer; else sign a new one",
				row.ends().UTC().Format(time.RFC3339))
	}
	pending := api.Errorf(api.ReasonSettling, "the payment is being settled").
		WithHint("send the same request with the same payment again; do not pay again").WithRetryAfter(retrySettle)
	if cause != nil {
		return errors.Join(pending, cause)
	}
	return pending
}

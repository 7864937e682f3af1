package x402

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// SettlerConfig configures a Settler.
type SettlerConfig struct {
	Rail            string // its id
	ChainID         int64
	Token, Treasury string // addresses
	Name, Version   string // with which wallets sign for the token
	SignerOf        func(a Authorization) (address string, err error)
	Sender          Sender
	Facilitator     string // host, where Sender asks one; "" where it signs itself
	Store           SettlementStore
	Gas             GasPolicy
	Observer        GasObserver       // nil means nobody
	Shop            *account.Shop     // makes the keys of purchases; nil means that no packs of credits are sold
	Deposits        *billing.Deposits // has purchases credited; needed with a Shop
	Turn            Turn              // to sign, among nodes that settle with the same key; nil means that there is one
	Wait            time.Duration     // for a settlement to be in a block
	Now             func() time.Time  // nil means time.Now
}

// Turn waits for the exclusive turn, and holds it until end is called. held returns why it was lost before that, or nil.
type Turn func(ctx context.Context) (held func(ctx context.Context) error, end func(), err error)

// Settler takes payments by the scheme exact of standard x402 on one rail, which it settles itself. Make one with NewSettler; it is safe
// for concurrent use, and there is at most one for a rail of a SettlementStore, unless with a Turn.
type Settler struct {
	cfg   SettlerConfig
	turns turns[Key]
	nonce chan struct{} // has an item while somebody signs with the next account nonce

	mu     sync.Mutex // guards gasNow
	gasNow gasNow
}

// NewSettler makes a Settler.
func NewSettler(cfg SettlerConfig) *Settler {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Settler{cfg: cfg, nonce: make(chan struct{}, 1)}
}

// Bounds of a Settler.
const (
	leastLife    = 6 * time.Second // that an authorization has to hold still when it is presented: until it is in a block
	offeredLife  = 2 * time.Minute // that it should hold
	maxReverts   = 3               // of a payer within revertWindow, before others are refused
	revertWindow = time.Hour
	retrySettle  = 5 * time.Second
)

// network is how standard x402 names the chain.
func (s *Settler) network() string { return "eip155:" + strconv.FormatInt(s.cfg.ChainID, 10) }

// Offer returns the payment request of standard x402 for sub, without the URL of the resource. ok is false if nothing can be settled.
func (s *Settler) Offer(sub Subject) (offer api.StandardRequired, ok bool) {
	price := sub.Price()
	if price == 0 || s.closed(price) != nil || sub.Pack != "" && s.cfg.Shop == nil {
		return offer, false
	}
	why := "Payment required"
	if sub.Pack != "" && !s.cfg.Shop.SignupOpen() {
		why = "Payment required, from a wallet that signs in to an account here: sign-up is not open"
	}
	return api.StandardRequired{
		X402Version: api.X402Version, Error: why,
		Resource: api.StandardResource{Description: sub.name(), MimeType: "application/json", ServiceName: "contextd"},
		Accepts: []api.StandardAccept{{
			Scheme: api.SchemeExact, Network: s.network(), Amount: strconv.FormatInt(price, 10), Asset: s.cfg.Token, PayTo: s.cfg.Treasury,
			MaxTimeoutSeconds: int(offeredLife / time.Second),
			Extra:             api.StandardExtra{Name: s.cfg.Name, Version: s.cfg.Version, AssetTransferMethod: "eip3009"},
		}},
		Extensions: map[string]api.StandardExtension{
			"payment-identifier": {Info: map[string]any{"required": false}, Schema: map[string]any{}},
		},
	}, true
}

// Refusal returns the answer of standard x402 to a payer whose payment was refused for reason.
func (s *Settler) Refusal(e Exact, reason api.Reason) api.StandardReceipt {
	return api.StandardReceipt{ErrorReason: reason, Network: s.network(), Payer: e.From}
}

// receipt is what it tells one whose payment was settled by a transaction.
func (s *Settler) receipt(payer string, hash [32]byte) *api.StandardReceipt {
	return &api.StandardReceipt{Success: true, Transaction: "0x" + hex.EncodeToString(hash[:]), Network: s.network(), Payer: payer}
}

// ClaimExact claims a payment for a request. While another request holds it, ClaimExact waits.
func (s *Settler) ClaimExact(ctx context.Context, e Exact, sub Subject) (c *Claim, err error) {
	e.Rail = s.cfg.Rail
	if err := s.turns.seize(ctx, e.Key()); err != nil {
		return nil, err
	}
	release := func() { s.turns.release(e.Key()) }
	defer func() {
		if err != nil {
			release()
		}
	}()
	known, err := s.presented(ctx, e)
	if err != nil {
		return nil, err
	}
	if known != nil {
		return s.again(ctx, *known, e, sub, release)
	}
	if sub.Daily {
		if c, err := s.opened(ctx, e, sub, release); c != nil || err != nil {
			return c, err
		}
	}
	if err := s.verify(ctx, e, sub); err != nil {
		return nil, err
	}
	buys, err := s.purchase(ctx, e, sub)
	if err != nil {
		return nil, err
	}
	gas, err := s.simulate(ctx, e)
	if err != nil {
		if known, lookup := s.presented(ctx, e); lookup == nil && known != nil { // at another node meanwhile
			return s.again(ctx, *known, e, sub, release)
		}
		return nil, err
	}
	c = &Claim{close: release}
	c.settle = func(ctx context.Context, body []byte) error {
		return s.settle(ctx, c, e, gas, Settlement{Op: sub.Op, Pack: sub.Pack, Purchase: buys, Fingerprint: sub.Fingerprint, Body: body})
	}
	return c, nil
}

// presented is the settlement of an authorization that was presented before, nil for a new one.
func (s *Settler) presented(ctx context.Context, e Exact) (known *Settlement, err error) {
	list, err := s.cfg.Store.Settlements(ctx, e.Key(), e.Identifier)
	if err != nil {
		return nil, fmt.Errorf("look up settlement: %w", err)
	}
	for i, row := range list {
		if row.Identifier == e.Identifier && e.Identifier != "" && row.Payload != e.Payload {
			return nil, identified()
		}
		if row.Key() == e.Key() {
			known = &list[i]
		}
	}
	return known, nil
}

// opened is the claim of a payer who has paid for what sub is of within a day: e is checked, kept nowhere and not settled. It is nil for
// one who has not.
func (s *Settler) opened(ctx context.Context, e Exact, sub Subject, release func()) (*Claim, error) {
	if err := s.check(e, sub); err != nil {
		return nil, err
	}
	paid, err := s.cfg.Store.SettledFor(ctx, e.Rail, e.Key().Payer, sub.Fingerprint, s.cfg.Now().Add(-api.ProofIdempotency))
	if err != nil {
		return nil, fmt.Errorf("look up settlement: %w", err)
	}
	if len(paid) == 0 {
		return nil, nil
	}
	row := paid[0]
	return &Claim{
		Replay:  &StoredAnswer{Fingerprint: row.Fingerprint, Payer: row.From, At: row.At, Body: row.Body},
		Receipt: s.receipt(e.From, row.TxHash), close: release,
	}, nil
}

// identified is the answer to a second payment with the identifier of another.
func identified() error {
	return api.Errorf(api.ReasonIDConflict, "the payment identifier belongs to another payment").
		WithHint("nothing was taken; send the first payment again, or use a new identifier")
}

// again is a payment that was taken before.
func (s *Settler) again(ctx context.Context, row Settlement, e Exact, sub Subject, release func()) (*Claim, error) {
	switch {
	case !sub.is(row.Fingerprint):
		return nil, refusedExact(api.ReasonAlreadyUsed, "the authorization was used for another request")
	case row.Payload != e.Payload:
		return nil, refusedExact(api.ReasonAlreadyUsed, "another authorization with this nonce was used")
	}
	var failed error
	if row.State == SettlementPending {
		row, failed = s.conclude(ctx, row, s.cfg.Wait)
	}
	if err := s.outcome(row, failed); err != nil {
		return nil, err
	}
	if row.Pack != "" {
		key, err := s.bought(ctx, row, s.tells(row, e))
		return &Claim{
			Replay: &StoredAnswer{Fingerprint: row.Fingerprint, Payer: row.From, At: row.At}, Bought: key,
			Receipt: s.receipt(e.From, row.TxHash), close: release,
		}, err
	}
	if row.Body == nil {
		return nil, refusedExact(api.ReasonAlreadyUsed, "the authorization was used at %s; its answer is kept for %s",
			row.At.UTC().Format(time.RFC3339), api.ProofIdempotency)
	}
	return &Claim{
		Replay:  &StoredAnswer{Fingerprint: row.Fingerprint, Payer: row.From, At: row.At, Body: row.Body},
		Receipt: s.receipt(e.From, row.TxHash), close: release,
	}, nil
}

// outcome is nil for a payment that was settled, else the answer to it. cause is why it could not be looked at, if it could not.
func (s *Settler) outcome(row Settlement, cause error) error {
	switch row.State {
	case SettlementSettled:
		return nil
	case SettlementFailed:
		return api.Errorf(api.ReasonUnsettled, "the authorization was not settled: %s", row.Why).
			WithHint("nothing was taken; sign a new authorization")
	}
	pending := api.Errorf(api.ReasonSettling, "the payment is being settled").
		WithHint("send the same request with the same payment again; do not pay again").WithRetryAfter(retrySettle)
	if cause != nil {
		return errors.Join(pending, cause)
	}
	return pending
}

// settle has the chain move what e allows, and spends it on what row says, which is on disk when settle returns nil.
func (s *Settler) settle(ctx context.Context, c *Claim, e Exact, gas uint64, row Settlement) error {
	if err := s.timely(e); err != nil { // to answer has taken its time
		return err
	}
	row.Authorization, row.Identifier, row.Payload = e.Authorization, e.Identifier, e.Payload
	row.State, row.At, row.Facilitator = SettlementPending, s.cfg.Now().UTC(), s.cfg.Facilitator
	broadcast, err := s.begin(ctx, &row, gas)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the caller may be gone, but the money moves
	row, err = s.conclude(ctx, row, s.cfg.Wait)
	if err := s.outcome(row, errors.Join(err, broadcast)); err != nil {
		return err
	}
	c.Receipt = s.receipt(row.From, row.TxHash)
	if row.Pack != "" {
		c.Bought, err = s.bought(ctx, row, true)
	}
	return err
}

// begin signs a settlement, writes it down and then broadcasts it. Where err is not nil, nothing was broadcast; broadcast says why the node
// has not taken it, if it has not: the same bytes are sent again.
func (s *Settler) begin(ctx context.Context, row *Settlement, gas uint64) (broadcast, err error) {
	held, unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	tx, err := s.sign(ctx, row.Authorization, gas, nil)
	if err == nil {
		err = held(ctx)
	}
	if err != nil {
		return nil, err
	}
	row.Txs = []SignedTx{tx}
	ctx = context.WithoutCancel(ctx)
	switch err := s.keep(ctx, *row); {
	case errors.Is(err, ErrIdentified):
		return nil, identified()
	case errors.Is(err, ErrTaken): // at another node
		return nil, s.outcome(Settlement{State: SettlementPending}, nil)
	case err != nil:
		return nil, fmt.Errorf("write down settlement: %w", err)
	}
	return s.cfg.Sender.Send(ctx, tx.Raw), nil
}

// lock has nobody else sign with an account nonce until unlock is called. held says why somebody may all the same. A facilitator sees to
// its own, and may take long to answer.
func (s *Settler) lock(ctx context.Context) (held func(ctx context.Context) error, unlock func(), err error) {
	held = func(context.Context) error { return nil }
	if s.cfg.Facilitator != "" {
		return held, func() {}, nil
	}
	select {
	case s.nonce <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	next := func() { <-s.nonce }
	if s.cfg.Turn == nil {
		return held, next, nil
	}
	held, end, err := s.cfg.Turn(ctx)
	if err != nil {
		next()
		return nil, nil, fmt.Errorf("wait for the turn to settle: %w", err)
	}
	return held, func() { end(); next() }, nil
}

// sign signs a settlement, or one that replaces another. It is called with the lock.
func (s *Settler) sign(ctx context.Context, a Authorization, gas uint64, replaces []byte) (tx SignedTx, err error) {
	floor, err := s.cfg.Store.NextAccountNonce(ctx, a.Rail, s.cfg.Sender.Address())
	if err != nil {
		return tx, fmt.Errorf("look up account nonce: %w", err)
	}
	tx, err = s.cfg.Sender.Prepare(ctx, a, gas, floor, replaces)
	if errors.Is(err, ErrDry) {
		s.know(func(p *gasNow) { p.off = ErrDry })
	}
	if err != nil {
		return tx, s.unable(err)
	}
	return tx, nil
}

// conclude looks for the transactions of a settlement, waiting so long for the last, and finishes it if one is in a block. A settlement of
// which none is stays as it is.
func (s *Settler) conclude(ctx context.Context, row Settlement, wait time.Duration) (Settlement, error) {
	if row.Facilitator != "" {
		return s.awaited(ctx, row, wait)
	}
	var reverted *Payment
	for i, tx := range row.Txs {
		if i < len(row.Txs)-1 {
			wait = 0
		}
		p, err := s.cfg.Sender.Settled(ctx, tx.Hash, wait)
		switch {
		case errors.Is(err, ErrNotVisible):
			continue
		case err != nil:
			return row, fmt.Errorf("look for settlement: %w", err)
		case p.Succeeded:
			return s.finish(ctx, row, tx.Hash, p)
		}
		if err := s.burnt(ctx, tx.Hash, p); err != nil {
			return row, err
		}
		reverted = &p
	}
	if reverted == nil {
		return row, nil
	}
	return s.reverted(ctx, row, *reverted)
}

// awaited is conclude for a settlement by a facilitator: by which transaction it is made, if any, the chain alone says.
func (s *Settler) awaited(ctx context.Context, row Settlement, wait time.Duration) (Settlement, error) {
	const first, longest = 250 * time.Millisecond, time.Second // between two looks
	for pause := first; ; pause = min(longest, 2*pause) {
		now, err := s.byOthers(ctx, row, 0)
		if errors.Is(err, ErrUnused) {
			err = nil
		}
		if err != nil || now.State != SettlementPending || wait <= 0 {
			return now, err
		}
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-time.After(min(pause, wait)):
		}
		wait -= pause
	}
}

// reverted finishes a settlement of ours that has moved nothing: somebody else may have been first with the same authorization.
func (s *Settler) reverted(ctx context.Context, row Settlement, p Payment) (Settlement, error) {
	row, err := s.byOthers(ctx, row, p.Block)
	if errors.Is(err, ErrUnused) {
		return s.fail(ctx, row, "the token refused it once it was in a block; the payer's balance may have changed")
	}
	return row, err
}

// byOthers finishes a settlement whose authorization was used or cancelled in a transaction of somebody else. It fails with ErrUnused where
// it was neither, as the chain is at the block seen or later.
func (s *Settler) byOthers(ctx context.Context, row Settlement, seen uint64) (Settlement, error) {
	const margin = 64 // blocks by which a node may have been behind when ours was signed
	first := row.Txs[0].Block
	hash, err := s.cfg.Sender.Fate(ctx, row.Key(), first-min(first, margin), seen)
	switch {
	case errors.Is(err, ErrNotVisible):
		return row, nil
	case errors.Is(err, ErrCanceled):
		return s.fail(ctx, row, "the payer has cancelled the authorization")
	case err != nil:
		return row, err
	}
	p, err := s.cfg.Sender.Settled(ctx, hash, 0)
	if errors.Is(err, ErrNotVisible) {
		return row, nil
	}
	if err != nil {
		return row, fmt.Errorf("look for settlement: %w", err)
	}
	return s.finish(ctx, row, hash, p)
}

// finish spends what a transaction has moved on the answer of row, in whichever way the authorization came to be used.
func (s *Settler) finish(ctx context.Context, row Settlement, hash [32]byte, p Payment) (Settlement, error) {
	for _, t := range p.Transfers {
		if !p.Succeeded || !row.paidBy(t) || !usdg.SameAddress(t.Contract, s.cfg.Token) {
			continue
		}
		at := s.cfg.Now().UTC()
		err := s.spend(ctx, row, Receipt{
			Rail: row.Rail, Hash: hash, Payment: p, Transfer: t, Op: row.Op,
			StoredAnswer: StoredAnswer{Fingerprint: row.Fingerprint, Payer: row.From, At: at},
		})
		if errors.Is(err, ErrSpent) {
			return s.fail(ctx, row, "the operator has used the transfer otherwise")
		}
		if err != nil {
			return row, fmt.Errorf("spend settlement: %w", err)
		}
		row.State, row.TxHash, row.DoneAt = SettlementSettled, hash, at
		_ = s.burnt(ctx, hash, p) // what it costs is no matter of the payer's, and Resume looks for what is not noted
		s.over(row)
		return row, nil
	}
	return s.fail(ctx, row, "the authorization was used for another transfer")
}

// fail notes that a settlement has moved nothing, and why.
func (s *Settler) fail(ctx context.Context, row Settlement, why string) (Settlement, error) {
	now, err := s.cfg.Store.FailSettlement(ctx, row.Key(), why, s.cfg.Now().UTC())
	if err != nil {
		return row, fmt.Errorf("note settlement: %w", err)
	}
	s.over(now)
	return now, nil
}

// over tells of a settlement that is.
func (s *Settler) over(row Settlement) {
	if s.cfg.Observer != nil {
		s.cfg.Observer.Settled(s.cfg.Rail, row.State)
	}
}

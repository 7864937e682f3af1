package x402

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// begin signs a settlement, stores it with the signed bytes, and then broadcasts them. Where err is not nil, nothing was broadcast;
// broadcast says why the node has not taken them, if it has not: they are sent again.
func (e *exact) begin(ctx context.Context, row Settlement) (begun Settlement, broadcast, err error) {
	held, unlock, err := e.lock(ctx)
	if err != nil {
		return row, nil, err
	}
	defer unlock()
	tx, err := e.sign(ctx, row.Authorization, e.gasUsed, nil)
	if err == nil {
		err = held(ctx)
	}
	if err != nil {
		return row, nil, err
	}
	row.Txs = []SignedTx{tx}
	ctx = context.WithoutCancel(ctx)
	switch err := e.store(ctx, row); {
	case errors.Is(err, ErrIdentified):
		return row, nil, identified()
	case errors.Is(err, ErrTaken): // at another node
		return row, nil, outcome(Settlement{State: SettlementPending}, nil)
	case err != nil:
		return row, nil, fmt.Errorf("write down settlement: %w", err)
	}
	return row, e.cfg.Sender.Send(ctx, tx.Raw), nil
}

// lock has nobody else sign with an account nonce until unlock is called: in this process, and among the nodes. held says why another node
// may all the same. A facilitator sees to its own nonces, and may take long to answer.
func (s *Settler) lock(ctx context.Context) (held func(ctx context.Context) error, unlock func(), err error) {
	if s.cfg.Facilitator != "" {
		return func(context.Context) error { return nil }, func() {}, nil
	}
	select {
	case s.signing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	held, end, err := s.cfg.Store.LockSigner(ctx, s.cfg.ID)
	if err != nil {
		<-s.signing
		return nil, nil, fmt.Errorf("wait to sign settlement: %w", err)
	}
	return held, func() { end(); <-s.signing }, nil
}

// sign signs a settlement, or one that replaces another. It is called with the lock.
func (s *Settler) sign(ctx context.Context, a Authorization, gas uint64, replaces []byte) (tx SignedTx, err error) {
	floor, err := s.cfg.Store.NextAccountNonce(ctx, a.Rail, s.cfg.Sender.Address())
	if err != nil {
		return tx, fmt.Errorf("look up account nonce: %w", err)
	}
	tx, err = s.cfg.Sender.Prepare(ctx, a, gas, floor, replaces)
	if errors.Is(err, ErrDry) {
		s.gas.shut(ErrDry)
	}
	if err != nil {
		return tx, unable(err)
	}
	return tx, nil
}

// store stores a settlement that begins. One that is to make a key reserves its place, while nobody else is at keys or credits.
func (e *exact) store(ctx context.Context, row Settlement) error {
	if row.Purchase == nil {
		return e.cfg.Store.BeginSettlement(ctx, row, e.since(), e.admit)
	}
	books, err := e.cfg.Deposits.Lock(ctx)
	if err != nil {
		return err
	}
	defer books.Unlock()
	err = e.cfg.Store.BeginSettlement(ctx, row, e.since(), e.admit)
	if errors.Is(err, account.ErrDuplicate) {
		return e.given(api.ReasonUnsettled, "no key can be made for this authorization")
	}
	return err
}

// confirm looks for the transactions of a settlement, waiting so long for the last, and finishes it if one is in a block. A settlement of
// which none is stays as it is.
func (s *Settler) confirm(ctx context.Context, row Settlement, wait time.Duration) (Settlement, error) {
	if row.Facilitator != "" {
		return s.confirmByChain(ctx, row, wait)
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
		if err := s.gas.spent(ctx, tx.Hash, p); err != nil {
			return row, err
		}
		reverted = &p
	}
	if reverted == nil {
		return row, nil
	}
	return s.reverted(ctx, row, *reverted)
}

// confirmByChain is confirm for a settlement by a facilitator: by which transaction it is made, if any, the chain alone says.
func (s *Settler) confirmByChain(ctx context.Context, row Settlement, wait time.Duration) (Settlement, error) {
	const first, longest = 250 * time.Millisecond, time.Second // between two questions
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

// finish spends what a transaction has moved on row, in whichever way the authorization came to be used.
func (s *Settler) finish(ctx context.Context, row Settlement, hash [32]byte, p Payment) (Settlement, error) {
	for _, t := range p.Transfers {
		if !p.Succeeded || !row.paidBy(t) || !usdg.SameAddress(t.Contract, s.cfg.Token) {
			continue
		}
		at := s.cfg.Now().UTC()
		err := s.deliver(ctx, row, Receipt{
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
		_ = s.gas.spent(ctx, hash, p) // what it costs is no matter of the payer's, and Resume looks for what is not noted
		s.report(row)
		return row, nil
	}
	return s.fail(ctx, row, "the authorization was used for another transfer")
}

// deliver spends the transfer of r on row, in one transaction, which for a purchase also makes and credits the key.
func (s *Settler) deliver(ctx context.Context, row Settlement, r Receipt) error {
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
	if err == nil && sold.ID != "" { // else somebody else has finished it
		books.Sold(sold)
	}
	return err
}

// fail notes that a settlement has moved nothing, and why.
func (s *Settler) fail(ctx context.Context, row Settlement, why string) (Settlement, error) {
	now, err := s.cfg.Store.FailSettlement(ctx, row.Key(), why, s.cfg.Now().UTC())
	if err != nil {
		return row, fmt.Errorf("note settlement: %w", err)
	}
	s.report(now)
	return now, nil
}

func (s *Settler) report(row Settlement) {
	if s.cfg.Observer != nil {
		s.cfg.Observer.Settled(s.cfg.ID, row.State)
	}
}

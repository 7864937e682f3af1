package x402

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Bounds of Resume.
const (
	resumeLimit  = 500
	replaceAfter = 2 * time.Minute // that a transaction waits for its block before it is sent again at a higher price
	mostTxs      = 5               // of a settlement, each a quarter dearer than the one before
	surelyOver   = 10 * time.Minute
	longestPause = 2 * time.Minute // between two attempts
)

// Resume continues pending settlements, at the start and from time to time: it finishes those that are in a block, and broadcasts the bytes
// of the others again. It also checks whether settlement is possible, and fails with ErrDry or ErrUnserved if not.
func (s *Settler) Resume(ctx context.Context) error {
	if err := s.gas.refresh(ctx); err != nil {
		return err // so are the others
	}
	list, err := s.cfg.Store.PendingSettlements(ctx, s.cfg.ID, s.cfg.Now(), resumeLimit)
	if err != nil {
		return fmt.Errorf("read settlements: %w", err)
	}
	var failed error
	for _, row := range list {
		if err := errors.Join(s.resume(ctx, row, replaceAfter), s.putOff(ctx, row)); err != nil && failed == nil {
			failed = fmt.Errorf("go on with the settlement for %s: %w", row.From, err)
		}
	}
	if err := s.gas.account(ctx); err != nil {
		failed = errors.Join(failed, err)
	}
	if off := s.gas.closed(anyPrice); off != nil {
		failed = errors.Join(failed, off)
	}
	return failed
}

// putOff sets the next attempt of a settlement that is pending still: the longer it takes, the later, and once it has surely ended.
func (s *Settler) putOff(ctx context.Context, row Settlement) error {
	const backOff = 4 // a fraction of its age
	now, over := s.cfg.Now(), row.ends().Add(surelyOver+time.Second)
	next := now.Add(min(now.Sub(row.At)/backOff, longestPause))
	if now.Before(over) && next.After(over) {
		next = over
	}
	if err := s.cfg.Store.PutOff(ctx, row.Key(), next); err != nil {
		return fmt.Errorf("put off settlement: %w", err)
	}
	return nil
}

// Retry continues a pending settlement now, replaces its transaction at a higher price if it is in no block, and returns the settlement.
func (s *Settler) Retry(ctx context.Context, k Key) (Settlement, error) {
	if err := s.locks.seize(ctx, k, 1); err != nil {
		return Settlement{}, err
	}
	defer s.locks.release(k)
	row, err := s.one(ctx, k)
	if err != nil || row.State != SettlementPending {
		return row, err
	}
	if err := s.resume(ctx, row, 0); err != nil {
		return row, err
	}
	return s.one(ctx, k)
}

func (s *Settler) one(ctx context.Context, k Key) (Settlement, error) {
	list, err := s.cfg.Store.Settlements(ctx, k, "")
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("there are %d settlements of it", len(list))
	}
	if err != nil {
		return Settlement{}, fmt.Errorf("read settlement: %w", err)
	}
	return list[0], nil
}

// resume goes on with one, and replaces a transaction that has waited so long for its block.
func (s *Settler) resume(ctx context.Context, row Settlement, patience time.Duration) error {
	row, err := s.confirm(ctx, row, 0)
	if err != nil || row.State != SettlementPending {
		return err
	}
	row, err = s.byOthers(ctx, row, 0)
	if !errors.Is(err, ErrUnused) || row.State != SettlementPending {
		return err
	}
	now, last, ends := s.cfg.Now(), row.Txs[len(row.Txs)-1], row.ends()
	switch {
	case now.Add(-surelyOver).After(ends):
		_, err := s.fail(ctx, row, "the authorization has ended before it was in a block")
		return err
	case row.Facilitator != s.cfg.Facilitator, row.Facilitator != "" && now.After(ends):
		return nil // who has the authorization may settle it yet, and until it has surely ended it is looked for
	case row.Facilitator == "" && now.Sub(last.At) >= patience && len(row.Txs) < mostTxs:
		return s.replace(ctx, row, last)
	}
	return s.cfg.Sender.Send(ctx, last.Raw)
}

// replace sends a settlement again at a higher price. Whichever is in a block first, the token moves the money once.
func (s *Settler) replace(ctx context.Context, row Settlement, last SignedTx) error {
	held, unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	tx, err := s.sign(ctx, row.Authorization, 0, last.Raw)
	if err == nil {
		err = held(ctx)
	}
	if err != nil {
		return err
	}
	if err := s.cfg.Store.AddSettlementTx(ctx, row.Key(), tx); err != nil {
		return fmt.Errorf("write down settlement: %w", err)
	}
	return s.cfg.Sender.Send(ctx, tx.Raw)
}

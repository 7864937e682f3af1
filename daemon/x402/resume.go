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
)

// Resume goes on with what is pending, at the start and from time to time: it finishes what is in a block by now, whoever brought it there,
// and broadcasts the same bytes of all else again. It also looks whether there is ether to settle with, and fails with ErrDry if not.
func (s *Settler) Resume(ctx context.Context) error {
	ready := s.cfg.Sender.Ready(ctx)
	if ready != nil && !errors.Is(ready, ErrDry) {
		return ready // so are the others
	}
	s.dry.Store(ready != nil)
	list, err := s.cfg.Store.PendingSettlements(ctx, s.cfg.Rail, resumeLimit)
	if err != nil {
		return fmt.Errorf("read settlements: %w", err)
	}
	var failed error
	for _, row := range list {
		if err := s.resume(ctx, row); err != nil && failed == nil {
			failed = fmt.Errorf("go on with the settlement for %s: %w", row.From, err)
		}
	}
	return errors.Join(failed, ready)
}

// resume goes on with one.
func (s *Settler) resume(ctx context.Context, row Settlement) error {
	row, err := s.conclude(ctx, row, 0)
	if err != nil || row.State != SettlementPending {
		return err
	}
	row, err = s.byOthers(ctx, row, 0)
	if !errors.Is(err, ErrUnused) || row.State != SettlementPending {
		return err
	}
	now, last := s.cfg.Now(), row.Txs[len(row.Txs)-1]
	switch {
	case now.Add(-surelyOver).After(time.Unix(min(row.ValidBefore, farFuture), 0)):
		_, err := s.fail(ctx, row, "the authorization has ended before it was in a block")
		return err
	case now.Sub(last.At) >= replaceAfter && len(row.Txs) < mostTxs:
		return s.replace(ctx, row, last)
	}
	return s.cfg.Sender.Send(ctx, last.Raw)
}

// replace sends a settlement again at a higher price. Whichever is in a block first, the token moves the money once.
func (s *Settler) replace(ctx context.Context, row Settlement, last SignedTx) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	tx, err := s.sign(ctx, row.Authorization, 0, last.Raw)
	if err != nil {
		return err
	}
	if err := s.cfg.Store.AddSettlementTx(ctx, row.Key(), tx); err != nil {
		return fmt.Errorf("write down settlement: %w", err)
	}
	return s.cfg.Sender.Send(ctx, tx.Raw)
}

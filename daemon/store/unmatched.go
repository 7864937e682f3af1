package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// Unmatched returns the transfers that have paid for nothing, newest first, at most limit.
func (s *Store) Unmatched(ctx context.Context, limit int) ([]billing.Unmatched, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (t billing.Unmatched, err error) {
		var hash []byte
		var at sql.NullInt64
		err = rows.Scan(&t.Rail, &hash, &t.LogIndex, &t.Sender, &t.Amount, &at, &t.Note)
		t.TxHash, t.At = "0x"+hex.EncodeToString(hash), database.FromMillis(at)
		return t, err
	}, `SELECT rail, tx_hash, log_index, sender, amount, at, CASE WHEN settled <> 'vanished' THEN note
			ELSE 'vanished from the chain after it had paid for ' || coalesce('deposit ' || deposit_id, 'a call') END
		FROM transfers WHERE spent_on = '' AND settled <> 'vanished' OR settled = 'vanished' AND spent_on IN ('deposit', 'call')
		ORDER BY at DESC, tx_hash, log_index LIMIT ?`, limit)
}

// noUnmatched is the answer to a transfer that is not there, or has paid for something.
func noUnmatched() error {
	return api.Errorf(api.ReasonNotFound, "there is no such unmatched transfer").
		WithHint("list them: contextd money deposits unmatched")
}

// Assign lets an unmatched transfer pay for a deposit that was not paid yet, whatever its rail, amount and time, with all that follows from
// it. The deposit is one of the transfer's rail from then on.
func (s *Store) Assign(
	ctx context.Context, rail string, hash [32]byte, log uint64, depositID string, now time.Time,
) (d billing.Deposit, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		a := billing.Transfer{Rail: rail, TxHash: hash, LogIndex: log}
		err := tx.QueryRowContext(ctx,
			"SELECT sender FROM transfers WHERE spent_on = '' AND settled <> 'vanished' AND "+byLog, rail, hash[:], log).Scan(&a.Sender)
		if errors.Is(err, sql.ErrNoRows) {
			return noUnmatched()
		}
		if err != nil {
			return fmt.Errorf("read transfer: %w", err)
		}
		list, err := database.Query(ctx, tx, scanDeposit, "SELECT "+depositColumns+" FROM deposits WHERE id = ? AND status <> ?", depositID,
			api.DepositVerified)
		if err != nil {
			return fmt.Errorf("read deposit: %w", err)
		}
		if len(list) == 0 {
			return api.Errorf(api.ReasonDepositNotFound, "there is no unpaid deposit %q", depositID).
				WithHint("ask its buyer to check: ctx credits purchases")
		}
		d = list[0]
		return errors.Join(verifyDeposit(ctx, tx, &d, a, now), s.changedBy(ctx, tx, d))
	})
	return d, err
}

// WriteOff notes that an unmatched transfer will pay for nothing, and why, or that one that has vanished is not looked for any more.
func (s *Store) WriteOff(ctx context.Context, rail string, hash [32]byte, log uint64, reason string) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE transfers SET spent_on = 'written-off', note = ?
			WHERE (spent_on = '' OR settled = 'vanished' AND spent_on IN ('deposit', 'call')) AND `+byLog, reason, rail, hash[:], log)
		if err != nil {
			return fmt.Errorf("write off transfer: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return noUnmatched()
	})
}

// Totals sums up what arrived on a rail, or on all for "", and what it was spent on.
func (s *Store) Totals(ctx context.Context, rail string) (t billing.Totals, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT
			coalesce(sum(amount) FILTER (WHERE settled <> 'vanished'), 0),
			coalesce(sum(amount) FILTER (WHERE settled <> 'vanished' AND spent_on = 'deposit'), 0),
			coalesce(sum(amount) FILTER (WHERE settled <> 'vanished' AND spent_on = 'call'), 0),
			coalesce(sum(amount) FILTER (WHERE settled <> 'vanished' AND spent_on = ''), 0),
			coalesce(sum(amount) FILTER (WHERE settled <> 'vanished' AND spent_on = 'waiting'), 0),
			coalesce(sum(amount) FILTER (WHERE settled <> 'vanished' AND spent_on = 'written-off'), 0),
			coalesce(sum(amount) FILTER (WHERE settled = 'vanished' AND spent_on IN ('deposit', 'call')), 0),
			(SELECT coalesce(sum(amount), 0) FROM deposits WHERE status = 'verified' AND (?1 = '' OR rail = ?1)),
			(SELECT coalesce(sum(credits), 0) FROM deposits WHERE status = 'verified' AND (?1 = '' OR rail = ?1)),
			(SELECT coalesce(sum(amount), 0) FROM ledger WHERE kind = 'buy'
				AND (?1 = '' OR reason IN (SELECT id FROM deposits WHERE rail = ?1)))
		FROM transfers WHERE ?1 = '' OR rail = ?1`, rail).Scan(&t.Arrived, &t.Deposits, &t.Calls, &t.Unmatched, &t.Waiting, &t.WrittenOff,
		&t.Vanished, &t.Verified, &t.Sold, &t.Credited)
	return t, err
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/x402"
)

// spentOnCall is what transfers.spent_on says of one that has paid for a call.
const spentOnCall = "call"

const byLog = "rail = ? AND tx_hash = ? AND log_index = ?"

// PaidCall returns the answer that the payment with the given hash was spent on; ok is false if there is none.
func (s *Store) PaidCall(ctx context.Context, rail string, hash [32]byte) (answer x402.StoredAnswer, ok bool, err error) {
	var at sql.NullInt64
	err = s.db.Read.QueryRowContext(ctx, "SELECT fingerprint, payer, at, body, signed FROM paid_calls WHERE rail = ? AND tx_hash = ?",
		rail, hash[:]).Scan(&answer.Fingerprint, &answer.Payer, &at, &answer.Body, &answer.Signed)
	if errors.Is(err, sql.ErrNoRows) {
		return answer, false, nil
	}
	answer.At = database.FromMillis(at)
	return answer, err == nil, err
}

// SpendOnCall notes that the transfer of r is spent, and stores the answer. It fails with x402.ErrSpent, and changes nothing, where the
// transfer was spent already.
func (s *Store) SpendOnCall(ctx context.Context, r x402.Receipt) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := spend(ctx, tx, r); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			"INSERT INTO paid_calls (rail, tx_hash, log_index, fingerprint, op, payer, at, body, signed) "+
				"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			r.Rail, r.Hash[:], r.Transfer.LogIndex, r.Fingerprint, r.Op, r.Payer, r.At.UnixMilli(), r.Body, r.Signed); err != nil {
			return fmt.Errorf("keep paid answer: %w", err)
		}
		return nil
	})
}

// spend notes that the transfer of r is spent on a call.
func spend(ctx context.Context, tx *sql.Tx, r x402.Receipt) error {
	res, err := tx.ExecContext(ctx, `INSERT INTO transfers
			(rail, tx_hash, log_index, sender, amount, block, block_hash, at, spent_on, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (rail, tx_hash, log_index) DO UPDATE SET spent_on = excluded.spent_on, note = '' WHERE transfers.spent_on = ''`,
		r.Rail, r.Hash[:], r.Transfer.LogIndex, r.Transfer.From, int64(r.Transfer.Amount), r.Payment.Block, r.Payment.BlockHash[:],
		r.Payment.At.UnixMilli(), spentOnCall, r.At.UnixMilli())
	if err != nil {
		return fmt.Errorf("spend transfer: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, x402.ErrSpent)
	}
	return nil
}

// PruneAnswers drops the answers of paid calls given before the given time, and of settlements that were settled before it. Those that have
// failed lose theirs once the scanner has looked at all blocks in which anybody could submit their authorization, at the latest with the
// others. That they were paid for stays.
func (s *Store) PruneAnswers(ctx context.Context, before time.Time) error {
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE paid_calls SET body = NULL WHERE at < ? AND body IS NOT NULL", before.UnixMilli())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE settlements SET body = NULL
			WHERE body IS NOT NULL AND (done_at < ?1 AND (state = 'settled' OR valid_before < ?2) OR state = 'failed'
				AND valid_before < (SELECT seen_at / 1000 - ?3 FROM scan WHERE scan.rail = settlements.rail))`,
			before.UnixMilli(), before.Unix(), int64(surelySeen.Seconds()))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM first_identifiers WHERE until < ?", before.Unix())
		return err
	})
}

// surelySeen is how far the scanner has to be past the end of an authorization: a block may be replaced by one with more in it.
const surelySeen = 10 * time.Minute

// NotFinal returns the transfers, of at most limit transactions, that may still vanish from the chain of a rail, lowest block first.
func (s *Store) NotFinal(ctx context.Context, rail string, limit int) ([]x402.MinedTx, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (p x402.MinedTx, err error) {
		var hash, block []byte
		err = rows.Scan(&hash, &p.Block, &block)
		copy(p.Hash[:], hash)
		copy(p.BlockHash[:], block)
		return p, err
	}, "SELECT DISTINCT tx_hash, block, block_hash FROM transfers WHERE rail = ? AND settled = 'no' ORDER BY block, tx_hash LIMIT ?",
		rail, limit)
}

// Moved notes that the transfers of a transaction are in another block now.
func (s *Store) Moved(ctx context.Context, rail string, p x402.MinedTx) error {
	return s.db.ExecLeading(ctx, "UPDATE transfers SET block = ?, block_hash = ? WHERE rail = ? AND tx_hash = ?", p.Block,
		p.BlockHash[:], rail, p.Hash[:])
}

// Finalize notes that the transfers of a transaction are final, or have vanished. A deposit that waited for one that has vanished waits for
// another.
func (s *Store) Finalize(ctx context.Context, rail string, hash [32]byte, vanished bool) error {
	if !vanished {
		return s.db.ExecLeading(ctx, "UPDATE transfers SET settled = 'final' WHERE rail = ? AND tx_hash = ?", rail, hash[:])
	}
	return s.db.ExecLeading(ctx, `UPDATE transfers SET settled = 'vanished', deposit_id = CASE WHEN spent_on <> 'waiting' THEN deposit_id END,
		spent_on = CASE WHEN spent_on = 'waiting' THEN '' ELSE spent_on END WHERE rail = ? AND tx_hash = ?`, rail, hash[:])
}

// Chains are the first blocks of the chains that are noted, by rail.
func (s *Store) Chains(ctx context.Context) (map[string][32]byte, error) {
	known := map[string][32]byte{}
	_, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (rail string, err error) {
		var hash []byte
		err = rows.Scan(&rail, &hash)
		known[rail] = [32]byte(append(hash, make([]byte, 32)...))
		return rail, err
	}, "SELECT rail, genesis FROM chain")
	return known, err
}

// RememberChain notes the first block of the chain of a rail, if none is noted yet, and returns the one that is.
func (s *Store) RememberChain(ctx context.Context, rail string, genesis [32]byte) (known [32]byte, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		var hash []byte
		err := tx.QueryRowContext(ctx,
			"INSERT INTO chain (rail, genesis) VALUES (?, ?) ON CONFLICT (rail) DO UPDATE SET genesis = chain.genesis RETURNING genesis",
			rail, genesis[:]).Scan(&hash)
		copy(known[:], hash)
		return err
	})
	return known, err
}

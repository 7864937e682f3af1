package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/x402"
)

// NoteGas notes what a transaction of ours has cost, once, and reports whether it was that time.
func (s *Store) NoteGas(ctx context.Context, rail string, hash [32]byte, p x402.Payment) (noted bool, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		noted, err = noteGas(ctx, tx, rail, hash, p)
		return err
	})
	return noted, err
}

func noteGas(ctx context.Context, tx *sql.Tx, rail string, hash [32]byte, p x402.Payment) (noted bool, err error) {
	var fee any
	if p.Fee != nil {
		fee = p.Fee.String()
	}
	res, err := tx.ExecContext(ctx, `UPDATE settlement_txs SET gas_used = ?, fee = ?, reverted = ?
		WHERE rail = ? AND hash = ? AND gas_used IS NULL`, p.GasUsed, fee, !p.Succeeded, rail, hash[:])
	if err != nil {
		return false, fmt.Errorf("note gas: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// UnknownGas returns the transactions signed since a time that may be in a block without our knowing what they cost, at most limit. Of
// several with one account nonce, one alone comes into a block.
func (s *Store) UnknownGas(ctx context.Context, rail string, since time.Time, limit int) ([][32]byte, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (hash [32]byte, err error) {
		var raw []byte
		err = rows.Scan(&raw)
		copy(hash[:], raw)
		return hash, err
	}, `SELECT t.hash FROM settlement_txs t JOIN settlements s USING (rail, payer, nonce)
		WHERE t.rail = ?1 AND t.id > `+newerThan+` AND t.gas_used IS NULL AND s.state <> 'pending' AND s.facilitator = ''
			AND NOT EXISTS (SELECT 1 FROM settlement_txs o WHERE o.rail = t.rail AND o.sender = t.sender
				AND o.account_nonce = t.account_nonce AND o.gas_used IS NOT NULL)
		ORDER BY t.id LIMIT ?3`, rail, since.UnixMilli(), limit)
}

// newerThan is the id behind which the transactions of a rail are that were signed after a time. It looks back no further than that.
const newerThan = "coalesce((SELECT id FROM settlement_txs WHERE rail = ?1 AND at <= ?2 ORDER BY id DESC LIMIT 1), 0)"

// LostGas sums what those have cost, in wei, that were signed since a time and have moved nothing.
func (s *Store) LostGas(ctx context.Context, rail string, since time.Time) (*big.Int, error) {
	fees, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (fee string, err error) { return fee, rows.Scan(&fee) },
		"SELECT fee FROM settlement_txs WHERE rail = ?1 AND id > "+newerThan+" AND reverted = 1 AND fee IS NOT NULL",
		rail, since.UnixMilli())
	sum := new(big.Int)
	for _, text := range fees {
		fee, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil, errors.Join(err, fmt.Errorf("a fee in the books is %q, no number", text))
		}
		sum.Add(sum, fee)
	}
	return sum, err
}

// CountForeign counts those of a rail that were settled since a time by a transaction that is not ours, though we settle there ourselves.
func (s *Store) CountForeign(ctx context.Context, rail string, since time.Time) (n int, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT count(*) FROM settlements s
		WHERE rail = ? AND state = 'settled' AND facilitator = '' AND done_at > ?
			AND NOT EXISTS (SELECT 1 FROM settlement_txs t WHERE t.rail = s.rail AND t.hash = s.tx_hash)`, rail, since.UnixMilli()).Scan(&n)
	return n, err
}

// CountPending counts the settlements that are pending, and says since when the oldest is.
func (s *Store) CountPending(ctx context.Context, rail string) (n int, oldest time.Time, err error) {
	var at sql.NullInt64
	err = s.db.Read.QueryRowContext(ctx, "SELECT count(*), min(at) FROM settlements WHERE rail = ? AND state = 'pending'", rail).
		Scan(&n, &at)
	return n, database.FromMillis(at), err
}

// Unfinished says on which rails payments or purchases have not come to their end, and which.
func (s *Store) Unfinished(ctx context.Context) ([]x402.Waiting, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (w x402.Waiting, err error) {
		var at sql.NullInt64
		err = rows.Scan(&w.Rail, &w.Settlements, &at, &w.Purchases)
		w.OldestAt = database.FromMillis(at)
		return w, err
	}, `SELECT rail, sum(n), min(at), sum(purchases) FROM (
			SELECT rail, 1 AS n, at, 0 AS purchases FROM settlements WHERE state = 'pending'
			UNION ALL SELECT rail, 0, NULL, 1 FROM deposits WHERE status = 'pending'
		) AS open GROUP BY rail ORDER BY rail`)
}

// newest names the settlements whose last transaction is among the newest, from which a state can be picked.
const newest = `(rail, payer, nonce) IN (SELECT t.rail, t.payer, t.nonce FROM settlement_txs t JOIN settlements s USING (rail, payer, nonce)
	WHERE (?1 = '' OR s.state = ?1) AND NOT EXISTS (SELECT 1 FROM settlement_txs o
		WHERE o.rail = t.rail AND o.payer = t.payer AND o.nonce = t.nonce AND o.id > t.id)
	ORDER BY t.id DESC LIMIT ?2) ORDER BY at DESC, payer, nonce`

// NewestSettlements returns the settlements that are in a state, or all for "", newest first, at most limit.
func (s *Store) NewestSettlements(ctx context.Context, state x402.SettlementState, limit int) ([]x402.Settlement, error) {
	return settlements(ctx, s.db.Read, newest, state, limit)
}

// FindSettlements returns those whose nonce begins with hexadecimal digits, or that a transaction with such a hash was to settle or did, at
// most limit.
func (s *Store) FindSettlements(ctx context.Context, digits string, limit int) ([]x402.Settlement, error) {
	return settlements(ctx, s.db.Read, `substr(hex(nonce), 1, length(?1)) = ?1 OR substr(hex(tx_hash), 1, length(?1)) = ?1
		OR (rail, payer, nonce) IN (SELECT rail, payer, nonce FROM settlement_txs WHERE substr(hex(hash), 1, length(?1)) = ?1)
		ORDER BY at DESC, payer, nonce LIMIT ?2`, strings.ToUpper(digits), limit)
}

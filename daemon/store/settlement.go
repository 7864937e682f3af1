package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/x402"
)

// settlementColumns are those that scanSettlement reads.
const settlementColumns = "rail, payer, nonce, recipient, value, valid_after, valid_before, signature, identifier, payload, op, " +
	"fingerprint, pack, state, why, at, done_at, tx_hash, facilitator, body"

func scanSettlement(rows *sql.Rows) (s x402.Settlement, err error) {
	var nonce, signature, hash []byte
	var at, done sql.NullInt64
	err = rows.Scan(&s.Rail, &s.From, &nonce, &s.To, &s.Value, &s.ValidAfter, &s.ValidBefore, &signature, &s.Identifier, &s.Payload, &s.Op,
		&s.Fingerprint, &s.Pack, &s.State, &s.Why, &at, &done, &hash, &s.Facilitator, &s.Body)
	copy(s.Nonce[:], nonce)
	copy(s.Signature[:], signature)
	copy(s.TxHash[:], hash)
	s.At, s.DoneAt = database.FromMillis(at), database.FromMillis(done)
	return s, err
}

// settlements reads the rows that a condition names, each with its transactions.
func settlements(ctx context.Context, db database.Querier, condition string, args ...any) ([]x402.Settlement, error) {
	list, err := database.Query(ctx, db, scanSettlement, "SELECT "+settlementColumns+" FROM settlements WHERE "+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("read settlements: %w", err)
	}
	for i, s := range list {
		list[i].Txs, err = database.Query(ctx, db, scanTx,
			`SELECT hash, sender, account_nonce, raw, block, at, gas_used, fee, reverted FROM settlement_txs
			WHERE rail = ? AND payer = ? AND nonce = ? ORDER BY id`, s.Rail, s.From, s.Nonce[:])
		if err != nil {
			return nil, fmt.Errorf("read transactions of settlement: %w", err)
		}
	}
	return list, nil
}

// scanTx reads a transaction of a settlement.
func scanTx(rows *sql.Rows) (tx x402.SignedTx, err error) {
	var hash []byte
	var at, gas sql.NullInt64
	var fee sql.NullString
	err = rows.Scan(&hash, &tx.Sender, &tx.AccountNonce, &tx.Raw, &tx.Block, &at, &gas, &fee, &tx.Reverted)
	copy(tx.Hash[:], hash)
	tx.At, tx.GasUsed = database.FromMillis(at), uint64(gas.Int64)
	if fee.Valid {
		tx.Fee, _ = new(big.Int).SetString(fee.String, 10)
	}
	return tx, err
}

// byKey names one settlement. Who has used an identifier on one rail means the same payment by it on all others.
const (
	byKey             = "rail = ? AND payer = ? AND nonce = ?"
	byKeyOrIdentifier = "rail = ?1 AND payer = ?2 AND nonce = ?3 OR payer = ?2 AND identifier = ?4 AND identifier <> ''"
)

// Settlements returns that of an authorization and those of its payer with an identifier, on whatever rail, as far as they are there.
func (s *Store) Settlements(ctx context.Context, k x402.Key, identifier string) ([]x402.Settlement, error) {
	return settlements(ctx, s.db.Read, byKeyOrIdentifier, k.Rail, k.Payer, k.Nonce[:], identifier)
}

// All are answered by indexes of theirs, so that who has paid often is answered as fast as who has not.
const (
	settledFor = `rail = ? AND payer = ? AND fingerprint = ? AND state = 'settled' AND done_at > ? ORDER BY done_at DESC LIMIT 1`
	standing   = `SELECT count(*), coalesce(sum(value), 0),
		(SELECT count(*) FROM settlements WHERE rail = ?1 AND payer = ?2 AND state = 'failed' AND done_at > ?3),
		EXISTS (SELECT 1 FROM settlements WHERE rail = ?1 AND payer = ?2 AND state = 'settled'),
		(SELECT count(*) FROM settlements s WHERE rail = ?1 AND state = 'pending' AND CASE WHEN pack <> '' THEN 1 ELSE 0 END = ?4
			AND NOT EXISTS (SELECT 1 FROM settlements o WHERE o.rail = s.rail AND o.payer = s.payer AND o.state = 'settled'))
		FROM settlements WHERE rail = ?1 AND payer = ?2 AND state = 'pending'`
)

// Payer returns how the payer of k stands, with what has failed since a time and the strangers who buy packs or who pay for calls.
func (s *Store) Payer(ctx context.Context, k x402.Key, buys bool, since time.Time) (x402.Payer, error) {
	return payer(ctx, s.db.Read, k, buys, since)
}

func payer(ctx context.Context, from database.Querier, k x402.Key, buys bool, since time.Time) (p x402.Payer, err error) {
	err = from.QueryRowContext(ctx, standing, k.Rail, k.Payer, since.UnixMilli(), buys).
		Scan(&p.Pending, &p.Value, &p.Failed, &p.Customer, &p.Strangers)
	if err != nil {
		err = fmt.Errorf("count settlements of payer: %w", err)
	}
	return p, err
}

// SettledFor returns the newest of those of a payer on a rail for a request that were settled since a time, or none.
func (s *Store) SettledFor(ctx context.Context, rail, payer, fingerprint string, since time.Time) ([]x402.Settlement, error) {
	return settlements(ctx, s.db.Read, settledFor, rail, payer, fingerprint, since.UnixMilli())
}

// PendingSettlements returns those of a rail whose next attempt is due at a time, in the order of these, at most limit.
func (s *Store) PendingSettlements(ctx context.Context, rail string, due time.Time, limit int) ([]x402.Settlement, error) {
	return settlements(ctx, s.db.Read, "rail = ? AND state = 'pending' AND next_at <= ? ORDER BY next_at, at, payer, nonce LIMIT ?",
		rail, due.UnixMilli(), limit)
}

// PutOff notes when the next attempt of a pending one is due.
func (s *Store) PutOff(ctx context.Context, k x402.Key, next time.Time) error {
	return s.db.Exec(ctx, "UPDATE settlements SET next_at = ? WHERE state = 'pending' AND "+byKey, next.UnixMilli(), k.Rail, k.Payer,
		k.Nonce[:])
}

// FirstIdentifier notes the identifier with which an authorization came first, until some time, and returns it; first reports whether this
// is it.
func (s *Store) FirstIdentifier(
	ctx context.Context, k x402.Key, identifier string, until time.Time,
) (noted string, first bool, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO first_identifiers (rail, payer, nonce, identifier, until) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (rail, payer, nonce) DO NOTHING`, k.Rail, k.Payer, k.Nonce[:], identifier, until.Unix())
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if first = n > 0; err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT identifier FROM first_identifiers WHERE "+byKey, k.Rail, k.Payer, k.Nonce[:]).Scan(&noted)
	})
	return noted, first, err
}

// BeginSettlement stores one with its first transaction, or fails with x402.ErrTaken, x402.ErrIdentified, or what admit says of how its
// payer stands.
func (s *Store) BeginSettlement(ctx context.Context, row x402.Settlement, since time.Time, admit func(x402.Payer) error) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		k := row.Key()
		others, err := settlements(ctx, tx, byKeyOrIdentifier, k.Rail, k.Payer, k.Nonce[:], row.Identifier)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(others, func(other x402.Settlement) bool { return other.Key() == k }):
			return x402.ErrTaken
		case len(others) > 0:
			return x402.ErrIdentified
		}
		stands, err := payer(ctx, tx, k, row.Pack != "", since)
		if err == nil {
			err = admit(stands)
		}
		if err != nil {
			return err
		}
		offer, _ := row.Pack.Offer() // none for a call
		if _, err := tx.ExecContext(ctx, `INSERT INTO settlements (rail, payer, nonce, recipient, value, valid_after, valid_before,
			signature, identifier, payload, op, fingerprint, pack, credits, state, at, facilitator, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			k.Rail, k.Payer, k.Nonce[:], row.To, int64(row.Value), row.ValidAfter, row.ValidBefore, row.Signature[:], row.Identifier,
			row.Payload, row.Op, row.Fingerprint, row.Pack, offer.Credits, row.State, row.At.UnixMilli(), row.Facilitator,
			row.Body); err != nil {
			return fmt.Errorf("keep settlement: %w", err)
		}
		if row.Purchase != nil {
			if err := beginPurchase(ctx, tx, row); err != nil {
				return err
			}
		}
		for _, signed := range row.Txs {
			if err := storeTx(ctx, tx, k, signed); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tell notes when the answer of a settlement was first handed out, and reports whether this is it.
func (s *Store) Tell(ctx context.Context, k x402.Key, at time.Time) (first bool, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE settlements SET told_at = ? WHERE told_at IS NULL AND "+byKey, at.UnixMilli(), k.Rail,
			k.Payer, k.Nonce[:])
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		first = n > 0
		return err
	})
	return first, err
}

// AddSettlementTx stores a further transaction of one that is pending.
func (s *Store) AddSettlementTx(ctx context.Context, k x402.Key, signed x402.SignedTx) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		var state x402.SettlementState
		err := tx.QueryRowContext(ctx, "SELECT state FROM settlements WHERE "+byKey, k.Rail, k.Payer, k.Nonce[:]).Scan(&state)
		if err == nil && state != x402.SettlementPending {
			err = fmt.Errorf("the settlement is %s", state)
		}
		if err != nil {
			return fmt.Errorf("keep transaction: %w", err)
		}
		return storeTx(ctx, tx, k, signed)
	})
}

func storeTx(ctx context.Context, tx *sql.Tx, k x402.Key, signed x402.SignedTx) error {
	if _, err := tx.ExecContext(ctx,
		"INSERT INTO settlement_txs (rail, hash, payer, nonce, sender, account_nonce, raw, block, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		k.Rail, signed.Hash[:], k.Payer, k.Nonce[:], signed.Sender, signed.AccountNonce, signed.Raw, signed.Block,
		signed.At.UnixMilli()); err != nil {
		return fmt.Errorf("keep transaction of settlement: %w", err)
	}
	return nil
}

// LockSigner waits on PostgreSQL, for a bounded time, until no other node signs with the account of a rail, and keeps it so until end is
// called. held says why the lock was lost before that. On SQLite there is one process.
func (s *Store) LockSigner(ctx context.Context, rail string) (held func(ctx context.Context) error, end func(), err error) {
	if !s.db.OnServer() {
		return func(context.Context) error { return nil }, func() {}, nil
	}
	return s.db.Lock(ctx, "settle "+rail)
}

// NextAccountNonce is that behind all which transactions of a sender on a rail have.
func (s *Store) NextAccountNonce(ctx context.Context, rail, sender string) (next uint64, err error) {
	err = s.db.Read.QueryRowContext(ctx, "SELECT coalesce(max(account_nonce) + 1, 0) FROM settlement_txs WHERE rail = ? AND sender = ?",
		rail, sender).Scan(&next)
	return next, err
}

// FinishSettlement notes that one was settled by the transfer of r, and spends that, once. It fails with x402.ErrSpent, and changes
// nothing, where the transfer was spent on something else. Of a purchase it returns the deposit.
func (s *Store) FinishSettlement(ctx context.Context, k x402.Key, r x402.Receipt) (d billing.Deposit, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		done, err := isSettled(ctx, tx, k)
		if err != nil || done { // by the scanner, or by who asked at the same time
			return err
		}
		if err := spend(ctx, tx, r); err != nil {
			return err
		}
		if d, err = settled(ctx, tx, k, r.Hash, r.Transfer.LogIndex, r.At); err != nil {
			return err
		}
		return s.changedBy(ctx, tx, d)
	})
	return d, err
}

// isSettled reports whether a settlement is.
func isSettled(ctx context.Context, tx *sql.Tx, k x402.Key) (done bool, err error) {
	err = tx.QueryRowContext(ctx, "SELECT state = 'settled' FROM settlements WHERE "+byKey, k.Rail, k.Payer, k.Nonce[:]).Scan(&done)
	if err != nil {
		err = fmt.Errorf("read settlement: %w", err)
	}
	return done, err
}

// settled notes which transfer has settled a settlement, and gives what it buys, once. Every finish passes here.
func settled(ctx context.Context, tx *sql.Tx, k x402.Key, hash [32]byte, log uint64, at time.Time) (d billing.Deposit, err error) {
	if _, err := tx.ExecContext(ctx, `UPDATE settlements SET why = '', tx_hash = ?, log_index = ?,
		done_at = CASE WHEN state = 'settled' THEN done_at ELSE ? END, state = 'settled' WHERE `+byKey, hash[:], log, at.UnixMilli(), k.Rail, k.Payer,
		k.Nonce[:]); err != nil {
		return d, fmt.Errorf("note settlement: %w", err)
	}
	return finishPurchase(ctx, tx, k, hash, log, at)
}

// FailSettlement notes that a pending one has moved nothing, and returns it as it is then.
func (s *Store) FailSettlement(ctx context.Context, k x402.Key, why string, at time.Time) (row x402.Settlement, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE settlements SET state = 'failed', why = ?, done_at = ?
			WHERE state = 'pending' AND `+byKey, why, at.UnixMilli(), k.Rail, k.Payer, k.Nonce[:]); err != nil {
			return fmt.Errorf("fail settlement: %w", err)
		}
		list, err := settlements(ctx, tx, byKey, k.Rail, k.Payer, k.Nonce[:])
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("there are %d settlements of it", len(list))
		}
		if err == nil {
			row = list[0]
		}
		return err
	})
	return row, err
}

// authorized assigns a transfer by authorization to its settlement, no matter who submitted it and how the
// settlement stands; it pays for nothing else. Of a purchase that it finishes, the deposit is returned. A transfer by one that was not
// presented here, or that moved another amount, waits for the operator.
func authorized(ctx context.Context, tx *sql.Tx, a billing.Transfer, now time.Time) (d billing.Deposit, err error) {
	k := x402.Key{Rail: a.Rail, Payer: strings.ToLower(a.Sender), Nonce: a.Authorization}
	list, err := settlements(ctx, tx, byKey, k.Rail, k.Payer, k.Nonce[:])
	switch {
	case err != nil:
		return d, err
	case len(list) == 0:
		return d, note(ctx, tx, a, "", "it was made by an authorization that nobody has presented")
	case list[0].Value != uint64(a.Amount):
		return d, note(ctx, tx, a, "", "it was made by an authorization of another amount than the one that was presented")
	}
	if _, err := tx.ExecContext(ctx, "UPDATE transfers SET spent_on = ?, note = '' WHERE "+byLog, spentOnCall, a.Rail, a.TxHash[:],
		a.LogIndex); err != nil {
		return d, fmt.Errorf("spend transfer: %w", err)
	}
	// Where it was settled before, that transaction has vanished: the token moves the money once.
	return settled(ctx, tx, k, a.TxHash, a.LogIndex, now)
}

package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// OpenDeposit adds d with the lowest free slot added to its amount, or with none where its nonce has to name it. It fails with
// billing.ErrNoActiveKey, with what the bounds refuse it with, or, where the key that d names is not an active one of the owner's, as for
// one that is not there.
func (s *Store) OpenDeposit(ctx context.Context, d billing.Deposit, bounds billing.DepositBounds) (billing.Deposit, error) {
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		paid, err := admitDeposit(ctx, tx, d, bounds)
		if err != nil {
			return err
		}
		taken, err := database.Query(ctx, tx, func(rows *sql.Rows) (a usdg.Amount, err error) { return a, rows.Scan(&a) },
			"SELECT amount FROM deposits WHERE rail = ? AND held = 1 AND amount >= ? AND amount < ? ORDER BY amount", d.Rail, d.Amount,
			d.Amount+usdg.Amount(bounds.Slots))
		if err != nil {
			return fmt.Errorf("look for a free amount: %w", err)
		}
		if d.Named = len(taken) >= bounds.Slots || !paid && 2*len(taken) >= bounds.Slots; !d.Named {
			for _, a := range taken { // in order, so the first gap ends it
				if a == d.Amount {
					d.Amount++
				}
			}
		}
		_, err = tx.ExecContext(ctx,
			`INSERT INTO deposits (id, rail, owner_id, key_id, pack, credits, amount, nonce, status, created_at, expires_at, held,
			nonce_required) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, d.ID, d.Rail, d.OwnerID, sql.NullString{String: d.KeyID, Valid: d.KeyID != ""},
			d.Pack, d.Credits, d.Amount, d.Nonce[:], d.Status, d.CreatedAt.UnixMilli(), d.ExpiresAt.UnixMilli(), !d.Named, d.Named)
		return err
	})
	return d, err
}

// admitDeposit says why d may not be opened, and whether its owner has ever paid for one.
func admitDeposit(ctx context.Context, tx *sql.Tx, d billing.Deposit, bounds billing.DepositBounds) (paid bool, err error) {
	var keys, named int
	if err := tx.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE id = ?) FROM keys
		WHERE owner_id = ? AND revoked_at IS NULL AND oauth IS NULL`,
		d.KeyID, d.OwnerID).Scan(&keys, &named); err != nil {
		return false, fmt.Errorf("look for keys: %w", err)
	}
	switch {
	case d.KeyID != "" && named == 0:
		return false, account.NoKey(d.KeyID)
	case keys == 0:
		return false, billing.ErrNoActiveKey
	}
	const day = 24 * time.Hour // of which bounds count
	unpaid, err := database.Query(ctx, tx, scanDeposit, "SELECT "+depositColumns+` FROM deposits
		WHERE owner_id = ? AND status <> ? AND (created_at > ? OR expires_at > ?)
		AND id NOT IN (SELECT deposit_id FROM transfers WHERE spent_on = 'waiting')`,
		d.OwnerID, api.DepositVerified, d.CreatedAt.Add(-day).UnixMilli(), d.CreatedAt.UnixMilli())
	if err != nil {
		return false, fmt.Errorf("read deposits: %w", err)
	}
	if err := bounds.Admit(unpaid, d.CreatedAt); err != nil {
		return false, err
	}
	if paid, err = hasPaid(ctx, tx, d.OwnerID); err != nil {
		return false, err
	}
	if !paid && bounds.Stranger != nil {
		return false, bounds.Stranger()
	}
	return paid, nil
}

// depositColumns are those that scanDeposit reads.
const depositColumns = "id, rail, owner_id, coalesce(key_id, ''), pack, credits, amount, nonce, status, created_at, expires_at, " +
	"nonce_required, tx_hash, coalesce(payer, ''), verified_at, coalesce(credited, '')"

func scanDeposit(rows *sql.Rows) (d billing.Deposit, err error) {
	var nonce, hash []byte
	var created, expires, verified sql.NullInt64
	err = rows.Scan(&d.ID, &d.Rail, &d.OwnerID, &d.KeyID, &d.Pack, &d.Credits, &d.Amount, &nonce, &d.Status, &created, &expires, &d.Named,
		&hash, &d.Payer, &verified, &d.Credited)
	copy(d.Nonce[:], nonce)
	copy(d.TxHash[:], hash)
	d.CreatedAt, d.ExpiresAt, d.VerifiedAt = database.FromMillis(created), database.FromMillis(expires), database.FromMillis(verified)
	return d, err
}

// Deposits returns those of an owner, or of all for "", newest first, at most limit, or that with the given id alone where it is not "".
func (s *Store) Deposits(ctx context.Context, ownerID, id string, limit int) ([]billing.Deposit, error) {
	return database.Query(ctx, s.db.Read, scanDeposit,
		"SELECT "+depositColumns+` FROM deposits WHERE (?1 = '' OR owner_id = ?1) AND (?2 = '' OR id = ?2)
		ORDER BY created_at DESC, id LIMIT ?3`, ownerID, id, limit)
}

// ScanCursor returns how far the chain of a rail was looked at; Next is zero if it never was.
func (s *Store) ScanCursor(ctx context.Context, rail string) (seen billing.ScanCursor, err error) {
	seen.Rail = rail
	var at sql.NullInt64
	err = s.db.Read.QueryRowContext(ctx, "SELECT next, seen_at FROM scan WHERE rail = ?", rail).Scan(&seen.Next, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return seen, nil
	}
	seen.At = database.FromMillis(at)
	return seen, err
}

// Arrive stores arrivals that are new, gives those that match to their deposits, with all that follows from it, and notes how far the chain
// was looked at unless seen says nothing. Unless atOnce, an arrival for a pack that is worth waiting waits until its block is safe. It
// returns the deposits that were verified.
func (s *Store) Arrive(
	ctx context.Context, list []billing.Transfer, seen billing.ScanCursor, atOnce bool, now time.Time,
) (verified []billing.Deposit, err error) {
	run := s.db.Tx
	if seen.Next > 0 { // the scanner's
		run = s.db.TxLeading
	}
	err = run(ctx, func(tx *sql.Tx) error {
		for _, a := range list {
			d, err := arrive(ctx, tx, a, atOnce, now)
			if err != nil {
				return err
			}
			if d.ID != "" {
				verified = append(verified, d)
			}
		}
		if err := s.changedBy(ctx, tx, verified...); err != nil || seen.Next == 0 {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO scan (rail, next, seen_at) VALUES (?, ?, ?)
			ON CONFLICT (rail) DO UPDATE SET next = excluded.next, seen_at = excluded.seen_at`, seen.Rail, seen.Next, seen.At.UnixMilli())
		return err
	})
	if err != nil {
		return nil, err
	}
	return verified, nil
}

// arrive stores one arrival, if it is new, and returns the deposit that it has verified, if it has.
func arrive(
	ctx context.Context, tx *sql.Tx, a billing.Transfer, atOnce bool, now time.Time,
) (d billing.Deposit, err error) {
	if isNew, err := storeTransfer(ctx, tx, a, now); err != nil || !isNew {
		return d, err
	}
	if a.Authorized {
		return authorized(ctx, tx, a, now)
	}
	open, err := database.Query(ctx, tx, scanDeposit,
		"SELECT "+depositColumns+` FROM deposits WHERE rail = ?4 AND (held = 1 AND amount = ?1 OR status = 'pending' AND (nonce_required = 0 OR ?2 = 1)
			OR nonce_required = 1 AND expires_at >= ?3 AND ?2 = 1) ORDER BY created_at`,
		a.Amount, len(a.Note) > 0, a.At.Add(-api.DepositGrace).UnixMilli(), a.Rail)
	if err != nil {
		return d, fmt.Errorf("read deposits: %w", err)
	}
	id, why := billing.Match(a, open)
	for _, candidate := range open {
		if candidate.ID == id {
			d = candidate
		}
	}
	if id == "" {
		return d, note(ctx, tx, a, "", why)
	}
	if atOnce || !billing.WorthWaiting(d.Pack) {
		return d, verifyDeposit(ctx, tx, &d, a, now)
	}
	var others int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM transfers WHERE spent_on = 'waiting' AND deposit_id = ?", id).
		Scan(&others); err != nil {
		return d, fmt.Errorf("look for waiting transfers: %w", err)
	}
	if others > 0 {
		return billing.Deposit{}, note(ctx, tx, a, "", "deposit "+id+" was paid already")
	}
	return billing.Deposit{}, note(ctx, tx, a, id, "its block is not safe yet")
}

// note notes why an arrival has paid for nothing so far, and the deposit that it waits for, "" for none.
func note(ctx context.Context, tx *sql.Tx, a billing.Transfer, waitsFor, why string) error {
	_, err := tx.ExecContext(ctx,
		`UPDATE transfers SET note = ?1, spent_on = CASE WHEN ?2 = '' THEN '' ELSE 'waiting' END, deposit_id = nullif(?2, '')
		WHERE rail = ?3 AND tx_hash = ?4 AND log_index = ?5`,
		why, waitsFor, a.Rail, a.TxHash[:], a.LogIndex)
	if err != nil {
		return fmt.Errorf("note transfer: %w", err)
	}
	return nil
}

// storeTransfer stores one arrival and reports whether it is to be matched: it is new, or had vanished and paid for nothing. One that the
// chain has in another block by now is noted there.
func storeTransfer(ctx context.Context, tx *sql.Tx, a billing.Transfer, now time.Time) (isNew bool, err error) {
	var block []byte
	var spent, settled string
	err = tx.QueryRowContext(ctx, "SELECT block_hash, spent_on, settled FROM transfers WHERE "+byLog, a.Rail, a.TxHash[:],
		a.LogIndex).Scan(&block, &spent, &settled)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		isNew = true
		_, err = tx.ExecContext(ctx, `INSERT INTO transfers (rail, tx_hash, log_index, sender, amount, block, block_hash, at, spent_on, seen_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?)`,
			a.Rail, a.TxHash[:], a.LogIndex, a.Sender, a.Amount, a.Block, a.BlockHash[:], a.At.UnixMilli(), now.UnixMilli())
	case err == nil && (!bytes.Equal(block, a.BlockHash[:]) || settled == "vanished"):
		isNew = settled == "vanished" && spent == ""
		_, err = tx.ExecContext(ctx,
			"UPDATE transfers SET block = ?, block_hash = ?, at = ?, settled = 'no' WHERE "+byLog,
			a.Block, a.BlockHash[:], a.At.UnixMilli(), a.Rail, a.TxHash[:], a.LogIndex)
	}
	if err != nil {
		return false, fmt.Errorf("keep transfer: %w", err)
	}
	return isNew, nil
}

// CountStored counts the transfers in one transaction that were stored as they are in a block, without those that have vanished.
func (s *Store) CountStored(ctx context.Context, rail string, hash, block [32]byte) (n int, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT count(*) FROM transfers WHERE rail = ? AND tx_hash = ? AND block_hash = ?
		AND settled <> 'vanished'`, rail, hash[:], block[:]).Scan(&n)
	if err != nil {
		err = fmt.Errorf("count stored transfers: %w", err)
	}
	return n, err
}

// Used says what the transfers in one transaction that are stored have been spent on, by their place in it.
func (s *Store) Used(ctx context.Context, rail string, hash [32]byte) (map[uint64]billing.Use, error) {
	used := map[uint64]billing.Use{}
	_, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (place uint64, err error) {
		var spent, deposit string
		err = rows.Scan(&place, &spent, &deposit)
		switch spent {
		case "":
		case "waiting":
			used[place] = billing.Use{WaitsFor: deposit}
		default:
			used[place] = billing.Use{Spent: true, DepositID: deposit}
		}
		return place, err
	}, "SELECT log_index, spent_on, coalesce(deposit_id, '') FROM transfers WHERE rail = ? AND tx_hash = ?", rail, hash[:])
	return used, err
}

// Waiting returns the transactions of arrivals on a rail that wait for their block to be safe, each with its block.
func (s *Store) Waiting(ctx context.Context, rail string) (map[[32]byte]uint64, error) {
	type place struct {
		hash  [32]byte
		block uint64
	}
	list, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (p place, err error) {
		var hash []byte
		err = rows.Scan(&hash, &p.block)
		copy(p.hash[:], hash)
		return p, err
	}, "SELECT tx_hash, block FROM transfers WHERE rail || '' = ? AND spent_on = 'waiting'", rail) // of all, few wait
	if err != nil {
		return nil, fmt.Errorf("read waiting transfers: %w", err)
	}
	waiting := map[[32]byte]uint64{}
	for _, p := range list {
		waiting[p.hash] = p.block
	}
	return waiting, nil
}

// Ripen verifies the deposits that wait for the given arrivals, with all that follows from it, and returns them.
func (s *Store) Ripen(ctx context.Context, list []billing.Transfer, now time.Time) (verified []billing.Deposit, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, a := range list {
			open, err := database.Query(ctx, tx, scanDeposit, "SELECT "+depositColumns+` FROM deposits WHERE status <> ? AND id =
				(SELECT deposit_id FROM transfers WHERE spent_on = 'waiting' AND `+byLog+")",
				api.DepositVerified, a.Rail, a.TxHash[:], a.LogIndex)
			if err != nil {
				return fmt.Errorf("read deposits: %w", err)
			}
			if len(open) == 0 {
				continue // not one of those that wait, or no more
			}
			if _, err := storeTransfer(ctx, tx, a, now); err != nil {
				return err
			}
			if err := verifyDeposit(ctx, tx, &open[0], a, now); err != nil {
				return err
			}
			verified = append(verified, open[0])
		}
		return s.changedBy(ctx, tx, verified...)
	})
	if err != nil {
		return nil, err
	}
	return verified, nil
}

// verifyDeposit verifies a deposit, once: status, transfer, credits, ledger and tier. Another transfer that has waited for it is
// unmatched from then on.
func verifyDeposit(ctx context.Context, tx *sql.Tx, d *billing.Deposit, a billing.Transfer, now time.Time) error {
	// The key that was named, if it is active, else the oldest that is, else any: what was paid for is never lost. One that was replaced
	// counts as ended: its credits are on the other key. Those on a key of an agent would be lost when that ends.
	if err := tx.QueryRowContext(ctx, `SELECT id FROM keys WHERE owner_id = ?
		ORDER BY oauth IS NOT NULL, coalesce(revoked_at, revokes_at) IS NOT NULL, id <> ?, created_at, id LIMIT 1`, d.OwnerID, d.KeyID).Scan(&d.Credited); err != nil {
		return fmt.Errorf("find key for deposit %s: %w", d.ID, err)
	}
	d.Status, d.Rail, d.TxHash, d.Payer, d.VerifiedAt = api.DepositVerified, a.Rail, a.TxHash, a.Sender, now
	res, err := tx.ExecContext(ctx,
		`UPDATE deposits SET status = ?1, tx_hash = ?2, payer = ?3, verified_at = ?4, credited = ?5, held = CASE WHEN rail = ?6 THEN held ELSE 0 END, rail = ?6
			WHERE id = ?7 AND status <> ?1`,
		d.Status, d.TxHash[:], d.Payer, d.VerifiedAt.UnixMilli(), d.Credited, d.Rail, d.ID)
	if err != nil {
		return fmt.Errorf("verify deposit %s: %w", d.ID, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, fmt.Errorf("deposit %s was verified by somebody else", d.ID))
	}
	for _, act := range []struct {
		text string
		args []any
	}{
		{"UPDATE transfers SET spent_on = 'deposit', note = '', deposit_id = ? WHERE " + byLog,
			[]any{d.ID, a.Rail, a.TxHash[:], a.LogIndex}},
		{"UPDATE transfers SET spent_on = '', deposit_id = NULL, note = ? WHERE spent_on = 'waiting' AND deposit_id = ?",
			[]any{"deposit " + d.ID + " was paid already", d.ID}},
		{"UPDATE keys SET credits = credits + ? WHERE id = ?", []any{d.Credits, d.Credited}},
		{"INSERT INTO ledger (key_id, amount, kind, reason, at) VALUES (?, ?, ?, ?, ?)",
			[]any{d.Credited, d.Credits, billing.KindBuy, d.ID, now.UnixMilli()}},
	} {
		if _, err := tx.ExecContext(ctx, act.text, act.args...); err != nil {
			return fmt.Errorf("credit deposit %s: %w", d.ID, err)
		}
	}
	return raise(ctx, tx, d.OwnerID, d.Pack)
}

// raise raises the tier of an owner and their keys to at least that of a pack.
func raise(ctx context.Context, tx *sql.Tx, owner string, pack api.CreditPack) error {
	offer, _ := pack.Offer() // it was sold
	var below []string
	for _, t := range api.Tiers() {
		if !t.AtLeast(offer.Tier) {
			below = append(below, "'"+string(t)+"'")
		}
	}
	if len(below) == 0 {
		return nil
	}
	for _, text := range []string{"UPDATE owners SET tier = ? WHERE id = ? AND tier IN ",
		"UPDATE keys SET tier = ? WHERE owner_id = ? AND tier IN "} {
		if _, err := tx.ExecContext(ctx, text+"("+strings.Join(below, ", ")+")", offer.Tier, owner); err != nil {
			return fmt.Errorf("raise tier: %w", err)
		}
	}
	return nil
}

// ExpireDeposits lets pending deposits on a rail that nothing waits for expire that ended before the given time, up to which its chain was
// looked at, and frees the amounts of those that ended before free.
func (s *Store) ExpireDeposits(ctx context.Context, rail string, ended, free time.Time) error {
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE deposits SET status = ? WHERE rail = ? AND status = ? AND expires_at < ?
			AND id NOT IN (SELECT deposit_id FROM transfers WHERE spent_on = 'waiting')`,
			api.DepositExpired, rail, api.DepositPending, ended.UnixMilli()); err != nil {
			return fmt.Errorf("expire deposits: %w", err)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE deposits SET held = 0 WHERE rail = ? AND held = 1 AND expires_at < ?", rail,
			free.UnixMilli()); err != nil {
			return fmt.Errorf("free amounts: %w", err)
		}
		return nil
	})
}

// Received counts the transfers that were first seen since a time and paid for something, and sums what they moved.
func (s *Store) Received(ctx context.Context, since time.Time) (transfers int64, sum usdg.Amount, err error) {
	err = s.db.Read.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(amount), 0) FROM transfers "+
		"WHERE spent_on IN ('call', 'deposit') AND settled <> 'vanished' AND seen_at >= ?", since.UnixMilli()).Scan(&transfers, &sum)
	if err != nil {
		err = fmt.Errorf("sum what was received: %w", err)
	}
	return transfers, sum, err
}

// CountDeposits counts purchases by status.
func (s *Store) CountDeposits(ctx context.Context) (map[string]int64, error) {
	type row struct {
		status string
		n      int64
	}
	rows, err := database.Query(ctx, s.db.Read, func(r *sql.Rows) (one row, err error) {
		err = r.Scan(&one.status, &one.n)
		return one, err
	}, "SELECT status, count(*) FROM deposits GROUP BY status")
	if err != nil {
		return nil, fmt.Errorf("count deposits: %w", err)
	}
	counts := map[string]int64{string(api.DepositPending): 0, string(api.DepositVerified): 0, string(api.DepositExpired): 0}
	for _, one := range rows {
		counts[one.status] = one.n
	}
	return counts, nil
}

package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// AdmitPurchase says why a purchase may not be begun now, nil if it may.
func (s *Store) AdmitPurchase(ctx context.Context, p account.Purchase, now time.Time) error {
	return admitPurchase(ctx, s.db.Read, p, now)
}

func admitPurchase(ctx context.Context, from database.Querier, p account.Purchase, now time.Time) error {
	var b account.Buyer
	err := from.QueryRowContext(ctx, `SELECT coalesce(max(owners.id), ''), max(disabled_at) IS NOT NULL
		FROM identities JOIN owners ON owners.id = owner_id WHERE kind = ? AND subject = ?`, p.Wallet.Kind, p.Wallet.Subject).
		Scan(&b.OwnerID, &b.Disabled)
	if err != nil {
		return fmt.Errorf("find owner of wallet: %w", err)
	}
	bought := "wallet = ?"
	of := p.Wallet.Subject
	if b.OwnerID != "" {
		if err := from.QueryRowContext(ctx, `SELECT count(*) FROM keys
			WHERE owner_id = ? AND revoked_at IS NULL AND (revokes_at IS NULL OR oauth IS NOT NULL)`, b.OwnerID).Scan(&b.Keys); err != nil {
			return fmt.Errorf("count keys: %w", err)
		}
		bought, of = ofOwner, b.OwnerID
	}
	more, err := beingBought(ctx, from, bought, of, now)
	b.Keys += more
	return errors.Join(err, p.Admit(b))
}

// ofOwner names the purchases by wallets of an owner.
const ofOwner = "wallet IN (SELECT subject FROM identities WHERE kind = 'wallet' AND owner_id = ?)"

// BeingBought counts the keys that purchases of an owner are to make, or may yet.
func (s *Store) BeingBought(ctx context.Context, ownerID string, now time.Time) (int, error) {
	return beingBought(ctx, s.db.Read, ofOwner, ownerID, now)
}

// beingBought counts the keys of purchases that a condition names: of those that are pending, and of those that have failed and whose
// authorization anybody can still submit.
func beingBought(ctx context.Context, from database.Querier, condition, arg string, now time.Time) (n int, err error) {
	if err := from.QueryRowContext(ctx, `SELECT count(*) FROM purchases JOIN settlements USING (rail, payer, nonce)
		WHERE (state = 'pending' OR state = 'failed' AND valid_before > ?) AND `+condition, now.Unix(), arg).Scan(&n); err != nil {
		return 0, fmt.Errorf("count keys that are being bought: %w", err)
	}
	return n, nil
}

// beginPurchase keeps the key that the settlement of row is to make.
func beginPurchase(ctx context.Context, tx *sql.Tx, row x402.Settlement) error {
	p, k := row.Purchase, row.Key()
	if err := admitPurchase(ctx, tx, *p, row.At); err != nil {
		return err
	}
	var taken bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM keys WHERE id = ?1 OR hash = ?2)
		OR EXISTS (SELECT 1 FROM purchases WHERE key_id = ?1 OR key_hash = ?2)`, p.KeyID, p.KeyHash[:]).Scan(&taken); err != nil {
		return fmt.Errorf("look for key: %w", err)
	}
	if taken {
		return account.ErrDuplicate
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO purchases (rail, payer, nonce, wallet, owner_id, key_id, key_hash)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, k.Rail, k.Payer, k.Nonce[:], p.Wallet.Subject, p.OwnerID, p.KeyID, p.KeyHash[:]); err != nil {
		return fmt.Errorf("keep purchase: %w", err)
	}
	return nil
}

// finishPurchase gives what a settlement buys, if that is a pack of credits, for the transfer that has settled it: the owner, the key, the
// credits and a deposit that is verified, so that it counts as all purchases do. What it returns is zero for a call, and for a purchase
// that was finished before.
func finishPurchase(ctx context.Context, tx *sql.Tx, k x402.Key, hash [32]byte, log uint64, now time.Time) (d billing.Deposit, err error) {
	list, err := database.Query(ctx, tx, func(rows *sql.Rows) (d billing.Deposit, err error) {
		var key []byte
		var at sql.NullInt64
		d.NewKey = &billing.NewKey{}
		err = rows.Scan(&d.Payer, &d.OwnerID, &d.KeyID, &key, &d.Pack, &d.Credits, &d.Amount, &at, &d.Credited)
		copy(d.NewKey.Hash[:], key)
		d.CreatedAt = database.FromMillis(at)
		d.ExpiresAt = d.CreatedAt.Add(api.DepositWindow).Truncate(time.Second)
		return d, err
	}, `SELECT wallet, purchases.owner_id, purchases.key_id, key_hash, pack, credits, value, at,
			coalesce(settlements.key_id, '')
		FROM purchases JOIN settlements USING (rail, payer, nonce) WHERE rail = ? AND payer = ? AND nonce = ?`,
		k.Rail, k.Payer, k.Nonce[:])
	if err != nil || len(list) == 0 {
		return d, err
	}
	d = list[0]
	d.Rail, d.TxHash, d.Status, d.VerifiedAt = k.Rail, hash, api.DepositVerified, now.Truncate(time.Millisecond)
	d.ID, d.Nonce = depositOf(k)
	if d.Credited != "" { // another transaction had settled it, and has vanished
		return billing.Deposit{}, spendOnPurchase(ctx, tx, d, log)
	}
	d.Credited, d.NewKey.Name = d.KeyID, "x402 "+string(d.Pack)
	return d, give(ctx, tx, &d, k, log)
}

// depositOf is the id and the nonce of the deposit that a settlement makes. No payer can choose them to be those of another.
func depositOf(k x402.Key) (id string, nonce [32]byte) {
	nonce = sha256.Sum256(fmt.Appendf(nil, "contextd purchase\n%s\n%s\n%x", k.Rail, k.Payer, k.Nonce))
	return uuid.NewSHA1(uuid.NameSpaceOID, nonce[:]).String(), nonce
}

func give(ctx context.Context, tx *sql.Tx, d *billing.Deposit, k x402.Key, log uint64) error {
	wallet, at := account.Identity{Kind: account.KindWallet, Subject: d.Payer}, d.VerifiedAt.UnixMilli()
	switch owner, err := ownerOf(ctx, tx, wallet); {
	case err != nil:
		return fmt.Errorf("find owner of wallet: %w", err)
	case owner != "":
		d.OwnerID = owner
	default:
		if err := addIdentity(ctx, tx, wallet, d.OwnerID, at); err != nil {
			return err
		}
	}
	if err := raise(ctx, tx, d.OwnerID, d.Pack); err != nil {
		return err
	}
	var tier api.Tier
	if err := tx.QueryRowContext(ctx, "SELECT tier FROM owners WHERE id = ?", d.OwnerID).Scan(&tier); err != nil {
		return fmt.Errorf("read tier: %w", err)
	}
	if err := createKey(ctx, tx, account.Key{
		ID: d.Credited, Hash: d.NewKey.Hash, OwnerID: d.OwnerID, Name: d.NewKey.Name, Tier: tier, Consent: api.ConsentAggregated,
		CreatedAt: d.VerifiedAt,
	}, d.Credits); err != nil {
		return fmt.Errorf("make the key that was bought: %w", err)
	}
	for _, act := range []struct {
		text string
		args []any
	}{
		{`INSERT INTO deposits (id, rail, owner_id, key_id, pack, credits, amount, nonce, status, created_at, expires_at, held, payer,
			verified_at, credited) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12, ?13, ?4)`,
			[]any{d.ID, d.Rail, d.OwnerID, d.Credited, d.Pack, d.Credits, d.Amount, d.Nonce[:], d.Status, d.CreatedAt.UnixMilli(),
				d.ExpiresAt.UnixMilli(), d.Payer, at}},
		{"INSERT INTO ledger (key_id, amount, kind, reason, at) VALUES (?, ?, ?, ?, ?)",
			[]any{d.Credited, d.Credits, billing.KindBuy, d.ID, at}},
		{"UPDATE settlements SET key_id = ? WHERE rail = ? AND payer = ? AND nonce = ?", []any{d.Credited, k.Rail, k.Payer, k.Nonce[:]}},
	} {
		if _, err := tx.ExecContext(ctx, act.text, act.args...); err != nil {
			return fmt.Errorf("credit purchase %s: %w", d.ID, err)
		}
	}
	return spendOnPurchase(ctx, tx, *d, log)
}

// spendOnPurchase notes that a transfer has paid for d.
func spendOnPurchase(ctx context.Context, tx *sql.Tx, d billing.Deposit, log uint64) error {
	if _, err := tx.ExecContext(ctx, "UPDATE deposits SET tx_hash = ? WHERE id = ?", d.TxHash[:], d.ID); err != nil {
		return fmt.Errorf("note transfer of purchase: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE transfers SET spent_on = 'deposit', note = '', deposit_id = ? WHERE "+byLog,
		d.ID, d.Rail, d.TxHash[:], log); err != nil {
		return fmt.Errorf("spend transfer: %w", err)
	}
	return nil
}

// BoughtKey returns the key that a settlement has made, as it is now, and the hash of its plaintext.
func (s *Store) BoughtKey(ctx context.Context, k x402.Key) (key api.IssuedKey, hash [sha256.Size]byte, err error) {
	var raw []byte
	var at sql.NullInt64
	var credits int64
	err = s.db.Read.QueryRowContext(ctx, `SELECT keys.id, hash, name, tier, created_at, keys.credits FROM settlements
		JOIN keys ON keys.id = key_id WHERE rail = ? AND payer = ? AND nonce = ?`, k.Rail, k.Payer, k.Nonce[:]).
		Scan(&key.KeyID, &raw, &key.Name, &key.Tier, &at, &credits)
	if err != nil {
		return key, hash, fmt.Errorf("read the key that was bought: %w", err)
	}
	copy(hash[:], raw)
	key.CreatedAt, key.CreditBalance = database.FromMillis(at), &credits
	return key, hash, nil
}

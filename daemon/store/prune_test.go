package store_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestPruneUnpaid is both sides of what may go of purchases that nobody paid and of settlements that have failed.
func TestPruneUnpaid(t *testing.T) {
	t.Parallel()
	place := testbed.Place(t)
	s, err := store.Open(t.Context(), place, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db := testbed.SQL(t, place, store.File)
	do := func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	const before, grace = 1_000_000_000, int64(24*60*60*1_000 + 10*60*1_000) // milliseconds
	do("INSERT INTO owners (id, tier, created_at) VALUES ('o', 'free', 1)")
	for _, rail := range []string{"far", "near"} { // the scanner of near is not past what ended at 100,000,000
		do(fmt.Sprintf("INSERT INTO scan (rail, next, seen_at) VALUES ('%s', 1, %d)", rail,
			map[string]int64{"far": before + grace, "near": 100_000_000 + grace}[rail]))
	}
	deposit := func(id, rail, status string, ended int64, held int) {
		do(fmt.Sprintf(`INSERT INTO deposits (id, rail, owner_id, pack, credits, amount, nonce, status, created_at, expires_at, held, nonce_required)
			VALUES ('%s', '%s', 'o', 'starter', 1, 1, %s, '%s', 1, %d, %d, 0)`, id, rail, blob(place, id), status, ended, held))
	}
	deposit("gone", "far", "expired", before-1, 0)
	deposit("young", "far", "expired", before, 0)
	deposit("held", "far", "expired", before-1, 1)
	deposit("pending", "far", "pending", before-1, 0)
	deposit("verified", "far", "verified", before-1, 0)
	deposit("paid", "far", "expired", before-1, 0)
	deposit("seen", "near", "expired", 99_999_999, 0)
	deposit("unseen", "near", "expired", 100_000_000, 0)
	deposit("elsewhere", "none", "expired", 1, 0)
	do(fmt.Sprintf(`INSERT INTO transfers (rail, tx_hash, log_index, sender, amount, block, block_hash, at, spent_on, seen_at, deposit_id)
		VALUES ('far', %s, 0, 's', 1, 1, %[1]s, 1, 'waiting', 1, 'paid')`, blob(place, "h")))
	settlement := func(nonce, rail, state string, done, ends int64, txs ...int) {
		do(fmt.Sprintf(`INSERT INTO settlements (rail, payer, nonce, recipient, value, valid_after, valid_before, signature, identifier,
			payload, op, fingerprint, state, at, done_at) VALUES ('%s', 'p', %s, '', 1, 0, %d, %[2]s, '', '', 'fresh', 'f', '%[4]s', 1, %[5]d)`,
			rail, blob(place, nonce), ends, state, done))
		for _, n := range txs {
			do(fmt.Sprintf(`INSERT INTO settlement_txs (rail, hash, payer, nonce, sender, account_nonce, raw, block, at)
				VALUES ('%s', %s, 'p', %s, 'us', %d, %[2]s, 1, 1)`, rail, blob(place, nonce+fmt.Sprint(n)), blob(place, nonce), n))
		}
	}
	far := (before+grace)/1_000 - 600 // where the scanner of far is surely past, in seconds
	settlement("gone", "far", "failed", before-1, far-1, 1, 2)
	settlement("young", "far", "failed", before, far-1)
	settlement("open", "far", "failed", before-1, far)
	settlement("pending", "far", "pending", before-1, far-1)
	settlement("settled", "far", "settled", before-1, far-1)
	settlement("newest", "far", "failed", before-1, far-1, 3)
	settlement("elsewhere", "none", "failed", before-1, 1)
	if err := s.PruneUnpaid(t.Context(), time.UnixMilli(before)); err != nil {
		t.Fatal(err)
	}
	left := func(text string) (list []string) {
		rows, err := db.QueryContext(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var raw []byte
			if err := rows.Scan(&raw); err != nil {
				t.Fatal(err)
			}
			list = append(list, string(raw))
		}
		slices.Sort(list)
		return list
	}
	want := []string{"elsewhere", "held", "paid", "pending", "unseen", "verified", "young"}
	if got := left("SELECT id FROM deposits"); !slices.Equal(got, want) {
		t.Errorf("purchases that are left: %q, want %q", got, want)
	}
	want = []string{"elsewhere", "newest", "open", "pending", "settled", "young"}
	if got := left("SELECT nonce FROM settlements"); !slices.Equal(got, want) {
		t.Errorf("settlements that are left: %q, want %q", got, want)
	}
	if next, err := s.NextAccountNonce(t.Context(), "far", "us"); err != nil || next != 4 {
		t.Errorf("the next transaction has number %d, %v", next, err)
	}
	if got := left("SELECT hash FROM settlement_txs"); !slices.Equal(got, []string{"newest3"}) {
		t.Errorf("transactions that are left: %q", got)
	}
}

// blob is a text as bytes in the SQL of a database.
func blob(place, text string) string {
	if database.IsURL(place) {
		return fmt.Sprintf(`'\x%x'`, text)
	}
	return fmt.Sprintf("x'%x'", text)
}

// TestSessionsAreBounded: of more sessions of an owner than there may be, those end that were used longest ago, and never the new one nor
// another owner's.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t)
	at := time.UnixMilli(1_000_000).UTC()
	if _, err := s.OpenSession(t.Context(), opening("bob", at)); err != nil {
		t.Fatal(err)
	}
	hash := func(i int) [sha256.Size]byte { return sha256.Sum256(fmt.Append(nil, i)) }
	holds := func(i int) bool {
		_, err := s.Session(t.Context(), hash(i), at)
		if err != nil && !errors.Is(err, account.ErrNoSession) {
			t.Fatal(err)
		}
		return err == nil
	}
	open := func(i int, ends time.Duration) {
		o := opening("ada", at)
		o.Session.Hash, o.Session.ExpiresAt = hash(i), at.Add(ends)
		if _, err := s.OpenSession(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for i := range api.MaxSessions {
		open(i, time.Hour+time.Duration(i)*time.Minute)
	}
	if !holds(0) || !holds(api.MaxSessions-1) {
		t.Error("one of as many as there may be has ended")
	}
	if err := s.RenewSession(t.Context(), hash(0), at.Add(1_000*time.Hour)); err != nil { // it was used last
		t.Fatal(err)
	}
	open(api.MaxSessions, time.Second) // it ends first, and is the newest
	if !holds(0) || holds(1) || !holds(2) || !holds(api.MaxSessions) {
		t.Errorf("hold: the renewed %t, the one used longest ago %t, the next %t, the new %t", holds(0), holds(1), holds(2),
			holds(api.MaxSessions))
	}
	if _, err := s.Session(t.Context(), sha256.Sum256([]byte("bob")), at); err != nil {
		t.Errorf("another owner's: %v", err)
	}
}

// TestRevokedKeysAreBounded: of what an owner has revoked the newest are kept, besides all that has credits, all that works, and what the
// operator has revoked.
func TestRevokedKeysAreBounded(t *testing.T) {
	t.Parallel()
	s, place := openStore(t)
	key := func(owner, id string, revoked int64) {
		k := account.Key{ID: id, Hash: sha256.Sum256([]byte(id)), OwnerID: owner, Tier: api.TierFree, CreatedAt: time.UnixMilli(1)}
		if err := s.CreateKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if revoked == 0 {
			return
		}
		if _, _, err := s.RevokeKey(t.Context(), id, time.UnixMilli(revoked)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(4) {
		key("ada", fmt.Sprint("ada", i), 10+i)
		key(account.OperatorID, fmt.Sprint("op", i), 10+i)
	}
	key("ada", "rich", 5)
	key("ada", "works", 0)
	key("bob", "bob0", 11)
	key("bob", "bob1", 12)
	if _, err := testbed.SQL(t, place, store.File).ExecContext(t.Context(), "UPDATE keys SET credits = 1 WHERE id = 'rich'"); err != nil {
		t.Fatal(err)
	}
	gone, err := s.PruneKeys(t.Context(), time.UnixMilli(1), time.UnixMilli(20), 2)
	if slices.Sort(gone); err != nil || !slices.Equal(gone, []string{"ada0", "ada1"}) {
		t.Errorf("gone are %q, %v", gone, err)
	}
	gone, err = s.PruneKeys(t.Context(), time.UnixMilli(11), time.UnixMilli(20), 2)
	if slices.Sort(gone); err != nil || !slices.Equal(gone, []string{"bob0", "op0", "op1"}) {
		t.Errorf("of those that were revoked long ago, gone are %q, %v", gone, err)
	}
}

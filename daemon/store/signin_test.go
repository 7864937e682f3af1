package store_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
)

// openStore opens a store for the length of a test.
func openStore(t *testing.T) (*store.Store, string) {
	t.Helper()
	dir := testbed.Place(t)
	s, err := store.Open(t.Context(), dir, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, dir
}

// opening is one of a new owner with a mail address of the same name, at a time.
func opening(name string, at time.Time) account.Opening {
	o := account.Opening{Identity: account.Identity{Kind: account.KindEmail, Subject: name}, New: true}
	o.Session = account.Session{Hash: sha256.Sum256([]byte(name)), OwnerID: "owner of " + name, CreatedAt: at, ExpiresAt: at.Add(time.Hour), ProvedAt: at}
	return o
}

// TestSignInIsUsedOnce: of a sign-in the first use alone is one, until it is dropped after its end.
func TestSignInIsUsedOnce(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t)
	at, end := time.UnixMilli(1_000_000).UTC(), time.UnixMilli(2_000_000).UTC()
	hash := sha256.Sum256([]byte("sign-in"))
	for i, want := range []bool{true, false, false, true} {
		now := []time.Time{at, at, end.Add(-time.Millisecond), end}[i]
		if err := s.PruneSessions(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if first, err := s.UseSignIn(t.Context(), hash, at, end); err != nil || first != want {
			t.Errorf("use %d is the first: %v, %v", i+1, first, err)
		}
	}
}

// TestSessionHolds is both sides of its end, and what else ends it.
func TestSessionHolds(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t)
	at := time.UnixMilli(1_000_000).UTC()
	var hashes [][sha256.Size]byte
	for _, name := range []string{"ends", "disabled"} {
		opened, err := s.OpenSession(t.Context(), opening(name, at))
		if err != nil || opened.OwnerID != "owner of "+name || opened.Email != name || !opened.ProvedAt.Equal(at) {
			t.Fatalf("%+v, %v", opened, err)
		}
		hashes = append(hashes, opened.Hash)
	}
	for _, c := range []struct {
		after time.Duration
		holds error
	}{{0, nil}, {time.Hour - time.Millisecond, nil}, {time.Hour, account.ErrNoSession}, {time.Hour + time.Millisecond, account.ErrNoSession}} {
		if _, err := s.Session(t.Context(), hashes[0], at.Add(c.after)); !errors.Is(err, c.holds) {
			t.Errorf("after %v: %v, want %v", c.after, err, c.holds)
		}
	}
	if known, err := s.SetDisabled(t.Context(), "owner of disabled", at); err != nil || !known {
		t.Fatal(known, err)
	}
	again := opening("disabled", at)
	again.Session.Hash = sha256.Sum256([]byte("again"))
	if _, err := s.OpenSession(t.Context(), again); !errors.Is(err, account.ErrDisabled) {
		t.Errorf("a disabled owner signs in: %v", err)
	}
	for _, hash := range [][sha256.Size]byte{hashes[1], again.Session.Hash} {
		if _, err := s.Session(t.Context(), hash, at); !errors.Is(err, account.ErrNoSession) {
			t.Errorf("the session of a disabled owner: %v", err)
		}
	}
}

// TestOpeningIsWhole: where a link is used up, an invitation does not hold or an identity is another's, nothing of the opening is done.
func TestOpeningIsWhole(t *testing.T) {
	t.Parallel()
	s, dir := openStore(t)
	at := time.UnixMilli(1_000_000).UTC()
	if _, err := s.OpenSession(t.Context(), opening("old", at)); err != nil {
		t.Fatal(err)
	}
	link := account.Challenge{Hash: sha256.Sum256([]byte("link")), CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	link.Identity = account.Identity{Kind: account.KindEmail, Subject: "new"}
	if err := s.AddChallenge(t.Context(), link); err != nil {
		t.Fatal(err)
	}
	invited := account.Invite{ID: "one", Hash: sha256.Sum256([]byte("invite")), CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	if err := s.AddInvite(t.Context(), invited); err != nil {
		t.Fatal(err)
	}
	count := func(table string) (n int) {
		query(t, dir, "SELECT count(*) FROM "+table, func(r *sql.Rows) error { return r.Scan(&n) })
		return n
	}
	for what, c := range map[string]struct {
		change func(o *account.Opening)
		want   error
	}{
		"a link that is not there": {func(o *account.Opening) { o.Token = sha256.Sum256([]byte("x")) }, account.ErrNoChallenge},
		"an invitation that is not there": {func(o *account.Opening) {
			o.Token, o.Invite = link.Hash, sha256.Sum256([]byte("x"))
		}, account.ErrNoInvite},
		"an invitation at its end": {func(o *account.Opening) {
			o.Token, o.Invite, o.Session.CreatedAt = link.Hash, invited.Hash, at.Add(time.Hour)
		}, account.ErrNoInvite},
		"an identity of nobody": {func(o *account.Opening) { o.Token, o.New = link.Hash, false }, account.ErrNobody},
		"an identity of another": {func(o *account.Opening) {
			o.Token, o.Adds, o.Identity.Subject = link.Hash, true, "old"
		}, account.ErrIdentityTaken},
	} {
		o := opening("new", at)
		o.Client = sha256.Sum256([]byte("client"))
		c.change(&o)
		if _, err := s.OpenSession(t.Context(), o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if got := fmt.Sprint(count("owners"), count("identities"), count("sessions"), count("challenges"), count("known_clients"),
			count("invites WHERE used_at IS NOT NULL")); got != "1 1 1 1 0 0" {
			t.Errorf("%s: owners, identities, sessions, links, clients and used invitations are %s", what, got)
		}
	}
	o := opening("new", at.Add(time.Hour-time.Millisecond))
	o.Token, o.Invite, o.Client = link.Hash, invited.Hash, sha256.Sum256([]byte("client"))
	if _, err := s.OpenSession(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(count("owners"), count("challenges"), count("known_clients"), count("invites WHERE used_by = 'owner of new'")); got != "2 0 1 1" {
		t.Errorf("owners, links, clients and used invitations are %s", got)
	}
}

// TestPruneSessions is both sides of how long each is kept.
func TestPruneSessions(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	s, dir := openStore(t)
	at := time.UnixMilli(1_000_000).UTC()
	o := opening("a", at)
	o.Client = sha256.Sum256([]byte("client"))
	if _, err := s.OpenSession(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := s.AddInvite(t.Context(), account.Invite{ID: "one", CreatedAt: at, ExpiresAt: at.Add(7 * day)}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddChallenge(t.Context(), account.Challenge{CreatedAt: at, ExpiresAt: at.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table string
		kept  time.Duration
	}{{"challenges", time.Minute}, {"sessions", time.Hour}, {"invites", 37 * day}, {"known_clients", 180 * day}} {
		pruned(t, s, dir, c.table, at.Add(c.kept-time.Millisecond), 1)
		pruned(t, s, dir, c.table, at.Add(c.kept), 0)
	}
}

// pruned prunes and counts what is left.
func pruned(t *testing.T, s *store.Store, dir, table string, at time.Time, want int) {
	t.Helper()
	if err := s.PruneSessions(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	n := -1
	query(t, dir, "SELECT count(*) FROM "+table, func(r *sql.Rows) error { return r.Scan(&n) })
	if n != want {
		t.Errorf("%s at %v: %d, want %d", table, at, n, want)
	}
}

// TestUpgradedSessionsAreProofs: a session of an earlier schema was opened by a proof, when it began.
func TestUpgradedSessionsAreProofs(t *testing.T) {
	t.Parallel()
	dir := testbed.Files(t)
	restore(t, dir, "testdata/schema7.sql")
	s, err := store.Open(t.Context(), dir, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n, same := 0, 0
	query(t, dir, "SELECT count(*), sum(proved_at = created_at) FROM sessions", func(r *sql.Rows) error { return r.Scan(&n, &same) })
	if n == 0 || n != same {
		t.Errorf("of %d sessions %d are proved when they began", n, same)
	}
}

// TestRemoveIdentity ends the sessions but the one that is kept, and leaves the last identity where it is.
func TestRemoveIdentity(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t)
	at := time.UnixMilli(1_000_000).UTC()
	first := opening("first", at)
	second := opening("second", at)
	second.Adds, second.OwnerID = true, first.OwnerID
	for _, o := range []account.Opening{first, second, opening("else", at)} {
		if _, err := s.OpenSession(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		owner string
		id    account.Identity
		want  error
	}{
		{first.OwnerID, opening("else", at).Identity, account.ErrNoIdentity}, {first.OwnerID, first.Identity, nil},
		{first.OwnerID, first.Identity, account.ErrNoIdentity}, {first.OwnerID, second.Identity, account.ErrLastIdentity},
	} {
		if err := s.RemoveIdentity(t.Context(), c.owner, c.id, second.Session.Hash); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.id.Subject, err, c.want)
		}
	}
	if left, err := s.Identities(t.Context(), first.OwnerID); err != nil || len(left) != 1 || left[0].Subject != "second" {
		t.Errorf("left are %+v, %v", left, err)
	}
	for name, want := range map[string]error{"first": account.ErrNoSession, "second": nil, "else": nil} {
		if _, err := s.Session(t.Context(), sha256.Sum256([]byte(name)), at); !errors.Is(err, want) {
			t.Errorf("session of %s: %v, want %v", name, err, want)
		}
	}
}

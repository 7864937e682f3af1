package store_test

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// newKey is a key of the owner of c with another id.
func newKey(c billing.Call, id string, at time.Time) account.Key {
	return account.Key{ID: id, Hash: sha256.Sum256([]byte(id)), OwnerID: c.OwnerID, Name: id, Tier: c.Tier, Consent: c.Consent, CreatedAt: at}
}

// TestRotateKey: the credits go to the new key with rows of the ledger for both, and the old one ends at its time.
func TestRotateKey(t *testing.T) {
	t.Parallel()
	for _, credits := range []int64{0, 7} {
		s, c := open(t, testbed.Place(t)), chargedKey(1)
		grant(t, s, c, credits)
		ends := opened().Add(time.Hour)
		if moved, err := s.RotateKey(t.Context(), c.KeyID, newKey(c, "next", opened()), ends); err != nil || moved != credits {
			t.Fatalf("%d moved, %v", moved, err)
		}
		next := c
		next.KeyID = "next"
		agree(t, s, next, credits, 0)
		agree(t, s, c, 0, 0)
		rows, err := s.Entries(t.Context(), c.OwnerID, 9)
		if want := min(int(credits), 1) * 3; err != nil || len(rows) != want ||
			want > 0 && (rows[0].Amount != credits || rows[1].Amount != -credits) {
			t.Errorf("the ledger is %+v, %v", rows, err)
		}
		if err := s.CreateKey(t.Context(), newKey(c, "next", opened())); !errors.Is(err, account.ErrDuplicate) {
			t.Errorf("a second key of one id: %v", err)
		}
		rotate := func(id string) error {
			_, err := s.RotateKey(t.Context(), id, newKey(c, "third", opened()), ends)
			return err
		}
		is(t, rotate(c.KeyID), api.ReasonInvalidRequest)
		is(t, rotate("none"), api.ReasonKeyNotFound)
		move := func(id string, amount int64) error {
			_, err := s.Move(t.Context(), billing.Entry{KeyID: id, Amount: amount, Kind: billing.KindGrant, Reason: "x", At: opened()})
			return err
		}
		is(t, move(c.KeyID, 1), api.ReasonInvalidRequest)
		is(t, move("none", 1), api.ReasonKeyNotFound)
		is(t, move("next", -credits-1), api.ReasonInvalidRequest)
		if credits > 0 {
			if err := move("next", -credits); err != nil {
				t.Error(err)
			}
		}
		for _, one := range []struct {
			now  time.Time
			over bool
		}{{ends.Add(-time.Millisecond), false}, {ends, true}, {ends.Add(time.Hour), true}} {
			if err := s.EndKeys(t.Context(), one.now); err != nil {
				t.Fatal(err)
			}
			keys, err := s.Keys(t.Context(), nil)
			i := slices.IndexFunc(keys, func(k account.Key) bool { return k.ID == c.KeyID })
			if err != nil || i < 0 || one.over != keys[i].RevokedAt.Equal(ends) || !one.over && !keys[i].RevokedAt.IsZero() {
				t.Errorf("at %s: %+v, %v", one.now, keys, err)
			}
		}
		is(t, move(c.KeyID, 1), api.ReasonInvalidRequest)
		is(t, rotate(c.KeyID), api.ReasonInvalidRequest)
	}
}

// TestRevokeKey: it is revoked once, keeps its credits, and goes when its time is over and it has none.
func TestRevokeKey(t *testing.T) {
	t.Parallel()
	s, rich, poor := open(t, testbed.Place(t)), chargedKey(1), chargedKey(2)
	grant(t, s, rich, 5)
	grant(t, s, poor, 0)
	at := opened().Add(time.Minute)
	for _, when := range []time.Time{at, at.Add(time.Hour)} {
		for c, has := range map[string]int64{rich.KeyID: 5, poor.KeyID: 0} {
			if holds, stranded, err := s.RevokeKey(t.Context(), c, when); err != nil || !holds.Equal(at) || stranded != has {
				t.Errorf("%s is revoked at %s with %d credits, %v", c, holds, stranded, err)
			}
		}
	}
	if _, _, err := s.RevokeKey(t.Context(), "none", at); err == nil {
		t.Error("a key that is not there was revoked")
	}
	if credits, keys, err := s.Balance(t.Context(), rich.OwnerID, ""); err != nil || credits != 0 || keys != 0 {
		t.Errorf("the pool is %d on %d keys, %v", credits, keys, err)
	}
	for _, one := range []struct {
		before time.Time
		ids    []string
	}{{at.Add(-time.Millisecond), nil}, {at, []string{poor.KeyID}}, {at.Add(time.Hour), nil}} {
		if ids, err := s.PruneKeys(t.Context(), one.before, at, 9); err != nil || !slices.Equal(ids, one.ids) {
			t.Errorf("before %s go %v, %v, want %v", one.before, ids, err, one.ids)
		}
	}
	if keys, err := s.Keys(t.Context(), nil); err != nil || len(keys) != 1 || keys[0].ID != rich.KeyID {
		t.Errorf("the keys are %+v, %v", keys, err)
	}
	if findings, err := s.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("audit: %v, %v", findings, err)
	}
}

// TestAuditFinds: what does not agree with the ledger, or with the calls, is found.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	place, c := testbed.Place(t), chargedKey(1)
	s := open(t, place)
	grant(t, s, c, 5)
	if err := take(t, s, c, 2); err != nil {
		t.Fatal(err)
	}
	agree(t, s, c, 3, 2)
	for text, subject := range map[string]string{
		"UPDATE keys SET credits = credits + 1": c.KeyID, "UPDATE usage SET paid = paid - 1": "owner " + c.OwnerID,
	} {
		db := testbed.SQL(t, place, "contextd.db")
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		found, err := s.Audit(t.Context())
		if i := slices.IndexFunc(found, func(f billing.Finding) bool { return f.Subject == subject }); err != nil || i < 0 {
			t.Errorf("after %s: %v, %v", text, found, err)
		}
	}
}

// TestOwnerActs: an owner is disabled once, which ends their sessions, and a tier is that of all their keys.
func TestOwnerActs(t *testing.T) {
	t.Parallel()
	s, c, other := open(t, testbed.Place(t)), chargedKey(1), chargedKey(2)
	grant(t, s, c, 5)
	grant(t, s, other, 0)
	later := opened().Add(time.Hour)
	for _, one := range []struct {
		at, want time.Time
	}{{opened(), opened()}, {later, opened()}, {time.Time{}, time.Time{}}, {later, later}} {
		if known, err := s.SetDisabled(t.Context(), c.OwnerID, one.at); err != nil || !known {
			t.Fatalf("%t, %v", known, err)
		}
		list, err := s.Standings(t.Context(), nil)
		for _, o := range list {
			disabled := time.Time{}
			if o.DisabledAt != nil {
				disabled = *o.DisabledAt
			}
			if o.ID == c.OwnerID && !disabled.Equal(one.want) || o.ID == other.OwnerID && !disabled.IsZero() {
				t.Errorf("%+v, want it disabled at %s", o, one.want)
			}
		}
		if err != nil || len(list) != 2 {
			t.Errorf("%d owners, %v", len(list), err)
		}
	}
	if known, err := s.SetTier(t.Context(), c.OwnerID, api.TierPro); err != nil || !known {
		t.Errorf("%t, %v", known, err)
	}
	for _, act := range []func() (bool, error){
		func() (bool, error) { return s.SetDisabled(t.Context(), "nobody", later) },
		func() (bool, error) { return s.SetTier(t.Context(), "nobody", api.TierPro) },
	} {
		if known, err := act(); known || err != nil {
			t.Errorf("of nobody: %t, %v", known, err)
		}
	}
	keys, err := s.Keys(t.Context(), nil)
	for _, k := range keys {
		if (k.Tier == api.TierPro) != (k.ID == c.KeyID) {
			t.Errorf("%+v", k)
		}
	}
	owners, failed := s.Owners(t.Context())
	if err = errors.Join(err, failed); err != nil || len(owners) != 2 || owners[0].Keys != 1 || owners[0].Credits+owners[1].Credits != 5 {
		t.Errorf("%+v, %v", owners, err)
	}
	for since, want := range map[time.Time]int{opened(): 2, opened().Add(time.Millisecond): 0} {
		if made, err := s.SignedUp(t.Context(), since); err != nil || len(made) != want {
			t.Errorf("since %s %v, %v", since, made, err)
		}
	}
}

// TestInvites: an invitation holds until it ends or is revoked, once.
func TestInvites(t *testing.T) {
	t.Parallel()
	s := open(t, testbed.Place(t))
	ends := opened().Add(time.Hour)
	for _, id := range []string{"a", "b"} {
		err := s.AddInvite(t.Context(), account.Invite{ID: id, Hash: sha256.Sum256([]byte(id)), Note: id, CreatedAt: opened(), ExpiresAt: ends})
		if err != nil {
			t.Fatal(err)
		}
	}
	holds := func(id string, at time.Time) bool {
		t.Helper()
		is, err := s.InviteHolds(t.Context(), sha256.Sum256([]byte(id)), at)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if !holds("a", ends.Add(-time.Millisecond)) || holds("a", ends) || holds("c", opened()) {
		t.Error("an invitation holds at the wrong time")
	}
	if err := s.RevokeInvite(t.Context(), "a", ends); !errors.Is(err, account.ErrNoInvite) {
		t.Errorf("one that has ended: %v", err)
	}
	for _, want := range []error{nil, account.ErrNoInvite} {
		if err := s.RevokeInvite(t.Context(), "a", opened()); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if holds("a", opened()) || !holds("b", opened()) {
		t.Error("a revoked invitation holds, or another does not")
	}
	list, err := s.Invites(t.Context())
	if err != nil || len(list) != 2 || list[0].RevokedAt == nil || !list[0].RevokedAt.Equal(opened()) ||
		list[1].RevokedAt != nil || list[0].UsedAt != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestWriting: what models may take in a day is reserved up to its bounds, and corrected by what they took.
func TestWriting(t *testing.T) {
	t.Parallel()
	s := open(t, testbed.Place(t))
	use := brief.Usage{InputTokens: 60, OutputTokens: 40, CostMicros: 5}
	for i, one := range []struct {
		limit brief.Limit
		ok    bool
	}{
		{brief.Limit{Tokens: 99}, false}, {brief.Limit{Tokens: 100}, true}, {brief.Limit{CostMicros: 9}, false},
		{brief.Limit{CostMicros: 10, Tokens: 199}, false}, {brief.Limit{CostMicros: 10, Tokens: 200}, true}, {brief.Limit{}, true},
	} {
		if ok, err := s.ReserveWriting(t.Context(), "2026-11-20", use, one.limit); err != nil || ok != one.ok {
			t.Errorf("the %dth: %t, %v", i, ok, err)
		}
	}
	if err := s.CorrectWriting(t.Context(), "2026-11-20", brief.Usage{InputTokens: -180, CostMicros: 1}); err != nil {
		t.Fatal(err)
	}
	for day, want := range map[string]brief.Usage{"2026-11-20": {OutputTokens: 120, CostMicros: 16}, "2026-11-21": {}} {
		if got, err := s.Writing(t.Context(), day); err != nil || got != want {
			t.Errorf("on %s %+v, %v, want %+v", day, got, err, want)
		}
	}
	c := chargedKey(1)
	grant(t, s, c, 0)
	if got, err := s.OwnerBrief(t.Context(), c.OwnerID, "crypto"); err != nil || got.Prompt != nil || got.Text != "" {
		t.Errorf("before: %+v, %v", got, err)
	}
	for _, text := range []string{"", "quiet"} {
		b := state.OwnerBrief{Brief: state.Brief{Of: opened(), At: opened(), Writer: "w", Text: text}, Prompt: []byte("p"), Attempts: 1}
		if err := s.SaveOwnerBrief(t.Context(), c.OwnerID, "crypto", b); err != nil {
			t.Fatal(err)
		}
		got, err := s.OwnerBrief(t.Context(), c.OwnerID, "crypto")
		written, failed, counted := s.OwnerBriefs(t.Context(), "crypto")
		if err = errors.Join(err, counted); err != nil || got.Text != text || !got.Of.Equal(opened()) ||
			(written == 1) != (text != "") || failed != 1-written {
			t.Errorf("%+v, %d written, %d failed, %v", got, written, failed, err)
		}
	}
}

package account_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// ada is an owner.
const ada = "ada"

// bench are keys on a store, with a clock that moves when it is told to.
type bench struct {
	*account.Keys
	t     *testing.T
	dir   string
	store *store.Store
	clock *clock
}

// newBench opens keys that are closed with the test.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: testbed.Place(t), clock: &clock{t: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}}
	b.open()
	t.Cleanup(func() { _ = b.store.Close() })
	return b
}

func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.store, err = store.Open(b.t.Context(), b.dir, b.clock.Now()); err != nil {
		b.t.Fatal(err)
	}
	if b.Keys, err = account.OpenKeys(b.t.Context(), account.Config{Store: b.store, Now: b.clock.Now}); err != nil {
		b.t.Fatal(err)
	}
}

// restart closes and opens them.
func (b *bench) restart() {
	b.t.Helper()
	if err := b.store.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

// issue makes a key of ada's with credits.
func (b *bench) issue(credits int64) api.IssuedKey {
	b.t.Helper()
	key, err := b.Issue(b.t.Context(), account.NewKey{OwnerID: ada, Name: "agent", Consent: api.ConsentNone})
	if err != nil {
		b.t.Fatal(err)
	}
	if credits > 0 {
		b.grant(key.KeyID, credits, "")
	}
	return key
}

// grant gives credits to a key, which is refused for want.
func (b *bench) grant(id string, credits int64, want api.Reason) {
	b.t.Helper()
	_, err := b.store.Move(b.t.Context(), billing.Entry{KeyID: id, Amount: credits, Kind: billing.KindGrant, Reason: "x", At: b.clock.Now()})
	b.refused("a grant", err, want)
}

// refused checks that err refuses for want, or is nil for "".
func (b *bench) refused(what string, err error, want api.Reason) {
	b.t.Helper()
	var refused *api.Error
	switch {
	case want == "" && err != nil, want != "" && (!errors.As(err, &refused) || refused.Reason != want):
		b.t.Errorf("%s: %v, want %q", what, err, want)
	case want != "" && refused.Hint == "":
		b.t.Errorf("%s: no hint", what)
	}
}

// credits is what is on a key.
func (b *bench) credits(id string) int64 {
	b.t.Helper()
	n, _, err := b.store.Balance(b.t.Context(), ada, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// audited checks that the books agree.
func (b *bench) audited() {
	b.t.Helper()
	if findings, err := b.store.Audit(b.t.Context()); err != nil || len(findings) > 0 {
		b.t.Errorf("the audit finds %v, %v", findings, err)
	}
}

// TestRotate moves the credits at once and ends the old key by the clock, restarts or not.
func TestRotate(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{0, time.Second, api.MaxRotationGrace} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(grace, restart), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				old := b.issue(70)
				ended := b.Ended(old.KeyID)
				made, err := b.Rotate(t.Context(), old.KeyID, account.Rotation{Grace: grace})
				if err != nil {
					t.Fatal(err)
				}
				over := b.clock.Now().Add(grace)
				if made.Name != "agent" || *made.CreditBalance != 70 || !made.RevokesAt.Equal(over) || b.credits(old.KeyID) != 0 || b.credits(made.KeyID) != 70 {
					t.Errorf("made %+v, %d credits on the old one", made, b.credits(old.KeyID))
				}
				entries, err := b.store.Entries(t.Context(), ada, 2)
				if err != nil || entries[0].KeyID != made.KeyID || entries[0].Amount != 70 || entries[1].KeyID != old.KeyID || entries[1].Amount != -70 ||
					entries[0].Kind != billing.KindRotate || entries[1].Kind != billing.KindRotate {
					t.Errorf("the ledger has %+v, %v", entries, err)
				}
				b.audited()
				if restart {
					b.restart()
					ended = b.Ended(old.KeyID)
				}
				if key, err := b.Resolve(made.Key); err != nil || key.Consent != api.ConsentNone {
					t.Errorf("the new key: %+v, %v", key, err)
				}
				if grace > 0 {
					b.clock.Add(grace - time.Millisecond)
					b.retire(old, ended, false)
					_, err := b.Rotate(t.Context(), old.KeyID, account.Rotation{})
					b.refused("to replace it twice", err, api.ReasonInvalidRequest)
					b.grant(old.KeyID, 1, api.ReasonInvalidRequest)
					b.clock.Add(time.Millisecond)
				}
				if _, err := b.Resolve(old.Key); err == nil {
					t.Error("the old key works when its time is over, before the job has run")
				}
				b.retire(old, ended, true)
				if key, err := b.Lookup(old.KeyID); err != nil || !key.RevokedAt.Equal(over) {
					t.Errorf("the old key: %+v, %v", key, err)
				}
				b.restart()
				if key, err := b.Lookup(old.KeyID); err != nil || !key.RevokedAt.Equal(over) {
					t.Errorf("the old key after a restart: %+v, %v", key, err)
				}
				_, err = b.Rotate(t.Context(), old.KeyID, account.Rotation{})
				b.refused("to replace a revoked one", err, api.ReasonInvalidRequest)
			})
		}
	}
}

// retire runs the job and checks whether it has ended the key.
func (b *bench) retire(k api.IssuedKey, ended <-chan struct{}, want bool) {
	b.t.Helper()
	if err := b.Retire(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	_, err := b.Resolve(k.Key)
	got := false
	select {
	case <-ended:
		got = true
	default:
	}
	if got != want || (err != nil) != want {
		b.t.Errorf("ended %v, %v; want %v", got, err, want)
	}
}

func TestRotationIsChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := b.issue(5)
	for _, c := range []struct {
		rotation account.Rotation
		want     api.Reason
	}{
		{account.Rotation{Grace: -time.Second}, api.ReasonInvalidRequest},
		{account.Rotation{Grace: api.MaxRotationGrace + time.Second}, api.ReasonInvalidRequest},
		{account.Rotation{Name: "a\x00"}, api.ReasonInvalidRequest},
		{account.Rotation{Name: " other "}, ""},
	} {
		made, err := b.Rotate(t.Context(), key.KeyID, c.rotation)
		b.refused(fmt.Sprint(c.rotation), err, c.want)
		if c.want == "" && made.Name != "other" {
			t.Errorf("the name is %q", made.Name)
		}
	}
	_, err := b.Rotate(t.Context(), "cv_test_00000000", account.Rotation{})
	b.refused("a key that is not there", err, api.ReasonKeyNotFound)
}

// TestNewKeysAreBounded: 100 in any 24 hours, 10 of an owner who has never paid, however many of them are left, those made by rotation too;
// the operator makes more.
func TestNewKeysAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		paid bool
		most int
	}{{"who has never paid", false, api.MaxNewFreeKeys}, {"who has paid", true, api.MaxNewKeys}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			newKeysAreBounded(t, c.paid, c.most)
		})
	}
}

func newKeysAreBounded(t *testing.T, paid bool, most int) {
	b := newBench(t)
	last := b.issue(0)
	if paid {
		b.pay()
	}
	b.clock.Add(time.Minute)
	for n := range most - 1 {
		if n%2 == 1 {
			if _, err := b.Revoke(t.Context(), last.KeyID); err != nil {
				t.Fatal(err)
			}
			last = b.issue(0)
		} else {
			var err error
			if last, err = b.Rotate(t.Context(), last.KeyID, account.Rotation{}); err != nil {
				t.Fatal(err)
			}
		}
		b.clock.Add(time.Minute)
	}
	window := 24*time.Hour - time.Duration(most)*time.Minute
	for _, c := range []struct{ wait, left time.Duration }{{0, window}, {window - time.Millisecond, time.Millisecond}, {time.Millisecond, 0}} {
		b.clock.Add(c.wait)
		_, made := b.Issue(t.Context(), account.NewKey{OwnerID: ada, Name: "one more"})
		_, rotated := b.Rotate(t.Context(), last.KeyID, account.Rotation{})
		if c.left == 0 {
			b.refused("when the first left the window", made, "")
			b.refused("and one came", rotated, api.ReasonRateLimited)
			continue
		}
		for _, err := range []error{made, rotated} {
			b.refused("one more", err, api.ReasonRateLimited)
			if got := api.AsError(err).RetryAfter; got != c.left {
				t.Errorf("to wait for %v, want %v", got, c.left)
			}
		}
	}
	for range most + 1 {
		own, err := b.Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: "x"})
		if err == nil {
			_, err = b.Rotate(t.Context(), own.KeyID, account.Rotation{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// observed is a store that notes how many revoked keys of an owner stay, and cannot tell who has paid.
type observed struct {
	*store.Store
	stay int
	err  error
}

func (o *observed) HasPaid(context.Context, string) (bool, error) { return false, o.err }

func (o *observed) PruneKeys(ctx context.Context, before, now time.Time, most int) ([]string, error) {
	o.stay = most
	return o.Store.PruneKeys(ctx, before, now, most)
}

// TestKeysOfAStore: who may have paid and cannot be asked for it makes no key over the bound of strangers, and is told no other bound; of
// what is revoked as much stays as the limits say.
func TestKeysOfAStore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := &observed{Store: b.store, err: errors.New("the disk is gone")}
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: o, Now: b.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	for n := range api.MaxNewFreeKeys + 1 {
		_, err := keys.Issue(t.Context(), account.NewKey{OwnerID: ada, Name: "agent"})
		if refused := n == api.MaxNewFreeKeys; refused != errors.Is(err, o.err) {
			t.Errorf("key %d: %v", n+1, err)
		}
	}
	if err := keys.Prune(t.Context()); err != nil || o.stay != api.MaxRevokedKeys {
		t.Errorf("%d revoked keys stay, %v", o.stay, err)
	}
}

// pay notes that ada has bought credits.
func (b *bench) pay() {
	b.t.Helper()
	_, err := testbed.SQL(b.t, b.dir, store.File).ExecContext(b.t.Context(), `INSERT INTO deposits (id, rail, owner_id, pack, credits, amount,
		nonce, status, created_at, expires_at, held) VALUES ('d', 'r', 'ada', 'starter', 1, 1, CAST('n' AS `+blobType(b.dir)+`), 'verified', 1, 2, 0)`)
	if err != nil {
		b.t.Fatal(err)
	}
}

func blobType(place string) string {
	if database.IsURL(place) {
		return "bytea"
	}
	return "BLOB"
}

// TestReplacedKeysTakeNoPlace: an owner with as many keys as they may have can replace one and go on with both for a while.
func TestReplacedKeysTakeNoPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.SetMaxKeys(1)
	key := b.issue(3)
	if _, err := b.Rotate(t.Context(), key.KeyID, account.Rotation{Grace: time.Hour}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Issue(t.Context(), account.NewKey{OwnerID: ada, Name: "second"})
	b.refused("a second one", err, api.ReasonInvalidRequest)
}

// TestPrune: revoked keys go after 30 days, unless there are credits on them; what the books have of them stays.
func TestPrune(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	spent, rich, kept := b.issue(5), b.issue(5), b.issue(0)
	spare, err := b.Rotate(t.Context(), spent.KeyID, account.Rotation{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Revoke(t.Context(), rich.KeyID); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		wait time.Duration
		left int
	}{{api.KeyRetention - time.Millisecond, 4}, {time.Millisecond, 3}} {
		b.clock.Add(c.wait)
		if err := b.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if list := b.List(ada); len(list) != c.left {
				t.Errorf("%v later there are %+v, want %d", c.wait, list, c.left)
			}
			b.restart()
		}
	}
	_, err = b.Resolve(spent.Key)
	b.refused("the key that is gone", err, api.ReasonInvalidToken)
	_, err = b.Lookup(spent.KeyID)
	b.refused("its row", err, api.ReasonKeyNotFound)
	for _, k := range []api.IssuedKey{spare, kept} {
		if _, err := b.Resolve(k.Key); err != nil {
			t.Error(err)
		}
	}
	if entries, err := b.store.Entries(t.Context(), ada, 100); err != nil || len(entries) != 4 {
		t.Errorf("the ledger has %+v, %v", entries, err)
	}
	b.audited()
}

// TestOperatorsKeys: those made without a tier are not charged, the others are; owners' keys always are.
func TestOperatorsKeys(t *testing.T) {
	t.Parallel()
	for _, metered := range []bool{false, true} {
		keys := open(t, testbed.Place(t), account.Config{Metered: metered})
		check := func(what, id string, tier api.Tier, unmetered bool) {
			t.Helper()
			if k, err := keys.Lookup(id); err != nil || k.Tier != tier || k.Unmetered != unmetered || k.Row().Unmetered != unmetered {
				t.Errorf("%s (metered %v): %+v, %v; want %s, %v", what, metered, k, err, tier, unmetered)
			}
		}
		tier := api.TierEnterprise
		if metered {
			tier = api.TierFree
		}
		plain := issue(t, keys, "plain").KeyID
		check("plain", plain, tier, !metered)
		for _, tier := range api.Tiers() {
			key, err := keys.Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: "x", Tier: tier})
			if err != nil {
				t.Fatal(err)
			}
			check("with --tier", key.KeyID, tier, false)
			if err := keys.SetKeyTier(t.Context(), plain, tier); err != nil {
				t.Fatal(err)
			}
			check("set", plain, tier, tier == api.TierEnterprise && !metered)
		}
		next, err := keys.Rotate(t.Context(), plain, account.Rotation{})
		if err != nil {
			t.Fatal(err)
		}
		check("replaced", next.KeyID, api.TierEnterprise, !metered)
		owned, err := keys.Issue(t.Context(), account.NewKey{OwnerID: ada, Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		check("an owner's", owned.KeyID, api.TierFree, false)
		if err := keys.SetKeyTier(t.Context(), owned.KeyID, api.TierTeam); err == nil {
			t.Error("the tier of one key of an owner was set")
		}
		if err := keys.SetKeyTier(t.Context(), plain, "gold"); err == nil {
			t.Error("a tier was set that does not exist")
		}
	}
}

// TestPage walks a list in pages of every size while keys come and go: every key that was there throughout is seen once, in order.
func TestPage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var list []account.Key
	for i := range 7 { // three moments, newest first
		list = append(list, account.Key{ID: fmt.Sprintf("cv_test_%08d", i), CreatedAt: at.Add(-time.Duration(i/3) * time.Second)})
	}
	for limit := 1; limit <= 8; limit++ {
		var seen []account.Key
		cursor, now := "", list
		for pages := 0; pages == 0 || cursor != ""; pages++ {
			page, next, err := account.Page(now, limit, cursor)
			if err != nil || len(page) > limit || len(page) == 0 {
				t.Fatalf("page %d of %d: %v, %v", pages, limit, page, err)
			}
			seen, cursor = append(seen, page...), next
			// The last one that was seen is gone, and a new one has come.
			now = append([]account.Key{{ID: "cv_test_new", CreatedAt: at.Add(time.Second)}}, list[len(seen):]...)
		}
		if fmt.Sprint(seen) != fmt.Sprint(list) {
			t.Errorf("pages of %d have %v", limit, seen)
		}
	}
	for _, bad := range []string{"x", ".", "1", "x.cv_test_0"} {
		if _, _, err := account.Page(list, 1, bad); err == nil {
			t.Errorf("cursor %q was taken", bad)
		}
	}
}

// TestRotatedKeyLeavesRoom: a key that is about to end does not count to the keys of its owner.
func TestRotatedKeyLeavesRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.SetMaxKeys(2)
	old := b.issue(0)
	if _, err := b.Rotate(t.Context(), old.KeyID, account.Rotation{Grace: time.Hour}); err != nil {
		t.Fatal(err)
	}
	b.issue(0)
	_, err := b.Issue(t.Context(), account.NewKey{OwnerID: ada, Name: "third", Consent: api.ConsentNone})
	wants(t, err, api.ReasonInvalidRequest)
}

// TestEndingKeyTakesNoPlace: a key that is about to end does not count among the active ones of its owner.
func TestEndingKeyTakesNoPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old := b.issue(0)
	for range api.MaxActiveKeys - 1 {
		b.clock.Add(24 * time.Hour) // so many may be made in a day
		b.issue(0)
	}
	_, err := b.Issue(t.Context(), account.NewKey{OwnerID: ada, Name: "one more"})
	b.refused("one more key", err, api.ReasonInvalidRequest)
	if _, err := b.Revoke(t.Context(), b.List(ada)[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Rotate(t.Context(), old.KeyID, account.Rotation{Grace: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Issue(t.Context(), account.NewKey{OwnerID: ada, Name: "in place of the revoked one"}); err != nil {
		t.Error(err)
	}
}

// TestEndedByItsOwner: what is opened with a key whose owner is disabled has ended already.
func TestEndedByItsOwner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := b.issue(0)
	over := func() bool {
		select {
		case <-b.Ended(key.KeyID):
			return true
		default:
			return false
		}
	}
	if err := b.Disable(t.Context(), ada); err != nil || !over() {
		t.Errorf("after its owner was disabled it goes on: %v", err)
	}
	if b.restart(); !over() {
		t.Error("after a restart it goes on")
	}
	if err := b.Enable(t.Context(), ada); err != nil || over() {
		t.Errorf("after its owner was enabled it has ended: %v", err)
	}
}

// cutOff are other nodes of which nothing is heard.
type cutOff struct{ err error }

func (c *cutOff) Lost() error    { return c.err }
func (c *cutOff) CatchUp() error { return nil }

// TestCutOff: a node that hears nothing of the others admits nobody, since a key may have been revoked there.
func TestCutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	others := new(cutOff)
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: b.store, Now: b.clock.Now, Others: others})
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.Issue(t.Context(), account.NewKey{OwnerID: ada, Name: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Resolve(key.Key); err != nil {
		t.Fatal(err)
	}
	others.err = errors.New("nothing is heard")
	if _, err := keys.Resolve(key.Key); !errors.Is(err, others.err) {
		t.Errorf("a known key is admitted: %v", err)
	}
}

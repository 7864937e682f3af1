package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

const rail = "l2chain"

// till is a store with an owner who has a key without credits, and what they buy and pay.
type till struct {
	*store.Store
	t     *testing.T
	buyer billing.Call
	made  byte // deposits and transfers
}

func newTill(t *testing.T) *till {
	t.Helper()
	m := &till{Store: open(t, testbed.Place(t)), t: t, buyer: chargedKey(1)}
	grant(t, m.Store, m.buyer, 0)
	if err := m.SetKeyTier(t.Context(), m.buyer.KeyID, api.TierFree, false); err != nil {
		t.Fatal(err)
	}
	return m
}

// amply are bounds that nobody comes to.
func amply() billing.DepositBounds {
	return billing.DepositBounds{Slots: 100, Pending: 100, Unpaid: 100}
}

// order is a purchase that is not open yet.
func (m *till) order(pack api.CreditPack) billing.Deposit {
	offer, _ := pack.Offer()
	m.made++
	return billing.Deposit{
		ID: fmt.Sprintf("deposit-%d", m.made), OwnerID: m.buyer.OwnerID, Rail: rail, Pack: pack, Credits: offer.Credits,
		Amount: usdg.Amount(offer.PriceMicros), Nonce: [32]byte{m.made}, Status: api.DepositPending, CreatedAt: opened(),
		ExpiresAt: opened().Add(api.DepositWindow),
	}
}

// buy opens a deposit.
func (m *till) buy(pack api.CreditPack) billing.Deposit {
	m.t.Helper()
	d, err := m.OpenDeposit(m.t.Context(), m.order(pack), amply())
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}

// transfer is one of an amount, in a block of a minute after the opening.
func (m *till) transfer(amount usdg.Amount) billing.Transfer {
	m.made++
	return billing.Transfer{Rail: rail, TxHash: [32]byte{1, m.made}, Sender: "0xsender", Amount: amount, Block: uint64(m.made),
		BlockHash: [32]byte{2, m.made}, At: opened().Add(time.Minute)}
}

// arrives says which deposits are verified by what arrives.
func (m *till) arrives(atOnce bool, list ...billing.Transfer) (verified []string) {
	m.t.Helper()
	done, err := m.Arrive(m.t.Context(), list, billing.ScanCursor{}, atOnce, opened().Add(time.Minute))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, d := range done {
		verified = append(verified, d.ID)
	}
	return verified
}

// has checks the credits and the tier of the buyer, and that the books agree.
func (m *till) has(credits int64, tier api.Tier) {
	m.t.Helper()
	agree(m.t, m.Store, m.buyer, credits, 0)
	owners, err := m.Owners(m.t.Context())
	keys, failed := m.Keys(m.t.Context(), nil)
	if err = errors.Join(err, failed); err != nil {
		m.t.Fatal(err)
	}
	for _, o := range owners {
		if o.ID == m.buyer.OwnerID && (o.Tier != tier || o.Credits != credits) {
			m.t.Errorf("the owner is %+v, want the tier %s and %d credits", o, tier, credits)
		}
	}
	for _, k := range keys {
		if k.ID == m.buyer.KeyID && k.Tier != tier {
			m.t.Errorf("the key has the tier %s, want %s", k.Tier, tier)
		}
	}
}

// totals checks what arrived.
func (m *till) totals(want billing.Totals) {
	m.t.Helper()
	for _, of := range []string{rail, ""} {
		if got, err := m.Totals(m.t.Context(), of); err != nil || got != want {
			m.t.Errorf("the totals of %q are %+v, %v, want %+v", of, got, err, want)
		}
	}
	if got, err := m.Totals(m.t.Context(), "other"); err != nil || got != (billing.Totals{}) {
		m.t.Errorf("on another rail is %+v, %v", got, err)
	}
}

// is reports an error that has not the reason.
func is(t *testing.T, err error, reason api.Reason) {
	t.Helper()
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Reason != reason {
		t.Errorf("%v, want %s", err, reason)
	}
}

// TestArrive: a transfer pays for the deposit that has its amount, in its time, on its rail, once.
func TestArrive(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct {
		change func(d billing.Deposit, a *billing.Transfer)
		pays   bool
	}{
		"as it is":                  {func(billing.Deposit, *billing.Transfer) {}, true},
		"one less":                  {func(_ billing.Deposit, a *billing.Transfer) { a.Amount-- }, false},
		"one more":                  {func(_ billing.Deposit, a *billing.Transfer) { a.Amount++ }, false},
		"in the second of opening":  {func(d billing.Deposit, a *billing.Transfer) { a.At = d.CreatedAt }, true},
		"a second before":           {func(d billing.Deposit, a *billing.Transfer) { a.At = d.CreatedAt.Add(-time.Second) }, false},
		"at the end":                {func(d billing.Deposit, a *billing.Transfer) { a.At = d.ExpiresAt }, true},
		"a second after the end":    {func(d billing.Deposit, a *billing.Transfer) { a.At = d.ExpiresAt.Add(time.Second) }, false},
		"on another rail":           {func(_ billing.Deposit, a *billing.Transfer) { a.Rail = "base" }, false},
		"with its nonce":            {func(d billing.Deposit, a *billing.Transfer) { a.Note = d.Nonce[:] }, true},
		"with its nonce, one less":  {func(d billing.Deposit, a *billing.Transfer) { a.Note, a.Amount = d.Nonce[:], a.Amount-1 }, false},
		"by a stranger's signature": {func(_ billing.Deposit, a *billing.Transfer) { a.Authorized = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTill(t)
			d := m.buy(api.CreditHobby)
			a := m.transfer(d.Amount)
			change.change(d, &a)
			verified := m.arrives(false, a)
			if pays := len(verified) == 1 && verified[0] == d.ID; pays != change.pays || len(verified) > 1 {
				t.Fatalf("%v are verified", verified)
			}
			if again := m.arrives(false, a); len(again) > 0 {
				t.Errorf("%v are verified by the same transfer again", again)
			}
			if !change.pays {
				m.has(0, api.TierFree)
				if list, err := m.Unmatched(t.Context(), 9); err != nil || len(list) != 1 || list[0].Note == "" || list[0].Amount != a.Amount {
					t.Errorf("unmatched are %+v, %v", list, err)
				}
				return
			}
			m.has(d.Credits, api.TierHobby)
			m.totals(billing.Totals{Arrived: d.Amount, Deposits: d.Amount, Verified: d.Amount, Sold: d.Credits, Credited: d.Credits})
			if second := m.arrives(false, m.transfer(d.Amount)); len(second) > 0 {
				t.Errorf("%v are verified by a second transfer", second)
			}
			m.has(d.Credits, api.TierHobby)
		})
	}
}

// TestWait: what is worth waiting for is verified once its block is safe, and by one transfer, unless it is taken at once.
func TestWait(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		pack   api.CreditPack
		atOnce bool
		tier   api.Tier
		waits  bool
	}{
		{api.CreditStarter, false, api.TierFree, false}, {api.CreditHobby, false, api.TierHobby, false},
		{api.CreditPro, true, api.TierPro, false}, {api.CreditPro, false, api.TierPro, true}, {api.CreditTeam, false, api.TierTeam, true},
	} {
		t.Run(fmt.Sprintf("%s/atOnce=%t", one.pack, one.atOnce), func(t *testing.T) {
			t.Parallel()
			m := newTill(t)
			d := m.buy(one.pack)
			first, second := m.transfer(d.Amount), m.transfer(d.Amount)
			verified := m.arrives(one.atOnce, first, second)
			if one.waits != (len(verified) == 0) {
				t.Fatalf("%v are verified", verified)
			}
			used, err := m.Used(t.Context(), rail, first.TxHash)
			waiting, failed := m.Waiting(t.Context(), rail)
			if err = errors.Join(err, failed); err != nil {
				t.Fatal(err)
			}
			if want := (billing.Use{Spent: true, DepositID: d.ID}); !one.waits && (used[0] != want || len(waiting) > 0) {
				t.Errorf("it is used as %+v, and %v wait", used, waiting)
			}
			if one.waits {
				if used[0].WaitsFor != d.ID || len(waiting) != 1 || waiting[first.TxHash] != first.Block {
					t.Errorf("it is used as %+v, and %v wait", used, waiting)
				}
				m.has(0, api.TierFree)
				m.totals(billing.Totals{Arrived: 2 * d.Amount, Waiting: d.Amount, Unmatched: d.Amount})
				end := d.ExpiresAt.Add(time.Hour)
				if err := m.ExpireDeposits(t.Context(), rail, end, end); err != nil {
					t.Fatal(err)
				}
				ripe, err := m.Ripen(t.Context(), []billing.Transfer{first, second}, end)
				again, failed := m.Ripen(t.Context(), []billing.Transfer{first, second}, end)
				if err = errors.Join(err, failed); err != nil || len(ripe) != 1 || ripe[0].ID != d.ID || len(again) > 0 {
					t.Fatalf("%+v ripen, then %+v, %v", ripe, again, err)
				}
			}
			m.has(d.Credits, one.tier)
			m.totals(billing.Totals{Arrived: 2 * d.Amount, Deposits: d.Amount, Unmatched: d.Amount, Verified: d.Amount, Sold: d.Credits,
				Credited: d.Credits})
		})
	}
}

// TestVanish: what has vanished from the chain before it counted pays for nothing until it comes again; what had paid is shown as a loss.
func TestVanish(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	d := m.buy(api.CreditPro)
	a := m.transfer(d.Amount)
	m.arrives(false, a)
	if list, err := m.NotFinal(t.Context(), rail, 9); err != nil || len(list) != 1 || list[0].Hash != a.TxHash || list[0].Block != a.Block {
		t.Errorf("not final are %+v, %v", list, err)
	}
	if n, err := m.CountStored(t.Context(), rail, a.TxHash, a.BlockHash); err != nil || n != 1 {
		t.Errorf("%d are stored, %v", n, err)
	}
	vanish := func(gone bool) {
		t.Helper()
		if err := m.Finalize(t.Context(), rail, a.TxHash, gone); err != nil {
			t.Fatal(err)
		}
	}
	vanish(true)
	m.totals(billing.Totals{})
	if n, err := m.CountStored(t.Context(), rail, a.TxHash, a.BlockHash); err != nil || n != 0 {
		t.Errorf("%d are stored after it has vanished, %v", n, err)
	}
	if ripe, err := m.Ripen(t.Context(), []billing.Transfer{a}, opened()); err != nil || len(ripe) > 0 {
		t.Errorf("%+v ripen by what has vanished, %v", ripe, err)
	}
	a.Block, a.BlockHash = 99, [32]byte{99}
	if verified := m.arrives(true, a); len(verified) != 1 {
		t.Fatalf("%v are verified in another block", verified)
	}
	m.has(d.Credits, api.TierPro)
	if n, sum, err := m.Received(t.Context(), time.Time{}); err != nil || n != 1 || sum != d.Amount {
		t.Errorf("%d transfers of %s are received, %v", n, sum, err)
	}
	vanish(true)
	m.totals(billing.Totals{Vanished: d.Amount, Verified: d.Amount, Sold: d.Credits, Credited: d.Credits})
	if n, sum, err := m.Received(t.Context(), time.Time{}); err != nil || n != 0 || sum != 0 {
		t.Errorf("of what has vanished %d transfers of %s are received, %v", n, sum, err)
	}
	list, err := m.Unmatched(t.Context(), 9)
	if err != nil || len(list) != 1 {
		t.Fatalf("unmatched are %+v, %v", list, err)
	}
	_, err = m.Assign(t.Context(), rail, a.TxHash, 0, m.buy(api.CreditHobby).ID, opened())
	is(t, err, api.ReasonNotFound)
	if err := m.WriteOff(t.Context(), rail, a.TxHash, 0, "gone"); err != nil {
		t.Fatal(err)
	}
	is(t, m.WriteOff(t.Context(), rail, a.TxHash, 0, "gone"), api.ReasonNotFound)
	m.has(d.Credits, api.TierPro)
}

// TestAssign: the operator gives what arrived to a deposit, or writes it off, once.
func TestAssign(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	d, other := m.buy(api.CreditHobby), m.buy(api.CreditHobby)
	if other.Amount != d.Amount+1 {
		t.Fatalf("two deposits are of %s and %s", d.Amount, other.Amount)
	}
	late, small := m.transfer(d.Amount), m.transfer(7)
	late.At, small.Rail = d.ExpiresAt.Add(time.Hour), "base"
	m.arrives(false, late, small)
	m.has(0, api.TierFree)
	assign := func(a billing.Transfer, id string) error {
		_, err := m.Assign(t.Context(), a.Rail, a.TxHash, a.LogIndex, id, opened())
		return err
	}
	is(t, assign(late, "none"), api.ReasonDepositNotFound)
	is(t, assign(m.transfer(1), d.ID), api.ReasonNotFound)
	if err := assign(late, d.ID); err != nil {
		t.Fatal(err)
	}
	is(t, assign(late, other.ID), api.ReasonNotFound)
	is(t, assign(small, d.ID), api.ReasonDepositNotFound)
	m.has(d.Credits, api.TierHobby)
	if err := assign(small, other.ID); err != nil { // of another rail and amount: the deposit is one of that from then on
		t.Fatal(err)
	}
	m.has(2*d.Credits, api.TierHobby)
	if list, err := m.Deposits(t.Context(), "", other.ID, 9); err != nil || len(list) != 1 || list[0].Rail != "base" ||
		list[0].Status != api.DepositVerified || list[0].Credited != m.buyer.KeyID {
		t.Errorf("the deposit is %+v, %v", list, err)
	}
	left := m.transfer(9)
	m.arrives(false, left)
	if err := m.WriteOff(t.Context(), rail, left.TxHash, 0, "a gift"); err != nil {
		t.Fatal(err)
	}
	is(t, assign(left, m.buy(api.CreditStarter).ID), api.ReasonNotFound)
	for of, want := range map[string]usdg.Amount{rail: d.Amount + 9, "base": 7, "": d.Amount + 16} {
		if got, err := m.Totals(t.Context(), of); err != nil || got.Arrived != want || got.Unmatched != 0 {
			t.Errorf("on %q arrived %+v, %v, want %s", of, got, err, want)
		}
	}
	if n, err := m.CountDeposits(t.Context()); err != nil || n["verified"] != 2 || n["pending"] != 1 || n["expired"] != 0 {
		t.Errorf("the deposits are %v, %v", n, err)
	}
	if n, sum, err := m.Received(t.Context(), time.Time{}); err != nil || n != 2 || sum != d.Amount+7 { // what was written off paid for nothing
		t.Errorf("received were %d transfers of %s, %v", n, sum, err)
	}
	if n, sum, err := m.Received(t.Context(), time.Now().AddDate(100, 0, 0)); err != nil || n != 0 || sum != 0 {
		t.Errorf("in the future received were %d transfers of %s, %v", n, sum, err)
	}
}

// TestSlots: each deposit has an amount of its own while there are slots, half of them for who has paid before; then its nonce names it.
func TestSlots(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	bounds := amply()
	bounds.Slots = 4
	price := m.order(api.CreditHobby).Amount
	next := func(amount usdg.Amount, named bool) billing.Deposit {
		t.Helper()
		d, err := m.OpenDeposit(t.Context(), m.order(api.CreditHobby), bounds)
		if err != nil || d.Amount != amount || d.Named != named {
			t.Errorf("%+v, %v, want the amount %s, named %t", d, err, amount, named)
		}
		return d
	}
	first := next(price, false)
	next(price+1, false)
	third := next(price, true)
	if verified := m.arrives(false, m.transfer(price)); len(verified) != 1 || verified[0] != first.ID {
		t.Fatalf("%v are verified", verified)
	}
	next(price+2, false)
	next(price+3, false)
	next(price, true)
	named := m.transfer(price)
	named.Note = third.Nonce[:]
	if verified := m.arrives(false, named); len(verified) != 1 || verified[0] != third.ID {
		t.Errorf("%v are verified by a nonce", verified)
	}
	end := first.ExpiresAt // of all
	for _, one := range []struct {
		free   time.Time
		amount usdg.Amount
		named  bool
	}{{end, price, true}, {end.Add(time.Millisecond), price, false}} {
		if err := m.ExpireDeposits(t.Context(), rail, one.free, one.free); err != nil {
			t.Fatal(err)
		}
		next(one.amount, one.named)
	}
	if n, err := m.CountDeposits(t.Context()); err != nil || n["expired"] != 5 || n["verified"] != 2 || n["pending"] != 1 {
		t.Errorf("the deposits are %v, %v", n, err)
	}
}

// TestAdmitDeposit: who may open a deposit, on both sides of each bound.
func TestAdmitDeposit(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	refused := errors.New("no strangers")
	strict := billing.DepositBounds{Slots: 9, Pending: 2, Unpaid: 3, Stranger: func() error { return refused }}
	if _, err := m.OpenDeposit(t.Context(), m.order(api.CreditHobby), strict); !errors.Is(err, refused) {
		t.Errorf("a stranger: %v", err)
	}
	strict.Stranger = nil
	try := func(change func(d *billing.Deposit)) error {
		d := m.order(api.CreditHobby)
		change(&d)
		_, err := m.OpenDeposit(t.Context(), d, strict)
		return err
	}
	is(t, try(func(d *billing.Deposit) { d.KeyID = "cv_test_none" }), api.ReasonKeyNotFound)
	if err := try(func(d *billing.Deposit) { d.OwnerID = "nobody" }); !errors.Is(err, billing.ErrNoActiveKey) {
		t.Errorf("without a key: %v", err)
	}
	later := func(by time.Duration) func(*billing.Deposit) {
		return func(d *billing.Deposit) { d.CreatedAt, d.ExpiresAt = d.CreatedAt.Add(by), d.ExpiresAt.Add(by) }
	}
	for i, one := range []struct {
		after time.Duration
		may   bool
	}{
		{0, true}, {0, true}, {0, false}, {api.DepositWindow - time.Millisecond, false}, {api.DepositWindow, true},
		{2 * api.DepositWindow, false}, {24*time.Hour - time.Millisecond, false}, {24 * time.Hour, true},
	} {
		if err := try(later(one.after)); (err == nil) != one.may {
			t.Errorf("the %dth: %v", i, err)
		}
	}
	if _, _, err := m.RevokeKey(t.Context(), m.buyer.KeyID, opened()); err != nil {
		t.Fatal(err)
	}
	if err := try(later(99 * time.Hour)); !errors.Is(err, billing.ErrNoActiveKey) {
		t.Errorf("with a revoked key: %v", err)
	}
}

// TestScan: how far a chain was looked at is noted with what was found there.
func TestScan(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	d := m.buy(api.CreditHobby)
	if seen, err := m.ScanCursor(t.Context(), rail); err != nil || seen.Next != 0 {
		t.Errorf("before the first scan: %+v, %v", seen, err)
	}
	for _, next := range []uint64{5, 9} {
		seen := billing.ScanCursor{Rail: rail, Next: next, At: opened().Add(time.Duration(next) * time.Second)}
		if _, err := m.Arrive(t.Context(), []billing.Transfer{m.transfer(d.Amount)}, seen, false, opened()); err != nil {
			t.Fatal(err)
		}
		if got, err := m.ScanCursor(t.Context(), rail); err != nil || got.Next != next || !got.At.Equal(seen.At) {
			t.Errorf("after a scan: %+v, %v", got, err)
		}
	}
	m.has(d.Credits, api.TierHobby)
	genesis := [32]byte{7}
	for range 2 {
		if of, err := m.RememberChain(t.Context(), rail, genesis); err != nil || of != [32]byte{7} {
			t.Errorf("the chain is %x, %v", of, err)
		}
		genesis = [32]byte{8}
	}
	if known, err := m.Chains(t.Context()); err != nil || len(known) != 1 || known[rail] != [32]byte{7} {
		t.Errorf("the chains are %v, %v", known, err)
	}
}

package x402_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// market is a settler that sells packs of credits.
type market struct {
	*settler
	keys *account.Keys
	shop *account.Shop
	open bool // sign-up

	mu     sync.Mutex // guards bought
	bought int
}

func newMarket(t *testing.T) *market {
	t.Helper()
	m := &market{settler: newSettler(t), open: true}
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: m.store, Now: func() time.Time { return m.now }})
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	m.keys = keys
	m.shop = &account.Shop{
		Keys: keys, Secrets: [][]byte{bytes.Repeat([]byte{7}, 32)}, SignupOpen: func() bool { return m.open },
		Checksum: func(address string) (string, error) { return strings.ToUpper(address), nil },
		NewID:    func() string { return fmt.Sprint("owner ", made.Add(1)) },
	}
	clock := func() time.Time { return m.now }
	m.sells, m.deposits = m.shop, billing.NewDeposits(billing.DepositsConfig{
		Store: m.store, Meter: billing.New(billing.Config{Store: m.store, Now: clock}), Keys: keys, Observer: m, Now: clock,
	})
	m.restart()
	return m
}

// Bought counts a purchase that was paid.
func (m *market) Bought(string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bought++
}

// arrive does what the scanner does where it finds a transfer, and returns the purchases that were paid by it.
func (m *market) arrive(found billing.Transfer) []billing.Deposit {
	m.t.Helper()
	books, err := m.deposits.Lock(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	defer books.Unlock()
	done, err := m.store.Arrive(m.t.Context(), []billing.Transfer{found}, billing.ScanCursor{}, false, m.now)
	if err != nil {
		m.t.Error(err)
	}
	books.Sold(done...)
	return done
}

// pack is what buys a pack.
func pack(p api.CreditPack) x402.Subject {
	return x402.Subject{Pack: p, Fingerprint: x402.Fingerprint("POST", "/v1/credits", "pack="+string(p))}
}

// starter is a payment for the pack starter.
func starter(nonce byte, id string) x402.Exact {
	e := exact(nonce)
	e.Value, e.Identifier = 1_000_000, id
	return e
}

// buy presents a payment for starter.
func (m *market) buy(e x402.Exact) (api.IssuedKey, error) {
	m.t.Helper()
	_, c, err := m.pay(e, pack(api.CreditStarter), "")
	if err != nil {
		return api.IssuedKey{}, err
	}
	if c.Bought == nil {
		m.t.Fatalf("nothing was bought: %+v", c)
	}
	return *c.Bought, nil
}

// sold checks that the books have so many purchases of starter, each with its key and its credits, and that they agree.
func (m *market) sold(want int64) {
	m.t.Helper()
	sum, err := m.store.Totals(m.t.Context(), rail)
	if err != nil || sum.Deposits != usdg.Amount(want*1_000_000) || sum.Verified != sum.Deposits || sum.Arrived != sum.Deposits || sum.Sold != want*1_000 ||
		sum.Credited != sum.Sold {
		m.t.Errorf("the books say %+v, not %d purchases, %v", sum, want, err)
	}
	if findings, err := m.store.Audit(m.t.Context()); err != nil || len(findings) > 0 {
		m.t.Errorf("%v, %v", findings, err)
	}
	stored, err := m.store.Keys(m.t.Context(), nil)
	if err != nil || int64(len(stored)) != want || m.bought != int(want) {
		m.t.Errorf("%d keys, %d told, not %d, %v", len(stored), m.bought, want, err)
	}
}

// TestPurchase buys a pack: a key of a new owner with the credits on it, and a further one of the same owner. What was bought is told again
// without the key, for ever, however it is asked for again.
func TestPurchase(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	first, err := m.buy(starter(1, ""))
	if err != nil || !strings.HasPrefix(first.Key, "cv_test_") || len(first.Key) != 40 || first.Key[:16] != first.KeyID || *first.CreditBalance != 1_000 ||
		first.Name != "x402 starter" || first.Tier != api.TierFree {
		t.Fatalf("%+v, %v", first, err)
	}
	key, err := m.keys.Resolve(first.Key)
	if err != nil || key.ID != first.KeyID || key.OwnerID != "owner 1" {
		t.Errorf("%+v, %v", key, err)
	}
	second, err := m.buy(starter(2, "0123456789abcdef"))
	if other, err := m.keys.Resolve(second.Key); err != nil || other.OwnerID != key.OwnerID || other.ID == key.ID {
		t.Errorf("%+v, %v", other, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	owners, err := m.store.Owners(t.Context())
	if err != nil || len(owners) != 1 || owners[0].Credits != 2_000 || len(owners[0].Identities) != 1 || owners[0].Identities[0].Subject != strings.ToUpper(payer) {
		t.Errorf("%+v, %v", owners, err)
	}
	deposits, err := m.store.Deposits(t.Context(), key.OwnerID, "", 10)
	if err != nil || len(deposits) != 2 || deposits[0].Status != api.DepositVerified || deposits[0].Pack != api.CreditStarter || deposits[0].TxHash == [32]byte{} {
		t.Errorf("%+v, %v", deposits, err)
	}
	entries, err := m.store.Entries(t.Context(), "", 10)
	if err != nil || len(entries) != 2 || entries[1].Kind != billing.KindBuy || entries[1].KeyID != key.ID || entries[1].Amount != 1_000 {
		t.Errorf("%+v, %v", entries, err)
	}
	again := first
	again.Key = ""
	for i, e := range []x402.Exact{starter(1, ""), starter(1, "0123456789abcdefg"), starter(1, "")} {
		if i == 2 {
			m.now = m.now.Add(400 * 24 * time.Hour)
			if err := m.store.PruneAnswers(t.Context(), m.now); err != nil {
				t.Fatal(err)
			}
			m.restart()
		}
		if told, err := m.buy(e); err != nil || told.Key != "" || told.KeyID != again.KeyID || *told.CreditBalance != 1_000 || !told.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("%d: %+v, %v", i, told, err)
		}
	}
	_, _, err = m.pay(starter(1, ""), pack(api.CreditHobby), "")
	is(t, err, api.ReasonAlreadyUsed)
	_, _, err = m.pay(starter(1, ""), fresh(), "x")
	is(t, err, api.ReasonAlreadyUsed)
	m.sold(2)
}

// TestPurchaseTier buys packs that raise the tier of all keys of their owner, and of none else.
func TestPurchaseTier(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	first, err := m.buy(starter(1, ""))
	if err != nil {
		t.Fatal(err)
	}
	e := exact(2)
	e.Value = 70_000_000
	_, c, err := m.pay(e, pack(api.CreditPro), "")
	if err != nil || c.Bought.Tier != api.TierPro || *c.Bought.CreditBalance != 100_000 {
		t.Fatalf("%+v, %v", c, err)
	}
	rows, err := m.store.Keys(t.Context(), nil)
	if err != nil || len(rows) != 2 || rows[0].Tier != api.TierPro || rows[1].Tier != api.TierPro {
		t.Errorf("%+v, %v, of which %s was first", rows, err, first.KeyID)
	}
}

// TestPurchaseTold is both sides of each bound of who gets the key again: the identifier of the first request, long enough, within a day.
func TestPurchaseTold(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, one := range map[string]struct {
		first, again string
		after        time.Duration
		secrets      [][]byte
		told         bool
	}{
		"16 characters":      {first: "0123456789abcdef", again: "0123456789abcdef", told: true},
		"15 characters":      {first: "0123456789abcde", again: "0123456789abcde"},
		"16 bytes":           {first: "01234567ääää", again: "01234567ääää"},
		"128 characters":     {first: strings.Repeat("x", 128), again: strings.Repeat("x", 128), told: true},
		"none":               {},
		"none again":         {first: "0123456789abcdef"},
		"none at first":      {again: "0123456789abcdef"},
		"another":            {first: "0123456789abcdef", again: "0123456789abcdeg"},
		"in other case":      {first: "0123456789abcdef", again: "0123456789ABCDEF"},
		"just within a day":  {first: "0123456789abcdef", again: "0123456789abcdef", after: day - time.Millisecond, told: true},
		"after a day":        {first: "0123456789abcdef", again: "0123456789abcdef", after: day},
		"with a new secret":  {first: "0123456789abcdef", again: "0123456789abcdef", secrets: [][]byte{bytes.Repeat([]byte{8}, 32), bytes.Repeat([]byte{7}, 32)}, told: true},
		"the secret is gone": {first: "0123456789abcdef", again: "0123456789abcdef", secrets: [][]byte{bytes.Repeat([]byte{8}, 32)}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			first, err := m.buy(starter(1, one.first))
			if err != nil || first.Key == "" {
				t.Fatalf("%s: %+v, %v", name, first, err)
			}
			if m.now = m.now.Add(one.after); one.secrets != nil {
				m.shop.Secrets = one.secrets
			}
			m.restart()
			again, err := m.buy(starter(1, one.again))
			if err != nil || (again.Key != "") != one.told || again.Key != "" && again.Key != first.Key || again.KeyID != first.KeyID {
				t.Errorf("%s: %+v, %v", name, again, err)
			}
			m.sold(1)
		})
	}
}

// TestPurchaseIdentifier has an identifier name one payment: with another it is refused before anything else is looked at.
func TestPurchaseIdentifier(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	if _, err := m.buy(starter(1, "0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	bad := starter(2, "0123456789abcdef")
	bad.Signature[0], bad.Value = 2, 3
	_, err := m.buy(bad)
	is(t, err, api.ReasonIDConflict)
	_, _, err = m.pay(func() x402.Exact { e := exact(3); e.Identifier = "0123456789abcdef"; return e }(), fresh(), "x")
	is(t, err, api.ReasonIDConflict)
	m.sold(1)
}

// TestPurchaseRefused is both sides of each bound on who may buy. What is refused costs nothing, and the chain is not asked.
func TestPurchaseRefused(t *testing.T) {
	t.Parallel()
	wallet := account.Identity{Kind: account.KindWallet, Subject: strings.ToUpper(payer)}
	known := func(m *market, keys int) { // an owner with so many keys
		o := account.Opening{Session: account.Session{OwnerID: "known", CreatedAt: now(), ExpiresAt: now().Add(time.Hour)}, Identity: wallet, New: true}
		if _, err := m.store.OpenSession(m.t.Context(), o); err != nil {
			m.t.Fatal(err)
		}
		for i := range keys { // ten a day, as who never paid may
			m.now = now().Add(time.Duration(i/10-3) * 25 * time.Hour)
			if _, err := m.keys.Issue(m.t.Context(), account.NewKey{OwnerID: "known", Name: fmt.Sprint("key ", i)}); err != nil {
				m.t.Fatal(err)
			}
		}
		m.now = now()
	}
	reserve := func(m *market, nonce byte, end int64) { // a purchase that is pending
		m.bank.held = true
		e := starter(nonce, "")
		e.ValidBefore = end
		_, err := m.buy(e)
		is(m.t, err, api.ReasonSettling)
	}
	fail := func(m *market, nonce byte) { // and has failed then
		if _, err := m.store.FailSettlement(m.t.Context(), starter(nonce, "").Key(), "test", now()); err != nil {
			m.t.Fatal(err)
		}
	}
	far := now().Unix() + 60
	for name, one := range map[string]struct {
		given func(*market)
		want  api.Reason
	}{
		"nobody, sign-up is open":      {func(*market) {}, ""},
		"nobody, sign-up is not open":  {func(m *market) { m.open = false }, api.ReasonSignupClosed},
		"known, sign-up is not open":   {func(m *market) { known(m, 0); m.open = false }, ""},
		"24 keys":                      {func(m *market) { known(m, 24) }, ""},
		"25 keys":                      {func(m *market) { known(m, 25) }, api.ReasonInvalidRequest},
		"23 keys, one being bought":    {func(m *market) { known(m, 23); reserve(m, 7, far) }, ""},
		"24 keys, one being bought":    {func(m *market) { known(m, 24); reserve(m, 7, far) }, api.ReasonInvalidRequest},
		"24 keys, one failed, holds":   {func(m *market) { known(m, 24); reserve(m, 7, far); fail(m, 7); m.now = now().Add(59 * time.Second) }, api.ReasonInvalidRequest},
		"24 keys, one failed, is over": {func(m *market) { known(m, 24); reserve(m, 7, far); fail(m, 7); m.now = now().Add(60 * time.Second) }, ""},
		"disabled": {func(m *market) {
			known(m, 0)
			if err := m.keys.Disable(t.Context(), "known"); err != nil {
				t.Fatal(err)
			}
		}, api.ReasonOwnerDisabled},
		"enabled again": {func(m *market) {
			known(m, 0)
			if err := errorsOf(m.keys.Disable(t.Context(), "known"), m.keys.Enable(t.Context(), "known")); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"25 keys, one of which was revoked": {func(m *market) {
			known(m, 25)
			if _, err := m.keys.Revoke(t.Context(), m.keys.List("known")[0].ID); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			given := one.given
			given(m)
			tried, sent := m.bank.tried, len(m.bank.sent)
			if m.bank.held {
				m.bank.held = false
				m.bank.count++ // the one that is held has its place
			}
			e := starter(9, "")
			e.ValidBefore = far + 600
			key, err := m.buy(e)
			if one.want == "" {
				if err != nil || key.Key == "" {
					t.Errorf("%s: %+v, %v", name, key, err)
				}
				return
			}
			is(t, err, one.want)
			if m.bank.tried != tried || len(m.bank.sent) != sent {
				t.Errorf("%s: the chain was asked", name)
			}
			bad := e
			bad.Signature[0] = 2
			_, err = m.buy(bad)
			is(t, err, api.ReasonBadSignature) // who is asked about, only the wallet itself hears
		})
	}
}

func errorsOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestPurchaseReserves has a purchase that is begun hold a place among the keys of an owner, for the console too.
func TestPurchaseReserves(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	first, err := m.buy(starter(1, ""))
	if err != nil {
		t.Fatal(err)
	}
	owner, err := m.keys.Resolve(first.Key)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 23 {
		if _, err := m.keys.Issue(t.Context(), account.NewKey{OwnerID: owner.OwnerID, Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	m.bank.held = true
	_, err = m.buy(starter(2, ""))
	is(t, err, api.ReasonSettling)
	_, err = m.keys.Issue(t.Context(), account.NewKey{OwnerID: owner.OwnerID, Name: "one more"})
	is(t, err, api.ReasonInvalidRequest)
	m.bank.mine(m.bank.sent[len(m.bank.sent)-1])
	if err := m.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(m.keys.List(owner.OwnerID)); n != 25 {
		t.Errorf("%d keys", n)
	}
}

// TestPurchaseFinishers has each of those who can finish a purchase do so, first, last and twice: it is finished once.
func TestPurchaseFinishers(t *testing.T) {
	t.Parallel()
	const id = "0123456789abcdef"
	scan := func(m *market) {
		hash, used := m.bank.used[starter(1, "").Key()]
		if !used {
			t.Error("nothing is in a block")
		}
		m.arrive(billing.Transfer{
			Rail: rail, TxHash: hash, LogIndex: 1, Sender: payer, Amount: 1_000_000, At: now(), Authorized: true, Authorization: [32]byte{1},
		})
	}
	resume := func(m *market) {
		if err := m.Resume(t.Context()); err != nil {
			t.Error(err)
		}
	}
	ask := func(m *market) {
		if key, err := m.buy(starter(1, "")); err != nil || key.Key != "" {
			t.Errorf("%+v, %v", key, err)
		}
	}
	all := map[string]func(*market){"scan": scan, "resume": resume, "ask": ask}
	for name, first := range all {
		for then, second := range all {
			m := newMarket(t)
			m.bank.held = true
			_, err := m.buy(starter(1, id))
			is(t, err, api.ReasonSettling)
			m.bank.mine(m.bank.sent[0])
			m.restart() // killed
			m.open = false
			first(m)
			second(m)
			if key, err := m.buy(starter(1, id)); err != nil || key.Key == "" {
				t.Errorf("%s, %s: %+v, %v", name, then, key, err)
			} else if _, err := m.keys.Resolve(key.Key); err != nil {
				t.Errorf("%s, %s: %v", name, then, err)
			}
			m.sold(1)
		}
	}
}

// TestPurchaseScannedFirst has the scanner finish a purchase while its first request waits for the block: that gets the key.
func TestPurchaseScannedFirst(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.bank.onSettled = func() {
		m.bank.onSettled = nil
		if done := m.arrive(billing.Transfer{
			Rail: rail, TxHash: m.bank.used[starter(1, "").Key()], LogIndex: 1, Sender: payer, Amount: 1_000_000, At: now(),
			Authorized: true, Authorization: [32]byte{1},
		}); len(done) != 1 {
			t.Errorf("%+v", done)
		}
	}
	if key, err := m.buy(starter(1, "")); err != nil || key.Key == "" || m.bank.onSettled != nil {
		t.Errorf("%+v, %v", key, err)
	}
	m.sold(1)
}

// TestPurchaseMoved has the chain settle a purchase again, in another transaction, after it was reorganised: nothing is given twice.
func TestPurchaseMoved(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	first, err := m.buy(starter(1, ""))
	if err != nil {
		t.Fatal(err)
	}
	hash := m.bank.used[starter(1, "").Key()]
	if err := m.store.Finalize(t.Context(), rail, hash, true); err != nil {
		t.Fatal(err)
	}
	other := billing.Transfer{Rail: rail, TxHash: [32]byte{99}, Sender: payer, Amount: 1_000_000, At: now(), Authorized: true, Authorization: [32]byte{1}}
	if done := m.arrive(other); len(done) > 0 {
		t.Errorf("%+v", done)
	}
	m.sold(1)
	deposits, err := m.store.Deposits(t.Context(), "", "", 10)
	if err != nil || len(deposits) != 1 || deposits[0].TxHash != other.TxHash || deposits[0].Credited != first.KeyID {
		t.Errorf("%+v, %v", deposits, err)
	}
}

// TestPurchaseAtOnce presents one payment many times at once, and several of one payer, who is nobody yet: each makes one key, all of one
// owner, and one request of each payment is told it.
func TestPurchaseAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.wait = time.Minute // for one another: three of a payer are settled at a time
	m.restart()
	var all sync.WaitGroup
	var mu sync.Mutex
	told := map[string]int{}
	for i := range 24 {
		all.Go(func() {
			key, err := m.buy(starter(byte(i%4), ""))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if key.Key != "" {
				told[key.KeyID]++
			}
		})
	}
	all.Wait()
	for id, n := range told {
		if n != 1 {
			t.Errorf("%s was told %d times", id, n)
		}
	}
	if len(told) != 4 || len(m.bank.sent) != 4 {
		t.Errorf("%d keys, %d transactions", len(told), len(m.bank.sent))
	}
	if owners, err := m.store.Owners(t.Context()); err != nil || len(owners) != 1 || owners[0].Keys != 4 {
		t.Errorf("%+v, %v", owners, err)
	}
	m.sold(4)
}

// TestPurchaseDerived makes keys that depend on all that names a payment, and on the secret, and look as all keys do.
func TestPurchaseDerived(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	paid := account.Paid{Rail: rail, Token: token, Payer: payer, Nonce: [32]byte{1}}
	seen := map[string]bool{}
	for _, change := range []func(*account.Paid){
		func(*account.Paid) {}, func(p *account.Paid) { p.Rail = "base" }, func(p *account.Paid) { p.Token = payer }, func(p *account.Paid) { p.Payer = token },
		func(p *account.Paid) { p.Nonce[31] = 1 },
	} {
		of := paid
		change(&of)
		p, err := m.shop.Purchase(of)
		if err != nil || seen[p.KeyID] {
			t.Errorf("%+v, %v", p, err)
		}
		seen[p.KeyID] = true
		text, ok, err := m.shop.Secret(of, p.KeyHash)
		if err != nil || !ok || sha256.Sum256([]byte(text)) != p.KeyHash || text[:16] != p.KeyID {
			t.Errorf("%q, %v, %v", text, ok, err)
		}
	}
	upper := paid
	upper.Payer, upper.Token = "0x"+strings.ToUpper(payer[2:]), "0x"+strings.ToUpper(token[2:])
	if p, err := m.shop.Purchase(upper); err != nil || !seen[p.KeyID] {
		t.Errorf("in other case: %+v, %v", p, err)
	}
	counts := map[rune]int{}
	for i := range 400 {
		paid.Nonce = [32]byte{byte(i), byte(i >> 8), 3}
		p, err := m.shop.Purchase(paid)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := m.shop.Secret(paid, p.KeyHash)
		for _, c := range text[8:] {
			counts[c]++
		}
	}
	least := slices.Min(slices.Collect(func(yield func(int) bool) {
		for _, n := range counts {
			if !yield(n) {
				return
			}
		}
	}))
	if len(counts) != 62 || least < 120 { // of 12,800 characters each is there about 206 times
		t.Errorf("%d characters, one %d times", len(counts), least)
	}
}

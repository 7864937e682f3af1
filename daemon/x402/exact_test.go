package x402_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

const gasKey = "0x4000000000000000000000000000000000000004"

// bank is a chain with a token that knows authorizations, and the key that settles on it.
type bank struct {
	t     *testing.T
	store *store.Store

	mu       sync.Mutex
	poor     bool     // the payer has nothing once it comes to paying
	refuses  bool     // the node says that the token would refuse what is tried
	has      *big.Int // a payer's balance; nil is plenty
	asked    int      // for balances
	customer bool     // the last of these was of one
	held     bool     // what is sent waits
	hidden   bool     // the node shows nothing that is in a block
	dry      bool
	price    *big.Int // of gas
	unserved bool
	served   bool                      // it is a facilitator, which settles by transactions of its own
	says     func(settle func()) error // what it says of that; nil means that it does it
	deaf     error                     // of the node
	count    uint64
	used     map[x402.Key][32]byte
	canceled map[x402.Key]bool
	blocks   map[[32]byte]x402.Payment
	sent     [][]byte
	tried    int
	head     uint64 // the newest block when a transaction is signed
	first    uint64 // from which it was last looked for what became of an authorization

	onSettled  func() // is called before the chain is looked at
	onSimulate func() // is called before a settlement is tried
}

// draft is a transaction of the bank.
type draft struct {
	Authorization x402.Authorization
	Nonce         uint64
	Price         int
	By            string
}

func (b *bank) Address() string { return gasKey }

// SignerOf takes signatures that begin with 1 for good.
func (b *bank) SignerOf(a x402.Authorization) (string, error) {
	if a.Signature[0] != 1 {
		return gasKey, nil
	}
	return a.From, nil
}

func (b *bank) Ready(context.Context) (x402.Funds, error) {
	has := x402.Funds{Balance: big.NewInt(1e15), GasPrice: b.price}
	if b.dry {
		return has, x402.ErrDry
	}
	if b.unserved {
		return has, x402.ErrUnserved
	}
	return has, b.deaf
}

func (b *bank) BalanceOf(_ context.Context, _ string, least uint64, customer bool) (*big.Int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked, b.customer = b.asked+1, customer
	switch {
	case b.has == nil:
		return big.NewInt(1e15), nil
	case b.has.Cmp(new(big.Int).SetUint64(least)) < 0:
		return b.has, x402.ErrPoor
	}
	return b.has, nil
}

func (b *bank) Simulate(_ context.Context, a x402.Authorization) (uint64, error) {
	if b.onSimulate != nil {
		b.onSimulate()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tried++
	if _, used := b.used[a.Key()]; used || b.canceled[a.Key()] {
		return 0, x402.ErrUsed
	}
	if b.refuses {
		return 0, x402.ErrReverts
	}
	return 65_000, b.deaf
}

func (b *bank) Prepare(_ context.Context, a x402.Authorization, _, floor uint64, replaces []byte) (x402.SignedTx, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dry {
		return x402.SignedTx{}, x402.ErrDry
	}
	d := draft{Authorization: a, Nonce: max(b.count, floor)}
	if old := (draft{}); len(replaces) > 0 && json.Unmarshal(replaces, &old) == nil {
		if old.Nonce >= b.count {
			d.Nonce = old.Nonce
		}
		d.Price = old.Price + 1
	}
	raw, err := json.Marshal(d)
	return x402.SignedTx{Raw: raw, Hash: sha256.Sum256(raw), Sender: gasKey, AccountNonce: d.Nonce, Block: b.head, At: now()}, err
}

// Send takes a transaction. It must have been written down.
func (b *bank) Send(ctx context.Context, raw []byte) error {
	rows, err := b.store.PendingSettlements(ctx, rail, now().AddDate(9, 0, 0), 100)
	if err != nil {
		return err
	}
	written := false
	for _, row := range rows {
		for _, tx := range row.Txs {
			written = written || string(tx.Raw) == string(raw) && (row.Body != nil || row.Pack != "")
		}
	}
	if !written {
		b.t.Error("it is broadcast before it is on disk")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deaf != nil {
		return b.deaf
	}
	b.sent = append(b.sent, raw)
	if b.served {
		var d draft
		if err := json.Unmarshal(raw, &d); err != nil {
			return err
		}
		if b.says == nil {
			b.says = func(settle func()) error { settle(); return nil }
		}
		return b.says(func() { b.byOthers(d.Authorization) })
	}
	if !b.held {
		b.mine(raw)
	}
	return nil
}

// mine puts a transaction into a block, if its place is not taken.
func (b *bank) mine(raw []byte) {
	var d draft
	if err := json.Unmarshal(raw, &d); err != nil {
		b.t.Fatal(err)
	}
	if d.By == "" {
		if d.Nonce != b.count {
			return
		}
		b.count++
	}
	hash, k := sha256.Sum256(raw), d.Authorization.Key()
	p := x402.Payment{From: gasKey, To: token, Block: 7, BlockHash: [32]byte{7}, At: now(), GasUsed: 50_000, Fee: big.NewInt(50_000e9)}
	if _, used := b.used[k]; !used && !b.poor && !b.canceled[k] {
		p.Succeeded = true
		p.Transfers = []x402.Transfer{{Contract: token, From: d.Authorization.From, To: d.Authorization.To, Amount: d.Authorization.Value,
			LogIndex: 1, Authorized: true, Authorization: d.Authorization.Nonce}}
		b.used[k] = hash
	}
	b.blocks[hash] = p
}

// byOthers has somebody else submit an authorization.
func (b *bank) byOthers(a x402.Authorization) (hash [32]byte) {
	raw, err := json.Marshal(draft{Authorization: a, By: "another"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.mine(raw)
	return sha256.Sum256(raw)
}

func (b *bank) Settled(_ context.Context, hash [32]byte, _ time.Duration) (x402.Payment, error) {
	if b.onSettled != nil {
		b.onSettled()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.blocks[hash]
	if !ok || b.hidden {
		return p, errors.Join(b.deaf, x402.ErrNotVisible)
	}
	return p, b.deaf
}

func (b *bank) Fate(_ context.Context, k x402.Key, first, _ uint64) ([32]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = first
	switch hash, used := b.used[k]; {
	case b.deaf != nil:
		return hash, b.deaf
	case b.canceled[k]:
		return hash, x402.ErrCanceled
	case !used:
		return hash, x402.ErrUnused
	case b.hidden:
		return hash, x402.ErrNotVisible
	default:
		return hash, nil
	}
}

// settler is a settler on a real store and a bank.
type settler struct {
	*x402.Settler
	bank  *bank
	store *store.Store
	now   time.Time
	t     *testing.T

	facilitator string
	gas         x402.GasPolicy
	told        []string

	sells    *account.Shop // nil for none
	deposits *billing.Deposits
	wait     time.Duration
}

func (s *settler) Settled(rail string, state x402.SettlementState) {
	s.bank.mu.Lock()
	defer s.bank.mu.Unlock()
	s.told = append(s.told, fmt.Sprint(rail, " ", state))
}

func (s *settler) Burnt(rail string, gas uint64, fee *big.Int, reverted bool) {
	s.bank.mu.Lock()
	defer s.bank.mu.Unlock()
	s.told = append(s.told, fmt.Sprint(rail, " ", gas, " ", fee, " ", reverted))
}

func newSettler(t *testing.T) *settler {
	t.Helper()
	kept, err := store.Open(t.Context(), testbed.Place(t), now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	s := &settler{store: kept, now: now(), t: t, bank: &bank{t: t, store: kept, used: map[x402.Key][32]byte{}, canceled: map[x402.Key]bool{},
		blocks: map[[32]byte]x402.Payment{}}}
	s.restart()
	return s
}

// observer is told what becomes of settlements, where somebody looks.
func (s *settler) observer() x402.GasObserver {
	if s.told == nil {
		return nil
	}
	return s
}

// restart makes the settler again, as after a kill.
func (s *settler) restart() {
	s.Settler = x402.NewSettler(x402.SettlerConfig{
		Rail: x402.Rail{ID: rail, ChainID: api.ChainIDTest, Token: token, Treasury: treasury,
			Domain: x402.Domain{Name: "Global Dollar", Version: "1"}},
		Sender: s.bank, Store: s.store,
		Now: func() time.Time { return s.now }, Facilitator: s.facilitator, Gas: s.gas, Observer: s.observer(), Shop: s.sells, Deposits: s.deposits,
		Wait: s.wait,
	})
}

// exact is a payment for fresh that its payer has signed.
func exact(nonce byte) x402.Exact {
	e := x402.Exact{Authorization: x402.Authorization{Rail: rail, From: payer, To: treasury, Value: 1_000, ValidBefore: now().Unix() + 60, Nonce: [32]byte{nonce}}}
	e.Signature[0], e.Payload = 1, fmt.Sprint("payload ", nonce)
	return e
}

// named is exact with an identifier, by which its answer is given again.
func named(nonce byte) x402.Exact {
	e := exact(nonce)
	e.Identifier = fmt.Sprintf("identifier-of-%02x", nonce)
	return e
}

// by is e as another payer has signed it.
func by(e x402.Exact, payer byte) x402.Exact {
	e.From = fmt.Sprintf("0x%040x", 0x3000+int(payer))
	e.Payload += " of " + e.From
	return e
}

// pay presents a payment and has it settled for an answer, or returns the answer that is kept.
func (s *settler) pay(e x402.Exact, sub x402.Subject, body string) (string, *x402.Claim, error) {
	s.t.Helper()
	c, err := s.ClaimExact(s.t.Context(), e, sub)
	if err != nil {
		return "", nil, err
	}
	defer c.Close()
	if c.Replay != nil {
		return string(c.Replay.Body), c, nil
	}
	return body, c, c.Spend(s.t.Context(), []byte(body))
}

// is checks why a payment was refused.
func is(t *testing.T, err error, reason api.Reason) {
	t.Helper()
	if !errors.Is(err, &api.Error{Reason: reason}) {
		t.Errorf("%v, want %s", err, reason)
	}
}

// booked checks how much the books say was paid for calls.
func (s *settler) booked(micros int64) {
	s.t.Helper()
	if sum, err := s.store.Totals(s.t.Context(), ""); err != nil || int64(sum.Calls) != micros || sum.Arrived != sum.Calls {
		s.t.Errorf("the books say %+v, %v", sum, err)
	}
}

// TestExactOnce settles a payment, once, and gives the same answer when it is sent again, also after a restart.
func TestExactOnce(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	e := named(1)
	for i := range 4 {
		if i == 2 {
			s.restart()
		}
		body, c, err := s.pay(e, fresh(), fmt.Sprint("answer ", i))
		if err != nil || body != "answer 0" {
			t.Fatalf("%d: %q, %v", i, body, err)
		}
		if r := c.Receipt; r == nil || !r.Success || r.Payer != payer || r.Network != "eip155:46630" || r.Transaction != fmt.Sprintf("0x%x", s.bank.used[e.Key()]) {
			t.Errorf("the receipt is %+v", r)
		}
	}
	other := fresh()
	other.Fingerprint = "another"
	_, _, err := s.pay(e, other, "x")
	is(t, err, api.ReasonAlreadyUsed)
	forged := e
	forged.Payload = "another"
	_, _, err = s.pay(forged, fresh(), "x")
	is(t, err, api.ReasonIDConflict)
	forged.Identifier = ""
	_, _, err = s.pay(forged, fresh(), "x")
	is(t, err, api.ReasonAlreadyUsed)
	if err := s.store.PruneAnswers(t.Context(), now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.pay(e, fresh(), "x")
	is(t, err, api.ReasonAlreadyUsed)
	if len(s.bank.sent) != 1 {
		t.Errorf("%d transactions were sent", len(s.bank.sent))
	}
	s.booked(1_000)
}

// TestExactToldOnce gives an answer again to who has the identifier of its payment, once to who was told nothing yet, and to nobody else
// that has read the chain: not where one answer was lost with a kill, nor where the row is of a daemon that knew no better.
func TestExactToldOnce(t *testing.T) {
	t.Parallel()
	const id, short, other = "identifier-of-16", "identifier-o-15", "identifier-of-17"
	for name, one := range map[string]struct {
		first   string // identifier
		payload string // of the row, "" for that of today
		lost    bool   // it was settled, and nobody was told
		bytes   string // by which the payload is another one again
		again   string
		told    int // times of three
	}{
		"identified":                   {first: id, again: id, told: 3},
		"identified, lost":             {first: id, again: id, lost: true, told: 3},
		"none":                         {},
		"none, lost":                   {lost: true, told: 1},
		"none, lost, in other bytes":   {lost: true, bytes: " "},
		"short":                        {first: short, again: short},
		"short, lost":                  {first: short, again: short, lost: true, told: 1},
		"of before":                    {payload: "former"},
		"of before, lost":              {payload: "former", lost: true, told: 1},
		"of before, identified":        {first: id, payload: "former", again: id, told: 3},
		"of before, lost, by a reader": {first: id, payload: "former", lost: true},
		"of before, lost, by another":  {first: id, payload: "former", lost: true, again: other},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSettler(t)
			e := exact(1)
			e.Identifier = one.first
			if one.payload != "" {
				e.Payload = x402.FormerPayload(e)
			}
			s.bank.held = one.lost
			_, _, err := s.pay(e, fresh(), "answer")
			if one.lost {
				is(t, err, api.ReasonSettling)
				s.bank.held = false
				for range 2 { // it is sent again, and then seen
					if err := s.Resume(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			} else if err != nil {
				t.Fatal(err)
			}
			s.restart()
			e = exact(1)
			e.Identifier, e.Payload = one.again, e.Payload+one.bytes
			told := 0
			for range 3 {
				switch body, _, err := s.pay(e, fresh(), "x"); {
				case err == nil && body == "answer":
					told++
				default:
					is(t, err, api.ReasonAlreadyUsed)
				}
			}
			if told != one.told {
				t.Errorf("it was told %d times, not %d", told, one.told)
			}
			s.booked(1_000)
		})
	}
}

// TestSignedInIsTold: a wallet that signs in is told what it was not told before, and nobody with its payment after that.
func TestSignedInIsTold(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.held = true
	_, _, err := s.pay(exact(1), fresh(), "answer")
	is(t, err, api.ReasonSettling)
	s.bank.held = false
	all := x402.Settlers{s.Settler}
	_, err = all.ClaimSignedIn(t.Context(), &x402.SignedIn{Address: payer}, fresh()) // it is pending
	is(t, err, api.ReasonPaymentRequired)
	for range 2 { // it is sent again, and then seen
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	other := fresh()
	other.Fingerprint = "another"
	_, err = all.ClaimSignedIn(t.Context(), &x402.SignedIn{Address: payer}, other)
	is(t, err, api.ReasonPaymentRequired)
	_, err = all.ClaimSignedIn(t.Context(), &x402.SignedIn{Address: treasury}, fresh())
	is(t, err, api.ReasonPaymentRequired)
	former := fresh() // as a daemon of before would have it
	former.Fingerprint, former.Former = "another", former.Fingerprint
	for _, sub := range []x402.Subject{fresh(), fresh(), former} {
		c, err := all.ClaimSignedIn(t.Context(), &x402.SignedIn{Address: payer}, sub)
		if err != nil || string(c.Replay.Body) != "answer" || !c.Receipt.Success || c.Settled.IsZero() {
			t.Fatalf("%+v, %v", c, err)
		}
		c.Close()
	}
	for at, ok := range map[time.Duration]bool{api.ProofIdempotency - time.Millisecond: true, api.ProofIdempotency: false} {
		s.now = now().Add(at)
		c, err := all.ClaimSignedIn(t.Context(), &x402.SignedIn{Address: payer}, fresh())
		if (err == nil) != ok {
			t.Errorf("after %s: %v", at, err)
		}
		if err == nil {
			c.Close()
		}
	}
	s.now = now()
	_, _, err = s.pay(exact(1), fresh(), "x")
	is(t, err, api.ReasonAlreadyUsed)
	if err := s.store.PruneAnswers(t.Context(), now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, err = all.ClaimSignedIn(t.Context(), &x402.SignedIn{Address: payer}, fresh())
	is(t, err, api.ReasonPaymentRequired)
	s.booked(1_000)
}

// TestDailyPayment: one payment is for all such requests of its payer, and of nobody else, for a day; the next ones are not settled.
func TestDailyPayment(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	daily := fresh()
	daily.Daily = true
	for i, one := range []struct {
		at   time.Duration
		by   byte // another payer
		sent int  // in all
	}{{sent: 1}, {sent: 1}, {at: api.ProofIdempotency - time.Millisecond, sent: 1}, {by: 1, sent: 2}, {at: api.ProofIdempotency, sent: 3}} {
		s.now = now().Add(one.at)
		e := exact(byte(i))
		if e.ValidBefore = s.now.Unix() + 60; one.by > 0 {
			e = by(e, one.by)
		}
		_, c, err := s.pay(e, daily, "{}")
		if err != nil || !c.Receipt.Success || len(s.bank.sent) != one.sent {
			t.Errorf("payment %d: %+v, %v, %d are settled, want %d", i, c, err, len(s.bank.sent), one.sent)
		}
	}
	wrong := exact(9)
	wrong.Value++
	_, _, err := s.pay(wrong, daily, "{}")
	is(t, err, api.ReasonAmountMismatch)
}

// TestReaderOfTheChain: whatever is tried with what is on the chain, of payments with an identifier and without, is told nothing.
func TestReaderOfTheChain(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	sent := func(nonce int, id, extra string) x402.Exact {
		e, err := x402.ParseExact(fmt.Appendf(nil, `{"x402Version":2,"payload":{"signature":"0x01%0128x","authorization":{
			"from":%q,"to":%q,"value":"1000","validAfter":"0","validBefore":"%d","nonce":"0x%02x%062x"}},
			"extensions":{"payment-identifier":{"info":{"id":%q}}}%s}`,
			0, payer, treasury, now().Unix()+60, nonce, 0, id, extra))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	ids := []string{"", "only-the-payer-knows", "a-secret-of-16-c"}
	for i, id := range ids {
		if _, _, err := s.pay(sent(i, id, ""), fresh(), "answer"); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 1_000 {
		id := ""
		if n%2 == 0 {
			id = fmt.Sprintf("%016d", n)
		}
		extra := strings.Repeat(" ", n/6%7)
		if n%5 == 0 {
			extra += `,"accepted":{"scheme":"exact"}`
		}
		if body, _, err := s.pay(sent(n%3, id, extra), fresh(), "x"); !errors.Is(err, &api.Error{Reason: api.ReasonAlreadyUsed}) {
			t.Fatalf("try %d: %q, %v", n, body, err)
		}
	}
	for i, id := range ids[1:] {
		if body, _, err := s.pay(sent(i+1, id, ""), fresh(), "x"); err != nil || body != "answer" {
			t.Errorf("its payer is told %q, %v", body, err)
		}
	}
	s.booked(3_000)
}

// TestExactAtOnce presents one payment many times at once, and others beside it.
func TestExactAtOnce(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			e := named(byte(i % 3))
			if body, _, err := s.pay(e, fresh(), e.Payload); err != nil || body != e.Payload {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
	all.Wait()
	if len(s.bank.sent) != 3 || s.bank.count != 3 {
		t.Errorf("%d transactions were sent, %d are in blocks", len(s.bank.sent), s.bank.count)
	}
	s.booked(3_000)
}

// TestExactChecks has each thing that is wrong refused for its reason, before the chain is asked and with nothing kept, and both sides of
// each bound of time.
func TestExactChecks(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	at := now().Unix()
	for name, one := range map[string]struct {
		change func(*x402.Exact)
		want   api.Reason
	}{
		"network":         {func(e *x402.Exact) { e.Network = "eip155:4663" }, api.ReasonWrongNetwork},
		"token":           {func(e *x402.Exact) { e.Asset = treasury }, api.ReasonWrongToken},
		"recipient":       {func(e *x402.Exact) { e.To = payer }, api.ReasonWrongRecipient},
		"payer":           {func(e *x402.Exact) { e.From = treasury }, api.ReasonPayerMismatch},
		"more":            {func(e *x402.Exact) { e.Value++ }, api.ReasonAmountMismatch},
		"less":            {func(e *x402.Exact) { e.Value-- }, api.ReasonAmountMismatch},
		"ahead":           {func(e *x402.Exact) { e.ValidAfter = at + 1 }, api.ReasonNotYetValid},
		"as it begins":    {func(e *x402.Exact) { e.ValidAfter = at }, ""},
		"too near an end": {func(e *x402.Exact) { e.ValidBefore = at + 5 }, api.ReasonExpired},
		"near an end":     {func(e *x402.Exact) { e.ValidBefore = at + 6 }, ""},
		"over":            {func(e *x402.Exact) { e.ValidBefore = 0 }, api.ReasonExpired},
		"too far an end":  {func(e *x402.Exact) { e.ValidBefore = at + 901 }, api.ReasonExpiresTooLate},
		"a far end":       {func(e *x402.Exact) { e.ValidBefore = at + 900 }, ""},
		"for ever":        {func(e *x402.Exact) { e.ValidBefore = 1<<63 - 1 }, api.ReasonExpiresTooLate},
		"signature":       {func(e *x402.Exact) { e.Signature[0] = 2 }, api.ReasonBadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			e, tried := exact(9), s.bank.tried
			change := one.change
			change(&e)
			c, err := s.ClaimExact(t.Context(), e, fresh())
			if one.want == "" {
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				c.Close()
				return
			}
			if is(t, err, one.want); err == nil {
				c.Close()
			}
			if s.bank.tried != tried {
				t.Errorf("%s: the chain was asked", name)
			}
		})
	}
	c, err := s.ClaimExact(t.Context(), exact(9), fresh())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.now = s.now.Add(55 * time.Second) // while the answer was made
	is(t, c.Spend(t.Context(), []byte("late")), api.ReasonExpired)
	if rows, err := s.store.PendingSettlements(t.Context(), rail, s.now, 1); err != nil || len(rows) > 0 || len(s.bank.sent) > 0 {
		t.Errorf("%v was kept, %v", rows, err)
	}
}

// TestExactPrices has what is asked for decide about the price, of calls and of packs of credits: what is offered, and both sides of what is
// taken.
func TestExactPrices(t *testing.T) {
	t.Parallel()
	s := newMarket(t)
	for _, one := range []struct {
		x402.Subject
		price uint64
		named string
	}{
		{x402.Subject{Op: api.OpFresh}, 1_000, "fresh"},
		{x402.Subject{Op: api.OpSnapshot}, 10_000, "snapshot"},
		{x402.Subject{Pack: api.CreditStarter}, 1_000_000, "credits, pack starter"},
		{x402.Subject{Pack: api.CreditHobby}, 8_000_000, "credits, pack hobby"},
		{x402.Subject{Pack: api.CreditPro}, 70_000_000, "credits, pack pro"},
		{x402.Subject{Pack: api.CreditTeam}, 600_000_000, "credits, pack team"},
		{x402.Subject{Op: api.OpSubscribe}, 0, ""},
		{x402.Subject{Op: api.OpFresh, Pack: "none"}, 0, ""},
	} {
		offer, ok := s.Offer(one.Subject)
		if ok != (one.price > 0) || ok && (offer.Accepts[0].Amount != fmt.Sprint(one.price) || offer.Resource.Description != one.named) {
			t.Errorf("%+v is offered as %+v, %v", one.Subject, offer, ok)
		}
		for _, value := range []uint64{one.price - 1, one.price, one.price + 1} {
			e := exact(1)
			e.Identifier = "0123456789abcdef"
			e.Value = value
			c, err := s.ClaimExact(t.Context(), e, one.Subject)
			if err == nil {
				c.Close()
			}
			if value != one.price || value == 0 {
				is(t, err, api.ReasonAmountMismatch)
			} else if err != nil {
				t.Errorf("%+v for %d: %v", one.Subject, value, err)
			}
		}
	}
}

// TestExactFrontRun has somebody else submit the authorization before ours is in a block: the money came, and the answer is given.
func TestExactFrontRun(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	e := exact(1)
	c, err := s.ClaimExact(t.Context(), e, fresh())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hash := s.bank.byOthers(e.Authorization)
	if err := c.Spend(t.Context(), []byte("answer")); err != nil {
		t.Fatal(err)
	}
	if got := c.Receipt.Transaction; got != fmt.Sprintf("0x%x", hash) {
		t.Errorf("the receipt names %s", got)
	}
	s.booked(1_000)
	if _, _, err := s.pay(exact(3), fresh(), "answer"); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {24 * time.Hour, 0}} { // who may have another service with our treasury
		s.now = now().Add(one.after)
		if err := s.Resume(t.Context()); err != nil || s.Foreign() != one.want {
			t.Errorf("after %s: %d were settled by others, want %d, %v", one.after, s.Foreign(), one.want, err)
		}
	}
	s.now = now()
	used := exact(2)
	s.bank.byOthers(used.Authorization)
	_, _, err = s.pay(used, fresh(), "x")
	is(t, err, api.ReasonAuthUsed)
}

// TestExactOfAnotherToken has the authorization used in a transaction that moves another token: that settles nothing.
func TestExactOfAnotherToken(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	e := exact(1)
	c, err := s.ClaimExact(t.Context(), e, fresh())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.bank.blocks[s.bank.byOthers(e.Authorization)].Transfers[0].Contract = treasury
	is(t, c.Spend(t.Context(), []byte("answer")), api.ReasonUnsettled)
	s.booked(0)
}

// TestFateMargin looks for what became of an authorization from some blocks before the one in which ours was signed: the node may have been
// behind then.
func TestFateMargin(t *testing.T) {
	t.Parallel()
	for head, want := range map[uint64]uint64{1_000: 936, 64: 0, 3: 0} {
		s := newSettler(t)
		s.bank.held, s.bank.head, s.bank.first = true, head, 7_777
		_, _, err := s.pay(exact(1), fresh(), "answer")
		is(t, err, api.ReasonSettling)
		if err := s.Resume(t.Context()); err != nil || s.bank.first != want {
			t.Errorf("signed at %d, it is looked for from %d, want %d, %v", head, s.bank.first, want, err)
		}
	}
}

// losing is a store that loses the lock of who signs once it was given.
type losing struct {
	*store.Store
	lost error
}

func (l *losing) LockSigner(context.Context, string) (func(context.Context) error, func(), error) {
	return func(context.Context) error { return l.lost }, func() {}, nil
}

// TestLockLost has the lock lost while a transaction is signed: nothing is kept or sent, neither at first nor to replace another.
func TestLockLost(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	kept := &losing{s.store, nil}
	l := x402.NewSettler(x402.SettlerConfig{
		Rail:   x402.Rail{ID: rail, ChainID: api.ChainIDTest, Token: token, Treasury: treasury},
		Sender: s.bank, Store: kept, Now: func() time.Time { return s.now },
	})
	spend := func(e x402.Exact) error {
		c, err := l.ClaimExact(t.Context(), e, fresh())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.Spend(t.Context(), []byte("answer"))
	}
	s.bank.held = true
	is(t, spend(exact(1)), api.ReasonSettling)
	kept.lost = errors.New("the lock is lost")
	if err := spend(exact(2)); !errors.Is(err, kept.lost) {
		t.Errorf("a second: %v", err)
	}
	if row, err := l.Retry(t.Context(), exact(1).Key()); !errors.Is(err, kept.lost) || len(row.Txs) != 1 {
		t.Errorf("a replacement: %d transactions, %v", len(row.Txs), err)
	}
	if rows, err := s.store.PendingSettlements(t.Context(), rail, s.now, 9); err != nil || len(rows) != 1 || len(s.bank.sent) != 1 {
		t.Errorf("%d are kept and %d sent, %v", len(rows), len(s.bank.sent), err)
	}
}

// TestFinished adds no transaction to a settlement that is over, and leaves when it was: who repeats a payment is answered from then on.
func TestFinished(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	if _, _, err := s.pay(exact(1), fresh(), "answer"); err != nil {
		t.Fatal(err)
	}
	k := exact(1).Key()
	if err := s.store.AddSettlementTx(t.Context(), k, x402.SignedTx{Hash: [32]byte{9}, Raw: []byte{9}, Sender: gasKey, At: now()}); err == nil {
		t.Error("a settlement that is over has one more transaction")
	}
	moved := billing.Transfer{Rail: rail, TxHash: [32]byte{99}, Sender: payer, Amount: 1_000, At: now(), Authorized: true, Authorization: k.Nonce}
	if _, err := s.store.Arrive(t.Context(), []billing.Transfer{moved}, billing.ScanCursor{}, false, now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	rows, err := s.store.Settlements(t.Context(), k, "")
	if err != nil || len(rows) != 1 || rows[0].TxHash != moved.TxHash || !rows[0].DoneAt.Equal(now()) || len(rows[0].Txs) != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestExactReverted has the balance move, or the payer cancel, between the simulation and the block, until the payer is refused beforehand.
// What failed can still be settled by anybody, and has its answer then.
func TestExactReverted(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.poor = true
	for i := range byte(2) {
		_, _, err := s.pay(exact(i), fresh(), "answer")
		is(t, err, api.ReasonUnsettled)
		_, _, err = s.pay(exact(i), fresh(), "answer")
		is(t, err, api.ReasonUnsettled)
	}
	c, err := s.ClaimExact(t.Context(), exact(2), fresh())
	if err != nil {
		t.Fatal(err)
	}
	s.bank.canceled[exact(2).Key()] = true
	is(t, c.Spend(t.Context(), []byte("answer")), api.ReasonUnsettled)
	c.Close()
	if len(s.bank.sent) != 3 {
		t.Errorf("%d were sent", len(s.bank.sent))
	}
	_, _, err = s.pay(exact(3), fresh(), "answer")
	is(t, err, api.ReasonRateLimited)
	s.booked(0)
	s.bank.poor = false
	other := exact(4)
	other.From = gasKey
	if _, _, err := s.pay(other, fresh(), "answer"); err != nil {
		t.Errorf("another payer: %v", err)
	}
	s.now = s.now.Add(time.Hour + time.Second)
	later := exact(5)
	later.ValidBefore = s.now.Unix() + 60
	if _, _, err := s.pay(later, fresh(), "answer"); err != nil {
		t.Errorf("an hour later: %v", err)
	}
	late := billing.Transfer{Rail: rail, TxHash: s.bank.byOthers(exact(0).Authorization), LogIndex: 1, Sender: payer, Amount: 1_000, Block: 8, At: now(),
		Authorized: true, Authorization: exact(0).Nonce}
	if _, err := s.store.Arrive(t.Context(), []billing.Transfer{late}, billing.ScanCursor{}, false, now()); err != nil {
		t.Fatal(err)
	}
	if body, _, err := s.pay(exact(0), fresh(), "x"); err != nil || body != "answer" {
		t.Errorf("settled after all: %q, %v", body, err)
	}
	s.booked(3_000)
}

// TestExactPending has the chain take its time: the same payment is never asked for again, and is answered once it is settled.
func TestExactPending(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(*bank, bool){
		"waits for a block": func(b *bank, yes bool) {
			if b.held = yes; !yes {
				b.mine(b.sent[0])
			}
		},
		"is not shown":    func(b *bank, yes bool) { b.hidden = yes },
		"nothing answers": func(b *bank, yes bool) { b.deaf = map[bool]error{true: errors.New("no node")}[yes] },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSettler(t)
			c, err := s.ClaimExact(t.Context(), exact(1), fresh())
			if err != nil {
				t.Fatal(err)
			}
			if name == "nothing answers" { // once it was signed
				s.bank.hidden = true
				is(t, c.Spend(t.Context(), []byte("answer")), api.ReasonSettling)
				s.bank.hidden = false
			} else {
				hide(s.bank, true)
				is(t, c.Spend(t.Context(), []byte("answer")), api.ReasonSettling)
			}
			c.Close()
			hide(s.bank, true)
			for range 2 {
				_, _, err := s.pay(exact(1), fresh(), "another")
				is(t, err, api.ReasonSettling)
			}
			hide(s.bank, false)
			if body, c, err := s.pay(exact(1), fresh(), "another"); err != nil || body != "answer" || !c.Receipt.Success {
				t.Errorf("%s: %q, %v", name, body, err)
			}
			if len(s.bank.sent) != 1 {
				t.Errorf("%s: %d were sent", name, len(s.bank.sent))
			}
			s.booked(1_000)
		})
	}
}

// TestResume kills the daemon once the row is written and nothing was broadcast: the same bytes are sent, replaced at a higher price when
// they wait too long, and whichever comes into a block settles it.
func TestResume(t *testing.T) {
	t.Parallel()
	for first := range 2 {
		s := newSettler(t)
		s.bank.held = true
		_, _, err := s.pay(exact(1), fresh(), "answer")
		is(t, err, api.ReasonSettling)
		for range 2 {
			s.restart()
			if err := s.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, raw := range s.bank.sent {
			if string(raw) != string(s.bank.sent[0]) {
				t.Fatal("other bytes were sent")
			}
		}
		n := len(s.bank.sent)
		if n != 3 {
			t.Errorf("it was broadcast %d times", n)
		}
		s.now = s.now.Add(2 * time.Minute)
		if err := s.Resume(t.Context()); err != nil || len(s.bank.sent) != n+1 || string(s.bank.sent[n]) == string(s.bank.sent[0]) {
			t.Fatalf("it is not replaced: %v", err)
		}
		for i := range 2 { // the pool has both, and the account one place for them
			s.bank.mine(s.bank.sent[(first+i)%2*n])
		}
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if body, _, err := s.pay(exact(1), fresh(), "x"); err != nil || body != "answer" {
			t.Errorf("%q, %v", body, err)
		}
		if s.bank.count != 1 {
			t.Errorf("%d transactions are in blocks", s.bank.count)
		}
		s.booked(1_000)
	}
}

// TestResumeBounds has a settlement wait for ever: it is not made dearer without end.
func TestResumeBounds(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.held = true
	e := exact(1)
	e.ValidBefore = 1<<63 - 1 // which earlier releases have taken
	tx, err := s.bank.Prepare(t.Context(), e.Authorization, 0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	row := x402.Settlement{Authorization: e.Authorization, State: x402.SettlementPending, At: now(), Body: []byte("answer"), Txs: []x402.SignedTx{tx}}
	if err := s.store.BeginSettlement(t.Context(), row, now(), func(x402.Payer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		s.now = s.now.Add(time.Hour)
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	different := map[string]bool{}
	for _, raw := range s.bank.sent {
		different[string(raw)] = true
	}
	if len(different) != 4 || len(s.bank.sent) != 20 {
		t.Errorf("%d transactions were signed, %d sent", len(different), len(s.bank.sent))
	}
}

// TestResumeEnds has what never comes into a block end with its authorization, and not before.
func TestResumeEnds(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.held = true
	_, _, err := s.pay(exact(1), fresh(), "answer")
	is(t, err, api.ReasonSettling)
	s.now = s.now.Add(time.Minute)
	for _, want := range []api.Reason{api.ReasonSettling, api.ReasonUnsettled} {
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.pay(exact(1), fresh(), "x")
		is(t, err, want)
		s.now = s.now.Add(11 * time.Minute)
	}
	stolen := exact(2)
	stolen.ValidBefore = s.now.Unix() + 900
	_, _, err = s.pay(stolen, fresh(), "answer")
	is(t, err, api.ReasonSettling)
	s.bank.byOthers(stolen.Authorization)
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if body, _, err := s.pay(stolen, fresh(), "x"); err != nil || body != "answer" {
		t.Errorf("what others have submitted: %q, %v", body, err)
	}
	s.booked(1_000)
}

// TestExactIdentifier is the extension payment-identifier: one names one payment of its payer.
func TestExactIdentifier(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	one, two, other := exact(1), exact(2), exact(3)
	one.Identifier, two.Identifier, other.Identifier = "pay_7d5d747be160e280", "pay_7d5d747be160e280", "pay_7d5d747be160e280"
	other.From = gasKey
	two.Signature[0] = 9 // it is looked up before anything is verified
	for range 2 {
		if body, _, err := s.pay(one, fresh(), "answer"); err != nil || body != "answer" {
			t.Errorf("%q, %v", body, err)
		}
	}
	_, _, err := s.pay(two, fresh(), "x")
	is(t, err, api.ReasonIDConflict)
	if _, _, err := s.pay(other, fresh(), "answer"); err != nil {
		t.Errorf("another payer: %v", err)
	}
}

// TestExactDry has no ether to settle with: nothing is offered or taken, and what was taken is answered.
func TestExactDry(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	if _, _, err := s.pay(named(1), fresh(), "answer"); err != nil {
		t.Fatal(err)
	}
	s.bank.dry = true
	_, _, err := s.pay(exact(2), fresh(), "x")
	is(t, err, api.ReasonChainUnavailable)
	if _, ok := s.Offer(fresh()); ok {
		t.Error("it is offered without ether")
	}
	if body, _, err := s.pay(named(1), fresh(), "x"); err != nil || body != "answer" {
		t.Errorf("%q, %v", body, err)
	}
	if err := s.Resume(t.Context()); !errors.Is(err, x402.ErrDry) {
		t.Error(err)
	}
	s.bank.dry = false
	if err := s.Resume(t.Context()); err != nil {
		t.Error(err)
	}
	if offer, ok := s.Offer(fresh()); !ok || offer.Accepts[0].Amount != "1000" {
		t.Errorf("%+v, %v", offer, ok)
	}
	if _, _, err := s.pay(exact(2), fresh(), "answer"); err != nil {
		t.Error(err)
	}
}

// TestAuthorizedArrivals has the scanner come first: a transfer by an authorization belongs to the row of that, else to nothing, also where
// a deposit waits for its very amount.
func TestAuthorizedArrivals(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.held = true
	_, _, err := s.pay(exact(1), fresh(), "answer")
	is(t, err, api.ReasonSettling)
	_, _, err = s.pay(exact(2), fresh(), "answer")
	is(t, err, api.ReasonSettling)
	list := []billing.Transfer{
		{Rail: rail, TxHash: [32]byte{1}, Sender: strings.ToUpper(payer[2:]), Amount: 1_000, At: now(), Authorized: true, Authorization: [32]byte{1}},
		{Rail: rail, TxHash: [32]byte{1}, LogIndex: 3, Sender: payer, Amount: 999, At: now(), Authorized: true, Authorization: [32]byte{2}},
		{Rail: rail, TxHash: [32]byte{2}, Sender: payer, Amount: 1_000, At: now(), Authorized: true, Authorization: [32]byte{3}},
	}
	list[0].Sender = "0x" + list[0].Sender
	for range 2 {
		if verified, err := s.store.Arrive(t.Context(), list, billing.ScanCursor{}, false, now()); err != nil || len(verified) > 0 {
			t.Fatalf("%v, %v", verified, err)
		}
	}
	if body, _, err := s.pay(exact(1), fresh(), "x"); err != nil || body != "answer" {
		t.Errorf("%q, %v", body, err)
	}
	stray, err := s.store.Unmatched(t.Context(), 10)
	if err != nil || len(stray) != 2 {
		t.Fatalf("%+v, %v", stray, err)
	}
	for _, u := range stray {
		if !strings.Contains(u.Note, "authorization") {
			t.Errorf("%+v", u)
		}
	}
}

// TestParseExact reads the header, and nothing that is not as it should be.
func TestParseExact(t *testing.T) {
	t.Parallel()
	good := `{"x402Version":2,"accepted":{"scheme":"exact","network":"eip155:46630","asset":"` + token + `"},"payload":{"signature":"0x` +
		strings.Repeat("01", 65) + `","authorization":{"from":"` + payer + `","to":"` + treasury + `","value":"1000","validAfter":"0","validBefore":"9",
		"nonce":"0x` + strings.Repeat("0f", 32) + `"}},"extensions":{"payment-identifier":{"info":{"id":"pay_7d5d747be160e280"}}}}`
	e, err := x402.ParseExact([]byte(good))
	if err != nil || e.From != payer || e.Value != 1_000 || e.ValidBefore != 9 || e.Identifier != "pay_7d5d747be160e280" || e.Nonce[31] != 15 {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, other := range []string{strings.Replace(good, `"1000"`, `"1001"`, 1), strings.Replace(good, `"9"`, `"10"`, 1), strings.Replace(good, "0x01", "0x02", 1)} {
		if o, err := x402.ParseExact([]byte(other)); err != nil || o.Payload == e.Payload {
			t.Errorf("%s has the same digest, %v", other, err)
		}
	}
	o, err := x402.ParseExact([]byte(strings.Replace(good, `"0x0f0f`, `"0x0F0F`, 1)))
	if err != nil || o.Payload == e.Payload || o.Key() != e.Key() {
		t.Errorf("spelled in another way it is the same payment, and not the same to the byte: %v", err)
	}
	for id, want := range map[string]bool{
		strings.Repeat("x", 15): false, strings.Repeat("x", 16): true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		"pay_7d5d747be160-280": true, "pay_7d5d747be160.280": false, "pay 7d5d747be160e280": false,
	} {
		o, err := x402.ParseExact([]byte(strings.Replace(good, "pay_7d5d747be160e280", id, 1)))
		if err != nil || (o.Identifier == id) != want || !want && o.Identifier != "" {
			t.Errorf("the identifier %q is read as %q, %v", id, o.Identifier, err)
		}
	}
	for from, one := range map[string]struct {
		to   string
		want api.StandardReason
	}{
		`"x402Version":2`: {`"x402Version":1`, api.StandardVersion}, `{"x402Version":2`: {`{"x402Version":"2"`, api.StandardPayload},
		`"exact"`: {`"upto"`, api.StandardScheme}, payer: {"0x12", api.StandardPayload}, treasury: {"", api.StandardPayload},
		`"from":"`: {`"from":"\u202e\u0007`, api.StandardPayload},
		`"1000"`:   {`"1e3"`, api.StandardPayload}, `"1000",`: {`1000,`, api.StandardPayload},
		`"0",`: {`"-1",`, api.StandardPayload}, `"9",`: {`"9.5",`, api.StandardPayload},
		`"9"`:  {`"99999999999999999999"`, api.StandardPayload},
		`0x0f`: {`0x`, api.StandardPayload}, `"from"`: {`"from":"0x","From"`, api.StandardPayload},
		`"signature"`:       {`"ſignature":"0x","signature"`, api.StandardPayload},
		`"authorization"`:   {`"authorization":{},"AUTHORIZATION"`, api.StandardPayload},
		`"authorization":{`: {`"authorization":[],"other":{`, api.StandardPayload}, `"payload"`: {`"none"`, api.StandardPayload},
		`"1000","`: {`"18446744073709551616","`, api.StandardValue},
		`:"1000"`:  {`:"0x3e8"`, api.StandardPayload}, `"value":"1000"`: {`"value":"1_000"`, api.StandardPayload},
	} {
		e, err := x402.ParseExact([]byte(strings.Replace(good, from, one.to, 1)))
		refused := api.AsError(err)
		got := cmp.Or(e.Fault, refused.Reason.Standard())
		if got != one.want || refused.Status != http.StatusPaymentRequired || err == nil {
			t.Errorf("%s for %s: %v, status %d, in the standard's words %s", one.to, from, err, refused.Status, got)
		}
	}
	for _, unread := range []string{"", "x", `{"x402Version":2`, good + strings.Repeat(" ", 16<<10)} {
		_, err := x402.ParseExact([]byte(unread))
		if is(t, err, api.ReasonMalformedProof); api.AsError(err).Status != http.StatusBadRequest {
			t.Errorf("%.20q is answered with status %d", unread, api.AsError(err).Status)
		}
	}
	most, err := x402.ParseExact([]byte(strings.Replace(good, `"1000"`, `"18446744073709551615"`, 1)))
	if err != nil || most.Value != 1<<64-1 {
		t.Errorf("the most is %d, %v", most.Value, err)
	}
	_, err = x402.ParseExact([]byte(strings.Replace(good, "0x01", "0x0101", 1)))
	is(t, err, api.ReasonBadSignature)
	for _, header := range [][]string{nil, {"", ""}, {"%"}, {strings.Repeat("A", 17<<10)}} {
		_, err := x402.ParseExactHeader(header)
		is(t, err, api.ReasonMalformedProof)
	}
	if !x402.IsExact([]byte(`{"x402Version":1}`)) || x402.IsExact([]byte(`{"scheme":"x402"}`)) || x402.IsExact([]byte("x")) {
		t.Error("IsExact")
	}
}

// TestResourceOfAPayment: a payment names what its client was offered, and pays for nothing else of the same service. What is of another
// host, or no URL, says nothing.
func TestResourceOfAPayment(t *testing.T) {
	t.Parallel()
	const asked = "https://context.example.org/v1/fresh?pack=crypto"
	for resource, ok := range map[string]bool{
		`{"url":"` + asked + `"}`: true, `{"url":"https://context.example.org/v1/fresh"}`: true, `{"url":"https://gateway.example/fresh"}`: true,
		`{"url":"/v1/brief"}`: true, `{"url":7}`: true, `{}`: true, `null`: true, `"https://context.example.org/v1/brief"`: true,
		`{"url":"https://context.example.org/v1/brief"}`: false, `{"url":"http://CONTEXT.example.org/"}`: false,
	} {
		e, err := x402.ParseExact([]byte(`{"x402Version":2,"resource":` + resource + `,"payload":{"signature":"0x` + strings.Repeat("01", 65) +
			`","authorization":{"from":"` + payer + `","to":"` + treasury + `","value":"1000","validAfter":"0","validBefore":"9","nonce":"0x` +
			strings.Repeat("0f", 32) + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if err = e.For(asked); (err == nil) != ok || !ok && (e.Fault != api.StandardRequirements || api.AsError(err).Status != 402) {
			t.Errorf("for %s: %v, %s", resource, err, e.Fault)
		}
	}
}

// FuzzParseExact reads whatever is sent. What it takes for a payment has addresses, holds for some time, and is the same payment however it
// is spelled.
func FuzzParseExact(f *testing.F) {
	good := `{"x402Version":2,"accepted":{"scheme":"exact"},"payload":{"signature":"0x` + strings.Repeat("01", 65) + `","authorization":{
		"from":"` + payer + `","to":"0x` + strings.Repeat("aB", 20) + `","value":"1000","validAfter":"0","validBefore":"9","nonce":"0x` + strings.Repeat("0f", 32) + `"}}}`
	f.Add([]byte(good))
	f.Add([]byte(`{"x402Version":2,"payload":{"signature":"0x","authorization":{"value":"1"}}}`))
	f.Add([]byte(strings.Replace(good, `"payload"`, `"payload":{},"Payload"`, 1)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := x402.ParseExact(raw)
		if err != nil {
			return
		}
		if len(e.From) != len(payer) || len(e.To) != len(payer) || e.ValidAfter < 0 || e.ValidBefore < 0 {
			t.Errorf("%s is %+v", raw, e)
		}
		again, err := x402.ParseExact(fmt.Appendf(nil, `{"x402Version":2,"payload":{"signature":"0x%x","authorization":{
			"from":%q,"to":%q,"value":"%d","validAfter":"%d","validBefore":"%d","nonce":"0x%x"}}}`,
			e.Signature, strings.ToLower(e.From), "0x"+strings.ToUpper(e.To[2:]), e.Value, e.ValidAfter, e.ValidBefore, e.Nonce))
		if err != nil || again.Key() != e.Key() || again.Signature != e.Signature || again.Value != e.Value ||
			again.ValidBefore != e.ValidBefore {
			t.Errorf("%s is another payment when it is spelled otherwise: %v", raw, err)
		}
	})
}

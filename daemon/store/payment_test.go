package store_test

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

const payer = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// settlement is one of a call that has begun, with a transaction.
func settlement(n byte) x402.Settlement {
	s := x402.Settlement{
		Authorization: x402.Authorization{Rail: rail, From: payer, To: "0xtreasury", Value: 1_000, Nonce: [32]byte{n},
			ValidBefore: opened().Unix() + 60},
		Payload: "p", Op: api.OpFresh, Fingerprint: "f", State: x402.SettlementPending, At: opened(), Body: []byte("answer"),
	}
	s.Txs = []x402.SignedTx{{Raw: []byte{n}, Hash: [32]byte{3, n}, Sender: "0xgas", AccountNonce: uint64(n), At: opened()}}
	return s
}

// purchase is a settlement that buys a pack with a key.
func purchase(n byte) x402.Settlement {
	s := settlement(n)
	offer, _ := api.CreditHobby.Offer()
	s.Op, s.Pack, s.Value, s.Body = "", api.CreditHobby, uint64(offer.PriceMicros), nil
	s.Purchase = &account.Purchase{
		Wallet: account.Identity{Kind: account.KindWallet, Subject: payer}, OwnerID: "bought-" + string('a'+rune(n)),
		KeyID: "cv_test_b" + string('a'+rune(n)), KeyHash: [32]byte{4, n}, MaxKeys: 3, Open: true,
	}
	return s
}

// begins stores one that anybody may begin.
func (m *till) begins(s x402.Settlement) error {
	return m.BeginSettlement(m.t.Context(), s, opened().Add(-time.Hour), func(x402.Payer) error { return nil })
}

// receipt is that of the transfer which settles s.
func receipt(s x402.Settlement, at time.Time) x402.Receipt {
	return x402.Receipt{
		Rail: s.Rail, Hash: [32]byte{5, s.Nonce[0]}, Payment: x402.Payment{Succeeded: true, Block: 7, BlockHash: [32]byte{7}, At: at},
		Transfer: x402.Transfer{From: s.From, To: s.To, Amount: s.Value}, Op: s.Op,
		StoredAnswer: x402.StoredAnswer{Fingerprint: s.Fingerprint, Payer: s.From, At: at, Body: s.Body},
	}
}

// one is the settlement as it is stored.
func (m *till) one(s x402.Settlement) x402.Settlement {
	m.t.Helper()
	list, err := m.Settlements(m.t.Context(), s.Key(), "")
	if err != nil || len(list) != 1 {
		m.t.Fatalf("%+v, %v", list, err)
	}
	return list[0]
}

// TestSpendOnCall: a transfer pays for one answer, which is kept for who paid.
func TestSpendOnCall(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	r := receipt(settlement(1), opened())
	if _, ok, err := m.PaidCall(t.Context(), rail, r.Hash); ok || err != nil {
		t.Errorf("before: %t, %v", ok, err)
	}
	if err := m.SpendOnCall(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	other := r
	other.Fingerprint, other.Body = "other", []byte("other")
	if err := m.SpendOnCall(t.Context(), other); !errors.Is(err, x402.ErrSpent) {
		t.Errorf("again: %v", err)
	}
	for _, one := range []struct {
		before time.Time
		stays  bool
	}{{opened(), true}, {opened().Add(time.Millisecond), false}} {
		if err := m.PruneAnswers(t.Context(), one.before); err != nil {
			t.Fatal(err)
		}
		got, ok, err := m.PaidCall(t.Context(), rail, r.Hash)
		if !ok || err != nil || got.Fingerprint != "f" || got.Payer != payer || (string(got.Body) == "answer") != one.stays {
			t.Errorf("%+v, %t, %v", got, ok, err)
		}
	}
	if _, ok, err := m.PaidCall(t.Context(), "base", r.Hash); ok || err != nil {
		t.Errorf("on another rail: %t, %v", ok, err)
	}
	m.totals(billing.Totals{Arrived: 1_000, Calls: 1_000})
	d := m.buy(api.CreditHobby)
	_, err := m.Assign(t.Context(), rail, r.Hash, 0, d.ID, opened())
	is(t, err, api.ReasonNotFound)
	waits := m.transfer(d.Amount + 1)
	m.arrives(false, waits)
	late := r
	late.Hash, late.Transfer.Amount = waits.TxHash, uint64(waits.Amount)
	if err := m.SpendOnCall(t.Context(), late); err != nil { // which the scanner saw first
		t.Error(err)
	}
	_, err = m.Assign(t.Context(), rail, waits.TxHash, 0, d.ID, opened())
	is(t, err, api.ReasonNotFound)
}

// TestBeginSettlement: an authorization is taken once, and an identifier names one payment of a payer, on whatever rail.
func TestBeginSettlement(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	first := settlement(1)
	first.Identifier = "order-1"
	if err := m.begins(first); err != nil {
		t.Fatal(err)
	}
	if err := m.begins(first); !errors.Is(err, x402.ErrTaken) {
		t.Errorf("again: %v", err)
	}
	second := settlement(2)
	second.Rail, second.Identifier = "base", "order-1"
	if err := m.begins(second); !errors.Is(err, x402.ErrIdentified) {
		t.Errorf("with its identifier: %v", err)
	}
	second.From = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	if err := m.begins(second); err != nil {
		t.Errorf("of somebody else: %v", err)
	}
	third, no := settlement(3), errors.New("no")
	var stands x402.Payer
	admit := func(p x402.Payer) error { stands = p; return no }
	if err := m.BeginSettlement(t.Context(), third, opened(), admit); !errors.Is(err, no) {
		t.Errorf("refused: %v", err)
	}
	if want := (x402.Payer{Pending: 1, Value: 1_000, Strangers: 1}); stands != want {
		t.Errorf("the payer stands as %+v, want %+v", stands, want)
	}
	if list, err := m.Settlements(t.Context(), third.Key(), ""); err != nil || len(list) > 0 {
		t.Errorf("what was refused is %+v, %v", list, err)
	}
	got := m.one(first)
	if got.Key() != first.Key() || got.Value != 1_000 || !bytes.Equal(got.Body, first.Body) || len(got.Txs) != 1 ||
		got.Txs[0].Hash != first.Txs[0].Hash {
		t.Errorf("it is kept as %+v", got)
	}
	if next, err := m.NextAccountNonce(t.Context(), rail, "0xgas"); err != nil || next != 2 {
		t.Errorf("the next account nonce is %d, %v", next, err)
	}
	if next, err := m.NextAccountNonce(t.Context(), rail, "0xnew"); err != nil || next != 0 {
		t.Errorf("the first account nonce is %d, %v", next, err)
	}
	for _, want := range []struct {
		identifier string
		first      bool
	}{{"a", true}, {"b", false}} {
		noted, is, err := m.FirstIdentifier(t.Context(), third.Key(), want.identifier, opened())
		if err != nil || noted != "a" || is != want.first {
			t.Errorf("%q: %q, %t, %v", want.identifier, noted, is, err)
		}
	}
}

// TestFinishSettlement: it is settled once, by a transfer that has paid for nothing else, and can be after it has failed.
func TestFinishSettlement(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	settled, failed, foreign := settlement(1), settlement(2), settlement(3)
	for _, s := range []x402.Settlement{settled, failed, foreign} {
		if err := m.begins(s); err != nil {
			t.Fatal(err)
		}
	}
	done := opened().Add(time.Second)
	for range 2 {
		if _, err := m.FinishSettlement(t.Context(), settled.Key(), receipt(settled, done)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.FinishSettlement(t.Context(), failed.Key(), receipt(settled, done)); !errors.Is(err, x402.ErrSpent) {
		t.Errorf("by the transfer of another: %v", err)
	}
	if got := m.one(settled); got.State != x402.SettlementSettled || !got.DoneAt.Equal(done) || got.TxHash != receipt(settled, done).Hash {
		t.Errorf("%+v", got)
	}
	more := x402.SignedTx{Raw: []byte{9}, Hash: [32]byte{9}, Sender: "0xgas", AccountNonce: 9, At: done}
	if err := m.AddSettlementTx(t.Context(), settled.Key(), more); err == nil {
		t.Error("a settled one got another transaction")
	}
	if err := m.AddSettlementTx(t.Context(), failed.Key(), more); err != nil {
		t.Error(err)
	}
	for _, why := range []string{"reverted", "again"} {
		if row, err := m.FailSettlement(t.Context(), failed.Key(), why, done); err != nil || row.State != x402.SettlementFailed ||
			row.Why != "reverted" || len(row.Txs) != 2 {
			t.Errorf("%+v, %v", row, err)
		}
	}
	if row, err := m.FailSettlement(t.Context(), settled.Key(), "late", done); err != nil ||
		row.State != x402.SettlementSettled || row.Why != "" {
		t.Errorf("a settled one that fails is %+v, %v", row, err)
	}
	if p, err := m.Payer(t.Context(), settled.Key(), false, done.Add(-time.Millisecond)); err != nil ||
		p != (x402.Payer{Pending: 1, Value: 1_000, Failed: 1, Customer: true}) {
		t.Errorf("the payer stands as %+v, %v", p, err)
	}
	if p, err := m.Payer(t.Context(), settled.Key(), false, done); err != nil || p.Failed != 0 {
		t.Errorf("what failed before counts: %+v, %v", p, err)
	}
	for s, want := range map[*x402.Settlement]x402.SettlementState{&failed: x402.SettlementSettled, &foreign: x402.SettlementPending} {
		a := m.transfer(1_000) // that the scanner finds, whoever submitted it
		a.Sender, a.Authorized, a.Authorization = "0xAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", true, s.Nonce
		if want == x402.SettlementPending {
			a.Amount--
		}
		m.arrives(false, a)
		if got := m.one(*s); got.State != want {
			t.Errorf("%+v, want it %s", got, want)
		}
	}
	m.totals(billing.Totals{Arrived: 2_999, Calls: 2_000, Unmatched: 999})
	if list, err := m.NewestSettlements(t.Context(), x402.SettlementPending, 9); err != nil || len(list) != 1 ||
		list[0].Key() != foreign.Key() {
		t.Errorf("pending are %+v, %v", list, err)
	}
	for digits, want := range map[string]int{"01": 2, "05": 1, "0309": 0, "09": 1, "ff": 0, "03": 3} {
		if list, err := m.FindSettlements(t.Context(), digits, 9); err != nil || len(list) != want {
			t.Errorf("%s finds %d, %v, want %d", digits, len(list), err, want)
		}
	}
}

// TestDueSettlements: a pending one is tried again when it is due, and answers are found and dropped by time.
func TestDueSettlements(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	s := settlement(1)
	if err := m.begins(s); err != nil {
		t.Fatal(err)
	}
	due := opened().Add(time.Minute)
	if err := m.PutOff(t.Context(), s.Key(), due); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Time]int{due.Add(-time.Millisecond): 0, due: 1} {
		if list, err := m.PendingSettlements(t.Context(), rail, at, 9); err != nil || len(list) != want {
			t.Errorf("at %s %d are due, %v, want %d", at, len(list), err, want)
		}
	}
	newer := settlement(2)
	newer.At = opened().Add(time.Second)
	if err := m.begins(newer); err != nil {
		t.Fatal(err)
	}
	if list, err := m.PendingSettlements(t.Context(), rail, due, 1); err != nil || len(list) != 1 || list[0].Key() != newer.Key() {
		t.Errorf("first is %+v, %v, not the one that was due first", list, err)
	}
	if _, err := m.FailSettlement(t.Context(), newer.Key(), "late", due); err != nil {
		t.Fatal(err)
	}
	if n, oldest, err := m.CountPending(t.Context(), rail); err != nil || n != 1 || !oldest.Equal(opened()) {
		t.Errorf("%d are pending since %s, %v", n, oldest, err)
	}
	m.buy(api.CreditHobby)
	if open, err := m.Unfinished(t.Context()); err != nil || len(open) != 1 || open[0].Rail != rail || open[0].Settlements != 1 ||
		open[0].Purchases != 1 || !open[0].OldestAt.Equal(opened()) {
		t.Errorf("unfinished are %+v, %v", open, err)
	}
	if _, err := m.FinishSettlement(t.Context(), s.Key(), receipt(s, due)); err != nil {
		t.Fatal(err)
	}
	for since, want := range map[time.Time]int{due.Add(-time.Millisecond): 1, due: 0} {
		if list, err := m.SettledFor(t.Context(), rail, payer, "f", since); err != nil || len(list) != want {
			t.Errorf("since %s %d were settled, %v, want %d", since, len(list), err, want)
		}
		if n, err := m.CountForeign(t.Context(), rail, since); err != nil || n != want {
			t.Errorf("since %s %d are foreign, %v, want %d", since, n, err, want)
		}
	}
	if list, err := m.SettledFor(t.Context(), rail, payer, "other", opened()); err != nil || len(list) > 0 {
		t.Errorf("for another request %+v, %v", list, err)
	}
	for _, one := range []struct {
		before time.Time
		stays  bool
	}{{due, true}, {due.Add(time.Millisecond), false}} {
		if err := m.PruneAnswers(t.Context(), one.before); err != nil {
			t.Fatal(err)
		}
		if got := m.one(s); (got.Body != nil) != one.stays {
			t.Errorf("what was settled before %s has the answer %q", one.before, got.Body)
		}
	}
}

// TestGas: what our transactions cost is noted once, and what they cost for nothing is summed up by when they were signed.
func TestGas(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	for n := range byte(3) {
		s := settlement(n + 1)
		s.Txs[0].At = opened().Add(time.Duration(n) * time.Minute)
		err := m.begins(s)
		if err == nil {
			_, err = m.FailSettlement(t.Context(), s.Key(), "reverted", opened())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	unknown := func(since time.Time) (list []byte) {
		t.Helper()
		hashes, err := m.UnknownGas(t.Context(), rail, since, 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hashes {
			list = append(list, h[1])
		}
		return list
	}
	if got := unknown(opened()); !slices.Equal(got, []byte{2, 3}) {
		t.Errorf("unknown are %v", got)
	}
	for n, want := range []bool{true, true, false} {
		tx := byte(min(n+1, 2))
		p := x402.Payment{GasUsed: 9, Fee: big.NewInt(1e18), Succeeded: false, Block: 1}
		if noted, err := m.NoteGas(t.Context(), rail, [32]byte{3, tx}, p); err != nil || noted != want {
			t.Errorf("%d: %t, %v", tx, noted, err)
		}
	}
	if _, err := m.NoteGas(t.Context(), rail, [32]byte{3, 3}, x402.Payment{GasUsed: 9, Fee: big.NewInt(5), Succeeded: true}); err != nil {
		t.Fatal(err)
	}
	if got := unknown(opened().Add(-time.Hour)); len(got) > 0 {
		t.Errorf("unknown are %v", got)
	}
	for since, want := range map[time.Time]int64{opened().Add(-time.Millisecond): 2e18, opened(): 1e18, opened().Add(time.Minute): 0} {
		if got, err := m.LostGas(t.Context(), rail, since); err != nil || got.Cmp(big.NewInt(want)) != 0 {
			t.Errorf("since %s %s was lost, %v, want %d", since, got, err, want)
		}
	}
}

// TestPurchase: what a wallet pays for makes one owner, one key and one deposit, however often it is finished; a second wallet of the same
// owner buys another key, up to as many as an owner may have.
func TestPurchase(t *testing.T) {
	t.Parallel()
	m := newTill(t)
	first := purchase(1)
	if err := m.begins(first); err != nil {
		t.Fatal(err)
	}
	same := purchase(2)
	same.Purchase.KeyID, same.Purchase.KeyHash = first.Purchase.KeyID, first.Purchase.KeyHash
	if err := m.begins(same); !errors.Is(err, account.ErrDuplicate) {
		t.Errorf("the same key: %v", err)
	}
	if n, err := m.BeingBought(t.Context(), first.Purchase.OwnerID, opened()); err != nil || n != 0 { // who is made when it is paid
		t.Errorf("%d keys are being bought, %v", n, err)
	}
	d, err := m.FinishSettlement(t.Context(), first.Key(), receipt(first, opened()))
	again, failed := m.FinishSettlement(t.Context(), first.Key(), receipt(first, opened()))
	if err = errors.Join(err, failed); err != nil || d.Credited != first.Purchase.KeyID || d.Credits != 10_000 ||
		d.NewKey == nil || again.ID != "" {
		t.Fatalf("%+v, then %+v, %v", d, again, err)
	}
	key, hash, err := m.BoughtKey(t.Context(), first.Key())
	if err != nil || hash != first.Purchase.KeyHash || key.KeyID != first.Purchase.KeyID || key.Tier != api.TierHobby ||
		*key.CreditBalance != 10_000 {
		t.Errorf("%+v, %v", key, err)
	}
	if credits, keys, err := m.Balance(t.Context(), first.Purchase.OwnerID, ""); err != nil || credits != 10_000 || keys != 1 {
		t.Errorf("%d credits on %d keys, %v", credits, keys, err)
	}
	second := purchase(3)
	if err := m.begins(second); err != nil {
		t.Fatal(err)
	}
	if n, err := m.BeingBought(t.Context(), first.Purchase.OwnerID, opened()); err != nil || n != 1 {
		t.Errorf("%d keys are being bought, %v", n, err)
	}
	for most, reason := range map[int]api.Reason{2: api.ReasonInvalidRequest, 3: ""} {
		p := purchase(4).Purchase
		p.MaxKeys = most
		if err := m.AdmitPurchase(t.Context(), *p, opened()); (err == nil) != (reason == "") {
			t.Errorf("of %d keys: %v", most, err)
		}
	}
	if d, err := m.FinishSettlement(t.Context(), second.Key(), receipt(second, opened())); err != nil || d.OwnerID != first.Purchase.OwnerID {
		t.Errorf("the second is of %q, %v", d.OwnerID, err)
	}
	if _, err := m.SetDisabled(t.Context(), first.Purchase.OwnerID, opened()); err != nil {
		t.Fatal(err)
	}
	is(t, m.AdmitPurchase(t.Context(), *purchase(5).Purchase, opened()), api.ReasonOwnerDisabled)
	closed := purchase(6).Purchase
	closed.Wallet.Subject, closed.Open = "0xcc", false
	is(t, m.AdmitPurchase(t.Context(), *closed, opened()), api.ReasonSignupClosed)
	if findings, err := m.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("audit: %v, %v", findings, err)
	}
	m.totals(billing.Totals{Arrived: 16_000_000, Deposits: 16_000_000, Verified: 16_000_000, Sold: 20_000, Credited: 20_000})
}

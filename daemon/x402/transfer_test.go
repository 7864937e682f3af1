package x402_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

const (
	rail     = "l2chain"
	token    = "0x1000000000000000000000000000000000000001"
	treasury = "0x2000000000000000000000000000000000000002"
	payer    = "0x3000000000000000000000000000000000000003"
)

func now() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

// chain shows what it is told to.
type chain struct {
	payments map[[32]byte]x402.Payment
	err      error
	final    uint64
	blocks   map[uint64][32]byte
	span     uint64 // of blocks that it answers for at once
	asked    int    // for a block
}

func (c *chain) Payment(_ context.Context, hash [32]byte) (x402.Payment, error) {
	p, ok := c.payments[hash]
	if c.err != nil {
		return p, c.err
	}
	if !ok {
		return p, x402.ErrNotVisible
	}
	return p, nil
}

func (c *chain) FinalBlock(context.Context) (uint64, error) { return c.final, c.err }

func (c *chain) BlockHash(_ context.Context, n uint64) ([32]byte, error) {
	c.asked++
	return c.blocks[n], c.err
}

func (c *chain) Blocks(_ context.Context, first, last uint64) (map[[32]byte][32]byte, error) {
	in := map[[32]byte][32]byte{}
	if c.err == nil && last-first < c.span {
		for hash, p := range c.payments {
			if first <= p.Block && p.Block <= last && p.BlockHash == c.blocks[p.Block] {
				in[hash] = p.BlockHash
			}
		}
		return in, nil
	}
	return nil, errors.New("too many blocks")
}

// payments is a payments on a real store with a chain that shows what it is told to.
type payments struct {
	*x402.Payments
	chain *chain
	store *store.Store
	dir   string
}

func newPayments(t testing.TB) *payments {
	t.Helper()
	dir := testbed.Place(t)
	s, err := store.Open(t.Context(), dir, now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	d := &payments{chain: &chain{payments: map[[32]byte]x402.Payment{}, blocks: map[uint64][32]byte{}}, store: s, dir: dir}
	d.Payments, err = x402.NewPayments(quoter(1), d.chain, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// quoter makes quotes with the given keys.
func quoter(keys ...byte) x402.Quoter {
	q := x402.Quoter{Rail: rail, ChainID: api.ChainIDTest, Token: token, Treasury: treasury, Now: now}
	for _, k := range keys {
		q.Keys = append(q.Keys, bytes.Repeat([]byte{k}, 32))
	}
	return q
}

// fresh is a call of fresh.
func fresh() x402.Subject {
	return x402.Subject{Op: api.OpFresh, Fingerprint: x402.Fingerprint("GET", "/v1/fresh", "")}
}

// payment is one that pays a quote as it asks for.
func payment(t testing.TB, q api.PaymentRequirements, n byte) (x402.Proof, x402.Payment) {
	t.Helper()
	input := "a9059cbb" + strings.Repeat("0", 24) + treasury[2:] + fmt.Sprintf("%064x", 1_000) + q.Nonce[2:]
	raw, err := hex.DecodeString(input)
	if err != nil {
		t.Fatal(err)
	}
	return x402.Proof{Hash: [32]byte{n}, Payer: payer}, x402.Payment{
		ChainID: api.ChainIDTest, From: payer, To: token, Input: raw, Succeeded: true, Block: uint64(n), BlockHash: [32]byte{n}, At: now().Add(time.Second),
		Transfers: []x402.Transfer{{Contract: token, From: payer, To: treasury, Amount: 1_000, LogIndex: 3}},
	}
}

// paid puts a good payment for fresh on the chain.
func (d *payments) paid(t testing.TB, n byte) x402.Proof {
	t.Helper()
	q, err := d.Quote(fresh())
	if err != nil {
		t.Fatal(err)
	}
	proof, p := payment(t, q, n)
	d.chain.payments[proof.Hash], d.chain.blocks[p.Block] = p, p.BlockHash
	return proof
}

// TestUnsettledClaimIsFree is the first half of line 18 and line 17: what was claimed and not answered can be claimed again, at once
// and after a crash, which leaves nothing behind.
func TestUnsettledClaimIsFree(t *testing.T) {
	t.Parallel()
	d := newPayments(t)
	proof := d.paid(t, 1)
	for range 3 {
		c, err := d.Claim(t.Context(), proof, fresh())
		if err != nil || c.Replay != nil {
			t.Fatalf("%+v, %v", c, err)
		}
		c.Close()
	}
	c, err := d.Claim(t.Context(), proof, fresh())
	if err != nil {
		t.Fatal(err)
	}
	crashed, err := x402.NewPayments(quoter(1), d.chain, d.store) // the process that had the claim is gone
	if err != nil {
		t.Fatal(err)
	}
	again, err := crashed.Claim(t.Context(), proof, fresh())
	if err != nil || again.Replay != nil {
		t.Fatalf("after a crash: %+v, %v", again, err)
	}
	if err := again.Spend(t.Context(), []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	again.Close()
	if err := c.Spend(t.Context(), []byte(`{"a":2}`)); !errors.Is(err, &api.Error{Reason: api.ReasonPaymentPending}) {
		t.Errorf("spent twice: %v", err)
	}
	c.Close()
	if c, err := d.Claim(t.Context(), proof, fresh()); err != nil || c.Replay == nil || string(c.Replay.Body) != `{"a":1}` {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestWaitingEndsWithTheCaller: who waits for a payment that another has, and leaves, gets nothing and takes nothing.
func TestWaitingEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	d := newPayments(t)
	proof := d.paid(t, 1)
	c, err := d.Claim(t.Context(), proof, fresh())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Claim(ctx, proof, fresh()); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	c.Close()
	if c, err = d.Claim(t.Context(), proof, fresh()); err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestAnswersAreKeptForADay, and that they were paid for is kept for ever.
func TestAnswersAreKeptForADay(t *testing.T) {
	t.Parallel()
	d := newPayments(t)
	proof := d.paid(t, 1)
	c, err := d.Claim(t.Context(), proof, fresh())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Spend(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := d.store.PruneAnswers(t.Context(), now()); err != nil {
		t.Fatal(err)
	}
	if c, err := d.Claim(t.Context(), proof, fresh()); err != nil || c.Replay == nil {
		t.Fatalf("dropped too early: %v", err)
	} else {
		c.Close()
	}
	if err := d.store.PruneAnswers(t.Context(), now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Claim(t.Context(), proof, fresh()); !errors.Is(err, &api.Error{Reason: api.ReasonAlreadyUsed}) {
		t.Errorf("after a day: %v", err)
	}
}

// TestVerify changes one thing of a good payment at a time: those of the list that a token and a node of the embedded chain do not
// come to.
func TestVerify(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		change func(*x402.Payment)
		reason api.Reason
	}{
		"another chain":      {func(p *x402.Payment) { p.ChainID = 1 }, api.ReasonWrongNetwork},
		"chain not told":     {func(p *x402.Payment) { p.ChainID = 0 }, ""},
		"another function":   {func(p *x402.Payment) { p.Input[0] ^= 1 }, api.ReasonWrongToken},
		"creates a contract": {func(p *x402.Payment) { p.To = "" }, api.ReasonWrongToken},
		"by a contract": {func(p *x402.Payment) { // a smart wallet, several at once, an entry point: one log, and the nonce is there
			p.From, p.To = gasKey, payer
		}, api.ReasonWrongToken},
		"no log":               {func(p *x402.Payment) { p.Transfers = nil }, api.ReasonWrongRecipient},
		"log of another token": {func(p *x402.Payment) { p.Transfers[0].Contract = payer }, api.ReasonWrongRecipient},
		"log from another":     {func(p *x402.Payment) { p.Transfers[0].From = treasury }, api.ReasonWrongRecipient},
		"log to another":       {func(p *x402.Payment) { p.Transfers[0].To = payer }, api.ReasonWrongRecipient},
		"fee on transfer":      {func(p *x402.Payment) { p.Transfers[0].Amount = 999 }, api.ReasonAmountMismatch},
		"two logs":             {func(p *x402.Payment) { p.Transfers = append(p.Transfers, p.Transfers[0]) }, api.ReasonAmountMismatch},
		"a reward beside it": {func(p *x402.Payment) {
			p.Transfers = append(p.Transfers, x402.Transfer{Contract: token, From: token, To: treasury, Amount: 5})
		}, ""},
		"amount over 64 bits":    {func(p *x402.Payment) { p.Input[36] = 1 }, api.ReasonAmountMismatch},
		"address with more":      {func(p *x402.Payment) { p.Input[4] = 1 }, ""},
		"at the last moment":     {func(p *x402.Payment) { p.At = now().Add(api.QuoteWindow) }, ""},
		"a second late":          {func(p *x402.Payment) { p.At = now().Add(api.QuoteWindow + time.Second) }, api.ReasonQuoteExpired},
		"before the quote":       {func(p *x402.Payment) { p.At = now().Add(-time.Minute - time.Second) }, api.ReasonNonceMismatch},
		"clock a minute behind":  {func(p *x402.Payment) { p.At = now().Add(-time.Minute) }, ""},
		"nonce within the bound": {func(p *x402.Payment) { p.Input = farOff(p.Input, 4<<10-x402.NonceSize) }, ""},
		"nonce beyond the bound": {func(p *x402.Payment) { p.Input = farOff(p.Input, 4<<10-x402.NonceSize+1) }, api.ReasonNonceMismatch},
	} {
		t.Run(what, func(t *testing.T) {
			d := newPayments(t)
			proof := d.paid(t, 1)
			p := d.chain.payments[proof.Hash]
			test.change(&p)
			d.chain.payments[proof.Hash] = p
			c, err := d.Claim(t.Context(), proof, fresh())
			if test.reason == "" && err != nil || test.reason != "" && !errors.Is(err, &api.Error{Reason: test.reason}) {
				t.Errorf("%s: %v, want %q", what, err, test.reason)
			}
			if c != nil {
				c.Close()
			}
		})
	}
}

// farOff is calldata with its nonce so far behind the parameters.
func farOff(input []byte, n int) []byte {
	const parameters = 68
	return slices.Concat(input[:parameters], make([]byte, n), input[parameters:])
}

// TestPriceIsUnderTheMAC: what a nonce promises is the price of its day. Every part of a promise makes another nonce, so a quote of a price
// that has changed since, or of another chain, token, treasury, operation or request, is not known.
func TestPriceIsUnderTheMAC(t *testing.T) {
	t.Parallel()
	q := quoter(1)
	var nonce [x402.NonceSize]byte
	nonce[0] = 1
	binary.BigEndian.PutUint32(nonce[1:], uint32(now().Add(api.QuoteWindow).Unix()))
	promise := func(chain int64, token, treasury string, price int64, s x402.Subject) [x402.NonceSize]byte {
		h := hmac.New(sha256.New, q.Keys[0])
		fmt.Fprintf(h, "contextd quote\n%x\n%d\n%s\n%s\n%d\n%s\n%s", nonce[:12], chain, token, treasury, price, s.Op, s.Fingerprint)
		made := nonce
		copy(made[12:], h.Sum(nil))
		return made
	}
	price, brief, other := api.OpFresh.PriceMicros(), fresh(), fresh()
	brief.Op, other.Fingerprint = api.OpBrief, x402.Fingerprint("GET", "/v1/fresh", "pack=ai")
	for what, test := range map[string]struct {
		made [x402.NonceSize]byte
		want bool
	}{
		"as it is now":      {promise(api.ChainIDTest, token, treasury, price, fresh()), true},
		"a lower price":     {promise(api.ChainIDTest, token, treasury, price-1, fresh()), false},
		"a higher price":    {promise(api.ChainIDTest, token, treasury, price+1, fresh()), false},
		"another chain":     {promise(api.ChainIDMain, token, treasury, price, fresh()), false},
		"another token":     {promise(api.ChainIDTest, payer, treasury, price, fresh()), false},
		"another treasury":  {promise(api.ChainIDTest, token, payer, price, fresh()), false},
		"another operation": {promise(api.ChainIDTest, token, treasury, price, brief), false},
		"another request":   {promise(api.ChainIDTest, token, treasury, price, other), false},
	} {
		t.Run(what, func(t *testing.T) {
			if _, ok := q.Made(test.made, fresh()); ok != test.want {
				t.Errorf("%s: %v, want %v", what, ok, test.want)
			}
		})
	}
}

// TestSpentOnADeposit: a transfer that has paid for something pays for no call, and one that lies there unmatched does, once.
func TestSpentOnADeposit(t *testing.T) {
	t.Parallel()
	for spent, want := range map[string]api.Reason{"": "", "deposit": api.ReasonAlreadyUsed, "waiting": api.ReasonAlreadyUsed, "written-off": api.ReasonAlreadyUsed, "call": api.ReasonAlreadyUsed} {
		t.Run("spent on "+spent, func(t *testing.T) {
			d := newPayments(t)
			proof := d.paid(t, 1)
			p := d.chain.payments[proof.Hash]
			if _, err := d.store.Arrive(t.Context(), []billing.Transfer{{
				Rail: rail, TxHash: proof.Hash, LogIndex: p.Transfers[0].LogIndex, Sender: payer, Amount: 1_000, Block: p.Block, BlockHash: p.BlockHash, At: p.At,
			}}, billing.ScanCursor{}, false, now()); err != nil {
				t.Fatal(err)
			}
			if _, err := testbed.SQL(t, d.dir, store.File).ExecContext(t.Context(), "UPDATE transfers SET spent_on = ?", spent); err != nil {
				t.Fatal(err)
			}
			c, err := d.Claim(t.Context(), proof, fresh())
			if err != nil {
				t.Fatal(err)
			}
			err = c.Spend(t.Context(), []byte("{}"))
			c.Close()
			if want == "" && err != nil || want != "" && !errors.Is(err, &api.Error{Reason: want}) {
				t.Errorf("spent on %q: %v, want %q", spent, err, want)
			}
			if _, kept, err := d.store.PaidCall(t.Context(), rail, proof.Hash); err != nil || kept != (want == "") {
				t.Errorf("spent on %q: an answer is kept: %v, %v", spent, kept, err)
			}
		})
	}
}

// TestSignature: a signature in a proof is looked at, and has to be the payer's over the payment.
func TestSignature(t *testing.T) {
	t.Parallel()
	d := newPayments(t)
	proof := d.paid(t, 1)
	d.Recover = func(text, signature string) (string, error) {
		nonce := hex.EncodeToString(d.chain.payments[proof.Hash].Input[68:])
		if signature != "good" ||
			text != api.ProofText(proof.Hash, "0x"+nonce) {
			return treasury, nil
		}
		return payer, nil
	}
	for signature, good := range map[string]bool{"": true, "good": true, "bad": false} {
		t.Run("signature "+signature, func(t *testing.T) {
			proof.Signature = signature
			c, err := d.Claim(t.Context(), proof, fresh())
			if (err == nil) != good {
				t.Errorf("signed %q: %v", signature, err)
			}
			if c != nil {
				c.Close()
			}
		})
	}
}

// TestSignedOnce: the answer to a proof that was first shown with the payer's signature is given again with that alone; transaction and
// payer are on the chain.
func TestSignedOnce(t *testing.T) {
	t.Parallel()
	for first, again := range map[string]map[string]bool{
		"":     {"": true, "bad": true, "good": true},
		"good": {"": false, "bad": false, "good": true},
	} {
		t.Run("first "+first, func(t *testing.T) {
			d := newPayments(t)
			proof := d.paid(t, 1)
			d.Recover = func(text, signature string) (string, error) {
				if signature != "good" ||
					text != api.ProofText(proof.Hash, "0x"+hex.EncodeToString(d.chain.payments[proof.Hash].Input[68:])) {
					return treasury, nil
				}
				return payer, nil
			}
			proof.Signature = first
			c, err := d.Claim(t.Context(), proof, fresh())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Spend(t.Context(), []byte("{}")); err != nil {
				t.Fatal(err)
			}
			c.Close()
			for signature, told := range again {
				proof.Signature = signature
				c, err := d.Claim(t.Context(), proof, fresh())
				if told != (err == nil && string(c.Replay.Body) == "{}") ||
					!told && !errors.Is(err, &api.Error{Reason: api.ReasonPayerMismatch}) {
					t.Errorf("again with %q: %v", signature, err)
				}
				if c != nil {
					c.Close()
				}
			}
		})
	}
}

// TestKeysRotate: quotes of the key before are still known, those of one that is gone are not.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	before := quoter(1)
	q, err := before.Quote(fresh())
	if err != nil {
		t.Fatal(err)
	}
	var nonce [32]byte
	raw, err := hex.DecodeString(q.Nonce[2:])
	if err != nil || copy(nonce[:], raw) != 32 {
		t.Fatal(q.Nonce, err)
	}
	for _, c := range []struct {
		keys []byte
		want bool
	}{{[]byte{1}, true}, {[]byte{2, 1}, true}, {[]byte{2}, false}} {
		quoter := quoter(c.keys...)
		until, ok := quoter.Made(nonce, fresh())
		if ok != c.want || ok && until.Unix() != q.ValidUntil {
			t.Errorf("keys %v: %v until %v", c.keys, ok, until)
		}
	}
	for i := range nonce { // every bit is under the MAC
		changed := nonce
		changed[i] ^= 0x10
		if _, ok := before.Made(changed, fresh()); ok {
			t.Errorf("byte %d can be changed", i)
		}
	}
	if binary.BigEndian.Uint32(nonce[1:]) != uint32(q.ValidUntil) {
		t.Error("the end of the quote is not in its nonce")
	}
	for _, bad := range []x402.Quoter{{}, {Keys: [][]byte{make([]byte, 31)}}} {
		if _, err := x402.NewPayments(bad, nil, nil); err == nil {
			t.Error("payments without good keys")
		}
	}
}

// TestSweep is line 19: payments are looked at again until they are final, and what has vanished is told, whether the node answers for many
// blocks at once, by which those are not asked for that stand, or not.
func TestSweep(t *testing.T) {
	t.Parallel()
	for span, asked := range map[uint64]int{0: 7, 100: 4} {
		t.Run(fmt.Sprintf("%d blocks at once", span), func(t *testing.T) {
			t.Parallel()
			d := newPayments(t)
			d.chain.span = span
			d.sweeps(t)
			if d.chain.asked != asked {
				t.Errorf("%d blocks were asked for, want %d", d.chain.asked, asked)
			}
		})
	}
}

// spend spends the payment of a proof on an answer.
func (d *payments) spend(t testing.TB, proof x402.Proof) {
	t.Helper()
	c, err := d.Claim(t.Context(), proof, fresh())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Spend(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
}

// sweeps is TestSweep.
func (d *payments) sweeps(t *testing.T) {
	for n := byte(1); n <= 6; n++ {
		d.spend(t, d.paid(t, n))
	}
	sweep := func() (vanished []byte) {
		t.Helper()
		if err := x402.Sweep(t.Context(), rail, d.chain, d.store, func(tx x402.MinedTx) { vanished = append(vanished, tx.Hash[0]) }); err != nil {
			t.Fatal(err)
		}
		return vanished
	}
	open := func() (list []byte) {
		t.Helper()
		placed, err := d.store.NotFinal(t.Context(), rail, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range placed {
			list = append(list, p.Hash[0])
		}
		return list
	}
	if got := sweep(); len(got) != 0 || !slices.Equal(open(), []byte{1, 2, 3, 4, 5, 6}) {
		t.Errorf("before anything is final: %v vanished, %v are open", got, open())
	}
	// Blocks 2 to 5 are others now. The payment of 2 is in another block, that of 3 in none, that of 4 failed there, that of 5 is in one that
	// is not final.
	d.chain.final = 5
	elsewhere := d.chain.payments[[32]byte{2}]
	elsewhere.Block, elsewhere.BlockHash = 1, [32]byte{1}
	d.chain.payments[[32]byte{2}] = elsewhere
	later := d.chain.payments[[32]byte{5}]
	later.Block, later.BlockHash = 7, [32]byte{7}
	d.chain.payments[[32]byte{5}], d.chain.blocks[7] = later, later.BlockHash
	for n := uint64(2); n <= 5; n++ {
		d.chain.blocks[n] = [32]byte{0xff, byte(n)}
	}
	delete(d.chain.payments, [32]byte{3})
	failed := d.chain.payments[[32]byte{4}]
	failed.Succeeded = false
	d.chain.payments[[32]byte{4}] = failed
	d.chain.err = errors.New("no answer")
	if err := x402.Sweep(t.Context(), rail, d.chain, d.store, func(x402.MinedTx) { t.Error("vanished while nobody answers") }); err == nil {
		t.Error("a chain that does not answer is no error")
	}
	d.chain.err = nil
	if got := sweep(); !slices.Equal(got, []byte{3, 4}) || !slices.Equal(open(), []byte{6, 5}) {
		t.Errorf("%v vanished, %v are open", got, open())
	}
	if got := sweep(); len(got) != 0 {
		t.Errorf("told twice: %v", got)
	}
	if d.chain.final = 7; len(sweep()) != 0 || len(open()) != 0 {
		t.Errorf("when all is final, %v are open", open())
	}
}

// TestSweepSpan is how many blocks are asked for at once.
func TestSweepSpan(t *testing.T) {
	t.Parallel()
	for gap, asked := range map[uint64]int{1: 0, 1_999: 0, 2_000: 2} {
		d := newPayments(t)
		d.chain.span, d.chain.final = 1<<20, 1<<20
		for n := range byte(2) {
			proof := d.paid(t, n+1)
			p := d.chain.payments[proof.Hash]
			p.Block = 1 + uint64(n)*gap
			d.chain.payments[proof.Hash], d.chain.blocks[p.Block] = p, p.BlockHash
			d.spend(t, proof)
		}
		err := x402.Sweep(t.Context(), rail, d.chain, d.store, func(x402.MinedTx) { t.Error("it has vanished") })
		if open, failed := d.store.NotFinal(t.Context(), rail, 10); err != nil || failed != nil || len(open) > 0 || d.chain.asked != asked {
			t.Errorf("%d blocks apart: %v, %v, %v are open, %d blocks were asked for, want %d", gap, err, failed, open, d.chain.asked, asked)
		}
	}
}

// FuzzParseProof: whatever the header, it is a proof or an error of the caller's.
func FuzzParseProof(f *testing.F) {
	f.Add("eyJzY2hlbWUiOiJ4NDAyIiwibmV0d29yayI6ImwyY2hhaW4iLCJ0eEhhc2giOiIweDAwIiwicGF5ZXIiOiIweDAwIn0=", "")
	f.Add("", "e30")
	f.Fuzz(func(t *testing.T, header, alias string) {
		_, err := x402.ParseProof([]string{header}, []string{alias})
		var refused *api.Error
		if err != nil && (!errors.As(err, &refused) || refused.Status >= 500) {
			t.Errorf("%q %q: %v", header, alias, err)
		}
	})
}

// TestFormerRequest: quotes and answers of a request as it was spelled before defaults were left out of its fingerprint stay good, and
// no other request gets them.
func TestFormerRequest(t *testing.T) {
	t.Parallel()
	d := newPayments(t)
	old := x402.Subject{Op: api.OpFresh, Fingerprint: x402.Fingerprint("GET", "/v1/fresh", "pack=crypto")}
	quoted, err := d.Quote(old)
	if err != nil {
		t.Fatal(err)
	}
	proof, p := payment(t, quoted, 1)
	d.chain.payments[proof.Hash] = p
	now := fresh()
	now.Former = old.Fingerprint
	for _, stranger := range []x402.Subject{fresh(), {Op: api.OpFresh, Fingerprint: "x", Former: "y"}} {
		if _, err := d.Claim(t.Context(), proof, stranger); !errors.Is(err, &api.Error{Reason: api.ReasonNonceMismatch}) {
			t.Errorf("%+v: %v", stranger, err)
		}
	}
	c, err := d.Claim(t.Context(), proof, now)
	if err != nil || !c.Quoted.Equal(time.Unix(quoted.ValidUntil, 0).Add(-api.QuoteWindow)) {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := c.Spend(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if c, err = d.Claim(t.Context(), proof, now); err != nil || c.Replay == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	c.Close()
	kept := d.paid(t, 2)
	before, err := d.Claim(t.Context(), kept, fresh())
	if err == nil {
		err = before.Spend(t.Context(), []byte("{}"))
		before.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	spelled := x402.Subject{Op: api.OpFresh, Fingerprint: "new", Former: fresh().Fingerprint}
	if c, err = d.Claim(t.Context(), kept, spelled); err != nil || c.Replay == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	c.Close()
	if _, err := d.Claim(t.Context(), kept, x402.Subject{Op: api.OpFresh, Fingerprint: "new"}); !errors.Is(err, &api.Error{Reason: api.ReasonAlreadyUsed}) {
		t.Errorf("another request: %v", err)
	}
}

package gate_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

const (
	token    = "0x1000000000000000000000000000000000000001"
	treasury = "0x2000000000000000000000000000000000000002"
	payer    = "0x3000000000000000000000000000000000000003"
)

// chain shows one transaction.
type chain struct {
	x402.Chain
	paid x402.Payment
}

func (c *chain) Payment(context.Context, [32]byte) (x402.Payment, error) { return c.paid, nil }

// counter counts what a gate reports.
type counter struct{ quoted, claimed, refused int }

func (c *counter) Quoted() { c.quoted++ }

func (c *counter) Claimed(_ *x402.Claim, err error) {
	c.claimed++
	if err != nil {
		c.refused++
	}
}

// till is a gate that takes real payments, on a chain that shows one of them.
type till struct {
	*gate.Gate
	t       *testing.T
	chain   *chain
	counted *counter
	subject x402.Subject
}

func newTill(t *testing.T) *till {
	t.Helper()
	s, err := store.Open(t.Context(), testbed.Place(t), opened())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := &till{t: t, chain: &chain{}, counted: &counter{}}
	b.subject = x402.Subject{Op: api.OpFresh, Fingerprint: x402.Fingerprint("GET", "/v1/fresh", "")}
	payments, err := x402.NewPayments(x402.Quoter{
		Rail: api.NetworkL2, Keys: [][]byte{make([]byte, 32)}, ChainID: api.ChainIDTest, Token: token, Treasury: treasury, Now: opened,
	}, b.chain, s)
	if err != nil {
		t.Fatal(err)
	}
	b.Gate = gate.New(gate.Config{Keys: brokenKeys{errors.New("no key is asked for"), t}, Payments: payments, Observer: b.counted})
	return b
}

// quote asks without credentials, and returns the quote.
func (b *till) quote() api.PaymentRequirements {
	b.t.Helper()
	_, err := b.Admit(b.t.Context(), gate.Credentials{Subject: b.subject}, api.OpFresh, api.PackCrypto)
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Reason != api.ReasonPaymentRequired || refused.Payment == nil {
		b.t.Fatalf("%v", err)
	}
	return *refused.Payment
}

// pay puts a transfer for a quote on the chain, and returns the credentials of who has made it.
func (b *till) pay(q api.PaymentRequirements) gate.Credentials {
	b.t.Helper()
	input, err := hex.DecodeString("a9059cbb" + strings.Repeat("0", 24) + treasury[2:] + fmt.Sprintf("%064x", 1_000) + q.Nonce[2:])
	if err != nil {
		b.t.Fatal(err)
	}
	b.chain.paid = x402.Payment{
		ChainID: api.ChainIDTest, From: payer, To: token, Input: input, Succeeded: true, Block: 7, BlockHash: [32]byte{7},
		At: opened().Add(time.Second), Transfers: []x402.Transfer{{Contract: token, From: payer, To: treasury, Amount: 1_000}},
	}
	return gate.Credentials{Proof: &x402.Proof{Hash: [32]byte{1}, Payer: payer}, Subject: b.subject}
}

// serve has an order for fresh served, and returns how often it was answered.
func (b *till) serve(who gate.Credentials, change func(*gate.Order[string])) (answered int, served gate.Served[string], err error) {
	b.t.Helper()
	o := gate.Order[string]{
		Credentials: who, Op: api.OpFresh, Pack: api.PackCrypto,
		Answer: func(context.Context, gate.Caller) (string, error) { answered++; return "answer", nil },
		Text:   func(a string) []byte { return []byte(a) },
	}
	if change != nil {
		change(&o)
	}
	served, err = gate.Serve(b.t.Context(), b.Gate, o)
	return answered, served, err
}

// TestServePaid follows a payment through Serve: what fails before the answer is made leaves the payment as it was, the answer is given
// once, and given again without being made again.
func TestServePaid(t *testing.T) {
	t.Parallel()
	b := newTill(t)
	who := b.pay(b.quote())
	down := errors.New("no state")
	if _, _, err := b.serve(who, func(o *gate.Order[string]) {
		o.Answer = func(context.Context, gate.Caller) (string, error) { return "", down }
	}); !errors.Is(err, down) {
		t.Errorf("an answer that fails: %v", err)
	}
	if answered, served, err := b.serve(who, func(o *gate.Order[string]) { o.Free = true }); err != nil || answered != 1 || served.Sold != nil {
		t.Errorf("an answer that is described alone: %d, %+v, %v", answered, served, err)
	}
	answered, served, err := b.serve(who, nil)
	if err != nil || answered != 1 || string(served.Sold) != "answer" || !served.Replayed.IsZero() {
		t.Errorf("%d, %+v, %v", answered, served, err)
	}
	if window, sells := b.Anonymous(); !sells || served.Caller.Snapshot != window || served.Caller.AsOf.IsZero() {
		t.Errorf("%+v", served.Caller)
	}
	gone := errors.New("not served any more")
	if _, served, err := b.serve(who, func(o *gate.Order[string]) {
		o.Again = func(_ context.Context, sold []byte) error {
			if string(sold) != "answer" {
				return errors.New("of another answer")
			}
			return gone
		}
	}); !errors.Is(err, gone) || served.Sold != nil {
		t.Errorf("an answer that must not be given again: %+v, %v", served, err)
	}
	answered, served, err = b.serve(who, nil)
	if err != nil || answered != 0 || string(served.Sold) != "answer" || !served.Replayed.Equal(opened()) {
		t.Errorf("again: %d, %+v, %v", answered, served, err)
	}
	other := who
	other.Subject.Fingerprint = "another"
	_, _, err = b.serve(other, nil)
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Reason != api.ReasonAlreadyUsed || refused.Payment == nil {
		t.Errorf("for another request: %v", err)
	}
	_, _, err = b.serve(gate.Credentials{Subject: b.subject}, func(o *gate.Order[string]) { o.Notices = []string{"a notice"} })
	if !errors.As(err, &refused) || refused.Payment == nil || strings.Join(refused.Notices, "") != "a notice" {
		t.Errorf("before a payment: %v", err)
	}
	if *b.counted != (counter{quoted: 3, claimed: 6, refused: 1}) {
		t.Errorf("%+v", *b.counted)
	}
}

// TestRefusedPayments is why a payment is not taken, before it is looked at.
func TestRefusedPayments(t *testing.T) {
	t.Parallel()
	elsewhere := api.Errorf(api.ReasonWrongNetwork, "elsewhere")
	for name, one := range map[string]struct {
		who    gate.Credentials
		op     api.Op
		want   api.Reason
		quoted bool
	}{
		"nothing":                      {op: api.OpFresh, want: api.ReasonPaymentRequired, quoted: true},
		"a proof for elsewhere":        {who: gate.Credentials{Refused: elsewhere}, op: api.OpFresh, want: api.ReasonWrongNetwork, quoted: true},
		"what is not sold":             {op: api.OpHistory, want: api.ReasonMissingToken},
		"a proof for what is not sold": {who: gate.Credentials{Proof: &x402.Proof{}}, op: api.OpHistory, want: api.ReasonMissingToken},
		"exact, where nothing settles": {who: gate.Credentials{Exact: &x402.Exact{}}, op: api.OpFresh, want: api.ReasonPaymentsDisabled},
		"a call of another contract":   {who: gate.Credentials{Proof: &x402.Proof{}}, op: api.OpFresh, want: api.ReasonWrongToken, quoted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTill(t)
			b.chain.paid = x402.Payment{Succeeded: true}
			one.who.Subject = x402.Subject{Op: one.op, Fingerprint: "x"}
			caller, err := b.Admit(t.Context(), one.who, one.op, api.PackCrypto)
			var refused *api.Error
			if !errors.As(err, &refused) || refused.Reason != one.want || (refused.Payment != nil) != one.quoted || caller != (gate.Caller{}) {
				t.Errorf("%+v, %v, want %s", caller, err, one.want)
			}
		})
	}
	if elsewhere.Payment != nil {
		t.Error("the error of the caller has a quote now")
	}
}

package gate

import (
	"context"
	"errors"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// Admission admits and charges callers for Serve; *Gate is one.
type Admission interface {
	Admit(ctx context.Context, c Credentials, op api.Op, pack string) (Caller, error)
	Charge(ctx context.Context, c Caller) (billing.Left, error)
	Anonymous() (window time.Duration, sells bool)
	WithQuote(err error, s x402.Subject) error
}

// Order is a call that passed the free checks. A is the type of its answer.
type Order[A any] struct {
	Credentials
	Op      api.Op
	Pack    string
	Answer  func(ctx context.Context, caller Caller) (A, error) // resolves the answer for the caller, before they are charged
	Check   func(ctx context.Context, caller Caller) error      // why Answer would fail, at a fraction of its cost; nil where it never does
	Text    func(A) []byte                                      // the JSON that a payment by call buys
	Units   int64                                               // credits or free calls that it costs a key; 0 means 1
	First   bool                                                // Answer has others work for the caller: keys are charged before it
	Free    bool                                                // the answer is described alone, not given: nobody is charged
	Cost    int                                                 // of Check, in the units that the transport bounds for who has no key
	Again   func(ctx context.Context, sold []byte) error        // why what was sold must not be given again; nil means never
	Notices []string                                            // what a caller is told who is asked to pay
	None    func(A) bool                                        // says that there is nothing: keys are not charged; nil means never
}

// Served is a charged call and its answer.
type Served[A any] struct {
	Caller   Caller
	Answer   A
	Left     billing.Left // what the caller has left, with a key
	Sold     []byte       // the JSON that was paid for by call; nil for callers with a key
	Replayed time.Time    // when Sold was first given for the same payment; zero where that is now
}

// Serve admits the caller of o, resolves the answer and charges for it, or returns the error to answer with. Every answer with a price
// passes through it, over HTTP, MCP and streams, so that prices and refusals are the same on all of them. If it fails after the answer was
// resolved, Served still holds the answer, for closing.
//
// A sold answer is owed: an answer stored for a payment comes before all checks of what could be sold now, and a payment presented first is
// judged as of its quote.
func Serve[A any](ctx context.Context, g Admission, o Order[A]) (s Served[A], err error) {
	s, err = o.serve(ctx, g)
	if asked := new(api.Error); len(o.Notices) > 0 && errors.As(err, &asked) && asked.Payment != nil {
		asked.Notices = o.Notices
	}
	return s, err
}

func (o Order[A]) serve(ctx context.Context, g Admission) (s Served[A], err error) {
	if _, sells := g.Anonymous(); sells && !o.HasBearer && !o.Presented() { // what cannot be delivered is not quoted
		if err := o.deliverable(ctx, g); err != nil {
			return s, err
		}
	}
	if s.Caller, err = g.Admit(ctx, o.Credentials, o.Op, o.Pack); err != nil {
		if refused := new(api.Error); o.Presented() && errors.As(err, &refused) && refused.Payment != nil {
			if undeliverable := o.deliverable(ctx, g); undeliverable != nil {
				return s, undeliverable
			}
		}
		return s, err
	}
	if s.Caller.Payment == nil {
		s.Caller.Units = o.Units
		return o.byKey(ctx, g, s)
	}
	return o.byPayment(ctx, g, s)
}

// deliverable returns the reason why o cannot be answered after a payment now.
func (o Order[A]) deliverable(ctx context.Context, g Admission) error {
	if o.Check == nil {
		return nil
	}
	window, _ := g.Anonymous()
	return o.Check(ctx, Caller{Snapshot: window, AllPacks: true})
}

func (o Order[A]) byKey(ctx context.Context, g Admission, s Served[A]) (_ Served[A], err error) {
	if o.First && !o.Free {
		if s.Left, err = g.Charge(ctx, s.Caller); err != nil {
			return s, err
		}
	}
	if s.Answer, err = o.Answer(ctx, s.Caller); err != nil || o.First || o.Free || o.None != nil && o.None(s.Answer) {
		return s, err
	}
	s.Left, err = g.Charge(ctx, s.Caller)
	return s, err
}

// byPayment replays the answer that the payment was spent on, else answers o and spends it.
func (o Order[A]) byPayment(ctx context.Context, g Admission, s Served[A]) (_ Served[A], err error) {
	payment := s.Caller.Payment
	defer payment.Close()
	if replay := payment.Replay; replay != nil {
		if o.Again != nil {
			if err := o.Again(ctx, replay.Body); err != nil {
				return s, err
			}
		}
		s.Sold, s.Replayed = replay.Body, replay.At
		return s, nil
	}
	if s.Answer, err = o.Answer(ctx, s.Caller); err != nil || o.Free {
		return s, err
	}
	s.Sold = o.Text(s.Answer)
	return s, g.WithQuote(payment.Spend(ctx, s.Sold), o.Subject)
}

package gate

import (
	"context"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Admission is what Serve asks; *Gate is one.
type Admission interface {
	Admit(ctx context.Context, c Credentials, op api.Op, pack string) (Caller, error)
	Charge(ctx context.Context, c Caller) error
	Anonymous() (window time.Duration, sells bool)
}

// Order is a call that passed the free checks. A is the type of its answers.
type Order[A any] struct {
	Credentials
	Op     api.Op
	Pack   string
	Answer func(ctx context.Context, caller Caller) (A, error) // resolves the answer for the caller, before they are charged
	Text   func(A) []byte                                      // the JSON that a payment by call buys
}

// Served is a call that was charged and is to be answered now.
type Served[A any] struct {
	Caller   Caller
	Answer   A
	Sold     []byte // the JSON that was paid for by call; nil for callers with a key
	Replayed bool   // Sold was given before, for the same payment
}

// Serve admits the caller of o, resolves the answer and takes the charge, or returns the error to answer with. Every answer that costs
// something goes through here, over HTTP and MCP and streams too, so that a call costs the same and is refused for the same reasons on all
// of them. It is a function because Go's methods have no type parameters. Where it fails after the answer was resolved, Served has it all
// the same, to be closed.
func Serve[A any](ctx context.Context, g Admission, o Order[A]) (s Served[A], err error) {
	if window, sells := g.Anonymous(); sells && !o.HasBearer { // what cannot be delivered is neither quoted nor sold
		if s.Answer, err = o.Answer(ctx, Caller{Snapshot: window}); err != nil {
			return s, err
		}
	}
	if s.Caller, err = g.Admit(ctx, o.Credentials, o.Op, o.Pack); err != nil {
		return s, err
	}
	payment := s.Caller.Payment
	if payment == nil {
		if s.Answer, err = o.Answer(ctx, s.Caller); err != nil {
			return s, err
		}
		return s, g.Charge(ctx, s.Caller)
	}
	defer payment.Close()
	if kept := payment.Replay; kept != nil {
		s.Sold, s.Replayed = kept.Body, true
		return s, nil
	}
	s.Sold = o.Text(s.Answer)
	return s, payment.Settle(ctx, s.Sold)
}

package metrics

import (
	"context"
	"errors"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// desk counts what a desk does.
type desk struct {
	gate.Payments
	m *Metrics
}

// Payments is d, counted.
func (m *Metrics) Desk(d gate.Payments) gate.Payments { return &desk{d, m} }

// Quote makes a quote.
func (d *desk) Quote(s x402.Subject) (api.PaymentRequirements, error) {
	q, err := d.Payments.Quote(s)
	if err == nil {
		d.m.quotes.Inc()
	}
	return q, err
}

// Claim takes a proof.
func (d *desk) Claim(ctx context.Context, proof x402.Proof, s x402.Subject) (*x402.Claim, error) {
	c, err := d.Payments.Claim(ctx, proof, s)
	var refused *api.Error
	outcome := "paid"
	switch {
	case errors.As(err, &refused):
		outcome = string(refused.Reason)
	case err != nil:
		outcome = "error"
	case c.Replay != nil:
		outcome = "replayed"
	}
	d.m.proofs.WithLabelValues(outcome).Inc()
	return c, err
}

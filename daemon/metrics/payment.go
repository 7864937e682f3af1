package metrics

import (
	"errors"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// Quoted counts a quote.
func (m *Metrics) Quoted() { m.quotes.Inc() }

// Claimed counts a proof by what became of it.
func (m *Metrics) Claimed(c *x402.Claim, err error) {
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
	m.proofs.WithLabelValues(outcome).Inc()
}

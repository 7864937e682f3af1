package metrics

import (
	"errors"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// Quoted counts a quote.
func (m *Metrics) Quoted() { m.quotes.Inc() }

// What becomes of a proof that is not refused for a reason.
const (
	claimPaid     = "paid"
	claimReplayed = "replayed"
	claimFailed   = "error"
)

// Claimed counts a proof by what became of it.
func (m *Metrics) Claimed(c *x402.Claim, err error) {
	var refused *api.Error
	outcome := claimPaid
	switch {
	case errors.As(err, &refused):
		outcome = string(refused.Reason)
	case err != nil:
		outcome = claimFailed
	case c.Replay != nil:
		outcome = claimReplayed
	}
	m.proofs.WithLabelValues(outcome).Inc()
}

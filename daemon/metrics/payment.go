package metrics

import (
	"context"
	"errors"
	"math/big"

	"github.com/prometheus/client_golang/prometheus"

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

// Settles has the settlements of a rail stand at zero.
func (m *Metrics) Settles(rail string) {
	for _, state := range []x402.SettlementState{x402.SettlementSettled, x402.SettlementFailed} {
		m.settlements.WithLabelValues(rail, string(state))
	}
	for _, v := range []*prometheus.CounterVec{m.gas, m.fee, m.reverts} {
		v.WithLabelValues(rail)
	}
}

// Settled counts a payment by standard x402 that is over.
func (m *Metrics) Settled(rail string, state x402.SettlementState) {
	m.settlements.WithLabelValues(rail, string(state)).Inc()
}

// Burnt counts what a transaction has cost that was to settle a payment. A nil fee is not known.
func (m *Metrics) Burnt(rail string, gas uint64, fee *big.Int, reverted bool) {
	m.gas.WithLabelValues(rail).Add(float64(gas))
	if fee != nil {
		wei, _ := fee.Float64()
		m.fee.WithLabelValues(rail).Add(wei)
	}
	if reverted {
		m.reverts.WithLabelValues(rail).Inc()
	}
}

func (r *reader) settling(ctx context.Context, emit func(name string, n float64, label ...string)) {
	list, err := r.Settling(ctx)
	if err != nil { // a database that does not answer is seen at contextd_ready
		return
	}
	for _, s := range list {
		offered, age := 0.0, 0.0
		if s.Off == "" {
			offered = 1
		}
		if s.OldestAt != nil {
			age = r.now().Sub(*s.OldestAt).Seconds()
		}
		limited := 0.0
		if s.Limited {
			limited = 1
		}
		emit("standard_offered", offered, s.Rail)
		emit("standard_limited", limited, s.Rail)
		emit("settlements_foreign", float64(s.Foreign), s.Rail)
		emit("settlements_pending", float64(s.Pending), s.Rail)
		emit("settlement_pending_age_seconds", age, s.Rail)
		for name, wei := range map[string]string{"gas_key_balance_wei": s.Balance, "gas_price_wei": s.GasPrice, "gas_lost_wei": s.Lost} {
			if n, ok := new(big.Float).SetString(wei); ok {
				f, _ := n.Float64()
				emit(name, f, s.Rail)
			}
		}
	}
}

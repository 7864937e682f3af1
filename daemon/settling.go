package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

var _ x402.GasObserver = (*metrics.Metrics)(nil)

// Gas says what the gas of settlements may cost. The zero Gas lets it cost anything.
type Gas struct {
	MaxPercent  int64    // of a price that settling its payment may cost; 0 means any
	Reverts     *big.Int // wei that transactions which moved nothing may cost in a day, on each rail; nil means any
	EtherMicros int64    // what an ether costs, in micro-USDG; 0 means that it is not known
	ByState     bool     // that is read in the newest state of the crypto pack, in place of EtherMicros
}

// policy is g as settlers take it. ether says what an ether costs by the newest state, 0 while that is not known.
func (g Gas) policy(ether func() int64) x402.GasPolicy {
	return x402.GasPolicy{MaxPercent: g.MaxPercent, Reverts: g.Reverts, Ether: func() *int64 {
		micros := g.EtherMicros
		if g.ByState {
			micros = ether()
		}
		if micros == 0 {
			return nil
		}
		return &micros
	}}
}

// newSender makes what settles on a chain: a key, or a facilitator, whose host is returned.
func newSender(c *chain.Client, key, facilitator string) (s x402.Sender, host string, err error) {
	if facilitator == "" {
		s, err = chain.NewSender(c, key)
		return s, "", err
	}
	f, err := chain.NewFacilitator(c, facilitator)
	if err != nil {
		return nil, "", err
	}
	return f, f.Address(), nil
}

// chainFailures logs calls that fail because the chain does not answer, or is asked for too much that comes to nothing: once a minute,
// however many they are. It is safe for concurrent use.
type chainFailures struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex // guards what follows
	next  time.Time  // when there is another line
	calls int        // that have failed since the last
}

// Covers reports whether a call failed with err because of the chain. If so, the call is counted and needs no line of its own in the log.
func (f *chainFailures) Covers(err error) bool {
	if !errors.Is(err, chain.ErrNoAnswer) && !errors.Is(err, x402.ErrBusy) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if now := f.now(); !now.Before(f.next) {
		f.log.Error("payments cannot be checked", "calls", f.calls, "error", err)
		f.next, f.calls = now.Add(time.Minute), 0
	}
	return true
}

// covers reports whether a call failed with err in an outage, of the database or of the chain, which is logged as one.
func (d *Daemon) covers(err error) bool { return d.outage.Covers(err) || d.chainFails.Covers(err) }

// settle goes on with settlements that were begun.
func (d *Daemon) settle(ctx context.Context, r *rail) error {
	if r.settler == nil {
		return nil
	}
	err := r.settler.Resume(ctx)
	n := r.settler.Foreign()
	if n > r.foreign {
		d.cfg.Logger.Warn("transactions of others have settled payments; another service with this treasury may have sold them too",
			"rail", r.ID, "in_a_day", n, "treasury", r.Treasury)
	}
	r.foreign = n
	return err
}

// Settling says how the rails stand on which payments are settled, or were and something waits for that.
func (d *Daemon) Settling(ctx context.Context) (list []x402.Standing, err error) {
	for _, s := range d.settlers() {
		one, err := s.Standing(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	left, err := d.left(ctx)
	return append(list, left...), err
}

// left are the rails of the books on which payments or purchases wait and nothing sees to them any more.
func (d *Daemon) left(ctx context.Context) (list []x402.Standing, err error) {
	all, err := d.store.Unfinished(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for payments that wait: %w", err)
	}
	for _, w := range all {
		i := slices.IndexFunc(d.rails, func(r *rail) bool { return r.ID == w.Rail })
		if i < 0 || w.Settlements > 0 && d.rails[i].settler == nil {
			list = append(list, w.Standing(i >= 0))
		}
	}
	return list, nil
}

// logLeft says at the start what waits on rails that nothing sees to any more. It stays in the books until one does.
func (d *Daemon) logLeft(ctx context.Context) error {
	list, err := d.left(ctx)
	for _, s := range list {
		d.cfg.Logger.Error("payments wait on a removed rail; configure it again until they end",
			"rail", s.Rail, "reason", s.Off, "settlements", s.Pending, "purchases", s.Purchases)
	}
	return err
}

// RetrySettlement goes on with a settlement that is pending, and returns it as it is then.
func (d *Daemon) RetrySettlement(ctx context.Context, k x402.Key) (x402.Settlement, error) {
	for _, r := range d.rails {
		if r.ID != k.Rail || r.settler == nil {
			continue
		}
		row, err := r.settler.Retry(ctx, k)
		if err != nil {
			err = fmt.Errorf("retry settlement: %w", err)
		}
		return row, err
	}
	return x402.Settlement{}, api.Errorf(api.ReasonInvalidRequest, "rail %s does not settle payments", k.Rail).
		WithHint("set chain.settle_key_file, or settle.key_file of the rail")
}

package x402

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"
)

// GasPolicy bounds the gas of settlements. The zero GasPolicy has no bounds.
type GasPolicy struct {
	MaxPercent int64         // of the price of what is paid for, that settling its payment may cost; 0 means any
	Reverts    *big.Int      // wei that transactions which moved nothing may cost in revertDay; nil means any
	Ether      func() *int64 // what an ether costs in micro-USDG, nil while that is not known; a nil function means that it never is
}

// GasStore stores the gas of settlements. Each method is one transaction.
type GasStore interface {
	// NoteGas notes what a transaction of ours has cost, once, and reports whether it was that time.
	NoteGas(ctx context.Context, rail string, hash [32]byte, p Payment) (noted bool, err error)
	// UnknownGas returns the transactions signed since a time that may be in a block without our knowing what they cost, at most limit.
	// Those of pending settlements are looked for anyway.
	UnknownGas(ctx context.Context, rail string, since time.Time, limit int) (hashes [][32]byte, err error)
	// LostGas sums what those have cost, in wei, that were signed since a time and have moved nothing.
	LostGas(ctx context.Context, rail string, since time.Time) (*big.Int, error)
	// CountForeign counts those of a rail that were settled since a time by a transaction that is not ours, though we settle there too.
	CountForeign(ctx context.Context, rail string, since time.Time) (int, error)
	// CountPending counts the settlements that are pending, and says since when the oldest is.
	CountPending(ctx context.Context, rail string) (n int, oldest time.Time, err error)
}

// GasObserver observes settlements; *metrics.Metrics is one.
type GasObserver interface {
	Settled(rail string, state SettlementState)                 // one is over
	Burnt(rail string, gas uint64, fee *big.Int, reverted bool) // a transaction of ours is in a block; fee may be nil
}

// ErrDear is why a payment is not settled that costs too much gas.
var ErrDear = errors.New("the gas costs too much of the price")

// UsualGas is that of a settlement, before there was one.
const UsualGas = 66_000

const (
	revertDay    = 24 * time.Hour
	unknownSince = time.Hour // for which it is looked for what a transaction has cost
	unknownLimit = 20
	anyPrice     = 1 << 40 // micro-USDG: nothing is so dear
)

// gas is what a rail knows about the gas of its settlements, and what it allows for that.
type gas struct {
	rail     string
	policy   GasPolicy
	store    GasStore
	sender   Sender
	observer GasObserver // nil means nobody
	now      func() time.Time

	mu    sync.Mutex // guards known
	known gasState
}

// gasState is the last known state of a rail's gas.
type gasState struct {
	Funds
	off  error    // why nothing can be settled, nil if it can
	lost *big.Int // to reverts; nil while that is not known
	used uint64   // that the last settlement took, 0 before there was one

	foreign int // settlements by transactions of others in a day
}

func (g *gas) change(act func(*gasState)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	act(&g.known)
}

func (g *gas) state() gasState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known
}

// shut notes why nothing can be settled, or that it can, for nil.
func (g *gas) shut(off error) { g.change(func(p *gasState) { p.off = off }) }

// refresh asks what there is to pay gas with. It fails where the node does not answer; that settlement is shut is no failure.
func (g *gas) refresh(ctx context.Context) error {
	has, off := g.sender.Ready(ctx)
	if off != nil && !errors.Is(off, ErrDry) && !errors.Is(off, ErrUnserved) {
		return off
	}
	g.change(func(p *gasState) { p.Funds, p.off = has, off })
	return nil
}

// limited reports whether gas above the budget was lost: then calls are settled for customers alone.
func (g *gas) limited() bool {
	p := g.state()
	return p.lost != nil && g.policy.Reverts != nil && p.lost.Cmp(g.policy.Reverts) > 0
}

// closed says why payments of a price in micro-USDG are taken from nobody now, nil if they are.
func (g *gas) closed(price int64) error {
	p := g.state()
	switch cost := g.cost(p); {
	case p.off != nil:
		return p.off
	case cost != nil && g.policy.MaxPercent > 0:
		const hundred = 100
		if new(big.Int).Mul(cost, big.NewInt(hundred)).Cmp(new(big.Int).Mul(big.NewInt(price), big.NewInt(g.policy.MaxPercent))) > 0 {
			return ErrDear
		}
	}
	return nil
}

// cost is what a settlement costs now in micro-USDG, rounded up; nil while that is not known.
func (g *gas) cost(p gasState) *big.Int {
	if p.GasPrice == nil || g.policy.Ether == nil {
		return nil
	}
	ether := g.policy.Ether()
	if ether == nil {
		return nil
	}
	wei := new(big.Int).Mul(p.GasPrice, new(big.Int).SetUint64(p.usual()))
	wei.Mul(wei, big.NewInt(*ether))
	const inEther = 1_000_000_000_000_000_000
	return wei.Add(wei, big.NewInt(inEther-1)).Div(wei, big.NewInt(inEther))
}

func (p gasState) usual() uint64 {
	if p.used == 0 {
		return UsualGas
	}
	return p.used
}

// spent notes what a transaction of ours has cost, and reports it once.
func (g *gas) spent(ctx context.Context, hash [32]byte, p Payment) error {
	first, err := g.store.NoteGas(ctx, g.rail, hash, p)
	if err != nil {
		return fmt.Errorf("note gas of settlement: %w", err)
	}
	if !first {
		return nil
	}
	g.change(func(known *gasState) {
		if p.Succeeded {
			known.used = p.GasUsed
		} else if known.lost != nil && p.Fee != nil {
			known.lost = new(big.Int).Add(known.lost, p.Fee)
		}
	})
	if g.observer != nil {
		g.observer.Burnt(g.rail, p.GasUsed, p.Fee, !p.Succeeded)
	}
	return nil
}

// account looks for what transactions have cost that settled nothing, or of which it was not noted, and sums what was lost.
func (g *gas) account(ctx context.Context) error {
	hashes, err := g.store.UnknownGas(ctx, g.rail, g.now().Add(-unknownSince), unknownLimit)
	if err != nil {
		return fmt.Errorf("read transactions of settlements: %w", err)
	}
	for _, hash := range hashes {
		p, err := g.sender.Settled(ctx, hash, 0)
		if err == nil {
			err = g.spent(ctx, hash, p)
		}
		if err != nil && !errors.Is(err, ErrNotVisible) {
			return err
		}
	}
	lost, err := g.store.LostGas(ctx, g.rail, g.now().Add(-revertDay))
	if err != nil {
		return fmt.Errorf("sum gas of settlements: %w", err)
	}
	foreign, err := g.store.CountForeign(ctx, g.rail, g.now().Add(-revertDay))
	if err != nil {
		return fmt.Errorf("count settlements by others: %w", err)
	}
	g.change(func(p *gasState) { p.lost, p.foreign = lost, foreign })
	return nil
}

// Standing is the state of a Settler. Values in wei are decimal numbers, "" if unknown or a facilitator's.
type Standing struct {
	Rail       string     `json:"rail"`
	By         string     `json:"by"`      // address of the key that pays the gas, or host of the facilitator
	Off        string     `json:"off"`     // why nothing is offered by standard x402, "" if it is
	Limited    bool       `json:"limited"` // above the budget of lost gas: calls are settled for customers alone
	Balance    string     `json:"balance"` // of the key, in wei
	GasPrice   string     `json:"gasPrice"`
	Gas        uint64     `json:"gas"`        // of the last settlement
	CostMicros *int64     `json:"costMicros"` // of a settlement now, in micro-USDG; null where the price of ether is not known
	MaxPercent int64      `json:"maxPercent"` // of a price that it may be; 0 is any
	Lost       string     `json:"lost"`       // to reverts in the last day, in wei
	Budget     string     `json:"budget"`     // of that
	Foreign    int        `json:"foreign"`    // settled in the last day by transactions of others, though this service settles there itself
	Pending    int        `json:"pending"`
	OldestAt   *time.Time `json:"oldestAt"`  // of those
	Left       bool       `json:"left"`      // it is in the books and nothing settles there any more: what is pending waits for that
	Purchases  int        `json:"purchases"` // where Left, that wait for their transfer
}

// Waiting holds the unfinished payments of a rail.
type Waiting struct {
	Rail        string
	Settlements int       // pending
	OldestAt    time.Time // of those
	Purchases   int       // that wait for their transfer
}

// Standing returns the state of w, for a rail without a Settler. configured reports that the rail is configured nevertheless.
func (w Waiting) Standing(configured bool) Standing {
	st := Standing{Rail: w.Rail, Off: "the rail is not in the configuration", Pending: w.Settlements, Left: true}
	if configured {
		st.Off = "the rail has neither a key nor a facilitator to settle with"
	} else {
		st.Purchases = w.Purchases
	}
	if w.Settlements > 0 {
		st.OldestAt = &w.OldestAt
	}
	return st
}

// Foreign is how many payments of the last day transactions of others have settled, as far as is known.
func (s *Settler) Foreign() int { return s.gas.state().foreign }

// Standing returns the last known state of s.
func (s *Settler) Standing(ctx context.Context) (Standing, error) { return s.gas.standing(ctx) }

func (g *gas) standing(ctx context.Context) (Standing, error) {
	p := g.state()
	st := Standing{
		Rail: g.rail, By: g.sender.Address(), Balance: wei(p.Balance), GasPrice: wei(p.GasPrice), Gas: p.usual(),
		MaxPercent: g.policy.MaxPercent, Lost: wei(p.lost), Budget: wei(g.policy.Reverts), Limited: g.limited(),
		Foreign: p.foreign,
	}
	if cost := g.cost(p); cost != nil && cost.IsInt64() {
		st.CostMicros = new(int64)
		*st.CostMicros = cost.Int64()
	}
	if err := g.closed(anyPrice); err != nil {
		st.Off = err.Error()
	}
	n, oldest, err := g.store.CountPending(ctx, g.rail)
	if err != nil {
		return st, fmt.Errorf("count settlements: %w", err)
	}
	if st.Pending = n; n > 0 {
		st.OldestAt = &oldest
	}
	return st, nil
}

// wei writes an amount, "" for none.
func wei(n *big.Int) string {
	if n == nil {
		return ""
	}
	return n.String()
}

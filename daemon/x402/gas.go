package x402

import (
	"context"
	"errors"
	"fmt"
	"math/big"
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
	// CountPending counts the settlements that are pending, and says since when the oldest is.
	CountPending(ctx context.Context, rail string) (n int, oldest time.Time, err error)
}

// GasObserver observes settlements; *metrics.Metrics is one.
type GasObserver interface {
	Settled(rail string, state SettlementState)                 // one is over
	Burnt(rail string, gas uint64, fee *big.Int, reverted bool) // a transaction of ours is in a block; fee may be nil
}

// Errors of what is not settled for the sake of the gas.
var (
	ErrLost = errors.New("the gas lost to transactions that moved nothing is above the budget of a day")
	ErrDear = errors.New("the gas costs too much of the price")
)

// UsualGas is that of a settlement, before there was one.
const UsualGas = 66_000

const (
	revertDay    = 24 * time.Hour
	unknownSince = time.Hour // for which it is looked for what a transaction has cost
	unknownLimit = 20
	anyPrice     = 1 << 40 // micro-USDG: nothing is so dear
)

// gasNow is the last known state of a Settler's gas.
type gasNow struct {
	Funds
	off  error    // why nothing can be settled, nil if it can
	lost *big.Int // to reverts; nil while that is not known
	gas  uint64   // that the last settlement took, 0 before there was one
}

// know changes what is known.
func (s *Settler) know(change func(*gasNow)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.gasNow)
}

// known is what is known.
func (s *Settler) known() gasNow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gasNow
}

// closed says why payments of a price in micro-USDG are not taken now, nil if they are.
func (s *Settler) closed(price int64) error {
	p := s.known()
	switch cost := s.cost(p); {
	case p.off != nil:
		return p.off
	case p.lost != nil && s.cfg.Gas.Reverts != nil && p.lost.Cmp(s.cfg.Gas.Reverts) > 0:
		return ErrLost
	case cost != nil && s.cfg.Gas.MaxPercent > 0:
		const hundred = 100
		if new(big.Int).Mul(cost, big.NewInt(hundred)).Cmp(new(big.Int).Mul(big.NewInt(price), big.NewInt(s.cfg.Gas.MaxPercent))) > 0 {
			return ErrDear
		}
	}
	return nil
}

// cost is what a settlement costs now in micro-USDG, rounded up; nil while that is not known.
func (s *Settler) cost(p gasNow) *big.Int {
	if p.GasPrice == nil || s.cfg.Gas.Ether == nil {
		return nil
	}
	ether := s.cfg.Gas.Ether()
	if ether == nil {
		return nil
	}
	wei := new(big.Int).Mul(p.GasPrice, new(big.Int).SetUint64(p.usual()))
	wei.Mul(wei, big.NewInt(*ether))
	const inEther = 1_000_000_000_000_000_000
	return wei.Add(wei, big.NewInt(inEther-1)).Div(wei, big.NewInt(inEther))
}

// usual is the gas of a settlement.
func (p gasNow) usual() uint64 {
	if p.gas == 0 {
		return UsualGas
	}
	return p.gas
}

// burnt notes what a transaction of ours has cost, and tells of it once.
func (s *Settler) burnt(ctx context.Context, hash [32]byte, p Payment) error {
	noted, err := s.cfg.Store.NoteGas(ctx, s.cfg.Rail, hash, p)
	if err != nil {
		return fmt.Errorf("note gas of settlement: %w", err)
	}
	if noted {
		s.tell(p)
	}
	return nil
}

// tell tells of a transaction of ours, what it has cost.
func (s *Settler) tell(p Payment) {
	s.know(func(known *gasNow) {
		if p.Succeeded {
			known.gas = p.GasUsed
		} else if known.lost != nil && p.Fee != nil {
			known.lost = new(big.Int).Add(known.lost, p.Fee)
		}
	})
	if s.cfg.Observer != nil {
		s.cfg.Observer.Burnt(s.cfg.Rail, p.GasUsed, p.Fee, !p.Succeeded)
	}
}

// account looks for what transactions have cost that settled nothing, or were not seen to, and sums what was lost.
func (s *Settler) account(ctx context.Context) error {
	hashes, err := s.cfg.Store.UnknownGas(ctx, s.cfg.Rail, s.cfg.Now().Add(-unknownSince), unknownLimit)
	if err != nil {
		return fmt.Errorf("read transactions of settlements: %w", err)
	}
	for _, hash := range hashes {
		p, err := s.cfg.Sender.Settled(ctx, hash, 0)
		if err == nil {
			err = s.burnt(ctx, hash, p)
		}
		if err != nil && !errors.Is(err, ErrNotVisible) {
			return err
		}
	}
	lost, err := s.cfg.Store.LostGas(ctx, s.cfg.Rail, s.cfg.Now().Add(-revertDay))
	if err != nil {
		return fmt.Errorf("sum gas of settlements: %w", err)
	}
	s.know(func(p *gasNow) { p.lost = lost })
	return nil
}

// Standing is the state of a Settler. Values in wei are decimal numbers, "" if unknown or a facilitator's.
type Standing struct {
	Rail       string     `json:"rail"`
	By         string     `json:"by"`      // address of the key that pays the gas, or host of the facilitator
	Off        string     `json:"off"`     // why nothing is offered by standard x402, "" if it is
	Balance    string     `json:"balance"` // of the key, in wei
	GasPrice   string     `json:"gasPrice"`
	Gas        uint64     `json:"gas"`        // of the last settlement
	CostMicros *int64     `json:"costMicros"` // of a settlement now, in micro-USDG; null where the price of ether is not known
	MaxPercent int64      `json:"maxPercent"` // of a price that it may be; 0 is any
	Lost       string     `json:"lost"`       // to reverts in the last day, in wei
	Budget     string     `json:"budget"`     // of that
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

// Standing returns the last known state of s.
func (s *Settler) Standing(ctx context.Context) (Standing, error) {
	p := s.known()
	st := Standing{
		Rail: s.cfg.Rail, By: s.cfg.Sender.Address(), Balance: wei(p.Balance), GasPrice: wei(p.GasPrice), Gas: p.usual(),
		MaxPercent: s.cfg.Gas.MaxPercent, Lost: wei(p.lost), Budget: wei(s.cfg.Gas.Reverts),
	}
	if cost := s.cost(p); cost != nil && cost.IsInt64() {
		st.CostMicros = new(int64)
		*st.CostMicros = cost.Int64()
	}
	if err := s.closed(anyPrice); err != nil {
		st.Off = err.Error()
	}
	n, oldest, err := s.cfg.Store.CountPending(ctx, s.cfg.Rail)
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

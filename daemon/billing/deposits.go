package billing

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Chain shows what arrived at the treasury.
type Chain interface {
	// Newest returns the number and the time of the newest block.
	Newest(ctx context.Context) (uint64, time.Time, error)
	// Between returns the transfers to the treasury in the blocks from first to last. It may leave out those in transactions of which all
	// are stored, which a nil stored says of none.
	Between(ctx context.Context, first, last uint64, stored Stored) ([]Transfer, error)
	// In returns those in one transaction, which has failed or moved nothing to the treasury where there are none, or ErrNotShown.
	In(ctx context.Context, hash [32]byte) ([]Transfer, error)
	// Claimed is In for the hash of a claimed payment; callers with unknown hashes are rate limited.
	Claimed(ctx context.Context, hash [32]byte) ([]Transfer, error)
	// Safe returns the number of the newest block that counts as safe.
	Safe(ctx context.Context) (uint64, error)
	// Balance returns what the treasury has, in micro-USDG.
	Balance(ctx context.Context) (int64, error)
}

// ErrNotShown says that the chain shows a transaction in no block.
var ErrNotShown = errors.New("the transaction is in no block yet")

// Stored says how many transfers of a transaction in a block are stored, and have not vanished. The chain need not be asked for those.
type Stored func(ctx context.Context, tx, block [32]byte) (int, error)

// Rail is a chain and token that purchases are paid with.
type Rail struct {
	ID     string
	Chain  Chain
	Start  uint64 // block that the first scan begins at; 0 means the newest there is then
	Late   bool   // Chain shows blocks only a while after they were made
	AtOnce bool   // purchases of pro and team do not wait until their block is safe
}

// DepositsConfig is what a Deposits needs.
type DepositsConfig struct {
	Store    DepositStore
	Rails    []Rail // the first is where purchases are paid unless another is asked for; none means that nothing is sold
	Meter    *Meter
	Keys     *account.Keys    // which learn of the keys and tiers that were bought before anybody is charged again
	Observer DepositObserver  // nil means nobody
	Logger   *slog.Logger     // nil discards
	Now      func() time.Time // nil means time.Now
}

// DepositObserver observes the sale of credits; *metrics.Metrics is one.
type DepositObserver interface {
	Bought(pack string) // a purchase was paid
}

// Deposits sells credits for transfers to the treasury, and is where the operator looks after those that matched nothing. Make one with
// NewDeposits; it is safe for concurrent use.
type Deposits struct {
	cfg  DepositsConfig
	seen map[string]*progress // by rail
}

// progress is how far a rail was scanned, in blocks.
type progress struct{ newest, scanned atomic.Uint64 }

// NewDeposits makes a Deposits.
func NewDeposits(cfg DepositsConfig) *Deposits {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Deposits{cfg: cfg, seen: map[string]*progress{}}
	for _, r := range cfg.Rails {
		d.seen[r.ID] = new(progress)
	}
	return d
}

// rail is the one with the given id, the first for "", or the *api.Error that there is none.
func (d *Deposits) rail(id string) (Rail, error) {
	var ids []string
	for _, r := range d.cfg.Rails {
		if id == "" || r.ID == id {
			return r, nil
		}
		ids = append(ids, r.ID)
	}
	if len(ids) == 0 {
		return Rail{}, noChain()
	}
	return Rail{}, api.Errorf(api.ReasonInvalidRequest, "there is no rail %q", id).WithHint("rails: %s", strings.Join(ids, ", "))
}

// overlap is how many blocks are looked at again, because they may be others by now.
const overlap = 64

// maxDrift is how far the clock of the chain may be behind ours.
const maxDrift = 2 * time.Minute

// now is the time, as precise as it is stored.
func (d *Deposits) now() time.Time { return d.cfg.Now().UTC().Truncate(time.Millisecond) }

// Order is what an owner asks for.
type Order struct {
	Pack  api.CreditPack
	KeyID string // that is to get the credits; "" means their oldest
	Rail  string // on which it is to be paid; "" means the first
}

// Open begins a purchase of an owner. stranger is asked before one who never paid begins it; what it returns refuses that, and nil refuses
// none.
func (d *Deposits) Open(ctx context.Context, ownerID string, o Order, stranger func() error) (Deposit, error) {
	offer, ok := o.Pack.Offer()
	if !ok {
		return Deposit{}, api.Errorf(api.ReasonInvalidRequest, "there is no package %q of credits", o.Pack).
			WithHint("packs: %s", api.List(api.CreditPacks()))
	}
	rail, err := d.rail(o.Rail)
	if err != nil {
		return Deposit{}, err
	}
	if err := d.ensureScanned(ctx, rail); err != nil {
		return Deposit{}, err
	}
	now := d.now()
	opened := Deposit{
		ID: uuid.NewString(), Rail: rail.ID, OwnerID: ownerID, KeyID: o.KeyID, Pack: o.Pack, Credits: offer.Credits,
		Amount: usdg.Amount(offer.PriceMicros), Status: api.DepositPending,
		CreatedAt: now, ExpiresAt: now.Add(api.DepositWindow).Truncate(time.Second),
	}
	if _, err := rand.Read(opened.Nonce[:]); err != nil {
		return Deposit{}, fmt.Errorf("read randomness: %w", err)
	}
	opened, err = d.cfg.Store.OpenDeposit(ctx, opened, DepositBounds{
		Slots: api.DepositSlots, Pending: api.MaxPendingDeposit, Unpaid: api.MaxUnpaidDeposits, Stranger: stranger,
	})
	switch {
	case errors.Is(err, ErrNoActiveKey):
		return opened, api.Errorf(api.ReasonInvalidRequest, "the account has no active key for the credits").
			WithHint("create one: ctx keys create NAME")
	case err != nil:
		return opened, fmt.Errorf("open deposit: %w", err)
	}
	return opened, nil
}

// ensureScanned scans the chain of a rail before anybody is asked to pay there, unless that was done: the first scan begins at the newest
// block.
func (d *Deposits) ensureScanned(ctx context.Context, rail Rail) error {
	if rail.Start > 0 {
		return nil
	}
	seen, err := d.cfg.Store.ScanCursor(ctx, rail.ID)
	if err == nil && seen.Next == 0 {
		_, err = d.Scan(ctx, rail.ID)
	}
	if err != nil {
		return errors.Join(api.Errorf(api.ReasonChainUnavailable, "the chain does not answer").
			WithHint("try again, or pay on another rail").WithRetryAfter(10*time.Second), err)
	}
	return nil
}

// Recent returns the deposits of an owner, newest first.
func (d *Deposits) Recent(ctx context.Context, ownerID string) ([]Deposit, error) {
	return d.cfg.Store.Deposits(ctx, ownerID, "", api.RecentDeposits)
}

// Deposit returns one deposit of an owner, or the error deposit_not_found.
func (d *Deposits) Deposit(ctx context.Context, ownerID, id string) (Deposit, error) {
	list, err := d.cfg.Store.Deposits(ctx, ownerID, id, 1)
	if err != nil {
		return Deposit{}, fmt.Errorf("read deposit: %w", err)
	}
	if len(list) == 0 {
		return Deposit{}, api.Errorf(api.ReasonDepositNotFound, "there is no purchase %q", id).
			WithHint("list yours: ctx credits purchases list")
	}
	return list[0], nil
}

// Verify looks for a deposit's payment in one transaction, without waiting for the next Scan, and returns the deposit as it is then. A
// transaction that pays something else pays that. Where it will never pay this deposit, refused says why.
func (d *Deposits) Verify(ctx context.Context, ownerID, id string, hash [32]byte) (now Deposit, refused *api.Error, err error) {
	pending, err := d.Deposit(ctx, ownerID, id)
	if err != nil || pending.Status != api.DepositPending {
		return pending, nil, err
	}
	rail, err := d.rail(pending.Rail)
	if err != nil {
		return pending, nil, err
	}
	list, err := rail.Chain.Claimed(ctx, hash)
	if errors.Is(err, ErrNotShown) {
		return pending, nil, nil
	}
	if err != nil {
		return pending, nil, errors.Join(api.Errorf(api.ReasonChainUnavailable, "the chain does not answer").
			WithHint("the purchase continues by itself; do not pay again").WithRetryAfter(10*time.Second), err)
	}
	if _, err := d.arrive(ctx, rail, list, ScanCursor{}); err != nil {
		return pending, nil, err
	}
	if _, err := d.ripen(ctx, rail); err != nil {
		return pending, nil, err
	}
	if now, err = d.Deposit(ctx, ownerID, id); err != nil || now.Status == api.DepositVerified {
		return now, nil, err
	}
	used, err := d.cfg.Store.Used(ctx, pending.Rail, hash)
	if err != nil {
		return now, nil, fmt.Errorf("look up transaction: %w", err)
	}
	if reason, why := Refuse(list, used, pending); reason != "" {
		refused = api.Errorf(reason, "%s", why)
	}
	return now, refused, nil
}

// Scan asks for what has arrived on a rail since it last did, however long that is ago, and then lets deposits expire. It returns those
// that were verified.
func (d *Deposits) Scan(ctx context.Context, id string) ([]Deposit, error) {
	rail, err := d.rail(id)
	if err != nil {
		return nil, err
	}
	seen, err := d.cfg.Store.ScanCursor(ctx, rail.ID)
	if err != nil {
		return nil, fmt.Errorf("scan deposits: %w", err)
	}
	newest, at, err := rail.Chain.Newest(ctx)
	if err != nil {
		return nil, fmt.Errorf("scan deposits: %w", err)
	}
	d.seen[rail.ID].newest.Store(newest)
	first := cmp.Or(rail.Start, newest) // on the first day nobody can have paid before
	if seen.Next > 0 {
		first = max(seen.Next, overlap) - overlap
	}
	if first > newest {
		return nil, nil // another node, which is behind
	}
	list, err := rail.Chain.Between(ctx, first, newest, func(ctx context.Context, tx, block [32]byte) (int, error) {
		return d.cfg.Store.CountStored(ctx, rail.ID, tx, block)
	})
	if err != nil {
		return nil, fmt.Errorf("scan deposits: %w", err)
	}
	verified, err := d.arrive(ctx, rail, list, ScanCursor{Rail: seen.Rail, Next: max(newest+1, seen.Next), At: at})
	if err != nil {
		return nil, err
	}
	d.seen[rail.ID].scanned.Store(newest)
	ripe, errRipen := d.ripen(ctx, rail)
	verified = append(verified, ripe...)
	// Where nothing happens there are no blocks. The next will not be of a time that is long over.
	ended := at
	if surely := d.now().Add(-maxDrift); !rail.Late && surely.After(ended) {
		ended = surely
	}
	if err := d.cfg.Store.ExpireDeposits(ctx, rail.ID, ended, d.now().Add(-api.DepositGrace)); err != nil {
		return verified, errors.Join(fmt.Errorf("expire deposits: %w", err), errRipen)
	}
	return verified, errRipen
}

// Expire ends purchases whose time was over when the chain was last looked at. Scan does it too; this needs no chain.
func (d *Deposits) Expire(ctx context.Context) error {
	for _, rail := range d.cfg.Rails {
		seen, err := d.cfg.Store.ScanCursor(ctx, rail.ID)
		if err == nil && !seen.At.IsZero() {
			err = d.cfg.Store.ExpireDeposits(ctx, rail.ID, seen.At, d.now().Add(-api.DepositGrace))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Progress is the newest block that Scan has seen of a rail and the last one that it has scanned, 0 before it has run.
func (d *Deposits) Progress(id string) (newest, scanned uint64) {
	p := d.seen[id]
	return p.newest.Load(), p.scanned.Load()
}

// Rescan looks again at all that has arrived on a rail, "" for the first, from the given block on. What is stored is not stored twice.
func (d *Deposits) Rescan(ctx context.Context, id string, first uint64) ([]Deposit, error) {
	rail, err := d.rail(id)
	if err != nil {
		return nil, err
	}
	newest, _, err := rail.Chain.Newest(ctx)
	if err != nil {
		return nil, fmt.Errorf("scan deposits: %w", err)
	}
	list, err := rail.Chain.Between(ctx, first, newest, nil)
	if err != nil {
		return nil, fmt.Errorf("scan deposits: %w", err)
	}
	verified, err := d.arrive(ctx, rail, list, ScanCursor{})
	if err != nil {
		return nil, err
	}
	ripe, err := d.ripen(ctx, rail)
	return append(verified, ripe...), err
}

// arrive stores what arrived, and verifies the deposits that it pays.
func (d *Deposits) arrive(ctx context.Context, rail Rail, list []Transfer, seen ScanCursor) ([]Deposit, error) {
	if len(list) == 0 {
		_, err := d.cfg.Store.Arrive(ctx, nil, seen, rail.AtOnce, d.now())
		return nil, err
	}
	books, err := d.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer books.Unlock()
	verified, err := d.cfg.Store.Arrive(ctx, list, seen, rail.AtOnce, d.now())
	if err != nil {
		return nil, fmt.Errorf("keep what arrived: %w", err)
	}
	books.Sold(verified...)
	return verified, nil
}

// ripen verifies the deposits that have waited for their block to be safe, if it is, and the transfer is still on chain.
func (d *Deposits) ripen(ctx context.Context, rail Rail) ([]Deposit, error) {
	if rail.AtOnce {
		return nil, nil
	}
	waiting, err := d.cfg.Store.Waiting(ctx, rail.ID)
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	safe, err := rail.Chain.Safe(ctx)
	if err != nil {
		return nil, err
	}
	var ripe []Transfer
	for hash, block := range waiting {
		if block > safe {
			continue
		}
		now, err := rail.Chain.In(ctx, hash)
		if err != nil && !errors.Is(err, ErrNotShown) {
			return nil, fmt.Errorf("look at waiting deposit: %w", err)
		}
		for _, a := range now {
			if a.Block <= safe { // it may have moved
				ripe = append(ripe, a)
			}
		}
	}
	if len(ripe) == 0 {
		return nil, nil
	}
	books, err := d.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer books.Unlock()
	verified, err := d.cfg.Store.Ripen(ctx, ripe, d.now())
	if err != nil {
		return nil, fmt.Errorf("verify waiting deposits: %w", err)
	}
	books.Sold(verified...)
	return verified, nil
}

// Books is the right to verify deposits, held while nobody is charged. Get it with Deposits.Lock, and end it with Unlock.
type Books struct {
	deposits *Deposits
	sold     []Deposit
}

// Lock waits until nobody is charged, and lets nobody be charged until Books.Unlock.
func (d *Deposits) Lock(ctx context.Context) (*Books, error) {
	if err := d.cfg.Meter.lock(ctx); err != nil {
		return nil, err
	}
	return &Books{deposits: d}, nil
}

// Sold notes deposits that are verified on disk: the keys that were made with them and the tiers of their owners hold before anybody is
// charged again.
func (b *Books) Sold(list ...Deposit) {
	keys := b.deposits.cfg.Keys
	for _, v := range list {
		if v.NewKey != nil {
			keys.Bought(account.Key{
				ID: v.Credited, Hash: v.NewKey.Hash, OwnerID: v.OwnerID, Name: v.NewKey.Name, Consent: api.ConsentAggregated,
				CreatedAt: v.VerifiedAt,
			})
		}
		offer, _ := v.Pack.Offer() // it was sold
		keys.TierRaised(v.OwnerID, offer.Tier)
	}
	b.sold = append(b.sold, list...)
}

// Unlock has calls charged again, then reports what was sold.
func (b *Books) Unlock() {
	var owners []string
	for _, v := range b.sold {
		owners = append(owners, v.OwnerID)
	}
	cfg := &b.deposits.cfg
	cfg.Meter.unlock(owners)
	for _, v := range b.sold {
		if cfg.Observer != nil {
			cfg.Observer.Bought(string(v.Pack))
		}
		cfg.Logger.Info("credits bought", "deposit", v.ID, "rail", v.Rail, "pack", v.Pack, "credits", v.Credits, "key_id", v.Credited)
	}
}

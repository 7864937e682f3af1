package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Unmatched is a transfer to the treasury that has paid for nothing, or that has vanished from the chain after it paid for something.
type Unmatched struct {
	Rail     string      `json:"rail"`
	TxHash   string      `json:"txHash"`
	LogIndex uint64      `json:"logIndex"`
	Sender   string      `json:"sender"`
	Amount   usdg.Amount `json:"amountMicros"`
	At       time.Time   `json:"at"`   // of the block
	Note     string      `json:"note"` // why it fits nothing
}

// Totals sum up arrivals and their uses, money in micro-USDG.
type Totals struct {
	Arrived    usdg.Amount `json:"arrived"`    // all that is on chain
	Deposits   usdg.Amount `json:"deposits"`   // of that, spent on deposits
	Calls      usdg.Amount `json:"calls"`      // spent on calls
	Unmatched  usdg.Amount `json:"strays"`     // spent on nothing yet
	Waiting    usdg.Amount `json:"waiting"`    // for deposits, in blocks that are not safe yet
	WrittenOff usdg.Amount `json:"writtenOff"` // by the operator
	Vanished   usdg.Amount `json:"vanished"`   // was seen, and is on chain no more
	Verified   usdg.Amount `json:"verified"`   // what the verified deposits are of
	Sold       int64       `json:"sold"`       // credits of the verified deposits
	Credited   int64       `json:"credited"`   // credits that the ledger has for them
}

// Reconciliation compares Totals with what is on chain, in sum and for each rail.
type Reconciliation struct {
	Totals
	Treasury usdg.Amount `json:"treasury"` // what the treasury has on chain, but for rails that were not compared
	Findings []string    `json:"findings"` // what does not agree
	Missing  []string    `json:"missing"`  // the rails that were not compared

	Rails []RailReconciliation `json:"rails"`
}

// RailReconciliation compares the Totals of one rail with its chain.
type RailReconciliation struct {
	Rail string `json:"rail"`
	Totals
	Treasury usdg.Amount `json:"treasury"`
	Findings []string    `json:"findings"`
	Missing  string      `json:"missing"` // why it was not compared, such as a node that does not answer; "" if it was
}

// Unmatched returns the unmatched transfers, newest first, at most limit.
func (d *Deposits) Unmatched(ctx context.Context, limit int) ([]Unmatched, error) {
	return d.cfg.Store.Unmatched(ctx, limit)
}

// Newest returns the newest deposits of all owners, at most limit.
func (d *Deposits) Newest(ctx context.Context, limit int) ([]Deposit, error) {
	if len(d.cfg.Rails) == 0 {
		return nil, noChain()
	}
	return d.cfg.Store.Deposits(ctx, "", "", limit)
}

// Assign assigns an unmatched transfer on a rail, "" for the first, to an unpaid deposit of any owner.
func (d *Deposits) Assign(ctx context.Context, rail string, hash [32]byte, log uint64, depositID string) (Deposit, error) {
	on, err := d.rail(rail)
	if err != nil {
		return Deposit{}, err
	}
	books, err := d.Lock(ctx)
	if err != nil {
		return Deposit{}, err
	}
	defer books.Unlock()
	paid, err := d.cfg.Store.Assign(ctx, on.ID, hash, log, depositID, d.now())
	if err != nil {
		return Deposit{}, err
	}
	books.Sold(paid)
	return paid, nil
}

func noChain() *api.Error {
	return api.Errorf(api.ReasonChainUnavailable, "no chain is configured, or the daemon does not run").WithHint("start it: contextd serve")
}

// WriteOff closes an unmatched transfer without a deposit, for a reason.
func (d *Deposits) WriteOff(ctx context.Context, rail string, hash [32]byte, log uint64, reason string) error {
	reason = strings.TrimSpace(reason)
	if reason == "" || utf8.RuneCountInString(reason) > maxReason {
		return api.Errorf(api.ReasonInvalidRequest, "a write-off needs a reason of 1 to %d characters", maxReason).
			WithHint("add one for the books: --reason \"sent back by hand\"")
	}
	if on, err := d.rail(rail); rail == "" && err == nil {
		rail = on.ID
	}
	return d.cfg.Store.WriteOff(ctx, cmp.Or(rail, api.NetworkL2), hash, log, reason)
}

// mostCompared is how often Reconcile compares a rail at most.
const mostCompared = 5

// Reconcile compares arrivals, their uses, the credits sold for them and the balance of the treasury. Where they differ, it compares again,
// since a transfer can arrive between the questions to the books and to the chain. A rail whose node does not answer is named and does not
// prevent the comparison of the others.
func (d *Deposits) Reconcile(ctx context.Context) (r Reconciliation, err error) {
	if len(d.cfg.Rails) == 0 {
		return r, noChain()
	}
	r.Rails, r.Findings, r.Missing = []RailReconciliation{}, []string{}, []string{}
	var failed error
	for _, rail := range d.cfg.Rails {
		one, err := d.reconcile(ctx, rail)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("reconcile rail %s: %w", rail.ID, err))
			one.Missing = err.Error()
			r.Missing = append(r.Missing, rail.ID)
		}
		r.Rails = append(r.Rails, one)
		r.Treasury += one.Treasury
		for _, text := range one.Findings {
			if len(d.cfg.Rails) > 1 {
				text = "rail " + rail.ID + ": " + text
			}
			r.Findings = append(r.Findings, text)
		}
	}
	if ctx.Err() != nil || len(r.Missing) == len(r.Rails) {
		return r, failed
	}
	if r.Totals, err = d.cfg.Store.Totals(ctx, ""); err != nil {
		return r, fmt.Errorf("reconcile: %w", err)
	}
	if len(r.Findings) == 0 && r.Sold != r.Credited {
		r.Findings = append(r.Findings, fmt.Sprintf("deposits sold %d credits, the ledger has %d", r.Sold, r.Credited))
	}
	return r, nil
}

// reconcile compares one rail, of which it returns what the books have where that cannot be done.
func (d *Deposits) reconcile(ctx context.Context, rail Rail) (r RailReconciliation, err error) {
	for range mostCompared {
		if r, err = d.compare(ctx, rail); err != nil || len(r.Findings) == 0 {
			break
		}
	}
	if err != nil {
		r = RailReconciliation{Rail: rail.ID, Findings: []string{}}
		var none error
		r.Totals, none = d.cfg.Store.Totals(ctx, rail.ID)
		err = errors.Join(err, none)
	}
	return r, err
}

func (d *Deposits) compare(ctx context.Context, rail Rail) (r RailReconciliation, err error) {
	r.Rail = rail.ID
	if _, err := d.Scan(ctx, rail.ID); err != nil { // up to this moment
		return r, err
	}
	have, err := rail.Chain.Balance(ctx)
	if err != nil {
		return r, err
	}
	if r.Totals, err = d.cfg.Store.Totals(ctx, rail.ID); err != nil {
		return r, err
	}
	accounted := r.Deposits + r.Calls + r.Unmatched + r.Waiting + r.WrittenOff
	r.Treasury, r.Findings = usdg.Amount(have), []string{}
	for _, c := range []struct {
		agree bool
		text  string
	}{
		{r.Arrived == r.Treasury, fmt.Sprintf("transfers of %s arrived, the treasury has %s: %s on chain",
			r.Arrived, r.Treasury, moreOrLess(r.Treasury-r.Arrived))},
		{accounted == r.Arrived, fmt.Sprintf("of %s that arrived, %s are accounted for", r.Arrived, accounted)},
		{r.Vanished == 0, fmt.Sprintf("%s were spent and have vanished from the chain", r.Vanished)},
		{r.Sold == r.Credited, fmt.Sprintf("deposits sold %d credits, the ledger has %d", r.Sold, r.Credited)},
	} {
		if !c.agree {
			r.Findings = append(r.Findings, c.text)
		}
	}
	return r, nil
}

// moreOrLess is a difference in words.
func moreOrLess(more usdg.Amount) string {
	if more < 0 {
		return fmt.Sprintf("%d micro-USDG less", -more)
	}
	return fmt.Sprintf("%d micro-USDG more", more)
}

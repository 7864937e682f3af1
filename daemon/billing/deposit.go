package billing

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Deposit is one purchase of credits.
type Deposit struct {
	ID, OwnerID string
	Rail        string // on which it is to be paid, or was
	KeyID       string // that is to get the credits; "" means the owner's oldest
	Pack        api.CreditPack
	Credits     int64
	Amount      usdg.Amount // the price and a slot, which no other deposit has that could still be paid
	Nonce       [32]byte
	Named       bool // the nonce alone names it: it has no slot, and other deposits have its amount too
	Status      api.DepositStatus
	CreatedAt   time.Time
	ExpiresAt   time.Time
	TxHash      [32]byte // zero until verified, as what follows
	Payer       string
	VerifiedAt  time.Time
	Credited    string // the key that got the credits

	NewKey *NewKey // Credited, where it was made just now, with a purchase by standard x402; nil for one that was there
}

// NewKey is a key made with a purchase.
type NewKey struct {
	Hash [32]byte // SHA-256 of its plaintext
	Name string
}

// ToAPI returns d as the console shows it.
func (d Deposit) ToAPI() api.Deposit {
	a := api.Deposit{
		ID: d.ID, UserID: d.OwnerID, Rail: d.Rail, Pack: d.Pack, Credits: d.Credits, AmountUSDC: d.Amount.Fixed(), Status: d.Status,
		Nonce: hexText(d.Nonce), NonceRequired: d.Named, CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt,
	}
	if d.KeyID != "" {
		a.KeyID = &d.KeyID
	}
	if d.Status == api.DepositVerified {
		hash := hexText(d.TxHash)
		a.TxHash, a.PayerAddress, a.VerifiedAt = &hash, &d.Payer, &d.VerifiedAt
	}
	return a
}

func hexText(b [32]byte) string { return "0x" + hex.EncodeToString(b[:]) }

// Transfer is a transfer of the token to the treasury, as the chain shows it.
type Transfer struct {
	Rail      string
	TxHash    [32]byte
	LogIndex  uint64
	Sender    string
	Amount    usdg.Amount
	Block     uint64
	BlockHash [32]byte
	At        time.Time // of the block
	Note      []byte    // calldata behind the parameters of a direct transfer, where wallets can put a nonce

	Authorized    bool     // by EIP-3009, with the nonce Authorization: it pays for what that was presented for, or for nothing
	Authorization [32]byte // which is not of a deposit
}

// Match says which of the deposits a is for: the one whose nonce it has, else the one whose amount it is. In both cases the amount has to
// be exact and the block within the time of the deposit. Where it is for none, id is "" and why says what is wrong with it: it is
// never guessed.
func Match(a Transfer, deposits []Deposit) (id, why string) {
	for lower, i := bytes.ToLower(a.Note), 0; i < len(deposits) && len(a.Note) > 0; i++ {
		// As bytes, or spelled out.
		if d := deposits[i]; bytes.Contains(a.Note, d.Nonce[:]) || bytes.Contains(lower, []byte(hexText(d.Nonce))) {
			return a.match(d)
		}
	}
	why = "no deposit has this amount"
	for _, d := range deposits {
		if d.Amount == a.Amount && !d.Named {
			if id, why = a.match(d); id != "" {
				return id, ""
			}
		}
	}
	return "", why
}

// match returns the id of d if a pays it, else why it does not.
func (a Transfer) match(d Deposit) (id, why string) {
	if reason, why := a.misfit(d); reason != "" {
		return "", why
	}
	return d.ID, ""
}

// misfit says what of a is not as d asks for, "" if all is.
func (a Transfer) misfit(d Deposit) (reason api.Reason, why string) {
	switch {
	case d.Amount != a.Amount:
		return api.ReasonAmountMismatch, fmt.Sprintf("it is of %s, deposit %s is of %s", a.Amount, d.ID, d.Amount)
	case a.At.Before(d.CreatedAt.Truncate(time.Second)): // blocks have whole seconds
		return api.ReasonNonceMismatch, fmt.Sprintf("it is older than deposit %s", d.ID)
	case a.At.After(d.ExpiresAt):
		return api.ReasonQuoteExpired,
			fmt.Sprintf("it came %s after deposit %s had expired", a.At.Sub(d.ExpiresAt).Round(time.Second), d.ID)
	case d.Status != api.DepositPending:
		return api.ReasonAlreadyUsed, fmt.Sprintf("deposit %s was %s already", d.ID, d.Status)
	}
	return "", ""
}

// WorthWaiting reports whether purchases of a pack cost so much that they are verified only when their block is safe.
func WorthWaiting(pack api.CreditPack) bool {
	offer, _ := pack.Offer() // it was sold
	return offer.Tier.AtLeast(api.TierPro)
}

// Use is the use of a saved transfer.
type Use struct {
	Spent     bool   // on a deposit or a call, or it was written off
	WaitsFor  string // the deposit that it pays once its block is safe, "" for none
	DepositID string // that it has paid for, "" for none
}

// Refuse says why a transaction with the given transfers to the treasury, and what they were used for by their place in it, does not pay
// d and never will. It is "" where it has paid it, or may yet.
func Refuse(list []Transfer, used map[uint64]Use, d Deposit) (reason api.Reason, why string) {
	if len(list) == 0 {
		return api.ReasonWrongRecipient, "the transaction has moved no " + api.AssetUSDG + " to the treasury"
	}
	for _, a := range list {
		use := used[a.LogIndex]
		if use.WaitsFor == d.ID || use.DepositID == d.ID {
			return "", ""
		}
		r, w := a.misfit(d)
		switch {
		case use.Spent || use.WaitsFor != "":
			r, w = api.ReasonAlreadyUsed, "it has paid for something else"
		case r == "": // it was not matched although it fits: by its amount alone, or it names another
			r, w = api.ReasonNonceMismatch, "it does not carry the nonce of deposit "+d.ID
		}
		if reason == "" || a.Amount == d.Amount { // of several, the one that was meant
			reason, why = r, w
		}
	}
	return reason, "the transfer in this transaction does not pay for it: " + why
}

// DepositBounds limit the open deposits of owners.
type DepositBounds struct {
	Slots   int // amounts of a pack, the price the lowest; when half of them are held, who never paid gets none
	Pending int // deposits of an owner that wait to be paid
	Unpaid  int // deposits of an owner in a day that were not paid
	// Stranger is asked before an owner who never paid begins a purchase; what it returns refuses that. nil refuses none.
	Stranger func() error
}

// deposited is the time in which the unpaid deposits of an owner are counted.
const deposited = 24 * time.Hour

// Admit says whether an owner with the given deposits that were not paid, of which those that are older than a day and not pending do not
// matter, may begin another: nil, or the *api.Error that says when.
func (b DepositBounds) Admit(unpaid []Deposit, now time.Time) error {
	var pending, today []time.Time // when they no longer count
	for _, d := range unpaid {
		if d.ExpiresAt.After(now) {
			pending = append(pending, d.ExpiresAt)
		}
		if until := d.CreatedAt.Add(deposited); until.After(now) {
			today = append(today, until)
		}
	}
	for _, bound := range []struct {
		until []time.Time
		most  int
		what  string
	}{{pending, b.Pending, "%d purchases await payment already"}, {today, b.Unpaid, "%d purchases of the last 24 hours were not paid"}} {
		if over := len(bound.until) - bound.most; over >= 0 {
			slices.SortFunc(bound.until, time.Time.Compare)
			return api.Errorf(api.ReasonRateLimited, bound.what, len(bound.until)).
				WithHint("pay an open one, or wait for Retry-After").WithRetryAfter(max(bound.until[over].Sub(now), time.Second))
		}
	}
	return nil
}

// ErrNoActiveKey is an error of DepositStore.
var ErrNoActiveKey = errors.New("the owner has no active key")

// ScanCursor is the position of the scan of a rail's chain.
type ScanCursor struct {
	Rail string
	Next uint64    // the next block to scan; 0 if none was yet
	At   time.Time // of the last one
}

// DepositStore stores deposits, and the transfers that arrived for them or for nothing. Each method is one transaction, on disk when it
// returns.
type DepositStore interface {
	// OpenDeposit adds d with the lowest free slot added to its amount, or with none where its nonce has to name it. It fails with
	// ErrNoActiveKey or what the bounds refuse it with.
	OpenDeposit(ctx context.Context, d Deposit, bounds DepositBounds) (Deposit, error)
	// Deposits returns those of an owner, or of all for "", newest first, at most limit, or that with the given id alone where it is not
	// "".
	Deposits(ctx context.Context, ownerID, id string, limit int) ([]Deposit, error)
	// ScanCursor returns how far the chain of a rail was looked at.
	ScanCursor(ctx context.Context, rail string) (ScanCursor, error)
	// Arrive stores transfers that are new, and gives those that match to their deposits, with all that follows from it: at once, or, where
	// atOnce is false, those of packs that are WorthWaiting only when Ripen is called. It notes how far the chain was looked at unless seen
	// is zero, and returns the deposits that were verified.
	Arrive(ctx context.Context, list []Transfer, seen ScanCursor, atOnce bool, now time.Time) ([]Deposit, error)
	// CountStored counts the transfers in one transaction that were stored as they are in a block, without those that have vanished.
	CountStored(ctx context.Context, rail string, hash, block [32]byte) (int, error)
	// Used says what the transfers in one transaction that are stored have been spent on, by their place in it.
	Used(ctx context.Context, rail string, hash [32]byte) (map[uint64]Use, error)
	// ExpireDeposits lets pending deposits on a rail that nothing waits for expire that ended before the given time, up to which its chain
	// was looked at, and frees the amounts of those that ended before free.
	ExpireDeposits(ctx context.Context, rail string, ended, free time.Time) error
	// Waiting returns the transactions on a rail that wait, for a deposit that they match, until their block is safe, each with that block.
	Waiting(ctx context.Context, rail string) (map[[32]byte]uint64, error)
	// Ripen verifies the deposits that wait for the given transfers, with all that follows from it, and returns them.
	Ripen(ctx context.Context, list []Transfer, now time.Time) ([]Deposit, error)

	// Unmatched returns the transfers that have paid for nothing, newest first, at most limit.
	Unmatched(ctx context.Context, limit int) ([]Unmatched, error)
	// Assign lets one of them pay for a deposit that was not paid yet, whatever its amount and time, with all that follows from it.
	Assign(ctx context.Context, rail string, hash [32]byte, log uint64, depositID string, now time.Time) (Deposit, error)
	// WriteOff notes that one of them will pay for nothing, and why. It is on the list no more.
	WriteOff(ctx context.Context, rail string, hash [32]byte, log uint64, reason string) error
	// Totals sums up what arrived on a rail, or on all for "", and what it was spent on.
	Totals(ctx context.Context, rail string) (Totals, error)
}

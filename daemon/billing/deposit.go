package billing

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Deposit is one purchase of credits.
type Deposit struct {
	ID, OwnerID string
	KeyID       string // that is to get the credits; "" means the owner's oldest
	Pack        api.CreditPack
	Credits     int64
	Amount      usdg.Amount // the price and a slot, which no other deposit has that could still be paid
	Nonce       [32]byte
	Status      api.DepositStatus
	CreatedAt   time.Time
	ExpiresAt   time.Time
	TxHash      [32]byte // zero until verified, as what follows
	Payer       string
	VerifiedAt  time.Time
	Credited    string // the key that got the credits
}

// ToAPI is d as the console shows it.
func (d Deposit) ToAPI() api.Deposit {
	a := api.Deposit{
		ID: d.ID, UserID: d.OwnerID, Pack: d.Pack, Credits: d.Credits, AmountUSDC: d.Amount.Fixed(), Status: d.Status,
		Nonce: hexText(d.Nonce), CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt,
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
	TxHash    [32]byte
	LogIndex  uint64
	Sender    string
	Amount    usdg.Amount
	Block     uint64
	BlockHash [32]byte
	At        time.Time // of the block
	Note      []byte    // calldata behind the parameters of a direct transfer, where wallets can put a nonce
}

// named reports whether the nonce is in the note of a, as bytes or spelled out.
func (a Transfer) named(nonce [32]byte) bool {
	return bytes.Contains(a.Note, nonce[:]) || bytes.Contains(bytes.ToLower(a.Note), []byte(hexText(nonce)))
}

// Match says which of the deposits a is for: the one whose nonce it has, else the one whose amount it is. In both cases the amount has to
// be exact and the block within the time of the deposit. Where it is for none, id is "" and why says what is wrong with it: it is
// never guessed.
func Match(a Transfer, deposits []Deposit) (id, why string) {
	for _, d := range deposits {
		if a.named(d.Nonce) {
			return fits(a, d)
		}
	}
	why = "no deposit has this amount"
	for _, d := range deposits {
		if d.Amount == a.Amount {
			if id, why = fits(a, d); id != "" {
				return id, ""
			}
		}
	}
	return "", why
}

// fits reports whether a pays d, or why it does not.
func fits(a Transfer, d Deposit) (id, why string) {
	switch {
	case d.Amount != a.Amount:
		return "", fmt.Sprintf("deposit %s, which it names, is of %s", d.ID, d.Amount)
	case a.At.Before(d.CreatedAt.Truncate(time.Second)): // blocks have whole seconds
		return "", fmt.Sprintf("it is older than deposit %s", d.ID)
	case a.At.After(d.ExpiresAt):
		return "", fmt.Sprintf("it came %s after deposit %s had expired", a.At.Sub(d.ExpiresAt).Round(time.Second), d.ID)
	case d.Status != api.DepositPending:
		return "", fmt.Sprintf("deposit %s was %s already", d.ID, d.Status)
	}
	return d.ID, ""
}

// Errors of DepositStore.
var (
	ErrNoActiveKey  = errors.New("the owner has no active key")
	ErrManyDeposits = errors.New("too many deposits of the owner are pending")
	ErrNoSlot       = errors.New("no amount is free")
)

// ScanCursor is how far the chain was looked at.
type ScanCursor struct {
	Next uint64    // the next block to look at; 0 if none was yet
	At   time.Time // of the last one
}

// DepositStore keeps deposits, and the transfers that arrived for them or for nothing. Each method is one transaction, on disk when it
// returns.
type DepositStore interface {
	// OpenDeposit adds d with the lowest free slot of so many added to its amount, unless so many of the owner's are pending, or fails
	// with one of the errors above.
	OpenDeposit(ctx context.Context, d Deposit, slots, pending int) (Deposit, error)
	// Deposits returns those of an owner, or of all for "", newest first, at most limit, or that with the given id alone where it is not
	// "".
	Deposits(ctx context.Context, ownerID, id string, limit int) ([]Deposit, error)
	// ScanCursor returns how far the chain was looked at.
	ScanCursor(ctx context.Context) (ScanCursor, error)
	// Arrive keeps transfers that are new, gives those that match to their deposits, with all that follows from it unless their pack waits,
	// and notes how far the chain was looked at unless seen is zero. It returns the deposits that were verified.
	Arrive(ctx context.Context, list []Transfer, seen ScanCursor, waits func(api.CreditPack) bool, now time.Time) ([]Deposit, error)
	// ExpireDeposits lets pending deposits that nothing waits for expire that ended before the given time, up to which the chain was
	// looked at, and frees the amounts of those that ended before free.
	ExpireDeposits(ctx context.Context, ended, free time.Time) error
	// Waiting returns the transactions that wait, for a deposit that they match, until their block is safe, each with that block.
	Waiting(ctx context.Context) (map[[32]byte]uint64, error)
	// Ripen verifies the deposits that wait for the given transfers, with all that follows from it, and returns them.
	Ripen(ctx context.Context, list []Transfer, now time.Time) ([]Deposit, error)

	// Unmatched returns the transfers that have paid for nothing, newest first, at most limit.
	Unmatched(ctx context.Context, limit int) ([]Unmatched, error)
	// Assign lets one of them pay for a deposit that was not paid yet, whatever its amount and time, with all that follows from it.
	Assign(ctx context.Context, hash [32]byte, log uint64, depositID string, now time.Time) (Deposit, error)
	// WriteOff notes that one of them will pay for nothing, and why. It is on the list no more.
	WriteOff(ctx context.Context, hash [32]byte, log uint64, reason string) error
	// Totals sums up what arrived and what it was spent on.
	Totals(ctx context.Context) (Totals, error)
}

package billing

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
	Amount      usdg.Amount // the price and a slot, which no other open deposit has
	Nonce       [32]byte
	Status      api.DepositStatus
	CreatedAt   time.Time
	ExpiresAt   time.Time
	TxHash      [32]byte // zero until verified, as what follows
	Payer       string
	VerifiedAt  time.Time
	Credited    string // the key that got the credits
}

// toAPI is d as the console shows it.
func (d Deposit) toAPI() api.Deposit {
	a := api.Deposit{
		ID: d.ID, UserID: d.OwnerID, Pack: d.Pack, Credits: d.Credits, AmountUSDC: d.Amount.Fixed(), Status: d.Status, Nonce: "0x" + hex.EncodeToString(d.Nonce[:]),
		CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt,
	}
	if d.KeyID != "" {
		a.KeyID = &d.KeyID
	}
	if d.Status == api.DepositVerified {
		hash := "0x" + hex.EncodeToString(d.TxHash[:])
		a.TxHash, a.PayerAddress, a.VerifiedAt = &hash, &d.Payer, &d.VerifiedAt
		if d.KeyID == "" {
			a.KeyID = &d.Credited
		}
	}
	return a
}

// Arrival is a transfer of the token to the treasury, as the chain shows it.
type Arrival struct {
	TxHash    [32]byte
	LogIndex  uint64
	Sender    string
	Amount    usdg.Amount
	Block     uint64
	BlockHash [32]byte
	At        time.Time  // of the block
	Nonces    [][32]byte // that may be in the calldata of a direct transfer
}

// Cursor is how far the chain was looked at.
type Cursor struct {
	Block uint64 // the next to look at
}

// Errors of DepositStore.
var (
	ErrNoActiveKey  = errors.New("the owner has no active key")
	ErrManyDeposits = errors.New("too many deposits of the owner are pending")
	ErrNoSlot       = errors.New("no amount is free")
)

// DepositStore keeps deposits and what arrived for them. Each method is one transaction, on disk when it returns.
type DepositStore interface {
	// OpenDeposit adds d with the lowest free slot added to its amount, or fails with one of the errors above.
	OpenDeposit(ctx context.Context, d Deposit, slots, pending int) (Deposit, error)
	// Deposits returns those of an owner, newest first, at most limit; with id, that one alone.
	Deposits(ctx context.Context, ownerID, id string, limit int) ([]Deposit, error)
	// Arrive keeps arrivals, gives those that match to their deposits with all that follows, and moves the cursor. match says which of
	// the deposits that an arrival could be for it is for, "" for none with the reason. It returns the deposits that were verified.
	Arrive(ctx context.Context, list []Arrival, next *Cursor, now time.Time, match func(Arrival, []Deposit) (id, why string)) ([]Deposit, error)
	// ExpireDeposits lets those expire that ended before the chain was looked at as far as the given time, and frees the amounts of those that
	// ended before free.
	ExpireDeposits(ctx context.Context, seen, free time.Time) error
}

// Match says which of the deposits an arrival is for: the one whose nonce is in the calldata, else the one whose amount it is. In both
// cases the amount has to be exact and the block within the deposit's time. why says, where it is for none, what is wrong with it.
func Match(a Arrival, candidates []Deposit) (id, why string) {
	why = "no deposit has this amount"
	for _, byNonce := range []bool{true, false} {
		for _, d := range candidates {
			if byNonce != hasNonce(a, d.Nonce) || !byNonce && d.Amount != a.Amount {
				continue
			}
			switch {
			case d.Amount != a.Amount:
				why = fmt.Sprintf("deposit %s, named by its nonce, is of %s", d.ID, d.Amount)
			case d.Status == api.DepositVerified:
				why = fmt.Sprintf("deposit %s was paid already", d.ID)
			case a.At.Before(d.CreatedAt.Truncate(time.Second)): // blocks have whole seconds
				why = fmt.Sprintf("it is older than deposit %s", d.ID)
			case a.At.After(d.ExpiresAt):
				why = fmt.Sprintf("it came %s after deposit %s had expired", a.At.Sub(d.ExpiresAt).Round(time.Second), d.ID)
			default:
				return d.ID, ""
			}
			if byNonce {
				return "", why
			}
		}
	}
	return "", why
}

// hasNonce reports whether nonce is in the calldata of a.
func hasNonce(a Arrival, nonce [32]byte) bool {
	for _, n := range a.Nonces {
		if n == nonce {
			return true
		}
	}
	return false
}

// newNonce makes the nonce of a deposit.
func newNonce(random io.Reader) (nonce [32]byte, err error) {
	if random == nil {
		random = rand.Reader
	}
	if _, err := io.ReadFull(random, nonce[:]); err != nil {
		return nonce, fmt.Errorf("read randomness: %w", err)
	}
	return nonce, nil
}

package x402

import (
	"context"
	"errors"
	"math/big"
	"time"
)

// Errors of Sender.
var (
	ErrUsed     = errors.New("the authorization was used or cancelled")
	ErrPoor     = errors.New("the payer has less than the authorization allows")
	ErrBusy     = errors.New("too many payments that come to nothing are checked now")
	ErrReverts  = errors.New("the token refuses the authorization")
	ErrDry      = errors.New("the key that pays the gas has too little ether")
	ErrUnserved = errors.New("the facilitator does not settle now")
	ErrUnused   = errors.New("the authorization was not used")
	ErrCanceled = errors.New("the authorization was cancelled")
)

// SignedTx is a transaction that settles an authorization.
type SignedTx struct {
	Raw          []byte
	Hash         [32]byte
	Sender       string // address of the key that pays the gas
	AccountNonce uint64
	Block        uint64 // the newest one when it was signed
	At           time.Time

	GasUsed  uint64   // 0 until it is in a block, as far as is known
	Fee      *big.Int // what that has cost, in wei; nil while it is not known
	Reverted bool     // it has moved nothing
}

// Funds are the balance of the gas key and the price of a unit of gas, in wei. Both are nil for a facilitator, which pays the gas itself.
type Funds struct{ Balance, GasPrice *big.Int }

// Sender settles authorizations on a chain; *chain.Sender signs with a key, *chain.Facilitator asks a facilitator. An error other than
// those above and ErrNotVisible means that the chain, or the facilitator, does not answer.
type Sender interface {
	// Address is that of the key that pays the gas, or the host of the facilitator.
	Address() string
	// SignerOf is the address whose key has signed a for the rail's token.
	SignerOf(a Authorization) (address string, err error)
	// Ready reports ErrDry where there is too little ether for a settlement, ErrUnserved where the facilitator settles none.
	Ready(ctx context.Context) (Funds, error)
	// BalanceOf is what an address has of the rail's token, or ErrPoor where that is less than least. Nothing of an authorization is given
	// away. After many payments that came to nothing it fails with ErrBusy, except for customers.
	BalanceOf(ctx context.Context, address string, least uint64, customer bool) (*big.Int, error)
	// Simulate says how much gas a settlement takes now, or ErrUsed, ErrReverts. Whoever is asked has the signature then, and can use it.
	Simulate(ctx context.Context, a Authorization) (gas uint64, err error)
	// Prepare signs a settlement with an account nonce that is not below floor, or one that replaces another at a higher price; or ErrDry.
	Prepare(ctx context.Context, a Authorization, gas, floor uint64, replaces []byte) (SignedTx, error)
	// Send broadcasts a transaction, however often.
	Send(ctx context.Context, raw []byte) error
	// Settled returns what the chain shows of a transaction, after waiting so long for it to be in a block, else ErrNotVisible.
	Settled(ctx context.Context, hash [32]byte, wait time.Duration) (Payment, error)
	// Fate returns the transaction by which an authorization was used since the block first, as the chain is at the block seen or later, or
	// ErrUnused, ErrCanceled, ErrNotVisible.
	Fate(ctx context.Context, k Key, first, seen uint64) (hash [32]byte, err error)
}

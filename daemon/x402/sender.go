package x402

import (
	"context"
	"errors"
	"time"
)

// Errors of Sender.
var (
	ErrUsed     = errors.New("the authorization was used or cancelled")
	ErrPoor     = errors.New("the payer has less than the authorization allows")
	ErrReverts  = errors.New("the token refuses the authorization")
	ErrDry      = errors.New("the key that pays the gas has too little ether")
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
}

// Sender settles authorizations on a chain; *chain.Sender is one. What is no error above or ErrNotVisible says that the chain does not
// answer.
type Sender interface {
	Address() string
	// Ready reports ErrDry where there is too little ether for a settlement.
	Ready(ctx context.Context) error
	// Simulate says how much gas a settlement takes now, or ErrUsed, ErrPoor, ErrReverts.
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

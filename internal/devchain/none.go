//go:build nodevchain

package devchain

import "context"

// Chain is what a program without the chain has none of.
type Chain struct{}

// Open fails with ErrLeftOut.
func Open(context.Context, Config) (*Chain, error) { return nil, ErrLeftOut }

// Close does nothing.
func (c *Chain) Close() error { return nil }

// URL is empty.
func (c *Chain) URL() string { return "" }

// ID is zero.
func (c *Chain) ID() int64 { return 0 }

// Genesis is empty.
func (c *Chain) Genesis() string { return "" }

// Token is empty.
func (c *Chain) Token() string { return "" }

// Treasury is empty.
func (c *Chain) Treasury() string { return "" }

// Wallet is empty.
func (c *Chain) Wallet() Account { return Account{} }

// Gas is nobody.
func (c *Chain) Gas() Account { return Account{} }

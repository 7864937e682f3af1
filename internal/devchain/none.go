//go:build nodevchain

package devchain

import "context"

// Chain is what a program without the chain has none of.
type Chain struct{}

// Open fails with ErrLeftOut.
func Open(context.Context, Config) (*Chain, error) { return nil, ErrLeftOut }

// Close does nothing.
func (c *Chain) Close() error { return nil }

// URL, Genesis, Token and Treasury are empty.
func (c *Chain) URL() string      { return "" }
func (c *Chain) Genesis() string  { return "" }
func (c *Chain) Token() string    { return "" }
func (c *Chain) Treasury() string { return "" }

// Wallet is empty.
func (c *Chain) Wallet() Account { return Account{} }

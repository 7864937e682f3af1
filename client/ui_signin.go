package client

import (
	"context"
	"time"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/wallet"
	"github.com/contextd/contextd/tui"
)

// uiSignIn signs in from the terminal UI as ctx login does.
type uiSignIn struct {
	f      *factory
	client *sdk.Client
}

var _ tui.SignIn = uiSignIn{}

// SendLink has a link mailed.
func (s uiSignIn) SendLink(ctx context.Context, email string) (time.Time, error) {
	return s.client.Console("").SendLink(ctx, email)
}

// ByLink signs in with a mailed link or its code.
func (s uiSignIn) ByLink(ctx context.Context, code string) error {
	console := s.client.Console("")
	if _, err := console.ByLink(ctx, code); err != nil {
		return err
	}
	_, err := s.f.keepSession(console)
	return err
}

// HasWallet reports whether a wallet is configured.
func (s uiSignIn) HasWallet() bool { return s.f.Wallets.Configured() }

// ByWallet signs in with the configured wallet.
func (s uiSignIn) ByWallet(ctx context.Context, passphrase string) error {
	key, err := s.open(ctx, passphrase)
	if err != nil {
		return err
	}
	console := s.client.Console("")
	if _, err := console.ByWallet(ctx, key, ""); err != nil {
		return err
	}
	_, err = s.f.keepSession(console)
	return err
}

func (s uiSignIn) open(ctx context.Context, passphrase string) (*wallet.Key, error) {
	c, err := s.f.Config()
	if err != nil {
		return nil, err
	}
	if passphrase == "" || s.f.Wallets.OpenKey() != "" {
		return s.f.Wallets.Open(ctx, "", "")
	}
	file, err := s.f.Wallets.Find(c.Get(config.Wallet).Text)
	if err != nil {
		return nil, err
	}
	key, err := file.Open(passphrase)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return key, nil
}

// keepSession stores the session of console for the profile in use and says where it is.
func (f *factory) keepSession(console *sdk.Console) (where string, err error) {
	return f.Account.Store(func(c *config.Credential) { c.Session = sdk.NewKey(console.Secret()) })
}

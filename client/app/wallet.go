package app

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/client/output"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// Variables for wallets, beside the settings.
const (
	envPrivateKey   = "CTX_WALLET_PRIVATE_KEY"
	envPasswordFile = "CTX_WALLET_PASSWORD_FILE"
	envPassword     = "CTX_WALLET_PASSWORD"
	envKeystore     = "CTX_WALLET_KEYSTORE"
)

// OpenWallet opens the wallet called name, the configured one for "". passwordFile is where its passphrase is, "" for the environment
// or the terminal.
func (a *App) OpenWallet(ctx context.Context, name, passwordFile string) (*wallet.Key, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if name == "" {
		if text := a.Env(envPrivateKey); text != "" {
			key, err := wallet.ParseKey(text)
			if err != nil {
				return nil, Invalid("%s: %w", envPrivateKey, err)
			}
			return key, nil
		}
		name = c.Get(config.Wallet).Text
	}
	if name == "" {
		return nil, Invalid("no wallet is configured").WithHint("ctx config set wallet FILE")
	}
	file, err := wallet.Find(name, a.Keystores()...)
	if err != nil {
		return nil, Invalid("%w", err).WithHint("name a keystore file: ctx config set wallet FILE")
	}
	passphrase, err := a.passphrase(ctx, file, passwordFile)
	if err != nil {
		return nil, err
	}
	a.Note("deriving the key of %s", file.Path)
	key, err := file.Open(passphrase)
	if err != nil {
		return nil, Invalid("%w", err)
	}
	return key, nil
}

// HasWallet reports whether a wallet is configured.
func (a *App) HasWallet() bool {
	c, err := a.Config()
	return err == nil && (a.Env(envPrivateKey) != "" || c.Get(config.Wallet).Text != "")
}

// Keystores are the directories where wallets are looked for. New ones go into the first.
func (a *App) Keystores() []string {
	if dir := a.Env(envKeystore); dir != "" {
		return []string{dir}
	}
	return []string{filepath.Join(a.DataDir(), "keystore"), filepath.Join(a.Env("HOME"), ".foundry", "keystores")}
}

// DataDir is where ctx keeps what is neither a setting nor a cache.
func (a *App) DataDir() string {
	share := a.Env("XDG_DATA_HOME")
	if share == "" {
		share = filepath.Join(a.Env("HOME"), ".local", "share")
	}
	return filepath.Join(share, "ctx")
}

// passphrase is that of a wallet: from a file, the environment or the terminal.
func (a *App) passphrase(ctx context.Context, file wallet.File, path string) (string, error) {
	if path == "" {
		path = a.Env(envPasswordFile)
	}
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", Invalid("read passphrase: %w", err)
		}
		return strings.TrimRight(string(text), "\r\n"), nil
	}
	if text, ok := a.LookupEnv(envPassword); ok {
		return text, nil
	}
	return a.AskHidden(ctx, "Passphrase of "+filepath.Base(file.Path), "add --password-file FILE, or set "+envPasswordFile)
}

// NewPassphrase is one for a new wallet: from a file, the environment or, twice, the terminal.
func (a *App) NewPassphrase(ctx context.Context, path string) (string, error) {
	first, err := a.passphrase(ctx, wallet.File{Path: "the new wallet"}, path)
	if err != nil || path != "" || a.Env(envPasswordFile) != "" || a.Env(envPassword) != "" {
		return first, err
	}
	again, err := a.AskHidden(ctx, "The same again", "add --password-file FILE")
	if err == nil && again != first {
		err = Invalid("the two differ; nothing was written")
	}
	return first, err
}

// purse pays for calls. It opens the wallet when the first has to be paid.
type purse struct {
	app   *App
	payer *wallet.Payer // nil until then
}

// Purse pays from the wallet.
func (a *App) Purse() sdk.Payer { return &purse{app: a} }

// Pay pays q.
func (p *purse) Pay(ctx context.Context, q sdk.Quote) (api.PaymentProof, error) {
	if p.payer == nil {
		payer, err := p.app.Payer(ctx)
		if err != nil {
			return api.PaymentProof{}, err
		}
		p.payer = payer
	}
	return p.payer.Pay(ctx, q)
}

// Settled notes what became of a payment.
func (p *purse) Settled(proof api.PaymentProof, refused error) error {
	return p.payer.Settled(proof, refused)
}

// Payer pays from the configured wallet, by the chain and the bounds of the configuration.
func (a *App) Payer(ctx context.Context) (*wallet.Payer, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if c.Get(config.RPCURL).Text == "" || c.Get(config.Token).Text == "" {
		return nil, Invalid("to pay, ctx has to know the chain").
			WithHint("ctx config set rpc_url URL; ctx config set token ADDRESS; ctx config set chain_id ID")
	}
	key, err := a.OpenWallet(ctx, "", "")
	if err != nil {
		return nil, err
	}
	chainID, _ := strconv.ParseInt(c.Get(config.ChainID).Text, 10, 64) // Load has checked it, as the amounts
	amount := func(name string) usdg.Amount {
		n, _ := usdg.ParseAmount(c.Get(name).Text)
		return n
	}
	p, err := wallet.NewPayer(ctx, wallet.Config{
		Key: key, RPCURL: c.Get(config.RPCURL).Text, ChainID: chainID, Token: c.Get(config.Token).Text, Dir: a.DataDir(), Now: a.Now,
		Policy: wallet.Policy{PerCall: amount(config.MaxPerCall), PerDay: amount(config.MaxPerDay), PerMonth: amount(config.MaxPerMonth)},
		Tell:   func(text string) { a.Note("%s", output.CleanLine(text)) },
	})
	if err != nil {
		return nil, Invalid("%w", err)
	}
	return p, nil
}

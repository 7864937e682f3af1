package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
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
func (a *Factory) OpenWallet(ctx context.Context, name, passwordFile string) (*wallet.Key, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = a.wallet
	}
	if name == "" {
		if text := a.Env(envPrivateKey); text != "" {
			key, err := wallet.ParseKey(text)
			if err != nil {
				return nil, cli.Invalid("%s: %w", envPrivateKey, err)
			}
			return key, nil
		}
		name = c.Get(config.Wallet).Text
	}
	if name == "" {
		return nil, cli.Invalid("no wallet is configured").WithHint("ctx config set wallet FILE")
	}
	file, err := a.FindWallet(name)
	if err != nil {
		return nil, err
	}
	return a.OpenFile(ctx, file, passwordFile)
}

// FindWallet finds the wallet called name, without opening it.
func (a *Factory) FindWallet(name string) (wallet.File, error) {
	file, err := wallet.Find(name, a.Keystores()...)
	if err != nil {
		return file, cli.Invalid("%w", err).WithHint("ctx wallet list, or name a keystore file")
	}
	return file.Known(a.DataDir()), nil
}

// OpenFile opens a wallet. passwordFile is as for OpenWallet.
func (a *Factory) OpenFile(ctx context.Context, file wallet.File, passwordFile string) (*wallet.Key, error) {
	passphrase, err := a.Passphrase(ctx, file, passwordFile)
	if err != nil {
		return nil, err
	}
	a.Note("deriving the key of %s", file.Path)
	key, err := file.Open(passphrase)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	if file.Address == "" {
		if err := file.Remember(a.DataDir(), key); err != nil {
			a.Note("%v", err)
		}
	}
	return key, nil
}

// WalletAddress is the address of the wallet called name, the configured one for "". Only a file that does not say it has to be opened.
func (a *Factory) WalletAddress(ctx context.Context, name, passwordFile string) (string, error) {
	c, err := a.Config()
	if err != nil {
		return "", err
	}
	file := wallet.File{}
	if name == "" {
		name = a.wallet
	}
	if name == "" && a.Env(envPrivateKey) == "" {
		name = c.Get(config.Wallet).Text
	}
	if name != "" {
		if file, err = a.FindWallet(name); err != nil || file.Address != "" {
			return file.Address, err
		}
	}
	key, err := a.OpenWallet(ctx, name, passwordFile)
	if err != nil {
		return "", err
	}
	return key.Address(), nil
}

// UseWallet has the wallet called name, in place of the configured one, pay in this run.
func (a *Factory) UseWallet(name string) { a.wallet = name }

// HasWallet reports whether a wallet is configured.
func (a *Factory) HasWallet() bool {
	c, err := a.Config()
	return err == nil && (a.Env(envPrivateKey) != "" || c.Get(config.Wallet).Text != "")
}

// OpenKey is the variable that has the key of a wallet in the clear, "" if it is not set. It wins over the configuration.
func (a *Factory) OpenKey() string {
	if a.Env(envPrivateKey) == "" {
		return ""
	}
	return envPrivateKey
}

// Keystores are the directories where wallets are looked for. New ones go into the first.
func (a *Factory) Keystores() []string {
	if dir := a.Env(envKeystore); dir != "" {
		return []string{dir}
	}
	return []string{filepath.Join(a.DataDir(), "keystore"), filepath.Join(a.Env("HOME"), ".foundry", "keystores")}
}

// DataDir is where ctx keeps what is neither a setting nor a cache.
func (a *Factory) DataDir() string {
	share := a.Env("XDG_DATA_HOME")
	if share == "" {
		share = filepath.Join(a.Env("HOME"), ".local", "share")
	}
	return filepath.Join(share, "ctx")
}

// Passphrase is that of a wallet: from a file, - for standard input, the environment or the terminal.
func (a *Factory) Passphrase(ctx context.Context, file wallet.File, path string) (string, error) {
	if path == "" {
		path = a.Env(envPasswordFile)
	}
	if path != "" {
		return a.readPassphrase(path)
	}
	if text, ok := a.LookupEnv(envPassword); ok {
		return text, nil
	}
	return a.AskHidden(ctx, "Passphrase of "+filepath.Base(file.Path), "add --password-file FILE, or set "+envPasswordFile)
}

// readPassphrase reads one from a file, or a line of standard input for -.
func (a *Factory) readPassphrase(path string) (string, error) {
	if path == "-" {
		return a.Line()
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", cli.Invalid("read passphrase: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// NewPassphrase is one for a new wallet: from a file, the environment or, twice, the terminal.
func (a *Factory) NewPassphrase(ctx context.Context, path string) (string, error) {
	if path != "" || a.Env(envPasswordFile) != "" || a.Env(envPassword) != "" {
		return a.Passphrase(ctx, wallet.File{}, path)
	}
	return a.OtherPassphrase(ctx, "", "add --password-file FILE, or set "+envPasswordFile)
}

// OtherPassphrase is one that is to hold from now on, from a file or, twice, the terminal, and never from the environment, which has the
// one that holds already. instead is what to do where nobody can be asked.
func (a *Factory) OtherPassphrase(ctx context.Context, path, instead string) (string, error) {
	if path != "" {
		return a.readPassphrase(path)
	}
	first, err := a.AskHidden(ctx, "New passphrase", instead)
	if err != nil {
		return "", err
	}
	again, err := a.AskHidden(ctx, "The same again", instead)
	if err == nil && again != first {
		err = cli.Invalid("the two differ; nothing was written")
	}
	return first, err
}

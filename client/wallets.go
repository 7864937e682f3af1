package client

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/wallet"
)

// Variables for wallets, beside the settings.
const (
	envPrivateKey   = "CTX_WALLET_PRIVATE_KEY"
	envPasswordFile = "CTX_WALLET_PASSWORD_FILE"
	envPassword     = "CTX_WALLET_PASSWORD"
	envKeystore     = "CTX_WALLET_KEYSTORE"
)

// wallets are those on this machine: which of them is meant, and what opens it.
type wallets struct {
	io     *streams
	config func() (*config.Config, error)
	name   string // to use in place of the configured one, "" for that
}

// Open opens the wallet called name, the configured one for "". passwordFile is where its passphrase is, "" for the environment
// or the terminal.
func (w *wallets) Open(ctx context.Context, name, passwordFile string) (*wallet.Key, error) {
	c, err := w.config()
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = w.name
	}
	if name == "" {
		if text := w.io.Env(envPrivateKey); text != "" {
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
	file, err := w.Find(name)
	if err != nil {
		return nil, err
	}
	return w.OpenFile(ctx, file, passwordFile)
}

// Find finds the wallet called name, without opening it.
func (w *wallets) Find(name string) (wallet.File, error) {
	file, err := wallet.Find(name, w.Keystores()...)
	if err != nil {
		return file, cli.Invalid("%w", err).WithHint("ctx wallet list, or name a keystore file")
	}
	return file.Known(w.DataDir()), nil
}

// OpenFile opens a wallet. passwordFile is as for Open.
func (w *wallets) OpenFile(ctx context.Context, file wallet.File, passwordFile string) (*wallet.Key, error) {
	passphrase, err := w.Passphrase(ctx, file, passwordFile)
	if err != nil {
		return nil, err
	}
	w.io.Note("deriving the key of %s", file.Path)
	key, err := file.Open(passphrase)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	if file.Address == "" {
		if err := file.Remember(w.DataDir(), key); err != nil {
			w.io.Note("%v", err)
		}
	}
	return key, nil
}

// Address is the address of the wallet called name, the configured one for "". Only a file that does not say it has to be opened.
func (w *wallets) Address(ctx context.Context, name, passwordFile string) (string, error) {
	c, err := w.config()
	if err != nil {
		return "", err
	}
	file := wallet.File{}
	if name == "" {
		name = w.name
	}
	if name == "" && w.io.Env(envPrivateKey) == "" {
		name = c.Get(config.Wallet).Text
	}
	if name != "" {
		if file, err = w.Find(name); err != nil || file.Address != "" {
			return file.Address, err
		}
	}
	key, err := w.Open(ctx, name, passwordFile)
	if err != nil {
		return "", err
	}
	return key.Address(), nil
}

// Use has the wallet called name, in place of the configured one, pay in this run.
func (w *wallets) Use(name string) { w.name = name }

// Configured reports whether a wallet is configured.
func (w *wallets) Configured() bool {
	c, err := w.config()
	return err == nil && (w.io.Env(envPrivateKey) != "" || c.Get(config.Wallet).Text != "")
}

// OpenKey is the variable that has the key of a wallet in the clear, "" if it is not set. It wins over the configuration.
func (w *wallets) OpenKey() string {
	if w.io.Env(envPrivateKey) == "" {
		return ""
	}
	return envPrivateKey
}

// Keystores are the directories where wallets are looked for. New ones go into the first.
func (w *wallets) Keystores() []string {
	if dir := w.io.Env(envKeystore); dir != "" {
		return []string{dir}
	}
	return []string{filepath.Join(w.DataDir(), "keystore"), filepath.Join(w.io.Env("HOME"), ".foundry", "keystores")}
}

// DataDir is where ctx keeps what is neither a setting nor a cache.
func (w *wallets) DataDir() string {
	share := w.io.Env("XDG_DATA_HOME")
	if share == "" {
		share = filepath.Join(w.io.Env("HOME"), ".local", "share")
	}
	return filepath.Join(share, "ctx")
}

// minPassphrase is how many characters a new passphrase has at least. A keystore can be copied and tried at leisure.
const minPassphrase = 8

// strong refuses a new passphrase that is too short.
func strong(text string) (string, error) {
	if n := utf8.RuneCountInString(text); n < minPassphrase {
		return "", cli.Invalid("the passphrase has %s, at least %d are needed; nothing was written",
			human.Plural(n, "character"), minPassphrase).
			WithHint("several words: correct horse battery staple")
	}
	return text, nil
}

// Passphrase is that of a wallet: from a file, - for standard input, the environment or the terminal.
func (w *wallets) Passphrase(ctx context.Context, file wallet.File, path string) (string, error) {
	if path == "" {
		path = w.io.Env(envPasswordFile)
	}
	if path != "" {
		return w.readPassphrase(path)
	}
	if text, ok := w.io.LookupEnv(envPassword); ok {
		return text, nil
	}
	return w.io.AskHidden(ctx, "Passphrase of "+filepath.Base(file.Path), "add --password-file FILE, or set "+envPasswordFile)
}

// readPassphrase reads one from a file, or a line of standard input for -.
func (w *wallets) readPassphrase(path string) (string, error) {
	if path == "-" {
		return w.io.Line()
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", cli.Invalid("read passphrase: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// NewPassphrase is one for a new wallet: from a file, the environment or, twice, the terminal.
func (w *wallets) NewPassphrase(ctx context.Context, path string) (string, error) {
	if path != "" || w.io.Env(envPasswordFile) != "" || w.io.Env(envPassword) != "" {
		text, err := w.Passphrase(ctx, wallet.File{}, path)
		if err != nil {
			return "", err
		}
		return strong(text)
	}
	return w.OtherPassphrase(ctx, "", "add --password-file FILE, or set "+envPasswordFile)
}

// OtherPassphrase is one that is to hold from now on, from a file or, twice, the terminal, and never from the environment, which has the
// one that holds already. instead is what to do where nobody can be asked.
func (w *wallets) OtherPassphrase(ctx context.Context, path, instead string) (string, error) {
	if path != "" {
		text, err := w.readPassphrase(path)
		if err != nil {
			return "", err
		}
		return strong(text)
	}
	first, err := w.io.AskHidden(ctx, "New passphrase", instead)
	if err == nil {
		first, err = strong(first)
	}
	if err != nil {
		return "", err
	}
	again, err := w.io.AskHidden(ctx, "The same again", instead)
	if err == nil && again != first {
		err = cli.Invalid("the two differ; nothing was written")
	}
	return first, err
}

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/wallet"
)

func fileFields() []string { return []string{"name", "address", "path"} }

func fileTable(f wallet.File) *cli.Rows {
	return &cli.Rows{Columns: []string{"name", "address", "file"}, Wide: 2, Rows: [][]string{walletCells(f)}}
}

// newUse makes the command that chooses the wallet of a profile.
func newUse(f *factory) *cobra.Command {
	o := walletOptionsOf(f)
	return f.Command(&cobra.Command{Use: "use NAME", Short: "Choose the wallet to pay and sign in with",
		Args: cobra.ExactArgs(1), ValidArgsFunction: o.names, SuggestFor: []string{"switch"},
		Example: "  ctx wallet use agent\n  ctx wallet use ./keys/agent -p prod"}, fileFields(), o.use)
}

// use writes the wallet into the configuration.
func (o *walletOptions) use(ctx context.Context, args []string) error {
	file, err := o.Wallets.Find(args[0])
	if err != nil {
		return err
	}
	c, err := o.Config()
	if err != nil {
		return err
	}
	name := args[0]
	if filepath.Base(name) != name || fileExists(name) { // a path, which is to hold wherever ctx is called
		if name, err = filepath.Abs(file.Path); err != nil {
			return cli.Invalid("%w", err)
		}
	}
	if err := o.SetHere(config.Wallet, name); err != nil {
		return err
	}
	o.Note("%s is the wallet of profile %s", file.Path, c.Profile())
	if env := o.Wallets.OpenKey(); env != "" {
		o.Note("%s is set and wins over it", env)
	}
	if now, ok := strings.CutPrefix(c.Get(config.Wallet).Origin, "environment "); ok {
		o.Note("%s is set and wins over it", now)
	}
	return o.Show(ctx, walletRow(file), fileTable(file))
}

// fileExists reports whether there is a file of that name here.
func fileExists(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

type walletExportOptions struct {
	walletOptions
	out        string
	privateKey bool
}

// newExport makes the command that hands a wallet out.
func newWalletExport(f *factory) *cobra.Command {
	o := &walletExportOptions{walletOptions: *walletOptionsOf(f)}
	c := f.Command(&cobra.Command{Use: "export [NAME]", Short: "Export a wallet: its keystore file or its private key",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: o.names,
		Long: "Export a wallet, by default the configured one. The result is the keystore file, which works only with the\n" +
			"passphrase and in every other wallet program. With --private-key, it is the key itself: anyone with it controls\n" +
			"the money in the wallet. ctx asks first, unless the key goes into a file.",
		Example: "  ctx wallet export agent --out agent.json\n  ctx wallet export agent --private-key --out agent.key"}, nil, o.run)
	o.bindPassphrase(c)
	c.Flags().StringVar(&o.out, "out", "", "write to this new `file`, readable only by you")
	c.Flags().BoolVar(&o.privateKey, "private-key", false, "hand out the key itself, unencrypted")
	return c
}

func (o *walletExportOptions) run(ctx context.Context, args []string) error {
	name := firstOf(args)
	if name == "" {
		c, err := o.Config()
		if err != nil {
			return err
		}
		if name = c.Get(config.Wallet).Text; name == "" {
			return cli.Invalid("no wallet is configured").WithHint("ctx wallet export NAME; ctx wallet list")
		}
	}
	file, err := o.Wallets.Find(name)
	if err != nil {
		return err
	}
	text, err := file.Text()
	if o.privateKey && err == nil {
		text, err = o.reveal(ctx, file)
	}
	if err != nil {
		return err
	}
	if o.out == "" {
		_, err = o.Out.Write(text)
		return err
	}
	if err := writeNew(o.out, text); err != nil {
		return cli.Invalid("export wallet: %w", err)
	}
	o.Note("%s is in %s", file.Address, o.out)
	return nil
}

// reveal is the key of a wallet, after the user has agreed to it being shown.
func (o *walletExportOptions) reveal(ctx context.Context, file wallet.File) ([]byte, error) {
	if o.out == "" {
		if err := o.Confirm(ctx, "show the private key of "+file.Address+", unencrypted, to all that read this output"); err != nil {
			return nil, err
		}
	}
	key, err := o.Wallets.OpenFile(ctx, file, o.passwordFile)
	if err != nil {
		return nil, err
	}
	return []byte(key.Reveal() + "\n"), nil
}

// writeNew writes a file that is not there yet, for the user alone.
func writeNew(path string, text []byte) error {
	return atomicfile.File{Path: path, New: true}.Write(func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

type passwdOptions struct {
	walletOptions
	newFile string
}

// newPasswd makes the command that changes a passphrase.
func newPasswd(f *factory) *cobra.Command {
	o := &passwdOptions{walletOptions: *walletOptionsOf(f)}
	c := f.Command(&cobra.Command{Use: "passwd NAME", Short: "Change the passphrase of a wallet",
		Args: cobra.ExactArgs(1), ValidArgsFunction: o.names,
		Long: "Change the passphrase of a wallet. The key stays the same; copies of the file keep the old passphrase. If\n" +
			"anything fails, the file is unchanged: the new file replaces it only when complete and opened once.",
		Example: "  ctx wallet passwd agent\n  ctx wallet passwd agent --password-file old.txt --new-password-file new.txt"},
		fileFields(), o.run)
	o.bindPassphrase(c)
	c.Flags().StringVar(&o.newFile, "new-password-file", "",
		"read the new passphrase from this `file`, - for standard input; by default, ctx asks twice")
	return c
}

func (o *passwdOptions) run(ctx context.Context, args []string) error {
	if o.passwordFile == "-" && o.newFile == "-" {
		return cli.Invalid("only one of the two passphrases can come from standard input")
	}
	file, err := o.Wallets.Find(args[0])
	if err != nil {
		return err
	}
	from, err := o.Wallets.Passphrase(ctx, file, o.passwordFile)
	if err != nil {
		return err
	}
	to, err := o.Wallets.OtherPassphrase(ctx, o.newFile, "add --new-password-file FILE")
	if err != nil {
		return err
	}
	o.Note("encrypting the key again, which takes a few seconds")
	if err := file.ChangePassphrase(from, to); err != nil {
		return cli.Invalid("%w", err)
	}
	o.Note("the passphrase of %s is changed", file.Path)
	return o.Show(ctx, walletRow(file), fileTable(file))
}

// newDelete makes the command that removes a wallet.
func newDelete(f *factory) *cobra.Command {
	o := walletOptionsOf(f)
	c := f.Command(&cobra.Command{Use: "delete NAME", Aliases: []string{"rm"}, Short: "Delete a wallet for good",
		Args: cobra.ExactArgs(1), ValidArgsFunction: o.names, SuggestFor: []string{"remove"},
		Long: "Delete a wallet for good. Without a copy of the file, its money is lost. A wallet with unfinished payments is\n" +
			"not deleted.",
		Example: "  ctx wallet export agent --out agent.json && ctx wallet delete agent"}, fileFields(), o.remove)
	o.bindPassphrase(c)
	return c
}

func (o *walletOptions) remove(ctx context.Context, args []string) error {
	file, err := o.Wallets.Find(args[0])
	if err != nil {
		return err
	}
	if file.Address == "" { // it has to be known for the journal
		key, err := o.Wallets.OpenFile(ctx, file, o.passwordFile)
		if err != nil {
			return err
		}
		file.Address = key.Address()
	}
	if err := o.Confirm(ctx, fmt.Sprintf("delete %s, the wallet %s, for good", file.Path, file.Address)); err != nil {
		return err
	}
	err = file.Delete(ctx, o.Wallets.DataDir())
	if errors.Is(err, wallet.ErrUnfinished) {
		return cli.Invalid("%w", err).WithHint("ctx pay resume")
	}
	if err != nil {
		return err
	}
	o.Note("%s is deleted", file.Path)
	if c, err := o.Config(); err == nil {
		if now := c.Get(config.Wallet); now.Text == args[0] || now.Text == file.Path {
			o.Note("it is still the wallet of the configuration (%s): ctx wallet use another, or ctx config unset wallet", now.Origin)
		}
	}
	return o.Show(ctx, walletRow(file), fileTable(file))
}

// Package pay is the commands of ctx that move money or keep what moves it: wallets and their passphrases, the policy of what a wallet may
// pay, quotes, receipts and what was begun and not answered, and purchases of credits.
//
// The rules of paying are those of sdk/wallet, and no command here goes round them: each payment is in the journal before it is sent, and a
// command that was killed goes on with the payment that is there. For example, ctx pay /v1/fresh asks for a quote, checks it against
// the policy, signs a transfer and notes it, broadcasts it, and asks again with the proof; killed after that, ctx pay resume, or the same
// command again, presents the same proof and pays nothing more.
package client

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/wallet"
)

// fileRow is a wallet as JSON shows it.
type fileRow struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Path    string `json:"path"`
}

func walletRow(f wallet.File) fileRow { return fileRow{filepath.Base(f.Path), f.Address, f.Path} }

func walletCells(f wallet.File) []string {
	name, address := filepath.Base(f.Path), f.Address
	if address == "" {
		address = "not in the file: ctx wallet address " + name
	}
	return []string{name, address, f.Path}
}

type walletOptions struct {
	*factory

	passwordFile string
	keyFile      string
}

func walletOptionsOf(f *factory) *walletOptions {
	return &walletOptions{factory: f}
}

func newWallet(f *factory) *cobra.Command {
	o := walletOptionsOf(f)
	fields := fileFields()
	list := f.Command(&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the wallets in the keystore directories"},
		fields, o.list)
	create := f.Command(&cobra.Command{Use: "new NAME", Short: "Make a wallet: a new key in a keystore file", Args: cobra.ExactArgs(1),
		Example: "  ctx wallet new agent\n  ctx wallet new agent --password-file pass.txt"}, fields, o.create)
	load := f.Command(&cobra.Command{Use: "import NAME --key-file FILE", Short: "Make a wallet from a private key or a keystore file",
		Args: cobra.ExactArgs(1),
		Long: "Make a wallet from a private key in hexadecimal, or from a keystore file of version 3, as written by ethers,\n" +
			"geth and cast. A keystore file keeps its passphrase; ctx checks that it opens the file.",
		Example: "  ctx wallet import main --key-file ~/.foundry/keystores/main\n" +
			"  jq -r .wallet.privateKey demo.json | ctx wallet import demo --key-file - --password-file pass.txt",
	}, fields, o.load)
	load.Flags().StringVar(&o.keyFile, "key-file", "", "read the private key or the keystore from `file`, - for standard input")
	balance := f.Command(&cobra.Command{Use: "balance", Short: "Show the balance of the configured wallet"},
		[]string{"address", "usdg", "wei", "chainId"}, o.balance)
	address := f.Command(&cobra.Command{Use: "address [NAME]", Short: "Show the address of a wallet",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: o.names}, []string{"address"}, o.address)
	for _, c := range []*cobra.Command{create, load, balance, address} {
		o.bindPassphrase(c)
	}
	return cli.Group(&cobra.Command{Use: "wallet", Short: "Manage wallets for payments and sign-in",
		Example: "  ctx wallet new agent\n  ctx wallet use agent\n  ctx wallet balance"},
		list, create, load, newUse(f), address, balance, newWalletExport(f), newPasswd(f), newDelete(f))
}

func (o *walletOptions) create(ctx context.Context, args []string) error {
	key, err := wallet.New()
	if err != nil {
		return err
	}
	return o.save(ctx, key, args[0])
}

// bindPassphrase defines the flag that names the passphrase of a wallet.
func (o *walletOptions) bindPassphrase(c *cobra.Command) {
	c.Flags().StringVar(&o.passwordFile, "password-file", "",
		"read the passphrase from this `file`, - for standard input; by default, ctx asks")
}

func (o *walletOptions) names(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	files, _ := wallet.List(o.Wallets.Keystores()...) // what cannot be listed is not offered
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Path)+"\t"+f.Address)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (o *walletOptions) list(ctx context.Context, _ []string) error {
	files, err := wallet.List(o.Wallets.Keystores()...)
	if err != nil {
		return err
	}
	rows := []fileRow{}
	table := &cli.Rows{Columns: []string{"name", "address", "file"}, Wide: 2, Empty: "no wallet; ctx wallet new NAME makes one"}
	for _, f := range files {
		f = f.Known(o.Wallets.DataDir())
		rows = append(rows, walletRow(f))
		table.Rows = append(table.Rows, walletCells(f))
	}
	return o.Show(ctx, rows, table)
}

// load makes a wallet of a key, or of a keystore, in a file.
func (o *walletOptions) load(ctx context.Context, args []string) error {
	if o.keyFile == "" && filepath.Base(args[0]) != args[0] {
		return cli.Invalid("%q is a path, where the wallet's name belongs", args[0]).
			WithHint("ctx wallet import NAME --key-file %s", args[0])
	}
	var text string
	var err error
	switch o.keyFile {
	case "":
		text, err = o.AskHidden(ctx, "Private key", "add --key-file FILE, or - for standard input")
	case "-":
		text, err = o.Line()
	default:
		var raw []byte
		raw, err = os.ReadFile(o.keyFile)
		text = string(raw)
	}
	if err != nil {
		return cli.Invalid("read private key: %w", err)
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return o.adopt(ctx, []byte(text), args[0])
	}
	key, err := wallet.ParseKey(text)
	if err != nil {
		return cli.Invalid("%w", err)
	}
	return o.save(ctx, key, args[0])
}

// adopt keeps a keystore of another program, with its passphrase.
func (o *walletOptions) adopt(ctx context.Context, text []byte, name string) error {
	passphrase, err := o.Wallets.Passphrase(ctx, wallet.File{Path: name}, o.passwordFile)
	if err != nil {
		return err
	}
	f, err := wallet.Import(o.Wallets.Keystores()[0], name, text, passphrase)
	if err != nil {
		return cli.Invalid("%w", err)
	}
	o.Note("the wallet is in %s, with the passphrase that it had\nto use it: ctx wallet use %s", f.Path, name)
	return o.Show(ctx, walletRow(f), fileTable(f))
}

// save writes a key to a keystore file.
func (o *walletOptions) save(ctx context.Context, key *wallet.Key, name string) error {
	passphrase, err := o.Wallets.NewPassphrase(ctx, o.passwordFile)
	if err != nil {
		return err
	}
	o.Note("encrypting the key, which takes a few seconds")
	f, err := key.Save(o.Wallets.Keystores()[0], name, passphrase)
	if err != nil {
		return cli.Invalid("%w", err)
	}
	o.Note("the wallet is in %s; without its passphrase nobody gets at it, you neither\nto use it: ctx wallet use %s", f.Path, name)
	return o.Show(ctx, walletRow(f), fileTable(f))
}

func (o *walletOptions) balance(ctx context.Context, _ []string) error {
	address, err := o.Wallets.Address(ctx, "", o.passwordFile)
	if err != nil {
		return err
	}
	p, err := o.Payments.ReadOnly(ctx, address, true)
	if err != nil {
		return err
	}
	defer p.Close()
	b, err := p.Balance(ctx)
	if err != nil {
		return err
	}
	return o.Show(ctx, b, &cli.Rows{Columns: []string{"wallet", "usdg", "ether", "chain"},
		Rows: [][]string{{b.Address, b.USDG.String(), wallet.Ether(b.Wei), fmt.Sprint(b.ChainID)}}})
}

func (o *walletOptions) address(ctx context.Context, args []string) error {
	address, err := o.Wallets.Address(ctx, firstOf(args), o.passwordFile)
	if err != nil {
		return err
	}
	return o.Show(ctx, map[string]string{"address": address}, &cli.Rows{Columns: []string{"address"}, Rows: [][]string{{address}}})
}

// firstOf is the first of args, "" if there are none.
func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

package client

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

type openOptions struct {
	*streams
	client  func() (*sdk.Client, error)
	config  func() (*config.Config, error)
	named   func(args []string) (pack string, err error)
	wallets *wallets

	pack  string // empty for the configured one
	print bool
}

// opened is a page, as JSON shows it.
type opened struct {
	URL    string `json:"url"`
	Opened bool   `json:"opened"`
}

// newOpen makes the command that opens pages in the browser.
func newOpen(f *factory) *cobra.Command {
	o := &openOptions{streams: f.streams, client: f.Client, config: f.Config, named: f.Pack, wallets: f.Wallets}
	c := f.Command(&cobra.Command{
		Use: "open [WHAT]", Short: "Open a page of the service, a source or a transaction",
		SuggestFor: []string{"browse", "web"}, Annotations: map[string]string{ownWords: "account docs"},
		Long: "Print the address of a page and open it in the browser, if there is one. Without WHAT, open the page of the\n" +
			"service; with --pack, the page of a pack. WHAT is account, docs, a ref of the brief such as 1, a name or row\n" +
			"key as shown by lookup, or a transaction hash, for the explorer of its chain. A ref and a name cost a call.",
		Example: "  ctx open\n  ctx open account\n  ctx open 2\n  ctx open zcash --print\n  ctx open 0x5c50… --print",
	}, cli.FieldsIn(opened{}), o.run)
	names := anyName(f.Config, "account\tyour keys and credits", "docs\tthe API")
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c, args, typed)
	}
	c.Flags().BoolVar(&o.print, "print", false, "print the address and open nothing")
	return f.Packed(c, &o.pack, "the page, ref or name is of this `pack`", 0, 1)
}

// run finds the page, opens it where that can be, and tells its address.
func (o *openOptions) run(ctx context.Context, args []string) error {
	address, err := o.address(ctx, strings.Join(args, ""))
	if err != nil {
		return err
	}
	if err := webAddress(address); err != nil {
		return err
	}
	page := opened{URL: address, Opened: !o.print && hasBrowser(o.Env)}
	if err := o.Show(ctx, page, &cli.Rows{Columns: []string{"url"}, Rows: [][]string{{address}}}); err != nil {
		return err
	}
	switch {
	case page.Opened:
		return browse(ctx, o.Env, address)
	case !o.print:
		o.Note("there is no browser here; BROWSER names one")
	}
	return nil
}

func (o *openOptions) address(ctx context.Context, what string) (string, error) {
	if strings.HasPrefix(what, "0x") {
		return o.transaction(what)
	}
	if ref, err := strconv.Atoi(strings.Trim(what, "[]")); err == nil {
		return o.source(ctx, ref)
	}
	c, err := o.config()
	if err != nil {
		return "", err
	}
	service := strings.TrimRight(c.Get(config.BaseURL).Text, "/")
	switch what {
	case "account":
		return service + "/account", nil
	case "docs":
		return service + api.PathDocs, nil
	case "":
		if o.pack == "" {
			return service + "/", nil
		}
		return service + "/packs/" + url.PathEscape(o.pack), nil
	}
	return o.row(ctx, what)
}

// asked is the service, and the pack that it is asked about.
func (o *openOptions) asked() (*sdk.Client, string, error) {
	pack, err := o.named([]string{o.pack})
	if err != nil {
		return nil, "", err
	}
	client, err := o.client()
	return client, pack, err
}

// source is the page of the source behind an anchor.
func (o *openOptions) source(ctx context.Context, ref int) (string, error) {
	client, pack, err := o.asked()
	if err != nil {
		return "", err
	}
	var meta sdk.Response
	cited, err := client.CiteRow(ctx, pack, ref, "", time.Time{}, o.Call(&meta)...)
	if err != nil {
		return "", err
	}
	o.ReportMeta(&meta)
	return rowOf(cited).URL, nil
}

func (o *openOptions) row(ctx context.Context, name string) (string, error) {
	client, pack, err := o.asked()
	if err != nil {
		return "", err
	}
	var meta sdk.Response
	request := sdk.LookupRequest{Pack: pack, Questions: []string{name}, Limit: 1}
	found, err := client.Lookup(ctx, request, o.Call(&meta)...)
	if err != nil {
		return "", err
	}
	o.ReportMeta(&meta)
	if len(found.Results) == 0 || len(found.Results[0].Rows) == 0 {
		return "", &cli.Failure{Exit: cli.ExitNotFound, Reason: string(api.ReasonNothingFound), Err: fmt.Errorf("%q is not known", name),
			Hint: fmt.Sprintf("ctx ask %q", name)}
	}
	return found.Results[0].Rows[0].URL, nil
}

// transaction is the page of a transaction at the explorer of its chain: that which the journal of payments says, or the configured one.
func (o *openOptions) transaction(hash string) (string, error) {
	if !regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`).MatchString(hash) {
		return "", cli.Invalid("%q is not the hash of a transaction: 0x and 64 hexadecimal digits", hash).WithHint("ctx pay receipts")
	}
	c, err := o.config()
	if err != nil {
		return "", err
	}
	if own := c.Get(config.Explorer).Text; own != "" {
		return strings.TrimRight(own, "/") + "/tx/" + hash, nil
	}
	chain := c.Get(config.ChainID).Text
	list, _ := wallet.Payments(o.wallets.DataDir()) // a journal that cannot be read does not know the transaction
	for _, p := range list {
		if strings.EqualFold(p.TxHash, hash) && p.Network != "" {
			chain = strings.TrimPrefix(p.Network, "eip155:")
		}
	}
	known := map[string]string{
		strconv.Itoa(api.ChainIDMain): "https://robinhoodchain.blockscout.com",
		strconv.Itoa(api.ChainIDTest): "https://explorer.testnet.chain.robinhood.com",
		"1":                           "https://etherscan.io",
		"8453":                        "https://basescan.org",
	}[chain]
	if known == "" {
		return "", cli.Invalid("no explorer is known for chain %s", chain).WithHint("ctx config set explorer https://…")
	}
	if node, err := url.Parse(c.Get(config.RPCURL).Text); err == nil && isLoopback(node.Hostname()) {
		return "", cli.Invalid("the chain of %s is on this machine, where no explorer shows it", node.Host).
			WithHint("ctx config set explorer http://…, if you run one")
	}
	return known + "/tx/" + hash, nil
}

package client

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/wallet"
)

func paymentFields() []string {
	return []string{
		"at", "service", "request", "amountMicros", "recipient", "payer", "txHash", "state", "note", "purchase", "unfinished", "stops",
		"authorization", "asset", "network", "validUntil", "receipt",
	}
}

// receiptOptions are those of receipts, which has no flags.
type receiptOptions struct {
	*factory
}

// newPay makes the group of commands about payments.
func newPay(f *factory) *cobra.Command {
	o := &receiptOptions{factory: f}
	receipts := f.Command(&cobra.Command{Use: "receipts", Aliases: []string{"list"},
		Short: "List payments from your wallets, newest first",
		Long: "List payments from your wallets, newest first. The states signed and mined mean that there is no answer yet: run\n" +
			"the same command again, or ctx pay resume. Lapsed authorizations can no longer be settled but may have been.\n" +
			"They count against the bounds, like everything here except dropped payments.",
		Example: "  ctx pay receipts\n  ctx pay receipts --jq 'map(.amountMicros) | add / 1e6'"},
		paymentFields(), o.run)
	c := cli.Group(&cobra.Command{Use: "pay", Short: "Pay for calls of any service, and list payments",
		Long: "Pay for any call from the wallet, and list past payments. ctx pay URL sends a request to any service, pays the\n" +
			"requested price within the policy of the wallet, and prints the unchanged answer; the receipt goes to stderr.\n" +
			"Foreign services are paid by x402, version 2: with a signed authorization of a dollar token from the setting\n" +
			"assets, without ether or a node. Other data commands pay the configured service with --pay, or always with the\n" +
			"setting pay = true.",
		Example: "  ctx pay quote ask --text bitcoin -k 3\n  ctx pay '/v1/search?q=bitcoin&k=3' --max-amount 0.002\n" +
			"  ctx pay https://api.example.com/report -d @query.json --max-usd 0.05 > report.pdf\n  ctx pay resume"},
		newQuote(f), receipts, newResume(f), newPolicy(f))
	addPayURL(f, c)
	return c
}

// run shows the journal of payments.
func (o *receiptOptions) run(ctx context.Context, _ []string) error {
	list, err := wallet.Payments(o.Wallets.DataDir())
	if err != nil {
		return err
	}
	newest := append([]wallet.Payment{}, list...)
	slices.Reverse(newest)
	var sum usdg.Amount
	for _, p := range list {
		sum += p.Amount
	}
	if len(list) > 0 && o.OutTTY {
		o.Note("%d payments, %s dollars in all", len(list), sum)
	}
	return o.Show(ctx, newest, paymentRows(newest, o.Now().Location()))
}

func paymentRows(list []wallet.Payment, zone *time.Location) *cli.Rows {
	table := &cli.Rows{Columns: []string{"at", "amount", "for", "state", "transaction", "service"}, Right: []bool{false, true},
		Hashes: []int{4}, Wide: 2, Empty: "nothing was paid yet"}
	for _, p := range list {
		table.Rows = append(table.Rows, []string{
			p.At.In(zone).Format(time.DateTime), p.Amount.String(), p.Request, string(p.State), cmp.Or(p.TxHash, p.Authorization),
			p.Service,
		})
	}
	return table
}

// isAddress reports whether arg is a path or URL, and no command.
func isAddress(arg string) bool { return strings.Contains(arg, "/") }

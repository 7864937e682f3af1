package client

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

func depositRows(list []api.Deposit, zone *time.Location) *cli.Rows {
	rows := &cli.Rows{Columns: []string{"purchase", "package", "credits", "usdg", "status", "until", "transaction"},
		Right: []bool{false, false, true, true}, Hashes: []int{6, 0}, Wide: 5, Empty: "no purchase yet; ctx credits buy PACKAGE makes one"}
	rails := slices.ContainsFunc(list, api.Deposit.Elsewhere)
	if rails {
		rows.Columns = append(rows.Columns, "rail")
	}
	for _, d := range list {
		tx := ""
		if d.TxHash != nil {
			tx = *d.TxHash
		}
		row := []string{d.ID, string(d.Pack), strconv.FormatInt(d.Credits, 10), d.AmountUSDC, string(d.Status),
			d.ExpiresAt.In(zone).Format("2006-01-02 15:04"), tx}
		if rails {
			row = append(row, d.Rail)
		}
		rows.Rows = append(rows.Rows, row)
	}
	return rows
}

// depositOptions are the flags of the commands on purchases.
type depositOptions struct {
	*factory

	tx string // the transaction to look in
}

// newDeposits makes the group of commands on purchases. Alone it lists them.
func newDeposits(f *factory) *cobra.Command {
	o := &depositOptions{factory: f}
	list := f.Command(&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List your newest purchases of credits"},
		depositFields(), o.list)
	view := f.Command(&cobra.Command{Use: "view PURCHASE", Short: "Show the state of a purchase", Args: cobra.ExactArgs(1)},
		depositFields(), o.view)
	wait := f.Command(&cobra.Command{Use: "wait PURCHASE", Short: "Wait until a purchase is verified or has expired",
		Args: cobra.ExactArgs(1)}, depositFields(), o.wait)
	verify := f.Command(&cobra.Command{Use: "verify PURCHASE --tx HASH", Short: "Verify the payment of a purchase now",
		Args: cobra.ExactArgs(1)}, depositFields(), o.verify)
	verify.Flags().StringVar(&o.tx, "tx", "", "look in the transaction with this `hash`")
	c := cli.Group(&cobra.Command{Use: "purchases", Short: "List and check your purchases of credits",
		Example: "  ctx credits purchases\n  ctx credits purchases verify 7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11 --tx 0x…"},
		list, view, wait, verify)
	cli.SetFields(c, depositFields()...)
	group := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return list.RunE(c, args)
		}
		return group(c, args)
	}
	return c
}

// list shows the newest purchases.
func (o *depositOptions) list(ctx context.Context, _ []string) error {
	b, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.CreditBalanceResponse, error) {
		return c.Balance(ctx, "", opts...)
	})
	if err != nil {
		return err
	}
	return o.Show(ctx, b.RecentDeposits, depositRows(b.RecentDeposits, o.Now().Location()))
}

func (o *depositOptions) view(ctx context.Context, args []string) error {
	return o.show(ctx, func(c *sdk.Console, opts []sdk.CallOption) (*api.Deposit, error) {
		return c.Deposit(ctx, args[0], "", opts...)
	})
}

// wait shows one purchase once it is at its end.
func (o *depositOptions) wait(ctx context.Context, args []string) error {
	o.Note("waiting for the payment; Ctrl-C leaves the purchase as it is")
	return o.show(ctx, func(c *sdk.Console, opts []sdk.CallOption) (*api.Deposit, error) {
		task := o.Busy("waiting for the payment and its confirmations")
		defer task.Done()
		return c.AwaitDeposit(ctx, args[0], "", opts...)
	})
}

// verify has the service look for the payment.
func (o *depositOptions) verify(ctx context.Context, args []string) error {
	if o.tx == "" {
		return cli.Invalid("--tx is missing").
			WithHint("ctx credits purchases verify %s --tx 0x…, or without a transaction: ctx credits purchases view %s", args[0], args[0])
	}
	return o.show(ctx, func(c *sdk.Console, opts []sdk.CallOption) (*api.Deposit, error) {
		return c.Deposit(ctx, args[0], o.tx, opts...)
	})
}

func (o *depositOptions) show(ctx context.Context, get func(c *sdk.Console, opts []sdk.CallOption) (*api.Deposit, error)) error {
	d, err := askConsole(o.Account, get)
	if err != nil {
		return err
	}
	if d.Reason != "" {
		o.Note("%s: %s", d.Reason, d.Message)
	}
	return o.Show(ctx, d, depositRows([]api.Deposit{*d}, o.Now().Location()))
}

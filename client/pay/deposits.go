package pay

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// depositRows are deposits as a table.
func depositRows(list []api.Deposit, a *command.Factory) *cli.Rows {
	rows := &cli.Rows{Columns: []string{"deposit", "pack", "credits", "usdg", "status", "until", "transaction"},
		Right: []bool{false, false, true, true}, Wide: 6, Empty: "no purchase yet; ctx credits buy PACK makes one"}
	for _, d := range list {
		tx := ""
		if d.TxHash != nil {
			tx = *d.TxHash
		}
		rows.Rows = append(rows.Rows, []string{d.ID, string(d.Pack), strconv.FormatInt(d.Credits, 10), d.AmountUSDC, string(d.Status),
			d.ExpiresAt.In(a.Now().Location()).Format(time.DateTime), tx})
	}
	return rows
}

// showDeposit shows one purchase, as get finds it.
func showDeposit(ctx context.Context, a *command.Factory, get func(c *sdk.Console, opts []sdk.CallOption) (*api.Deposit, error)) error {
	d, err := command.Ask(a.Account, get)
	if err != nil {
		return err
	}
	if d.Reason != "" {
		a.Note("%s: %s", d.Reason, d.Message)
	}
	return a.Show(ctx, d, depositRows([]api.Deposit{*d}, a))
}

// newDeposits makes the group of commands on purchases. Alone it lists them.
func newDeposits(a *command.Factory) *cobra.Command {
	list := a.Command(&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List your newest purchases of credits"}, depositFields(),
		func(ctx context.Context, _ []string) error {
			b, err := command.Ask(a.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.CreditBalanceResponse, error) {
				return c.Balance(ctx, "", opts...)
			})
			if err != nil {
				return err
			}
			return a.Show(ctx, b.RecentDeposits, depositRows(b.RecentDeposits, a))
		})
	view := a.Command(&cobra.Command{Use: "view DEPOSIT", Short: "Say how a purchase stands", Args: cobra.ExactArgs(1)}, depositFields(),
		func(ctx context.Context, args []string) error {
			return showDeposit(ctx, a, func(c *sdk.Console, opts []sdk.CallOption) (*api.Deposit, error) {
				return c.Deposit(ctx, args[0], "", opts...)
			})
		})
	wait := a.Command(&cobra.Command{Use: "wait DEPOSIT", Short: "Wait until a purchase is verified or has expired",
		Args: cobra.ExactArgs(1)}, depositFields(),
		func(ctx context.Context, args []string) error {
			a.Note("waiting for the payment; Ctrl-C leaves the purchase as it is")
			return showDeposit(ctx, a, func(c *sdk.Console, opts []sdk.CallOption) (*api.Deposit, error) {
				return c.AwaitDeposit(ctx, args[0], "", opts...)
			})
		})
	c := cli.Group(&cobra.Command{Use: "deposits", Short: "List your purchases of credits, and look after one",
		Example: "  ctx credits deposits\n  ctx credits deposits verify 7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11 --tx 0x…"},
		list, view, wait, newVerify(a))
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

// newVerify makes the command that has the service look for a payment.
func newVerify(a *command.Factory) *cobra.Command {
	var tx string
	c := a.Command(&cobra.Command{Use: "verify DEPOSIT --tx HASH", Short: "Have the service look for the payment of a purchase",
		Args: cobra.ExactArgs(1)}, depositFields(),
		func(ctx context.Context, args []string) error {
			if tx == "" {
				return cli.Invalid("--tx is missing").
					WithHint("ctx credits deposits verify %s --tx 0x…, or without a transaction: ctx credits deposits view %s",
						args[0], args[0])
			}
			return showDeposit(ctx, a, func(c *sdk.Console, opts []sdk.CallOption) (*api.Deposit, error) {
				return c.Deposit(ctx, args[0], tx, opts...)
			})
		})
	c.Flags().StringVar(&tx, "tx", "", "look in the transaction with this `hash`")
	return c
}

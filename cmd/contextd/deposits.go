package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// newDeposits makes the commands on money that arrived.
func newDeposits(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "deposits", Short: "Manage deposits and unmatched transfers"}
	cli.Group(c, newDepositsList(operate), newRescan(operate), newUnmatched(operate), newAssign(operate), newWriteOff(operate))
	return c
}

// several reports whether a list is of more than the first rail.
func several[T any](list []T, rail func(T) string) bool {
	return slices.ContainsFunc(list, func(one T) bool { return rail(one) != api.NetworkL2 })
}

func depositsTable(list []api.Deposit) cli.Answer {
	rows := &cli.Rows{
		Columns: []string{"deposit", "owner", "package", "usdg", "status", "created", "transaction"}, Right: []bool{3: true}, Wide: 6,
	}
	rails := several(list, func(d api.Deposit) string { return d.Rail })
	if rails {
		rows.Columns = append(rows.Columns, "rail")
	}
	for _, d := range list {
		tx := ""
		if d.TxHash != nil {
			tx = *d.TxHash
		}
		row := []string{d.ID, d.UserID, string(d.Pack), d.AmountUSDC, string(d.Status), d.CreatedAt.Format(time.DateTime), tx}
		if rails {
			row = append(row, d.Rail)
		}
		rows.Rows = append(rows.Rows, row)
	}
	return table(rows)
}

func newDepositsList(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the newest deposits of all owners", Args: cobra.NoArgs}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]api.Deposit, error) {
		return o.Deposits(ctx)
	}, depositsTable)
}

// newRescan makes the command that looks at the chain again.
func newRescan(operate runOperator) *cobra.Command {
	var from uint64
	var rail string
	c := &cobra.Command{
		Use: "rescan --from BLOCK", Args: cobra.NoArgs,
		Short: "Scan the chain again from a block on",
		Long: "Scan the chain again from a block on. Known transfers are not counted twice. Use this if a node missed\n" +
			"transfers, or if the treasury was paid before the daemon watched it.",
	}
	c.Flags().Uint64Var(&from, "from", 0, "first block to look at")
	railFlag(c, &rail)
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]api.Deposit, error) {
		return o.Rescan(ctx, rail, from)
	}, depositsTable)
}

const unmatchedLong = `List transfers to the treasury that paid for nothing, newest first: too much, too little, too late, or unknown.
Payments for calls are included until their proof arrives. Transfers that paid for something and then vanished from
the chain are included too, with their purchase; write them off to remove them from the list.`

// newUnmatched makes the command that lists transfers that have paid for nothing.
func newUnmatched(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "unmatched", Short: "List transfers that paid for nothing, newest first", Args: cobra.NoArgs,
		Long: unmatchedLong,
	}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]billing.Unmatched, error) {
		return o.Unmatched(ctx)
	}, unmatchedTable)
}

func unmatchedTable(list []billing.Unmatched) cli.Answer {
	rows := &cli.Rows{Columns: []string{"at", "usdg", "from", "transaction", "why"}, Right: []bool{1: true}, Wide: 4}
	rails := several(list, func(t billing.Unmatched) string { return t.Rail })
	if rails {
		rows.Columns = append(rows.Columns, "rail")
	}
	for _, t := range list {
		row := []string{t.At.Format(time.DateTime), t.Amount.Fixed(), t.Sender, transferName(t), t.Note}
		if rails {
			row = append(row, t.Rail)
		}
		rows.Rows = append(rows.Rows, row)
	}
	return table(rows)
}

// transferName names a transfer: its transaction and the log in it.
func transferName(t billing.Unmatched) string {
	return t.TxHash + ":" + strconv.FormatUint(t.LogIndex, 10)
}

// parseTransfer reads the name of a transfer. Without a log it is the first.
func parseTransfer(text string) (admin.UnmatchedRequest, error) {
	hash, log, found := strings.Cut(text, ":")
	ask := admin.UnmatchedRequest{TxHash: hash}
	if !found {
		return ask, nil
	}
	n, err := strconv.ParseUint(log, 10, 64)
	if err != nil {
		return ask, cli.Invalid("%q is not a transaction, a colon and the number of a log", text)
	}
	ask.LogIndex = n
	return ask, nil
}

func railFlag(c *cobra.Command, rail *string) {
	c.Flags().StringVar(rail, "rail", "", "rail of the transfer (default the first)")
}

// newAssign makes the command that lets a transfer pay for a deposit.
func newAssign(operate runOperator) *cobra.Command {
	var rail string
	c := &cobra.Command{
		Use: "assign TRANSACTION:LOG DEPOSIT", Args: cobra.ExactArgs(2),
		Short:   "Let a transfer pay for a deposit of another amount or time",
		Example: "  contextd money deposits assign 0x5c…:0 7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11",
		RunE: func(c *cobra.Command, args []string) error {
			ask, err := parseTransfer(args[0])
			if err != nil {
				return err
			}
			ask.DepositID, ask.Rail = args[1], rail
			return operate(c, func(o *admin.Operator) error {
				d, err := o.Assign(c.Context(), ask)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "deposit %s is verified: %d credits\n", d.ID, d.Credits)
				return err
			})
		},
	}
	railFlag(c, &rail)
	return c
}

func newWriteOff(operate runOperator) *cobra.Command {
	var reason, rail string
	c := &cobra.Command{
		Use: "write-off TRANSACTION:LOG --reason TEXT", Args: cobra.ExactArgs(1),
		Short:   "Write a transfer off, with a reason",
		Example: "  contextd money deposits write-off 0x5c…:0 --reason \"sent back by hand\"",
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, for the books (required)")
	railFlag(c, &rail)
	c.RunE = func(c *cobra.Command, args []string) error {
		ask, err := parseTransfer(args[0])
		if err != nil {
			return err
		}
		ask.Reason, ask.Rail = reason, rail
		return operate(c, func(o *admin.Operator) error {
			if err := o.WriteOff(c.Context(), ask); err != nil {
				return err
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), "written off")
			return err
		})
	}
	return c
}

// newMoney makes the commands about what was paid.
func newMoney(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "money", Short: "Look after deposits, settlements and the books"}
	return cli.Group(c, newDeposits(operate), newSettlements(operate), newReconcile(operate), newAudit(operate))
}

// newReconcile makes the command that compares the books with the chain.
func newReconcile(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "reconcile", Short: "Compare the books with the treasury on the chain", Args: cobra.NoArgs,
		Long: "Compare received transfers, purchases, credits sold, and the balance of the treasury on chain. Exit code 1 means\n" +
			"a difference: earlier deposits into the treasury and withdrawals from it show here. Exit code 9 means that a\n" +
			"rail was not compared because its node does not answer; the other rails were.",
	}
	out := cli.AddOutput(c, cli.FieldsIn(billing.Reconciliation{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return operate(c, func(o *admin.Operator) error {
			task := cli.Busy(c, "comparing the books with the chain")
			r, err := o.Reconcile(c.Context())
			task.Done()
			if err != nil {
				return err
			}
			if err := out.Print(r, reconciliationTable(r)); err != nil {
				return err
			}
			return reconciled(c.ErrOrStderr(), r)
		})
	}
	return c
}

// reconciled tells what does not agree, and what was not compared, and is the error of that.
func reconciled(told io.Writer, r billing.Reconciliation) error {
	for _, text := range r.Findings {
		fmt.Fprintln(told, text)
	}
	for _, one := range r.Rails {
		if one.Missing != "" {
			fmt.Fprintf(told, "rail %s was not compared: %s\n", one.Rail, one.Missing)
		}
	}
	switch {
	case len(r.Findings) > 0:
		return errors.New("the books and the chain do not agree")
	case len(r.Missing) > 0:
		return &cli.Failure{Exit: cli.ExitUnavailable, Reason: string(api.ReasonChainUnavailable),
			Err:  fmt.Errorf("not all was compared: there is nothing of %s", strings.Join(r.Missing, ", ")),
			Hint: "contextd doctor, and once its node answers: contextd money reconcile"}
	}
	return nil
}

func reconciliationTable(r billing.Reconciliation) cli.Answer {
	rows := &cli.Rows{Columns: []string{"usdg", "what"}, Right: []bool{true}, Bare: true, Wide: 1, Rows: [][]string{
		{r.Arrived.Fixed(), "arrived"}, {r.Deposits.Fixed(), fmt.Sprintf("for deposits (%d credits)", r.Sold)},
		{r.Calls.Fixed(), "for calls"}, {r.Unmatched.Fixed(), "unmatched"}, {r.Waiting.Fixed(), "waiting for a safe block"},
		{r.WrittenOff.Fixed(), "written off"}, {r.Treasury.Fixed(), "in the treasury"},
	}}
	if len(r.Rails) > 1 {
		for _, one := range r.Rails {
			treasury := one.Treasury.Fixed()
			if one.Missing != "" {
				treasury = "not known"
			}
			rows.Rows = append(rows.Rows, []string{one.Arrived.Fixed(), "arrived on rail " + one.Rail},
				[]string{treasury, "in the treasury there"})
		}
	}
	return table(rows)
}

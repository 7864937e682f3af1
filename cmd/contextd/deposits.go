package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/sdk/api"
)

// NewDeposits makes the commands on money that arrived.
func NewDeposits(operate Operate) *cobra.Command {
	c := &cobra.Command{Use: "deposits", Short: "Look after purchases, and transfers that fit none"}
	AddGroup(c, newDepositsList(operate), newRescan(operate), newUnmatched(operate), newAssign(operate), newWriteOff(operate))
	return c
}

// printDeposits prints a table of deposits.
func printDeposits(out io.Writer, list []api.Deposit) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DEPOSIT\tOWNER\tPACK\tUSDG\tSTATUS\tCREATED\tTRANSACTION")
	for _, d := range list {
		tx := ""
		if d.TxHash != nil {
			tx = *d.TxHash
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, d.UserID, d.Pack, d.AmountUSDC, d.Status, d.CreatedAt.Format(time.DateTime), tx)
	}
	return w.Flush()
}

// newDepositsList makes the command that lists purchases.
func newDepositsList(operate Operate) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the newest purchases of all owners", Args: cobra.NoArgs}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]api.Deposit, error) {
		return o.Deposits(ctx)
	}, printDeposits)
}

// newRescan makes the command that looks at the chain again.
func newRescan(operate Operate) *cobra.Command {
	var from uint64
	c := &cobra.Command{
		Use: "rescan --from BLOCK", Short: "Look again at all that has arrived from a block on, and list what that verified", Args: cobra.NoArgs,
		Long: "Look again at all that has arrived from a block on. What is known already is not counted twice. It is for a node that has hidden\n" +
			"something, or a treasury that was paid before the daemon looked at it.",
	}
	c.Flags().Uint64Var(&from, "from", 0, "first block to look at")
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]api.Deposit, error) {
		return o.Rescan(ctx, from)
	}, printDeposits)
}

// newUnmatched makes the command that lists transfers that have paid for nothing.
func newUnmatched(operate Operate) *cobra.Command {
	c := &cobra.Command{
		Use: "unmatched", Short: "List transfers that have paid for nothing, newest first", Args: cobra.NoArgs,
		Long: "List transfers to the treasury that have paid for nothing, newest first: too much, too little, too late, or unknown. Payments of\n" +
			"calls are among them until their proof is presented. Those that have paid for something and have vanished from the chain since are\n" +
			"here too; what they paid for is given, and writing them off takes them from the list.",
	}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]billing.Unmatched, error) {
		return o.Unmatched(ctx)
	}, printUnmatched)
}

// printUnmatched prints a table of transfers that have paid for nothing.
func printUnmatched(out io.Writer, rows []billing.Unmatched) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tUSDG\tFROM\tTRANSACTION\tWHY")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.At.Format(time.DateTime), r.Amount.Fixed(), r.Sender, place(r), r.Note)
	}
	return w.Flush()
}

// place names a transfer: its transaction and the log in it.
func place(t billing.Unmatched) string { return t.TxHash + ":" + strconv.FormatUint(t.LogIndex, 10) }

// unmatched reads the name of a transfer. Without a log it is the first.
func unmatched(text string) (admin.UnmatchedRequest, error) {
	hash, log, found := strings.Cut(text, ":")
	ask := admin.UnmatchedRequest{TxHash: hash}
	if !found {
		return ask, nil
	}
	n, err := strconv.ParseUint(log, 10, 64)
	if err != nil {
		return ask, Usage("%q is not a transaction, a colon and the number of a log", text)
	}
	ask.LogIndex = n
	return ask, nil
}

// newAssign makes the command that lets a transfer pay for a deposit.
func newAssign(operate Operate) *cobra.Command {
	return &cobra.Command{
		Use: "assign TRANSACTION:LOG DEPOSIT", Short: "Let a transfer pay for a purchase, whatever its amount and time", Args: cobra.ExactArgs(2),
		Example: "  contextd deposits assign 0x5c…:0 7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11",
		RunE: func(c *cobra.Command, args []string) error {
			ask, err := unmatched(args[0])
			if err != nil {
				return err
			}
			ask.DepositID = args[1]
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
}

// newWriteOff makes the command that writes a transfer off.
func newWriteOff(operate Operate) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "write-off TRANSACTION:LOG --reason TEXT", Short: "Note that a transfer will pay for nothing, and why", Args: cobra.ExactArgs(1),
		Example: "  contextd deposits write-off 0x5c…:0 --reason \"sent back by hand\"",
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever reads it (required)")
	c.RunE = func(c *cobra.Command, args []string) error {
		ask, err := unmatched(args[0])
		if err != nil {
			return err
		}
		ask.Reason = reason
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

// NewReconcile makes the command that compares the books with the chain.
func NewReconcile(operate Operate) *cobra.Command {
	c := &cobra.Command{
		Use: "reconcile", Short: "Compare what arrived, what it was spent on and what the treasury has", Args: cobra.NoArgs,
		Long: "Compare what arrived, what it was spent on, the credits that were sold and what the treasury has on chain. It ends with 1 if\n" +
			"anything does not agree: money that was in the treasury before, or was taken out of it, shows here.",
	}
	asJSON := AddJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return operate(c, func(o *admin.Operator) error {
			r, err := o.Reconcile(c.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				err = PrintJSON(c.OutOrStdout(), r)
			} else {
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', tabwriter.AlignRight)
				fmt.Fprintf(w, "%s\t arrived\t\n%s\t for deposits (%d credits)\t\n%s\t for calls\t\n%s\t unmatched\t\n%s\t waiting for a safe block\t\n%s\t written off\t\n%s\t in the treasury\t\n",
					r.Arrived.Fixed(), r.Deposits.Fixed(), r.Sold, r.Calls.Fixed(), r.Unmatched.Fixed(), r.Waiting.Fixed(), r.WrittenOff.Fixed(), r.Treasury.Fixed())
				err = w.Flush()
			}
			if err != nil || len(r.Findings) == 0 {
				return err
			}
			for _, text := range r.Findings {
				fmt.Fprintln(c.ErrOrStderr(), text)
			}
			return errors.New("the books and the chain do not agree")
		})
	}
	return c
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// runOperator opens the data directory that a command is for, calls act and closes it.
type runOperator func(c *cobra.Command, act func(o *admin.Operator) error) error

// show makes of c a command that prints what ask returns, for people as view has it.
func show[T any](
	operate runOperator, c *cobra.Command,
	ask func(ctx context.Context, o *admin.Operator, args []string) (T, error), view func(answer T) cli.Answer,
) *cobra.Command {
	out := cli.AddOutput(c, cli.FieldsIn(*new(T))...)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			task := cli.Busy(c, "waiting for the daemon")
			answer, err := ask(c.Context(), o, args)
			if task.Done(); err != nil {
				return err
			}
			return out.Print(answer, view(answer))
		})
	}
	return c
}

func table(rows *cli.Rows) cli.Answer { return cli.Answer{Rows: rows} }

// prose is the view that write writes, for people and pipes.
func prose(write func(w io.Writer) error) cli.Answer {
	return cli.Answer{Piped: cli.Text, Text: func(w io.Writer, _ int, _ cli.Style) error { return write(w) }}
}

// atOnce is what the help says of commands by which the operator changes the books.
const atOnce = " These commands also work while the daemon runs; changes take effect before\nthe command returns."

// newOwners makes the commands by which the operator looks after owners.
func newOwners(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "owners", Short: "List, view, invite, disable and enable the owners of keys",
		Long: "List, view, invite, disable and enable the owners of keys." + atOnce}
	invites := &cobra.Command{Use: "invites", Short: "Make, list and revoke invitations to sign up"}
	cli.Group(invites, newInvitesMake(operate), newInvitesList(operate), newInvitesRevoke(operate))
	return cli.Group(c, newUsersList(operate), newUsersView(operate), newUsersUnlink(operate), newUsersAccess(operate, true),
		newUsersAccess(operate, false), newTier(operate), invites)
}

// newCredits makes the commands by which the operator moves credits.
func newCredits(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "credits", Short: "Grant, adjust and list movements of credits",
		Long: "Grant, adjust and list movements of credits." + atOnce}
	return cli.Group(c, newMove(operate, billing.KindGrant), newMove(operate, billing.KindAdjust), newLedger(operate))
}

func newTier(operate runOperator) *cobra.Command {
	return &cobra.Command{
		Use: "tier OWNER TIER", Short: "Set the tier of an owner and of all their keys", Args: cobra.ExactArgs(2),
		Example: "  contextd owners tier 00000000-0000-4000-8000-000000000001 enterprise",
		RunE: func(c *cobra.Command, args []string) error {
			return operate(c, func(o *admin.Operator) error {
				if err := o.SetTier(c.Context(), args[0], api.Tier(args[1])); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "owner %s and all their keys are of tier %s now\n", args[0], args[1])
				return err
			})
		},
	}
}

// newMove makes the command that grants or adjusts credits.
func newMove(operate runOperator, kind billing.Kind) *cobra.Command {
	ask := admin.MoveRequest{Kind: kind}
	c := &cobra.Command{
		Use: "grant KEYID CREDITS --reason TEXT", Short: "Give credits to a key", Args: cobra.ExactArgs(2),
		Example: "  contextd credits grant cv_test_ab12cd34 1000 --reason \"beta tester\"",
	}
	if kind == billing.KindAdjust {
		c.Use, c.Short = "adjust KEYID CREDITS --reason TEXT", "Correct the credits of a key, up or down"
		c.Example = "  contextd credits adjust --reason \"granted twice\" -- cv_test_ab12cd34 -1000"
	}
	c.Flags().StringVar(&ask.Reason, "reason", "", "the reason, for the ledger (required)")
	out := cli.AddOutput(c, cli.FieldsIn(admin.MoveResponse{})...)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if ask.Amount, err = strconv.ParseInt(args[1], 10, 64); err != nil {
			return cli.Invalid("%q is not a whole number of credits", args[1]).WithHint("%s --help", c.CommandPath())
		}
		return operate(c, func(o *admin.Operator) error {
			done, err := o.MoveCredits(c.Context(), args[0], ask)
			if err != nil {
				return err
			}
			return out.Print(done, prose(func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%+d credits on %s; its owner has %d now\n", ask.Amount, args[0], done.Balance)
				return err
			}))
		})
	}
	return c
}

// newLedger makes the command that lists movements of credits.
func newLedger(operate runOperator) *cobra.Command {
	var owner string
	var limit int
	c := &cobra.Command{
		Use: "ledger", Short: "List movements of credits, newest first", Args: cobra.NoArgs,
		Example: "  contextd credits ledger --limit 20\n" +
			"  contextd credits ledger --owner 00000000-0000-4000-8000-000000000001 -o json",
	}
	c.Flags().StringVar(&owner, "owner", "", "only the keys of this owner")
	c.Flags().IntVar(&limit, "limit", 50, "show at most this many rows")
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]billing.Entry, error) {
		return o.Ledger(ctx, owner, limit)
	}, ledgerTable)
}

func ledgerTable(list []billing.Entry) cli.Answer {
	rows := &cli.Rows{Columns: []string{"at", "key id", "credits", "kind", "reason"}, Right: []bool{false, false, true}, Wide: 4}
	for _, e := range list {
		rows.Rows = append(rows.Rows, []string{e.At.Format(time.DateTime), e.KeyID, fmt.Sprintf("%+d", e.Amount), string(e.Kind), e.Reason})
	}
	return table(rows)
}

// newAudit makes the command that checks the books.
func newAudit(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "audit", Short: "Recompute every balance and list differences", Args: cobra.NoArgs,
		Long: "Recompute every balance from the ledger and the call counters, and list differences. Exit code 1 means that\n" +
			"there are some.",
	}
	out := cli.AddOutput(c, cli.FieldsIn(billing.Finding{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return operate(c, func(o *admin.Operator) error {
			task := cli.Busy(c, "adding up every balance")
			findings, err := o.Audit(c.Context())
			task.Done()
			if err != nil {
				return err
			}
			err = out.Print(findings, prose(func(w io.Writer) error {
				if len(findings) > 0 {
					return nil
				}
				_, err := fmt.Fprintln(w, "the books agree")
				return err
			}))
			if err != nil || len(findings) == 0 {
				return err
			}
			for _, f := range findings {
				fmt.Fprintf(c.ErrOrStderr(), "%s %s\n", f.Subject, f.Text)
			}
			return errors.New("the books do not agree")
		})
	}
	return c
}

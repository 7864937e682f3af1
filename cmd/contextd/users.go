package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
)

// newUsersList makes the command that lists owners.
func newUsersList(operate Operate) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List owners with their tier, keys and credits, oldest first", Args: cobra.NoArgs}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]account.Owner, error) {
		return o.Owners(ctx)
	}, printOwners)
}

// printOwners prints a table of owners.
func printOwners(out io.Writer, rows []account.Owner) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OWNER\tTIER\tCREATED\tKEYS\tCREDITS\tSIGNS IN BY")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", r.ID, r.Tier, r.CreatedAt.Format(time.DateTime), r.Keys, r.Credits, signsInBy(r))
	}
	return w.Flush()
}

// signsInBy says by what an owner signs in, and if he may not.
func signsInBy(o account.Owner) string {
	ways := make([]string, 0, len(o.Identities)+1)
	for _, id := range o.Identities {
		ways = append(ways, id.Subject)
	}
	switch {
	case o.DisabledAt != nil:
		ways = append(ways, "(disabled)")
	case o.ID == account.OperatorID:
		ways = append(ways, "(the operator)")
	}
	return strings.Join(ways, " ")
}

// newUsersView makes the command that shows an owner.
func newUsersView(operate Operate) *cobra.Command {
	c := &cobra.Command{Use: "view OWNER", Short: "Show an owner with his keys", Args: cobra.ExactArgs(1)}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, args []string) (admin.OwnerResponse, error) {
		return o.Owner(ctx, args[0])
	}, printOwner)
}

// printOwner prints an owner with his keys.
func printOwner(out io.Writer, owner admin.OwnerResponse) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "owner\t%s\ntier\t%s\ncreated\t%s\ncredits\t%d\nsigns in by\t%s\n", owner.ID, owner.Tier,
		owner.CreatedAt.Format(time.DateTime), owner.Credits, signsInBy(owner.Owner))
	if err := w.Flush(); err != nil {
		return err
	}
	return printKeys(out, owner.KeyList)
}

// newUsersAccess makes the command that disables an owner, or enables him again.
func newUsersAccess(operate Operate, disable bool) *cobra.Command {
	c := &cobra.Command{
		Use: "disable OWNER", Short: "Refuse an owner's keys and sessions, at once, until he is enabled again", Args: cobra.ExactArgs(1),
		Example: "  contextd admin users disable 7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11",
	}
	done := "owner %s is disabled: his keys are refused, his sessions and streams have ended\n"
	if !disable {
		c.Use, c.Short, c.Example = "enable OWNER", "Let an owner in again who was disabled", ""
		done = "owner %s is enabled: his keys work again, and he can sign in\n"
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			if err := o.SetDisabled(c.Context(), args[0], disable); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), done, args[0])
			return err
		})
	}
	return c
}

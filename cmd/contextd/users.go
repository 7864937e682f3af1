package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/cli"
)

func newUsersList(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List owners with their tier, keys and credits, oldest first", Args: cobra.NoArgs}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]account.Owner, error) {
		return o.Owners(ctx)
	}, ownersTable)
}

func ownersTable(list []account.Owner) cli.Answer {
	rows := &cli.Rows{
		Columns: []string{"owner", "tier", "created", "keys", "credits", "signs in by"}, Right: []bool{3: true, 4: true}, Wide: 5,
	}
	for _, o := range list {
		rows.Rows = append(rows.Rows, []string{o.ID, string(o.Tier), o.CreatedAt.Format(time.DateTime), strconv.Itoa(o.Keys),
			strconv.FormatInt(o.Credits, 10), signsInBy(o)})
	}
	return table(rows)
}

// signsInBy says by what an owner signs in, and if they may not.
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
func newUsersView(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "view OWNER", Short: "Show an owner with their identities and keys", Args: cobra.ExactArgs(1)}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, args []string) (admin.OwnerResponse, error) {
		return o.Owner(ctx, args[0])
	}, ownerView)
}

func ownerView(owner admin.OwnerResponse) cli.Answer {
	about := &cli.Rows{Columns: []string{"what", "value"}, Bare: true, Wide: 1, Rows: [][]string{
		{"owner", owner.ID}, {"tier", string(owner.Tier)}, {"created", owner.CreatedAt.Format(time.DateTime)},
		{"credits", strconv.FormatInt(owner.Credits, 10)}, {"signs in by", signsInBy(owner.Owner)},
	}}
	identities := &cli.Rows{Columns: []string{"identity", "kind", "subject", "added"}, Wide: 2}
	for _, id := range owner.Identities {
		identities.Rows = append(identities.Rows, []string{id.ID, string(id.Kind), id.Subject, id.CreatedAt.Format(time.DateTime)})
	}
	return cli.Answer{Piped: cli.Text, Text: func(w io.Writer, width int, style cli.Style) error {
		if err := about.Write(w, math.MaxInt, style); err != nil {
			return err
		}
		if len(identities.Rows) > 0 {
			if err := identities.Write(w, width, style); err != nil {
				return err
			}
		}
		return keysTable(owner.KeyList).Rows.Write(w, width, style)
	}}
}

// newUsersUnlink makes the command that takes an identity from an owner.
func newUsersUnlink(operate runOperator) *cobra.Command {
	return &cobra.Command{
		Use: "unlink OWNER IDENTITY", Short: "Remove a mail address or wallet from an owner",
		Args: cobra.ExactArgs(2),
		Long: "Remove a mail address or wallet from an owner and end their sessions. The owner can no longer sign in with it.\n" +
			"The last identity cannot be removed; to lock an owner out, disable them.",
		Example: "  contextd owners view 7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11\n" +
			"  contextd owners unlink 7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11 5f0c2d9e8b7a6413",
		RunE: func(c *cobra.Command, args []string) error {
			return operate(c, func(o *admin.Operator) error {
				if err := o.Unlink(c.Context(), args[0], args[1]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "owner %s does not sign in by %s any more, and their sessions have ended\n",
					args[0], args[1])
				return err
			})
		},
	}
}

// newUsersAccess makes the command that disables an owner, or enables them again.
func newUsersAccess(operate runOperator, disable bool) *cobra.Command {
	c := &cobra.Command{
		Use: "disable OWNER", Short: "Refuse an owner's keys and sessions until enabled again", Args: cobra.ExactArgs(1),
		Example: "  contextd owners disable 7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11",
	}
	done := "owner %s is disabled: their keys are refused, their sessions and streams have ended\n"
	if !disable {
		c.Use, c.Short, c.Example = "enable OWNER", "Enable a disabled owner again", ""
		done = "owner %s is enabled: their keys work again, and they can sign in\n"
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

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

func newInvitesMake(operate runOperator) *cobra.Command {
	var note string
	c := &cobra.Command{
		Use: "make", Short: "Make an invitation and print it, once", Args: cobra.NoArgs,
		Long: fmt.Sprintf("Make an invitation to become an owner, for one person within %s. It is shown once, on standard output.",
			api.FormatSpan(api.InviteLifetime)),
		Example: "  contextd owners invites make --note \"Ada, beta\"",
	}
	c.Flags().StringVar(&note, "note", "", "note for the list, such as the name of the person")
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) (account.IssuedInvite, error) {
		return o.Invite(ctx, note)
	}, func(made account.IssuedInvite) cli.Answer {
		return prose(func(w io.Writer) error { _, err := fmt.Fprintln(w, made.Code); return err })
	})
}

func newInvitesList(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List invitations, newest first", Args: cobra.NoArgs}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]account.Invite, error) {
		return o.Invites(ctx)
	}, invitesTable)
}

func invitesTable(list []account.Invite) cli.Answer {
	rows := &cli.Rows{Columns: []string{"invitation", "made", "until", "used", "revoked", "by", "note"}, Wide: 6}
	moment := func(at *time.Time) string {
		if at == nil {
			return ""
		}
		return at.Format(time.DateTime)
	}
	for _, i := range list {
		rows.Rows = append(rows.Rows, []string{i.ID, i.CreatedAt.Format(time.DateTime), i.ExpiresAt.Format(time.DateTime), moment(i.UsedAt),
			moment(i.RevokedAt), i.UsedBy, i.Note})
	}
	return table(rows)
}

func newInvitesRevoke(operate runOperator) *cobra.Command {
	return &cobra.Command{
		Use: "revoke INVITATION", Short: "Revoke an unused invitation by its id", Args: cobra.ExactArgs(1),
		Example: "  contextd owners invites revoke aB3dE5fG",
		RunE: func(c *cobra.Command, args []string) error {
			return operate(c, func(o *admin.Operator) error {
				if err := o.RevokeInvite(c.Context(), args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "invitation %s is revoked\n", args[0])
				return err
			})
		},
	}
}

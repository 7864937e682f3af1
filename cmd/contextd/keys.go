package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// NewKeys makes the commands that manage keys on the data directory, whether the daemon runs or not.
func NewKeys(operate Operate) *cobra.Command {
	c := &cobra.Command{
		Use: "keys", Short: "Create, list and revoke API keys on this data directory",
		Long: "Create, list and revoke API keys on this data directory. While the daemon runs, it is asked to; a revocation holds\n" +
			"from the moment the command returns.",
	}
	cli.Group(c, newKeysCreate(operate), newKeysList(operate), newKeysRevoke(operate))
	return c
}

func newKeysCreate(operate Operate) *cobra.Command {
	var ask admin.KeyRequest
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a key and print it, once", Args: cobra.ExactArgs(1),
		Example: "  contextd keys create my-agent\n  contextd keys create my-agent --out my-agent.key\n" +
			"  contextd keys create ci --tier team -o json",
	}
	var out string
	c.Flags().StringVar(&out, "out", "", "write the key to this new file, for you alone, and do not print it")
	c.Flags().StringVar((*string)(&ask.Tier), "tier", string(api.TierFree), "free, hobby, pro, team or enterprise")
	c.Flags().StringVar((*string)(&ask.TraceConsent), "consent", string(api.ConsentAggregated),
		"what may be kept of its calls: full, aggregated or none")
	answer := cli.AddOutput(c, cli.FieldsIn(api.IssuedKey{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		ask.Name = args[0]
		return operate(c, func(o *admin.Operator) (err error) {
			var file *os.File
			if out != "" { // made first: a key that cannot be written down would be lost
				if file, err = os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
					return cli.Invalid("make the file for the key: %w", err)
				}
				defer func() { err = errors.Join(err, file.Close()) }()
			}
			key, err := o.IssueKey(c.Context(), ask)
			if err != nil {
				return err
			}
			if file != nil {
				_, err := fmt.Fprintln(file, key.Key)
				fmt.Fprintf(c.ErrOrStderr(), "key %s for %q is in %s, which only you can read\n", key.KeyID, key.Name, out)
				return err
			}
			return answer.Print(key, prose(func(w io.Writer) error {
				fmt.Fprintf(c.ErrOrStderr(), "key %s for %q, tier %s, with %d free calls in 24 hours; for more:\n"+
					"  contextd admin credits grant %s 10000 --reason \"…\"\nThe key is shown this once:\n",
					key.KeyID, key.Name, key.Tier, api.FreeCallsPerDay, key.KeyID)
				_, err := fmt.Fprintln(w, key.Key)
				return err
			}))
		})
	}
	return c
}

func newKeysList(operate Operate) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List keys, newest first", Args: cobra.NoArgs}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]api.APIKeyRow, error) {
		return o.ListKeys(ctx)
	}, keysTable)
}

func keysTable(list []api.APIKeyRow) cli.Answer {
	rows := &cli.Rows{
		Columns: []string{"key id", "name", "tier", "created", "last used", "state"}, Wide: 1,
		Empty: "no key yet; contextd keys create NAME makes one",
	}
	for _, k := range list {
		state, used := "active", "never"
		if k.RevokedAt != nil {
			state = "revoked " + k.RevokedAt.Format(time.DateTime)
		}
		if k.LastUsedAt != nil {
			used = k.LastUsedAt.Format(time.DateTime)
		}
		rows.Rows = append(rows.Rows, []string{k.KeyID, k.Name, string(k.Tier), k.CreatedAt.Format(time.DateTime), used, state})
	}
	return table(rows)
}

func newKeysRevoke(operate Operate) *cobra.Command {
	c := &cobra.Command{
		Use: "revoke KEYID", Short: "Revoke a key, at once and for good", Args: cobra.ExactArgs(1),
		Example: "  contextd keys revoke cv_test_ab12cd34",
	}
	answer := cli.AddOutput(c, cli.FieldsIn(api.RevokeResponse{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			done, err := o.RevokeKey(c.Context(), args[0])
			if err != nil {
				return err
			}
			return answer.Print(done, prose(func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "revoked %s at %s\n", args[0], done.RevokedAt.Format(time.DateTime))
				return err
			}))
		})
	}
	return c
}

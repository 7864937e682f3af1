package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/sdk/api"
)

// NewKeys makes the commands that manage keys on the data directory, whether the daemon runs or not.
func NewKeys(operate Operate) *cobra.Command {
	c := &cobra.Command{
		Use: "keys", Short: "Create, list and revoke API keys on this data directory",
		Long: "Create, list and revoke API keys on this data directory. While the daemon runs, it is asked to; a revocation holds\n" +
			"from the moment the command returns.",
	}
	AddGroup(c, newKeysCreate(operate), newKeysList(operate), newKeysRevoke(operate))
	return c
}

func newKeysCreate(operate Operate) *cobra.Command {
	var ask admin.KeyRequest
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a key and print it, once", Args: cobra.ExactArgs(1),
		Example: "  contextd keys create my-agent\n  contextd keys create my-agent --out my-agent.key\n  contextd keys create ci --tier team --json",
	}
	var out string
	c.Flags().StringVar(&out, "out", "", "write the key to this new file, for you alone, and do not print it")
	c.Flags().StringVar((*string)(&ask.Tier), "tier", string(api.TierFree), "free, hobby, pro, team or enterprise")
	c.Flags().StringVar((*string)(&ask.TraceConsent), "consent", string(api.ConsentAggregated), "what may be kept of its calls: full, aggregated or none")
	asJSON := AddJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		ask.Name = args[0]
		return operate(c, func(o *admin.Operator) (err error) {
			var file *os.File
			if out != "" { // made first: a key that cannot be written down would be lost
				if file, err = os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
					return Usage("make the file for the key: %w", err)
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
			if *asJSON {
				return PrintJSON(c.OutOrStdout(), key)
			}
			fmt.Fprintf(c.ErrOrStderr(), "key %s for %q, tier %s, with %d free calls in 24 hours; for more:\n"+
				"  contextd admin credits grant %s 10000 --reason \"…\"\nThe key is shown this once:\n",
				key.KeyID, key.Name, key.Tier, api.FreeCallsPerDay, key.KeyID)
			_, err = fmt.Fprintln(c.OutOrStdout(), key.Key)
			return err
		})
	}
	return c
}

func newKeysList(operate Operate) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List keys, newest first", Args: cobra.NoArgs}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]api.APIKeyRow, error) {
		return o.ListKeys(ctx)
	}, printKeys)
}

// printKeys prints a table of keys.
func printKeys(out io.Writer, rows []api.APIKeyRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY ID\tNAME\tTIER\tCREATED\tLAST USED\tSTATE")
	for _, r := range rows {
		state := "active"
		if r.RevokedAt != nil {
			state = "revoked " + r.RevokedAt.Format(time.DateTime)
		}
		used := "never"
		if r.LastUsedAt != nil {
			used = r.LastUsedAt.Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.KeyID, r.Name, r.Tier, r.CreatedAt.Format(time.DateTime), used, state)
	}
	return w.Flush()
}

func newKeysRevoke(operate Operate) *cobra.Command {
	c := &cobra.Command{
		Use: "revoke KEYID", Short: "Revoke a key, at once and for good", Args: cobra.ExactArgs(1),
		Example: "  contextd keys revoke cv_test_ab12cd34",
	}
	asJSON := AddJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			done, err := o.RevokeKey(c.Context(), args[0])
			if err != nil {
				return err
			}
			if *asJSON {
				return PrintJSON(c.OutOrStdout(), done)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "revoked %s at %s\n", args[0], done.RevokedAt.Format(time.DateTime))
			return err
		})
	}
	return c
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// newKeys makes the commands that manage keys on the data directory, whether the daemon runs or not.
func newKeys(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "keys", Short: "Create, list, replace and revoke API keys",
		Long: "Create, list, replace and revoke API keys. These commands also work while the daemon runs. A revocation takes\n" +
			"effect before the command returns.",
	}
	cli.Group(c, newKeysCreate(operate), newKeysList(operate), newKeysSetTier(operate), newKeysRotate(operate), newKeysRevoke(operate))
	return c
}

func newKeysCreate(operate runOperator) *cobra.Command {
	var ask admin.KeyRequest
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a key and print it, once", Args: cobra.ExactArgs(1),
		Long: "Create a key for your own use and print it, once. The key reads every pack and the full history; its calls are\n" +
			"counted but not charged. With --tier, or with billing.operator set to metered, it works like the key of an\n" +
			"owner: free calls, then credits.",
		Example: "  contextd keys create my-agent\n  contextd keys create my-agent --out my-agent.key\n" +
			"  contextd keys create ci --tier team -o json",
	}
	var out string
	bindKeyOut(c, &out)
	c.Flags().StringVar((*string)(&ask.Tier), "tier", "", "charge its calls, as a key of free, hobby, pro, team or enterprise")
	c.Flags().StringVar((*string)(&ask.TraceConsent), "consent", string(api.ConsentAggregated),
		"records of its calls to keep: full, aggregated or none")
	cli.PerDay(c, &ask.DailyCredits)
	cli.CompleteValues(c, "tier", api.Tiers()...)
	cli.CompleteValues(c, "consent", api.Consents()...)
	answer := cli.AddOutput(c, cli.FieldsIn(api.IssuedKey{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		ask.Name = args[0]
		return operate(c, func(o *admin.Operator) (err error) {
			return handKey(c, answer, out, func() (api.IssuedKey, error) { return o.IssueKey(c.Context(), ask) })
		})
	}
	return c
}

// bindKeyOut adds the flag of commands that make a key.
func bindKeyOut(c *cobra.Command, out *string) {
	c.Flags().StringVar(out, "out", "", "write the key to this new `file`, readable only by you, and do not print it")
}

// handKey has issue make a key and gives it to the file out, or prints it where that is "".
func handKey(c *cobra.Command, answer *cli.Output, out string, issue func() (api.IssuedKey, error)) (err error) {
	var file *os.File
	if out != "" { // made first: a key that cannot be written down would be lost
		if file, err = os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
			return cli.Invalid("make the file for the key: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	key, err := issue()
	if err != nil {
		return err
	}
	say := c.ErrOrStderr()
	if key.CreditBalance != nil {
		fmt.Fprintf(say, "%d credits have moved to it; the old key ends at %s\n", *key.CreditBalance, key.RevokesAt.Format(time.DateTime))
	}
	if file != nil {
		_, err := fmt.Fprintln(file, key.Key)
		fmt.Fprintf(say, "key %s for %q is in %s, which only you can read\n", key.KeyID, key.Name, out)
		return err
	}
	return answer.Print(key, prose(func(w io.Writer) error {
		costs := "its calls are counted, not charged"
		if !key.Unmetered {
			costs = fmt.Sprintf("with %d free calls in 24 hours; for more:\n  contextd credits grant %s 10000 --reason \"…\"",
				api.FreeCallsPerDay, key.KeyID)
		}
		fmt.Fprintf(say, "key %s for %q, tier %s, %s\nThe key is shown this once:\n", key.KeyID, key.Name, key.Tier, costs)
		_, err := fmt.Fprintln(w, key.Key)
		return err
	}))
}

// newKeysSetTier makes the command that sets what a key of the operator may.
func newKeysSetTier(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "set-tier KEYID TIER", Short: "Set the tier of a key, and whether its calls are charged", Args: cobra.ExactArgs(2),
		Long: "Set the tier of a key made by keys create. With enterprise, its calls are counted but not charged, unless\n" +
			"billing.operator is metered; with any other tier, they are charged. Keys of owners take the tier of their owner.",
		Example: "  contextd keys set-tier cv_test_ab12cd34 enterprise",
	}
	answer := cli.AddOutput(c, cli.FieldsIn(api.APIKeyRow{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			key, err := o.SetKeyTier(c.Context(), args[0], api.Tier(args[1]))
			if err != nil {
				return err
			}
			return answer.Print(key, prose(func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "key %s is of tier %s now; its calls are %s\n", key.KeyID, key.Tier, calls(key))
				return err
			}))
		})
	}
	return c
}

func calls(k api.APIKeyRow) string {
	if k.Unmetered {
		return "counted"
	}
	return "charged"
}

func newKeysRotate(operate runOperator) *cobra.Command {
	var out string
	var grace time.Duration
	c := &cobra.Command{
		Use: "rotate KEYID", Short: "Replace a key, and move its credits to the new one", Args: cobra.ExactArgs(1),
		Example: "  contextd keys rotate cv_test_ab12cd34 --out my-agent.key --grace 1h",
	}
	bindKeyOut(c, &out)
	c.Flags().DurationVar(&grace, "grace", 0, "keep the old key valid for this `long` (1h), a week at most")
	answer := cli.AddOutput(c, cli.FieldsIn(api.IssuedKey{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			return handKey(c, answer, out, func() (api.IssuedKey, error) {
				return o.RotateKey(c.Context(), args[0], api.RotateKeyRequest{GraceSeconds: int64(math.Ceil(grace.Seconds()))})
			})
		})
	}
	return c
}

func newKeysList(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List keys, newest first", Args: cobra.NoArgs}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]api.APIKeyRow, error) {
		return o.ListKeys(ctx)
	}, keysTable)
}

func keysTable(list []api.APIKeyRow) cli.Answer {
	rows := &cli.Rows{
		Columns: []string{"key id", "name", "tier", "calls", "created", "last used", "state", "per day"}, Wide: 1,
		Right: []bool{7: true},
		Empty: "no key yet; contextd keys create NAME makes one",
	}
	for _, k := range list {
		state, used := "active", "never"
		switch {
		case k.OAuth != nil && k.RevokesAt != nil:
			state = "agent until " + k.RevokesAt.Format(time.DateTime)
		case k.OAuth != nil:
			state = "agent"
		case k.RevokesAt != nil:
			state = "ends " + k.RevokesAt.Format(time.DateTime)
		}
		if k.RevokedAt != nil {
			state = "revoked " + k.RevokedAt.Format(time.DateTime)
		}
		if k.LastUsedAt != nil {
			used = k.LastUsedAt.Format(time.DateTime)
		}
		rows.Rows = append(rows.Rows, []string{
			k.KeyID, k.Name, string(k.Tier), calls(k), k.CreatedAt.Format(time.DateTime), used, state, cli.Bound(k.DailyCredits),
		})
	}
	return table(rows)
}

func newKeysRevoke(operate runOperator) *cobra.Command {
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
				if done.StrandedCredits > 0 {
					fmt.Fprintf(c.ErrOrStderr(), "%d credits are left on its record, where nobody can use them; keys rotate moves them\n",
						done.StrandedCredits)
				}
				return err
			}))
		})
	}
	return c
}

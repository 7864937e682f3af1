package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/cli"
)

// noLog is said where there is no log, or none that goes on.
const noLog = "no log goes on: one begins when the daemon starts, or with the first state of its pack"

// newLog makes the commands about the transparency logs.
func newLog(read readData) *cobra.Command {
	c := &cobra.Command{
		Use: "log", Short: "Inspect and verify the transparency logs",
		Long: "Inspect and verify the transparency logs, which prove what was published. These commands also work while the\n" +
			"daemon runs.",
	}
	cli.Group(c, newLogStatus(read), newLogVerify(read), newLogKey(read))
	return c
}

// newLogStatus makes the command that says how the logs stand.
func newLogStatus(read readData) *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Show the length and last entry of each log"}
	return command(read, c, cli.FieldsIn(backup.LogStatus{}), func(o *admin.Operator, _ string, out *cli.Output) error {
		list, err := o.Logs(c.Context())
		if err != nil {
			return err
		}
		rows := &cli.Rows{
			Columns: []string{"pack", "origin", "leaves", "last", "goes on", "signed by"}, Right: []bool{2: true}, Wide: 4, Empty: noLog,
		}
		for _, l := range list {
			goesOn := "yes"
			if l.Ended {
				goesOn = "no: a new one follows it"
			}
			rows.Rows = append(rows.Rows, []string{l.Pack, l.Origin, fmt.Sprint(l.Size), l.AppendedAt.Format(time.DateTime), goesOn,
				signedBy(l.Witnesses)})
		}
		return out.Print(list, table(rows))
	})
}

// signedBy says how many witnesses have signed the newest checkpoint, and which have not.
func signedBy(list []translog.Cosigner) string {
	var missing []string
	for _, w := range list {
		if w.Since != nil {
			missing = append(missing, w.Name)
		}
	}
	if len(list) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d witnesses", len(list)-len(missing), len(list))
	if len(missing) > 0 {
		text += ", not " + strings.Join(missing, ", ")
	}
	return text
}

func newLogVerify(read readData) *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Compare the tree of every log with what is stored",
		Long: "Rebuild the tree of every log from its leaves and compare it with the stored hashes, the root, the key, and the\n" +
			"states and briefs still kept. Exit code 1 means that something is wrong. A consistent change of all of them goes\n" +
			"unnoticed here, but not by clients that remember a checkpoint.",
	}
	return command(read, c, cli.FieldsIn(admin.LogVerifyResponse{}), func(o *admin.Operator, _ string, out *cli.Output) error {
		r, err := o.VerifyLogs(c.Context())
		if err != nil {
			return err
		}
		sound := fmt.Sprintf("the logs are sound: all %d leaves hash to their roots and prove what is kept", r.Leaves)
		if r.Leaves == 0 {
			sound = noLog
		}
		return printVerdict(c, out, r, r.Problems, sound, &cli.Failure{Err: errors.New("the logs are not sound"),
			Hint: "contextd restore with the newest backup that contextd restore --dry-run accepts; it begins new logs"})
	})
}

func newLogKey(read readData) *cobra.Command {
	var renew bool
	c := &cobra.Command{
		Use: "key", Args: cobra.NoArgs, Short: "Show the keys that verify the logs, to be published",
		Long: "Show the keys that verify the checkpoints of the logs. Publish them where clients can compare them.\n\n" +
			"With --renew, make another key and begin new logs, whose first leaves name the heads of the old ones. Use it if\n" +
			"the key was lost or stolen, and before a copy of a data directory goes its separate way. Clients that remember\n" +
			"the old logs refuse the new ones until someone accepts them. Stop the daemon first.",
	}
	c.Flags().BoolVar(&renew, "renew", false, "make another key and begin new logs; the daemon must not run")
	out := cli.AddOutput(c, cli.FieldsIn(backup.LogStatus{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := read()
		if err != nil {
			return err
		}
		if renew {
			if err := renewLogs(c, cfg); err != nil {
				return err
			}
			_, err := fmt.Fprintln(c.ErrOrStderr(), "made another key; the daemon begins new logs when it starts")
			return err
		}
		return open(c.Context(), cfg, func(o *admin.Operator) error {
			list, err := o.Logs(c.Context())
			if err != nil {
				return err
			}
			var own []backup.LogStatus
			for _, l := range list {
				if !l.Ended {
					own = append(own, l)
				}
			}
			if len(own) == 0 {
				fmt.Fprintln(c.ErrOrStderr(), noLog)
			}
			return out.Print(own, prose(func(w io.Writer) error {
				for _, l := range own {
					fmt.Fprintln(w, l.Key)
				}
				return nil
			}))
		})
	}
	return c
}

// renewLogs makes another key for the logs, while no daemon runs.
func renewLogs(c *cobra.Command, cfg dataConfig) (err error) {
	lock, err := datadir.Lock(cfg.Dir)
	if err != nil {
		return err
	}
	return errors.Join(backup.RenewLogs(c.Context(), cfg.Dir, cfg.StoreURL, cfg.StoreKey, cfg.Now()), lock.Close())
}

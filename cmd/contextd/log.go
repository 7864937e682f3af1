package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
)

// NewLog makes the commands about the transparency logs.
func NewLog(read Read) *cobra.Command {
	c := &cobra.Command{
		Use: "log", Short: "Look at the transparency logs and verify them",
		Long: "Look at the transparency logs, which prove what was published, and verify them. While the daemon runs, it is asked.",
	}
	cli.Group(c, newLogStatus(read), newLogVerify(read), newLogKey(read))
	return c
}

// newLogStatus makes the command that says how the logs stand.
func newLogStatus(read Read) *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Say how long each log is, and when it was appended to"}
	return command(read, c, cli.FieldsIn(backup.LogStatus{}), func(o *admin.Operator, _ string, out *cli.Output) error {
		list, err := o.Logs(c.Context())
		if err != nil {
			return err
		}
		rows := &cli.Rows{Columns: []string{"pack", "origin", "leaves", "last", "goes on"}, Right: []bool{2: true}, Wide: 4}
		for _, l := range list {
			goesOn := "yes"
			if l.Ended {
				goesOn = "no: a new one follows it"
			}
			rows.Rows = append(rows.Rows, []string{l.Pack, l.Origin, fmt.Sprint(l.Size), l.AppendedAt.Format(time.DateTime), goesOn})
		}
		return out.Print(list, table(rows))
	})
}

// newLogVerify makes the command that verifies the logs.
func newLogVerify(read Read) *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Compare the tree of every log with what is stored",
		Long: "Make the tree of every log again, of its leaves, and compare it with the stored hashes, the root, the key, and the\n" +
			"states and briefs that are still kept. It ends with 1 if anything is wrong. Who changed all of them alike is not\n" +
			"seen here, but by every client that remembers a checkpoint.",
	}
	return command(read, c, cli.FieldsIn(admin.LogVerifyResponse{}), func(o *admin.Operator, _ string, out *cli.Output) error {
		r, err := o.VerifyLogs(c.Context())
		if err != nil {
			return err
		}
		err = out.Print(r, prose(func(w io.Writer) error {
			if len(r.Problems) > 0 {
				return nil
			}
			_, err := fmt.Fprintf(w, "the logs are sound: all %d leaves hash to their roots and prove what is kept\n", r.Leaves)
			return err
		}))
		if err != nil || len(r.Problems) == 0 {
			return err
		}
		for _, p := range r.Problems {
			if !out.Machine() {
				fmt.Fprintln(c.ErrOrStderr(), p)
			}
		}
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "not_sound", Err: errors.New("the logs are not sound"),
			Hint: "contextd restore with the newest backup that contextd restore --dry-run accepts; it begins new logs"}
	})
}

// newLogKey makes the command that shows the keys of the logs.
func newLogKey(read Read) *cobra.Command {
	var renew bool
	c := &cobra.Command{
		Use: "key", Args: cobra.NoArgs, Short: "Show the keys that verify the logs, to be published",
		Long: "Show the keys that verify the checkpoints of the logs. Publish them where clients can compare them.\n\n" +
			"With --renew, make another key and begin new logs, whose first leaves name the heads of the old ones: after the key\n" +
			"was lost or stolen, and on a copy of a data directory that is to go on by itself. Clients that remember the old logs\n" +
			"refuse the new ones until their users accept them. The daemon must not run.",
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
			_, err := fmt.Fprintln(c.ErrOrStderr(), "made another key; each log begins again with the next state of its pack")
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

// renewLogs makes another key for the logs of a data directory, and ends those that it has.
func renewLogs(c *cobra.Command, cfg dataConfig) (err error) {
	lock, err := datadir.Lock(cfg.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	h, err := history.Open(c.Context(), cfg.Dir, cfg.Now())
	if err != nil {
		return err
	}
	if err := errors.Join(h.EndLogs(c.Context()), h.Close()); err != nil { // first: a new key must not sign an old log
		return err
	}
	seed := make([]byte, 32)
	if _, err := rand.Read(seed); err != nil {
		return fmt.Errorf("make key of logs: %w", err)
	}
	path := filepath.Join(cfg.Dir, translog.KeyFile)
	if err := atomicfile.Write(path, []byte(hex.EncodeToString(seed)+"\n"), 0o600); err != nil {
		return fmt.Errorf("write key of logs: %w", err)
	}
	return datadir.GiveTo(path, cfg.Dir)
}

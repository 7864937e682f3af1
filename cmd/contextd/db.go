package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
)

// newDB makes the commands about the databases.
func newDB(s *settings) *cobra.Command {
	read := s.data
	c := &cobra.Command{
		Use: "db", Short: "Inspect, verify and copy the databases, logs and evidence",
		Long: "Inspect, verify, shrink and copy the databases, the transparency logs and what sources answered. All but vacuum\n" +
			"and copy also work while the daemon runs. None of these commands upgrades a database.",
	}
	return cli.Group(c, newStatus(read), newStats(read), newVerify(read), newVacuum(read), newCopy(read), newLog(read), newEvidence(s))
}

// command makes a command that works on the databases.
func command(
	read readData, c *cobra.Command, fields []string, run func(o *admin.Operator, dir string, out *cli.Output) error,
) *cobra.Command {
	c.Args = cobra.NoArgs
	out := cli.AddOutput(c, fields...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := read()
		if err != nil {
			return err
		}
		return open(c.Context(), cfg, func(o *admin.Operator) error { return run(o, cfg.Dir, out) })
	}
	return c
}

// newStatus makes the command that says how the databases stand.
func newStatus(read readData) *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Show size and schema of the databases"}
	return command(read, c, cli.FieldsIn(backup.Database{}), func(o *admin.Operator, dir string, out *cli.Output) error {
		list, err := o.Databases(c.Context(), false)
		if err != nil {
			return err
		}
		running := "a daemon runs"
		if o.Direct {
			running = "no daemon runs"
		}
		rows := &cli.Rows{Columns: []string{"database", "size", "free in it", "log", "schema"}, Wide: 4}
		for _, d := range list {
			rows.Rows = append(rows.Rows, []string{d.Name, human.Bytes(d.Size), human.Bytes(d.Free), human.Bytes(d.LogSize), schemaText(d)})
		}
		return out.Print(list, cli.Answer{Rows: rows, Text: func(w io.Writer, width int, style cli.Style) error {
			fmt.Fprintf(w, "%s, %s\n", dir, running)
			return rows.Write(w, width, style)
		}})
	})
}

// schemaText says which schema a database has, and what that means.
func schemaText(d backup.Database) string {
	switch {
	case d.Schema < d.Known:
		return fmt.Sprintf("%d, upgraded to %d at the next start, after a backup", d.Schema, d.Known)
	case d.Schema > d.Known:
		return fmt.Sprintf("%d, newer than this program, which knows %d", d.Schema, d.Known)
	}
	return fmt.Sprint(d.Schema)
}

// newStats makes the command that counts rows.
func newStats(read readData) *cobra.Command {
	c := &cobra.Command{Use: "stats", Short: "Count the rows of every table"}
	return command(read, c, cli.FieldsIn(backup.Database{}), func(o *admin.Operator, _ string, out *cli.Output) error {
		list, err := o.Databases(c.Context(), true)
		if err != nil {
			return err
		}
		rows := &cli.Rows{Columns: []string{"database", "table", "rows"}, Right: []bool{2: true}}
		for _, d := range list {
			for _, t := range d.Tables {
				rows.Rows = append(rows.Rows, []string{d.Name, t.Name, fmt.Sprint(t.Rows)})
			}
		}
		return out.Print(list, table(rows))
	})
}

// newVerify makes the command that verifies the databases.
func newVerify(read readData) *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Verify the databases, every balance and every state",
		Long: "Verify the structure of the databases, every balance, every state and every log. Exit code 1 means that\n" +
			"something is wrong. This takes a while with a long history; the daemon keeps serving.",
	}
	return command(read, c, cli.FieldsIn(backup.Report{}), func(o *admin.Operator, _ string, out *cli.Output) error {
		task := cli.Busy(c, "verifying every page, balance and state")
		r, err := o.VerifyDatabases(c.Context())
		if task.Done(); err != nil {
			return err
		}
		sound := fmt.Sprintf("the databases are sound, the books agree, all %d states read back, %d leaves hash to their roots",
			r.States, r.Leaves)
		return printVerdict(c, out, r, r.Problems, sound, &cli.Failure{Err: errors.New("the databases are not sound"),
			Hint: "contextd restore with the newest backup that contextd restore --dry-run accepts"})
	})
}

// printVerdict prints r, the result of a verification: as sound, or with its problems, and fails with f then.
func printVerdict[P any](c *cobra.Command, out *cli.Output, r any, problems []P, sound string, f *cli.Failure) error {
	err := out.Print(r, prose(func(w io.Writer) error {
		if len(problems) > 0 {
			return nil
		}
		_, err := fmt.Fprintln(w, sound)
		return err
	}))
	if err != nil || len(problems) == 0 {
		return err
	}
	for _, p := range problems {
		if !out.Machine() {
			fmt.Fprintln(c.ErrOrStderr(), p)
		}
	}
	f.Exit, f.Reason = cli.ExitFailure, "not_sound"
	return f
}

// newVacuum makes the command that shrinks the databases.
func newVacuum(read readData) *cobra.Command {
	c := &cobra.Command{
		Use: "vacuum", Short: "Shrink the databases of a stopped daemon",
		Long: "Rewrite the databases without their free space. This takes as much additional room as the databases and would\n" +
			"block writes meanwhile, so stop the daemon first. New rows reuse free space anyway: run this only after much\n" +
			"data was dropped.",
	}
	return command(read, c, cli.FieldsIn(backup.Database{}), func(o *admin.Operator, dir string, out *cli.Output) error {
		if !o.Direct {
			return errors.New("a daemon runs on this data directory and would have to wait\n  try: stop it first")
		}
		before, err := o.Databases(c.Context(), false)
		if err != nil {
			return err
		}
		task := cli.Busy(c, "rewriting the databases")
		err = backup.Vacuum(c.Context(), dir)
		if task.Done(); err != nil {
			return err
		}
		after, err := o.Databases(c.Context(), false)
		if err != nil {
			return err
		}
		return out.Print(after, prose(func(w io.Writer) error {
			for i, d := range after {
				fmt.Fprintf(w, "%s: %s, %s before\n", d.Name, human.Bytes(d.Size), human.Bytes(before[i].Size))
			}
			return nil
		}))
	})
}

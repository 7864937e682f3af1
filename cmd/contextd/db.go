package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/internal/human"
)

// NewDB makes the commands about the databases.
func NewDB(read Read) *cobra.Command {
	c := &cobra.Command{
		Use: "db", Short: "Look at the databases, verify and shrink them",
		Long: "Look at the databases, verify and shrink them. While the daemon runs, it is asked; nothing here upgrades a database.",
	}
	AddGroup(c, newStatus(read), newStats(read), newVerify(read), newVacuum(read))
	return c
}

// command makes a command that works on the databases.
func command(read Read, c *cobra.Command, run func(o *admin.Operator, dir string, asJSON bool) error) *cobra.Command {
	c.Args = cobra.NoArgs
	asJSON := AddJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := read()
		if err != nil {
			return err
		}
		return open(c.Context(), cfg, func(o *admin.Operator) error { return run(o, cfg.Dir, *asJSON) })
	}
	return c
}

// newStatus makes the command that says how the databases stand.
func newStatus(read Read) *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Say how large the databases are and which schema they have"}
	return command(read, c, func(o *admin.Operator, dir string, asJSON bool) error {
		list, err := o.Databases(c.Context(), false)
		if err != nil {
			return err
		}
		if asJSON {
			return PrintJSON(c.OutOrStdout(), list)
		}
		running := "a daemon runs"
		if o.Direct {
			running = "no daemon runs"
		}
		fmt.Fprintf(c.OutOrStdout(), "%s, %s\n", dir, running)
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "DATABASE\tSIZE\tFREE IN IT\tLOG\tSCHEMA")
		for _, d := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Name, human.Bytes(d.Size), human.Bytes(d.Free), human.Bytes(d.LogSize), schemaText(d))
		}
		return w.Flush()
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
func newStats(read Read) *cobra.Command {
	c := &cobra.Command{Use: "stats", Short: "Count the rows of every table"}
	return command(read, c, func(o *admin.Operator, _ string, asJSON bool) error {
		list, err := o.Databases(c.Context(), true)
		if err != nil {
			return err
		}
		if asJSON {
			return PrintJSON(c.OutOrStdout(), list)
		}
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "DATABASE\tTABLE\tROWS")
		for _, d := range list {
			for _, t := range d.Tables {
				fmt.Fprintf(w, "%s\t%s\t%d\n", d.Name, t.Name, t.Rows)
			}
		}
		return w.Flush()
	})
}

// newVerify makes the command that verifies the databases.
func newVerify(read Read) *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Verify the structure of the databases, every balance and every state",
		Long: "Verify the structure of the databases, every balance and every state. It ends with 1 if anything is wrong. With a long\n" +
			"history that takes its time; the daemon goes on serving.",
	}
	return command(read, c, func(o *admin.Operator, _ string, asJSON bool) error {
		r, err := o.VerifyDatabases(c.Context())
		if err != nil {
			return err
		}
		if asJSON {
			err = PrintJSON(c.OutOrStdout(), r)
		}
		for _, p := range r.Problems {
			if !asJSON {
				fmt.Fprintln(c.ErrOrStderr(), p)
			}
			err = errors.New("the databases are not sound\n  try: contextd restore with the newest backup that contextd restore --dry-run accepts")
		}
		if err == nil && !asJSON {
			fmt.Fprintf(c.OutOrStdout(), "the databases are sound, the books agree, all %d states read back\n", r.States)
		}
		return err
	})
}

// newVacuum makes the command that shrinks the databases.
func newVacuum(read Read) *cobra.Command {
	c := &cobra.Command{
		Use: "vacuum", Short: "Rewrite the databases without the space that is free in them; the daemon must not run",
		Long: "Rewrite the databases without the space that is free in them. That needs as much room again as they have, and would keep a daemon\n" +
			"from writing for as long, so none may run. Free space is used by new rows anyway: this is for after a great deal was dropped.",
	}
	return command(read, c, func(o *admin.Operator, dir string, asJSON bool) error {
		if !o.Direct {
			return errors.New("a daemon runs on this data directory and would have to wait\n  try: stop it first")
		}
		before, err := o.Databases(c.Context(), false)
		if err != nil {
			return err
		}
		if err := backup.Vacuum(c.Context(), dir); err != nil {
			return err
		}
		after, err := o.Databases(c.Context(), false)
		if err != nil {
			return err
		}
		if asJSON {
			return PrintJSON(c.OutOrStdout(), after)
		}
		for i, d := range after {
			fmt.Fprintf(c.OutOrStdout(), "%s: %s, %s before\n", d.Name, human.Bytes(d.Size), human.Bytes(before[i].Size))
		}
		return nil
	})
}

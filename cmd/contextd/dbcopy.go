package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/cli"
)

const copyLong = `Copy books and history from the data directory to PostgreSQL, or back. Nothing else may use either side, and the
target must not have any yet. All rows are read back and compared; then the books of both sides are audited and their
sums of money compared. The copy is complete or not there at all, even if the command is killed; the source stays
unchanged.

Other users of this machine can see a URL with a password. Write store.url instead, for the URL in the configuration,
or keep the password in ~/.pgpass.`

// newCopy makes the command that copies the databases between SQLite and PostgreSQL.
func newCopy(read readData) *cobra.Command {
	var to, from string
	c := &cobra.Command{
		Use: "copy", Short: "Copy books and history from SQLite to PostgreSQL, or back", Long: copyLong, Args: cobra.NoArgs,
		Example: "  contextd db copy --to postgres://contextd@db.example.org/contextd\n" +
			"  contextd db copy --to store.url\n  contextd db copy --from store.url --data-dir /var/lib/contextd-files",
	}
	c.Flags().StringVar(&to, "to", "", "`URL` of the PostgreSQL database to copy the data directory to, or store.url")
	c.Flags().StringVar(&from, "from", "", "`URL` of the PostgreSQL database to copy into the data directory, or store.url")
	c.MarkFlagsOneRequired("to", "from")
	c.MarkFlagsMutuallyExclusive("to", "from")
	answer := cli.AddOutput(c, cli.FieldsIn(backup.Moved{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := read()
		if err != nil {
			return err
		}
		place, act := to, backup.ToServer
		if to == "" {
			place, act = from, backup.FromServer
		}
		if place == "store.url" {
			if place = cfg.StoreURL; place == "" {
				return cli.Invalid("the configuration has no store.url").WithHint("set it, or name the URL of the database here")
			}
		}
		if err := database.CheckURL(place); err != nil {
			return cli.Invalid("%w", err)
		}
		return copyDatabases(c, answer, func() (m backup.Moved, err error) {
			lock, err := datadir.Lock(cfg.Dir)
			if err != nil {
				return m, err
			}
			defer func() { err = errors.Join(err, lock.Close()) }()
			return act(c.Context(), backup.Copy{Dir: cfg.Dir, Place: place, Key: cfg.StoreKey, Now: cfg.Now()})
		})
	}
	return c
}

func copyDatabases(c *cobra.Command, answer *cli.Output, act func() (backup.Moved, error)) error {
	task := cli.Busy(c, "copying every row and reading it back")
	m, err := act()
	if task.Done(); err != nil {
		return err
	}
	err = answer.Print(m, prose(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "copied %d rows of %d tables, which read back the same; audit and sums of money are equal on both sides\n",
			m.Rows, len(m.Tables))
		return err
	}))
	for _, p := range m.Problems {
		if !answer.Machine() {
			fmt.Fprintln(c.ErrOrStderr(), p)
		}
	}
	return err
}

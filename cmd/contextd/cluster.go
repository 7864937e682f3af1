package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
)

// newNodes makes the command that shows the daemons on one database.
func newNodes(read readData) *cobra.Command {
	c := &cobra.Command{
		Use: "nodes", Short: "Show the nodes, who leads, and how far each is behind", Args: cobra.NoArgs,
		Long: "Show the daemons on one database. The one that runs on the data directory is asked; where none does, the database of\n" +
			"store.url is read. A node that was not seen for 10 seconds is silent, and is forgotten after a minute. On SQLite there\n" +
			"is one, which leads. A node is behind by how much its newest state is older than the newest on any node.",
		Example: "  contextd status nodes\n  contextd status nodes --jq '.nodes[] | select(.role == \"leads\").url'",
	}
	out := cli.AddOutput(c, cli.FieldsIn(admin.Cluster{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := read()
		if err != nil {
			return err
		}
		if _, err := os.Stat(cfg.Dir); errors.Is(err, fs.ErrNotExist) && cfg.StoreURL == "" {
			return noDirectory(cfg.Dir)
		}
		told, err := admin.ReadCluster(c.Context(), cfg.Dir, cfg.StoreURL)
		if err != nil {
			return err
		}
		return out.Print(told, clusterTable(told, cfg.Now()))
	}
	return c
}

func clusterTable(c admin.Cluster, now time.Time) cli.Answer {
	rows := &cli.Rows{Columns: []string{"node", "role", "version", "started", "seen", "behind"}, Wide: 5}
	for _, n := range c.Nodes {
		rows.Rows = append(rows.Rows, []string{n.URL, n.Role, n.Version, n.StartedAt.Local().Format(time.DateTime),
			human.Age(max(0, now.Sub(n.SeenAt))), n.Behind()})
	}
	return cli.Answer{Rows: rows, Text: func(w io.Writer, width int, style cli.Style) error {
		fmt.Fprintln(w, c.Summary())
		return rows.Write(w, width, style)
	}}
}

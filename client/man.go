package client

import (
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// newMan makes the command that writes the manual pages.
func newMan() *cobra.Command {
	return lenient(&cobra.Command{Use: "man DIR", Short: "Write the manual pages into a directory", Args: cobra.ExactArgs(1),
		Long: "Write a manual page for every command (section 1) and every topic of the handbook (section 7) into a directory. " +
			"$SOURCE_DATE_EPOCH sets their date, which is today otherwise.",
		Example: "  ctx man man && install -m 0644 -Dt ~/.local/share/man/man1 man/*.1 && install -m 0644 -Dt ~/.local/share/man/man7 man/*.7",
	}, func(c *cobra.Command, args []string) error {
		if err := cli.WriteManual(c.Root(), args[0]); err != nil {
			return Invalid("write manual pages: %w", err)
		}
		return nil
	})
}

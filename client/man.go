package client

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan makes the command that writes the manual pages.
func newMan() *cobra.Command {
	return lenient(&cobra.Command{Use: "man DIR", Short: "Write the manual pages into a directory", Args: cobra.ExactArgs(1),
		Long:    "Write a manual page for every command into a directory. $SOURCE_DATE_EPOCH sets their date, which is today otherwise.",
		Example: "  ctx man ~/.local/share/man/man1",
	}, func(c *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return Invalid("write manual pages: %w", err)
		}
		c.Root().DisableAutoGenTag = true
		return doc.GenManTree(c.Root(), &doc.GenManHeader{Source: "ctx", Manual: "ctx manual"}, args[0])
	})
}

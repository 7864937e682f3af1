package main

import (
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// newMan makes the command that writes the manual pages.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory",
		Long: "Write a manual page for every command (section 1) and every topic of the handbook (section 7) into a directory.\n" +
			"$SOURCE_DATE_EPOCH sets their date, which is today otherwise.",
		Example: "  contextd man man && sudo install -m 0644 -Dt /usr/local/share/man/man1 man/*.1 &&\n" +
			"    sudo install -m 0644 -Dt /usr/local/share/man/man7 man/*.7",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return cli.WriteManual(c.Root(), args[0]) },
	}
}

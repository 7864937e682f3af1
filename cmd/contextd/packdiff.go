package main

import (
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/internal/cli"
)

// newPackDiff makes the command that shows in what a manifest differs from the pack of the program in whose place it is served.
func newPackDiff(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "diff NAME", Short: "Show how a pack in packs.dir differs from the program's", Args: cobra.ExactArgs(1),
		Long: "Show how a pack in packs.dir differs from the program's of the same name. Where a source has moved and no release\n" +
			"tells of it yet, write the program's pack to a file there (contextd packs view NAME --manifest) and change its address:\n" +
			"the file is served in its place, as long as it has the same sources in the same order.",
		Example:           "  contextd packs view markets --manifest > packs/markets.yaml\n  contextd packs diff markets",
		ValidArgsFunction: s.completePacks,
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		p, _, err := s.manifestOf(args[0])
		if err != nil {
			return err
		}
		base, shipped := manifest.ShippedText(args[0])
		if !shipped {
			return cli.Invalid("%s is no pack of the program", args[0]).WithHint("contextd packs list")
		}
		_, err = c.OutOrStdout().Write(diff.Diff("program", base, p.where(), p.text))
		return err
	}
	return c
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/internal/cli"
)

// newPack makes the commands for packs from manifests.
func newPack() *cobra.Command {
	c := &cobra.Command{Use: "pack", Short: "Packs from manifests", Hidden: true}
	return cli.Group(c, newPackEval())
}

// newPackEval makes the command that the daemon calls for every manifest of somebody else.
func newPackEval() *cobra.Command {
	return &cobra.Command{
		Use: "eval", Short: "Evaluate a manifest for the daemon, which starts this by itself", Args: cobra.NoArgs, Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return manifest.Serve(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/web"
)

// newOpenAPI makes the command that prints the description of the HTTP API.
func newOpenAPI() *cobra.Command {
	asYAML := false
	c := &cobra.Command{
		Use: "openapi", Short: "Print the description of the HTTP API (OpenAPI 3.1)", Args: cobra.NoArgs,
		Long:    "Print the description of the HTTP API, as served at /api/openapi and /api/openapi.yaml.",
		Example: "  contextd print openapi > openapi.json\n  contextd print openapi --yaml > openapi.yaml",
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := web.DescriptionJSON()
			if asYAML {
				text, err = web.DescriptionYAML()
			}
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
	c.Flags().BoolVar(&asYAML, "yaml", false, "print YAML instead of JSON")
	return c
}

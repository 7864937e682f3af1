package client

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// newVersion makes the command that tells the build.
func newVersion(f *factory) *cobra.Command {
	build, answer := cli.ReadVersion("ctx")
	return f.Command(&cobra.Command{Use: "version", Short: "Show the version of ctx"}, cli.FieldsIn(build),
		func(ctx context.Context, _ []string) (err error) {
			if answer.JSON, err = cli.Marshal(build); err != nil {
				return err
			}
			return f.Print(ctx, answer)
		})
}

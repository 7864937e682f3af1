package client

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// newStdio makes the command that is a bridge.
func newStdio(a *App) *cobra.Command {
	names := "underscore"
	c := a.Command(&cobra.Command{
		Use: "stdio", Short: "Be an MCP server on stdin and stdout, for clients on this machine",
		Long: "Be an MCP server on stdin and stdout, for clients on this machine. What a client says is passed on to the service with " +
			"the key of\n" +
			"the profile, or paid from the wallet within its bounds (--pay). A session that has ended, because the service was started\n" +
			"again, is opened anew without the client's noticing. Tools are listed as context_fresh and so on: some clients refuse dots.",
		Example: "  ctx mcp config --client claude    what to put into Claude's settings\n  ctx mcp stdio --profile agent",
	}, nil, func(ctx context.Context, _ []string) error {
		if names != "underscore" && names != "dots" {
			return cli.Invalid("--names is %q, not underscore or dots", names)
		}
		if names == "dots" {
			names = ""
		}
		e, err := newEndpoint(a, names)
		if err != nil {
			return err
		}
		r := newRelay(a, e)
		e.waits = func(d time.Duration) { r.note("the service cannot be reached; trying again in %s", d) }
		return r.run(ctx, a.In)
	})
	c.Flags().StringVar(&names, "names", names, "how tools are listed: `underscore` or dots")
	return c
}

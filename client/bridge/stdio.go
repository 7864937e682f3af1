package bridge

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/internal/cli"
)

// stdioOptions are the flags of stdio.
type stdioOptions struct {
	*command.IO
	endpointOptions
	failure func(error) *cli.Failure

	names string // how tools are listed
	url   string // of another service, "" for the configured one
}

// newStdio makes the command that is a bridge.
func newStdio(f *command.Factory) *cobra.Command {
	o := &stdioOptions{IO: f.IO, endpointOptions: endpointOf(f), failure: f.Failure}
	c := f.Command(&cobra.Command{
		Use: "stdio", Short: "Serve MCP on stdin and stdout, for clients on this machine",
		Long: "Serve MCP on stdin and stdout, for clients on this machine. Messages go to the service with the key of the\n" +
			"profile, or are paid from the wallet within its bounds (--pay). If the service restarts, ctx opens a new session\n" +
			"without the client noticing. Tools are listed as context_fresh and so on, because some clients refuse dots.\n\n" +
			"With --url, bridge any MCP server that is paid by x402, version 2, over HTTP or in tool results. No key is sent\n" +
			"there. A call costs the server's price, up to --max-amount or the bound per call.",
		Example: "  ctx mcp config --client claude    what to put into Claude's settings\n  ctx mcp stdio --profile agent\n" +
			"  ctx mcp stdio --url https://api.example.com/mcp --pay --max-amount 0.01",
	}, nil, func(ctx context.Context, _ []string) error { return o.run(ctx) })
	c.Flags().StringVar(&o.url, "url", "", "bridge the MCP server at this `address`, of any service; with --pay it is paid by x402")
	c.Flags().StringVar(&o.names, "names", "underscore", "how tools are listed: `underscore` or dots")
	cli.CompleteValues(c, "names", "underscore", "dots")
	return c
}

// run passes messages between stdin and the service until the client leaves.
func (o *stdioOptions) run(ctx context.Context) error {
	names := o.names
	switch names {
	case "underscore":
	case "dots":
		names = ""
	default:
		return cli.Invalid("--names is %q, not underscore or dots", names)
	}
	connect := func() (*endpoint, error) { return o.endpoint(names) }
	if o.url != "" {
		connect = func() (*endpoint, error) { return o.foreign(o.url) }
	}
	e, err := connect()
	if err != nil {
		return err
	}
	r := newRelay(o.IO, o.failure, e)
	e.waits = func(d time.Duration) { r.note("the service cannot be reached; trying again in %s", d) }
	return r.run(ctx, o.In)
}

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
}

// newStdio makes the command that is a bridge.
func newStdio(f *command.Factory) *cobra.Command {
	o := &stdioOptions{IO: f.IO, endpointOptions: endpointOf(f), failure: f.Failure}
	c := f.Command(&cobra.Command{
		Use: "stdio", Short: "Be an MCP server on stdin and stdout, for clients on this machine",
		Long: "Be an MCP server on stdin and stdout, for clients on this machine. What a client says is passed on to the service with " +
			"the key of\n" +
			"the profile, or paid from the wallet within its bounds (--pay). A session that has ended, because the service was started\n" +
			"again, is opened anew without the client's noticing. Tools are listed as context_fresh and so on: some clients refuse dots.",
		Example: "  ctx mcp config --client claude    what to put into Claude's settings\n  ctx mcp stdio --profile agent",
	}, nil, func(ctx context.Context, _ []string) error { return o.run(ctx) })
	c.Flags().StringVar(&o.names, "names", "underscore", "how tools are listed: `underscore` or dots")
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
	e, err := o.endpoint(names)
	if err != nil {
		return err
	}
	r := newRelay(o.IO, o.failure, e)
	e.waits = func(d time.Duration) { r.note("the service cannot be reached; trying again in %s", d) }
	return r.run(ctx, o.In)
}

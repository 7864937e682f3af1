package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/bridge"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
)

func mcpCommand(f *factory) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "mcp", Short: "Connect agents by the Model Context Protocol",
		Example: "  ctx mcp install claude-code                 put it into Claude's settings\n" +
			"  ctx mcp tools                               what an agent gets to see\n" +
			"  ctx mcp call search q=bitcoin k=3           call a tool as an agent does",
	}, newStdio(f), newTools(f), newCall(f), newMCPConfig(f), newMCPInstall(f))
}

// endpoint makes the endpoint of the configured service. names is how tools are listed, "" as the service does.
func (f *factory) endpoint(names string) (*bridge.Endpoint, error) {
	c, err := f.Config()
	if err != nil {
		return nil, err
	}
	client, err := f.Client() // checks the address and the key
	if err != nil {
		return nil, err
	}
	cfg := bridge.Config{Service: client.BaseURL(), Names: names, Key: client.Key(), Timeout: c.Timeout(), HTTP: f.HTTP(),
		Payer: f.Payments.caller(), Check: f.Logs.Check}
	return bridge.New(cfg), nil
}

// foreignEndpoint makes the endpoint of an MCP server of somebody else.
func (f *factory) foreignEndpoint(address string) (*bridge.Endpoint, error) {
	c, err := f.Config()
	if err != nil {
		return nil, err
	}
	return bridge.NewForeign(bridge.Config{Service: address, Timeout: c.Timeout(), HTTP: f.HTTP(), Payer: f.Payments.caller()})
}

func newTools(f *factory) *cobra.Command {
	return f.Command(&cobra.Command{Use: "tools", Aliases: []string{"list", "ls"}, Short: "List the tools that agents see",
		Example: "  ctx mcp tools\n  ctx mcp tools --jq '.[].name'"},
		[]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"},
		toolsOptions{f}.run)
}

// toolsOptions are those of tools, which has no flags.
type toolsOptions struct{ *factory }

func (o toolsOptions) run(ctx context.Context, _ []string) error {
	e, err := o.endpoint("")
	if err != nil {
		return err
	}
	tools, err := e.Tools(ctx)
	if err != nil {
		return err
	}
	table := &cli.Rows{Columns: []string{"name", "description"}, Wide: 1}
	for _, text := range tools {
		var t struct{ Name, Description string }
		if err := json.Unmarshal(text, &t); err != nil {
			return fmt.Errorf("read tool: %w", err)
		}
		table.Rows = append(table.Rows, []string{t.Name, t.Description})
	}
	doc, err := cli.Marshal(tools)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: table})
}

type callOptions struct {
	*factory

	tool      string
	arguments map[string]string
}

func newCall(f *factory) *cobra.Command {
	o := &callOptions{factory: f}
	return f.Command(&cobra.Command{
		Use: "call TOOL [NAME=VALUE...]", Short: "Call a tool as an agent does", Args: cobra.MinimumNArgs(1),
		Long: "Call a tool as an agent does. On a terminal, show the text for the model; elsewhere, the structured content.\n" +
			"search is short for context.search. A call costs the same as over HTTP; with --pay, the wallet pays for it.",
		Example: "  ctx mcp call brief\n  ctx mcp call search q=bitcoin k=3 --jq '.matches[].path'\n  ctx mcp call cite ref=3 --pay",
	}, []string{cli.OpenFields}, func(ctx context.Context, args []string) error {
		o.tool, o.arguments = args[0], map[string]string{}
		for _, arg := range args[1:] {
			name, value, ok := strings.Cut(arg, "=")
			if !ok || name == "" {
				return cli.Invalid("%q is not NAME=VALUE", arg)
			}
			o.arguments[name] = value
		}
		return o.run(ctx)
	})
}

// run calls a tool and shows its answer.
func (o *callOptions) run(ctx context.Context) error {
	e, err := o.endpoint("")
	if err != nil {
		return err
	}
	name := o.tool
	if !strings.ContainsAny(name, "._") {
		name = "context." + name
	}
	answer, err := e.Call(ctx, name, o.arguments)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: answer.Structured, Piped: cli.JSON, Text: func(w io.Writer, _ int, _ cli.Style) error {
		_, err := fmt.Fprintln(w, human.Text(strings.TrimRight(answer.Text, "\n")))
		return err
	}})
}

type stdioOptions struct {
	*factory

	names string // how tools are listed
	url   string // of another service, "" for the configured one
}

func newStdio(f *factory) *cobra.Command {
	o := &stdioOptions{factory: f}
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
	connect := func() (*bridge.Endpoint, error) { return o.endpoint(names) }
	if o.url != "" {
		connect = func() (*bridge.Endpoint, error) { return o.foreignEndpoint(o.url) }
	}
	e, err := connect()
	if err != nil {
		return err
	}
	return bridge.Serve(ctx, e, bridge.Program{In: o.In, Out: o.Out, Note: o.Note, Failure: o.Failure})
}

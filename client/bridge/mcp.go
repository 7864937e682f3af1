// Package bridge is ctx mcp: it brings a service and the programs of this machine that speak MCP together, by stdin and stdout or by the
// configuration of such a program, and calls tools for scripts.
package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Commands are the commands for agents that speak MCP.
func Commands(f *command.Factory) []*cobra.Command {
	return []*cobra.Command{cli.Group(&cobra.Command{
		Use: "mcp", Short: "Connect agents by the Model Context Protocol",
		Example: "  ctx mcp config --client claude              what to put into Claude's settings\n" +
			"  ctx mcp tools                               what an agent gets to see\n" +
			"  ctx mcp call search q=bitcoin k=3           call a tool as an agent does",
	}, newStdio(f), newTools(f), newCall(f), newMCPConfig(f))}
}

// newTools makes the command that lists the tools.
func newTools(f *command.Factory) *cobra.Command {
	return f.Command(&cobra.Command{Use: "tools", Aliases: []string{"list", "ls"}, Short: "List the tools that agents see",
		Example: "  ctx mcp tools\n  ctx mcp tools --jq '.[].name'"},
		[]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"},
		toolsOptions{f.IO, endpointOf(f)}.run)
}

// toolsOptions are those of tools, which has no flags.
type toolsOptions struct {
	*command.IO
	endpointOptions
}

// run lists the tools.
func (o toolsOptions) run(ctx context.Context, _ []string) error {
	e, err := o.endpoint("")
	if err != nil {
		return err
	}
	raw, err := e.ask(ctx, "tools/list", struct{}{})
	if err != nil {
		return err
	}
	var result struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &result); err != nil {
		return fmt.Errorf("read tools: %w", err)
	}
	table := &cli.Rows{Columns: []string{"name", "description"}, Wide: 1}
	for _, text := range result.Tools {
		var t struct{ Name, Description string }
		if err := json.Unmarshal(text, &t); err != nil {
			return fmt.Errorf("read tool: %w", err)
		}
		table.Rows = append(table.Rows, []string{t.Name, t.Description})
	}
	doc, err := cli.Marshal(result.Tools)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: table})
}

// callOptions are what call is given.
type callOptions struct {
	*command.IO
	endpointOptions

	tool      string
	arguments map[string]string
}

// newCall makes the command that calls a tool.
func newCall(f *command.Factory) *cobra.Command {
	o := &callOptions{IO: f.IO, endpointOptions: endpointOf(f)}
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

// toolResult is the result of a call of a tool.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
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
	if isSubscribe(name) { // which takes as long as it is asked to
		e.timeout += time.Minute
	}
	raw, err := e.ask(ctx, methodCall, map[string]any{"name": name, "arguments": o.arguments})
	if err != nil {
		return err
	}
	var result toolResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return fmt.Errorf("read the answer of %s: %w", name, err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		text.WriteString(c.Text)
	}
	if result.IsError {
		return refusal(text.String())
	}
	return o.Print(ctx, cli.Answer{JSON: result.StructuredContent, Piped: cli.JSON, Text: func(w io.Writer, _ int, _ cli.Style) error {
		_, err := fmt.Fprintln(w, human.Text(strings.TrimRight(text.String(), "\n")))
		return err
	}})
}

// refusal is the error in the text of a result.
func refusal(text string) error {
	var body struct {
		Error *struct {
			api.Error
			RetryAfter int `json:"retryAfter"`
		}
		Payment *api.PaymentRequirements
	}
	if json.Unmarshal([]byte(text), &body) != nil || body.Error == nil || body.Error.Code == "" {
		return fmt.Errorf("the tool failed: %s", text)
	}
	e := body.Error.Error
	_, e.Status = e.Reason.Answer()
	e.RetryAfter, e.Payment = time.Duration(body.Error.RetryAfter)*time.Second, body.Payment
	return &e
}

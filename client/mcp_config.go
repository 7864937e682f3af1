package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// place says where a client keeps its configuration, and under which name servers stand there.
type place struct{ servers, file string }

// places are those of the clients that config knows.
func places() map[string]place {
	return map[string]place{
		"claude": {"mcpServers", "claude_desktop_config.json (Settings, Developer, Edit Config), or .mcp.json in a project of Claude Code"},
		"cursor": {"mcpServers", "~/.cursor/mcp.json, or .cursor/mcp.json in a project"},
		"vscode": {"servers", ".vscode/mcp.json in a project, or MCP: Open User Configuration"},
	}
}

// mcpConfigOptions are the flags of config, below mcp.
type mcpConfigOptions struct {
	*factory

	program string // whose settings they are
	remote  bool   // it calls the service itself
}

// newMCPConfig makes the command that prints the configuration of a client.
func newMCPConfig(f *factory) *cobra.Command {
	o := &mcpConfigOptions{factory: f}
	c := f.Command(&cobra.Command{
		Use: "config", Short: "Print the settings for an MCP client",
		Long: "Print the URL that a client takes as a connector, and settings for clients that take none. With these, the client\n" +
			"runs ctx mcp stdio with the profile in use, which has the key. With --http, it calls the service itself, with a key\n" +
			"from the environment. No key is printed.",
		Example: "  ctx mcp config --client claude\n  ctx mcp config --client cursor --http\n" +
			"  ctx mcp config --client vscode --profile agent > .vscode/mcp.json",
	}, []string{"mcpServers", "servers", "inputs"}, func(ctx context.Context, _ []string) error { return o.run(ctx) })
	c.Flags().StringVar(&o.program, "client", "claude", "`program`: claude, cursor or vscode")
	cli.CompleteValues(c, "client", "claude", "cursor", "vscode")
	c.Flags().BoolVar(&o.remote, "http", false, "call the service over HTTP, without ctx")
	return c
}

func (o *mcpConfigOptions) run(ctx context.Context) error {
	at, ok := places()[o.program]
	if !ok {
		return cli.Invalid("--client is %q, not claude, cursor or vscode", o.program)
	}
	server, err := o.bridged()
	if o.remote {
		server, err = o.called()
	}
	if err != nil {
		return err
	}
	snippet := map[string]any{at.servers: map[string]any{"context": server}}
	if o.remote && o.program == "vscode" {
		ask := map[string]any{"type": "promptString", "id": "ctx-key",
			"description": "API key of the context service", "password": true}
		snippet["inputs"] = []any{ask}
	}
	doc, err := cli.Marshal(snippet)
	if err != nil {
		return err
	}
	c, err := o.Config()
	if err != nil {
		return err
	}
	if base := strings.TrimSuffix(c.Get(config.BaseURL).Text, "/"); base != "" {
		o.Note("paste %s as a connector: the client signs in, where the service has that switched on", base+api.PathMCPAccount)
	}
	if !o.remote && !o.Payments.On() {
		if err := o.keyKept(); err != nil {
			return err
		}
	}
	o.Note("else for %s", at.file)
	return o.Print(ctx, cli.Answer{JSON: doc, Piped: cli.Text, Text: func(w io.Writer, _ int, _ cli.Style) error {
		var b bytes.Buffer
		if err := json.Indent(&b, doc, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, human.Text(b.String()))
		return err
	}})
}

// keyKept refuses where a client that runs ctx would have no key: of the environment of a shell it has nothing.
func (o *mcpConfigOptions) keyKept() error {
	key, origin, err := o.Key()
	switch {
	case err != nil: // which ctx mcp stdio says
	case key.IsZero():
		o.Note("there is no key yet: ctx login --email ADDRESS, then ctx keys create NAME --save")
	case strings.HasPrefix(origin, "environment"):
		return &cli.Failure{Exit: cli.ExitAuth, Reason: "key_not_kept",
			Err:  fmt.Errorf("the key is only in %s, which the client does not pass on", sdk.EnvAPIKey),
			Hint: "ctx mcp install CLIENT saves the key and writes the settings; --http prints settings that name the variable"}
	}
	return nil
}

func (o *mcpConfigOptions) bridged() (map[string]any, error) {
	program, err := os.Executable() // programs with windows have no PATH to speak of
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	args := []string{"mcp", "stdio"}
	c, err := o.Config()
	if err != nil {
		return nil, err
	}
	if p := c.Profile(); p != "" && p != config.DefaultProfile {
		args = append(args, "--profile", p)
	}
	base := c.Get(config.BaseURL)
	if strings.HasPrefix(base.Origin, "option") || strings.HasPrefix(base.Origin, "environment") { // else the profile has it
		args = append(args, "--base-url", base.Text)
	}
	if o.Payments.On() {
		args = append(args, "--pay")
	}
	server := map[string]any{"command": program, "args": args}
	if o.program == "vscode" {
		server["type"] = "stdio"
	}
	return server, nil
}

func (o *mcpConfigOptions) called() (map[string]any, error) {
	e, err := o.endpoint("underscore")
	if err != nil {
		return nil, err
	}
	keys := map[string]string{"claude": "${" + sdk.EnvAPIKey + "}", "cursor": "${env:" + sdk.EnvAPIKey + "}", "vscode": "${input:ctx-key}"}
	server := map[string]any{"url": e.URL(), "headers": map[string]string{"Authorization": "Bearer " + keys[o.program]}}
	if o.program != "cursor" {
		server["type"] = "http"
	}
	return server, nil
}

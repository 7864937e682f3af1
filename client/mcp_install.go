package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// mcpClient is a program that runs MCP servers, and where its user's settings are.
type mcpClient struct {
	name, title string
	path        func(home, configs string) string // configs: where programs keep theirs, but on macOS
	servers     string                            // member or table that has them
	url         string                            // member of an entry that has the address; "" where none is taken
	typed       bool                              // an entry says stdio or http
	next        string                            // what the user does then
}

// mcpClients are those that are known, as their makers document them in November 2026.
func mcpClients() []mcpClient {
	application := func(path string) func(home, configs string) string {
		return func(home, configs string) string {
			if runtime.GOOS == "darwin" {
				configs = filepath.Join(home, "Library", "Application Support")
			}
			return filepath.Join(configs, path)
		}
	}
	under := func(path string) func(home, configs string) string {
		return func(home, _ string) string { return filepath.Join(home, path) }
	}
	return []mcpClient{
		{"claude-code", "Claude Code", under(".claude.json"), "mcpServers", "url", true, "start claude; /mcp lists its servers"},
		{"claude-desktop", "Claude Desktop", application("Claude/claude_desktop_config.json"),
			"mcpServers", "", false, "quit Claude and start it again"},
		{"codex", "Codex", under(".codex/config.toml"), "mcp_servers", "url", false, "start codex; /mcp lists its servers"},
		{"cursor", "Cursor", under(".cursor/mcp.json"), "mcpServers", "url", false, "look in Cursor's settings under MCP"},
		{"gemini", "Gemini CLI", under(".gemini/settings.json"), "mcpServers", "httpUrl", false, "start gemini; /mcp lists its servers"},
		{"vscode", "VS Code", application("Code/User/mcp.json"), "servers", "url", true,
			"run MCP: List Servers in VS Code"},
		{"zed", "Zed", func(_, configs string) string { return filepath.Join(configs, "zed/settings.json") },
			"context_servers", "url", false,
			"look in Zed's agent panel under its settings"},
	}
}

func mcpClientNames() (names []string) {
	for _, c := range mcpClients() {
		names = append(names, c.name)
	}
	return names
}

// installedAs is the name of the server in the settings of a client.
const installedAs = "context"

// mcpInstallOptions are those of install, below mcp.
type mcpInstallOptions struct {
	*mcpConfigOptions

	of     mcpClient
	file   string
	remove bool
	dry    bool
}

// newMCPInstall makes the command that writes the configuration of a client.
func newMCPInstall(f *factory) *cobra.Command {
	o := &mcpInstallOptions{mcpConfigOptions: &mcpConfigOptions{factory: f}}
	c := f.Command(&cobra.Command{
		Use: "install CLIENT", Short: "Put this service into the settings of an MCP client", Args: cobra.ExactArgs(1),
		ValidArgs: mcpClientNames(),
		Long: "Put this service into the user's settings of an MCP client: " + strings.Join(mcpClientNames(), ", ") + ".\n\n" +
			"A key that is only in CTX_API_KEY is saved where ctx keeps keys: no key comes into the settings or a command line.\n" +
			"All else in the file stays as it is; a copy of it is kept beside it, with .before-ctx at the end. ctx then starts\n" +
			"what it has written, as the client will, and asks for the tools. Run again, it changes nothing.\n\n" +
			"With --http, the settings get the URL, and the client signs in at the service by itself; no key is needed.",
		Example: "  ctx mcp install claude-code\n  ctx mcp install codex --dry-run\n  ctx mcp install zed --remove\n" +
			"  ctx mcp install gemini --http",
	}, nil, func(ctx context.Context, args []string) error {
		i := slices.Index(mcpClientNames(), args[0])
		if i < 0 {
			return cli.Invalid("%q is none of %s", args[0], strings.Join(mcpClientNames(), ", "))
		}
		o.of, o.program = mcpClients()[i], args[0]
		return o.run(ctx)
	})
	c.Flags().BoolVar(&o.remote, "http", false, "write the URL, at which the client signs in by itself")
	c.Flags().BoolVar(&o.remove, "remove", false, "take the service out of the settings")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "show what would change, and change nothing")
	c.Flags().StringVar(&o.file, "file", "", "the settings `file`, in place of the user's own")
	return c
}

func (o *mcpInstallOptions) run(ctx context.Context) error {
	path, old, err := o.settings()
	if err != nil {
		return err
	}
	var entry map[string]any
	if !o.remove {
		if entry, err = o.entry(); err != nil {
			return err
		}
	}
	fresh, err := o.edited(old, entry)
	if err != nil {
		return cli.Invalid("%s: %w", path, err).WithHint("ctx mcp config prints what to put there by hand")
	}
	if o.dry {
		fmt.Fprintf(o.Out, "--- %s\n+++ %s\n%s", path, path, lineDiff(string(old), string(fresh)))
		return nil
	}
	if !o.remove && !o.remote {
		if err := o.keepKey(); err != nil {
			return err
		}
	}
	if err := o.replace(path, old, fresh); err != nil {
		return err
	}
	switch {
	case o.remove:
		return nil
	case o.remote:
		o.Note("next: %s, and sign in when it asks", o.of.next)
		return nil
	}
	tools, err := o.handshake(ctx, entry)
	if err != nil {
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "handshake_failed",
			Err:  fmt.Errorf("the settings are written, and what they start does not answer: %w", err),
			Hint: "ctx doctor; ctx mcp install " + o.of.name + " --remove takes them out again"}
	}
	o.Note("started as %s will: %s", o.of.title, human.Plural(tools, "tool"))
	o.Note("next: %s", o.of.next)
	return nil
}

// settings are the file of the client, behind links, and what is in it.
func (o *mcpInstallOptions) settings() (path string, text []byte, err error) {
	if path = o.file; path == "" {
		home := o.Env("HOME")
		if home == "" {
			return "", nil, cli.Invalid("there is no HOME to look for the settings of %s in", o.of.title).WithHint("--file PATH")
		}
		configs := filepath.Join(home, ".config")
		if dir := o.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			configs = dir
		}
		path = o.of.path(home, configs)
		if dir := o.Env("CODEX_HOME"); dir != "" && o.of.name == "codex" {
			path = filepath.Join(dir, "config.toml")
		}
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	text, err = os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	return path, text, err
}

// entry is what stands for the service in the settings.
func (o *mcpInstallOptions) entry() (map[string]any, error) {
	if !o.remote {
		entry, err := o.bridged()
		if err != nil {
			return nil, err
		}
		if delete(entry, "type"); o.of.typed {
			entry["type"] = "stdio"
		}
		env := map[string]string{} // a client has none of the shell's
		for _, name := range []string{"CTX_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "CTX_SECRET_STORE"} {
			if value := o.Env(name); value != "" {
				env[name] = value
			}
		}
		if len(env) > 0 {
			entry["env"] = env
		}
		return entry, nil
	}
	if o.of.url == "" {
		return nil, cli.Invalid("%s takes no URL in this file", o.of.title).WithHint("add it there as a connector, or leave --http out")
	}
	c, err := o.Config()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(c.Get(config.BaseURL).Text)
	if err != nil || base.Host == "" {
		return nil, cli.Invalid("%q is no address of a service", c.Get(config.BaseURL).Text)
	}
	entry := map[string]any{o.of.url: base.JoinPath(api.PathMCPAccount).String()}
	if o.of.typed {
		entry["type"] = "http"
	}
	return entry, nil
}

// edited is text with entry for the service in it, or without the service for nil.
func (o *mcpInstallOptions) edited(text []byte, entry map[string]any) ([]byte, error) {
	if o.of.name != "codex" {
		var value json.RawMessage
		if entry != nil {
			var err error
			if value, err = cli.Marshal(entry); err != nil {
				return nil, err
			}
		}
		return setMember(text, o.of.servers, installedAs, value)
	}
	if entry == nil {
		return setTable(text, o.of.servers, installedAs, nil)
	}
	var lines []string
	for _, name := range []string{"command", "args", "url"} {
		if value, ok := entry[name]; ok {
			plain, err := cli.Marshal(value) // strings and lists of strings are the same in TOML
			if err != nil {
				return nil, err
			}
			lines = append(lines, name+" = "+string(plain))
		}
	}
	if env, ok := entry["env"].(map[string]string); ok {
		var pairs []string
		for name, value := range env {
			plain, err := cli.Marshal(value)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, name+" = "+string(plain))
		}
		slices.Sort(pairs)
		lines = append(lines, "env = { "+strings.Join(pairs, ", ")+" }")
	}
	return setTable(text, o.of.servers, installedAs, lines)
}

// keepKey saves a key that is only in the environment, which the client does not pass on.
func (o *mcpInstallOptions) keepKey() error {
	key, origin, err := o.Key()
	switch {
	case err != nil:
		return err
	case key.IsZero() && !o.Payments.On():
		return &cli.Failure{Exit: cli.ExitAuth, Reason: "missing_key", Err: errors.New("there is no key that the client could use"),
			Hint: "ctx login --email ADDRESS, then ctx keys create NAME --save; or --http, by which the client signs in itself"}
	case !strings.HasPrefix(origin, "environment") || o.Env(sdk.EnvAPIKey) == "":
		return nil
	}
	where, err := o.Account.Store(func(c *config.Credential) { c.Key = key })
	if err != nil {
		return err
	}
	o.Note("the key of %s is now in %s, which only you can read", sdk.EnvAPIKey, where)
	return nil
}

// replace writes fresh to path, with a copy of what was there beside it.
func (o *mcpInstallOptions) replace(path string, old, fresh []byte) error {
	if bytes.Equal(old, fresh) {
		o.Note("%s is right already", path)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if old != nil {
		if err := atomicfile.Write(path+".before-ctx", old, 0o600); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(path, fresh, 0o600); err != nil {
		return err
	}
	o.Note("wrote %s", path)
	return nil
}

// handshakeTime bounds the test of what was written.
const handshakeTime = 30 * time.Second

// handshake starts what entry says with little of the environment, as a client does, and returns how many tools it lists.
func (o *mcpInstallOptions) handshake(ctx context.Context, entry map[string]any) (tools int, err error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	program, _ := entry["command"].(string)
	args, _ := entry["args"].([]string)
	c := exec.CommandContext(ctx, program, args...)
	for _, name := range []string{"HOME", "PATH", "USER", "LANG", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "USERPROFILE", "APPDATA",
		"SystemRoot"} {
		if value, ok := o.LookupEnv(name); ok {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	env, _ := entry["env"].(map[string]string)
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	var said bytes.Buffer
	c.Stderr = &said
	in, err := c.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	tools, err = askTools(in, out)
	_ = in.Close() // by which it ends
	if ended := c.Wait(); err != nil {
		if words := human.Line(strings.TrimSpace(said.String())); words != "" {
			err = fmt.Errorf("%w: %s", err, words)
		} else if ended != nil {
			err = fmt.Errorf("%w: %w", err, ended)
		}
	}
	return tools, err
}

// askTools shakes hands with the server behind two pipes and counts its tools.
func askTools(in io.Writer, out io.Reader) (int, error) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	var answer struct {
		ID     int
		Error  *struct{ Message string }
		Result struct{ Tools []json.RawMessage }
	}
	for id, ask := range []string{
		`"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"ctx mcp install","version":"1"}}`,
		`"tools/list"`,
	} {
		if id > 0 {
			if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
				return 0, err
			}
		}
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%s}`+"\n", id+1, ask); err != nil {
			return 0, err
		}
		for answer.ID = 0; answer.ID != id+1; {
			if !lines.Scan() {
				return 0, errors.Join(errors.New("it ended without an answer"), lines.Err())
			}
			if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
				return 0, fmt.Errorf("it says what is no message: %w", err)
			}
		}
		if answer.Error != nil {
			return 0, errors.New(answer.Error.Message)
		}
	}
	if len(answer.Result.Tools) == 0 {
		return 0, errors.New("it lists no tools")
	}
	return len(answer.Result.Tools), nil
}

// lineDiff is what is different between two texts, by lines: what is before and behind the part that changes is left out.
func lineDiff(old, fresh string) string {
	a, b := slices.Collect(strings.Lines(old)), slices.Collect(strings.Lines(fresh))
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	write := func(sign string, lines []string) {
		for _, line := range lines {
			out.WriteString(sign + human.Line(strings.TrimRight(line, "\r\n")) + "\n")
		}
	}
	write("-", a[head:len(a)-tail])
	write("+", b[head:len(b)-tail])
	return out.String()
}

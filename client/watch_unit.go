package client

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/sdk"
)

// printUnit prints a unit of systemd that runs c as it was called, for good.
func (o *watchOptions) printUnit(c *cobra.Command) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find this directory: %w", err)
	}
	line := []string{program, "watch"}
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "unit" {
			return
		}
		values := []string{f.Value.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		for _, value := range values {
			line = append(line, "--"+f.Name+"="+value)
		}
	})
	for i, word := range line {
		line[i] = unitQuote(word)
	}
	var environment strings.Builder
	names := []string{"CTX_CONFIG", "CTX_CONFIG_DIR"}
	for _, s := range config.Settings() {
		names = append(names, s.Env)
	}
	for _, name := range names {
		if value := o.Env(name); value != "" {
			fmt.Fprintf(&environment, "Environment=%s\n", strings.ReplaceAll(unitQuote(name+"="+value), "$$", "$"))
		}
	}
	if o.Env(sdk.EnvAPIKey) != "" {
		environment.WriteString("# The key is in the environment here, not in this unit's: add --api-key-file, or see ctx keys use.\n")
	}
	_, err = fmt.Fprintf(o.Out, `# For one user: into ~/.config/systemd/user, then systemctl --user enable --now NAME.service,
# and loginctl enable-linger to have it run without a session.
[Unit]
Description=ctx watch
StartLimitIntervalSec=0

[Service]
ExecStart=%s
WorkingDirectory=%s
%sRestart=on-failure
RestartSec=10
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`, strings.Join(line, " "), strings.ReplaceAll(dir, "%", "%%"), environment.String())
	return err
}

func unitQuote(word string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`).Replace(word)
	if strings.ContainsAny(word, " \t\n\"'\\;|&<>()*?[]{}#~`") || word == "" {
		return `"` + escaped + `"`
	}
	return escaped
}

package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// newVersion makes the command that tells the build.
func newVersion(a *App) *cobra.Command {
	return a.Command(&cobra.Command{Use: "version", Short: "Show the version of ctx"},
		[]string{"version", "commit", "date", "go", "platform", "api"}, func(ctx context.Context, _ []string) error {
			info := struct {
				build.Info
				API string `json:"api"`
			}{build.Read(), api.Version}
			doc, err := cli.Marshal(info)
			if err != nil {
				return err
			}
			return a.Print(ctx, cli.Answer{JSON: doc, Piped: cli.Text, Text: func(w io.Writer, _ int, _ cli.Style) error {
				commit := ""
				if info.Commit != "" {
					commit = " " + info.Commit[:min(len(info.Commit), 12)]
				}
				_, err := fmt.Fprintf(w, "ctx %s%s (%s, %s, API %s)\n", info.Version, commit, info.Go, info.Platform, info.API)
				return err
			}})
		})
}

// newCompletion makes the command that writes completion scripts. Those in the repository are made with --out.
func newCompletion() *cobra.Command {
	var out string
	c := lenient(&cobra.Command{Use: "completion SHELL", Short: "Write the completion script of a shell: bash, zsh, fish or powershell",
		Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Long:    "Write the completion script of a shell. It completes commands, flags, profiles and settings, and calls no service.",
		Example: "  source <(ctx completion bash)\n  ctx completion zsh > \"${fpath[1]}/_ctx\"\n  ctx completion fish > ~/.config/fish/completions/ctx.fish",
	}, func(c *cobra.Command, args []string) (err error) {
		w := c.OutOrStdout()
		if out != "" {
			f, err := os.Create(filepath.Clean(out))
			if err != nil {
				return Invalid("--out: %w", err)
			}
			if err := script(c.Root(), args[0], f); err != nil {
				return err
			}
			return f.Close()
		}
		return script(c.Root(), args[0], w)
	})
	c.Flags().StringVar(&out, "out", "", "write to `file` instead of stdout")
	return c
}

// script writes the completion script of a shell.
func script(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	}
	return root.GenPowerShellCompletionWithDesc(w)
}

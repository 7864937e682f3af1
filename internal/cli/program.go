package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/sdk/api"
)

// Version is the build of a program.
type Version struct {
	build.Info
	API string `json:"api"`
}

// ReadVersion is the build of the program that asks, and how people read it.
func ReadVersion(program string) (Version, Answer) {
	v := Version{build.Read(), api.Version}
	return v, Answer{Piped: Text, Text: func(w io.Writer, _ int, _ Style) error {
		_, err := fmt.Fprintf(w, "%s\n%s\n", versionLine(program, v.Info), licences)
		return err
	}}
}

// licences is what a program comes under.
const licences = "Apache-2.0; parts under LGPL-3.0 (go-ethereum) and MPL-2.0: see NOTICES beside the program"

func versionLine(program string, b build.Info) string {
	commit := ""
	if b.Commit != "" {
		commit = " " + b.Commit[:min(len(b.Commit), 12)]
	}
	return fmt.Sprintf("%s %s%s (%s, %s, API %s)", program, b.Version, commit, b.Go, b.Platform, api.Version)
}

// NewCompletion makes the command of a program that writes completion scripts. Those in the repository are made with --out.
func NewCompletion(program string) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "completion SHELL", Short: "Write the completion script for a shell",
		Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Example: fmt.Sprintf("  source <(%[1]s completion bash)\n  %[1]s completion zsh > \"${fpath[1]}/_%[1]s\"\n"+
			"  %[1]s completion fish > ~/.config/fish/completions/%[1]s.fish", program),
	}
	c.Flags().StringVar(&out, "out", "", "write to `file` instead of stdout")
	c.RunE = func(c *cobra.Command, args []string) error {
		if out == "" {
			return script(c.Root(), args[0], c.OutOrStdout())
		}
		var text bytes.Buffer
		if err := script(c.Root(), args[0], &text); err != nil {
			return err
		}
		if err := atomicfile.Write(out, text.Bytes(), 0o644); err != nil {
			return Invalid("--out: %w", err)
		}
		return nil
	}
	return c
}

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

// NewManual makes the command of a program that writes the manual pages.
func NewManual(program string) *cobra.Command {
	c := &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory", Args: cobra.ExactArgs(1),
		Hidden: true, // packages alone use it
		Long: "Write a manual page for every command (section 1) and every topic of the handbook (section 7) into a directory.\n" +
			"$SOURCE_DATE_EPOCH sets their date, which is today otherwise.",
		Example: "  " + program + " man man && sudo install -m 0644 -Dt /usr/local/share/man/man1 man/*.1 &&\n" +
			"    sudo install -m 0644 -Dt /usr/local/share/man/man7 man/*.7",
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := writeManual(c.Root(), args[0]); err != nil {
			return Invalid("write manual pages: %w", err)
		}
		return nil
	}
	return c
}

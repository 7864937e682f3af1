// Command contextd is the daemon of a self-hosted continuous-context service for AI agents. It keeps the packs fresh, writes
// their briefs and serves both; see README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/internal/build"
	shared "github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

//go:generate go run . completion bash --out ../../completions/contextd.bash
//go:generate go run . completion zsh --out ../../completions/contextd.zsh
//go:generate go run . completion fish --out ../../completions/contextd.fish
//go:generate go run . completion powershell --out ../../completions/contextd.ps1

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := newRoot(os.Stdout, os.Stderr)
	root.SetArgs(os.Args[1:])
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, explain(err))
		os.Exit(exitCode(err))
	}
}

// newRoot makes the command tree, which writes data to out and everything else to errOut.
func newRoot(out, errOut io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "contextd",
		Short: "Continuous context for AI agents, self-hosted",
		Long: "contextd keeps data packs fresh, compacts them into one structured state each, writes a cited brief\n" +
			"and serves both to agents over HTTP.",
		Example:       "  contextd demo\n  contextd serve --data-dir /var/lib/contextd\n  contextd keys create my-agent",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(out)
	root.SetErr(errOut)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usage("%w\n  try: %s --help", err, c.CommandPath())
	})
	s := newSettings(root.PersistentFlags())
	AddGroup(root, newServe(s), newReload(s), newDemo(s), NewKeys(s.operate), newBrief(s), NewDeposits(s.operate), NewReconcile(s.operate), NewAdmin(s.operate), NewJobs(s.operate),
		NewInit(), newCheckConfig(s), NewConfig(), newDoctor(s), newHealthcheck(s), newMonitoring(), New(), newOpenAPI(), newVersion(), newCompletion(), newMan())
	AddGroup(root, NewBackup(s.data), NewRestore(s.data), NewDB(s.data))
	shared.AddTopics(root)
	root.SetUsageTemplate(strings.NewReplacer("Additional help topics:", "Topics, shown by contextd help TOPIC:",
		"{{rpad .CommandPath .CommandPathPadding}}", "{{rpad .Name .NamePadding}}").Replace(root.UsageTemplate()))
	return root
}

// Exit codes, the same as those of ctx where both have one.
const (
	exitFailure = 1
	exitUsage   = 3
	exitAbsent  = 7
)

// exitCode is the exit code for err.
func exitCode(err error) int {
	var refused *api.Error
	switch {
	case errors.As(err, new(UsageError)):
		return exitUsage
	case errors.As(err, &refused) && refused.Status == 404:
		return exitAbsent
	case errors.As(err, &refused) && refused.Status == 400:
		return exitUsage
	}
	return exitFailure
}

// explain is what a person reads of err: what, and what to do next.
func explain(err error) string {
	text := "contextd: " + err.Error()
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && refused.Hint != "":
		text += "\n  try: " + refused.Hint
	case errors.Is(err, datadir.ErrLocked):
		text += "\n  try: stop the other process, or give this one its own --data-dir"
	case errors.Is(err, syscall.EADDRINUSE):
		text += "\n  try: another address, for example 127.0.0.1:0, with --listen, --admin-listen or --chain-listen"
	}
	return text
}

// newVersion makes the command that says what this is.
func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b := build.Read()
			_, err := fmt.Fprintf(c.OutOrStdout(), "contextd %s\ncommit   %s\ndate     %s\ngo       %s\nplatform %s\napi      %s\n",
				b.Version, b.Commit, b.Date, b.Go, b.Platform, api.Version)
			return err
		},
	}
}

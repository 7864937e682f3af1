// Package client is the program ctx: its command tree, its help and what becomes of an error.
//
// It owns Main and nothing that a command does: commands are in data (which ask the service) and local (which are about ctx
// itself), what they share is in app. The flow of a call is one way: flags, options, sdk, HTTP, output.
package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/internal/cli"
)

// Main runs ctx with args, without the program's name, in the surroundings s, and returns the exit code.
func Main(ctx context.Context, args []string, s System) int {
	a := NewApp(s)
	defer a.Close()
	root := newRoot(a)
	root.SetArgs(args)
	return report(a, args, root.ExecuteContext(ctx))
}

// newRoot makes the command tree.
func newRoot(a *App) *cobra.Command {
	root := a.Group(&cobra.Command{
		Use:   "ctx",
		Short: "Fresh, cited context for AI agents, from a context service",
		Long:  "ctx asks a context service for the state of a data pack, its brief, its history and its sources.",
		Example: "  ctx fresh                                    the newest state\n" +
			"  ctx brief                                    the brief, with its sources\n" +
			"  ctx search bitcoin                           find values in the state\n" +
			"  ctx snapshot --at \"yesterday 14:00\"          the state of a past minute\n" +
			"  ctx fresh --json flags -q '.flags[].message' JSON, filtered",
		SilenceUsage: true, SilenceErrors: true,
	})
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetIn(a.In)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usage)
	root.SetHelpTemplate(help)
	a.Flags.Bind(root.PersistentFlags())
	root.AddGroup(&cobra.Group{ID: "data", Title: "Ask the service"}, &cobra.Group{ID: "account", Title: "Your account"},
		&cobra.Group{ID: "local", Title: "About ctx"})
	addGroup(root, "data", dataCommands(a))
	if brief, _, err := root.Find([]string{"brief"}); err == nil {
		brief.AddCommand(Prompt(a))
	}
	addGroup(root, "data", liveCommands(a))
	addGroup(root, "data", uiCommands(a))
	addGroup(root, "data", MCPCommands(a))
	addGroup(root, "account", accountCommands(a))
	addGroup(root, "account", walletCommands(a))
	addGroup(root, "local", localCommands(a))
	root.SetHelpCommandGroupID("local")
	cli.AddTopics(root, topics()...)
	bareUI(a, root)
	return root
}

// addGroup adds commands to a group of the help.
func addGroup(root *cobra.Command, group string, commands []*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// flagError makes the error of a wrong flag. --json without fields lists them instead.
func flagError(c *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok && missing.GetSpecifiedName() == "json" {
		return BareJSON(c)
	}
	f := Misused(c, err)
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if near := nearest(c, unknown.GetSpecifiedName()); near != "" {
			f.Hint = fmt.Sprintf("--%s, or %s --help", near, c.CommandPath())
		}
	}
	return f
}

// nearest is the flag of c whose name begins as name does or holds it, "" if there is none.
func nearest(c *cobra.Command, name string) string {
	found := ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if found == "" && len(name) > 2 && (strings.HasPrefix(f.Name, name[:3]) || strings.Contains(f.Name, name)) {
			found = f.Name
		}
	})
	return found
}

// Package client is the program ctx: its commands, one file for each, and the factory with which all are made.
//
// The flow of a call is one way: flags, options, sdk, HTTP, output. A command is a constructor, which defines its flags and takes what it
// needs of the factory, and a run of its options, which parses nothing. It knows the service by the sdk alone, and the terminal UI, which
// it starts, does not know it.
package client

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// Main runs ctx with args, without the program's name, in the surroundings s, and returns the exit code.
func Main(ctx context.Context, args []string, s cli.System) int {
	f := newFactory(s)
	defer f.Close()
	root := newRoot(f)
	root.SetArgs(append([]string{}, args...)) // not nil, for which cobra takes those of the process
	return f.Report(args, root.ExecuteContext(ctx))
}

// Tree is the tree of commands in the surroundings s, none of which is run.
func Tree(s cli.System) *cobra.Command { return newRoot(newFactory(s)) }

func newRoot(f *factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "ctx",
		Short: "Fresh, cited context for AI agents, from a context service",
		Long: "ctx asks a context service for the state of a data pack, its brief, its history and its sources.\n" +
			"A command about a pack takes its name as the first argument or behind --pack. ctx PACK shows the pack live.",
		Example: "  ctx ask \"ada price\" \"tether supply\"           numbers by name\n" +
			"  ctx state                                    the newest state\n" +
			"  ctx brief                                    the brief, with its sources\n" +
			"  ctx state --at \"yesterday 14:00\"             the state of a past minute\n" +
			"  ctx state --json flags -q '.flags[].message' JSON, filtered",
	}
	f.Flags.Bind(root.PersistentFlags())
	cli.CompleteValues(root, "color", "auto", "always", "never")
	_ = root.RegisterFlagCompletionFunc("profile", completeProfile(f))
	ask := slices.Concat(dataCommands(f), uiCommands(f), []*cobra.Command{newVerify(f), mcpCommand(f)})
	account := append(signInCommands(f), newKeys(f), newCredits(f), newWallet(f), newPay(f))
	cli.Assemble(root, f.System, []cli.Section{
		{Title: "Ask the service", Commands: ask},
		{Title: "Your account", Commands: account},
		{Title: "About ctx", Commands: localCommands(f)},
	}, topics()...)
	cli.AddFormer(root, f.System, formerNames())
	bareUI(f, root)
	return root
}

// formerNames are the names that commands had, with those of now.
func formerNames() map[string]string {
	return map[string]string{
		"fresh": "state", "snapshot": "state --at=", "tail": "state follow", "subscribe": "state follow",
		"lookup": "ask", "price": "ask --price", "search": "ask --text", "diff": "changes --from=", "series": "chart",
		"auth login": "login", "auth logout": "logout", "auth status": "whoami", "auth identities": "login identities",
		"auth unlink": "login unlink", "auth token": "login token", "profile": "config profile", "watchlist": "config watchlist",
		"witness": "verify witness", "packs list": "packs", "packs ls": "packs", "packs view": "packs",
		"credits packs": "credits packages", "credits deposits": "credits purchases",
	}
}

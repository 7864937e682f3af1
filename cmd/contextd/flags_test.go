package main

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
)

// trees are the commands of both programs.
func trees() map[string]*cobra.Command {
	s := cli.System{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Now: time.Now, LookupEnv: nowhere}
	return map[string]*cobra.Command{"ctx": client.Tree(s), "contextd": newRoot(s)}
}

// eachCommand visits c and all below it.
func eachCommand(c *cobra.Command, visit func(c *cobra.Command)) {
	visit(c)
	for _, child := range c.Commands() {
		eachCommand(child, visit)
	}
}

// eachFlag visits the flags of c itself.
func eachFlag(c *cobra.Command, visit func(f *pflag.Flag)) {
	c.LocalNonPersistentFlags().VisitAll(visit)
	c.PersistentFlags().VisitAll(visit)
}

// fixedSets are the values of flags that can have no others, by their names or the commands and names; "" says that they are of the
// service, the configuration or the command, and others elsewhere.
var fixedSets = map[string]string{
	"output": "table json yaml ndjson tsv text", "ctx export --output": "csv ndjson", "color": "auto always never",
	"theme": "auto dark light mono", "events": "pulse delta error", "consent": "full aggregated none", "client": "claude cursor vscode",
	"names": "underscore dots", "method": "GET POST PUT PATCH DELETE", "request": "GET POST PUT PATCH DELETE",
	"cite": "footnotes inline none", "format": "text md bibtex url", "severity": "notice warning critical",
	"flag": "stablecoin_depeg exploit_reported any", "tier": "free hobby pro team enterprise", "log-level": "debug info warn error",
	"log-format": "auto text json", "webhook-format": "json slack ntfy", "state": "pending settled failed", "packs": "crypto perps",
	"json": "", "profile": "", "pack": "", "kind": "", "kinds": "", "member": "", "members": "", "field": "", "source": "",
	"ctx api --field": "free",
}

// alternatives matches the help of a flag that can have some values alone.
var alternatives = regexp.MustCompile(`[a-z]+, [a-z]+(,| or) [a-z]+\b`)

// TestFlagsComplete walks every flag of both programs: one with a fixed set completes it, and none offers files that takes no file.
func TestFlagsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, root := range trees() {
		eachCommand(root, func(c *cobra.Command) {
			eachFlag(c, func(f *pflag.Flag) {
				if f.Value.Type() == "bool" {
					return
				}
				where := c.CommandPath() + " --" + f.Name
				want, fixed := fixedSets[where]
				if !fixed {
					want, fixed = fixedSets[f.Name]
				} else {
					seen[where] = true
				}
				seen[f.Name] = true
				complete, ok := c.GetFlagCompletionFunc(f.Name)
				switch {
				case !ok && !cli.TakesFile(f):
					t.Errorf("%s offers files", where)
				case !fixed && alternatives.MatchString(f.Usage) && !cli.TakesFile(f):
					t.Errorf("%s seems to have a fixed set: %s", where, f.Usage)
				case want != "" && want != "free":
					got, directive := complete(c, nil, "")
					for _, value := range strings.Fields(want) {
						if !slices.Contains(got, value) {
							t.Errorf("%s does not complete %s: %q", where, value, got)
						}
					}
					if directive&cobra.ShellCompDirectiveNoFileComp == 0 {
						t.Errorf("%s offers files too", where)
					}
				}
			})
		})
	}
	for flag := range fixedSets {
		if !seen[flag] {
			t.Errorf("there is no flag %s", flag)
		}
	}
}

// TestListsComplete: of a list with commas, what is in it already is not offered again.
func TestListsComplete(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"tail --events pulse,": "pulse,delta\npulse,error\n:4\n", "version --json version,c": "version,commit\n",
	} {
		var out bytes.Buffer
		root := client.Tree(cli.System{In: strings.NewReader(""), Out: &out, Err: io.Discard, Now: time.Now, LookupEnv: nowhere})
		root.SetArgs(append([]string{"__complete"}, strings.Fields(args)...))
		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %q has no %q", args, err, out.String(), want)
		}
	}
}

// nowhere is an environment in which nothing is set but a place for settings that is not there.
func nowhere(name string) (string, bool) {
	return "/nonexistent", name == "CTX_CONFIG_DIR"
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// AddFormer has root answer to names that its commands had, each with the words that call the same today. They are hidden, take what the
// command of today takes, and say its name where stderr is a terminal.
func AddFormer(root *cobra.Command, s System, names map[string]string) {
	for former, today := range names {
		parent, words := root, strings.Fields(former)
		for _, group := range words[:len(words)-1] {
			i := slices.IndexFunc(parent.Commands(), func(c *cobra.Command) bool { return c.Name() == group })
			if i < 0 {
				parent.AddCommand(Group(&cobra.Command{Use: group, Short: "Commands that have other names now", Hidden: true}))
				i = slices.IndexFunc(parent.Commands(), func(c *cobra.Command) bool { return c.Name() == group })
			}
			parent = parent.Commands()[i]
		}
		shown := root.Name() + " " + strings.TrimSuffix(today, "=")
		parent.AddCommand(&cobra.Command{
			Use: words[len(words)-1], Short: "Now " + shown, Hidden: !parent.Hidden, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
			RunE: func(c *cobra.Command, args []string) error {
				if s.ErrTTY && !slices.Contains(args, "--quiet") {
					fmt.Fprintf(s.Err, "%s is now %s\n", c.CommandPath(), shown)
				}
				root.SetArgs(slices.Concat(strings.Fields(today), args))
				return root.ExecuteContext(c.Context())
			},
			ValidArgsFunction: func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				now, rest, err := root.Find(slices.Concat(strings.Fields(today), args))
				if err != nil || now.ValidArgsFunction == nil {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return now.ValidArgsFunction(now, rest, typed)
			},
		})
	}
	commandsFirst(root)
}

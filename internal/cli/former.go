package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// AddFormer has root answer to names that its commands had, each with the words that call the same today. They are hidden, take what the
// command of today takes, and say its name where stderr is a terminal.
func AddFormer(root *cobra.Command, s System, names map[string]string) {
	for former, today := range names {
		parent, words := root, strings.Fields(former)
		for _, group := range words[:len(words)-1] {
			i := slices.IndexFunc(parent.Commands(), func(c *cobra.Command) bool { return c.Name() == group && c.Runnable() }) // no topic
			if i >= 0 {
				parent = parent.Commands()[i]
				continue
			}
			hidden := Group(&cobra.Command{Use: group, Short: "Commands that have other names now", Hidden: true})
			parent.AddCommand(hidden)
			parent = hidden
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
				return completeAs(c, slices.Concat(strings.Fields(today), args, []string{typed}))
			},
		})
	}
	commandsFirst(root)
	nameOptions(root)
}

// completeAs is what the program of c completes args to.
func completeAs(c *cobra.Command, args []string) (list []cobra.Completion, directive cobra.ShellCompDirective) {
	var out bytes.Buffer
	root, stdout := c.Root(), c.OutOrStdout()
	root.SetOut(&out)
	defer root.SetOut(stdout)
	root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args...))
	if root.ExecuteContext(c.Context()) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for line := range strings.Lines(out.String()) {
		if number, last := strings.CutPrefix(line, ":"); last {
			n, _ := strconv.Atoi(strings.TrimSpace(number)) // cobra wrote it
			return list, cobra.ShellCompDirective(n)
		}
		list = append(list, strings.TrimSpace(line))
	}
	return list, cobra.ShellCompDirectiveError
}

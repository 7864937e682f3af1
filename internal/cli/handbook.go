package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/contextd/contextd/internal/handbook"
)

// AddTopics adds the topics of the handbook to the help of root, and others that only root has. Call it when the commands of root are
// there.
func AddTopics(root *cobra.Command, others ...*cobra.Command) {
	for _, t := range handbook.Topics() {
		root.AddCommand(&cobra.Command{Use: t.Name, Short: t.Summary, Long: t.Text})
	}
	root.AddCommand(others...)
	root.InitDefaultHelpCmd()
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "help" })
	help := root.Commands()[i]
	commands := help.ValidArgsFunction
	help.ValidArgsFunction = func(c *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, directive := commands(c, args, start)
		for _, topic := range root.Commands() {
			if len(args) == 0 && topic.IsAdditionalHelpTopicCommand() && strings.HasPrefix(topic.Name(), start) {
				names = append(names, cobra.CompletionWithDesc(topic.Name(), topic.Short))
			}
		}
		return names, directive
	}
}

// WriteManual writes the manual pages of root into dir, which it makes: one of section 1 for every command, one of section 7 for every
// topic of the handbook. $SOURCE_DATE_EPOCH sets their date.
func WriteManual(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Source: root.Name(), Manual: root.Name() + " manual"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return err
	}
	if err := doc.GenMan(root, header, io.Discard); err != nil { // sets the date
		return err
	}
	return handbook.WriteMan(dir, root.Name(), *header.Date)
}

package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/internal/human"
)

// addTopics adds the topics of the handbook to the help of root, those of this package, and others that only root has.
func addTopics(root *cobra.Command, others []*cobra.Command) {
	for _, t := range handbook.Topics() {
		root.AddCommand(&cobra.Command{Use: t.Name, Short: t.Summary, Long: t.Text})
	}
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes},
		&cobra.Command{Use: "formatting", Short: "JSON, filters, templates and tables", Long: formatting})
	root.AddCommand(others...)
	root.InitDefaultHelpCmd()
	commandsFirst(root)
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "help" })
	help := root.Commands()[i]
	shown := help.Run
	help.Run, help.RunE = nil, func(c *cobra.Command, args []string) error {
		if i := slices.IndexFunc(root.Commands(), func(topic *cobra.Command) bool { // before a command of its name, which has --help
			return topic.IsAdditionalHelpTopicCommand() && slices.Equal(args, []string{topic.Name()})
		}); i >= 0 {
			return root.Commands()[i].Help()
		}
		if found, rest, err := root.Find(args); err != nil || found == nil || found == root && len(rest) > 0 {
			f := misused(c, fmt.Errorf("there is no command or topic %q", strings.Join(args, " ")))
			f.Usage, f.Hint = root.Name()+" help [COMMAND | TOPIC]", root.Name()+" --help, for both lists"
			if near := human.Nearest(args[0], helpNames(root)); near != "" {
				f.Hint = root.Name() + " help " + near
			}
			return f
		}
		shown(c, args)
		return nil
	}
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

// commandsFirst has the command before the topic of the same name, which cobra sorts in an order of chance: the first of them is run.
func commandsFirst(root *cobra.Command) {
	topic := func(c *cobra.Command) int {
		if c.IsAdditionalHelpTopicCommand() {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(root.Commands(), func(a, b *cobra.Command) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), cmp.Compare(topic(a), topic(b)))
	})
}

func helpNames(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return names
}

// writeManual writes the manual pages of root into dir, which it makes: one of section 1 for every command, one of section 7 for every
// topic of the handbook. $SOURCE_DATE_EPOCH sets their date.
func writeManual(root *cobra.Command, dir string) error {
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
	pages, err := filepath.Glob(filepath.Join(dir, root.Name()+"*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		if err := os.WriteFile(page, handbook.Roff(text, *header.Date), 0o644); err != nil {
			return err
		}
	}
	return handbook.WriteMan(dir, root.Name(), *header.Date)
}

// help begins with what a command is and how it is used; usage is the rest.
const help = `{{with or .Long .Short}}{{. | trimTrailingWhitespaces}}
{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

const usage = `{{if .HasExample}}
Examples
{{.Example}}
{{end}}{{if .Runnable}}
Usage
  {{.UseLine}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}
{{end}}{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{range $group := .Groups}}
{{.Title}}{{range $commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if not .Groups}}
Commands{{range $commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Options
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}{{if .HasHelpSubCommands}}
Topics, shown by {{.Name}} help TOPIC{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if .HasParent}}
"{{.Root.Name}} --help" lists the options that every command has; "{{.Root.Name}} help formatting" is about output.
{{end}}`

const exitCodes = `A code that is not listed here is a failure.

    0  it worked
    1  it failed, or the service has a bug (500)
    2  you said no, or Ctrl-C at a question
    3  wrong option, argument or setting (400)
    4  no such key, or it was revoked (401)
    5  to be paid, or no credits left (402)
    6  no access with this key (403)
    7  not found (404)
    8  quota used up or too many calls (429); stderr tells when to retry
    9  no answer in time, or nothing to answer with yet (502, 503, 504)
   10  the state is older than --max-age, or a figure of a text is stale
   11  the wallet's policy refuses the payment
   12  the chain refuses the payment, or the wallet has not enough
   13  paid for, and not answered: ctx pay resume
   14  a proof does not hold, or a service's log is not the one that was known: it forked, shrank or changed its key
   15  a service restored a backup and began a new log: ctx verify --accept-new-log
   16  a figure of a text is refuted: ctx check
   17  the proof in a file holds, and only the file says whose key it is by: ctx verify FILE --key KEY
  130  Ctrl-C; 0 if a stream had shown something
`

const formatting = `Data goes to stdout, everything else to stderr.

On a terminal a command shows tables and text. Elsewhere lists are a line for each row with tabs
between the columns (--header adds their names), states are JSON, and prose is text.

  -o, --output FORMAT    table, json, yaml, ndjson (a line for each element), tsv or text
      --json FIELDS      JSON with these members; without FIELDS: what members there are
  -q, --jq EXPRESSION    filter the JSON; strings are written without quotes
  -t, --template TEXT    format the JSON with a Go template

On a terminal, text longer than the screen is shown in $PAGER or less; --no-pager writes it out.

An empty list is [] and no error. Where JSON was asked for, errors are JSON on stderr:
  {"error":{"code","reason","message","requestId","hint","status"}}

Templates have these functions besides Go's:
  timeago TIME            how long ago a time is          timefmt LAYOUT TIME   a time in a Go layout
  truncate N TEXT         at most N columns               join SEP LIST         a list as text
  color STYLE TEXT        red, green+b (bold) and so on   pluck NAME LIST       a member of each element
  tablerow CELL...        a row of a table                tablerender           the rows so far
  hyperlink URL TEXT      a link                          upper, lower TEXT     letter case

  ctx ask --text eth --json path,value -q '.[] | "\(.path) = \(.value)"'
  ctx state --json flags -t '{{range .flags}}{{tablerow .severity (timeago .since) .message}}{{end}}'
`

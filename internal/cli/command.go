package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/human"
)

// Section is a part of the help of a program, with its commands.
type Section struct {
	Title    string
	Commands []*cobra.Command
}

// Assemble completes root, the program: its help has the sections, the last of them with the command help, and the topics of the
// handbook; others are topics that only this program has. Output and errors go where s says.
func Assemble(root *cobra.Command, s System, sections []Section, others ...*cobra.Command) {
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetIn(s.In)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usage)
	root.SetHelpTemplate(help)
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		out := c.OutOrStdout()
		c.SetOut(untilClosed{out})
		defer c.SetOut(out)
		show(c, args)
	})
	root.Version = versionLine(root.Name(), build.Read())
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "show the version") // cobra's own would take -v
	Group(root)
	for _, section := range sections {
		root.AddGroup(&cobra.Group{ID: section.Title, Title: section.Title})
		for _, c := range section.Commands {
			c.GroupID = section.Title
			complete(c)
			root.AddCommand(c)
		}
		root.SetHelpCommandGroupID(section.Title)
	}
	addTopics(root, others)
	completeRest(root)
	nameOptions(root)
}

// optionsUse is how a usage line says that a command takes options: a flag is one of the market.
const optionsUse = " [options]"

// nameOptions has the usage lines of c and the commands below it say so, where cobra would call them flags.
func nameOptions(c *cobra.Command) {
	if !c.IsAdditionalHelpTopicCommand() && !c.DisableFlagsInUseLine {
		c.Use, c.DisableFlagsInUseLine = c.Use+optionsUse, true
	}
	for _, child := range c.Commands() {
		nameOptions(child)
	}
}

// untilClosed writes until nobody reads any more, which is no error: help that is piped to head ends there.
type untilClosed struct{ io.Writer }

func (w untilClosed) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if readerGone(err) {
		return len(p), nil
	}
	return n, err
}

// Group completes c, which only holds others: alone it shows its help.
func Group(c *cobra.Command, children ...*cobra.Command) *cobra.Command {
	c.AddCommand(children...)
	c.SuggestionsMinimumDistance = 2
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		f := misused(c, fmt.Errorf("there is no command %q in %s", args[0], c.CommandPath()))
		if near := suggestion(c, strings.ToLower(args[0])); near != nil {
			f.Hint = near.CommandPath()
		}
		return f
	}
	return c
}

// suggestion is the command below c that somebody means who types word, nil if none is known: one that expects to be called so, one of
// that name in a group, or one that is spelled nearly so.
func suggestion(c *cobra.Command, word string) *cobra.Command {
	below := []*cobra.Command{}
	for list := c.Commands(); len(list) > 0; {
		next := []*cobra.Command{}
		for _, one := range list {
			if one.IsAvailableCommand() {
				below, next = append(below, one), append(next, one.Commands()...)
			}
		}
		list = next
	}
	for _, means := range []func(*cobra.Command) bool{
		func(one *cobra.Command) bool { return slices.Contains(one.SuggestFor, word) },
		func(one *cobra.Command) bool { return one.Name() == word },
		func(one *cobra.Command) bool {
			near := c.SuggestionsFor(word)
			return len(near) > 0 && one.Parent() == c && one.Name() == near[0]
		},
	} {
		if i := slices.IndexFunc(below, means); i >= 0 {
			return below[i]
		}
	}
	return nil
}

// complete completes c and the commands below it: mistakes in their arguments end before they run, and are told in our words, with a next
// step.
func complete(c *cobra.Command) {
	for _, child := range c.Commands() {
		complete(child)
	}
	checkArgs(c)
	run := c.RunE
	if run == nil {
		return
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if f, ok := errors.AsType[*Failure](err); ok && (f.Exit == ExitUsage || f.Exit == ExitNotFound) && f.Hint == "" {
			if fault, ok := human.Explain(f.Err); !ok || fault.Next == "" {
				f.Hint = c.CommandPath() + " --help"
			}
		}
		return err
	}
}

// checkArgs has mistakes in the arguments of c, and flags that exclude each other, told in our words before c runs. Without Args c takes
// none.
func checkArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if f := c.Flags().Lookup("json"); f != nil && strings.HasPrefix(f.Value.String(), "-") { // the next flag is taken for the fields
			return listFields(c)
		}
		if err := check(c, args); err != nil {
			return misused(c, argumentError(c, args, err))
		}
		return CheckGroups(c)
	}
}

// CheckGroups reports flags of c that exclude each other, or belong together.
func CheckGroups(c *cobra.Command) error {
	if err := c.ValidateFlagGroups(); err != nil {
		return misused(c, groupError(err))
	}
	return nil
}

// argumentError says what is wrong with args, by how c is used.
func argumentError(c *cobra.Command, args []string, err error) error {
	var required []string
	most, words := 0, strings.Fields(strings.TrimSuffix(c.Use, optionsUse))[1:]
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case strings.HasPrefix(word, "--"): // a flag that has to be there, and its value
			i++
			continue
		case !strings.HasPrefix(word, "["):
			required = append(required, word)
		}
		most++
		if strings.Contains(words[i], "...") {
			most = max(most, len(args))
		}
	}
	switch {
	case len(args) < len(required):
		return fmt.Errorf("%s is missing", strings.TrimSuffix(required[len(args)], "..."))
	case len(args) > most:
		return fmt.Errorf("%q is one argument too many", args[most])
	case len(c.ValidArgs) > 0:
		return fmt.Errorf("%q is none of %s", args[0], strings.Join(c.ValidArgs, ", "))
	}
	return err
}

// groupError says which flags exclude each other.
func groupError(err error) error {
	if m := regexp.MustCompile(`\[([^\]]*)\] were all set`).FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("--%s exclude each other", strings.Join(strings.Fields(m[1]), " and --"))
	}
	return err
}

// flagError makes the error of a wrong flag. --json without fields lists them instead.
func flagError(c *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok && missing.GetSpecifiedName() == "json" {
		return listFields(c)
	}
	f := misused(c, flagWords(err))
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if near := nearest(c, unknown.GetSpecifiedName()); near != "" {
			f.Hint = fmt.Sprintf("--%s, or %s --help", near, c.CommandPath())
		}
	}
	return f
}

// flagWords is what pflag says, in our words.
func flagWords(err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			return fmt.Errorf("there is no option -%s", unknown.GetSpecifiedName())
		}
		return fmt.Errorf("there is no option --%s", unknown.GetSpecifiedName())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("--%s needs a value", missing.GetFlag().Name)
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		form := map[string]string{
			"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0 on",
			"duration": "a time such as 30s or 2m", "bool": "true or false",
		}[wrong.GetFlag().Value.Type()]
		if form == "" {
			return fmt.Errorf("--%s: %w", wrong.GetFlag().Name, wrong.Unwrap())
		}
		return fmt.Errorf("--%s has %q, which is not %s", wrong.GetFlag().Name, wrong.GetValue(), form)
	}
	return err
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

// misused makes the Failure of a call of c with wrong flags or arguments.
func misused(c *cobra.Command, err error) *Failure {
	f := Invalid("%w", err)
	f.Hint, f.Usage = c.CommandPath()+" --help", c.UseLine()
	return f
}

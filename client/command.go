package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// fieldsKey is the annotation of a command that lists the fields of its output.
const fieldsKey = "fields"

// OpenFields, as the last field of a command, says that an answer may have more than are listed.
const OpenFields = "…"

// ReasonFields is the reason of the Failure that lists fields. It is told in words although JSON was asked for.
const ReasonFields = "fields"

// Command completes c: its output has the fields, and run runs once the flags are checked. Mistakes in flags and arguments end
// before run does anything.
func (a *App) Command(c *cobra.Command, fields []string, run func(ctx context.Context, args []string) error) *cobra.Command {
	SetFields(c, fields...)
	checkArgs := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if checkArgs == nil {
			checkArgs = cobra.NoArgs
		}
		if err := checkArgs(c, args); err != nil {
			return Misused(c, err)
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if strings.HasPrefix(a.Flags.fields, "-") { // --json without fields, and the next flag taken for them
			return BareJSON(c)
		}
		if err := a.Check(FieldsOf(c)); err != nil {
			return err
		}
		return run(c.Context(), args)
	}
	return c
}

// Group completes c, which only holds others: alone it shows its help.
func (a *App) Group(c *cobra.Command, children ...*cobra.Command) *cobra.Command {
	c.AddCommand(children...)
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		f := Misused(c, fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath()))
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			f.Hint = c.CommandPath() + " " + near[0]
		}
		return f
	}
	return c
}

// SetFields says which fields the output of c has.
func SetFields(c *cobra.Command, fields ...string) {
	c.Annotations = map[string]string{fieldsKey: strings.Join(fields, ",")}
}

// FieldsOf are the fields of the output of c.
func FieldsOf(c *cobra.Command) []string {
	if list := c.Annotations[fieldsKey]; list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// Misused makes the Failure of a call of c with wrong flags or arguments.
func Misused(c *cobra.Command, err error) *Failure {
	f := Invalid("%w", err)
	f.Hint, f.Usage = c.CommandPath()+" --help", c.UseLine()
	return f
}

// BareJSON makes the Failure of --json without fields: a list of those that there are.
func BareJSON(c *cobra.Command) *Failure {
	fields := FieldsOf(c)
	if len(fields) == 0 {
		return Invalid("%s has no fields", c.CommandPath())
	}
	f := Invalid("name one or more fields after --json, with commas between:\n  %s", strings.Join(fields, "\n  "))
	f.Reason = ReasonFields
	return f
}

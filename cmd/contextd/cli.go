package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// AddGroup adds children to c, which alone shows its help. Wrong arguments of theirs are usage errors.
func AddGroup(c *cobra.Command, children ...*cobra.Command) {
	c.AddCommand(children...)
	c.SuggestionsMinimumDistance = 2
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text, try := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath()), c.CommandPath()+" --help"
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			try = c.CommandPath() + " " + near[0]
		}
		return UsageError{errors.New(text + "\n  try: " + try)}
	}
	for _, child := range children {
		check := child.Args
		child.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || errors.As(err, new(UsageError)) {
				return err
			}
			return UsageError{fmt.Errorf("%w\n  try: %s --help", err, c.CommandPath())}
		}
	}
}

// UsageError is a mistake in how the program was called.
type UsageError struct{ error }

// Usage makes the error of a mistake in how the program was called.
func Usage(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// AddJSON adds the flag --json to c.
func AddJSON(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON")
}

// PrintJSON prints v as JSON.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

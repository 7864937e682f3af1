package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CompleteValues has a flag of c complete the values that it may have, each of a list where it takes one.
func CompleteValues[T ~string](c *cobra.Command, flag string, values ...T) {
	f := c.Flag(flag)
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) (list []string, _ cobra.ShellCompDirective) {
		before := ""
		if f.Value.Type() == "stringSlice" {
			before = typed[:strings.LastIndexByte(typed, ',')+1]
		}
		for _, v := range values {
			if !slices.Contains(strings.Split(before, ","), string(v)) {
				list = append(list, before+string(v))
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeRest has the flags and arguments of a tree of commands that nothing else completes offer files only where they are files, and
// those about output what they may be.
func completeRest(c *cobra.Command) {
	if c.ValidArgs == nil && c.ValidArgsFunction == nil && !slices.ContainsFunc([]string{"FILE", "DIR"}, func(word string) bool {
		return strings.Contains(c.Use, word)
	}) && !c.HasSubCommands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	rest := func(f *pflag.Flag) {
		if _, done := c.GetFlagCompletionFunc(f.Name); done || f.Value.Type() == "bool" {
			return
		}
		switch {
		case f.Name == "output":
			CompleteValues(c, f.Name, Formats()...)
		case f.Name == "json":
			_ = c.RegisterFlagCompletionFunc(f.Name, completeFields)
		case !TakesFile(f):
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	}
	c.Flags().VisitAll(rest)
	c.PersistentFlags().VisitAll(rest)
	for _, child := range c.Commands() {
		completeRest(child)
	}
}

// TakesFile reports whether the value of a flag is the name of a file or directory.
func TakesFile(f *pflag.Flag) bool {
	what, _ := pflag.UnquoteUsage(f)
	return slices.Contains([]string{"file", "directory", "wallet"}, what) || strings.HasSuffix(f.Name, "-file") ||
		slices.Contains([]string{"config", "data-dir", "dir", "data"}, f.Name)
}

func completeFields(c *cobra.Command, _ []string, typed string) (list []string, _ cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	for _, field := range FieldsOf(c) {
		if field != OpenFields && !slices.Contains(strings.Split(before, ","), field) {
			list = append(list, before+field)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

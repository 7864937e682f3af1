package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/setting"
)

// linted is what was found in a manifest.
type linted struct {
	File     string            `json:"file"` // or the name of a pack of the program
	Good     bool              `json:"good"`
	Findings []setting.Mistake `json:"findings"`
	Warnings []string          `json:"warnings"` // of what is served otherwise than it says
}

// newPackLint makes the command that checks manifests.
func newPackLint(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "lint FILE|NAME...", Short: "Check manifests: names, bounds, jq and templates", ValidArgsFunction: s.completePacks,
		Long: "Check manifests without polling any source: names, bounds, jq and templates. List every mistake with its line;\n" +
			"exit code 3 means that there are some.",
		Example: "  contextd packs lint my-coins\n  contextd packs lint packs/*.yaml -o json\n" +
			"  contextd packs lint --schema > pack.schema.json   # with, in the first line of a manifest:\n" +
			"  # yaml-language-server: $schema=pack.schema.json",
	}
	schema := c.Flags().Bool("schema", false, "print the JSON schema of manifests, for editors")
	c.Args = func(c *cobra.Command, args []string) error {
		if *schema {
			return cobra.NoArgs(c, args)
		}
		return cobra.MinimumNArgs(1)(c, args)
	}
	out := cli.AddOutput(c, cli.FieldsIn(linted{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		if *schema {
			enc := json.NewEncoder(c.OutOrStdout())
			enc.SetIndent("", "  ")
			enc.SetEscapeHTML(false)
			return enc.Encode(manifest.Schema())
		}
		list, wrong := []linted{}, 0
		for _, arg := range args {
			p, _, err := s.manifestOf(arg)
			if err != nil {
				return err
			}
			found := p.mistakes()
			wrong += len(found)
			list = append(list, linted{p.where(), len(found) == 0, append([]setting.Mistake{}, found...), p.warnings()})
		}
		if err := out.Print(list, prose(func(w io.Writer) error { return printLinted(w, list) })); err != nil {
			return err
		}
		if wrong > 0 {
			return cli.Invalid("%s", human.Plural(wrong, "mistake")).WithHint("contextd help packs")
		}
		return nil
	}
	return c
}

func printLinted(w io.Writer, list []linted) error {
	for _, l := range list {
		if l.Good {
			if _, err := fmt.Fprintf(w, "%s: good\n", l.File); err != nil {
				return err
			}
		}
		for _, warning := range l.Warnings {
			if _, err := fmt.Fprintf(w, "%s: warning: %s\n", l.File, warning); err != nil {
				return err
			}
		}
		for _, m := range l.Findings {
			if _, err := fmt.Fprintf(w, "%s: %s\n", l.File, lineOf(m)); err != nil {
				return err
			}
		}
	}
	return nil
}

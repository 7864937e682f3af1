package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/internal/cli"
)

// newCheckConfig makes the command that checks the configuration without starting anything.
func newCheckConfig(s *settings) *cobra.Command {
	var strict, print bool
	c := &cobra.Command{
		Use: "check", Short: "Check the configuration, and print what is in effect", Args: cobra.NoArgs,
		Long: "Check the configuration without starting anything. Errors give exit code 3; with --strict, so do warnings.",
		Example: "  contextd config check --config /etc/contextd/config.yaml\n  contextd config check --print-effective\n" +
			"  contextd config check --print-effective -o json",
	}
	c.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	c.Flags().BoolVar(&print, "print-effective", false, "print every setting with its value and origin, without secrets")
	out := cli.AddOutput(c, slices.Concat(cli.FieldsIn(config.Value{}), cli.FieldsIn(checked{}))...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.Load()
		if err != nil {
			return err
		}
		would, err := cfg.Daemon(nil)
		if err != nil {
			return err
		}
		if err := would.Check(); err != nil {
			return cli.Invalid("%w", err)
		}
		warnings := cfg.Warnings()
		for _, w := range warnings {
			fmt.Fprintln(c.ErrOrStderr(), "warning: "+w)
		}
		if strict && len(warnings) > 0 {
			return cli.Invalid("there are warnings, and --strict takes them for errors")
		}
		if print {
			return out.Print(cfg.Effective(), valuesTable(cfg.Effective()))
		}
		return out.Print(checked{cfg.File, true, append([]string{}, warnings...)}, cli.Answer{
			Piped: cli.Text, Text: func(w io.Writer, _ int, _ cli.Style) error {
				_, err := fmt.Fprintf(w, "%s: good\n", cmp.Or(cfg.File, "no file: options, environment and defaults"))
				return err
			}})
	}
	return c
}

// checked is a configuration without an error in it.
type checked struct {
	File     string   `json:"file"` // "" for none
	Good     bool     `json:"good"`
	Warnings []string `json:"warnings"`
}

func valuesTable(values []config.Value) cli.Answer {
	rows := &cli.Rows{Columns: []string{"setting", "value", "from"}, Wide: 1}
	for _, v := range values {
		text := fmt.Sprint(v.Value)
		if list, ok := v.Value.([]string); ok {
			text = strings.Join(list, ", ")
		}
		if text == "" {
			text = "-"
		}
		rows.Rows = append(rows.Rows, []string{v.Name, text, v.From})
	}
	return table(rows)
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/examine"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
)

// liveSources asks every source once and prints what each said. It fails if one of them said nothing that can be used.
func liveSources(c *cobra.Command, out *cli.Output, cfg examine.Config, only, record string) error {
	known := []string{}
	for _, p := range cfg.Packs {
		known = append(known, p.ID)
	}
	if only != "" && !slices.Contains(known, only) {
		return cli.Invalid("no pack %q is served here: there are %s", only, strings.Join(known, ", "))
	}
	list, bad := []examine.Asked{}, 0
	err := examine.Live(c.Context(), cfg, only, record, func(a examine.Asked) {
		if list = append(list, a); a.Class != "" && !a.Good() {
			bad++
		}
		if !out.Chosen() {
			printAsked(c.OutOrStdout(), a)
		}
	})
	if err != nil {
		return err
	}
	if record != "" {
		fmt.Fprintf(c.ErrOrStderr(), "wrote %s; read it before you send it\n", record)
	}
	if out.Chosen() {
		all := prose(func(w io.Writer) error {
			for _, a := range list {
				printAsked(w, a)
			}
			return nil
		})
		if err := out.Print(list, all); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%s gave nothing that can be used", human.Plural(bad, "source"))
	}
	return nil
}

// printAsked prints what a source said for people.
func printAsked(out io.Writer, a examine.Asked) {
	mark := "ok  "
	switch {
	case a.Class == "":
		fmt.Fprintf(out, "--    %-28s %s\n", a.Source, a.Error)
		return
	case !a.Good():
		mark = "FAIL"
	case a.Via != "" || a.Ending != "" || len(a.Missing()) > 0 || a.Dropped > 0:
		mark = "warn"
	}
	status := make([]string, len(a.Status))
	for i, s := range a.Status {
		status[i] = strconv.Itoa(s)
	}
	fmt.Fprintf(out, "%s  %-28s HTTP %s, %s in %.1f s, %s", mark, a.Source, cmp.Or(human.List(status, 4), "none"),
		human.Bytes(int64(a.Bytes)), a.Seconds, human.Plural(a.Rows, "row"))
	if a.Age != nil {
		fmt.Fprintf(out, ", %d s old", *a.Age)
	}
	fmt.Fprintln(out)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(out, "      %s: %s\n", name, text)
		}
	}
	line("answered by", a.Via)
	line("because", a.Error)
	line("known in no row", strings.Join(a.Missing(), ", "))
	if a.Dropped > 0 {
		line("made no sense", human.Plural(a.Dropped, "row"))
	}
	line("announces", a.Ending)
	line("limits", strings.Join(a.Limits, "; "))
}

package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// newBriefs are those below contextd brief.
func newBriefs(operate Operate) []*cobra.Command {
	return []*cobra.Command{newPreview(operate), newCheck(operate)}
}

// newPreview makes the command that tries a brief out.
func newPreview(operate Operate) *cobra.Command {
	c := &cobra.Command{
		Use: "preview [PACK]", Short: "Write a brief of the newest state without publishing it", Args: cobra.MaximumNArgs(1),
		Long: "Write a brief of the newest state without publishing it, and say what the check found in it and what it cost. A language\n" +
			"model is paid for it as for any brief, from the same budget. It ends with 1 if no writer wrote a text that passes.",
		Example: "  contextd brief preview\n  contextd brief preview crypto --writer built-in",
	}
	writer := c.Flags().String("writer", "", "only this writer, as contextd brief check names it; all in their order unless given")
	asJSON := AddJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			p, err := o.PreviewBrief(c.Context(), packOf(args), *writer)
			if err != nil {
				return err
			}
			if *asJSON {
				err = PrintJSON(c.OutOrStdout(), p)
			} else {
				err = printPreview(c.OutOrStdout(), c.ErrOrStderr(), p)
			}
			if err == nil && p.Writer == "" {
				err = brief.ErrNoBrief
			}
			return err
		})
	}
	return c
}

// printPreview writes the text that passes to out, and all about it to notes.
func printPreview(out, notes io.Writer, p brief.Preview) error {
	for _, a := range p.Refused {
		fmt.Fprintf(notes, "not taken: a text of %s\n", a.Writer)
		if a.Error != "" {
			fmt.Fprintf(notes, "  failed: %s\n", a.Error)
		}
		for _, f := range a.Findings {
			fmt.Fprintf(notes, "  %s\n", f)
		}
		if a.Text != "" {
			fmt.Fprintf(notes, "  the text: %q\n", a.Text)
		}
	}
	if p.Writer != "" {
		if _, err := fmt.Fprintln(out, p.Text); err != nil {
			return err
		}
		fmt.Fprintf(notes, "written by %s of the state of %s; the check found nothing\n", p.Writer, moment(p.GeneratedAt))
	}
	_, err := fmt.Fprintf(notes, "cost: %s\n", taken(p.Usage))
	return err
}

// newCheck makes the command that reports on briefs.
func newCheck(operate Operate) *cobra.Command {
	c := &cobra.Command{
		Use: "check [PACK]", Short: "Check the published brief and say why texts before it were not taken", Args: cobra.MaximumNArgs(1),
		Long: "Check the published brief against its state again, say who wrote the newest briefs and why texts before them were not\n" +
			"taken, and what language models took today. It asks no model. It ends with 1 if the brief does not hold.",
	}
	asJSON := AddJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			r, err := o.CheckBriefs(c.Context(), packOf(args))
			if err != nil {
				return err
			}
			if *asJSON {
				err = PrintJSON(c.OutOrStdout(), r)
			} else {
				err = printReport(c.OutOrStdout(), r)
			}
			if err == nil && len(r.Findings) > 0 {
				err = errors.New("the published brief does not hold")
			}
			return err
		})
	}
	return c
}

// printReport writes r for people.
func printReport(out io.Writer, r brief.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, name := range r.Writers {
		fmt.Fprintf(w, "%s\t%s\n", []string{"writers", ""}[min(i, 1)], name)
	}
	bound := func(n int64, text string) string {
		if n == 0 {
			return "no bound"
		}
		return text
	}
	fmt.Fprintf(w, "today\t%s, of %s tokens and %s\n", taken(r.Taken), bound(r.Limit.Tokens, fmt.Sprint(r.Limit.Tokens)), bound(r.Limit.CostMicros, usd(r.Limit.CostMicros)))
	fmt.Fprintf(w, "owners\t%d briefs by prompts of their own, %d that no model could write\n", r.Owners.Written, r.Owners.Failed)
	switch {
	case r.Unknown != "":
		fmt.Fprintf(w, "check\t%s\n", r.Unknown)
	case len(r.Findings) == 0:
		fmt.Fprintf(w, "check\tthe newest brief holds\n")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "check\t%s\n", f)
	}
	for _, b := range r.Briefs {
		fmt.Fprintf(w, "%s\tby %s\n", moment(b.At), b.Writer)
		for _, reason := range b.Refused {
			fmt.Fprintf(w, "\tnot taken: %s\n", reason)
		}
	}
	return w.Flush()
}

// packOf is the pack that args name.
func packOf(args []string) string {
	if len(args) == 0 {
		return api.DefaultPack
	}
	return args[0]
}

// taken says what a text took.
func taken(u brief.Usage) string {
	return fmt.Sprintf("%d tokens (%d in, %d out), %s", u.Tokens(), u.InputTokens, u.OutputTokens, usd(u.CostMicros))
}

// usd writes millionths of a dollar.
func usd(micros int64) string { return usdg.Amount(micros).String() + " USD" }

// moment writes t as people read it.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

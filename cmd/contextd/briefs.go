package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// newBriefs are those below contextd packs brief.
func newBriefs(operate runOperator) []*cobra.Command {
	return []*cobra.Command{newPreview(operate), newCheck(operate)}
}

// newPreview makes the command that tries a brief out.
func newPreview(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "preview [PACK]", Short: "Write a brief of the newest state without publishing it", Args: cobra.MaximumNArgs(1),
		Long: "Write a brief of the newest state without publishing it, and show the findings of the check and the cost. A\n" +
			"language model is paid as for any brief, from the same budget. Exit code 1 means that no writer's text passed.",
		Example: "  contextd packs brief preview\n  contextd packs brief preview crypto --writer built-in",
	}
	writer := c.Flags().String("writer", "", "only this writer, as contextd packs brief check names it; all in their order unless given")
	out := cli.AddOutput(c, cli.FieldsIn(brief.Preview{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			task := cli.Busy(c, "waiting for the writer")
			p, err := o.PreviewBrief(c.Context(), packOf(args), *writer)
			task.Done()
			if err != nil {
				return err
			}
			err = out.Print(p, prose(func(w io.Writer) error { return printPreview(w, c.ErrOrStderr(), p) }))
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
func newCheck(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "check [PACK]", Short: "Check the published brief and explain rejected texts", Args: cobra.MaximumNArgs(1),
		Long: "Check the published brief against its state again. Show the author of the newest briefs, the reasons for\n" +
			"rejected texts, and today's use of language models. No model is called. Exit code 1 means that the brief does\n" +
			"not hold.",
	}
	out := cli.AddOutput(c, cli.FieldsIn(brief.Report{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		return operate(c, func(o *admin.Operator) error {
			r, err := o.CheckBriefs(c.Context(), packOf(args))
			if err != nil {
				return err
			}
			err = out.Print(r, reportTable(r))
			if err == nil && len(r.Findings) > 0 {
				err = errors.New("the published brief does not hold")
			}
			return err
		})
	}
	return c
}

func reportTable(r brief.Report) cli.Answer {
	rows := &cli.Rows{Columns: []string{"what", "found"}, Bare: true, Wide: 1}
	add := func(what, format string, args ...any) {
		rows.Rows = append(rows.Rows, []string{what, fmt.Sprintf(format, args...)})
	}
	for i, name := range r.Writers {
		add([]string{"writers", ""}[min(i, 1)], "%s", name)
	}
	bound := func(n int64, text string) string {
		if n == 0 {
			return "no bound"
		}
		return text
	}
	add("today", "%s, of %s tokens and %s", taken(r.Taken), bound(r.Limit.Tokens, fmt.Sprint(r.Limit.Tokens)),
		bound(r.Limit.CostMicros, usd(r.Limit.CostMicros)))
	add("owners", "%d briefs by their prompts, %d that no model could write", r.Owners.Written, r.Owners.Failed)
	switch {
	case r.Unknown != "":
		add("check", "%s", r.Unknown)
	case len(r.Findings) == 0:
		add("check", "the newest brief holds")
	}
	for _, f := range r.Findings {
		add("check", "%s", f)
	}
	for _, b := range r.Briefs {
		add(moment(b.At), "by %s", b.Writer)
		for _, reason := range b.Refused {
			add("", "not taken: %s", reason)
		}
	}
	return table(rows)
}

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

func newBrief(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "brief", Short: "Preview a brief, and check published ones"}
	cli.Group(c, newBriefs(func(c *cobra.Command, act func(o *admin.Operator) error) error {
		cfg, err := s.Load()
		if err != nil {
			return err
		}
		if err := checkDirectory(cfg); err != nil {
			return err
		}
		written, err := cfg.Briefs()
		if err != nil {
			return err
		}
		storeURL, err := cfg.StoreURL()
		if err != nil {
			return err
		}
		editor := daemon.OpenEditor(daemon.Config{
			DataDir: cfg.DataDir, StoreURL: storeURL, Data: daemon.Data{Briefs: written}, Logger: slog.New(slog.DiscardHandler),
		})
		return operateOn(cfg, c, admin.Config{OpenEditor: editor}, act)
	})...)
	return c
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/packtest"
	"github.com/contextd/contextd/internal/cli"
)

// Tested is what came of a test.
type Tested struct {
	Pack      string             `json:"pack"`
	Ticks     int                `json:"ticks"`
	Refreshes int                `json:"refreshes"`
	Findings  []packtest.Finding `json:"findings"`
	Kept      bool               `json:"kept"` // what the ticks made was written, for the next test to compare with
}

// newPackTest makes the command that tries a pack on what is recorded.
func newPackTest(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "test FILE|NAME", Short: "Test a pack on recorded, failed and hostile answers", Args: cobra.ExactArgs(1),
		ValidArgsFunction: s.completePacks,
		Long: "Run a pack on the answers kept by contextd packs record, as the daemon would but without a network. Then let\n" +
			"every source fail in every known way, return hostile texts and ten thousand rows, and raise and clear every\n" +
			"flag. Compare the results of the recorded ticks with those of the last run; --update stores the new results.\n" +
			"Exit code 1 means that something is wrong.",
		Example: "  contextd packs test my-coins\n  contextd packs test my-coins --update\n  contextd packs test markets",
	}
	update := c.Flags().Bool("update", false, "keep what the recorded ticks make now, to be compared with from now on")
	seed := c.Flags().Uint64("seed", 1, "of the rows that are drawn at random")
	out := cli.AddOutput(c, cli.FieldsIn(Tested{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		p, _, err := s.manifestOf(args[0])
		if err != nil {
			return err
		}
		done, err := p.test(c.Context(), *update, *seed, func(step string) { fmt.Fprintf(c.ErrOrStderr(), "trying %s\n", step) })
		if err != nil {
			return err
		}
		if err := out.Print(done, prose(func(w io.Writer) error { return printTested(w, done) })); err != nil {
			return err
		}
		if (packtest.Report{Findings: done.Findings}).Failed() {
			return fmt.Errorf("the pack %s does not pass", done.Pack)
		}
		return nil
	}
	return c
}

func (p packText) test(ctx context.Context, update bool, seed uint64, told func(string)) (done Tested, err error) {
	m, e, err := p.read()
	if err != nil {
		return done, err
	}
	defer endEvaluator(e)
	tape := packtest.Shipped()
	if p.file != "" {
		tape, err = packtest.Directory(p.recording())
		if errors.Is(err, fs.ErrNotExist) {
			return done, cli.Invalid("nothing is recorded for %s", p.where()).WithHint("contextd packs record %s", cli.Quoted(p.name))
		}
		if err != nil {
			return done, err
		}
	}
	dir, err := os.MkdirTemp("", "contextd-pack-")
	if err != nil {
		return done, fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	report, err := packtest.Run(ctx, packtest.Config{Manifest: m, Evaluator: e, Tape: tape, Dir: dir, Seed: seed, Progress: told})
	if err != nil {
		return done, err
	}
	done = Tested{Pack: m.Pack, Ticks: len(report.Ticks), Refreshes: report.Refreshes, Findings: report.Findings}
	if p.file == "" {
		return done, nil // what is expected is in the tests of the program
	}
	different, missing, err := packtest.Compare(p.recording(), report)
	if err != nil {
		return done, err
	}
	if done.Kept = update || len(missing) > 0 && len(different) == 0; done.Kept {
		return done, packtest.Save(p.recording(), report)
	}
	done.Findings = append(done.Findings, different...)
	return done, nil
}

func printTested(w io.Writer, done Tested) error {
	for _, f := range done.Findings {
		mark := "FAIL"
		if f.Note {
			mark = "note"
		}
		if _, err := fmt.Fprintf(w, "%s  %s\n", mark, f); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s: %d ticks, %d refreshes", done.Pack, done.Ticks, done.Refreshes)
	if !(packtest.Report{Findings: done.Findings}).Failed() {
		text += ", all well"
	}
	if done.Kept {
		text += "; what the ticks made is kept to compare with"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/packtest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
)

// packTryOptions are the flags of contextd packs try and record.
type packTryOptions struct {
	source  string
	rows    int
	private []string
}

// newPackTry makes the command that asks the sources of a manifest.
func newPackTry(s *settings) *cobra.Command {
	o := packTryOptions{}
	c := &cobra.Command{
		Use: "try FILE|NAME", Short: "Poll the sources once and show the resulting rows", Args: cobra.ExactArgs(1),
		ValidArgsFunction: s.completePacks,
		Long: "Poll every source of a manifest once, as the daemon would. Show its rows, rejected rows with reasons, the raised\n" +
			"flags, and the brief. Private addresses need --allow-private with their host. Exit code 1 means that a source\n" +
			"failed or the brief did not pass its check.",
		Example: "  contextd packs try my-coins\n  contextd packs try my-coins --source my-coins-source --rows 50\n" +
			"  contextd packs try my-coins -q '.sources[].dropped'",
	}
	c.Flags().StringVar(&o.source, "source", "", "ask only the source with this `id`")
	c.Flags().IntVar(&o.rows, "rows", 8, "show at most this many rows of a source")
	addPrivate(c, &o.private)
	_ = c.RegisterFlagCompletionFunc("source", s.completeSources) // fails only for a flag that is not there
	out := cli.AddOutput(c, cli.FieldsIn(packtest.Tried{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		done, _, _, err := s.tryPack(c, o, args[0])
		if err != nil {
			return err
		}
		view := cli.Answer{Piped: cli.Text, Text: func(w io.Writer, width int, style cli.Style) error {
			return printTried(w, width, style, done, o.rows)
		}}
		if err := out.Print(done, view); err != nil {
			return err
		}
		return verdictOf(done)
	}
	return c
}

func (s *settings) tryPack(c *cobra.Command, o packTryOptions, arg string) (packtest.Tried, packText, *manifest.Manifest, error) {
	p, cfg, err := s.manifestOf(arg)
	if err != nil {
		return packtest.Tried{}, p, nil, err
	}
	m, e, err := p.read()
	if err != nil {
		return packtest.Tried{}, p, nil, err
	}
	defer endEvaluator(e)
	var ids []string
	for _, s := range m.Sources {
		ids = append(ids, s.ID)
	}
	if o.source != "" && !slices.Contains(ids, o.source) {
		return packtest.Tried{}, p, nil, cli.Invalid("%s has no source %q; there are %s", m.Pack, o.source, strings.Join(ids, ", "))
	}
	done, err := packtest.Try(c.Context(), packtest.TryConfig{
		Manifest: m, Evaluator: e, PrivateHosts: slices.Concat(cfg.Packs.PrivateHosts, o.private), Only: o.source, Now: time.Now,
		Progress: func(id string) { fmt.Fprintf(c.ErrOrStderr(), "asking %s\n", id) },
	})
	return done, p, m, err
}

// verdictOf fails if something did not go well.
func verdictOf(done packtest.Tried) error {
	for _, s := range done.Sources {
		if s.Error != "" {
			return sourceFailure(s.ID, s.Error)
		}
	}
	if len(done.Findings) > 0 {
		return fmt.Errorf("the brief does not pass its check: %s", done.Findings[0])
	}
	return nil
}

// sourceFailure is that a source failed, with what to do.
func sourceFailure(who, text string) *cli.Failure {
	f := &cli.Failure{Exit: cli.ExitFailure, Reason: "source", Err: fmt.Errorf("%s: %s", who, text)}
	switch {
	case strings.Contains(text, "private address"):
		return f.WithHint("--allow-private with its host; the daemon has packs.private_hosts for that")
	case strings.HasPrefix(text, string(source.ClassBadContent)), strings.HasPrefix(text, string(source.ClassEmpty)):
		return f.WithHint("correct format, expect or rows; contextd help packs")
	}
	return f.WithHint("correct its request; contextd help packs")
}

func printTried(w io.Writer, width int, style cli.Style, done packtest.Tried, most int) error {
	var b bytes.Buffer
	for _, s := range done.Sources {
		if s.Error != "" {
			fmt.Fprintf(&b, "%s %s: %s\n", style.Bad(style.Mark("error")), style.Bold(s.ID), s.Error)
		} else {
			fmt.Fprintf(&b, "%s %s: %d of %d rows, %s in %d ms\n", style.Good(style.Mark("ok")), style.Bold(s.ID), s.Kept, s.Given,
				human.Bytes(int64(s.Bytes)), s.LatencyMS)
		}
		for _, text := range s.Dropped {
			fmt.Fprintf(&b, "  left out: %s\n", text)
		}
		if err := triedRows(s, most).Write(&b, width, style); err != nil {
			return err
		}
		if over := s.Kept - most; over > 0 {
			fmt.Fprintf(&b, "and %d more rows\n", over)
		}
		fmt.Fprintln(&b)
	}
	for _, f := range done.Flags {
		fmt.Fprintf(&b, "%s %s: %s\n", style.Warn(string(f.Severity)), f.Kind, f.Message)
	}
	if len(done.Flags) == 0 {
		fmt.Fprintln(&b, "no flag is up")
	}
	fmt.Fprintf(&b, "\n%s\n", done.Brief)
	for _, text := range done.Findings {
		fmt.Fprintf(&b, "%s the brief: %s\n", style.Bad(style.Mark("error")), text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// triedRows are the first rows of a source as a table.
func triedRows(s packtest.TriedSource, most int) *cli.Rows {
	rows := &cli.Rows{}
	for _, row := range s.Rows[:min(len(s.Rows), most)] {
		for _, f := range row {
			if !slices.Contains(rows.Columns, f.Name) {
				rows.Columns = append(rows.Columns, f.Name)
			}
		}
	}
	rows.Wide = min(1, max(len(rows.Columns)-1, 0))
	for _, row := range s.Rows[:min(len(s.Rows), most)] {
		cells := make([]string, len(rows.Columns))
		for i, name := range rows.Columns {
			cells[i] = "-"
			if v := row.Get(name); v != nil {
				cells[i] = human.Value(name, plainValue(v))
			}
		}
		rows.Rows = append(rows.Rows, cells)
	}
	for i, name := range rows.Columns { // as people read it, where that still tells the fields apart
		head, before := human.FieldHead(name, ""), rows.Columns[:i]
		if head != "" && !slices.Contains(before, head) && !slices.Contains(rows.Columns, head) {
			rows.Columns[i] = head
		}
	}
	return rows
}

// plainValue is v as it is told: a time as its text.
func plainValue(v any) any {
	if at, is := v.(time.Time); is {
		return at.Format(time.RFC3339)
	}
	return v
}

// newPackRecord makes the command that keeps answers for tests.
func newPackRecord(s *settings) *cobra.Command {
	o := packTryOptions{}
	c := &cobra.Command{
		Use: "record FILE|NAME", Short: "Record the sources' answers for contextd packs test", Args: cobra.ExactArgs(1),
		ValidArgsFunction: s.completePacks,
		Long: "Poll every source of a manifest once and store the answers as the next tick, in NAME.test beside the manifest.\n" +
			"Record three ticks, a few minutes apart. Answers that repeat a secret key are not stored.",
		Example: "  contextd packs record my-coins\n  contextd packs test my-coins",
	}
	addPrivate(c, &o.private)
	out := cli.AddOutput(c, cli.FieldsIn(recorded{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		done, p, m, err := s.tryPack(c, o, args[0])
		if err == nil && p.file == "" {
			err = cli.Invalid("what is recorded of %s is part of the program", m.Pack)
		}
		if err != nil {
			return err
		}
		for _, s := range done.Sources {
			if s.Error != "" {
				return sourceFailure("nothing is recorded: "+s.ID, s.Error)
			}
		}
		if err := secretsIn(m, done.Answers); err != nil {
			return err
		}
		r := recorded{Dir: p.recording(), Sources: len(done.Answers)}
		if r.Tick, err = packtest.Record(r.Dir, m, done.At, done.Answers); err != nil {
			return err
		}
		return out.Print(r, prose(func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "recorded tick %d of %s in %s\n", r.Tick, m.Pack, r.Dir)
			return err
		}))
	}
	return c
}

// recorded is what was kept.
type recorded struct {
	Dir     string `json:"dir"`
	Tick    int    `json:"tick"`
	Sources int    `json:"sources"`
}

// secretsIn fails if an answer holds a key that was sent.
func secretsIn(m *manifest.Manifest, answers map[string][]byte) error {
	for i := range m.Sources {
		s := &m.Sources[i]
		if s.Request.KeyFile == "" {
			continue
		}
		key, err := m.Key(s)
		if err != nil {
			return fmt.Errorf("read key of %s: %w", s.ID, err)
		}
		if bytes.Contains(answers[s.ID], []byte(key)) {
			return fmt.Errorf("nothing is recorded: the answer of %s repeats the key", s.ID)
		}
	}
	return nil
}

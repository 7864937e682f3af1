package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// newEvidence makes the commands about what sources answered.
func newEvidence(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "evidence", Short: "List, verify and export what the sources answered",
		Long: "List, verify and export what the sources answered, which a daemon keeps with evidence.keep. These commands also\n" +
			"work while the daemon runs.",
	}
	cli.Group(c, newEvidenceList(s), newEvidenceVerify(s), newEvidenceExport(s))
	return c
}

func newEvidenceList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Args: cobra.NoArgs, Short: "Show what is kept of each source"}
	out := cli.AddOutput(c, cli.FieldsIn(evidence.Holding{})...)
	c.RunE = func(*cobra.Command, []string) error {
		cfg, err := s.data()
		if err != nil {
			return err
		}
		kept, err := evidence.Read(filepath.Join(cfg.Dir, evidence.Dir))
		if err != nil {
			return err
		}
		list := kept.List()
		rows := &cli.Rows{
			Columns: []string{"pack", "source", "fetches", "oldest", "newest", "size"}, Right: []bool{2: true, 5: true}, Wide: 1,
			Empty: "nothing is kept: evidence.keep is off, or no source has answered since",
		}
		for _, k := range list {
			rows.Rows = append(rows.Rows, []string{k.Pack, k.Source, fmt.Sprint(k.Fetches), k.Oldest.Format(time.DateTime),
				k.Newest.Format(time.DateTime), human.Bytes(k.Bytes)})
		}
		return out.Print(list, table(rows))
	}
	return c
}

// leafChoice says which state a command is about.
type leafChoice struct {
	pack string
	seq  int64
	at   string // as typed
}

func (l *leafChoice) bind(s *settings, c *cobra.Command) {
	c.Flags().StringVar(&l.pack, "pack", api.PackCrypto, "the `pack`")
	c.Flags().Int64Var(&l.seq, "seq", -1, "the state of the leaf at this `place` in the log")
	c.Flags().StringVar(&l.at, "at", "", "the state as of this `time`; the newest without")
	c.MarkFlagsMutuallyExclusive("seq", "at")
	_ = c.RegisterFlagCompletionFunc("pack", s.completePacks) // it fails for a flag that is not there
}

// with opens what a state is recomputed of.
func (l leafChoice) with(s *settings, c *cobra.Command, act func(v evidence.Verifier, seq int64) error) (err error) {
	data, err := s.data()
	if err != nil {
		return err
	}
	p, err := packToVerify(s, l.pack)
	if err != nil {
		return err
	}
	if _, err := os.Stat(data.Dir); err != nil {
		return noDirectory(data.Dir)
	}
	kept, err := evidence.Read(filepath.Join(data.Dir, evidence.Dir))
	if err != nil {
		return err
	}
	h, err := history.OpenRead(c.Context(), cmp.Or(data.StoreURL, data.Dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	v := evidence.Verifier{Pack: p.Pack, Writer: p.Writer, History: h, Store: kept}
	seq := l.seq
	if seq < 0 {
		at := data.Now().Add(24 * time.Hour) // the newest, also by a clock that is ahead
		if l.at != "" {
			if at, err = human.ParsePoint(l.at, data.Now()); err != nil {
				return cli.Invalid("--at: %w", err)
			}
		}
		if seq, err = v.At(c.Context(), at); err != nil {
			return err
		}
	}
	return act(v, seq)
}

func newEvidenceVerify(s *settings) *cobra.Command {
	var l leafChoice
	var file string
	c := &cobra.Command{
		Use: "verify", Args: cobra.NoArgs, Short: "Recompute a published state from what the sources answered",
		Long: "Recompute a published state: the document of each source from the bodies that it answered, then the state, its\n" +
			"brief by rules and the rows behind it from these and the state before, with the code that makes them. Every\n" +
			"hash is compared with the leaf of the transparency log. Exit code 1 means that something is not equal; what is\n" +
			"kept no more cannot be compared, and is named. That sources failed, and how, is the word of the daemon alone.\n\n" +
			"--from reads a file that contextd db evidence export wrote, and needs neither a daemon nor a network. Compare the\n" +
			"hash of the leaf with that of ctx verify: it is the log that says what was published. Where the terms of sources\n" +
			"kept them out of the file, only rows that come out equal without them are told equal.",
		Example: "  contextd db evidence verify\n  contextd db evidence verify --at 1h -o json\n" +
			"  contextd db evidence verify --from audit.zip",
	}
	l.bind(s, c)
	c.Flags().StringVar(&file, "from", "", "verify what is in this `file`, an export of evidence")
	c.MarkFlagsMutuallyExclusive("from", "seq", "at")
	c.MarkFlagsMutuallyExclusive("from", "pack")
	out := cli.AddOutput(c, cli.FieldsIn(evidence.Report{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		show := func(r *evidence.Report, err error) error {
			if err != nil {
				return err
			}
			if err := out.Print(r, prose(func(w io.Writer) error { return printReport(w, r) })); err != nil {
				return err
			}
			if len(r.Problems) > 0 {
				return &cli.Failure{Err: fmt.Errorf("%s of leaf %d not equal", human.Plural(len(r.Problems), "part"), r.Seq),
					Hint: "the program that made it is " + human.Line(r.Code) + " on " + human.Line(r.Arch) + ": try with that one"}
			}
			return nil
		}
		if file != "" {
			return show(verifyFile(c.Context(), s, file))
		}
		return l.with(s, c, func(v evidence.Verifier, seq int64) error { return show(v.Verify(c.Context(), seq)) })
	}
	return c
}

// verifyFile recomputes the state in an export of evidence.
func verifyFile(ctx context.Context, s *settings, name string) (*evidence.Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, cli.Invalid("--from: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	a, err := evidence.ReadExport(file, info.Size())
	if err != nil {
		return nil, cli.Invalid("--from %s: %w", name, err)
	}
	p, err := packToVerify(s, a.Leaf.Pack)
	if err != nil {
		return nil, err
	}
	return a.Verify(ctx, p.Pack, p.Writer)
}

// packToVerify is a pack as it is served here or, if it is not, as packs.dir or the program has it.
func packToVerify(s *settings, id string) (p daemon.Pack, err error) {
	cfg, err := s.Load()
	if err != nil {
		return p, err
	}
	made, err := cfg.Daemon(slog.New(slog.DiscardHandler))
	if err != nil {
		return p, err
	}
	if i := slices.IndexFunc(made.Packs, func(p daemon.Pack) bool { return p.ID == id }); i >= 0 {
		return made.Packs[i], nil
	}
	if p, err = cfg.Packs.Open(id); err != nil {
		return p, cli.Invalid("%w", err).WithHint("put the manifest of the pack into packs.dir")
	}
	return p, nil
}

func printReport(w io.Writer, r *evidence.Report) error {
	counts := map[string]int{}
	for _, row := range r.Rows {
		counts[row.Found]++
	}
	fmt.Fprintf(w, "leaf %d of %s, of %s\n", r.Seq, human.Line(r.Log), r.GeneratedAt.Format(time.DateTime))
	fmt.Fprintf(w, "  its hash %s\n", r.Leaf)
	fmt.Fprintf(w, "  state %s, rows behind it %s, brief by rules %s, manifest %s\n", r.State, r.Tables, r.Brief, r.Manifest)
	fmt.Fprintf(w, "  %s of the state equal, %d not", human.Plural(counts[evidence.Equal], "row"), counts[evidence.Differs])
	if n := counts[evidence.Unkept]; n > 0 {
		fmt.Fprintf(w, ", %d not compared", n)
	}
	fmt.Fprintln(w)
	for _, row := range r.Rows {
		if row.Found == evidence.Differs {
			fmt.Fprintf(w, "  row %s at %s %s\n", human.Line(row.Row), human.Line(row.Path), row.Found)
		}
	}
	for _, s := range r.Sources {
		fmt.Fprintf(w, "  %-24s document %-8s  from its bodies %-8s", human.Line(s.ID), s.Doc, s.Body)
		if s.Why != "" {
			fmt.Fprintf(w, "  %s", human.Line(s.Why))
		}
		fmt.Fprintln(w)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "! %s\n", human.Line(p))
	}
	return nil
}

func newEvidenceExport(s *settings) *cobra.Command {
	var l leafChoice
	var all bool
	c := &cobra.Command{
		Use: "export FILE", Args: cobra.ExactArgs(1), Short: "Write the evidence of a state to a file for an auditor",
		Long: "Write the evidence of a published state to a zip archive: the leaf, the state and those before that it was made\n" +
			"from, and of each source its fetch, the bodies and the document; contextd db evidence verify --from reads it.\n" +
			"Sources whose terms do not allow it to be passed on are left out and named; with --all they are in it, and the\n" +
			"file is for you, or for who has your licence.",
		Example: "  contextd db evidence export audit.zip\n  contextd db evidence export audit.zip --seq 12 --all",
	}
	l.bind(s, c)
	c.Flags().BoolVar(&all, "all", false, "also bodies that must not be passed on")
	out := cli.AddOutput(c, cli.FieldsIn(evidence.Exported{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		return l.with(s, c, func(v evidence.Verifier, seq int64) error {
			var told *evidence.Exported
			file := atomicfile.File{Path: args[0], Mode: 0o600}
			err := file.Write(func(w io.Writer) (err error) {
				told, err = v.Export(c.Context(), seq, all, w)
				return err
			})
			if err != nil {
				return err
			}
			return out.Print(told, prose(func(w io.Writer) error {
				fmt.Fprintf(w, "wrote %s: leaf %d with %s\n", args[0], told.Seq, human.Plural(len(told.Sources), "source"))
				for _, left := range told.LeftOut {
					fmt.Fprintf(w, "  without %s: %s\n", human.Line(left.ID), human.Line(left.Why))
				}
				return nil
			}))
		})
	}
	return c
}

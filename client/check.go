package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/check"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type checkOptions struct {
	*streams
	client func() (*sdk.Client, error)

	request    sdk.CheckRequest
	file       string
	at, within string
	strict     bool

	logs   *logs
	save   string // file for what the text was judged against, "" for none
	bundle string // file to judge by, "" for the service
	key    string // that must have signed it
}

// newCheck makes the command that judges the figures of a text.
func newCheck(f *factory) *cobra.Command {
	o := &checkOptions{streams: f.streams, client: f.Client, logs: f.Logs}
	c := f.Command(&cobra.Command{
		Use: "check FILE", Short: "Judge the figures of a text",
		SuggestFor: []string{"judge", "factcheck", "verify-text"},
		Long: "Judge each figure of a text, - for standard input, against what the sources last gave, or with --at against a\n" +
			"past state: verified, refuted, stale or unknown. The text may have 16 KiB and 300 numbers; it is not kept.\n\n" +
			"A figure is refuted only if its name, unit and words leave one meaning and the row says something else. All else is\n" +
			"unknown, with a reason: no figure is refuted because it was not found. A text of which nothing can be judged is free.\n\n" +
			"The command exits with 16 if a figure is refuted, with 10 if one is stale, and with --strict with 16 if one is unknown.\n\n" +
			"--save writes the state, its proof, and the rows and samples of the judgement to a file, signed by the log; it costs\n" +
			"a snapshot too. --bundle judges by such a file, or by one of ctx state --bundle, without the service: with the file\n" +
			"that --save wrote for the text, to the same bytes. In other files, what the state does not show is unknown.",
		Example: "  ctx check draft.md\n  git show HEAD:news.md | ctx check -\n  ctx check draft.md --at 2026-11-20T20:05 --all\n" +
			"  ctx check draft.md --save judged.json; ctx check draft.md --bundle judged.json",
	}, []string{"findings", "verdict", "clear", "judged", "verified", "refuted", "stale", "unknown", "at", "citations", "freshness"},
		func(ctx context.Context, args []string) (err error) {
			o.file = args[0]
			if o.bundle == "" {
				o.request.Pack, err = f.Pack([]string{o.request.Pack})
			}
			if err != nil {
				return err
			}
			return o.run(ctx)
		})
	flags, r := c.Flags(), &o.request
	flags.BoolVar(&r.All, "all", false, "also show what is verified")
	flags.BoolVar(&o.strict, "strict", false, "fail if a figure is unknown")
	flags.StringVar(&o.at, "at", "", "as of this minute, as `time`")
	flags.StringVar(&o.within, "within", "", "accept values of this `time` before too (default 15m)")
	flags.StringVar(&o.save, "save", "", "write what the text was judged against to this `file`, for --bundle and ctx verify")
	flags.StringVar(&o.bundle, "bundle", "", "judge by this `file`, offline")
	flags.StringVar(&o.key, "key", "", "with --bundle, the verifier `key` that must have signed it")
	f.Packed(c, &r.Pack, "judge by this `pack`", 1, 1)
	for _, online := range []string{"save", "at", "pack"} {
		c.MarkFlagsMutuallyExclusive("bundle", online)
	}
	return c
}

// text is the text that is to be judged.
func (o *checkOptions) text() (string, error) {
	in := o.In
	if o.file != "-" {
		file, err := os.Open(o.file)
		if err != nil {
			return "", cli.Invalid("%w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, api.MaxCheckBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", o.file, err)
	case len(text) > api.MaxCheckBytes:
		return "", cli.Invalid("%s has more than %d bytes", o.file, api.MaxCheckBytes)
	}
	return string(text), nil
}

func (o *checkOptions) run(ctx context.Context) (err error) {
	if o.at != "" {
		if o.request.At, err = human.ParsePoint(o.at, o.Now()); err != nil {
			return cli.Invalid("--at: %w", err)
		}
	}
	if o.within != "" {
		if o.request.Within, err = readSpan(api.OpCheck, "within", "--within", o.within); err != nil {
			return err
		}
	}
	if o.request.Text, err = o.text(); err != nil {
		return err
	}
	if strings.TrimSpace(o.request.Text) == "" {
		return cli.Invalid("%s is empty", o.file)
	}
	found, err := o.judged(ctx)
	if err != nil {
		return err
	}
	doc, err := cli.Marshal(found)
	if err != nil {
		return err
	}
	err = o.Print(ctx, cli.Answer{JSON: doc, Rows: checkRows(found), Text: func(w io.Writer, width int, style cli.Style) error {
		return Page{W: w, Width: width, Style: style, Now: o.Now()}.check(found)
	}})
	if err != nil {
		return err
	}
	return o.verdict(found)
}

// judged is what became of the text, by a bundle or by the service.
func (o *checkOptions) judged(ctx context.Context) (*api.CheckResponse, error) {
	if o.bundle != "" {
		return o.offline(ctx)
	}
	if o.save != "" {
		if err := writable("--save", o.save); err != nil {
			return nil, err
		}
	}
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	var meta sdk.Response
	o.request.Basis = o.save != ""
	found, err := client.Check(ctx, o.request, o.Call(&meta)...)
	if err != nil {
		return nil, err
	}
	o.ReportMeta(&meta)
	if o.save == "" {
		return found, nil
	}
	basis := found.Basis
	if found.Basis = nil; basis == nil {
		return nil, unproved(o.save)
	}
	state, of, err := snapshot(ctx, o.streams, o.client, o.request.Pack, found.At)
	if err != nil {
		return nil, err
	}
	return found, writeBundle(ctx, o.logs, "--save", o.save, o.request.Pack, state, basis, of)
}

// offline judges the text by a bundle, once that holds.
func (o *checkOptions) offline(ctx context.Context) (*api.CheckResponse, error) {
	data, err := os.ReadFile(o.bundle)
	if err != nil {
		return nil, cli.Invalid("--bundle: %w", err)
	}
	if !sdk.IsBundle(data) {
		return nil, cli.Invalid("%s is no bundle", o.bundle).WithHint("ctx check FILE --save and ctx state --bundle write one")
	}
	b, p, err := sdk.VerifyBundle(data, o.key, o.logs.Witnesses()...)
	if err != nil {
		return nil, err
	}
	if known, err := o.logs.OfOrigin(p.Checkpoint.Origin); err != nil {
		return nil, err
	} else if o.key == "" && (known == nil || known.Key != p.Checkpoint.Key) {
		o.Note("only the file says that the key is that of the log %s: ctx verify %s --key KEY proves it", p.Checkpoint.Origin, o.bundle)
	}
	doc := state.Read(b.State)
	basis := check.BasisOf(doc, p.Leaf.GeneratedAt, api.CheckWithin)
	if b.Check != nil {
		if basis, err = check.ReadBasis([]byte(b.Check.Text)); err != nil {
			return nil, err
		}
	}
	if o.within != "" {
		basis.Within = o.request.Within
	}
	found := basis.Judge(o.request.Text, doc, o.request.All)
	return &found, nil
}

// verdict is the failure that a text is, nil for one that is clear.
func (o *checkOptions) verdict(found *api.CheckResponse) error {
	fail := func(exit int, why string, n int) error {
		return &cli.Failure{Exit: exit, Reason: why, Err: fmt.Errorf("%s %s", human.Plural(n, "figure"), why)}
	}
	switch {
	case found.Refuted > 0:
		return fail(cli.ExitRefuted, string(api.CheckRefuted), found.Refuted)
	case o.strict && found.Unknown > 0:
		return fail(cli.ExitRefuted, string(api.CheckUnknown), found.Unknown)
	case found.Stale > 0:
		return fail(cli.ExitStale, string(api.CheckStale), found.Stale)
	}
	return nil
}

// checkRows are the findings, a row for each.
func checkRows(found *api.CheckResponse) *cli.Rows {
	rows := &cli.Rows{Columns: []string{"start", "end", "text", "verdict", "reason", "row", "field", "actual", "says"}, Wide: 8}
	for _, f := range found.Findings {
		actual := ""
		if f.Actual != nil {
			actual = human.Plain(*f.Actual)
		}
		rows.Rows = append(rows.Rows, []string{fmt.Sprint(f.Start), fmt.Sprint(f.End), f.Text, string(f.Verdict), string(f.Reason), f.Row,
			f.Field, actual, f.Says})
	}
	return rows
}

// check shows what became of a text for people: a line for each figure, and the counts.
func (p Page) check(found *api.CheckResponse) error {
	var b strings.Builder
	for _, f := range found.Findings {
		line := api.CheckMark(f.Verdict) + " " + human.Label(f.Text, human.Quoted) + "  " + string(f.Verdict)
		if f.Reason != "" && f.Reason != api.CheckOtherValue {
			line += ": " + string(f.Reason)
		}
		if f.AsOf != nil {
			line += ", so at " + f.AsOf.UTC().Format("2006-01-02 15:04 UTC")
		}
		fmt.Fprintln(&b, line)
		if f.Says != "" && f.Verdict != api.CheckVerified {
			fmt.Fprintf(&b, "  %s\n", human.Short(f.Says, 2*api.MaxLookupQuery))
		}
	}
	fmt.Fprintf(&b, "%d verified, %d refuted, %d stale, %d unknown; %s\n", found.Verified, found.Refuted, found.Stale, found.Unknown,
		p.Style.Dim("state of "+found.At.UTC().Format(time.RFC3339)))
	_, err := io.WriteString(p.W, b.String())
	return err
}

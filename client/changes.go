package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type changesOptions struct {
	*streams
	client func() (*sdk.Client, error)

	ask   sdk.ChangesRequest
	since string // as typed
}

// newChanges makes the command that tells what is different since a moment.
func newChanges(f *factory) *cobra.Command {
	o := changesOptions{streams: f.streams, client: f.Client}
	d := diffOptions{streams: f.streams, client: f.Client, digestOptions: digestOptions{min: minMove}}
	var c *cobra.Command
	var between *pflag.Flag
	c = f.Command(&cobra.Command{
		Use: "changes --since TIME", Short: "Show changes since a moment, or between two",
		SuggestFor: []string{"news", "compare", "delta"},
		Long: "Show changes since a moment: flags that appeared, rose, fell or ended, rows by the size of their moves, new\n" +
			"headlines, and failing sources. The service compares, in one call.\n\n" +
			"With --from, ctx compares the states of two minutes, each of which is one call: a terminal shows a summary, --all\n" +
			"and JSON every value.\n\n" +
			"TIME is " + human.MomentForms + ".\n" +
			"Times without a zone are local. Use the generatedAt of the last answer to miss nothing between two calls.",
		Example: "  ctx changes --since 20m\n  ctx changes --since 14:00 --min 0.5 --kinds asset,headline\n" +
			"  ctx changes --since 1h --jq '.flags[] | select(.change == \"appeared\") | .message'\n" +
			"  ctx changes --from \"yesterday 14:00\" --to \"yesterday 15:00\" --path top_movers\n" +
			"  ctx changes --from 1h --jq '.changes[] | select(.row == \"BTC\")'",
	}, append(changesFields(), diffFields()...), func(ctx context.Context, _ []string) (err error) {
		if o.ask.Pack, err = f.Pack([]string{o.ask.Pack}); err != nil {
			return err
		}
		if !between.Changed {
			return o.run(ctx)
		}
		if d.pack = o.ask.Pack; c.Flags().Changed("min") {
			d.min = o.ask.Min
		}
		return d.run(ctx)
	})
	flags := c.Flags()
	d.register(flags)
	between = flags.Lookup("from")
	flags.StringVar(&o.since, "since", "", "show changes since this `time` (required)")
	flags.Float64Var(&o.ask.Min, "min", 0,
		fmt.Sprintf("leave out rows with moves below this `percent` (with --from %v unless set)", minMove))
	flags.StringSliceVar(&o.ask.Kinds, "kinds", nil, "only rows of these `kinds`, with commas between, such as asset,headline")
	for _, other := range []string{"since", "kinds"} {
		c.MarkFlagsMutuallyExclusive("from", other)
	}
	c.PreRun = func(c *cobra.Command, _ []string) {
		if cli.SetFields(c, changesFields()...); between.Changed {
			cli.SetFields(c, diffFields()...)
		}
	}
	_ = c.RegisterFlagCompletionFunc("kinds", f.CompleteKinds())
	return f.Packed(c, &o.ask.Pack, "the changes of this `pack`", 0, 0)
}

func changesFields() []string {
	return []string{"since", "from", "to", "flags", "rows", "headlines", "sources", "clear", "sourcesAnswered", "sourcesAsked", "citations",
		"freshness"}
}

func (o changesOptions) run(ctx context.Context) (err error) {
	if o.since == "" {
		return cli.Invalid("--since is missing: the moment to compare with").WithHint("ctx changes --since 20m")
	}
	if ago, span := api.ParseAgo(o.since); span {
		o.ask.Ago = ago
	} else if o.ask.Since, err = human.ParsePoint(o.since, o.Now()); err != nil {
		return cli.Invalid("--since: %w", err)
	}
	if o.ask.Min < 0 {
		return cli.Invalid("--min is %v, must be 0 or more", o.ask.Min)
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	changes, err := client.Changes(ctx, o.ask, o.Call(&meta)...)
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	now := o.Now()
	return o.Print(ctx, cli.Answer{JSON: meta.Body, Piped: cli.JSON, Text: func(w io.Writer, width int, style cli.Style) error {
		return Page{W: w, Width: width, Style: style, Now: now}.Changes(o.ask.Pack, changes)
	}})
}

// Changes draws an answer of changes.
func (p Page) Changes(pack string, c *api.ChangesResponse) error {
	var b bytes.Buffer
	w := p.W
	p.W = &b
	arrow := "→"
	if p.Style.ASCII {
		arrow = "->"
	}
	p.line("%s  %s %s %s  %s", p.Style.Bold(human.Line(pack)), p.clock(c.From), arrow, p.clock(c.To), p.age(c.Freshness))
	for _, f := range c.Flags {
		p.cited("  ", human.Line(p.flagChange(f)), f.Ref, "")
	}
	for _, r := range c.Rows {
		moved, beside := state.Moved(r, c.Citations), ""
		text := moved.Label
		for _, cell := range moved.Cells {
			text += "  " + p.signed(strings.Replace(cell.Text, "→", arrow, 1), cell.Sign)
		}
		switch age := moved.Age(c.Freshness.Told()); {
		case r.Stale:
			beside = p.Style.Warn(age)
		case r.Of != "":
			beside = p.Style.Dim(age)
		}
		p.cited("  ", text, r.Ref, beside)
	}
	for _, h := range c.Headlines {
		p.cited("  new  ", h.At.In(p.Now.Location()).Format("15:04")+"  "+human.Line(h.Title), h.Ref, "")
	}
	var closing []string
	for _, cell := range state.Closing(*c) {
		switch text := cell.Text; cell.Sign {
		case 1:
			closing = append(closing, p.Style.Good(text))
		case -1:
			closing = append(closing, p.Style.Warn(text))
		default:
			closing = append(closing, text)
		}
	}
	p.line("%s", strings.Join(closing, ", "))
	_, err := w.Write(b.Bytes())
	return err
}

func (p Page) flagChange(f api.ChangedFlag) string {
	severity := strings.ToUpper(string(f.Severity))
	if f.Was != "" && f.Was != f.Severity {
		severity += ", was " + string(f.Was)
	}
	change := string(f.Change)
	if state.Passed(f) {
		change = "came and went"
	}
	text := fmt.Sprintf("%s (%s)  %s", change, severity, f.Message)
	if f.EventAt != nil {
		text += ", happened " + p.clock(*f.EventAt)
	}
	if state.Passed(f) {
		text += ", from " + p.clock(f.Since) + " to " + p.clock(*f.EndedAt)
	}
	return text
}

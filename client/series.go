package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

type seriesOptions struct {
	*streams
	client func() (*sdk.Client, error)
	packs  packList

	pack, field, span string
	points            int
}

// newChart makes the command that shows numbers over time.
func newChart(f *factory) *cobra.Command {
	o := seriesOptions{streams: f.streams, client: f.Client, packs: f.Packs}
	c := f.Command(&cobra.Command{
		Use: "chart NAME", Short: "Show a number over time",
		ValidArgsFunction: anyName(f.Config, "top_movers"), SuggestFor: []string{"trend", "graph", "plot", "sparkline"},
		Long: "Show a number over time: for one thing, by its name (the lookup is a separate call) or as kind/key, or for the\n" +
			"rows now in a member of the state. The values come from past states: a row that no state had has no past.\n\n" +
			"Outside a terminal, each value is a line: kind, key, name, field, time and value, separated by tabs.",
		Example: "  ctx chart BTC --span 24h\n  ctx chart top_movers --field change24hPct\n" +
			"  ctx chart chain/solana --span 7d --points 84\n  ctx chart asset/bitcoin -q '.rows[0].values'",
	}, []string{"path", "span", "times", "rows", "freshness"}, func(ctx context.Context, args []string) error {
		pack, err := f.Pack([]string{o.pack})
		if err != nil {
			return err
		}
		o.pack = pack
		return o.run(ctx, strings.Join(args, " "))
	})
	flags := c.Flags()
	flags.StringVar(&o.field, "field", "", "the `number`, such as priceUsd or change24hPct (default the most important one)")
	_ = c.RegisterFlagCompletionFunc("field", f.CompleteNumbers())
	flags.StringVar(&o.span, "span", api.FormatSpan(api.SeriesSpanDefault), "how far back, as `time`, 1h or more: 24h, 7d")
	wholeFlag(flags, &o.points, api.OpSeries, "points", "points", "", "so `many` values")
	return f.Packed(c, &o.pack, "look in this `pack`", 1, anyNumber)
}

func (o seriesOptions) run(ctx context.Context, what string) error {
	span, err := readSpan(api.OpSeries, "span", "--span", o.span)
	if err == nil {
		err = checkWhole(api.OpSeries, "points", "--points", o.points)
	}
	if err != nil {
		return err
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	r := sdk.SeriesRequest{Pack: o.pack, Path: what, Field: o.field, Points: o.points, Span: span}
	if !strings.Contains(what, "/") && !o.isMember(ctx, what) {
		if err := o.resolve(ctx, client, &r); err != nil {
			return err
		}
	}
	var meta sdk.Response
	series, err := client.Series(ctx, r, o.Call(&meta)...)
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	doc, err := cli.Marshal(series)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: seriesRows(series), Text: func(w io.Writer, width int, style cli.Style) error {
		return Page{W: w, Width: width, Style: style, Now: o.Now()}.series(series)
	}})
}

// isMember reports whether a name is that of a member of a state, or of a part of one, and not of a thing.
func (o seriesOptions) isMember(ctx context.Context, name string) bool {
	members, whole := o.packs.Members(ctx, o.pack)
	top := name
	if i := strings.IndexAny(name, ".["); i >= 0 {
		top = name[:i]
	}
	return slices.Contains(members, top) || strings.Contains(name, "_") || !whole && strings.Contains(name, ".")
}

// resolve looks up what r asks for by name.
func (o seriesOptions) resolve(ctx context.Context, client *sdk.Client, r *sdk.SeriesRequest) error {
	var meta sdk.Response
	found, err := client.Lookup(ctx, sdk.LookupRequest{Pack: o.pack, Questions: []string{r.Path}, Limit: 1}, o.Call(&meta)...)
	if err != nil {
		return err
	}
	if len(found.Results) == 0 || len(found.Results[0].Rows) == 0 {
		failure := &cli.Failure{Exit: cli.ExitNotFound, Reason: string(api.ReasonNothingFound), Err: fmt.Errorf("%q is not known", r.Path)}
		if len(found.Results) > 0 && len(found.Results[0].Near) > 0 {
			return failure.WithHint("near: %s", human.Line(strings.Join(found.Results[0].Near, ", ")))
		}
		return failure.WithHint("ctx ask %q", r.Path)
	}
	row := found.Results[0].Rows[0]
	if r.Field == "" && len(row.Asked) > 0 {
		r.Field = row.Asked[0]
	}
	r.Path = row.Kind + "/" + row.Key
	return nil
}

// seriesRows are the values, a row for each.
func seriesRows(s *api.SeriesResponse) *cli.Rows {
	rows := &cli.Rows{Columns: []string{"kind", "key", "name", "field", "time", "value"}, Wide: 2}
	for _, r := range s.Rows {
		for i, v := range r.Values[:min(len(r.Values), len(s.Times))] {
			value := ""
			if v != nil {
				value = human.Plain(*v)
			}
			rows.Rows = append(rows.Rows, []string{r.Kind, r.Key, r.Name, r.Field, s.Times[i].UTC().Format(time.RFC3339Nano), value})
		}
	}
	return rows
}

func (p Page) glyphs() view.Glyphs { return view.NewTheme(view.Mono, 0, p.Style.ASCII).Glyphs }

// knownValues are the values that are known, in their order.
func knownValues(values []*float64) (known []float64) {
	for _, v := range values {
		if v != nil {
			known = append(known, *v)
		}
	}
	return known
}

const chartHeight = 8

// series draws one row as a chart, and several as a line each.
func (p Page) series(s *api.SeriesResponse) error {
	switch len(s.Rows) {
	case 0:
		p.line("nothing is in %s now", human.Line(s.Path))
	case 1:
		p.chart(s.Rows[0], s.Times)
	default:
		if err := p.trend(s); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.W, "\n%s\n", p.Style.Dim(p.age(s.Freshness)))
	return err
}

// trend draws rows as a line each.
func (p Page) trend(s *api.SeriesResponse) error {
	var b bytes.Buffer
	w := p.W
	p.W = &b
	p.heading(strings.ToUpper(human.Line(s.Path)) + " over " + human.Line(s.Span))
	for _, r := range s.Rows {
		p.sparkRow(r)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (p Page) chart(r api.SeriesRow, times []time.Time) {
	values := knownValues(r.Values)
	if len(values) == 0 {
		p.line("%s: no state of that time shows it", human.Line(r.Name))
		return
	}
	first, last := values[0], values[len(values)-1]
	low, high := first, first
	for _, v := range values {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	p.line("%s  %s  %s", p.Style.Bold(human.Line(r.Name)), human.FieldMove(r.Field, first, last), p.move(r.Field, first, last))
	p.line("%s", p.Style.Dim(fmt.Sprintf("lowest %s, highest %s, %s to %s", human.Field(r.Field, low), human.Field(r.Field, high),
		p.clock(times[0]), p.clock(times[len(times)-1]))))
	for _, line := range view.Chart(values, min(p.Width, 100), chartHeight, p.glyphs()) {
		p.line("%s", line)
	}
	if missing := len(r.Values) - len(values); missing > 0 {
		p.line("%s", p.Style.Dim(fmt.Sprintf("%d of %d moments are left out: no state of then shows it", missing, len(r.Values))))
	}
}

// move is by how much a number changed, "" where it is in percent itself, or was nothing.
func (p Page) move(field string, from, to float64) string {
	if from == 0 || strings.HasSuffix(field, "Pct") {
		return ""
	}
	moved := state.Change((to/from - 1) * 100)
	return p.signed(moved.Text, moved.Sign)
}

func (p Page) sparkRow(r api.SeriesRow) {
	const name, value, moved = 18, 20, 9
	values := knownValues(r.Values)
	if len(values) == 0 {
		p.line("  %s %s", p.Style.Fit(human.Line(r.Name), name), human.Unknown)
		return
	}
	last := values[len(values)-1]
	p.line("  %s %s %s  %s", p.Style.Fit(human.Line(r.Name), name), p.Style.FitRight(human.Field(r.Field, last), value),
		p.Style.FitRight(p.move(r.Field, values[0], last), moved), p.spark(values, p.Width-name-value-moved-6))
}

// spark draws values in at most width columns, evenly chosen where they are more.
func (p Page) spark(values []float64, width int) string {
	if width = min(width, 60); width < 2 || len(values) < 2 {
		return ""
	}
	chosen := values
	if len(values) > width {
		chosen = make([]float64, width)
		for i := range chosen {
			chosen[i] = values[i*(len(values)-1)/(width-1)]
		}
	}
	return view.Sparkline(chosen, width, p.glyphs())
}

package client

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type queryOptions struct {
	*streams
	client func() (*sdk.Client, error)

	request  sdk.QueryRequest
	at, over string
}

// newQuery makes the command that shows rows by structure.
func newQuery(f *factory) *cobra.Command {
	o := &queryOptions{streams: f.streams, client: f.Client}
	c := f.Command(&cobra.Command{
		Use: "query [TABLE]", Short: "Filter, rank and total rows",
		SuggestFor: []string{"select", "rows", "tables"}, ValidArgsFunction: f.CompleteKinds(),
		Long: "Show rows by structure: those that meet conditions, in an order, with totals, as of a past minute, or with what\n" +
			"changed over a span. It covers everything fetched, not only the rows in the state; without TABLE it lists the\n" +
			"tables and their fields, free of charge.\n\n" +
			"A condition is FIELD OP VALUE with one of = != < <= > >= in ~, where ~ means that a text has the words. A query\n" +
			"without a row is free. Outside a terminal, each figure is a line: kind, key, name, field, value, from, age, stale\n" +
			"and url, separated by tabs; an aggregate has its name as its kind.",
		Example: "  ctx query\n  ctx query asset --order -change24hPct --limit 5\n" +
			"  ctx query protocol --where \"group = Lending\" --agg sum:tvlUsd,count\n" +
			"  ctx query asset --where \"symbol in BTC,ETH\" --fields priceUsd --at 3h\n" +
			"  ctx query asset --where symbol=BTC --agg min:priceUsd,max:priceUsd --over 24h\n" +
			"  ctx query flags --pack '*' --where \"severity >= warning\"",
	}, []string{"query", "rows", "total", "aggregates", "missing", "citations", "freshness", "packs", "spans"},
		func(ctx context.Context, args []string) (err error) {
			if len(args) == 0 {
				return o.tables(ctx)
			}
			if o.request.Table = args[0]; o.request.Pack != api.PackAll {
				if o.request.Pack, err = f.Pack([]string{o.request.Pack}); err != nil {
					return err
				}
			}
			return o.run(ctx)
		})
	flags, r := c.Flags(), &o.request
	flags.StringArrayVar(&r.Where, "where", nil, "only rows that meet this `condition`; repeat it for more")
	flags.StringSliceVar(&r.Fields, "fields", nil, "comma-separated `fields` to show (default all)")
	flags.StringVar(&r.Order, "order", "", "by this `field`, the least first; behind a -, the most first")
	wholeFlag(flags, &r.Limit, api.OpQuery, "limit", "limit", "k", "at most so `many` rows")
	flags.StringSliceVar(&r.Agg, "agg", nil, "comma-separated `aggregates`: count, sum:F, avg:F, min:F, max:F")
	flags.StringVar(&o.at, "at", "", "as of this minute, as `time`")
	flags.StringVar(&o.over, "over", "", "with what changed in this `time`, 1h or more: 24h, 7d")
	_ = c.RegisterFlagCompletionFunc("order", f.CompleteNumbers())
	_ = c.RegisterFlagCompletionFunc("fields", f.CompleteNumbers())
	return f.Packed(c, &r.Pack, "ask this `pack`, or * for all that the key may read", 0, 1)
}

// tables lists what can be asked.
func (o *queryOptions) tables(ctx context.Context) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	pack := o.request.Pack
	if pack == api.PackAll {
		pack = ""
	}
	tables, err := client.Tables(ctx, pack)
	if err != nil {
		return err
	}
	doc, err := cli.Marshal(tables)
	if err != nil {
		return err
	}
	rows := &cli.Rows{Columns: []string{"pack", "table", "rows", "order", "field", "type", "unit", "past"}}
	for _, p := range tables.Packs {
		for _, t := range p.Tables {
			for _, f := range t.Fields {
				rows.Rows = append(rows.Rows, []string{p.Pack, t.Table, strconv.Itoa(t.Rows), t.Order, f.Name, string(f.Type), f.Unit,
					strconv.FormatBool(f.Past)})
			}
		}
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: rows, Text: func(w io.Writer, width int, style cli.Style) error {
		return Page{W: w, Width: width, Style: style, Now: o.Now()}.queryTables(tables)
	}})
}

// queryTables shows what can be asked for people: the fields of each table, those that have a past with a mark.
func (p Page) queryTables(tables *api.QueryTables) error {
	const indent = "  "
	var b strings.Builder
	for _, pack := range tables.Packs {
		for _, t := range pack.Tables {
			order := ""
			if t.Order != "" {
				order = ", by " + t.Order
			}
			fmt.Fprintf(&b, "%s  %s, %s%s\n", p.Style.Bold(t.Table), pack.Pack, human.Plural(t.Rows, "row"), order)
			names := make([]string, len(t.Fields))
			for i, f := range t.Fields {
				if names[i] = f.Name; f.Past {
					names[i] += "*"
				}
			}
			for line := range strings.SplitSeq(ansi.Wordwrap(strings.Join(names, " "), max(p.Width-len(indent), 1), ""), "\n") {
				b.WriteString(indent + line + "\n")
			}
		}
	}
	fmt.Fprintf(&b, "\nEvery row has name, symbol, key and entity. --at and --over know the fields with a *, up to %s back.\n",
		tables.Spans.Window)
	_, err := io.WriteString(p.W, b.String())
	return err
}

func (o *queryOptions) run(ctx context.Context) (err error) {
	if o.at != "" {
		if o.request.At, err = human.ParsePoint(o.at, o.Now()); err != nil {
			return cli.Invalid("--at: %w", err)
		}
	}
	if o.over != "" {
		if o.request.Over, err = readSpan(api.OpQuery, "over", "--over", o.over); err != nil {
			return err
		}
	}
	if err := checkWhole(api.OpQuery, "limit", "--limit", o.request.Limit); err != nil {
		return err
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	found, err := client.Query(ctx, o.request, o.Call(&meta)...)
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	doc, err := cli.Marshal(found)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: queryFigures(found), Text: func(w io.Writer, width int, style cli.Style) error {
		return Page{W: w, Width: width, Style: style, Now: o.Now()}.query(found)
	}})
}

// queryFigures are the figures of an answer, a row for each, and the aggregates.
func queryFigures(found *api.QueryResponse) *cli.Rows {
	rows := &cli.Rows{Columns: []string{"kind", "key", "name", "field", "value", "from", "age", "stale", "url", "of"}, Wide: 2}
	for _, r := range found.Rows {
		for _, f := range r.Fields {
			rows.Rows = append(rows.Rows, []string{r.Kind, r.Key, r.Name, f.Name, plainValue(f.Value), movedFrom(r.Over, f.Name),
				strconv.FormatInt(r.AgeSeconds, 10), strconv.FormatBool(r.Stale), r.URL, r.Of})
		}
	}
	for _, agg := range found.Query.Agg {
		of, name, _ := strings.Cut(agg, ":")
		a := found.Aggregates[agg]
		value := ""
		if a.Value != nil {
			value = human.Plain(*a.Value)
		}
		rows.Rows = append(rows.Rows, []string{of, a.Row, "", name, value, "", "", "", ""})
	}
	return rows
}

// movedFrom is what a figure was at the beginning of the time that is asked about, "" where none is.
func movedFrom(over map[string]api.Move, field string) string {
	if m, moved := over[field]; moved {
		return human.Plain(m.From)
	}
	return ""
}

// query shows rows for people: a line each, with as many figures as fit, then the aggregates and what is missing.
func (p Page) query(found *api.QueryResponse) error {
	q, shown := found.Query, 4 // figures, where none are named
	for _, r := range found.Rows {
		if len(r.Name) > 2*leastName { // a sentence
			shown = 1
		}
	}
	if _, err := fmt.Fprintf(p.W, "%s\n\n", p.Style.Dim(human.Label(q.Text, api.MaxConditionValue))); err != nil {
		return err
	}
	fields := slices.Clone(q.Fields)
	for _, r := range found.Rows {
		for _, f := range r.Fields {
			if len(q.Fields) == 0 && len(fields) < shown && !slices.Contains(fields, f.Name) {
				fields = append(fields, f.Name)
			}
		}
	}
	order, more := strings.TrimPrefix(q.Order, "-"), len(q.Fields) == 0 && shown > 1
	if more && !slices.Contains(fields, order) && hasField(found.Rows, order) {
		fields = append(fields, order)
	}
	table := &cli.Rows{Columns: []string{"name"}, Right: []bool{false}, Empty: "no row meets the query"}
	for i, name := range fields {
		before := ""
		if i > 0 {
			before = fields[i-1]
		}
		table.Columns, table.Right = append(table.Columns, human.FieldHead(name, before)), append(table.Right, true)
	}
	table.Columns, table.Right = append(table.Columns, "age", "ref"), append(table.Right, true, true)
	for _, r := range found.Rows {
		line := []string{human.Label(state.Called(r.Name, r.Symbol), max(p.Width*3/10, leastName))}
		for _, field := range fields {
			text := ""
			if value := r.Fields.Get(field); value != nil {
				text = human.Label(human.Value(field, value), leastName)
			}
			if m, moved := r.Over[field]; moved {
				text = human.Value(field, m.From) + " → " + text
			}
			line = append(line, text)
		}
		table.Rows = append(table.Rows, append(line, state.QueriedAge(r), "["+r.Ref.String()+"]"))
	}
	if err := table.Write(p.W, p.Width, p.Style); err != nil {
		return err
	}
	var notes []string
	if found.Total > len(found.Rows) {
		notes = append(notes, fmt.Sprintf("%d of %d rows", len(found.Rows), found.Total))
	}
	notes = append(notes, state.QueryNotes(*found)...)
	age := p.age(found.Freshness)
	if q.At != "" {
		age = "state of " + found.Freshness.GeneratedAt.UTC().Format(time.RFC3339)
	}
	notes = append(notes, p.Style.Dim(age))
	_, err := fmt.Fprintf(p.W, "\n%s\n", strings.Join(notes, "\n"))
	return err
}

func hasField(rows []api.QueryRow, name string) bool {
	return slices.ContainsFunc(rows, func(r api.QueryRow) bool { return r.Fields.Get(name) != nil })
}

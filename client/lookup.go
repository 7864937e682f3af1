package client

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type lookupOptions struct {
	*streams
	client func() (*sdk.Client, error)
	config func() (*config.Config, error)

	pack  string
	kind  string // of rows; empty for all
	limit int    // rows per question
	price bool   // the questions are names, whose price is asked for and has to be known
}

// lookupFields are the fields of the answers to questions.
func lookupFields() []string { return []string{"results", "citations", "freshness"} }

// newAsk makes the command that answers questions.
func newAsk(f *factory) *cobra.Command {
	o := lookupOptions{streams: f.streams, client: f.Client, config: f.Config}
	found := searchOptions{streams: f.streams, client: f.Client}
	var limit *pflag.Flag
	text := false
	c := f.Command(&cobra.Command{
		Use: "ask QUESTION...", Short: "Ask for numbers and facts by name",
		ValidArgsFunction: anyName(f.Config, "@\tall of the watchlist"), SuggestFor: []string{"find", "get", "grep", "quotes"},
		Long: "Ask for numbers and facts: a name or symbol and the wanted figure, a past moment, a span, a rank, a total or a\n" +
			"comparison. Each argument is a question, and so is each part between commas. The lookup covers everything fetched,\n" +
			"not only the rows in the state. @ stands for the names in the watchlist. Below the rows stand how a question was\n" +
			"read, where that is not plain, and the words that cannot be given. Outside a terminal, each figure is a line:\n" +
			"question, kind, key, name, field, value, age, stale, url, match, of and from, separated by tabs; a total has a\n" +
			"field and a value alone, and what cannot be given is on stderr. A question without a result is free.\n\n" +
			"With --price, the arguments are names, and an unknown one is an error. With --text, they are words to find among\n" +
			"the names and values of the newest state: a whole word scores 1, a part of one 0.5. Outside a terminal, each match\n" +
			"is a line: path, value and score, separated by tabs.",
		Example: "  ctx ask \"ADA price\" \"top 5 coins by market cap\" \"btc price yesterday\"\n" +
			"  ctx ask --price ada btc\n  ctx ask solana --kind headline\n  ctx ask --pack '*' \"10 year yield\"\n  ctx ask @\n" +
			"  ctx ask ada -q '.results[0].rows[0].fields.priceUsd'\n  ctx ask --text \"extreme fear\" --exact --json path,value",
	}, append(lookupFields(), searchFields()...), func(ctx context.Context, args []string) (err error) {
		if !text && (found.exact || found.minScore != 0) {
			return cli.Invalid("--exact and --min-score are about matches of --text")
		}
		if o.pack != api.PackAll {
			if o.pack, err = f.Pack([]string{o.pack}); err != nil {
				return err
			}
		}
		if text {
			found.pack, found.query, found.k = o.pack, strings.Join(args, " "), o.limit
			return found.run(ctx)
		}
		return o.run(ctx, args)
	})
	flags := c.Flags()
	wholeFlag(flags, &o.limit, api.OpLookup, "limit", "limit", "k", "at most so `many` rows per question")
	limit = flags.Lookup("limit")
	limit.Usage += fmt.Sprintf("; of matches of --text at most %d", api.OpSearch.Operation().Param(api.FaceHTTP, "k").Max)
	flags.StringVar(&o.kind, "kind", "", "only rows of this `kind`, such as asset, stablecoin, protocol, chain, pool, headline or fee")
	_ = c.RegisterFlagCompletionFunc("kind", f.CompleteKinds())
	flags.BoolVar(&o.price, "price", false, "ask for the prices of names, each of which has to be known")
	flags.BoolVar(&text, "text", false, "find words in the newest state, and show paths and values")
	flags.Float64Var(&found.minScore, "min-score", 0, "only matches with this `score` or a higher one")
	flags.BoolVar(&found.exact, "exact", false, "match only whole words, like --min-score 1")
	c.MarkFlagsMutuallyExclusive("price", "text")
	c.MarkFlagsMutuallyExclusive("kind", "text")
	c.PreRun = func(c *cobra.Command, _ []string) {
		switch {
		case text:
			cli.SetFields(c, searchFields()...)
			if !limit.Changed {
				o.limit = wholeDefault(api.OpSearch, "k")
			}
		case o.price && !limit.Changed:
			o.limit = 1
			fallthrough
		default:
			cli.SetFields(c, lookupFields()...)
		}
	}
	return f.Packed(c, &o.pack, "look in this `pack`, or * for all that the key may read", 1, anyNumber)
}

// run asks and shows the rows.
func (o lookupOptions) run(ctx context.Context, args []string) error {
	questions, err := o.questions(args)
	if err != nil {
		return err
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	found, err := client.Lookup(ctx, sdk.LookupRequest{Pack: o.pack, Questions: questions, Kind: o.kind, Limit: o.limit}, o.Call(&meta)...)
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	learn(o.config, namesOfRows(found))
	doc, err := cli.Marshal(found)
	if err != nil {
		return err
	}
	if err := o.Print(ctx, cli.Answer{JSON: doc, Rows: figures(found), Text: o.text(found)}); err != nil {
		return err
	}
	if err := o.lacking(found); err != nil {
		return err
	}
	return o.unknown(found)
}

// lacking says on stderr what cannot be given, where the figures stand alone.
func (o lookupOptions) lacking(found *api.LookupResponse) error {
	p, err := o.Printer()
	if err != nil || p.Machine() || p.Format == cli.Text || p.Format == "" && p.TTY {
		return err
	}
	for _, r := range found.Results {
		for _, m := range r.Missing {
			o.Note("%s: %s", human.Label(r.Q, api.MaxLookupQuery), m)
		}
	}
	return nil
}

func (o lookupOptions) questions(args []string) (list []string, err error) {
	for text := range strings.SplitSeq(strings.Join(args, ","), ",") {
		names := []string{strings.TrimSpace(text)}
		if names[0] == "@" {
			c, err := o.config()
			if err != nil {
				return nil, err
			}
			if names = watchlist(c); len(names) == 0 {
				return nil, cli.Invalid("the watchlist is empty").WithHint("ctx config watchlist add ada btc")
			}
		}
		for _, name := range names {
			switch {
			case name == "":
			case o.price:
				list = append(list, name+" price")
			default:
				list = append(list, name)
			}
		}
	}
	if len(list) == 0 {
		return nil, cli.Invalid("no question is asked")
	}
	if n := len(list); n > api.MaxQuestions {
		return nil, cli.Invalid("%d questions are asked, at most %d", n, api.MaxQuestions)
	}
	return list, nil
}

// unknown reports names without a price.
func (o lookupOptions) unknown(found *api.LookupResponse) error {
	for _, r := range found.Results {
		if !o.price || len(r.Rows) > 0 && len(r.Missing) == 0 {
			continue
		}
		name := strings.TrimSuffix(r.Q, " price")
		err := &cli.Failure{Exit: cli.ExitNotFound, Reason: string(api.ReasonNothingFound), Err: fmt.Errorf("%q has no price here", name)}
		if len(r.Missing) > 0 && len(r.Missing[0].Instead) > 0 && r.Missing[0].Why == api.MissingUnknownWord {
			return err.WithHint("near: %s", human.Line(strings.Join(r.Missing[0].Instead, ", ")))
		}
		if len(r.Near) > 0 {
			return err.WithHint("near: %s", human.Line(strings.Join(r.Near, ", ")))
		}
		return err.WithHint("ctx ask %q", name)
	}
	return nil
}

// figures are the figures that were asked for, a row for each.
func figures(found *api.LookupResponse) *cli.Rows {
	columns := []string{"question", "kind", "key", "name", "field", "value", "age", "stale", "url", "match", "of", "from"}
	rows := &cli.Rows{Columns: columns, Wide: 3}
	for _, result := range found.Results {
		for _, name := range slices.Sorted(maps.Keys(result.Aggregates)) {
			if sum := result.Aggregates[name]; sum.Value != nil {
				line := make([]string, len(columns))
				line[0], line[4], line[5] = result.Q, name, human.Plain(*sum.Value)
				rows.Rows = append(rows.Rows, line)
			}
		}
		for _, r := range result.Rows {
			for _, f := range r.Shown(max(1, len(r.Asked))) {
				rows.Rows = append(rows.Rows, []string{result.Q, r.Kind, r.Key, r.Name, f.Name, plainValue(f.Value),
					strconv.FormatInt(r.AgeSeconds, 10), strconv.FormatBool(r.Stale), r.URL, string(r.Match), r.Of,
					movedFrom(r.Over, f.Name)})
			}
		}
	}
	return rows
}

func plainValue(v any) string {
	if x, ok := v.(float64); ok {
		return human.Plain(x)
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

const shownFields = 5 // figures of a row that people get to see

// text shows the rows for people: rows of one kind below each other, their figures in columns, and what there is to say of a question
// without one. Where several are asked, a line begins with its question.
func (o lookupOptions) text(found *api.LookupResponse) func(w io.Writer, width int, style cli.Style) error {
	now := o.Now()
	return func(w io.Writer, width int, style cli.Style) error {
		several := len(found.Results) > 1
		var notes []string
		table := answerTable{several: several}
		for _, result := range found.Results {
			question, lines := strings.TrimSuffix(result.Q, o.suffix()), state.LookupNotes(result)
			said := func(line string) string {
				if several {
					line = question + ": " + line
				}
				return human.Label(line, 2*api.MaxLookupQuery)
			}
			for _, r := range result.Rows {
				if table.kind != r.Kind {
					if err := table.write(w, width, style); err != nil {
						return err
					}
					table = answerTable{several: several, kind: r.Kind}
				}
				table.rows, table.questions = append(table.rows, r), append(table.questions, question)
			}
			if len(result.Rows) == 0 {
				near := "nothing"
				if len(result.Missing) > 0 {
					near = result.Missing[0].String()
					lines = slices.DeleteFunc(lines, func(line string) bool { return line == near }) // it is told here
				}
				if len(result.Near) > 0 {
					near += "; near: " + strings.Join(result.Near, ", ")
				}
				table.without = append(table.without, said(near))
			}
			for _, line := range lines {
				notes = append(notes, said(line))
			}
		}
		if err := table.write(w, width, style); err != nil {
			return err
		}
		for _, line := range notes {
			if _, err := fmt.Fprintln(w, style.Dim(line)); err != nil {
				return err
			}
		}
		page := Page{W: w, Width: width, Style: style, Now: now}
		_, err := fmt.Fprintf(w, "\n%s\n", style.Dim(page.age(found.Freshness)))
		return err
	}
}

// suffix is what the questions have behind what the user wrote.
func (o lookupOptions) suffix() string {
	if o.price {
		return " price"
	}
	return ""
}

package client

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type citeOptions struct {
	*streams
	client func() (*sdk.Client, error)

	refs   []int // refs, each 1 or more
	pack   string
	row    string // kind/key of the row that is meant; empty for the source
	at     string // the moment whose state it is of; empty for the newest
	format string // of references in a text; empty means that the output flags decide
	open   bool   // in the browser
}

// citeRow is one source, as JSON shows it.
type citeRow struct {
	Ref       int       `json:"ref"`
	SourceID  string    `json:"sourceId"`
	Name      string    `json:"name"`
	URL       string    `json:"url"`
	FetchedAt time.Time `json:"fetchedAt"`
	Excerpt   string    `json:"excerpt"`
}

// newCite makes the command that resolves refs.
func newCite(f *factory) *cobra.Command {
	o := citeOptions{streams: f.streams, client: f.Client}
	c := f.Command(&cobra.Command{
		Use: "cite REF...", Short: "Show the sources behind refs of a brief",
		SuggestFor: []string{"source"}, ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Show the sources behind refs of a brief: 1 for [1]. Each ref is one call. With --row, show a row under the\n" +
			"ref, with its page and figures; with --at, as of then.\n\n" +
			"--format writes citations for a text: text, md, bibtex or url.",
		Example: "  ctx cite 1\n  ctx cite 1 3 --format md\n  ctx cite 2 --open\n  ctx cite 1 --row asset/zcash --at 20m",
	}, []string{"ref", "sourceId", "name", "url", "fetchedAt", "excerpt"}, func(ctx context.Context, args []string) (err error) {
		if o.refs, err = parseRefs(args); err != nil {
			return err
		}
		if o.pack, err = f.Pack([]string{o.pack}); err != nil {
			return err
		}
		return o.run(ctx)
	})
	flags := c.Flags()
	flags.StringVar(&o.row, "row", "", "show this row under the ref, as `kind/key` from lookup")
	flags.StringVar(&o.at, "at", "", "show it as of this `moment`, such as 20m or the generatedAt of an answer")
	flags.StringVar(&o.format, "format", "", "write citations as `format`: text, md, bibtex or url")
	flags.BoolVar(&o.open, "open", false, "open the sources in the browser")
	_ = c.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions([]string{"text", "md", "bibtex", "url"}, cobra.ShellCompDirectiveNoFileComp))
	return f.Packed(c, &o.pack, "the brief is of this `pack`", 1, anyNumber)
}

// parseRefs reads refs: 1, [1] or 1,2.
func parseRefs(args []string) ([]int, error) {
	var refs []int
	for arg := range strings.SplitSeq(strings.Join(args, ","), ",") {
		n, err := strconv.Atoi(strings.Trim(arg, "[]"))
		if err != nil || n < 1 {
			return nil, cli.Invalid("%q is not a citation: give a number from 1, such as 3 or [3]", arg)
		}
		refs = append(refs, n)
	}
	return refs, nil
}

// run shows the sources. Those that came before one failed are shown too: they were paid for.
func (o citeOptions) run(ctx context.Context) error {
	if !slices.Contains([]string{"", "text", "md", "bibtex", "url"}, o.format) {
		return cli.Invalid("--format %q is none of text, md, bibtex, url", o.format)
	}
	if spec, err := o.Spec(); err != nil {
		return err
	} else if o.format != "" && spec.Machine() {
		return cli.Invalid("--format excludes JSON output")
	}
	rows, err := o.fetch(ctx)
	if len(rows) > 0 {
		if errPrint := o.print(ctx, rows); errPrint != nil {
			return errPrint
		}
	}
	return err
}

// fetch asks for every ref.
func (o citeOptions) fetch(ctx context.Context) ([]citeRow, error) {
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	var at time.Time
	if o.at != "" {
		if at, err = human.ParsePoint(o.at, o.Now()); err != nil {
			return nil, cli.Invalid("--at: %w", err)
		}
	}
	var rows []citeRow
	for i, ref := range o.refs {
		var meta sdk.Response
		cited, err := client.CiteRow(ctx, o.pack, ref, o.row, at, o.Call(&meta)...)
		if err != nil {
			return rows, err
		}
		if i == 0 {
			o.ReportMeta(&meta)
		}
		rows = append(rows, rowOf(cited))
	}
	return rows, nil
}

func rowOf(c *api.CiteResponse) citeRow {
	url := c.Source.PublicURL
	if url == "" || c.Citation.Row != "" {
		url = c.Citation.URL
	}
	return citeRow{c.Citation.Ref, c.Source.ID, c.Source.Name, url, c.Citation.FetchedAt, c.Citation.Excerpt}
}

// print shows rows, and opens them if asked to.
func (o citeOptions) print(ctx context.Context, rows []citeRow) error {
	if o.format != "" { // references are text for a text, whatever the terminal
		for _, r := range rows {
			if _, err := fmt.Fprintln(o.Out, reference(r, o.format)); err != nil {
				return err
			}
		}
	} else {
		answer, err := o.answer(rows)
		if err != nil {
			return err
		}
		if err := o.Print(ctx, answer); err != nil {
			return err
		}
	}
	if o.open {
		for _, r := range rows {
			if err := browse(ctx, o.Env, r.URL); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer is rows as JSON, as a table and as text for people.
func (o citeOptions) answer(rows []citeRow) (cli.Answer, error) {
	table := &cli.Rows{Columns: []string{"ref", "source", "name", "url", "fetched", "excerpt"}, Right: []bool{true}, Wide: 5}
	for _, r := range rows {
		table.Rows = append(table.Rows, []string{
			strconv.Itoa(r.Ref), r.SourceID, r.Name, r.URL, r.FetchedAt.UTC().Format(time.RFC3339), r.Excerpt,
		})
	}
	doc, err := cli.Marshal(rows)
	return cli.Answer{JSON: doc, Rows: table, Text: func(w io.Writer, _ int, style cli.Style) error {
		for _, r := range rows {
			age := human.Age(o.Now().Sub(r.FetchedAt))
			fmt.Fprintf(w, "%s %s  %s\n",
				style.Link(fmt.Sprintf("[%d]", r.Ref)), style.Bold(human.Line(r.Name)), style.Dim(human.Line(r.SourceID)))
			if _, err := fmt.Fprintf(w, "    %s\n    fetched %s ago\n", human.Line(r.URL), age); err != nil {
				return err
			}
			if r.Excerpt != "" {
				fmt.Fprintf(w, "    %s\n", human.Line(r.Excerpt))
			}
		}
		return nil
	}}, err
}

// reference is a row as a reference in a text. Names and addresses come from the service, so each format escapes what means
// something in it.
func reference(r citeRow, format string) string {
	name, url, day := human.Line(r.Name), human.Line(r.URL), r.FetchedAt.UTC().Format("2006-01-02 15:04 UTC")
	switch format {
	case "url":
		return url
	case "md":
		return fmt.Sprintf("- [%s](%s), fetched %s", mdText.Replace(name), mdURL.Replace(url), day)
	case "bibtex":
		return fmt.Sprintf("@misc{%s,\n  title = {%s},\n  howpublished = {\\url{%s}},\n  note = {Fetched %s}\n}",
			bibKey.Replace(r.SourceID), bibText.Replace(name), bibKey.Replace(url), day)
	}
	return fmt.Sprintf("[%d] %s. %s (fetched %s)", r.Ref, name, url, day)
}

var (
	mdText  = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`)
	mdURL   = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C")
	bibText = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`)
	bibKey  = strings.NewReplacer("{", "", "}", "", `\`, "", ",", "", " ", "")
)

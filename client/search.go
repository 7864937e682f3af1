package client

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type searchOptions struct {
	*streams
	client func() (*sdk.Client, error)

	query    string
	pack     string
	k        int     // matches asked for
	minScore float64 // of what came, only so good ones
	exact    bool    // whole words only
}

// searchFields are the fields of a match.
func searchFields() []string { return []string{"path", "value", "score"} }

func (o searchOptions) run(ctx context.Context) error {
	if strings.TrimSpace(o.query) == "" {
		return cli.Invalid("the query is empty")
	}
	if err := checkWhole(api.OpSearch, "k", "-k", o.k); err != nil {
		return err
	}
	if o.exact {
		o.minScore = api.ScoreWord
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	found, err := client.Search(ctx, sdk.SearchRequest{Pack: o.pack, Query: o.query, K: o.k}, o.Call(&meta)...)
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	matches := slices.DeleteFunc(found.Matches, func(m api.SearchMatch) bool { return m.Score < o.minScore })
	answer, err := o.answer(matches, found)
	if err != nil {
		return err
	}
	return o.Print(ctx, answer)
}

// answer is the matches as JSON and as rows.
func (o searchOptions) answer(matches []api.SearchMatch, found *api.SearchResponse) (cli.Answer, error) {
	rows := &cli.Rows{Columns: []string{"path", "value", "score"}, Right: []bool{false, false, true},
		Wide: 1, Empty: "no match for " + strconv.Quote(o.query)}
	for _, m := range matches {
		rows.Rows = append(rows.Rows, []string{m.Path, cli.Scalar(m.Value), strconv.FormatFloat(m.Score, 'g', -1, 64)})
	}
	doc, err := cli.Marshal(append([]api.SearchMatch{}, matches...))
	now := o.Now()
	return cli.Answer{JSON: doc, Rows: rows, Text: func(w io.Writer, width int, style cli.Style) error {
		if err := rows.Write(w, width, style); err != nil {
			return err
		}
		page := Page{W: w, Style: style, Now: now}
		count := style.Dim(fmt.Sprintf("%d of %d matches, ", len(matches), found.Total))
		_, err := fmt.Fprintf(w, "\n%s\n", count+page.age(found.Freshness))
		return err
	}}, err
}

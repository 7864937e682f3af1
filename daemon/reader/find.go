package reader

import (
	"context"
	"net/url"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Found is what a question that was typed on a page finds in a pack.
type Found struct {
	Rows    []state.ViewRow // of lookup
	Notes   []string        // how questions were read, where that is not plain, and what of them cannot be given
	Near    []string        // names that may have been meant, where nothing was found
	Matches []Match         // of search, where lookup finds nothing
}

// Match is a value of the state.
type Match struct{ Path, Text string }

const (
	foundFields  = 6 // of a row
	foundMatches = 10
	foundText    = 80 // runes of one
)

// Find looks text up in pack and, where that finds nothing, searches the state for it. everywhere says whether packs that would answer may
// be named.
func (r *Reader) Find(ctx context.Context, pack, text string, everywhere bool, window time.Duration) (found Found, err error) {
	q, err := api.Parse(api.OpLookup, api.FaceHTTP, url.Values{"pack": {pack}, "q": {text}})
	if err != nil {
		return found, err
	}
	v, err := r.Ready(q)
	if err != nil {
		return found, err
	}
	v = v.Everywhere(everywhere)
	for _, question := range v.questions() {
		list, err := r.answers(ctx, v, question, v.Limit, window)
		if err != nil {
			return found, err
		}
		looked := list[0]
		for _, row := range looked.Rows {
			found.Rows = append(found.Rows, state.Answered(api.LookupRow{
				Kind: row.Kind, Key: row.Key, Name: row.Name, Symbol: row.Symbol, Fields: row.Fields, Asked: row.Asked, Match: row.Match,
				Over: row.Over,
				Ref:  api.Anchor{Ref: row.Ref}, URL: row.URL, FetchedAt: row.FetchedAt, Stale: row.Stale,
			}, foundFields))
		}
		for _, line := range looked.Notes() {
			found.Notes = append(found.Notes, human.Short(line, foundText))
		}
		for _, name := range looked.Near {
			found.Near = append(found.Near, human.Short(name, foundText))
		}
	}
	if len(found.Rows) > 0 {
		return found, nil
	}
	for _, m := range v.edition.Doc.Table().Search(v.Text, foundMatches).Matches {
		found.Matches = append(found.Matches, Match{Path: human.Short(m.Path, foundText), Text: human.Short(string(m.Value), foundText)})
	}
	return found, nil
}

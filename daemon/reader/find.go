package reader

import (
	"net/url"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Found is what a question that was typed on a page finds in a pack.
type Found struct {
	Rows    []SheetRow // of lookup
	Near    []string   // names that may have been meant, where nothing was found
	Matches []Match    // of search, where lookup finds nothing
}

// Match is a value of the state.
type Match struct{ Path, Text string }

const (
	foundFields  = 6 // of a row
	foundMatches = 10
)

// Find looks text up in pack and, where that finds nothing, searches the state for it.
func (r *Reader) Find(pack, text string) (found Found, err error) {
	q, err := api.Parse(api.OpLookup, api.FaceHTTP, url.Values{"pack": {pack}, "q": {text}})
	if err != nil {
		return found, err
	}
	v, err := r.Ready(q)
	if err != nil {
		return found, err
	}
	s := &Sheet{edition: v.edition}
	for question := range strings.SplitSeq(v.Text, ",") {
		looked := v.edition.Lookup(question, v.Kinds, v.Limit)
		for i, row := range looked.Rows {
			made := s.row(*row)
			made.At = row.FetchedAt
			asked := looked.Asked[i]
			for _, f := range row.Fields {
				if slices.Contains(asked, f.Name) {
					made.Cells = append(made.Cells, labelledCell(f))
				}
			}
			for _, f := range row.Fields {
				if len(made.Cells) < foundFields && !slices.Contains(asked, f.Name) {
					made.Cells = append(made.Cells, labelledCell(f))
				}
			}
			found.Rows = append(found.Rows, made)
		}
		for _, name := range looked.Near {
			found.Near = append(found.Near, human.Short(name, sheetText))
		}
	}
	if len(found.Rows) > 0 {
		return found, nil
	}
	for _, m := range v.edition.Doc.Table().Search(v.Text, foundMatches).Matches {
		found.Matches = append(found.Matches, Match{Path: human.Short(m.Path, sheetText), Text: human.Short(string(m.Value), sheetText)})
	}
	return found, nil
}

func labelledCell(f api.Field) SheetCell {
	cell := valueCell(f.Name, f.Value)
	cell.Label = human.FieldHead(f.Name, "")
	return cell
}

package reader

import (
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/sdk/api"
)

// lookup answers questions from the rows of all that the sources last said.
func (r *Reader) lookup(v View) (Answer, error) {
	now := r.cfg.Now()
	overdue := v.edition.Ages.Overdue(now)
	questions := strings.Split(v.Text, ",")
	response := api.LookupResponse{
		Results: make([]api.LookupResult, len(questions)), Citations: []api.Citation{}, Freshness: v.edition.Freshness(now),
	}
	used := make([]bool, len(v.edition.Citations)+1) // by ref
	nothing := true
	for i, q := range questions {
		found := v.edition.Rows.Lookup(q, v.Kind, v.Limit)
		result := api.LookupResult{Q: q, Rows: make([]api.LookupRow, len(found.Rows)), Near: found.Near}
		for j, row := range found.Rows {
			result.Rows[j] = rowOf(row, found.Asked[j], now)
			if row.Ref > 0 && row.Ref < len(used) {
				used[row.Ref] = true
				result.Rows[j].Stale = row.Stale || slices.Contains(overdue, v.edition.Citations[row.Ref-1].SourceID)
			}
			nothing = false
		}
		response.Results[i] = result
	}
	for _, c := range v.edition.Citations {
		if used[c.Ref] {
			response.Citations = append(response.Citations, c)
		}
	}
	a, err := encode(response)
	a.Nothing = nothing
	return a, err
}

// rowOf is a row of the tables as it is answered at now.
func rowOf(row *state.Row, asked []string, now time.Time) api.LookupRow {
	if asked == nil {
		asked = []string{}
	}
	fields := row.Fields
	if fields == nil {
		fields = api.Fields{}
	}
	return api.LookupRow{
		Kind: row.Kind, Key: row.Key, Entity: row.Entity, Name: row.Name, Symbol: row.Symbol, Fields: fields, Asked: asked,
		Ref: row.Ref, URL: row.URL, FetchedAt: row.FetchedAt,
		AgeSeconds: max(int64(now.Sub(row.FetchedAt)/time.Second), 0), Stale: row.Stale,
	}
}

// findable reports questions of which none finds anything.
func (v View) findable() error {
	var near []string
	for q := range strings.SplitSeq(v.Text, ",") {
		found := v.edition.Rows.Lookup(q, v.Kind, 1)
		if len(found.Rows) > 0 {
			return nil
		}
		for _, name := range found.Near {
			if !slices.Contains(near, name) {
				near = append(near, name)
			}
		}
	}
	err := api.Errorf(api.ReasonNothingFound, "pack %s has nothing by that name", v.Pack)
	if len(near) == 0 {
		return err.WithHint(askedByName)
	}
	return err.WithHint("nearest names: %s", strings.Join(near[:min(len(near), 2*api.DefaultLookupLimit)], ", "))
}

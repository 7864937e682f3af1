package reader

import (
	"context"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// cite resolves an anchor, of the newest state or of an earlier one.
func (r *Reader) cite(ctx context.Context, v View, window time.Duration) (Answer, error) {
	pulse := v.edition.Pulse
	if !v.At.At.IsZero() {
		var err error
		if pulse, err = r.past(ctx, v, window); err != nil {
			return Answer{}, err
		}
		pulse.Doc = pulse.Read()
	}
	c, err := v.citation(pulse)
	if err != nil {
		return Answer{}, err
	}
	source := api.Source{ID: c.SourceID, Name: v.pack.Names[c.SourceID], PublicURL: pulse.Citations[v.Ref-1].URL}
	f := pulse.Freshness(r.cfg.Now())
	f.Provenance = c.Provenance
	if !v.At.At.IsZero() {
		f.Sources, f.Flags = nil, nil // how the sources of then do now, is nothing that this is about
	}
	return encode(api.CiteResponse{Citation: c, Source: source, Freshness: f})
}

// citation is what stands in pulse behind the anchor, or the row under it, that v asks for.
func (v View) citation(pulse state.Pulse) (c api.Citation, err error) {
	if n := len(pulse.Citations); v.Ref < 1 || v.Ref > n {
		return c, api.Errorf(api.ReasonCitationNotFound, "pack %s has %d sources, none is [%d]", v.Pack, n, v.Ref).
			WithHint("use a ref from 1 to %d", n)
	}
	c = pulse.Citations[v.Ref-1]
	if v.Row == "" {
		return c, nil
	}
	kind, key, _ := strings.Cut(v.Row, "/")
	row := v.edition.Rows.Row(kind, key) // whose page is the same at all times
	place := state.PlaceOf(pulse.Doc.Places(v.pack.Shown), v.Row)
	switch {
	case v.At.At.IsZero() && row != nil && row.Ref == v.Ref:
		c.Excerpt, c.FetchedAt = state.Excerpt(row.Name, row.Symbol, row.Fields), row.FetchedAt
	case place != nil && place.Ref() == v.Ref:
		c.Excerpt = place.Excerpt()
		if url := place.URL(); url != "" {
			c.URL = url
		}
	default:
		return c, api.Errorf(api.ReasonCitationNotFound, "source [%d] has no row %s", v.Ref, human.Clip(v.Row, human.Quoted)).
			WithHint("leave row out for the source; lookup lists rows with their refs")
	}
	if row != nil && row.Ref == v.Ref {
		c.URL = row.URL
	}
	c.Row = v.Row
	return c, nil
}

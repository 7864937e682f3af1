package reader

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// parseCite reads ref, row and at.
func parseCite(q *Query, values url.Values) (err error) {
	if err := parseRef(q, values.Get("ref")); err != nil {
		return err
	}
	if values.Get("at") != "" {
		if q.At, err = state.ParseMoment(values.Get("at")); err != nil {
			return err
		}
	}
	q.Row = strings.TrimSpace(values.Get("row"))
	if kind, key, _ := strings.Cut(q.Row, "/"); q.Row != "" && (kind == "" || key == "") {
		return api.Errorf(api.ReasonInvalidRow, "row is %q, not a kind and a key with a slash between", human.Clip(q.Row, human.Quoted)).
			WithHint("write it as lookup tells it, for example row=asset/bitcoin")
	}
	return nil
}

// cite resolves an anchor, of the newest state or of an earlier one.
func (r *Reader) cite(ctx context.Context, v View, window time.Duration) (Answer, error) {
	c, err := r.citation(ctx, v, window)
	if err != nil {
		return Answer{}, err
	}
	of := v.edition.Citations[min(v.Ref, len(v.edition.Citations))-1]
	source := api.Source{ID: c.SourceID, Name: v.pack.Names[c.SourceID], PublicURL: of.URL}
	return encode(api.CiteResponse{Citation: c, Source: source, Freshness: v.edition.Freshness(r.cfg.Now())})
}

// citation is what stands behind the anchor, or the row under it, that v asks for.
func (r *Reader) citation(ctx context.Context, v View, window time.Duration) (c api.Citation, err error) {
	pulse := v.edition.Pulse
	if !v.At.At.IsZero() {
		if pulse, err = r.past(ctx, v, window); err != nil {
			return c, err
		}
	}
	if n := len(pulse.Citations); v.Ref < 1 || v.Ref > n {
		return c, api.Errorf(api.ReasonCitationNotFound, "pack %s has %d sources, there is no [%d]", v.Pack, n, v.Ref).
			WithHint("use a ref from 1 to %d", n)
	}
	c = pulse.Citations[v.Ref-1]
	if v.Row == "" {
		return c, nil
	}
	kind, key, _ := strings.Cut(v.Row, "/")
	row := v.edition.Rows.Row(kind, key) // whose page is the same at all times
	place := state.PlaceOf(state.PlacesOf(v.pack.Shown, pulse.State), v.Row)
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
			WithHint("leave row out for the source; lookup tells rows with their refs")
	}
	if row != nil && row.Ref == v.Ref {
		c.URL = row.URL
	}
	c.Row = v.Row
	return c, nil
}

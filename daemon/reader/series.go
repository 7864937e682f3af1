package reader

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Canonical returns the canonical form of q without what counts anyhow in the pack that q asks: the field of a series, and the order of a
// query, that it has without one. It is what a payment for q is bound to.
func (r *Reader) Canonical(q api.Query) string {
	if p, _ := r.pack(q.Pack); q.Op == api.OpSeries && q.Field != "" && state.IsFirst(p.Shown, q.Path, q.Field) {
		q.Field = ""
	}
	if q.Op == api.OpQuery {
		q = r.canonical(q)
	}
	return q.Canonical()
}

// series answers with numbers of rows over the last states, the newest of which is the last.
func (r *Reader) series(ctx context.Context, v View, window time.Duration) (Answer, error) {
	if err := r.spanned(ctx, v, window); err != nil {
		return Answer{}, err
	}
	end := r.cfg.Now().UTC().Truncate(time.Millisecond)
	if made := v.edition.GeneratedAt; made.After(end) { // the clock was set back
		end = made
	}
	s := state.NewSeries(v.pack.Shown, v.Path, v.Field, v.edition.Doc)
	times := state.Times(end, v.Span, v.Points)
	last := time.Unix(0, 0) // of no state, and not of none
	for p, err := range r.cfg.History.Past(ctx, v.pack.ID, slices.Values(times)) {
		if err != nil {
			return Answer{}, fmt.Errorf("series of %s: %w", v.pack.ID, err)
		}
		if p.GeneratedAt.Equal(last) {
			s.Again()
			continue
		}
		s.Add(p.State)
		last = p.GeneratedAt
	}
	rows := append([]api.SeriesRow{}, s.Rows()...) // never null
	return encode(api.SeriesResponse{
		Path: v.Path, Span: api.FormatSpan(v.Span), Times: times, Rows: rows, Notices: v.pack.Notices,
		Freshness: v.edition.Freshness(r.cfg.Now()),
	})
}

// spanned returns the error for a span that goes beyond the window of the caller.
func (r *Reader) spanned(ctx context.Context, v View, window time.Duration) error {
	if v.Span <= window {
		return nil
	}
	return api.Errorf(api.ReasonSnapshotNotFound, "span is %s; the window of this caller is %s", api.FormatSpan(v.Span), days(window)).
		WithHint("ask for span=%s; %s", api.FormatSpan(window), r.earliest(ctx, v, window))
}

package reader

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// parseSeries reads path, field, points and span.
func parseSeries(q *Query, values url.Values) error {
	q.Path, q.Field, q.Span = values.Get("path"), values.Get("field"), api.SeriesSpanDefault
	if q.Path == "" {
		return api.Errorf(api.ReasonInvalidPath, "path is missing or empty").
			WithHint("name a member, such as top_movers, or a row, such as asset/bitcoin")
	}
	points, ok := count(values, "points", api.SeriesPointsMin, api.SeriesPointsMax, api.SeriesPointsDefault)
	if !ok {
		return api.Errorf(api.ReasonInvalidPoints, "points is %q, not a whole number from %d to %d",
			human.Clip(values.Get("points"), human.Quoted), api.SeriesPointsMin, api.SeriesPointsMax).
			WithHint("leave points out for %d", api.SeriesPointsDefault)
	}
	q.Points = points
	if values.Has("span") {
		text := values.Get("span")
		span, err := api.ParseSpan(text)
		if err != nil || span < api.SeriesSpanMin {
			return api.Errorf(api.ReasonInvalidSpan, "span is %q, not a duration of 1h or more", human.Clip(text, human.Quoted)).
				WithHint("write it as 24h, 90m or 7d; leave it out for 24h")
		}
		q.Span = span
	}
	return nil
}

// tellSeries is tell of a series.
func (q Query) tellSeries(values url.Values) {
	values.Set("points", strconv.Itoa(q.Points))
	values.Set("span", api.FormatSpan(q.Span))
	if q.Points == api.SeriesPointsDefault {
		values.Del("points")
	}
	if q.Span == api.SeriesSpanDefault {
		values.Del("span")
	}
	if q.Field == "" {
		values.Del("field")
	}
}

// Canonical is canonical, of q by ParseQuery, without what counts anyhow in the pack that q asks: the field of a series that it has
// without one.
func (r *Reader) Canonical(q Query, canonical string) string {
	p, _ := r.pack(q.Pack)
	if q.Op != api.OpSeries || q.Field == "" || !state.IsFirst(p.Shown, q.Path, q.Field) {
		return canonical
	}
	values, _ := url.ParseQuery(canonical) // it was encoded
	values.Del("field")
	return values.Encode()
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
		Path: v.Path, Span: api.FormatSpan(v.Span), Times: times, Rows: rows, Freshness: v.edition.Freshness(r.cfg.Now()),
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

package reader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// looked is the answer to a lookup while it is written: as encoding/json writes an api.LookupResponse, at a fraction of its cost.
type looked struct {
	View
	now     time.Time
	used    []bool // citations, by their places
	nothing bool   // was found so far
	text    []byte
}

// lookup answers questions from the rows of all that the sources last said, and from states of the past where a question names a time.
func (r *Reader) lookup(ctx context.Context, v View, window time.Duration) (Answer, error) {
	now := r.cfg.Now()
	l := looked{View: v, now: now, used: make([]bool, len(v.edition.Citations)), nothing: true}
	l.text = append(make([]byte, 0, 1024), `{"results":[`...)
	for _, q := range v.questions() {
		found, err := r.found(ctx, v, q, v.Limit, window)
		if err == nil {
			err = l.answer(q, found)
		}
		if err != nil {
			return Answer{}, fmt.Errorf("answer %q: %w", q, err)
		}
	}
	l.text = append(l.text, `],"citations":[`...)
	for i, used := range l.used {
		if used {
			l.next()
			l.text = append(l.text, v.edition.Citation(i)...)
		}
	}
	freshness, err := jsonx.Encode(v.edition.Freshness(now))
	if err != nil {
		return Answer{}, fmt.Errorf("encode answer: %w", err)
	}
	l.text = append(append(append(l.text, `],"freshness":`...), freshness...), '}')
	return Answer{JSON: l.text, Nothing: l.nothing}, nil
}

// questions are those of v. A comma parts them, unless what it parts says nothing by itself and the whole is one: "the price of bitcoin,
// please". A part such as "first five" belongs to what stands before it, and is not answered as if it stood alone, even where the whole
// cannot be read either.
func (v View) questions() []string {
	list := strings.Split(v.Text, ",")
	if len(list) == 1 {
		return list
	}
	unread, partial := false, false
	for _, q := range list {
		read := v.edition.Question(q, v.Kinds, v.Limit)
		unread = unread || len(read.Missing) > 0
		partial = partial || read.Partial
	}
	whole := strings.Join(list, ", ")
	if partial || unread && len(v.edition.Question(whole, v.Kinds, v.Limit).Missing) == 0 {
		return []string{whole}
	}
	return list
}

// found is what a question finds for a caller with a window of history.
func (r *Reader) found(ctx context.Context, v View, q string, limit int, window time.Duration) (state.Found, error) {
	of := state.Asked{Tables: v.edition.Rows, Shown: v.pack.Shown, Names: v.pack.Names, State: v.edition.Pulse}
	now := r.cfg.Now()
	found, err := v.edition.Question(q, v.Kinds, limit).Answer(now, v.pack.ID, of, func(q api.RowQuery) (state.Asked, error) {
		return r.then(ctx, v, q, of, window)
	})
	found.Rows = slices.DeleteFunc(found.Rows, func(row state.FoundRow) bool {
		_, gone := v.edition.RowAt(row.Row, now)
		return gone && !row.Past
	})
	return found, err
}

// then is what q, which names a moment or a span, is asked of.
func (r *Reader) then(ctx context.Context, v View, q api.RowQuery, of state.Asked, window time.Duration) (state.Asked, error) {
	if q.At != "" {
		at, err := api.ParseMoment(q.At)
		if err != nil {
			return of, err
		}
		v.At = at
		pulse, err := r.past(ctx, v, window)
		if err != nil {
			return of, err
		}
		pulse.Doc = pulse.Read()
		of.State, of.Past = pulse, true
		return of, nil
	}
	span, err := api.ParseSpan(q.Over)
	if err != nil {
		return of, err
	}
	v.At = api.Moment{At: r.cfg.Now().UTC().Add(-span).Truncate(time.Millisecond), Exact: true, Ago: span}
	before, err := r.past(ctx, v, window)
	if err != nil {
		return of, err
	}
	of.Before = &before
	return of, nil
}

// next separates an element of an array from the one before.
func (l *looked) next() {
	if l.text[len(l.text)-1] != '[' {
		l.text = append(l.text, ',')
	}
}

// member appends a member of an object that has others before it, unless there is none.
func (l *looked) member(name string, v any, there bool) error {
	if !there {
		return nil
	}
	text, err := jsonx.Encode(v)
	l.text = append(append(append(append(l.text, `,"`...), name...), `":`...), text...)
	return err
}

func (l *looked) answer(q string, found state.Found) error {
	name, err := jsonx.Encode(q)
	if err != nil {
		return err
	}
	l.next()
	l.text = append(append(l.text, `{"q":`...), name...)
	if err := l.member("read", found.Read, found.Read != nil); err != nil {
		return err
	}
	l.text = append(l.text, `,"rows":[`...)
	for _, row := range found.Rows {
		l.next()
		stale, age := row.Stale, max(int64(l.now.Sub(row.FetchedAt)/time.Second), 0)
		if !row.Past {
			stale, _ = l.edition.RowAt(row.Row, l.now)
		}
		if l.text, err = l.edition.Rows.AppendRow(l.text, row, age, stale); err != nil {
			return err
		}
		l.cite(row.Row)
	}
	l.nothing = l.nothing && len(found.Rows) == 0
	l.text = append(l.text, ']')
	err = errors.Join(l.member("aggregates", found.Aggregates, len(found.Aggregates) > 0), l.member("missing", found.Missing,
		len(found.Missing) > 0), l.member("near", found.Near, len(found.Near) > 0))
	l.text = append(l.text, '}')
	return err
}

// cite notes that the source of row is used.
func (l *looked) cite(row *state.Row) {
	if i := row.Ref - 1; i >= 0 && i < len(l.used) {
		l.used[i] = true
	}
}

// findable reports questions of which none finds anything.
func (r *Reader) findable(ctx context.Context, v View, window time.Duration) error {
	var near, reasons []string
	for _, q := range v.questions() {
		found, err := r.found(ctx, v, q, 1, window)
		if err != nil || len(found.Rows) > 0 {
			return err
		}
		for _, m := range found.Missing {
			reasons = append(reasons, m.String())
		}
		for _, name := range found.Near {
			if !slices.Contains(near, name) {
				near = append(near, name)
			}
		}
	}
	err := api.Errorf(api.ReasonNothingFound, "pack %s answers nothing of this: %s", v.Pack, strings.Join(reasons[:min(len(reasons),
		mostReasons)],
		"; "))
	if len(near) == 0 {
		return err.WithHint("%s", api.OpLookup.Operation().Param(api.FaceHTTP, "q").Hint)
	}
	return err.WithHint("nearest names: %s", strings.Join(near[:min(len(near), 2*api.DefaultLookupLimit)], ", "))
}

// mostReasons is how many words are named that nothing is found for.
const mostReasons = 5

package reader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// looked is the answer to a lookup while it is written: as encoding/json writes an api.LookupResponse, at a fraction of its cost.
type looked struct {
	now     time.Time
	of      []asked
	anchors []string // the packs that stand in anchors, "" for none
	used    [][]bool // citations, by their places, of each pack
	nothing bool     // was found so far
	text    []byte
}

// readyLookup is Ready of a lookup: the packs that it is about, of which one that has no state or no rows of the kind is left out of all.
func (r *Reader) readyLookup(q api.Query) (View, error) {
	return r.readyPacks(q, func(p Pack, edition *feed.Edition) (asked, error) {
		return asked{pack: p, edition: edition}, suits(q, edition.Rows.Kinds())
	})
}

// lookup answers questions from the rows of all that the sources last said, and from states of the past where a question names a time.
func (r *Reader) lookup(ctx context.Context, v View, window time.Duration) (Answer, error) {
	l := looked{now: r.cfg.Now(), of: v.readable(), nothing: true}
	for _, a := range l.of {
		l.used = append(l.used, make([]bool, len(a.edition.Citations)))
		l.anchors = append(l.anchors, v.anchor(a, 0).Pack)
	}
	l.text = append(make([]byte, 0, 1024), `{"results":[`...)
	for _, q := range v.questions() {
		found, err := r.answers(ctx, v, q, v.Limit, window)
		if err == nil {
			err = l.answer(q, found)
		}
		if err != nil {
			return Answer{}, fmt.Errorf("answer %q: %w", q, err)
		}
	}
	l.text = append(l.text, `],"citations":[`...)
	var cited []api.Citation
	for of, places := range l.used {
		for i, used := range places {
			if used {
				l.next()
				l.text = append(l.text, l.citation(of, i)...)
				cited = append(cited, l.of[of].edition.Citations[i])
			}
		}
	}
	oldest := v.edition.Freshness(l.now)
	for _, a := range l.of {
		if f := a.edition.Freshness(l.now); f.AgeSeconds > oldest.AgeSeconds {
			oldest = f
		}
	}
	if len(cited) > 0 {
		oldest.Provenance = api.LowestProvenance(cited)
	}
	freshness, err := jsonx.Encode(oldest)
	if err != nil {
		return Answer{}, fmt.Errorf("encode answer: %w", err)
	}
	l.text = append(append(append(l.text, `],"freshness":`...), freshness...), '}')
	return Answer{JSON: l.text, Nothing: l.nothing}, nil
}

// citation is one of a pack as the answer has it: with the pack in its anchor, where the answer is about all.
func (l *looked) citation(of, i int) []byte {
	text := l.of[of].edition.Citation(i)
	if l.anchors[of] == "" {
		return text
	}
	ref := api.Anchor{Ref: i + 1}
	bare := fmt.Sprintf(`{"ref":%s`, ref)
	ref.Pack = l.anchors[of]
	return append(fmt.Appendf(nil, `{"ref":%q`, ref), text[len(bare):]...)
}

// answered is what a question finds in one of the packs that it is asked of.
type answered struct {
	state.Found
	of int // the place of the pack
}

// answers is what a question finds in the packs that v is asked of. Those that answer it count, with or without a row, and where none
// does the one whose reading lacks least, with the packs that would answer.
func (r *Reader) answers(ctx context.Context, v View, q string, limit int, window time.Duration) (list []answered, err error) {
	var nearest *answered
	var totals []string
	for i, a := range v.readable() {
		found, err := r.found(ctx, v, a, q, limit, window)
		if err != nil {
			return nil, err
		}
		one := answered{found, i}
		if len(found.Missing) == 0 {
			list = append(list, one)
		} else if nearest == nil || len(found.Missing) < len(nearest.Missing) ||
			len(found.Missing) == len(nearest.Missing) && len(nearest.Rows) == 0 && len(found.Rows) > 0 {
			nearest = &one
		}
		if len(found.Aggregates) > 0 {
			totals = append(totals, a.pack.ID)
		}
	}
	empty := func(a answered) bool { return len(a.Rows)+len(a.Aggregates) == 0 }
	if slices.ContainsFunc(list, func(a answered) bool { return !empty(a) }) {
		list = slices.DeleteFunc(list, empty)
	}
	guessed := func(a answered) bool { // where one pack has the name, what another found by its texts is something else
		return len(a.Aggregates) == 0 && !slices.ContainsFunc(a.Rows, func(r state.FoundRow) bool { return r.Match.Sure() })
	}
	if slices.ContainsFunc(list, func(a answered) bool { return !guessed(a) }) {
		list = slices.DeleteFunc(list, guessed)
	}
	switch {
	case len(totals) > 1: // there is no one figure of them
		return []answered{{Found: state.Found{Missing: []api.LookupMissing{{Word: q, Why: api.MissingAmbiguous, Instead: totals}}}}}, nil
	case len(list) > 0 && empty(list[0]):
		return list[:1], nil
	case len(list) > 0:
		return list, nil
	case nearest == nil: // v is of packs that the caller may not read
		return []answered{{}}, nil
	}
	if packs := r.answering(v, q, limit); len(packs) > 0 {
		nearest.Missing = append(slices.Clip(nearest.Missing), api.LookupMissing{Word: q, Why: api.MissingNoRows, Instead: packs})
	}
	return []answered{*nearest}, nil
}

// answering names the packs that answer q, a question that the one of v does not.
func (r *Reader) answering(v View, q string, limit int) (packs []string) {
	for _, p := range *r.packs.Load() {
		edition := r.other(v, p)
		if edition == nil || suits(v.Query, edition.Rows.Kinds()) != nil {
			continue
		}
		of := state.Asked{Tables: edition.Rows, Shown: p.Shown, Names: p.Names, State: edition.Pulse}
		now := func(api.RowQuery) (state.Asked, error) { return of, nil } // that there are such rows is enough
		found, err := edition.Question(q, v.Kinds, limit).Answer(r.cfg.Now(), p.ID, of, now)
		if err == nil && len(found.Missing) == 0 && len(found.Rows)+len(found.Aggregates) > 0 {
			packs = append(packs, p.ID)
		}
	}
	return packs
}

// found is what a question finds in a pack for a caller with a window of history.
func (r *Reader) found(ctx context.Context, v View, a asked, q string, limit int, window time.Duration) (state.Found, error) {
	of := state.Asked{Tables: a.edition.Rows, Shown: a.pack.Shown, Names: a.pack.Names, State: a.edition.Pulse}
	v.pack, v.edition = a.pack, a.edition
	now := r.cfg.Now()
	found, err := a.edition.Question(q, v.Kinds, limit).Answer(now, a.pack.ID, of, func(q api.RowQuery) (state.Asked, error) {
		return r.then(ctx, v, a, q, window)
	})
	found.Rows = slices.DeleteFunc(found.Rows, func(row state.FoundRow) bool {
		_, gone := a.edition.RowAt(row.Row, now)
		return gone && !row.Past
	})
	return found, err
}

// then is what q, which names a moment or a span, is asked of.
func (r *Reader) then(ctx context.Context, v View, a asked, q api.RowQuery, window time.Duration) (of state.Asked, err error) {
	if a.query = q; q.At != "" {
		if v.At, err = api.ParseMoment(q.At); err != nil {
			return of, err
		}
	}
	if q.Over != "" {
		if v.Over, err = api.ParseSpan(q.Over); err != nil {
			return of, err
		}
	}
	return r.asked(ctx, v, a, window)
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

// answer writes what a question found.
func (l *looked) answer(q string, list []answered) error {
	name, err := jsonx.Encode(q)
	if err != nil {
		return err
	}
	l.next()
	l.text = append(append(l.text, `{"q":`...), name...)
	whole := l.join(list)
	if err := l.member("read", whole.Read, whole.Read != nil); err != nil {
		return err
	}
	l.text = append(l.text, `,"rows":[`...)
	for _, found := range list {
		edition := l.of[found.of].edition
		for _, row := range found.Rows {
			l.next()
			stale, age := row.Stale, max(int64(l.now.Sub(row.FetchedAt)/time.Second), 0)
			if !row.Past {
				stale, _ = edition.RowAt(row.Row, l.now)
			}
			if l.text, err = edition.Rows.AppendRow(l.text, row, l.anchors[found.of], age, stale); err != nil {
				return err
			}
			l.cite(found.of, row.Row)
		}
		l.nothing = l.nothing && len(found.Rows) == 0
	}
	l.text = append(l.text, ']')
	err = errors.Join(l.member("aggregates", whole.Aggregates, len(whole.Aggregates) > 0), l.member("missing", whole.Missing,
		len(whole.Missing) > 0), l.member("near", whole.Near, len(whole.Near) > 0))
	l.text = append(l.text, '}')
	return err
}

// join is what several packs found as one, without the rows. How each read the question says whose it is.
func (l *looked) join(list []answered) (whole state.Found) {
	for _, found := range list {
		if found.Read != nil {
			for _, q := range slices.Concat([]api.RowQuery{found.Read.RowQuery}, found.Read.And) {
				if l.anchors[found.of] != "" {
					q.Text = q.Pack + ": " + q.Text
				}
				if whole.Read == nil {
					whole.Read = &api.Read{RowQuery: q}
				} else {
					whole.Read.And = append(whole.Read.And, q)
				}
			}
		}
		if len(found.Aggregates) > 0 {
			whole.Aggregates = found.Aggregates
		}
		whole.Missing, whole.Near = append(whole.Missing, found.Missing...), append(whole.Near, found.Near...)
	}
	return whole
}

// cite notes that the source of row is used.
func (l *looked) cite(of int, row *state.Row) {
	if i := row.Ref - 1; i >= 0 && i < len(l.used[of]) {
		l.used[of][i] = true
	}
}

// findable reports questions of which none finds anything.
func (r *Reader) findable(ctx context.Context, v View, window time.Duration) error {
	var near, reasons, packs []string
	for _, q := range v.questions() {
		list, err := r.answers(ctx, v, q, 1, window)
		if err != nil || len(list[0].Rows) > 0 {
			return err
		}
		for _, m := range list[0].Missing {
			if m.Why == api.MissingNoRows {
				packs = append(packs, m.Instead...)
			} else {
				reasons = append(reasons, m.String())
			}
		}
		for _, name := range list[0].Near {
			if !slices.Contains(near, name) {
				near = append(near, name)
			}
		}
	}
	err := api.Errorf(api.ReasonNothingFound, "pack %s answers nothing of this: %s", v.Pack, strings.Join(reasons[:min(len(reasons),
		mostReasons)],
		"; "))
	switch {
	case len(packs) > 0:
		slices.Sort(packs)
		return err.WithHint("pack %s answers this; pack=* asks all", strings.Join(slices.Compact(packs), " and pack "))
	case len(near) == 0:
		return err.WithHint("%s", api.OpLookup.Operation().Param(api.FaceHTTP, "q").Hint)
	}
	return err.WithHint("nearest names: %s", strings.Join(near[:min(len(near), 2*api.DefaultLookupLimit)], ", "))
}

// mostReasons is how many words are named that nothing is found for.
const mostReasons = 5

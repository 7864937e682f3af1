package reader

import (
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

// lookup answers questions from the rows of all that the sources last said.
func (r *Reader) lookup(v View) (Answer, error) {
	now := r.cfg.Now()
	l := looked{View: v, now: now, used: make([]bool, len(v.edition.Citations)), nothing: true}
	l.text = append(make([]byte, 0, 1024), `{"results":[`...)
	for q := range strings.SplitSeq(v.Text, ",") {
		if err := l.answer(q); err != nil {
			return Answer{}, fmt.Errorf("encode answer: %w", err)
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

// next separates an element of an array from the one before.
func (l *looked) next() {
	if l.text[len(l.text)-1] != '[' {
		l.text = append(l.text, ',')
	}
}

func (l *looked) answer(q string) error {
	found := l.edition.Lookup(q, l.Kinds, l.Limit)
	name, err := jsonx.Encode(q)
	if err != nil {
		return err
	}
	l.next()
	l.text = append(append(append(l.text, `{"q":`...), name...), `,"rows":[`...)
	for i, row := range found.Rows {
		stale, gone := l.edition.RowAt(row, l.now)
		if gone {
			continue
		}
		l.next()
		age := max(int64(l.now.Sub(row.FetchedAt)/time.Second), 0)
		if l.text, err = l.edition.Rows.AppendRow(l.text, row, found.Asked[i], age, stale); err != nil {
			return err
		}
		l.cite(row)
		l.nothing = false
	}
	l.text = append(l.text, ']')
	if len(found.Near) > 0 {
		near, err := jsonx.Encode(found.Near)
		if err != nil {
			return err
		}
		l.text = append(append(l.text, `,"near":`...), near...)
	}
	l.text = append(l.text, '}')
	return nil
}

// cite notes that the source of row is used.
func (l *looked) cite(row *state.Row) {
	if i := row.Ref - 1; i >= 0 && i < len(l.used) {
		l.used[i] = true
	}
}

// findable reports questions of which none finds anything.
func (v View) findable() error {
	var near []string
	for q := range strings.SplitSeq(v.Text, ",") {
		found := v.edition.Lookup(q, v.Kinds, 1)
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
		return err.WithHint("%s", api.OpLookup.Operation().Param(api.FaceHTTP, "q").Hint)
	}
	return err.WithHint("nearest names: %s", strings.Join(near[:min(len(near), 2*api.DefaultLookupLimit)], ", "))
}

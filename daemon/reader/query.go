package reader

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// asked is one pack that a lookup or query is about.
type asked struct {
	pack    Pack
	edition *feed.Edition
	query   api.RowQuery // what a query comes to there
}

// readyQuery is Ready of a query: the checks of the packs that it is about.
func (r *Reader) readyQuery(q api.Query) (View, error) {
	v, err := r.readyPacks(q, func(p Pack, edition *feed.Edition) (asked, error) {
		rows := q.RowQuery()
		rows.Pack = p.ID
		query, err := edition.Rows.Complete(rows)
		return asked{p, edition, query}, err
	})
	if errors.Is(err, &api.Error{Reason: api.ReasonInvalidTable}) {
		return v, r.withTables(err, q)
	}
	return v, err
}

// readyPacks is Ready of a q that is about the packs of which one returns no error.
func (r *Reader) readyPacks(q api.Query, one func(p Pack, edition *feed.Edition) (asked, error)) (View, error) {
	v := View{Query: q}
	var first error
	for _, p := range *r.packs.Load() {
		if q.Pack != p.ID && q.Pack != api.PackAll {
			continue
		}
		edition, err := r.latest(p)
		if err == nil {
			var a asked
			if a, err = one(p, edition); err == nil {
				v.queried = append(v.queried, a)
				continue
			}
		}
		// Of all packs, one that has the table knows best what is wrong.
		if first == nil || errors.Is(first, &api.Error{Reason: api.ReasonInvalidTable}) {
			first = err
		}
	}
	if len(v.queried) == 0 {
		return v, first
	}
	v.pack, v.edition = v.queried[0].pack, v.queried[0].edition
	return v, nil
}

// withTables is err, that a pack has no table of a name, with where that is.
func (r *Reader) withTables(err error, q api.Query) error {
	var all, has []string
	for _, p := range *r.packs.Load() {
		edition, _ := r.cfg.Feed.Latest(p.ID)
		if edition == nil {
			continue
		}
		rows := api.RowQuery{Pack: p.ID, Table: q.Table}
		if _, err := edition.Rows.Complete(rows); err == nil {
			has = append(has, p.ID)
		}
		for _, s := range edition.Rows.Schema(nil) {
			if !slices.Contains(all, s.Table) {
				all = append(all, s.Table)
			}
		}
	}
	e := api.AsError(err)
	switch {
	case len(has) > 0:
		return e.WithHint("%s; pack %s has table %s", e.Hint, strings.Join(has, " and pack "), q.Table)
	case q.Pack == api.PackAll:
		return api.Errorf(e.Reason, "table is %q, none of any pack", human.Short(q.Table, human.Quoted)).
			WithHint("tables: %s", strings.Join(all, ", "))
	}
	return e
}

// Tables describes the tables of pack, of all where it is api.PackAll and everywhere is true, for a caller with a window of history.
func (r *Reader) Tables(pack string, everywhere bool, window time.Duration) (api.QueryTables, error) {
	answer := api.QueryTables{
		Packs: []api.PackTables{}, Spans: api.QuerySpans{Least: api.FormatSpan(api.SeriesSpanMin), Window: api.FormatSpan(window)},
	}
	if _, served := r.pack(pack); !served && pack != api.PackAll {
		return answer, r.notServed(pack)
	}
	for _, p := range *r.packs.Load() {
		if pack != p.ID && pack != api.PackAll || p.ID != api.DefaultPack && !everywhere {
			continue
		}
		if edition, _ := r.cfg.Feed.Latest(p.ID); edition != nil {
			tables := edition.Rows.Schema(p.Shown)
			for i := range tables {
				switch tables[i].Table {
				case api.TableFlags:
					tables[i].Rows = len(edition.Doc.Flags())
				case api.TableSources:
					tables[i].Rows = len(edition.Doc.Sources())
				}
			}
			answer.Packs = append(answer.Packs, api.PackTables{Pack: p.ID, Tables: tables})
		}
	}
	return answer, nil
}

// canonical is q, a query, with the names of the pack and without an order that counts anyhow.
func (r *Reader) canonical(q api.Query) api.Query {
	p, _ := r.pack(q.Pack)
	edition, _ := r.cfg.Feed.Latest(p.ID)
	if edition == nil {
		return q
	}
	rows := q.RowQuery()
	named, err := edition.Rows.Complete(rows)
	if rows.Order = ""; err != nil {
		return q
	}
	plain, err := edition.Rows.Complete(rows)
	if q.Table = named.Table; err == nil && plain.Order == named.Order {
		q.Order = ""
	}
	return q
}

// readable are the packs that v is asked of and whose rows its caller may read.
func (v View) readable() []asked {
	if v.Pack != api.PackAll || v.everywhere {
		return v.queried
	}
	return slices.DeleteFunc(slices.Clone(v.queried), func(a asked) bool { return a.pack.ID != api.DefaultPack })
}

// query answers with rows of what the sources last said, or of a state of the past.
func (r *Reader) query(ctx context.Context, v View, window time.Duration) (Answer, error) {
	var list []state.Asked
	var of []asked
	var first error
	for _, a := range v.readable() {
		asked, err := r.asked(ctx, v, a, window)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		list, of = append(list, asked), append(of, a)
	}
	if len(list) == 0 && first != nil {
		return Answer{}, first
	}
	answer := api.QueryResponse{Rows: []api.QueryRow{}, Citations: []api.AnchoredCitation{}}
	if len(list) == 0 { // it is of packs that the caller may not read
		answer.Query, answer.Freshness = v.queried[0].query, v.edition.Freshness(r.cfg.Now())
		a, err := encode(answer)
		a.Nothing = true
		return a, err
	}
	found, err := state.Query(list...)
	if err != nil {
		return Answer{}, err
	}
	answer.Query, answer.Total, answer.Aggregates, answer.Missing = list[0].Query, found.Total, found.Aggregates, found.Missing
	if answer.Query.Pack = v.Pack; found.Total == 0 {
		answer.Missing = append(answer.Missing, r.elsewhere(v)...)
	}
	r.fill(&answer, v, list, of, found)
	a, err := encode(answer)
	a.Nothing = found.Total == 0
	return a, err
}

// fill writes the rows that were found into answer, with what they cite and how old it is.
func (r *Reader) fill(answer *api.QueryResponse, v View, list []state.Asked, of []asked, found state.Queried) {
	now := r.cfg.Now()
	used := make([]map[int]bool, len(list))
	for i, a := range list {
		used[i] = map[int]bool{}
		f := of[i].edition.Freshness(now)
		if a.Past {
			f = a.State.Freshness(now)
			f.Sources, f.Flags = nil, nil // the sources of then do nothing now that this is about
		}
		if i == 0 || f.AgeSeconds > answer.Freshness.AgeSeconds {
			answer.Freshness = f
		}
	}
	for _, row := range found.Rows {
		from := list[row.Among].State
		made := api.QueryRow{
			Kind: row.Kind, Key: row.Key, Entity: row.Entity, Name: row.Name, Symbol: row.Symbol,
			Fields: shownFields(answer.Query.Fields, row), Over: row.Over, Ref: v.anchor(of[row.Among], row.Ref), URL: row.URL, Of: row.Of,
			FetchedAt: row.FetchedAt.Truncate(time.Millisecond), AgeSeconds: max(int64(now.Sub(row.FetchedAt)/time.Second), 0),
			Stale: row.Stale,
		}
		if !list[row.Among].Past {
			made.Stale, _ = of[row.Among].edition.RowAt(row.Row, now)
		}
		if i := row.Ref - 1; i >= 0 && i < len(from.Citations) {
			used[row.Among][i] = true
		}
		answer.Rows = append(answer.Rows, made)
	}
	var cited []api.Citation
	for i, a := range list {
		for j, c := range a.State.Citations {
			if used[i][j] {
				answer.Citations = append(answer.Citations, api.AnchoredCitation{Citation: c, Ref: v.anchor(of[i], c.Ref)})
				cited = append(cited, c)
			}
		}
	}
	if len(cited) > 0 {
		answer.Freshness.Provenance = api.LowestProvenance(cited)
	}
}

// anchor is that of a source of a pack in an answer to v.
func (v View) anchor(of asked, ref int) api.Anchor {
	if v.Pack == api.PackAll {
		return api.Anchor{Pack: of.pack.ID, Ref: ref}
	}
	return api.Anchor{Ref: ref}
}

// shownFields are the named fields of a row, all for none.
func shownFields(names []string, row state.QueriedRow) api.Fields {
	if len(names) == 0 {
		return append(api.Fields{}, row.Fields...)
	}
	fields := api.Fields{}
	for _, name := range names {
		if value := row.Fields.Get(name); value != nil {
			fields = append(fields, api.Field{Name: name, Value: value})
		}
	}
	return fields
}

// asked is what v comes to in one pack: the rows of now, or the state as of its moment, and the one at the beginning of its span.
func (r *Reader) asked(ctx context.Context, v View, a asked, window time.Duration) (state.Asked, error) {
	of := state.Asked{Query: a.query, Tables: a.edition.Rows, Shown: a.pack.Shown, Names: a.pack.Names, State: a.edition.Pulse}
	v.pack, v.edition = a.pack, a.edition
	end := r.cfg.Now().UTC()
	of.State.Doc = of.State.Doc.As(a.edition.Freshness(end))
	of.Gone = func(row *state.Row) bool {
		_, gone := a.edition.RowAt(row, end)
		return gone
	}
	if !v.At.At.IsZero() {
		pulse, err := r.past(ctx, v, window)
		if err != nil {
			return of, err
		}
		pulse.Doc = pulse.Read()
		of.State, of.Past, end = pulse, true, v.At.End()
	}
	if v.Over == 0 {
		return of, nil
	}
	begin := v
	begin.At = api.Moment{At: end.Add(-v.Over).Truncate(time.Millisecond), Exact: true}
	if v.At.At.IsZero() {
		begin.At.Ago = v.Over
	}
	before, err := r.past(ctx, begin, window)
	if err != nil {
		return of, err
	}
	if of.Before = &before; state.Spans(a.query) {
		times := state.Times(end.Truncate(time.Millisecond), v.Over, api.SeriesPointsMax)
		of.Through = r.cfg.History.Past(ctx, a.pack.ID, slices.Values(times))
	}
	return of, nil
}

// elsewhere names the packs that have rows where the one of v, a query that found nothing, has none.
func (r *Reader) elsewhere(v View) []api.Missing {
	var packs []string
	for _, p := range *r.packs.Load() {
		edition := r.other(v, p)
		if edition == nil {
			continue
		}
		rows := v.RowQuery()
		rows.At, rows.Over, rows.Agg, rows.Order = "", "", nil, ""
		query, err := edition.Rows.Complete(rows)
		if err != nil {
			continue
		}
		of := state.Asked{Query: query, Tables: edition.Rows, Shown: p.Shown, Names: p.Names, State: edition.Pulse}
		if found, err := state.Query(of); err == nil && found.Total > 0 {
			packs = append(packs, p.ID)
		}
	}
	if len(packs) == 0 {
		return nil
	}
	return []api.Missing{{What: v.queried[0].query.Text, Why: api.MissingNoRows, Instead: packs}}
}

// other is the newest edition of a pack that v is not about and its caller may read, nil for none.
func (r *Reader) other(v View, p Pack) *feed.Edition {
	if p.ID == v.Pack || v.Pack == api.PackAll || !v.everywhere && p.ID != api.DefaultPack {
		return nil
	}
	edition, _ := r.cfg.Feed.Latest(p.ID)
	return edition
}

// anyRow is the error for a query whose answer has no row.
func (r *Reader) anyRow(ctx context.Context, v View, window time.Duration) error {
	a, err := r.query(ctx, v, window)
	if err != nil || !a.Nothing {
		return err
	}
	none := api.Errorf(api.ReasonNothingFound, "no row of pack %s meets the query: %s", v.Pack, v.queried[0].query.Text)
	if packs := r.elsewhere(v); len(packs) > 0 {
		return none.WithHint("pack %s has such rows", strings.Join(packs[0].Instead, " and pack "))
	}
	return none.WithHint("describe=true lists the tables and fields; leave out a condition")
}

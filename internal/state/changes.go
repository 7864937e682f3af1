package state

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/diff"
)

// Ask is what a comparison is to tell of the rows. Flags and sources are told always.
type Ask struct {
	Min   float64  // percent, or points of a figure in percent, that a figure has to move
	Kinds []string // of rows; none means all
}

// wants reports whether rows of a kind are told.
func (a Ask) wants(kind string) bool { return len(a.Kinds) == 0 || slices.Contains(a.Kinds, kind) }

// Compare tells what is different in the pulse to since the pulse from of the same pack, whose rows stand where shown says. tables have
// what the state does not say of a row, its entity and link; nil means that nobody knows. Since and Freshness of the answer are left to
// the caller.
//
// A row is told by its first field: by how much that moved where it is a number, and as new, in place of a headline, where it is a time.
func Compare(from, to Pulse, shown []Shown, tables *Tables, ask Ask) api.ChangesResponse {
	c := comparison{to: to, tables: tables, ask: ask, refs: make(map[int]bool), answer: api.ChangesResponse{
		From: from.GeneratedAt.UTC(), To: to.GeneratedAt.UTC(), Flags: []api.ChangedFlag{}, Rows: []api.ChangedRow{},
		Headlines: []api.NewHeadline{}, Sources: []api.ChangedSource{}, Citations: []api.Citation{},
	}}
	old, now := from.Read(), to.Read()
	c.flags(old.Flags(), now.Flags())
	c.sources(old.Sources(), now.Sources())
	c.rows(old.Rows(shown), now.Rows(shown))
	c.news(shown)
	rose := slices.ContainsFunc(c.answer.Flags, func(f api.ChangedFlag) bool { return Worse(f) || Passed(f) })
	c.answer.Clear = c.answer.SourcesAnswered == c.answer.SourcesAsked && !rose
	for _, citation := range to.Citations {
		if c.refs[citation.Ref] {
			c.answer.Citations = append(c.answer.Citations, citation)
		}
	}
	return c.answer
}

// Worse reports whether a flag is one to be told of at once: it appeared or rose.
func Worse(f api.ChangedFlag) bool { return f.Change == api.FlagAppeared || f.Change == api.FlagRose }

// Passed reports whether a flag appeared and ended between the states.
func Passed(f api.ChangedFlag) bool { return f.Change == api.FlagEnded && f.Was == "" }

// Rows are the rows that the state shows where shown says, as they are in the tables, but for what a state does not say: entities,
// aliases, times of fetching and most links.
func (d *Document) Rows(shown []Shown) (rows []Row) {
	eachShown(shown, d.Root(), func(s *Shown, key string, v *jsonx.Value) { rows = append(rows, s.row(key, v)) })
	return rows
}

// row is v, which stands where s says, as a row of the tables.
func (s *Shown) row(key string, v *jsonx.Value) Row {
	r := Row{Kind: s.Kind, Key: key, Name: s.label(v.Raw), Symbol: memberText(v, "symbol"), URL: memberText(v, "url"), Ref: refOf(v),
		Of: memberText(v, "of")}
	if stale := v.Member("stale"); stale != nil {
		r.Stale = string(stale.Raw) == "true"
	}
	if at, err := time.Parse(time.RFC3339, memberText(v, s.Time)); err == nil {
		r.Fields = api.Fields{{Name: s.Time, Value: at}}
	}
	for _, f := range s.Fields {
		if n := f.value(v); n != nil {
			r.Fields = append(r.Fields, api.Field{Name: f.Name, Value: *n})
		}
	}
	return r
}

type comparison struct {
	to     Pulse
	tables *Tables
	ask    Ask
	answer api.ChangesResponse
	refs   map[int]bool // that are told
}

// flags compares the flags that stood with those that stand. Those that came and went in between have ended, as far as they are remembered,
// and are told as they stood when they were gravest.
func (c *comparison) flags(old, now []api.Flag) {
	ended, passed := make(map[string]time.Time, len(c.to.Ended)), make(map[string]bool)
	for _, e := range c.to.Ended {
		ended[e.ID] = e.EndedAt.UTC()
		stands := slices.ContainsFunc(now, func(f api.Flag) bool { return f.ID == e.ID })
		stood := slices.ContainsFunc(old, func(f api.Flag) bool { return f.ID == e.ID })
		if e.EndedAt.After(c.answer.From) && !stands && !stood {
			old, passed[e.ID] = append(old, e.AtWorst()), true
		}
	}
	for _, p := range diff.Match(old, now, func(f api.Flag) string { return cmp.Or(f.ID, f.Kind+" "+f.Subject) }) {
		change := changeOf(p)
		if change == "" {
			continue
		}
		f := cmp.Or(p.New, p.Old)
		told := api.ChangedFlag{
			ID: f.ID, Kind: f.Kind, Severity: f.Severity, Change: change, Message: f.Message, Entity: f.Entity, Ref: f.Ref,
			Since: f.Since, EventAt: f.EventAt,
		}
		if p.Old != nil && !passed[f.ID] {
			told.Was = p.Old.Severity
		}
		if p.New == nil {
			at, known := ended[f.ID]
			if !known {
				at = c.answer.To // at the latest
			}
			told.EndedAt = &at
		}
		c.refs[f.Ref] = true
		c.answer.Flags = append(c.answer.Flags, told)
	}
	slices.SortStableFunc(c.answer.Flags, func(a, b api.ChangedFlag) int {
		order := api.FlagChanges()
		return cmp.Or(slices.Index(order, a.Change)-slices.Index(order, b.Change), b.Severity.Rank()-a.Severity.Rank())
	})
}

// quarter is by which part the value of a flag moves at least that is told, its severity being the same.
const quarter = 0.25

// changeOf is what became of a flag, "" for nothing worth telling.
func changeOf(p diff.Pair[api.Flag]) api.FlagChange {
	switch {
	case p.Old == nil:
		return api.FlagAppeared
	case p.New == nil:
		return api.FlagEnded
	}
	up := p.New.Severity.Rank() - p.Old.Severity.Rank()
	// Other units count up while a flag stands, or are worse the lower they are.
	if up == 0 && p.New.Unit == p.Old.Unit && (p.New.Unit == "usd" || p.New.Unit == "pct") {
		switch before, after := math.Abs(p.Old.Value), math.Abs(p.New.Value); {
		case after >= before*(1+quarter) && after > before:
			up = 1
		case after <= before/(1+quarter) && after < before:
			up = -1
		}
	}
	switch {
	case up > 0:
		return api.FlagRose
	case up < 0:
		return api.FlagFell
	}
	return ""
}

// sources compares how the sources did with how they do, and tells those that failed, recovered or do not answer still.
func (c *comparison) sources(old, now []api.SourceStatus) {
	for _, p := range diff.Match(old, now, func(s api.SourceStatus) string { return s.ID }) {
		if p.New == nil {
			continue
		}
		from, to := health(p.Old), health(p.New)
		c.answer.SourcesAsked++
		if to == api.HealthOK {
			c.answer.SourcesAnswered++
		}
		if from == api.HealthOK && to == api.HealthOK {
			continue
		}
		c.refs[p.New.Ref] = true
		c.answer.Sources = append(c.answer.Sources, api.ChangedSource{ID: p.New.ID, Ref: p.New.Ref, From: from, To: to})
	}
}

// health is how a source does. One that was not asked before did well.
func health(s *api.SourceStatus) api.SourceHealth {
	switch {
	case s == nil || s.Status == api.SourceOK:
		return api.HealthOK
	case s.Status == api.SourceStale:
		return api.HealthStale
	}
	return api.HealthFailed
}

// rows compares the rows that were shown with those that are. One that came or went did not move: the state is a selection.
func (c *comparison) rows(old, now []Row) {
	type move struct {
		api.ChangedRow
		size float64
	}
	var moves []move
	for _, p := range diff.Match(old, now, func(r Row) string { return r.Kind + "/" + r.Key }) {
		if p.New == nil || len(p.New.Fields) == 0 || !c.ask.wants(p.New.Kind) {
			continue
		}
		r := c.known(*p.New)
		field := r.Fields[0]
		if at, ok := field.Value.(time.Time); ok {
			if p.Old == nil {
				c.refs[r.Ref] = true
				c.answer.Headlines = append(c.answer.Headlines, api.NewHeadline{Key: r.Key, Title: r.Name, URL: r.URL, Ref: r.Ref, At: at})
			}
			continue
		}
		to, ok := number(field.Value)
		if p.Old == nil || !ok {
			continue
		}
		if from, ok := number(p.Old.Fields.Get(field.Name)); ok && from != to {
			percent, size := moved(field.Name, from, to)
			if size < c.ask.Min {
				continue
			}
			moves = append(moves, move{api.ChangedRow{
				Kind: r.Kind, Key: r.Key, Entity: r.Entity, Name: r.Name, Symbol: r.Symbol, Field: field.Name, From: from, To: to,
				ChangePct: percent, Ref: r.Ref, URL: r.URL, Of: r.Of, Stale: r.Stale,
			}, size})
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(b.size, a.size) })
	for _, m := range moves[:min(len(moves), api.MaxChangedRows)] {
		c.refs[m.Ref] = true
		c.answer.Rows = append(c.answer.Rows, m.ChangedRow)
	}
}

// news adds the headlines of the time between the states that the tables keep: a state shows few of them.
func (c *comparison) news(shown []Shown) {
	for _, s := range shown {
		if s.Time == "" || c.tables == nil || !c.ask.wants(s.Kind) {
			continue
		}
		for _, r := range c.tables.rows {
			at, is := r.Fields.Get(s.Time).(time.Time)
			told := slices.ContainsFunc(c.answer.Headlines, func(h api.NewHeadline) bool { return h.Key == r.Key })
			if r.Kind == s.Kind && is && !told && at.After(c.answer.From) && !at.After(c.answer.To) {
				c.refs[r.Ref] = true
				h := api.NewHeadline{Key: r.Key, Title: r.Name, URL: c.known(r).URL, Ref: r.Ref, At: at}
				c.answer.Headlines = append(c.answer.Headlines, h)
			}
		}
	}
	slices.SortStableFunc(c.answer.Headlines, func(a, b api.NewHeadline) int { return b.At.Compare(a.At) })
	c.answer.Headlines = c.answer.Headlines[:min(len(c.answer.Headlines), api.MaxChangedRows)]
}

// known is r with what the tables know of it and the state does not say.
func (c *comparison) known(r Row) Row {
	if c.tables != nil {
		if t := c.tables.Row(r.Kind, r.Key); t != nil {
			r.Entity, r.URL = t.Entity, t.URL
		}
	}
	r.Entity = cmp.Or(r.Entity, r.Kind+"/"+r.Key)
	if r.URL == "" && r.Ref > 0 && r.Ref <= len(c.to.Citations) {
		r.URL = c.to.Citations[r.Ref-1].URL
	}
	return r
}

// moved is by how much a figure moved, as readers see it: in percent, nil where there is no such number, and the size of that. A figure
// that is in percent itself moves by points, and one that was nothing moves by more than all others.
func moved(field string, from, to float64) (percent *float64, size float64) {
	if strings.HasSuffix(field, "Pct") {
		return nil, human.Round(math.Abs(to-from), 2)
	}
	by := (to - from) / math.Abs(from) * 100
	if percent = human.RoundPercent(&by); percent == nil || from == 0 {
		return nil, math.Inf(1)
	}
	return percent, math.Abs(*percent)
}

// number is the value of a field as a number, if it is a finite one.
func number(value any) (n float64, ok bool) {
	switch v := value.(type) {
	case float64:
		n = v
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	default:
		return 0, false
	}
	return n, !math.IsNaN(n) && !math.IsInf(n, 0)
}

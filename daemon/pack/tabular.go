package pack

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Tabular is a pack that is declared and not written in Go: every source gives rows of one kind, members of the state are selections of
// them, and flags are raised by conditions on single rows. What is selected and which conditions hold was decided when the answer came, see
// source.RowsDoc; here is what follows from it.
type Tabular struct {
	ID, Title, Description string
	Digest                 string // of the declaration
	Version                int
	Sources                []Source
	Tables                 []Table // of the sources, in their order
	Kinds                  []state.Kind
	Members                []Member
	Flags                  []FlagRule
	MaxState               int // bytes of a state as compact JSON
}

// Table is what the rows of a source are.
type Table struct {
	Kind    string
	Numbers []string // the fields that are numbers
	Link    string   // of a row without one, with {key}; "" is the source's own
	News    string   // the field that says when a row came, of rows that are news; "" means that they are none
	Size    string   // the number by which the larger of two rows wins; "" is their order
}

// Member is a list in the state.
type Member struct {
	Name   string
	From   []int    // anchors of the sources that its rows are of, all of one kind
	Fields []string // that rows have there; nil means all
}

// FlagRule raises flags of a kind, one for every row of a source whose mark says so.
type FlagRule struct {
	Kind      string
	Ref       int // anchor of the source
	Value     string
	Unit      string
	Threshold float64
	EventAt   string // the field that says when it happened; "" means unknown
	Message   human.Template
}

// PickOf is the name of a member among the picks of its sources.
func PickOf(member string) string { return "member/" + member }

// Pack makes the pack.
func (t Tabular) Pack() *Pack {
	p := &Pack{
		ID: t.ID, Title: t.Title, Description: t.Description, Digest: t.Digest, Manifest: t.Digest,
		Version: t.Version, Sources: t.Sources, Shown: t.shown(),
	}
	for i, m := range t.Members {
		p.Members = append(p.Members, api.PackMember{Name: m.Name, Kind: p.Shown[i].Kind, Fields: t.fields(m)})
	}
	for _, k := range t.Kinds {
		p.Kinds = append(p.Kinds, k.Name)
	}
	p.FlagKinds = []string{api.FlagSuspiciousName, api.FlagSourceStale, api.FlagSourceError, api.FlagSourceEnding}
	for _, rule := range t.Flags {
		p.FlagKinds = append(p.FlagKinds, rule.Kind)
	}
	p.Compact = func(in Input) ([]byte, error) { return t.compact(p, in) }
	p.Excerpts = func(doc *state.Document) map[string]string { return t.excerpts(p, doc) }
	p.Tables = func(in Input) *state.Tables { return t.tables(p, in) }
	return p
}

// kind is the kind of a name, nil if there is none.
func (t Tabular) kind(name string) *state.Kind {
	i := slices.IndexFunc(t.Kinds, func(k state.Kind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Kinds[i]
}

func (t Tabular) fields(m Member) (names []string) {
	for _, f := range t.kind(t.Tables[m.From[0]-1].Kind).Fields {
		if m.Fields == nil || slices.Contains(m.Fields, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// shown says where in a state which rows stand.
func (t Tabular) shown() (list []state.Shown) {
	for _, m := range t.Members {
		table := t.Tables[m.From[0]-1]
		s := state.Shown{Kind: table.Kind, Path: m.Name, Label: "name", Time: table.News}
		for _, name := range t.fields(m) {
			switch {
			case slices.Contains(table.Numbers, name):
				s.Fields = append(s.Fields, state.ShownField{Name: name})
			case name != table.News:
				s.Further = append(s.Further, name)
			}
		}
		list = append(list, s)
	}
	return list
}

func (t Tabular) compact(p *Pack, in Input) ([]byte, error) {
	v := &view{pack: p, in: in, status: p.Status(in), prev: in.flags()}
	lists := make([][]api.Fields, len(t.Members))
	for i, m := range t.Members {
		lists[i] = t.list(v, m)
	}
	flags := t.raise(v)
	for {
		doc := make(api.Fields, 0, len(lists)+2)
		longest := 0
		for i, m := range t.Members {
			doc = append(doc, api.Field{Name: m.Name, Value: lists[i]})
			if len(lists[i]) > len(lists[longest]) {
				longest = i
			}
		}
		doc = append(doc, api.Field{Name: "flags", Value: flags}, api.Field{Name: "source_status", Value: v.status})
		text, err := jsonx.Encode(doc)
		if err != nil {
			return nil, fmt.Errorf("encode state: %w", err)
		}
		rows := lists[longest]
		if len(text) <= t.MaxState || len(rows) == 0 {
			return text, nil
		}
		lists[longest] = rows[:len(rows)*3/4]
	}
}

func (t Tabular) list(v *view, m Member) []api.Fields {
	rows := []api.Fields{}
	seen := make(map[string]bool)
	for _, ref := range m.From {
		doc := lastGood[*source.RowsDoc](v, ref)
		if doc == nil {
			continue
		}
		for _, key := range doc.Picks[PickOf(m.Name)] {
			if r := doc.Row(key); r != nil && !seen[key] {
				seen[key] = true
				rows = append(rows, shownRow(r, m.Fields, ref, v.pack.of(v.in, ref, r.Of), v.carried(ref)))
			}
		}
	}
	return rows
}

func shownRow(r *source.DeclaredRow, fields []string, ref int, of string, stale bool) api.Fields {
	row := api.Fields{{Name: "id", Value: r.Key}, {Name: "name", Value: r.Name}}
	add := func(name, text string) {
		if text != "" {
			row = append(row, api.Field{Name: name, Value: text})
		}
	}
	add("symbol", r.Symbol)
	add("group", r.Group)
	for _, value := range r.Values {
		if fields == nil || slices.Contains(fields, value.Name) {
			row = append(row, api.Field{Name: value.Name, Value: value.Any()})
		}
	}
	add("url", r.URL)
	row = append(row, api.Field{Name: "ref", Value: ref})
	add("of", of)
	if stale {
		row = append(row, api.Field{Name: "stale", Value: true})
	}
	return row
}

func (t Tabular) raise(v *view) []api.Flag {
	now := v.in.Now.UTC().Truncate(time.Millisecond)
	seen := sourceTroubles(v.status, func(ref int) string { return v.pack.Sources[ref-1].Name }, now)
	for _, rule := range t.Flags {
		doc := lastGood[*source.RowsDoc](v, rule.Ref)
		if doc == nil {
			continue
		}
		for i := range doc.Rows {
			r := &doc.Rows[i]
			if mark, marked := doc.Marks[rule.Kind][r.Key]; marked {
				seen = append(seen, rule.observe(v, r, mark, t.entity(rule.Ref, r)))
			}
		}
	}
	flags := raiseFlags(append(seen, v.names()...), v.prev, v.in.Ended, now)
	for i := range flags {
		f := &flags[i]
		f.Stale = v.carried(f.Ref) && !api.AboutSource(f.Kind)
	}
	return flags
}

func (rule FlagRule) observe(v *view, r *source.DeclaredRow, mark source.Mark, entity string) observation {
	s := observation{
		ID: rule.Kind + ":" + r.Key, Kind: rule.Kind, Subject: r.Name, Unit: rule.Unit, Entity: entity, Ref: rule.Ref,
		Fresh: v.fresh(rule.Ref), Threshold: rule.Threshold, Raise: mark.Raise, Hold: mark.Hold || mark.Raise, Severity: mark.Severity,
	}
	if at := r.Value(rule.EventAt); at != nil && at.Time != nil {
		s.EventAt = at.Time
	}
	if value := r.Value(rule.Value); value != nil {
		s.Value = value.Number
	}
	s.Message, _ = rule.Message.Fill("unknown", func(field string) any {
		if field == "of" {
			return human.AboutPhrase(v.pack.of(v.in, rule.Ref, r.Of), v.in.Now)
		}
		return valueOf(r, field)
	})
	return s
}

// valueOf is a field of a row, its name or its symbol, as a sentence has it; nil if it is not known.
func valueOf(r *source.DeclaredRow, field string) any {
	text := ""
	switch field {
	case "name":
		text = human.Named(r.Name)
	case "symbol":
		text = human.Named(cmp.Or(r.Symbol, r.Name))
	case "key":
		text = human.Named(r.Key)
	default:
		v := r.Value(field)
		if v == nil {
			return nil
		}
		if v.Text == "" {
			return plain(*v)
		}
		text = human.Named(v.Text)
	}
	if text == "" {
		return nil
	}
	return text
}

// plain is a value as internal/human writes it.
func plain(v source.Value) any {
	if at, is := v.Any().(time.Time); is {
		return at.Format(time.RFC3339)
	}
	return v.Any()
}

func (t Tabular) entity(ref int, r *source.DeclaredRow) string {
	return cmp.Or(r.Entity, t.Tables[ref-1].Kind+"/"+r.Key)
}

func (t Tabular) tables(p *Pack, in Input) *state.Tables {
	b := tables{p: p, in: in}
	for i, table := range t.Tables {
		doc, ok := read[*source.RowsDoc](p, in, i+1)
		if !ok {
			continue
		}
		for n := range doc.Rows {
			r := &doc.Rows[n]
			row := state.Row{
				Kind: table.Kind, Key: r.Key, Entity: r.Entity, Name: r.Name, Symbol: r.Symbol, Aliases: r.Aliases,
				Size: float64(len(doc.Rows) - n), URL: table.link(r), Of: r.Of,
			}
			for _, v := range r.Values {
				row.Fields = append(row.Fields, api.Field{Name: v.Name, Value: v.Any()})
			}
			if v := r.Value(cmp.Or(table.Size, table.News)); v != nil {
				switch {
				case v.Number != nil:
					row.Size = *v.Number
				case v.Time != nil:
					row.Size = float64(v.Time.Unix())
				}
			}
			b.add(i+1, row)
		}
	}
	return state.NewTables(t.Kinds, b.rows)
}

// link is where a row stands on the web, "" where only its source is known.
func (t Table) link(r *source.DeclaredRow) string {
	if r.URL != "" || t.Link == "" {
		return r.URL
	}
	return strings.ReplaceAll(t.Link, "{key}", url.PathEscape(r.Key))
}

// excerpts is Excerpts of the pack p: the first row of each source in a state, with all that it says there.
func (t Tabular) excerpts(p *Pack, doc *state.Document) map[string]string {
	f := facts{}
	for _, m := range t.Members {
		var rows []api.Fields
		_ = doc.Decode(m.Name, &rows) // what cannot be read has no excerpt
		for _, row := range rows {
			if ref, _ := row.Get("ref").(float64); ref > 0 && int(ref) <= len(p.Sources) {
				f.add(int(ref), "%s", excerpt(row))
			}
		}
	}
	excerpts := make(map[string]string, len(f))
	for ref, text := range f {
		excerpts[p.Sources[ref-1].ID] = text
	}
	return excerpts
}

// excerpt tells what a row of a state says.
func excerpt(row api.Fields) string {
	name, _ := row.Get("name").(string)
	symbol, _ := row.Get("symbol").(string)
	var told api.Fields
	for _, f := range row {
		if !slices.Contains([]string{"id", "name", "symbol", "group", "url", "ref", "of", "stale"}, f.Name) {
			told = append(told, f)
		}
	}
	return state.Excerpt(name, symbol, told)
}

package state

import (
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
)

// alone is how the rows of a state stand there, as it says by itself.
type alone struct {
	kinds []Kind
	shown []Shown
}

// Alone is where rows stand in a state of a pack that is not known, and their kinds: the objects of lists that have a source, and readings
// of the whole market. What they are called and measure is read from the names of members.
func (d *Document) Alone() ([]Kind, []Shown) {
	var a alone
	var visit func(v *jsonx.Value)
	visit = func(v *jsonx.Value) {
		for _, m := range v.Members {
			switch {
			case m.IsArray():
				a.add(m, m.Members)
			case m.IsObject():
				a.add(m, []*jsonx.Value{m})
				visit(m)
			}
		}
	}
	visit(d.Root())
	return a.kinds, a.shown
}

// add notes where the rows of a list, or the only one, stand.
func (a *alone) add(at *jsonx.Value, rows []*jsonx.Value) {
	s := Shown{Kind: at.Name, Path: at.Path()}
	if at.IsObject() {
		s.Key, s.Label = at.Name, human.FieldLabel(at.Name)
	}
	for _, row := range rows {
		if refOf(row) == 0 || !at.IsObject() && memberText(row, "id") == "" {
			continue
		}
		for _, name := range RowNames() {
			if s.Label == "" && row.Member(name) != nil {
				s.Label = name
			}
		}
		for _, m := range row.Members {
			number := len(m.Raw) > 0 && strings.IndexByte("-0123456789", m.Raw[0]) >= 0
			if number && m.Name != "ref" && !slices.ContainsFunc(s.Fields, func(f ShownField) bool { return f.Name == m.Name }) {
				s.Fields = append(s.Fields, ShownField{Name: m.Name})
			}
		}
	}
	if len(s.Fields) == 0 {
		return
	}
	kind := Kind{Name: s.Kind, Own: slices.Contains([]string{"message", "title", "question"}, s.Label)}
	for _, f := range s.Fields {
		label := strings.ToLower(human.FieldLabel(f.Name))
		bare := slices.DeleteFunc(strings.Fields(label), func(w string) bool { return w[0] >= '0' && w[0] <= '9' }) // a period
		kind.Fields = append(kind.Fields, Field{Name: f.Name, Words: []string{label, strings.Join(bare, " ")}})
	}
	a.shown, a.kinds = append(a.shown, s), append(a.kinds, kind)
}

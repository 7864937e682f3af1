package state

import (
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Place is where a row stands in a state.
type Place struct {
	Row    string // kind/key
	Path   string // as search writes it
	key    string
	object *jsonx.Value
	shown  *Shown // how it stands there; nil for what is in no table
}

// Places lists where the rows of the state stand: those that are shown of a pack's tables, and whatever else names its source, such as
// flags and readings of the whole market.
func (d *Document) Places(shown []Shown) []Place {
	root, known := d.Root(), map[*jsonx.Value]Place{}
	eachShown(shown, root, func(s *Shown, key string, v *jsonx.Value) {
		known[v] = Place{Row: s.Kind + "/" + key, key: key, shown: s}
	})
	var places []Place
	var visit func(v *jsonx.Value, member string)
	visit = func(v *jsonx.Value, member string) {
		if v.IsObject() {
			place := known[v]
			if place.Path, place.object = v.Path(), v; place.Row == "" {
				place.Row = unlisted(v, member)
			}
			if place.Row != "" {
				places = append(places, place)
			}
		}
		for _, m := range v.Members {
			if v.IsObject() {
				visit(m, m.Name)
			} else {
				visit(m, member)
			}
		}
	}
	visit(root, "")
	return places
}

// unlisted names an object that stands in no table by the list that it is in, or by itself; "" for what has no source.
func unlisted(v *jsonx.Value, member string) string {
	if refOf(v) == 0 {
		return ""
	}
	key := memberText(v, "id")
	if key == "" {
		key = memberText(v, "url")
	}
	switch {
	case key == "":
		return "reading/" + member
	case member == "source_status":
		return "source/" + key
	}
	return strings.TrimSuffix(member, "s") + "/" + key
}

// PlaceOf is the place of the row kind/key, nil if there is none.
func PlaceOf(places []Place, row string) *Place {
	i := slices.IndexFunc(places, func(p Place) bool { return p.Row == row })
	if i < 0 {
		return nil
	}
	return &places[i]
}

// Around is the innermost of the places that the value at path is in, nil if it is in none.
func Around(places []Place, path string) (found *Place) {
	for i, p := range places {
		inside := path == p.Path || strings.HasPrefix(path, p.Path+".") || strings.HasPrefix(path, p.Path+"[")
		if inside && (found == nil || len(p.Path) > len(found.Path)) {
			found = &places[i]
		}
	}
	return found
}

// Field is what the member of the row at path, a path that it is around, is called in its table.
func (p *Place) Field(path string) string {
	name := path[strings.LastIndex(path, ".")+1:]
	if p.shown != nil {
		for _, f := range p.shown.Fields {
			if f.In == name {
				return f.Name
			}
		}
	}
	return name
}

// Ref is the source that the row names, 0 where it names none.
func (p *Place) Ref() int { return refOf(p.object) }

// Raw is the row as it stands in the state.
func (p *Place) Raw() []byte { return p.object.Raw }

// URL is the page of the row, "" where the state has none.
func (p *Place) URL() string { return memberText(p.object, "url") }

// Excerpt tells what the row says, in a line, with what it is about where that is older than its poll.
func (p *Place) Excerpt() string {
	text := p.excerpt()
	if of := memberText(p.object, "of"); of != "" && !strings.Contains(text, of) {
		text += " · of " + of
	}
	return text
}

func (p *Place) excerpt() string {
	if p.shown != nil {
		row := p.shown.row(p.key, p.object)
		for _, name := range p.shown.Further {
			if text := memberText(p.object, name); text != "" {
				row.Fields = append(row.Fields, api.Field{Name: name, Value: text})
			}
		}
		return Excerpt(row.Name, row.Symbol, row.Fields)
	}
	if text := memberText(p.object, "message"); text != "" {
		return text
	}
	name := ""
	for _, member := range RowNames() {
		if name == "" && member != "id" {
			name = memberText(p.object, member)
		}
	}
	var fields api.Fields
	for _, m := range p.object.Members {
		if n := (ShownField{Name: m.Name}).value(m.Parent); n != nil && m.Name != "ref" {
			fields = append(fields, api.Field{Name: m.Name, Value: *n})
		}
	}
	return Excerpt(name, "", fields)
}

const excerptFields = 6

// Excerpt tells what a row of a name says, in a line.
func Excerpt(name, symbol string, fields api.Fields) string {
	var values []string
	for _, f := range fields[:min(len(fields), excerptFields)] {
		value := f.Value
		if at, is := value.(time.Time); is {
			value = at.Format(time.RFC3339)
		}
		values = append(values, human.Field(f.Name, value))
	}
	return strings.TrimSpace(human.Label(Called(name, symbol), 120) + " " + strings.Join(values, " · "))
}

package state

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Place is where a row stands in a state.
type Place struct {
	Row    string // kind/key
	Path   string // as search writes it
	object *jsonx.Value
	shown  *Shown // how it stands there; nil for what is in no table
}

// PlacesOf lists where the rows of a state stand: those that are shown of a pack's tables, and whatever else names its source, such as
// flags and readings of the whole market.
func PlacesOf(shown []Shown, doc []byte) []Place {
	known := map[string]Place{} // by path
	for i, s := range shown {
		s.each(doc, func(key string, row *jsonx.Value) {
			known[s.Path+row.Path()] = Place{Row: s.Kind + "/" + key, shown: &shown[i]}
		})
	}
	root, err := jsonx.Parse(doc)
	if err != nil {
		return nil // a state is valid
	}
	var places []Place
	var visit func(v *jsonx.Value, member string)
	visit = func(v *jsonx.Value, member string) {
		if v.IsObject() {
			place := known[v.Path()]
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
	if v.Member("ref") == nil {
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

// Ref is the source that the row names.
func (p *Place) Ref() int {
	n, _ := strconv.Atoi(string(p.object.Member("ref").Raw)) // a row without one is no place
	return n
}

// URL is the page of the row, "" where the state has none.
func (p *Place) URL() string { return memberText(p.object, "url") }

// Excerpt tells what the row says, in a line.
func (p *Place) Excerpt() string {
	if text := memberText(p.object, "message"); text != "" {
		return text
	}
	var fields api.Fields
	name := ""
	if p.shown != nil {
		for _, f := range p.shown.Fields {
			if v := f.value(p.object); v != nil {
				fields = append(fields, api.Field{Name: f.Name, Value: *v})
			}
		}
		return Excerpt(p.shown.label(p.object), memberText(p.object, "symbol"), fields)
	}
	for _, m := range p.object.Members {
		switch {
		case m.Name == "ref" || m.Name == "id" || m.Name == "url" || !m.IsLeaf() || string(m.Raw) == "null":
		case slices.Contains([]string{"name", "title", "question", "pair"}, m.Name):
			name = m.Text()
		case m.IsString():
		default:
			var v any
			if json.Unmarshal(m.Raw, &v) == nil {
				fields = append(fields, api.Field{Name: m.Name, Value: v})
			}
		}
	}
	return Excerpt(name, memberText(p.object, "symbol"), fields)
}

// excerptFields is how many figures an excerpt has.
const excerptFields = 6

// Excerpt tells what a row of a name says, in a line.
func Excerpt(name, symbol string, fields api.Fields) string {
	if symbol != "" && symbol != name {
		name += " (" + symbol + ")"
	}
	var values []string
	for _, f := range fields[:min(len(fields), excerptFields)] {
		values = append(values, human.Field(f.Name, f.Value))
	}
	return strings.TrimSpace(human.Label(name, 120) + " " + strings.Join(values, " · "))
}

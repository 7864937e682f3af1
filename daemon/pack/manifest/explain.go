package manifest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/contextd/contextd/internal/human"
)

// Dropped says what of the rows that jq gave of a source is left out, and why.
func (m *Manifest) Dropped(id string, raw []any) []string {
	s, _ := m.source(id)
	var d dropped
	first := make(map[string]int) // rows, by key
	kept := 0
	for i, value := range raw {
		row, ok := s.clean(value)
		_, object := value.(map[string]any)
		switch before, again := first[row.Key]; {
		case !object:
			d.add(i, row.Key, "is no object")
		case !ok:
			d.add(i, row.Key, "has no key")
		case again:
			d.add(i, row.Key, fmt.Sprintf("has the key of row %d", before+1))
		case len(row.Values) == 0:
			d.add(i, row.Key, "has no field with a value that fits")
		default:
			kept++
			first[row.Key] = i
		}
		if ok {
			s.unfit(&d, i, row.Key, value.(map[string]any))
		}
	}
	for _, f := range s.Fields {
		has := func(value any) bool { row, _ := value.(map[string]any); return row[f.Name] != nil }
		if len(raw) > 0 && !slices.ContainsFunc(raw, has) {
			d.texts = append(d.texts, "no row has "+f.Name)
		}
	}
	if over := kept - m.Limits.Rows; over > 0 {
		d.texts = append(d.texts, fmt.Sprintf("%d rows are beyond limits.rows: %d", over, m.Limits.Rows))
	}
	return d.list()
}

// unfit notes what of a row's members is not taken.
func (s *Source) unfit(d *dropped, i int, key string, row map[string]any) {
	for _, f := range s.Fields {
		value := row[f.Name]
		if _, known := f.clean(value); value != nil && !known && value != "" {
			text := human.Short(fmt.Sprintf("%#v", value), human.Quoted)
			d.add(i, key, fmt.Sprintf("has a value of %s that is no %s: %s", f.Name, f.Type, text))
		}
	}
	known := append(rowMembers(), s.names()...)
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("has %s, which is no field", human.Short(name, human.Quoted))
		if near := human.Nearest(name, known); near != "" {
			text += "; did you mean " + near + "?"
		}
		d.add(i, key, text)
	}
}

type dropped struct {
	texts []string // in the order in which they were found
	count map[string]int
	first map[string]string
}

// mostReasons is how many are told.
const mostReasons = 20

func (d *dropped) add(i int, key, text string) {
	if d.count == nil {
		d.count, d.first = make(map[string]int), make(map[string]string)
	}
	if d.count[text]++; d.count[text] > 1 {
		return
	}
	d.texts = append(d.texts, text)
	d.first[text] = fmt.Sprintf("row %d", i+1)
	if key != "" {
		d.first[text] += " (" + key + ")"
	}
}

// list are the reasons, each with a row that it is true of.
func (d *dropped) list() []string {
	var list []string
	for _, text := range d.texts[:min(len(d.texts), mostReasons)] {
		switch n := d.count[text]; {
		case n == 0:
			list = append(list, text)
		case n == 1:
			list = append(list, d.first[text]+" "+text)
		default:
			list = append(list, fmt.Sprintf("%s, as %d others, %s", d.first[text], n-1, text))
		}
	}
	if over := len(d.texts) - mostReasons; over > 0 {
		list = append(list, fmt.Sprintf("and %d more reasons", over))
	}
	return list
}

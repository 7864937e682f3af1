package main

import "slices"

// shippedPack is a shipped pack as it is outside of the service.
type shippedPack struct {
	id      string
	sources []upstream // [1] first
	ways    map[string][]ways
	steady  map[string][]string             // by kind, fields of the rows that every state has by the manifest, the leading one first
	rows    func(facts []fact, f fact) bool // whether a row of such a kind is one of them
	bears   map[string]func(e evidence) bool
	events  func(at func(part float64) int) []happening
}

// evidence is what upstream says of the row of a flag, now and before.
type evidence struct {
	value func(field string, ticksAgo int) (float64, bool)
}

// is is the value of a field now, 0 where upstream has none.
func (e evidence) is(field string) float64 {
	v, _ := e.value(field, 0)
	return v
}

// moved is by how many percent a field has moved in some ticks.
func (e evidence) moved(field string, ticks int) float64 {
	was, known := e.value(field, ticks)
	if !known || was == 0 {
		return 0
	}
	return (e.is(field)/was - 1) * 100
}

// shippedPacks are those of the program.
func shippedPacks() []shippedPack { return []shippedPack{perpsPack(), marketsPack(), aiPack()} }

// ids are those of the sources.
func (p shippedPack) ids() (list []string) {
	for _, u := range p.sources {
		list = append(list, u.id)
	}
	return list
}

// row makes the facts of a row.
func row(base fact, fields ...fact) (list []fact) {
	for _, f := range fields {
		list = append(list, base.of(f.field, f.value, f.slack))
	}
	return list
}

// num is a field with its value.
func num(field string, value float64, s slack) fact {
	return fact{field: field, value: value, slack: s}
}

// optional is a field whose value may be missing.
func optional(field string, value *float64, s slack) []fact {
	if value == nil {
		return nil
	}
	return []fact{num(field, *value, s)}
}

// outages are events in which 1, 3, and more sources of a pack are dead, at last all.
func outages(ids []string, at func(part float64) int) (list []happening) {
	window := max(2, (at(1)-at(0.65))/12)
	for i, n := range []int{1, min(3, len(ids)), max(1, len(ids)/3), (len(ids) + 1) / 2, len(ids) * 4 / 5, len(ids)} {
		from := at(0.65) + 2*window*i + window
		dead := []string{}
		for j := 0; len(dead) < n; j++ {
			if id := ids[(i*5+j)%len(ids)]; !slices.Contains(dead, id) {
				dead = append(dead, id)
				list = append(list, happening{source: id, from: from, until: from + window})
			}
		}
	}
	return list
}

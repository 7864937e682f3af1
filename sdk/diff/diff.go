// Package diff compares two states of a pack.
//
// It is independent of packs: it recognises the rows of an array by id and group, so that a row in another place is not a change.
// ctx state follow, ctx changes and the terminal UI show its changes, and the service pairs rows with Match for the operation changes.
package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/contextd/contextd/internal/jsonx"
)

// Change is one difference. An addition has no Old, a removal no New; both are JSON texts.
type Change struct {
	Path string          `json:"path"`          // in the newer state, as search writes paths; of a removal, in the older one
	Row  string          `json:"row,omitempty"` // symbol, name or id of the row that it is in, "" outside of rows
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
	Ref  int             `json:"-"` // the source of the row in the newer state, as far as one is named there, else 0
}

type row struct {
	name string
	ref  int
}

// States returns the changes from old to new, in the order of new; removals come at the end of their container.
func States(old, new json.RawMessage) ([]Change, error) {
	a, err := jsonx.Parse(old)
	if err != nil {
		return nil, fmt.Errorf("read older state: %w", err)
	}
	b, err := jsonx.Parse(new)
	if err != nil {
		return nil, fmt.Errorf("read newer state: %w", err)
	}
	var d differ
	d.compare("", row{}, a, b)
	return d.changes, nil
}

// text is the string that v is, "" for anything else.
func text(v *jsonx.Value) string {
	if v == nil || !v.IsString() {
		return ""
	}
	return v.Text()
}

// key is what a row is recognised by, "" for what is no row.
func key(n *jsonx.Value) string {
	id := text(n.Member("id"))
	if id == "" {
		return ""
	}
	return text(n.Member("group")) + "\x00" + id
}

// label is what a row is called for people.
func label(n *jsonx.Value) string {
	for _, name := range []string{"symbol", "name", "pair", "subject", "question", "id"} {
		if text := text(n.Member(name)); text != "" {
			return text
		}
	}
	return ""
}

// refOf is the source that v names, or else what v is in.
func refOf(v *jsonx.Value, in int) int {
	if ref := v.Member("ref"); ref != nil {
		if n, err := strconv.Atoi(string(ref.Raw)); err == nil {
			return n
		}
	}
	return in
}

type differ struct{ changes []Change }

func (d *differ) compare(path string, in row, old, new *jsonx.Value) {
	switch {
	case old.IsObject() && new.IsObject():
		d.objects(path, in, old, new)
	case old.IsArray() && new.IsArray():
		d.arrays(path, in, old, new)
	case !bytes.Equal(old.Raw, new.Raw):
		d.add(path, in, old, new)
	}
}

// add notes a change. A nil value is one that is not there.
func (d *differ) add(path string, in row, old, new *jsonx.Value) {
	c := Change{Path: path, Row: in.name}
	if old != nil {
		c.Old = old.Raw
	}
	if new != nil {
		c.New, c.Ref = new.Raw, refOf(new, in.ref)
	}
	d.changes = append(d.changes, c)
}

func (d *differ) objects(path string, in row, old, new *jsonx.Value) {
	if name := label(new); key(new) != "" && name != "" {
		in.name = name
	}
	in.ref = refOf(new, in.ref)
	for _, n := range new.Members {
		if was := old.Member(n.Name); was != nil {
			d.compare(join(path, n.Name), in, was, n)
		} else {
			d.add(join(path, n.Name), in, nil, n)
		}
	}
	for _, was := range old.Members {
		if new.Member(was.Name) == nil {
			d.add(join(path, was.Name), in, was, nil)
		}
	}
}

// arrays compares two arrays: rows by their keys, anything else by place.
func (d *differ) arrays(path string, in row, old, new *jsonx.Value) {
	if !keyed(old) || !keyed(new) {
		d.lists(path, in, old, new)
		return
	}
	for _, p := range Match(old.Members, new.Members, key) {
		switch {
		case p.Old == nil:
			d.add(at(path, *p.New), row{name: label(*p.New)}, nil, *p.New)
		case p.New == nil:
			d.add(at(path, *p.Old), row{name: label(*p.Old)}, *p.Old, nil)
		default:
			d.compare(at(path, *p.New), in, *p.Old, *p.New)
		}
	}
}

func at(path string, n *jsonx.Value) string { return path + "[" + strconv.Itoa(n.Index) + "]" }

// keyed reports whether all elements of an array are rows with keys of their own.
func keyed(array *jsonx.Value) bool {
	seen := make(map[string]bool, len(array.Members))
	for _, n := range array.Members {
		key := key(n)
		if key == "" || seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// Pair is a row of two lists. Old or New is nil where that list does not have it.
type Pair[T any] struct{ Old, New *T }

// Match pairs the rows of two lists by their keys, in the order of new, then rows that only old has. Among rows of one list with the same
// key the first counts.
func Match[T any](old, new []T, key func(T) string) []Pair[T] {
	was := make(map[string]*T, len(old))
	for i, r := range old {
		if was[key(r)] == nil {
			was[key(r)] = &old[i]
		}
	}
	pairs, seen := make([]Pair[T], 0, len(new)), make(map[string]bool, len(new))
	for i, r := range new {
		if k := key(r); !seen[k] {
			seen[k] = true
			pairs = append(pairs, Pair[T]{was[k], &new[i]})
		}
	}
	for i, r := range old {
		if k := key(r); !seen[k] {
			seen[k] = true
			pairs = append(pairs, Pair[T]{&old[i], nil})
		}
	}
	return pairs
}

// lists compares two arrays place by place.
func (d *differ) lists(path string, in row, old, new *jsonx.Value) {
	for i := range max(len(old.Members), len(new.Members)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(old.Members):
			d.add(at, in, nil, new.Members[i])
		case i >= len(new.Members):
			d.add(at, in, old.Members[i], nil)
		default:
			d.compare(at, in, old.Members[i], new.Members[i])
		}
	}
}

// join is the path of a member. The paths of changes mix places in both states, so that those of either do not do.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

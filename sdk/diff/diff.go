// Package diff says what changed between two states of a pack.
//
// It knows no pack: rows of an array are recognised by their id, with their group where they have one, so that a row that
// only moved is not a change. ctx tail, ctx diff and the terminal UI show
// what it finds.
package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/contextd/contextd/internal/jsonx"
)

// Change is one difference. What is an addition has no Old, what is a removal no New; both are JSON texts.
type Change struct {
	Path string          `json:"path"`          // in the newer state, as search writes paths; of a removal, in the older one
	Row  string          `json:"row,omitempty"` // symbol, name or id of the row that it is in, "" outside of rows
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// States returns the changes from old to new in the order of new; what was removed stands at the end of what it was removed from.
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
	d.compare("", "", a, b)
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
	for _, name := range []string{"symbol", "name", "pair", "subject", "id"} {
		if text := text(n.Member(name)); text != "" {
			return text
		}
	}
	return ""
}

type differ struct{ changes []Change }

func (d *differ) compare(path, row string, old, new *jsonx.Value) {
	switch {
	case old.IsObject() && new.IsObject():
		d.objects(path, row, old, new)
	case old.IsArray() && new.IsArray():
		d.arrays(path, row, old, new)
	case !bytes.Equal(old.Raw, new.Raw):
		d.add(path, row, old, new)
	}
}

// add notes a change. A nil value is one that is not there.
func (d *differ) add(path, row string, old, new *jsonx.Value) {
	c := Change{Path: path, Row: row}
	if old != nil {
		c.Old = old.Raw
	}
	if new != nil {
		c.New = new.Raw
	}
	d.changes = append(d.changes, c)
}

func (d *differ) objects(path, row string, old, new *jsonx.Value) {
	if name := label(new); key(new) != "" && name != "" {
		row = name
	}
	for _, n := range new.Members {
		if was := old.Member(n.Name); was != nil {
			d.compare(join(path, n.Name), row, was, n)
		} else {
			d.add(join(path, n.Name), row, nil, n)
		}
	}
	for _, was := range old.Members {
		if new.Member(was.Name) == nil {
			d.add(join(path, was.Name), row, was, nil)
		}
	}
}

// arrays compares two arrays: rows by their keys, anything else by place.
func (d *differ) arrays(path, row string, old, new *jsonx.Value) {
	places, rows := keys(old)
	if _, ok := keys(new); !ok || !rows {
		d.lists(path, row, old, new)
		return
	}
	found := make(map[string]bool, len(new.Members))
	for i, n := range new.Members {
		at := path + "[" + strconv.Itoa(i) + "]"
		found[key(n)] = true
		if was, ok := places[key(n)]; ok {
			d.compare(at, row, old.Members[was], n)
		} else {
			d.add(at, label(n), nil, n)
		}
	}
	for i, n := range old.Members {
		if !found[key(n)] {
			d.add(path+"["+strconv.Itoa(i)+"]", label(n), n, nil)
		}
	}
}

// keys returns the place of each row of an array by its key, and whether all elements are rows with keys of their own.
func keys(array *jsonx.Value) (map[string]int, bool) {
	places := make(map[string]int, len(array.Members))
	for i, n := range array.Members {
		key := key(n)
		if _, twice := places[key]; key == "" || twice {
			return nil, false
		}
		places[key] = i
	}
	return places, true
}

// lists compares two arrays place by place.
func (d *differ) lists(path, row string, old, new *jsonx.Value) {
	for i := range max(len(old.Members), len(new.Members)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(old.Members):
			d.add(at, row, nil, new.Members[i])
		case i >= len(new.Members):
			d.add(at, row, old.Members[i], nil)
		default:
			d.compare(at, row, old.Members[i], new.Members[i])
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

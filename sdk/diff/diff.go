// Package diff says what changed between two states of a pack.
//
// It knows no pack: rows of an array are recognised by their id, with their group where they have one, so that a row that
// only moved is not a change. It reads JSON and imports the standard library alone. ctx tail, ctx diff and the terminal UI show
// what it finds.
package diff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	a, err := parse(old)
	if err != nil {
		return nil, fmt.Errorf("read older state: %w", err)
	}
	b, err := parse(new)
	if err != nil {
		return nil, fmt.Errorf("read newer state: %w", err)
	}
	var d differ
	d.compare("", "", a, b)
	return d.changes, nil
}

// node is a JSON value.
type node struct {
	raw     json.RawMessage
	object  bool
	array   bool
	names   []string // of an object, in order
	members []*node  // of an object, by names, or of an array
}

// parse reads one JSON value.
func parse(text json.RawMessage) (*node, error) {
	p := parser{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	n, err := p.value()
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return n, nil
}

// parser reads a text token by token.
type parser struct {
	text json.RawMessage
	dec  *json.Decoder
}

// value reads the next value.
func (p *parser) value() (*node, error) {
	begin := p.dec.InputOffset()
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &node{object: token == json.Delim('{'), array: token == json.Delim('[')}
	for (n.object || n.array) && p.dec.More() {
		if n.object {
			name, err := p.dec.Token()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, name.(string))
		}
		member, err := p.value()
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, member)
	}
	if n.object || n.array {
		if _, err := p.dec.Token(); err != nil { // the closing bracket
			return nil, err
		}
	}
	// Between two values there is nothing but white space, a comma or a colon.
	n.raw = bytes.TrimLeft(p.text[begin:p.dec.InputOffset()], " \t\r\n,:")
	return n, nil
}

// member returns the member of an object with the given name, nil if there is none.
func (n *node) member(name string) *node {
	for i, have := range n.names {
		if have == name {
			return n.members[i]
		}
	}
	return nil
}

// text is the string that n is, "" for anything else.
func (n *node) text() (s string) {
	if n != nil && len(n.raw) > 0 && n.raw[0] == '"' {
		_ = json.Unmarshal(n.raw, &s) // it was read as a string before
	}
	return s
}

// key is what a row is recognised by, "" for what is no row.
func (n *node) key() string {
	id := n.member("id").text()
	if id == "" {
		return ""
	}
	return n.member("group").text() + "\x00" + id
}

// label is what a row is called for people.
func (n *node) label() string {
	for _, name := range []string{"symbol", "name", "pair", "subject", "id"} {
		if text := n.member(name).text(); text != "" {
			return text
		}
	}
	return ""
}

// differ gathers changes.
type differ struct{ changes []Change }

// compare compares two values at the same place.
func (d *differ) compare(path, row string, old, new *node) {
	switch {
	case old.object && new.object:
		d.objects(path, row, old, new)
	case old.array && new.array:
		d.arrays(path, row, old, new)
	case !bytes.Equal(old.raw, new.raw):
		d.add(path, row, old, new)
	}
}

// add notes a change. A nil node is one that is not there.
func (d *differ) add(path, row string, old, new *node) {
	c := Change{Path: path, Row: row}
	if old != nil {
		c.Old = old.raw
	}
	if new != nil {
		c.New = new.raw
	}
	d.changes = append(d.changes, c)
}

// objects compares two objects member by member.
func (d *differ) objects(path, row string, old, new *node) {
	if label := new.label(); new.key() != "" && label != "" {
		row = label
	}
	for i, name := range new.names {
		if was := old.member(name); was != nil {
			d.compare(join(path, name), row, was, new.members[i])
		} else {
			d.add(join(path, name), row, nil, new.members[i])
		}
	}
	for i, name := range old.names {
		if new.member(name) == nil {
			d.add(join(path, name), row, old.members[i], nil)
		}
	}
}

// arrays compares two arrays: rows by their keys, anything else by place.
func (d *differ) arrays(path, row string, old, new *node) {
	places, rows := keys(old)
	if _, ok := keys(new); !ok || !rows {
		d.lists(path, row, old, new)
		return
	}
	found := make(map[string]bool, len(new.members))
	for i, n := range new.members {
		at := path + "[" + strconv.Itoa(i) + "]"
		found[n.key()] = true
		if was, ok := places[n.key()]; ok {
			d.compare(at, row, old.members[was], n)
		} else {
			d.add(at, n.label(), nil, n)
		}
	}
	for i, n := range old.members {
		if !found[n.key()] {
			d.add(path+"["+strconv.Itoa(i)+"]", n.label(), n, nil)
		}
	}
}

// keys returns the place of each row of an array by its key, and whether all elements are rows with keys of their own.
func keys(array *node) (map[string]int, bool) {
	places := make(map[string]int, len(array.members))
	for i, n := range array.members {
		key := n.key()
		if _, twice := places[key]; key == "" || twice {
			return nil, false
		}
		places[key] = i
	}
	return places, true
}

// lists compares two arrays place by place.
func (d *differ) lists(path, row string, old, new *node) {
	for i := range max(len(old.members), len(new.members)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(old.members):
			d.add(at, row, nil, new.members[i])
		case i >= len(new.members):
			d.add(at, row, old.members[i], nil)
		default:
			d.compare(at, row, old.members[i], new.members[i])
		}
	}
}

// join is the path of a member.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Branch is a line of a tree: a member or an element of a JSON document.
type Branch struct {
	Path  string // as search writes paths
	Name  string
	Value string // of a leaf, its JSON text; of others, what they hold
	Depth int
	Kids  int // direct members; 0 for a leaf
	Leaf  bool
}

// Tree lists the branches of a JSON document in its order, the document itself left out. It fails where text is not JSON.
func Tree(doc json.RawMessage) ([]Branch, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	r := reader{dec: d}
	if _, err := r.value("", "", -1); err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return r.found, nil
}

// maxDepth bounds how deep documents are read, as the standard library does.
const maxDepth = 1000

// reader reads a document token by token.
type reader struct {
	dec   *json.Decoder
	found []Branch
}

// value reads the next value and returns what it holds.
func (r *reader) value(path, name string, depth int) (at int, err error) {
	token, err := r.dec.Token()
	if err != nil {
		return 0, err
	}
	if depth > maxDepth {
		return 0, errors.New("too deep")
	}
	at = len(r.found)
	if depth >= 0 {
		r.found = append(r.found, Branch{Path: path, Name: name, Depth: depth})
	}
	kids, label, leaf := 0, "", false
	switch token {
	case json.Delim('{'):
		kids, label, err = r.members(path, depth)
	case json.Delim('['):
		kids, err = r.elements(path, depth)
	default:
		leaf, label = true, scalar(token)
	}
	if err != nil {
		return 0, err
	}
	if depth >= 0 {
		b := &r.found[at]
		b.Kids, b.Leaf, b.Value = kids, leaf, label
		if !leaf && label == "" {
			b.Value = counted(kids, token == json.Delim('{'))
		}
	}
	return at, nil
}

// members reads an object and returns how many members it has and what it is called.
func (r *reader) members(path string, depth int) (kids int, label string, err error) {
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return 0, "", err
		}
		name, _ := token.(string)
		below := name
		if path != "" {
			below = path + "." + name
		}
		at, err := r.value(below, Line(name), depth+1)
		if err != nil {
			return 0, "", err
		}
		if b := r.found[at]; b.Leaf && label == "" && named(name) {
			label = strings.Trim(b.Value, `"`)
		}
		kids++
	}
	_, err = r.dec.Token()
	return kids, label, err
}

// named reports whether a member of that name says what its object is.
func named(member string) bool {
	switch member {
	case "symbol", "name", "pair", "subject", "id", "title":
		return true
	}
	return false
}

// elements reads an array and returns how many elements it has.
func (r *reader) elements(path string, depth int) (kids int, err error) {
	for r.dec.More() {
		at := "[" + strconv.Itoa(kids) + "]"
		if _, err := r.value(path+at, at, depth+1); err != nil {
			return 0, err
		}
		kids++
	}
	_, err = r.dec.Token()
	return kids, err
}

// scalar is a leaf as it is shown.
func scalar(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(Line(v))
	case json.Number:
		return v.String()
	}
	return fmt.Sprint(token)
}

// counted says how much a branch holds.
func counted(kids int, object bool) string {
	switch {
	case object:
		return fmt.Sprintf("{%d}", kids)
	case kids == 1:
		return "1 row"
	}
	return fmt.Sprintf("%d rows", kids)
}

// Folding is which branches of a tree are closed. The zero Folding has all rows of lists closed and all else open.
type Folding struct{ flipped map[string]bool }

// Flip opens or closes the branch at path.
func (f *Folding) Flip(path string) {
	if f.flipped == nil {
		f.flipped = map[string]bool{}
	}
	f.flipped[path] = !f.flipped[path]
}

// Closed reports whether b is closed.
func (f *Folding) Closed(b Branch) bool {
	return !b.Leaf && strings.HasSuffix(b.Path, "]") != f.flipped[b.Path]
}

// Visible are the branches that are shown: those that match the filter, or, without one, those below open branches.
func (f *Folding) Visible(tree []Branch, filter string) []Branch {
	var shown []Branch
	closed := -1 // depth of the closed branch that what follows is below, -1 if none
	for _, b := range tree {
		if filter != "" {
			if b.Leaf && Matches(filter, b.Path+" "+b.Value) {
				shown = append(shown, Branch{Path: b.Path, Name: Line(b.Path), Value: b.Value, Leaf: true})
			}
			continue
		}
		if closed >= 0 && b.Depth > closed {
			continue
		}
		closed = -1
		if f.Closed(b) {
			closed = b.Depth
		}
		shown = append(shown, b)
	}
	return shown
}

// Draw is a branch as a line.
func (f *Folding) Draw(t Theme, b Branch) string {
	mark := t.Glyphs.Leaf
	switch {
	case !b.Leaf && f.Closed(b):
		mark = t.Glyphs.Closed
	case !b.Leaf:
		mark = t.Glyphs.Open
	}
	value := b.Value
	if !b.Leaf {
		value = t.Dim.On(value)
	}
	return Spaces(b.Depth*2) + mark + " " + t.Bold.On(b.Name) + "  " + value
}

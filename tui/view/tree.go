package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
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
	root, err := jsonx.Parse(doc)
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return below(nil, root)
}

// maxDepth bounds how deep documents are shown: a path is as long as its branch is deep.
const maxDepth = 1000

func below(list []Branch, v *jsonx.Value) (_ []Branch, err error) {
	if v.Depth > maxDepth && !v.IsLeaf() {
		return nil, errors.New("read state: too deep")
	}
	for i, m := range v.Members {
		name := Line(m.Name)
		if v.IsArray() {
			name = "[" + strconv.Itoa(i) + "]"
		}
		list = append(list, Branch{Path: m.Path(), Name: name, Value: shown(m), Depth: v.Depth, Kids: len(m.Members), Leaf: m.IsLeaf()})
		if list, err = below(list, m); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func shown(v *jsonx.Value) string {
	switch {
	case v.IsString():
		return strconv.Quote(Line(v.Text()))
	case v.IsLeaf():
		return v.Text()
	}
	for _, m := range v.Members {
		if m.IsLeaf() && named(m.Name) {
			if label := strings.Trim(shown(m), `"`); label != "" {
				return label
			}
		}
	}
	return counted(len(v.Members), v.IsObject())
}

// named reports whether a member of that name says what its object is.
func named(member string) bool {
	switch member {
	case "symbol", "name", "pair", "subject", "id", "title":
		return true
	}
	return false
}

func counted(kids int, object bool) string {
	if object {
		return fmt.Sprintf("{%d}", kids)
	}
	return human.Plural(kids, "row")
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

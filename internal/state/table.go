package state

import (
	"encoding/json"
	"strings"

	"github.com/contextd/contextd/internal/jsonx"
)

// Table is every leaf of one state in document order, folded once so that a search only compares. A leaf is a string, a number
// or a boolean: nulls have nothing to find. A Table never changes and is safe for concurrent use.
type Table struct {
	leaves []leaf
	// values holds the folded texts of all leaves one after another, each followed by separator, so that one sweep searches
	// them all. No folded text contains the separator: it is not UTF-8.
	values string
	names  []string // the folded last member names, each once
}

// leaf is one value of the state. Its folded text is values[start:end].
type leaf struct {
	path       string
	value      json.RawMessage
	name       int // index into names
	start, end int
}

const separator = 0xFF

// newTable makes the Table of a tree, of which it keeps slices.
func newTable(root *jsonx.Value) *Table {
	b := builder{names: make(map[string]int)}
	b.walk(root)
	b.table.values = b.values.String()
	return &b.table
}

// Len is the number of leaves.
func (t *Table) Len() int { return len(t.leaves) }

type builder struct {
	table  Table
	values strings.Builder
	names  map[string]int // folded name → index into table.names
}

// walk appends v, or what is in it, as far as these are leaves with something to find.
func (b *builder) walk(v *jsonx.Value) {
	for _, m := range v.Members {
		b.walk(m)
	}
	if !v.IsLeaf() || len(v.Raw) == 0 || string(v.Raw) == "null" {
		return
	}
	named := v // an element is called as its array
	for named.Parent != nil && named.Parent.IsArray() {
		named = named.Parent
	}
	name := fold(named.Name)
	index, known := b.names[name]
	if !known {
		index = len(b.table.names)
		b.names[name] = index
		b.table.names = append(b.table.names, name)
	}
	start := b.values.Len()
	b.values.WriteString(fold(v.Text()))
	end := b.values.Len()
	b.values.WriteByte(separator)
	b.table.leaves = append(b.table.leaves, leaf{path: v.Path(), value: v.Raw, name: index, start: start, end: end})
}

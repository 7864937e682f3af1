package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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

// NewTable reads a state, which must be one JSON value. The Table keeps slices of it.
func NewTable(state []byte) (*Table, error) {
	b := builder{state: state, dec: json.NewDecoder(bytes.NewReader(state)), names: make(map[string]int)}
	b.dec.UseNumber()
	for {
		begin := b.dec.InputOffset()
		token, err := b.dec.Token()
		if errors.Is(err, io.EOF) && b.done && len(b.stack) == 0 {
			break
		}
		if err == nil && b.done && len(b.stack) == 0 {
			err = errors.New("more than one JSON value")
		}
		if err != nil {
			return nil, fmt.Errorf("read leaves: %w", err)
		}
		b.add(token, begin)
		b.done = true
	}
	b.table.values = b.values.String()
	return &b.table, nil
}

// Len is the number of leaves.
func (t *Table) Len() int { return len(t.leaves) }

// builder walks a state token by token.
type builder struct {
	table  Table
	values strings.Builder
	names  map[string]int // folded name → index into table.names
	state  []byte
	dec    *json.Decoder
	stack  []frame
	done   bool // a first token was read
}

// frame is an object or an array that is being read.
type frame struct {
	path  string // of the container
	name  string // the last member name on the way to it
	array bool
	index int    // of the element to come
	key   string // of the value to come, once it was read
	keyed bool
}

// add takes the next token, whose text lies between begin and the decoder's offset.
func (b *builder) add(token json.Token, begin int64) {
	if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
		b.stack = b.stack[:len(b.stack)-1]
		return
	}
	if top := b.top(); top != nil && !top.array && !top.keyed {
		top.key, top.keyed = token.(string), true
		return
	}
	path, name := b.place()
	switch v := token.(type) {
	case json.Delim:
		b.stack = append(b.stack, frame{path: path, name: name, array: v == '['})
	case string:
		b.leaf(path, name, v, begin)
	case json.Number:
		b.leaf(path, name, v.String(), begin)
	case bool:
		b.leaf(path, name, strconv.FormatBool(v), begin)
	}
}

func (b *builder) top() *frame {
	if len(b.stack) == 0 {
		return nil
	}
	return &b.stack[len(b.stack)-1]
}

// place returns the path of the value that begins and its last member name, and moves the container on.
func (b *builder) place() (path, name string) {
	top := b.top()
	switch {
	case top == nil:
		return "", ""
	case top.array:
		path = top.path + "[" + strconv.Itoa(top.index) + "]"
		top.index++
		return path, top.name
	}
	top.keyed = false
	if top.path == "" {
		return top.key, top.key
	}
	return top.path + "." + top.key, top.key
}

// leaf appends a leaf with the given text.
func (b *builder) leaf(path, name, text string, begin int64) {
	name = fold(name)
	index, known := b.names[name]
	if !known {
		index = len(b.table.names)
		b.names[name] = index
		b.table.names = append(b.table.names, name)
	}
	start := b.values.Len()
	b.values.WriteString(fold(text))
	end := b.values.Len()
	b.values.WriteByte(separator)
	// Between two tokens there is nothing but white space, a comma or a colon.
	value := bytes.TrimLeft(b.state[begin:b.dec.InputOffset()], " \t\r\n,:")
	b.table.leaves = append(b.table.leaves, leaf{path: path, value: value, name: index, start: start, end: end})
}

// Package jsonx reads and writes JSON where encoding/json loses what matters: the order of members, members that are there twice,
// numbers as they are written, and <, > and & as they are.
//
// It imports the standard library alone, so that every part of the repository may use it. Nothing here knows what a document means.
package jsonx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"
)

// Value is a value of a document.
type Value struct {
	Parent  *Value          // the object or array that it is in; nil for the document itself
	Name    string          // of a member of an object, "" for all else
	Index   int             // its place in Parent, from 0
	Depth   int             // how many objects and arrays it is in
	Raw     json.RawMessage // its text, which is part of the document's
	At      int             // where Raw begins in the document
	Members []*Value        // of an object or array, in order; only Parse fills it in
}

// Walk visits every value of doc, which must be one JSON value, in its order: an object or array before what is in it. Until all that
// is in it was visited, its Raw goes on to the end of doc. The first error of visit ends the walk. Nothing is kept of what was visited,
// so that a hostile document costs little.
func Walk(doc []byte, visit func(*Value) error) error {
	if !json.Valid(doc) { // which also bounds the depth
		var v json.RawMessage
		return fmt.Errorf("read JSON: %w", json.Unmarshal(doc, &v)) // it says what is wrong, and where
	}
	w := walker{doc: doc, visit: visit}
	w.space()
	return w.value(&Value{})
}

// Parse reads doc, which must be one JSON value, as a tree. The tree keeps slices of doc.
func Parse(doc []byte) (*Value, error) {
	var root *Value
	err := Walk(doc, func(v *Value) error {
		if v.Parent == nil {
			root = v
		} else {
			v.Parent.Members = append(v.Parent.Members, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return root, nil
}

// Members returns the members of the object doc in their order, with those that are there twice, or an error if doc is no object.
func Members(doc []byte) ([]*Value, error) {
	root, err := Parse(doc)
	if err != nil {
		return nil, err
	}
	if !root.IsObject() {
		return nil, errors.New("not a JSON object")
	}
	return root.Members, nil
}

// walker reads a document that is known to be valid.
type walker struct {
	doc   []byte
	at    int
	visit func(*Value) error
}

func (w *walker) space() {
	for w.at < len(w.doc) && w.doc[w.at] <= ' ' {
		w.at++
	}
}

// value reads v, which begins here.
func (w *walker) value(v *Value) error {
	begin := w.at
	v.At, v.Raw = begin, w.doc[begin:]
	if v.IsLeaf() {
		w.leaf()
		v.Raw = w.doc[begin:w.at:w.at]
		return w.visit(v)
	}
	if err := w.visit(v); err != nil {
		return err
	}
	if err := w.members(v); err != nil {
		return err
	}
	v.Raw = w.doc[begin:w.at:w.at]
	return nil
}

// members reads what is in v, from its opening bracket to behind the closing one.
func (w *walker) members(v *Value) error {
	w.at++
	for i := 0; ; i++ {
		w.space()
		switch w.doc[w.at] {
		case '}', ']':
			w.at++
			return nil
		case ',':
			w.at++
			w.space()
		}
		m := &Value{Parent: v, Index: i, Depth: v.Depth + 1}
		if v.IsObject() {
			begin := w.at
			w.leaf()
			m.Name = unquote(w.doc[begin:w.at])
			w.space()
			w.at++ // the colon
			w.space()
		}
		if err := w.value(m); err != nil {
			return err
		}
	}
}

// leaf skips a string, a number or a word.
func (w *walker) leaf() {
	if w.doc[w.at] != '"' {
		for w.at < len(w.doc) && w.doc[w.at] > ' ' && w.doc[w.at] != ',' && w.doc[w.at] != ']' && w.doc[w.at] != '}' {
			w.at++
		}
		return
	}
	for w.at++; w.doc[w.at] != '"'; w.at++ {
		if w.doc[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
}

// IsObject reports whether v is an object.
func (v *Value) IsObject() bool { return len(v.Raw) > 0 && v.Raw[0] == '{' }

// IsArray reports whether v is an array.
func (v *Value) IsArray() bool { return len(v.Raw) > 0 && v.Raw[0] == '[' }

// IsString reports whether v is a string.
func (v *Value) IsString() bool { return len(v.Raw) > 0 && v.Raw[0] == '"' }

// IsLeaf reports whether v is neither an object nor an array.
func (v *Value) IsLeaf() bool { return !v.IsObject() && !v.IsArray() }

// Text is what a string says; anything else is as it is written.
func (v *Value) Text() string {
	if v.IsString() {
		return unquote(v.Raw)
	}
	return string(v.Raw)
}

// Member is the first member of the object v with the given name, nil if there is none. Like Members, it is for
// what Parse has read.
func (v *Value) Member(name string) *Value {
	if v.IsObject() {
		for _, m := range v.Members {
			if m.Name == name {
				return m
			}
		}
	}
	return nil
}

// Find is what is at the path of names in v, nil if nothing is.
func (v *Value) Find(names ...string) *Value {
	for _, name := range names {
		if v = v.Member(name); v == nil {
			return nil
		}
	}
	return v
}

// Path is where v is in its document, as search writes paths: top_movers[0].symbol. That of the document itself is "".
func (v *Value) Path() string {
	var short [128]byte
	return string(v.appendPath(short[:0]))
}

func (v *Value) appendPath(b []byte) []byte {
	if v.Parent == nil {
		return b
	}
	b = v.Parent.appendPath(b)
	if v.Parent.IsArray() {
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(v.Index), 10)
		return append(b, ']')
	}
	if len(b) > 0 {
		b = append(b, '.')
	}
	return append(b, v.Name...)
}

func unquote(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(raw, &s) // it is valid
	return s
}

// Encode is json.Marshal without the HTML escapes, which only make JSON longer and harder to read.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Object is the object with the given members, in their order. Only their names and texts count.
func Object(members []*Value) (json.RawMessage, error) {
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := Encode(m.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), m.Raw...)
	}
	return append(b, '}'), nil
}

// Find is the text of what is at the path of names in doc, which is known to be valid JSON, or empty; nil if nothing is. It only looks
// over what stands before that, so that finding one part of many documents costs little.
func Find(doc []byte, names ...string) json.RawMessage {
	if len(doc) == 0 {
		return nil
	}
	w := walker{doc: doc}
	w.space()
	for _, name := range names {
		if doc[w.at] != '{' || !w.enter(name) {
			return nil
		}
	}
	begin := w.at
	w.skip()
	return doc[begin:w.at:w.at]
}

// enter goes from the opening bracket of an object to the first member of a name, and reports whether there is one.
func (w *walker) enter(name string) bool {
	for w.at++; ; {
		w.space()
		switch w.doc[w.at] {
		case '}':
			return false
		case ',':
			w.at++
			w.space()
		}
		begin := w.at
		w.leaf()
		found := says(w.doc[begin:w.at], name)
		w.space()
		w.at++ // the colon
		w.space()
		if found {
			return true
		}
		w.skip()
	}
}

// says reports whether a string is a text.
func says(raw []byte, text string) bool {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner) == text
	}
	return unquote(raw) == text
}

// skip goes behind the value that begins here.
func (w *walker) skip() {
	for depth := 0; ; {
		switch w.doc[w.at] {
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		case '"':
			w.leaf()
		default:
			if depth == 0 {
				w.leaf()
			} else {
				w.at++ // of what is within
			}
		}
		if depth == 0 {
			return
		}
	}
}

// Elements yields the text of each element of doc, which is known to be a valid array, without what is in it being read; nothing for any
// other value, or none.
func Elements(doc []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		w := walker{doc: doc}
		if w.space(); w.at == len(doc) || doc[w.at] != '[' {
			return
		}
		for w.at++; ; {
			if w.space(); doc[w.at] == ',' {
				w.at++
				w.space()
			}
			if doc[w.at] == ']' {
				return
			}
			begin := w.at
			if w.skip(); !yield(doc[begin:w.at:w.at]) {
				return
			}
		}
	}
}

package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// errUneditable is in the chain of the error for a file whose form is not one that is edited without the risk of losing what is in it.
var errUneditable = errors.New("it is not edited")

// setMember returns text, a JSON object that may have comments and trailing commas as editors allow them, with the member name of its
// member section set to value, or without it for nil. All other bytes stay. An empty text counts as an empty object.
func setMember(text []byte, section, name string, value json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := objectAt(plainJSON(text), 0)
	if err != nil {
		return nil, err
	}
	inner, ok := root.find(section)
	if !ok {
		if value == nil {
			return text, nil
		}
		return root.insert(text, section, json.RawMessage("{"+strconv.Quote(name)+":"+string(value)+"}"))
	}
	object, err := objectAt(plainJSON(text), inner.from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", section, err)
	}
	at, ok := object.find(name)
	switch {
	case value == nil && !ok:
		return text, nil
	case value == nil:
		return object.remove(text, at), nil
	case ok:
		return splice(text, at.from, at.to, indented(value, indentAt(text, at.key))), nil
	}
	return object.insert(text, name, value)
}

// member is one of an object: where its key begins, and its value.
type member struct {
	name          string
	key, from, to int
}

type objectSpan struct {
	from, to int // from its brace to behind that which closes it
	list     []member
}

// objectAt reads where the members of the object are that begins at an offset in JSON.
func objectAt(text []byte, at int) (o objectSpan, err error) {
	o.from = at
	d := json.NewDecoder(bytes.NewReader(text[at:]))
	offset := func() int { return at + int(d.InputOffset()) }
	if brace, err := d.Token(); err != nil || brace != json.Delim('{') {
		return o, fmt.Errorf("%w: it is no JSON object", errUneditable)
	}
	o.from = offset() - 1
	for d.More() {
		key := offset()
		for key < len(text) && text[key] != '"' {
			key++
		}
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return o, fmt.Errorf("%w: %w", errUneditable, err)
		}
		o.list = append(o.list, member{name.(string), key, offset() - len(value), offset()})
	}
	if _, err := d.Token(); err != nil {
		return o, fmt.Errorf("%w: %w", errUneditable, err)
	}
	o.to = offset()
	return o, nil
}

func (o objectSpan) find(name string) (m member, ok bool) {
	for _, one := range o.list {
		if one.name == name { // the last one counts, as for those who read it
			m, ok = one, true
		}
	}
	return m, ok
}

// insert adds a member behind all others.
func (o objectSpan) insert(text []byte, name string, value json.RawMessage) ([]byte, error) {
	if len(o.list) == 0 {
		outer := indentAt(text, o.from)
		in := outer + "  "
		if o.to-o.from > 2 && len(bytes.TrimSpace(text[o.from+1:o.to-1])) > 0 { // a comment, which stays
			return splice(text, o.from+1, o.from+1, []byte("\n"+in+strconv.Quote(name)+": "+string(indented(value, in)))), nil
		}
		return splice(text, o.from+1, o.to-1, []byte("\n"+in+strconv.Quote(name)+": "+string(indented(value, in))+"\n"+outer)), nil
	}
	last := o.list[len(o.list)-1]
	in := indentAt(text, last.key)
	return splice(text, last.to, last.to, []byte(",\n"+in+strconv.Quote(name)+": "+string(indented(value, in)))), nil
}

// remove takes a member out, with one comma beside it.
func (o objectSpan) remove(text []byte, m member) []byte {
	for i, one := range o.list {
		switch {
		case one.key != m.key:
		case i+1 < len(o.list):
			return splice(text, m.key, o.list[i+1].key, nil)
		case i > 0:
			return splice(text, o.list[i-1].to, m.to, nil)
		}
	}
	comma := m.to + len(text[m.to:o.to]) - len(bytes.TrimLeft(text[m.to:o.to], " \t\r\n"))
	if text[comma] != ',' {
		comma = m.to - 1
	}
	before, after := text[o.from+1:m.key], text[comma+1:o.to-1]
	if len(bytes.TrimSpace(before))+len(bytes.TrimSpace(after)) > 0 { // comments, which stay
		return splice(text, m.key-len(before)+len(bytes.TrimRight(before, " \t\r\n")), comma+1, nil)
	}
	return splice(text, o.from+1, o.to-1, nil)
}

func splice(text []byte, from, to int, with []byte) []byte {
	return bytes.Join([][]byte{text[:from], with, text[to:]}, nil)
}

// indentAt is the white space that the line of an offset begins with.
func indentAt(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func indented(value json.RawMessage, prefix string) []byte {
	var b bytes.Buffer
	if json.Indent(&b, value, prefix, "  ") != nil { // it is ours, and sound
		return value
	}
	return b.Bytes()
}

// plainJSON is text with spaces in place of comments and of commas before a closing bracket, so that all else keeps its place.
func plainJSON(text []byte) []byte {
	plain := bytes.Clone(text)
	comma := -1 // that only white space and comments follow so far
	for i := 0; i < len(plain); i++ {
		switch c := plain[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(plain) && plain[i] != '"'; i++ {
				if plain[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(plain) && (plain[i+1] == '/' || plain[i+1] == '*'):
			end, past := "\n", 0
			if plain[i+1] == '*' {
				end, past = "*/", 2
			}
			stop := len(plain)
			if at := bytes.Index(plain[i+2:], []byte(end)); at >= 0 {
				stop = i + 2 + at + past
			}
			for ; i < stop; i++ {
				plain[i] = ' '
			}
			i--
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				plain[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return plain
}

// setTable returns text, TOML, with the table [section.name] that has the lines, or without it and those below it for none. All other
// lines stay.
func setTable(text []byte, section, name string, lines []string) ([]byte, error) {
	head := section + "." + name
	if regexp.MustCompile(`(?m)^\s*` + section + `\s*(=|\.\s*` + name + `\s*[.=])`).Match(text) {
		return nil, fmt.Errorf("%w: it has %s in a form other than [%s]", errUneditable, section, head)
	}
	if bytes.Contains(text, []byte(`"""`)) || bytes.Contains(text, []byte(`'''`)) {
		return nil, fmt.Errorf("%w: it has strings of several lines", errUneditable)
	}
	ours := regexp.MustCompile(`^\s*\[\s*` + section + `\s*\.\s*(` + name + `|"` + name + `")\s*(\]|\.)`)
	table := regexp.MustCompile(`^\s*\[`)
	var kept []string
	in, at := false, -1
	for line := range strings.Lines(string(text)) {
		if table.MatchString(line) {
			if in = ours.MatchString(line); in && at < 0 {
				at = len(kept)
			}
		}
		if !in {
			kept = append(kept, line)
		}
	}
	out := strings.Join(kept, "")
	if lines == nil {
		return []byte(out), nil
	}
	block := "[" + head + "]\n" + strings.Join(lines, "\n") + "\n"
	if at >= 0 {
		before, after := strings.Join(kept[:at], ""), strings.Join(kept[at:], "")
		if after != "" {
			block += "\n"
		}
		return []byte(before + block + after), nil
	}
	if out != "" {
		out = strings.TrimRight(out, "\n") + "\n\n"
	}
	return []byte(out + block), nil
}

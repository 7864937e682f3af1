package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/internal/human"
)

// Lines are the line numbers, from 1, of the settings that a file has.
type Lines map[string]int

// Parse reads the text of a configuration file strictly and returns where it sets what. Names that are not in the table, names set
// twice and values of another kind are errors, all of them at once, each with its line.
func Parse(text []byte) (Lines, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	p := parser{table: map[string]Setting{}, lines: Lines{}}
	for _, s := range Table() {
		p.table[s.Key] = s
	}
	if len(doc.Content) > 0 && !null(doc.Content[0]) {
		p.section("", doc.Content[0])
	}
	return p.lines, errors.Join(p.errs...)
}

// parser walks the tree of a file.
type parser struct {
	table map[string]Setting
	lines Lines
	errs  []error
}

// fail notes what is wrong in a line.
func (p *parser) fail(line int, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("line %d: "+format, append([]any{line}, args...)...))
}

// section reads the section with the given name, "" for the whole file.
func (p *parser) section(name string, n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		p.fail(n.Line, "%s is not a list of settings, each name: value", cmp.Or(name, "the file"))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		path := key.Value
		if name != "" {
			path = name + "." + key.Value
		}
		s, ok := p.table[path]
		switch {
		case !ok:
			p.unknown(path, key.Line)
		case p.lines[path] > 0:
			p.fail(key.Line, "%s is set in line %d already", path, p.lines[path])
		case null(value): // as if it were not there
		case s.Section():
			p.lines[path] = key.Line
			p.section(path, value)
		default:
			p.lines[path] = key.Line
			p.value(s, value)
		}
	}
}

// unknown says that there is no such setting, and which one may be meant.
func (p *parser) unknown(path string, line int) {
	section, _, _ := cut(path)
	near := Nearest(path)
	switch {
	case near != "":
		p.fail(line, "there is no setting %s; did you mean %s?", path, near)
	case section != "":
		p.fail(line, "there is no setting %s; %s has %s", path, section, strings.Join(p.names(section), ", "))
	default:
		p.fail(line, "there is no setting %s; contextd config example shows all there are", path)
	}
}

// names are those of the settings of a section.
func (p *parser) names(section string) (list []string) {
	for _, s := range Table() {
		if of, name, _ := cut(s.Key); of == section {
			list = append(list, name)
		}
	}
	return list
}

// value checks the kind of a value.
func (p *parser) value(s Setting, n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	what, ok := "", false
	switch s.Default.(type) {
	case nil:
		if ok = n.Kind == yaml.MappingNode; ok {
			p.entry(s.Key, s, n)
		}
		what = "a section, such as {name: value}"
	case []map[string]any:
		if ok = n.Kind == yaml.SequenceNode; ok {
			p.entries(s, n)
		}
		what = "a list of entries, each with name: value"
	case []string:
		what = "a list such as [a, b]"
		ok = n.Kind == yaml.SequenceNode &&
			!slices.ContainsFunc(n.Content, func(e *yaml.Node) bool { return e.Kind != yaml.ScalarNode })
	case int, int64:
		what, ok = "a whole number", n.Kind == yaml.ScalarNode && n.Tag == "!!int"
	case bool:
		what, ok = "true or false", n.Kind == yaml.ScalarNode && n.Tag == "!!bool"
	default:
		what, ok = "a text", n.Kind == yaml.ScalarNode
	}
	if !ok {
		p.fail(n.Line, "%s is not %s", s.Key, what)
	}
}

// entries checks the entries of a list.
func (p *parser) entries(s Setting, list *yaml.Node) {
	for i, n := range list.Content {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		entry := fmt.Sprintf("%s[%d]", s.Key, i)
		if n.Kind != yaml.MappingNode {
			p.fail(n.Line, "%s is not a list of settings, each name: value", entry)
			continue
		}
		p.entry(entry, s, n)
	}
}

// entry checks an entry of a list, or a section in one, whose settings are the members of s.
func (p *parser) entry(entry string, s Setting, n *yaml.Node) {
	seen := map[string]int{}
	for j := 0; j+1 < len(n.Content); j += 2 {
		key, value := n.Content[j], n.Content[j+1]
		at := slices.IndexFunc(s.Members, func(m Setting) bool { return m.Key == key.Value })
		switch {
		case at < 0:
			p.fail(key.Line, "there is no setting %s.%s; it has %s", entry, key.Value, strings.Join(s.memberNames(), ", "))
		case seen[key.Value] > 0:
			p.fail(key.Line, "%s.%s is set in line %d already", entry, key.Value, seen[key.Value])
		case !null(value):
			m := s.Members[at]
			m.Key = entry + "." + m.Key
			p.value(m, value)
		}
		seen[key.Value] = key.Line
	}
}

// memberNames are those of the settings of an entry.
func (s Setting) memberNames() (names []string) {
	for _, m := range s.Members {
		names = append(names, m.Key)
	}
	return names
}

// null reports whether n is empty, as a section is whose settings are all commented out.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// Nearest is the setting whose name is most like path, "" if none is like it. A name without its section is as good as the whole.
func Nearest(path string) string {
	whole := map[string]string{} // keys, by what they may be called
	var names []string
	for _, s := range Table() {
		_, last, _ := cut(s.Key)
		for _, name := range []string{s.Key, last} {
			if whole[name] == "" {
				whole[name] = s.Key
				names = append(names, name)
			}
		}
	}
	if near := human.Nearest(path, names); near != "" {
		return whole[near]
	}
	if _, last, ok := cut(path); ok { // in the wrong section
		return Nearest(last)
	}
	return ""
}

// cut splits path into its section and its last name.
func cut(path string) (section, last string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

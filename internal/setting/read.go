package setting

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/internal/human"
)

// Form is how a file is written.
type Form struct {
	Root    string // what the whole is called, such as the manifest
	Aliases bool   // are taken
	Loose   bool   // a list of texts may be its only element, and a number may be quoted

	// Hint says what is meant by a name that is not known, or which names there are. nil means the nearest of these, or all.
	Hint func(path string, names []string) string
}

// Reader reads YAML into tagged structs, strictly: a name that is not known or stands twice is an error, and so is a value of another kind.
// An empty value is as if it were not there.
type Reader struct {
	Form
	Lines map[string]int  // of everything that is in the text, from 1, by its path
	Null  map[string]bool // what is empty, by its path

	found []Mistake
}

// NewReader makes a Reader of texts in a form.
func NewReader(form Form) *Reader {
	return &Reader{Form: form, Lines: make(map[string]int), Null: make(map[string]bool)}
}

// Mistake is something wrong with a text.
type Mistake struct {
	Line int    `json:"line"` // 0 where it is in none
	Text string `json:"text"`
}

// Error is the line and the text. A name in the text can show nothing but itself.
func (m Mistake) Error() string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return unicode.ReplacementChar
		}
		return r
	}, m.Text)
	if m.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", m.Line, text)
}

// Mistakes are those in an error of Reader.Err.
func Mistakes(err error) (list []Mistake) {
	joined, is := err.(interface{ Unwrap() []error })
	if !is {
		if err != nil {
			list = append(list, Mistake{Text: err.Error()})
		}
		return list
	}
	for _, err := range joined.Unwrap() {
		if m, is := errors.AsType[Mistake](err); is {
			list = append(list, m)
		}
	}
	return list
}

// Fail notes what is wrong in a line.
func (r *Reader) Fail(line int, format string, args ...any) {
	r.found = append(r.found, Mistake{line, fmt.Sprintf(format, args...)})
}

// Err is everything that was found wrong, by line, each on a line of its own; nil if nothing is.
func (r *Reader) Err() error {
	slices.SortStableFunc(r.found, func(a, b Mistake) int { return a.Line - b.Line })
	errs := make([]error, len(r.found))
	for i, m := range r.found {
		errs[i] = m
	}
	return errors.Join(errs...)
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// Read reads the only document of a text into the struct that into points to, which has its defaults. It reports whether there is one.
func (r *Reader) Read(text []byte, into any) bool {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		return false
	case err != nil:
		line := 0
		if found := yamlLine.FindStringSubmatch(err.Error()); found != nil && found[1] != "" {
			line, _ = strconv.Atoi(found[1]) // digits
		}
		r.Fail(line, "no YAML: %s", yamlLine.ReplaceAllString(err.Error(), ""))
	case dec.Decode(new(yaml.Node)) != io.EOF:
		r.Fail(0, "there is more than one document")
	default:
		r.value("", doc.Content[0], reflect.ValueOf(into).Elem())
	}
	return true
}

// value reads n into v, which is at path.
func (r *Reader) value(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		if !r.Aliases {
			r.Fail(n.Line, "%s: aliases are not taken; write it out", path)
			return
		}
		n = n.Alias
	}
	r.Lines[path] = n.Line
	if null(n) {
		r.Null[path] = true
		return
	}
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		d, err := ParseSpan(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d < 0 {
			r.Fail(n.Line, "%s is no span such as 5m, 24h or 7d", path)
			return
		}
		*to = d
		return
	case encoding.TextUnmarshaler:
		if err := to.UnmarshalText([]byte(n.Value)); n.Kind != yaml.ScalarNode || err != nil {
			r.Fail(n.Line, "%s %v", path, err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		r.object(path, n, v)
	case reflect.Slice:
		r.list(path, n, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(path, n, v.Elem())
	case reflect.Interface:
		if value := r.json(path, n); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	default:
		r.scalar(path, n, v)
	}
}

// null reports whether n is empty, as a section is whose settings are all commented out.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func (r *Reader) object(path string, n *yaml.Node, v reflect.Value) {
	members := Members(v.Type())
	short := slices.IndexFunc(members, func(s Setting) bool { return s.Short })
	if n.Kind == yaml.ScalarNode && short >= 0 {
		r.value(path, n, members[short].In(v))
		return
	}
	if n.Kind != yaml.MappingNode {
		r.noSettings(path, n)
		return
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(members, func(s Setting) bool { return s.Key == key.Value && s.Key != "" })
		switch path := join(path, key.Value); {
		case seen[key.Value] > 0:
			r.Fail(key.Line, "%s is set in line %d already", path, seen[key.Value])
		case at < 0:
			r.Fail(key.Line, "there is no setting %s; %s", path, r.hint(path, key.Value, members))
		default:
			r.value(path, value, members[at].In(v))
			r.Lines[path] = key.Line
		}
		seen[key.Value] = key.Line
	}
}

func (r *Reader) noSettings(path string, n *yaml.Node) {
	if path == "" {
		path = r.Root
	}
	r.Fail(n.Line, "%s is not a list of settings, each name: value", path)
}

// hint says what may be meant by a name that is none of members.
func (r *Reader) hint(path, name string, members []Setting) string {
	var names []string
	for _, s := range members {
		if s.Key != "" {
			names = append(names, s.Key)
		}
	}
	if r.Hint != nil {
		return r.Hint(path, names)
	}
	if near := human.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are " + strings.Join(names, ", ")
}

// list reads a list: a sequence, a mapping where elements have a name, or the only element.
func (r *Reader) list(path string, n *yaml.Node, v reflect.Value) {
	element := v.Type().Elem()
	entries := element.Kind() == reflect.Struct
	add := func(path string, n *yaml.Node, key string) {
		e := reflect.New(element).Elem()
		if entries {
			if err := SetDefaults(e); err != nil {
				r.Fail(n.Line, "%v", err)
			}
		}
		if key != "" {
			Members(element)[0].In(e).SetString(key)
		}
		r.value(path, n, e)
		v.Set(reflect.Append(v, e))
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, len(n.Content)))
	named := entries && Members(element)[0].Named
	switch {
	case named && n.Kind == yaml.MappingNode:
		seen := make(map[string]int)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, path := n.Content[i], join(path, n.Content[i].Value)
			if seen[key.Value] > 0 {
				r.Fail(key.Line, "%s is set in line %d already", path, seen[key.Value])
			}
			seen[key.Value] = key.Line
			add(path, n.Content[i+1], key.Value)
			r.Lines[path] = key.Line
		}
	case named:
		r.Fail(n.Line, "%s is not a list of entries, each name: value", path)
	case n.Kind == yaml.SequenceNode && (entries || !slices.ContainsFunc(n.Content, notScalar)):
		for i, e := range n.Content {
			if entry := fmt.Sprintf("%s[%d]", path, i); entries && null(e) {
				r.noSettings(entry, e)
			} else {
				add(entry, e, "")
			}
		}
	case r.Loose && n.Kind == yaml.ScalarNode && !entries:
		add(path, n, "")
	case entries:
		r.Fail(n.Line, "%s is not a list of entries, each with name: value", path)
	default:
		r.Fail(n.Line, "%s is not a list such as [a, b]", path)
	}
}

func notScalar(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode }

// json is a node as a value of JSON. A time stays the text that it is written as.
func (r *Reader) json(path string, n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if _, twice := object[key.Value]; twice || key.Kind != yaml.ScalarNode {
				r.Fail(key.Line, "%s: a name that is no text, or stands twice", path)
			}
			object[key.Value] = r.json(join(path, key.Value), n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, e := range n.Content {
			list[i] = r.json(fmt.Sprintf("%s[%d]", path, i), e)
		}
		return list
	case yaml.AliasNode:
		r.Fail(n.Line, "%s: aliases are not taken; write it out", path)
		return nil
	}
	if !slices.Contains([]string{"!!int", "!!float", "!!bool", "!!null"}, n.ShortTag()) {
		return n.Value
	}
	var value any
	err := n.Decode(&value)
	if x, is := value.(float64); err != nil || is && (math.IsNaN(x) || math.IsInf(x, 0)) {
		r.Fail(n.Line, "%s: JSON has no %s", path, n.Value)
	}
	return value
}

// scalar reads a text, a number or a truth.
func (r *Reader) scalar(path string, n *yaml.Node, v reflect.Value) {
	what, ok := kindText, n.Kind == yaml.ScalarNode
	switch v.Kind() {
	case reflect.String:
		ok = ok && n.Decode(v.Addr().Interface()) == nil
	case reflect.Bool:
		what, ok = kindBool, n.Tag == "!!bool" && n.Decode(v.Addr().Interface()) == nil
	case reflect.Int, reflect.Int64:
		if r.Loose {
			i, err := strconv.ParseInt(n.Value, 10, 64)
			what, ok = kindInt, ok && err == nil
			v.SetInt(i)
			break
		}
		what, ok = kindInt, n.Tag == "!!int" && n.Decode(v.Addr().Interface()) == nil
	case reflect.Float64:
		x, err := strconv.ParseFloat(n.Value, 64)
		what, ok = kindNumber, ok && err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
		v.SetFloat(x)
	}
	if !ok {
		r.Fail(n.Line, "%s is not %s", path, what)
	}
}

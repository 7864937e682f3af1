package manifest

import (
	"bytes"
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

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/internal/human"
)

// reader reads YAML into the types of a manifest, strictly: a name that is not known or stands twice is an error, and so is a value of
// another kind. It notes the line of everything.
type reader struct {
	lines map[string]int
	errs  []errorAt
}

func (r *reader) fail(line int, format string, args ...any) {
	r.errs = append(r.errs, errorAt{line, fmt.Sprintf(format, args...)})
}

// yamlLine is what the YAML library says of a line.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document reads the only document of a text.
func (r *reader) document(text []byte, m *Manifest) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if err == nil && dec.Decode(new(yaml.Node)) != io.EOF {
		r.fail(0, "there is more than one document")
		return
	}
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		r.fail(0, "the manifest is empty")
	case err != nil:
		line := 0
		if found := yamlLine.FindStringSubmatch(err.Error()); found != nil && found[1] != "" {
			line, _ = strconv.Atoi(found[1]) // digits
		}
		r.fail(line, "no YAML: %s", yamlLine.ReplaceAllString(err.Error(), ""))
	default:
		r.value("", doc.Content[0], reflect.ValueOf(m).Elem())
	}
}

// member is a member of a struct by its name in a manifest.
type member struct {
	name, doc   string
	index       int
	named, text bool // it is the key that the struct stands under; what a single text means
}

// membersOf are the members of a struct that a manifest may set.
func membersOf(t reflect.Type) (list []member) {
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("key")
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(tag, ",")
		list = append(list, member{name, t.Field(i).Tag.Get("doc"), i, rest == "name", rest == "short"})
	}
	return list
}

// value reads n into v, which is at path.
func (r *reader) value(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		r.fail(n.Line, "%s: aliases are not taken; write it out", path)
		return
	}
	r.lines[path] = n.Line
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // as if it were not there
	}
	switch v.Interface().(type) {
	case time.Duration:
		r.duration(path, n, v)
		return
	case Size:
		r.size(path, n, v)
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
		r.open(path, n, v)
	default:
		r.scalar(path, n, v)
	}
}

// object reads a struct.
func (r *reader) object(path string, n *yaml.Node, v reflect.Value) {
	members := membersOf(v.Type())
	if n.Kind == yaml.ScalarNode {
		for _, m := range members {
			if m.text {
				r.value(path, n, v.Field(m.index))
				return
			}
		}
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n.Line, "%s is no list of settings, each name: value", orRoot(path))
		return
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		var names []string
		at := -1
		for _, m := range members {
			if m.name == key.Value && m.name != "" {
				at = m.index
			}
			if m.name != "" {
				names = append(names, m.name)
			}
		}
		switch near := human.Nearest(key.Value, names); {
		case seen[key.Value] > 0:
			r.fail(key.Line, "%s is set in line %d already", join(path, key.Value), seen[key.Value])
		case at < 0 && near != "":
			r.fail(key.Line, "there is no setting %s; did you mean %s?", join(path, key.Value), near)
		case at < 0:
			r.fail(key.Line, "there is no setting %s; there are %s", join(path, key.Value), strings.Join(names, ", "))
		default:
			r.value(join(path, key.Value), value, v.Field(at))
			r.lines[join(path, key.Value)] = key.Line
		}
		seen[key.Value] = key.Line
	}
}

func orRoot(path string) string {
	if path == "" {
		return "the manifest"
	}
	return path
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// list reads a list: a sequence, a mapping where elements have a name, or the only element.
func (r *reader) list(path string, n *yaml.Node, v reflect.Value) {
	element := v.Type().Elem()
	add := func(path string, n *yaml.Node, key string) {
		e := reflect.New(element).Elem()
		if key != "" {
			for _, m := range membersOf(element) {
				if m.named {
					e.Field(m.index).SetString(key)
				}
			}
		}
		r.value(path, n, e)
		v.Set(reflect.Append(v, e))
	}
	named := element.Kind() == reflect.Struct && membersOf(element)[0].named
	switch {
	case named && n.Kind == yaml.MappingNode:
		seen := make(map[string]int)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if seen[key.Value] > 0 {
				r.fail(key.Line, "%s is set in line %d already", join(path, key.Value), seen[key.Value])
			}
			seen[key.Value] = key.Line
			add(join(path, key.Value), n.Content[i+1], key.Value)
			r.lines[join(path, key.Value)] = key.Line
		}
	case named:
		r.fail(n.Line, "%s is no list of entries, each name: value", path)
	case n.Kind == yaml.SequenceNode:
		for i, e := range n.Content {
			add(fmt.Sprintf("%s[%d]", path, i), e, "")
		}
	case n.Kind == yaml.ScalarNode && element.Kind() != reflect.Struct:
		add(path, n, "")
	default:
		r.fail(n.Line, "%s is no list", path)
	}
}

// open reads any value of JSON.
func (r *reader) open(path string, n *yaml.Node, v reflect.Value) {
	if value := r.json(path, n); value != nil {
		v.Set(reflect.ValueOf(value))
	}
}

// json is a node as a value of JSON. A time stays the text that it is written as.
func (r *reader) json(path string, n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if _, twice := object[key.Value]; twice || key.Kind != yaml.ScalarNode {
				r.fail(key.Line, "%s: a name that is no text, or stands twice", path)
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
		r.fail(n.Line, "%s: aliases are not taken; write it out", path)
		return nil
	}
	return r.jsonScalar(path, n)
}

// jsonScalar is a number, a truth, nil or a text.
func (r *reader) jsonScalar(path string, n *yaml.Node) any {
	if !slices.Contains([]string{"!!int", "!!float", "!!bool", "!!null"}, n.ShortTag()) {
		return n.Value
	}
	var value any
	err := n.Decode(&value)
	if x, is := value.(float64); err != nil || is && (math.IsNaN(x) || math.IsInf(x, 0)) {
		r.fail(n.Line, "%s: JSON has no %s", path, n.Value)
	}
	return value
}

func (r *reader) scalar(path string, n *yaml.Node, v reflect.Value) {
	what, ok := "a text", n.Kind == yaml.ScalarNode
	if ok {
		switch v.Kind() {
		case reflect.String:
			v.SetString(n.Value)
		case reflect.Bool:
			what, ok = "true or false", n.Tag == "!!bool"
			v.SetBool(n.Value == "true")
		case reflect.Int:
			i, err := strconv.Atoi(n.Value)
			what, ok = "a whole number", err == nil
			v.SetInt(int64(i))
		case reflect.Float64:
			x, err := strconv.ParseFloat(n.Value, 64)
			what, ok = "a number", err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
			v.SetFloat(x)
		}
	}
	if !ok {
		r.fail(n.Line, "%s is not %s", path, what)
	}
}

// duration reads a span such as 5m, 24h or 7d.
func (r *reader) duration(path string, n *yaml.Node, v reflect.Value) {
	text := n.Value
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if i, err := strconv.Atoi(days); err == nil && i >= 0 && i < 1000 {
			text = strconv.Itoa(24*i) + "h"
		}
	}
	d, err := time.ParseDuration(text)
	if n.Kind != yaml.ScalarNode || err != nil || d < 0 {
		r.fail(n.Line, "%s is no span such as 5m, 24h or 7d", path)
		return
	}
	v.SetInt(int64(d))
}

// size reads a number of bytes such as 65536, 64KiB or 4MiB.
func (r *reader) size(path string, n *yaml.Node, v reflect.Value) {
	text, unit := n.Value, int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = strings.TrimSpace(number), size
		}
	}
	size, err := strconv.ParseInt(text, 10, 32)
	if n.Kind != yaml.ScalarNode || err != nil || size < 0 {
		r.fail(n.Line, "%s is no size such as 65536, 64KiB or 4MiB", path)
		return
	}
	v.SetInt(size * unit)
}

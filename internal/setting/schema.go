package setting

import (
	"reflect"
	"time"
)

// Schema is the JSON schema (2020-12) of a struct in a form, for editors. Defaults are those of the tags, where defaults says so.
func Schema(of reflect.Type, form Form, defaults bool) map[string]any {
	root := schema{form, defaults}.object(of)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	return root
}

// Patterner is a type that is written as a text or a number.
type Patterner interface {
	Pattern() string // a regular expression of the texts
}

type schema struct {
	form     Form
	defaults bool
}

// of is the schema of a type, as Reader reads its values.
func (w schema) of(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[time.Duration]() {
		return map[string]any{"type": "string", "pattern": `^[0-9]+(ms|s|m|h|d)([0-9]+(ms|s|m|h))*$`}
	}
	if p, is := reflect.Zero(t).Interface().(Patterner); is {
		return map[string]any{"type": []any{"integer", "string"}, "pattern": p.Pattern()}
	}
	switch t.Kind() {
	case reflect.Struct:
		return w.object(t)
	case reflect.Slice:
		return w.list(t.Elem())
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{}
}

// object is the schema of a struct, or of the member that a single text means.
func (w schema) object(t reflect.Type) map[string]any {
	properties := map[string]any{}
	object := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	var short map[string]any
	var required []string
	for _, m := range Members(t) {
		s := w.member(m)
		if m.Short {
			short = s
		}
		if m.Key != "" {
			properties[m.Key] = s
		}
		if m.Required {
			required = append(required, m.Key)
		}
	}
	if required != nil {
		object["required"] = required
	}
	switch {
	case short != nil && len(properties) == 0:
		return short
	case short != nil:
		return map[string]any{"anyOf": []any{short, object}}
	}
	return object
}

func (w schema) member(m Setting) map[string]any {
	s := w.of(m.Type)
	text := m.Text()
	if m.Section() {
		text = m.Doc
	}
	if text != "" {
		s["description"] = text
	}
	if m.Enum != nil {
		s["enum"] = m.Enum
	}
	if !w.defaults {
		return s
	}
	switch {
	case m.Section():
		s["type"] = []string{"object", "null"} // null where all in it is commented out
		return s
	case m.Type.Kind() == reflect.Int, m.Type.Kind() == reflect.Int64:
		s["minimum"] = 0
	}
	s["default"] = m.Default()
	return s
}

// list is the schema of a list: of entries by their names, of structs, or of texts, of which there may be only one.
func (w schema) list(element reflect.Type) map[string]any {
	item := w.of(element)
	array := map[string]any{"type": "array", "items": item}
	switch {
	case element.Kind() != reflect.Struct && w.form.Loose:
		return map[string]any{"anyOf": []any{array, item}}
	case element.Kind() == reflect.Struct && Members(element)[0].Named:
		return map[string]any{"type": "object", "additionalProperties": item}
	}
	return array
}

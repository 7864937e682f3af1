package manifest

import (
	"reflect"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

// Schema is the JSON schema (2020-12) of a manifest, for editors.
func Schema() map[string]any {
	root := schemaOf(reflect.TypeFor[Manifest]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Pack of contextd"
	return root
}

// required are the members that have to be there, by type.
func required(t reflect.Type) []string {
	return map[reflect.Type][]string{
		reflect.TypeFor[Manifest](): {"pack", "version", "title", "sources", "members"},
		reflect.TypeFor[Source]():   {"id", "name", "public_url", "licence", "request", "rows", "kind", "fields"},
		reflect.TypeFor[Request]():  {"url"},
		reflect.TypeFor[Field]():    {"type"},
		reflect.TypeFor[Order]():    {"words", "field"},
		reflect.TypeFor[Member]():   {"from"},
		reflect.TypeFor[Flag]():     {"kind", "over", "when", "message"},
		reflect.TypeFor[Say]():      {"over", "say"},
	}[t]
}

// values are those that a member may have, nil for any.
func values(t reflect.Type, name string) (list []any) {
	add := func(texts ...string) {
		for _, text := range texts {
			list = append(list, text)
		}
	}
	switch {
	case t == reflect.TypeFor[Field]() && name == "type":
		add(fieldTypes()...)
	case t == reflect.TypeFor[Source]() && name == "format":
		for _, f := range source.Formats() {
			add(string(f))
		}
	case t == reflect.TypeFor[Flag]() && name == "severity":
		add(string(api.SeverityNotice), string(api.SeverityWarning), string(api.SeverityCritical))
	case t == reflect.TypeFor[Request]() && name == "method":
		add("GET", "POST")
	}
	return list
}

// schemaOf is the schema of values of a type, as reader reads them.
func schemaOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string", "pattern": `^[0-9]+(ms|s|m|h|d)([0-9]+(ms|s|m|h))*$`}
	case reflect.TypeFor[Size]():
		return map[string]any{"type": []any{"integer", "string"}, "pattern": `^[0-9]+ *([KM]iB)?$`}
	}
	switch t.Kind() {
	case reflect.Struct:
		return objectSchema(t)
	case reflect.Slice:
		return listSchema(t.Elem())
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{}
}

// objectSchema is the schema of a struct, or of the member that a single text means.
func objectSchema(t reflect.Type) map[string]any {
	properties := map[string]any{}
	object := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if names := required(t); names != nil {
		object["required"] = names
	}
	var short map[string]any
	for _, m := range membersOf(t) {
		s := schemaOf(t.Field(m.index).Type)
		if m.doc != "" {
			s["description"] = m.doc
		}
		if list := values(t, m.name); list != nil {
			s["enum"] = list
		}
		if m.text {
			short = s
		}
		if m.name != "" {
			properties[m.name] = s
		}
	}
	switch {
	case short != nil && len(properties) == 0:
		return short
	case short != nil:
		return map[string]any{"anyOf": []any{short, object}}
	}
	return object
}

// listSchema is the schema of a list: of entries by their names, of structs, or of scalars, of which there may be only one.
func listSchema(element reflect.Type) map[string]any {
	item := schemaOf(element)
	switch {
	case element.Kind() != reflect.Struct:
		return map[string]any{"anyOf": []any{map[string]any{"type": "array", "items": item}, item}}
	case membersOf(element)[0].named:
		return map[string]any{"type": "object", "additionalProperties": item}
	}
	return map[string]any{"type": "array", "items": item}
}

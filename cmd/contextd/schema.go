package main

// Schema is the JSON schema (2020-12) of a configuration file, for editors.
func Schema() map[string]any {
	root := object("Configuration of contextd.")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "contextd"
	sections := map[string]map[string]any{"": root}
	for _, s := range Table() {
		section, name, _ := cut(s.Key)
		var entry map[string]any
		if s.Section() {
			entry = object(s.Doc)
			entry["type"] = []string{"object", "null"} // null where all in it is commented out
			sections[s.Key] = entry
		} else {
			entry = s.schema()
		}
		sections[section]["properties"].(map[string]any)[name] = entry
	}
	return root
}

// object is the schema of a section.
func object(doc string) map[string]any {
	o := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
	if doc != "" {
		o["description"] = doc
	}
	return o
}

// members is the schema of an entry of a list, or of a section in one.
func (s Setting) members() map[string]any {
	item := object(s.Doc)
	for _, m := range s.Members {
		item["properties"].(map[string]any)[m.Key] = m.schema()
	}
	return item
}

// schema is the schema of a setting's value.
func (s Setting) schema() map[string]any {
	if s.Section() {
		return s.members()
	}
	entry := map[string]any{"default": s.Default}
	if text := s.text(); text != "" {
		entry["description"] = text
	}
	switch s.Default.(type) {
	case []map[string]any:
		entry["type"], entry["items"] = "array", Setting{Members: s.Members}.members()
	case []string:
		entry["type"], entry["items"] = "array", map[string]any{"type": "string"}
	case int, int64:
		entry["type"], entry["minimum"] = "integer", 0
	case bool:
		entry["type"] = "boolean"
	default:
		entry["type"] = "string"
	}
	if len(s.Enum) > 0 {
		entry["enum"] = s.Enum
	}
	return entry
}

package manifest_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/daemon/pack/manifest"
)

// TestSchema: manifests that Read takes are valid by the schema, and what it refuses for its form is not.
func TestSchema(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(manifest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := parsed.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		_ = json.Unmarshal(again, &plain)
		return schema.Validate(plain)
	}
	texts := map[string]string{"perps": perps}
	for _, id := range manifest.Shipped() {
		text, _ := manifest.ShippedText(id)
		texts[id] = string(text)
	}
	for name, text := range texts {
		if err := valid(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, wrong := range []string{
		"pack: x", "pack: x\nversion: 1\ntitle: x\nsources: []\nmembers: []", "pack: x\nversion: one\ntitle: x\nsources: []\nmembers: {}",
		"pack: x\nversion: 1\ntitle: x\nsources: []\nmembers: {a: {from: b, form: c}}",
	} {
		if valid(wrong) == nil {
			t.Errorf("%q is valid", wrong)
		}
	}
}

// TestSchemaValues: the values that Read lists when it refuses another are those of the schema.
func TestSchemaValues(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(manifest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for old, wrong := range map[string]string{"type: percent, words": "type: odd, words", "format: csv": "format: odd"} {
		_, err := manifest.Read([]byte(strings.Replace(sound, old, wrong, 1)), false)
		listed := regexp.MustCompile(`"odd" is none of \[?([a-z0-9, ]+)`).FindStringSubmatch(fmt.Sprint(err))
		if listed == nil {
			t.Errorf("%s: %v", wrong, err)
			continue
		}
		values := strings.FieldsFunc(listed[1], func(r rune) bool { return r == ',' || r == ' ' })
		if enum, _ := json.Marshal(values); !strings.Contains(string(text), `"enum":`+string(enum)) {
			t.Errorf("the schema has not %s", enum)
		}
	}
}

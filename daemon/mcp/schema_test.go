package mcp_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/sdk/api"
)

// published are the schemas of a tool as clients know them, from testdata.
type published struct {
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
}

// publishedSchemas are those of all tools, by name.
func publishedSchemas(t *testing.T) map[string]published {
	t.Helper()
	text, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var byTool map[string]published
	if err := json.Unmarshal(text, &byTool); err != nil {
		t.Fatal(err)
	}
	return byTool
}

// TestSchemas: what is made of the types of the API says what clients know, keyword by keyword.
func TestSchemas(t *testing.T) {
	t.Parallel()
	if *update {
		now := map[string]any{}
		for _, tool := range tools(t) {
			now[tool.Name] = map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema}
		}
		text, err := json.MarshalIndent(now, "", "  ")
		if err == nil {
			err = os.WriteFile("testdata/schemas.json", append(text, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	known := publishedSchemas(t)
	for _, tool := range tools(t) {
		op, ok := mcp.ToolOp("context", tool.Name)
		if !ok || mcp.ToolName("context", op) != tool.Name || len(tool.Title) == 0 || len(tool.Description) < 40 {
			t.Errorf("%+v", tool)
		}
		was := known[tool.Name]
		for _, c := range []struct {
			side string
			was  json.RawMessage
			is   any
		}{{"input", was.Input, tool.InputSchema}, {"output", was.Output, tool.OutputSchema}} {
			text, err := json.Marshal(c.is)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(meaning(t, c.was), meaning(t, text)) {
				t.Errorf("%s of %s is %s, was %s", c.side, tool.Name, text, c.was)
			}
		}
	}
	if len(known) != len(api.Tools()) {
		t.Errorf("%d tools are known", len(known))
	}
}

// meaning is a schema without the order of what has none.
func meaning(t *testing.T, schema []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		t.Fatal(err)
	}
	unordered(v)
	return v
}

// unordered sorts the lists in v that are sets.
func unordered(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if list, ok := member.([]any); ok && (name == "required" || name == "enum") {
				slices.SortFunc(list, func(a, b any) int {
					if a.(string) < b.(string) {
						return -1
					}
					return 1
				})
			}
			unordered(member)
		}
	case []any:
		for _, item := range v {
			unordered(item)
		}
	}
}

// TestSchemasTake has arguments and answers that fit and that do not, which the schemas take and refuse as those that clients know do.
func TestSchemasTake(t *testing.T) {
	t.Parallel()
	known := publishedSchemas(t)
	input, output := map[string][2]*jsonschema.Resolved{}, map[string][2]*jsonschema.Resolved{}
	for _, tool := range tools(t) {
		was := known[tool.Name]
		input[tool.Name] = [2]*jsonschema.Resolved{resolved(t, was.Input), resolved(t, tool.InputSchema)}
		output[tool.Name] = [2]*jsonschema.Resolved{resolved(t, was.Output), resolved(t, tool.OutputSchema)}
	}
	const (
		fresh    = `"freshness":{"generatedAt":"2026-11-20T20:00:00Z","ageSeconds":3}`
		citation = `{"ref":1,"sourceId":"one","url":"https://one.test/","fetchedAt":"2026-11-20T20:00:00Z"}`
		source   = `{"id":"one","name":"One","publicUrl":"https://one.test/"}`
	)
	type cases map[string]bool
	for _, c := range []struct {
		op            api.Op
		input, output cases
	}{
		{api.OpFresh,
			cases{
				`{}`: true, `{"pack":"ai"}`: true, `{"pack":null}`: false, `{"query":"x"}`: false, `[]`: false,
				`{"members":"flags,sentiment"}`: true, `{"members":["flags"]}`: false,
			},
			cases{
				`{"state":{},"brief":"b","citations":[` + citation + `],` + fresh + `}`:                                                                true,
				`{"state":{},"brief":"b","briefAt":"2026-11-20T20:00:00Z","citations":[],"attestation":{"type":"x","ref":"y"},"more":1,` + fresh + `}`: true,
				`{"state":{},"brief":"b","citations":[]}`:                                                                                              false,
				`{}`: false,
			}},
		{api.OpSnapshot,
			cases{`{"at":"2026-11-20T14:05"}`: true, `{"at":""}`: false, `{"at":5}`: false, `{}`: false, `{"at":"x","pack":"crypto"}`: true, `{"at":"x","members":"flags"}`: true, `{"members":"flags"}`: false},
			cases{`{"state":{"a":1},"brief":"","citations":[],` + fresh + `}`: true, `{}`: false}},
		{api.OpBrief,
			cases{`{}`: true, `{"pack":"markets"}`: true, `{"q":"x"}`: false},
			cases{`{"brief":"b","briefAt":"2026-11-20T20:00:00Z","citations":[],` + fresh + `}`: true, `{}`: false}},
		{api.OpSearch,
			cases{
				`{"q":"a"}`: true, `{"q":"a","k":50}`: true, `{"q":"a","k":0}`: false, `{"q":"a","k":51}`: false, `{"q":"a","k":1.5}`: false,
				`{"q":""}`: false, `{"q":5}`: false, `{"k":3}`: false, `{"q":"a","Q":"a"}`: false,
			},
			cases{
				`{"matches":[{"path":"a","value":null,"score":0.5},{"path":"a","value":true,"score":1},{"path":"a","value":"x","score":0},` +
					`{"path":"a","value":1.5,"score":1}],"total":4,` + fresh + `}`: true,
				`{}`: false,
			}},
		{api.OpLookup,
			cases{
				`{"q":"ada"}`: true, `{"q":"ada, tether supply","kind":"asset","limit":10}`: true, `{"q":"ada","limit":11}`: false, `{"q":""}`: false,
				`{"q":"ada","pack":"ai"}`: true, `{"q":"ada","pack":"other"}`: false,
				`{"kind":"asset"}`: false, `{"q":"ada","k":3}`: false,
			},
			cases{`{"results":[{"q":"ada","rows":[]}],"citations":[],` + fresh + `}`: true, `{}`: false}},
		{api.OpCite,
			cases{`{"ref":1}`: true, `{"ref":1000000}`: true, `{"ref":0}`: false, `{"ref":"1"}`: false, `{}`: false},
			cases{`{"citation":` + citation + `,"source":` + source + `,` + fresh + `}`: true, `{}`: false}},
		{api.OpChanges,
			cases{
				`{"since":"-20m"}`: true, `{"since":"-20m","min":0.5,"kinds":"asset,pool","pack":"crypto"}`: true, `{}`: false, `{"since":""}`: false,
				`{"since":"-20m","min":-1}`: false, `{"since":"-20m","min":"x"}`: false, `{"since":"-20m","k":3}`: false,
			},
			cases{
				`{"since":"2026-11-20T20:00:00Z","flags":[],"rows":[{}],"clear":true,` + fresh + `}`: true,
				`{}`: false,
			}},
		{api.OpQuery,
			cases{
				`{"table":"asset"}`: true, `{"table":"asset","where":["symbol = BTC"],"agg":"count","at":"-20m","over":"24h","order":"-rank","limit":100}`: true,
				`{}`: false, `{"table":""}`: false, `{"table":"asset","where":"symbol = BTC"}`: false, `{"table":"asset","limit":101}`: false,
				`{"table":"asset","describe":true}`: false, `{"table":"asset","where":["a=1","b=1","c=1","d=1","e=1","f=1","g=1","h=1","i=1"]}`: false,
			},
			cases{`{"query":{},"rows":[],"total":0,"citations":[],` + fresh + `}`: true, `{}`: false}},
		{api.OpSubscribe,
			cases{
				`{}`: true, `{"seconds":55}`: true, `{"seconds":0}`: false, `{"seconds":56}`: false, `{"token":"x"}`: false,
				`{"since":"-20m","severity":"warning","min":0.5,"full":true}`: true, `{"severity":"grave"}`: false, `{"full":"yes"}`: false,
			},
			cases{
				`{"events":[{"event":"pulse","pack":"crypto","ts":"2026-11-20T20:00:00Z","state":{}}],"reason":"elapsed","freshness":{"generatedAt":"2026-11-20T20:00:00Z","ageSeconds":1}}`:                        true,
				`{"events":[{"event":"error","pack":"crypto","ts":"2026-11-20T20:00:00Z","message":"x"}],"reason":"shutdown","freshness":{"generatedAt":"2026-11-20T20:00:00Z","ageSeconds":1,"dataAgeSeconds":1}}`: true,
				`{"events":[],"reason":"bored"}`: false,
				`{}`:                             false,
			}},
	} {
		name := mcp.ToolName("context", c.op)
		takes(t, name+" input", input[name], c.input)
		takes(t, name+" output", output[name], c.output)
	}
}

// takes checks that both schemas take the values that are marked, and no other.
func takes(t *testing.T, what string, schemas [2]*jsonschema.Resolved, values map[string]bool) {
	t.Helper()
	for text, fits := range values {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		for i, which := range []string{"known", "made"} {
			if err := schemas[i].Validate(v); (err == nil) != fits {
				t.Errorf("the %s schema of %s has %v for %s", which, what, err, text)
			}
		}
	}
}

// resolved is a schema that can validate.
func resolved(t *testing.T, schema any) *jsonschema.Resolved {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

// TestOnePack: where the default pack alone is served there is nothing to choose, and no tool says so.
func TestOnePack(t *testing.T) {
	t.Parallel()
	for want, packs := range map[bool][]string{false: {api.DefaultPack}, true: {api.PackAI}} {
		list := mcp.ToolList("context", packs...)
		for _, tool := range list {
			if _, told := tool.InputSchema.(*jsonschema.Schema).Properties["pack"]; told != want {
				t.Errorf("of the packs %v %s tells: %t", packs, tool.Name, told)
			}
		}
	}
}

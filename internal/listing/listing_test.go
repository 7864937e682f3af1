package listing_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/contextd/contextd/internal/listing"
)

// account is the endpoint of a service on which agents sign in.
const account = "https://context.example.org/mcp"

// TestForms holds both forms, with and without what may be left out, to their schemas and to what the registry asks besides.
func TestForms(t *testing.T) {
	t.Parallel()
	const sum = "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce"
	packages := []listing.Package{
		listing.Image("ghcr.io/contextd/ctx:1.2.3"), listing.Bundle(listing.Repository+"/releases/download/v1.2.3/ctx_1.2.3_linux.mcpb", sum),
	}
	for what, c := range map[string]struct {
		schema string
		form   listing.Server
	}{
		"a card":                     {"server-card", listing.Card("1.2.3", "https://context.example.org/docs", listing.Endpoint{URL: account})},
		"a card of all":              {"server-card", listing.Card("1.2.3", "https://context.example.org/docs", all())},
		"server.json":                {"server", listing.Registry("1.2.3", "")},
		"server.json with a service": {"server", listing.Registry("1.2.3", "https://context.example.org", packages...)},
	} {
		text, err := json.Marshal(c.form)
		if err != nil {
			t.Fatal(err)
		}
		check(t, what, c.schema, text)
		variables(t, what, c.form)
		if n := utf8.RuneCountInString(c.form.Description); n > 100 {
			t.Errorf("%s has a description of %d characters", what, n)
		}
	}
	for _, bad := range []string{
		`{"name":"contextd"}`, `{"description":"` + strings.Repeat("x", 101) + `"}`, `{"tools":[]}`, `{"remotes":[{"type":"http","url":"https://a/mcp"}]}`,
	} {
		form := map[string]any{}
		text, err := json.Marshal(listing.Card("1.2.3", "https://context.example.org/docs", all()))
		if err != nil || json.Unmarshal(text, &form) != nil || json.Unmarshal([]byte(bad), &form) != nil {
			t.Fatal(err)
		}
		if schemaOf(t, "server-card").Validate(form) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}

func all() listing.Endpoint {
	return listing.Endpoint{URL: account, PaidURL: "https://context.example.org/api/mcp", SignsIn: true, Versions: []string{"2026-07-28"}}
}

func schemaOf(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// check holds a form to a schema.
func check(t *testing.T, what, schema string, text []byte) {
	t.Helper()
	var form any
	if err := json.Unmarshal(text, &form); err != nil {
		t.Fatal(err)
	}
	if err := schemaOf(t, schema).Validate(form); err != nil {
		t.Errorf("%s: %v\n%s", what, err, text)
	}
}

// variables finds every variable of a form declared, and none declared that is not there.
func variables(t *testing.T, what string, s listing.Server) {
	t.Helper()
	same := func(text string, declared map[string]listing.Input) {
		var used []string
		for _, found := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(text, -1) {
			used = append(used, found[1])
		}
		if len(used) != len(declared) || slices.ContainsFunc(used, func(name string) bool { return declared[name].Description == "" }) {
			t.Errorf("%s: %q has the variables %v", what, text, declared)
		}
	}
	for _, r := range s.Remotes {
		same(r.URL, r.Variables)
		for _, h := range r.Headers {
			same(h.Value, h.Variables)
			if !h.Secret || h.Required {
				t.Errorf("%s: the header is %+v", what, h)
			}
		}
	}
	for _, p := range s.Packages {
		names := []string{}
		for _, e := range p.Environment {
			names = append(names, e.Name)
			if e.Secret != (e.Name == "CTX_API_KEY") {
				t.Errorf("%s: %+v", what, e)
			}
		}
		if !slices.Equal(names, []string{"CTX_BASE_URL", "CTX_API_KEY", "CTX_PACK"}) {
			t.Errorf("%s: %s has the environment %q", what, p.RegistryType, names)
		}
		if p.RegistryType == "mcpb" && !strings.Contains(p.Identifier, "mcp") || p.RegistryType == "oci" && !strings.Contains(p.Identifier, ":1.2.3") {
			t.Errorf("%s: %+v", what, p)
		}
	}
}

// TestRemotes: who signs in is asked for no key, everybody else is; the paid address stands where calls are sold, a hosted service where
// there is one.
func TestRemotes(t *testing.T) {
	t.Parallel()
	type seen struct {
		url    string
		header bool
	}
	for what, c := range map[string]struct {
		form listing.Server
		want []seen
	}{
		"keys alone":  {listing.Card("1", "", listing.Endpoint{URL: account}), []seen{{account, true}}},
		"sign-in":     {listing.Card("1", "", listing.Endpoint{URL: account, SignsIn: true}), []seen{{account, false}}},
		"all":         {listing.Card("1", "", all()), []seen{{account, false}, {"https://context.example.org/api/mcp", true}}},
		"no service":  {listing.Registry("1", ""), []seen{{"https://{host}/mcp", true}}},
		"one service": {listing.Registry("1", "https://context.example.org"), []seen{{account, false}, {"https://{host}/mcp", true}}},
	} {
		var got []seen
		for _, r := range c.form.Remotes {
			got = append(got, seen{r.URL, len(r.Headers) > 0})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

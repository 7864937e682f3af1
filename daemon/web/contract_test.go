package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// contract holds answers to the description and notes which it has seen.
type contract struct {
	model     *v3.Document
	validator validator.Validator
	seen      map[string]bool // operation and status, such as "GET /v1/fresh 200"
}

// yamlOf is the description as YAML.
func yamlOf(t *testing.T) []byte {
	t.Helper()
	text, err := web.DescriptionYAML()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readContract reads the description. What it returns validates nothing: a validator renders every schema.
func readContract(t *testing.T) (*contract, libopenapi.Document) {
	t.Helper()
	document, err := libopenapi.NewDocument(yamlOf(t))
	if err != nil {
		t.Fatal(err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	return &contract{model: &model.Model, seen: map[string]bool{}}, document
}

// newContract is readContract with a validator.
func newContract(t *testing.T) *contract {
	t.Helper()
	c, document := readContract(t)
	check, errs := validator.NewValidator(document, config.WithFormatAssertions(), config.WithStrictMode(), config.WithoutSecurityValidation(),
		config.WithURLEncodedBodyValidation(),
		config.WithStrictIgnorePaths("$.body.info**", "$.body.paths**", "$.body.components**", "$.body.servers**", "$.body.tags**",
			"$.body.params**", "$.body.result**", "$.body.error.data**", // what the description and MCP are free to hold
			"$.body.events[*].data.flag**",
			"$.body.items[*].input.queryParams**", "$.body.items[*].input.body**", "$.body.items[*].output.example**", // of any operation
			"$.body.rows[*].fields**", "$.body.rows[*].over**", "$.body.aggregates**"), // named by the query
		// Those of every answer under /v1, and of pages; other tests are about them.
		config.WithStrictIgnoredHeadersExtra("Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "X-Content-Type-Options",
			"X-Frame-Options", "Referrer-Policy"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	c.validator = check
	return c
}

// operations are those of the description, such as "GET /v1/fresh".
func (c *contract) operations() map[string]*v3.Operation {
	list := map[string]*v3.Operation{}
	for path, item := range c.model.Paths.PathItems.FromOldest() {
		for method, op := range item.GetOperations().FromOldest() {
			list[strings.ToUpper(method)+" "+path] = op
		}
	}
	return list
}

// parameter is one in a path.
var parameter = regexp.MustCompile(`\{[^}]+\}`)

// operation is the one that a request is for.
func (c *contract) operation(t *testing.T, r *http.Request) string {
	t.Helper()
	found := ""
	for name := range c.operations() {
		method, path, _ := strings.Cut(name, " ")
		form := regexp.MustCompile("^" + parameter.ReplaceAllString(path, "[^/]+") + "$")
		if method == r.Method && form.MatchString(r.URL.Path) && (found == "" || !strings.Contains(name, "{")) {
			found = name
		}
	}
	if found == "" {
		t.Fatalf("%s %s is not described", r.Method, r.URL.Path)
	}
	return found
}

// call sends a request and holds what comes back, and a request that is answered well, to the description. The status must be as wanted.
func (c *contract) call(t *testing.T, want int, r *http.Request) answer {
	t.Helper()
	name := c.operation(t, r)
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body) // a text
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer res.Body.Close()
	a := answer{Status: res.StatusCode, Header: res.Header}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		a.Body = openapiFrame(t, res.Body)
	} else if a.Body, err = io.ReadAll(res.Body); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if a.Status != want {
		t.Errorf("%s %s: %d %s, want %d", r.Method, r.URL, a.Status, a.Body, want)
		return a
	}
	c.seen[name+" "+res.Status[:3]] = true
	body := a.Body
	if res.Header.Get("Content-Type") == "application/x-ndjson" { // a text, which the validator takes for JSON
		body = []byte(strconv.Quote("lines"))
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if ok, errs := c.validator.ValidateHttpResponse(r, res); !ok {
		t.Errorf("%s %d is not as described: %v\n%s", name, a.Status, errs, a.Body[:min(len(a.Body), 1000)])
	}
	if a.Status < http.StatusBadRequest {
		r.Body = io.NopCloser(bytes.NewReader(sent))
		r.Header.Del("Cookie") // a credential, which the validator takes for a parameter
		if ok, errs := c.validator.ValidateHttpRequest(r); !ok {
			t.Errorf("%s was answered %d, but is not as described: %v", r.URL, a.Status, errs)
		}
	}
	return a
}

// openapiFrame reads the first openapiFrame of a stream.
func openapiFrame(t *testing.T, body io.Reader) []byte {
	t.Helper()
	var text bytes.Buffer
	for r := bufio.NewReader(body); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the stream ends after %q: %v", text.Bytes(), err)
		}
		if text.Write(line); string(line) == "\n" {
			return text.Bytes()
		}
	}
}

// fits holds a JSON text to a schema of the description.
func (c *contract) fits(t *testing.T, schema string, text []byte) {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	proxy, ok := c.model.Components.Schemas.Get(schema)
	if !ok {
		t.Fatalf("there is no schema %s", schema)
	}
	holds(t, schema, proxy.Schema(), value)
}

// schemas validates values. It keeps what it made of the schemas, which costs more than the values do.
var schemas = schema_validation.NewSchemaValidator(config.WithFormatAssertions())

// holds holds a value to a schema.
func holds(t *testing.T, what string, schema *base.Schema, value any) {
	t.Helper()
	if ok, errs := schemas.ValidateSchemaObjectWithVersion(schema, value, 3.1); !ok {
		t.Errorf("%s is not as described: %v", what, errs)
	}
}

// routed are the routes of a daemon that belong into the description, as the decisions have it.
func routed(routes []string) []string {
	return slices.DeleteFunc(slices.Clone(routes), func(route string) bool {
		method, path, _ := strings.Cut(route, " ")
		page := path == "/{$}" || path == "/packs/{pack}" || path == "/packs/{pack}/row" || path == "/page.js" || path == "/favicon.ico" || strings.HasPrefix(path, "/account") // for people
		page = page || path == "/oauth/authorize" || path == "/oauth/signin.js"
		page = page || strings.HasSuffix(path, "...}") // the tiles of a log that is years old
		return page || method == http.MethodOptions || strings.HasPrefix(path, api.PathInternalJobs)
	})
}

// TestContract is the promise of the description: the daemon has these operations and no others, and each answers with the described
// statuses and no others, every one of which is seen here and is as described.
func TestContract(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	s := newStage(t, c)
	described, routes := c.operations(), routed(s.d.Routes())
	if !s.speaksMCP() {
		maps.DeleteFunc(described, func(name string, _ *v3.Operation) bool { return strings.HasSuffix(name, "/mcp") })
	}
	if want := slices.Sorted(maps.Keys(described)); !slices.Equal(routes, want) {
		t.Errorf("the daemon has %q\nbut described is %q", routes, want)
	}
	s.describe()
	s.signIn()
	s.own()
	s.trade()
	s.sell()
	s.read()
	s.watches()
	s.pages()
	s.logs()
	if s.speaksMCP() {
		s.mcp()
		s.mcpAccount()
		s.oauth()
	}
	s.hurry()
	s.fail()
	onServer := s.outage()
	for name, op := range described {
		for status, answer := range op.Responses.Codes.FromOldest() {
			if !c.seen[name+" "+status] && (onServer || !strings.HasPrefix(answer.Description, "The database does not answer")) {
				t.Errorf("%s %s is described and was not seen", name, status)
			}
		}
	}
}

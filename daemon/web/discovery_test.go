package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// paidBy are the operations of the description that can be paid for by call, with their prices.
func paidBy(t *testing.T) map[string]string {
	t.Helper()
	var told struct {
		Paths map[string]map[string]struct {
			Payment *struct {
				Price     struct{ Mode, Currency, Amount string }
				Protocols []map[string]struct{}
			} `yaml:"x-payment-info"`
		}
	}
	var whole struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(yamlOf(t), &whole); err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for path, methods := range whole.Paths {
		for method, op := range methods {
			one := told.Paths[path][method]
			if method == "parameters" || op.Decode(&one) != nil || one.Payment == nil {
				continue
			}
			if _, x402 := one.Payment.Protocols[0]["x402"]; !x402 || one.Payment.Price.Currency != "USD" {
				t.Errorf("%s %s: %+v", method, path, one.Payment)
			}
			list[strings.ToUpper(method)+" "+path] = one.Payment.Price.Amount
		}
	}
	return list
}

// TestPaymentInfo: the description has the price of every operation that can be paid for, and of no other.
func TestPaymentInfo(t *testing.T) {
	t.Parallel()
	list := paidBy(t)
	for _, op := range api.Ops() {
		want := ""
		if price := op.PriceMicros(); price > 0 {
			want = strings.TrimRight(fmt.Sprintf("%.6f", float64(price)/1e6), "0")
		}
		if got := list["GET "+op.Path()]; got != want {
			t.Errorf("%s costs %q, and is described with %q", op, want, got)
		}
	}
	if got := list["POST "+api.PathCite]; got != "0.001" {
		t.Errorf("POST cite is described with %q", got)
	}
}

// TestDiscovery: what catalogues and agents look for at the root says what is sold and how, by the public URL, and nothing of standard x402
// where that is not taken. They are read by scripts of every origin, kept for as long as they hold, and described to HEAD.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	selling := newSettlingMarket(t, func(c *daemon.Config) { c.PublicURL = "https://example.org/context" }).d
	plain := daemontest.Start(t)
	var want []string
	for name := range paidBy(t) {
		want = append(want, strings.Replace(name, " ", " /context", 1))
	}
	slices.Sort(want)
	for d, resources := range map[*daemontest.Daemon][]string{selling: want, plain: {}} {
		a := get(t, d.URL()+"/.well-known/x402")
		var told struct {
			Version   int
			Resources []string
		}
		if err := json.Unmarshal(a.Body, &told); err != nil || a.Header.Get("Content-Type") != "application/json" || told.Resources == nil {
			t.Errorf("%v: %s", err, a.Body)
		}
		slices.Sort(told.Resources)
		if told.Version != 1 || !slices.Equal(told.Resources, resources) {
			t.Errorf("told of %+v, want %q", told, resources)
		}
	}
	if a, b := get(t, plain.URL()+"/openapi.json"), get(t, plain.URL()+api.PathOpenAPI); string(a.Body) != string(b.Body) {
		t.Error("there are two descriptions")
	}
	text := string(get(t, selling.URL()+"/llms.txt").Body)
	for _, said := range []string{
		"# contextd\n", "`crypto`", "https://example.org/context/mcp into the agent", "It needs a key",
		"[contextd-lookup](https://example.org/context/.well-known/agent-skills/contextd-lookup/SKILL.md)", "Authorization: Bearer", "X-402-Payment", "x402", "https://example.org/context/api/mcp", "`context.lookup`",
		"[GET /v1/brief](https://example.org/context/v1/brief)", "0.005 USDG", "https://example.org/context/openapi.json",
		`spendControls: {"allowedAssets":[{"network":"eip155:46630","asset":"0x`,
	} {
		if !strings.Contains(text, said) {
			t.Errorf("llms.txt does not say %q:\n%s", said, text)
		}
	}
	if len(text) > 5<<10 || regexp.MustCompile(`%!|%\[`).MatchString(text) {
		t.Errorf("llms.txt has %d bytes:\n%s", len(text), text)
	}
	text = strings.ReplaceAll(string(get(t, plain.URL()+"/llms.txt").Body), plain.URL(), "BASE") // a port may have 402 in it
	if strings.Contains(text, "402") || strings.Contains(text, "USDG") || !strings.Contains(text, "BASE/v1/fresh") {
		t.Errorf("llms.txt of a daemon that settles nothing:\n%s", text)
	}
	parsedLLMs(t, text)
	for _, path := range []string{
		"/.well-known/x402", "/.well-known/x402.json", "/openapi.json", "/llms.txt", "/mcp/server-card", "/.well-known/mcp/server-card.json",
		"/.well-known/ai-catalog.json", "/.well-known/mcp/catalog.json", "/.well-known/api-catalog", "/.well-known/agent-skills/index.json",
		"/.well-known/agent-skills/contextd-brief/SKILL.md",
	} {
		full := get(t, selling.URL()+path)
		if full.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.HasPrefix(full.Header.Get("Cache-Control"), "public") {
			t.Errorf("%s: %v", path, full.Header)
		}
		if a := get(t, selling.URL()+path, with("If-None-Match", full.Header.Get("ETag"))); a.Status != http.StatusNotModified {
			t.Errorf("%s again: %d", path, a.Status)
		}
		head := call(t, http.MethodHead, selling.URL()+path)
		if head.Status != http.StatusOK || len(head.Body) > 0 || head.Header.Get("Content-Length") != fmt.Sprint(len(full.Body)) {
			t.Errorf("HEAD %s: %d %v", path, head.Status, head.Header)
		}
	}
}

// told is what /.well-known/x402.json says.
type told struct {
	X402Version int
	LastUpdated int64
	Items       []struct {
		Resource api.StandardResource
		Type     string
		Accepts  []api.StandardAccept
		Input    struct {
			Method, RouteTemplate string
			QueryParams, Body     map[string]any
		}
		Output struct {
			MimeType string
			Example  any
		}
	}
}

// TestItems: each thing that is for sale is told with a URL that asks for the very payment that is told, in words that catalogues take, and
// since when it is the same. A daemon that takes no standard x402 tells of none.
func TestItems(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	m := newSettlingMarket(t, func(c *daemon.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	list := decode[told](t, get(t, m.d.URL()+"/.well-known/x402.json"))
	var names []string
	for _, one := range list.Items {
		r := one.Resource
		name := one.Input.Method + " " + one.Input.RouteTemplate
		names = append(names, name)
		a := call(t, one.Input.Method, r.URL)
		offer := unwrap[api.StandardRequired](t, a, api.HeaderRequired)
		if a.Status != http.StatusPaymentRequired || !slices.Equal(offer.Accepts, one.Accepts) || len(one.Accepts) != 1 {
			t.Errorf("%s: %d %s for %s, told of %+v", name, a.Status, a.Body, r.URL, one.Accepts)
		}
		if one.Type != "http" || r.MimeType != "application/json" || r.Description == "" || one.Output.Example == nil {
			t.Errorf("%s is told as %+v", name, one)
		}
		if o := offer.Resource; !inWords(append(r.Tags, r.ServiceName)) || !inWords(append(o.Tags, o.ServiceName)) || len(r.Tags) == 0 {
			t.Errorf("%s has the words %q, %q", name, r.Tags, o.Tags)
		}
	}
	want := slices.Sorted(maps.Keys(paidBy(t)))
	if slices.Sort(names); list.X402Version != 2 || !slices.Equal(names, want) {
		t.Errorf("told of %q, want %q", names, want)
	}
	ahead.Store(int64(time.Hour))
	again := decode[told](t, get(t, m.d.URL()+"/.well-known/x402.json"))
	if again.LastUpdated != list.LastUpdated || again.LastUpdated == 0 {
		t.Errorf("an hour later it is of %d, and was of %d", again.LastUpdated, list.LastUpdated)
	}
	none := get(t, daemontest.Start(t).URL()+"/.well-known/x402.json")
	if none := decode[told](t, none); len(none.Items) > 0 || none.X402Version != 2 {
		t.Errorf("of nothing it tells %+v", none)
	}
}

// inWords reports whether x402 allows words as names and tags.
func inWords(words []string) bool {
	return len(words) <= 6 && !slices.ContainsFunc(words, func(w string) bool {
		return w == "" || len(w) > 32 || strings.ContainsFunc(w, func(c rune) bool { return c <= ' ' || c > '~' })
	})
}

// TestTags: what a caller names as the pack is a tag only where it can be one.
func TestTags(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	for pack, want := range map[string][]string{
		"": {"crypto"}, strings.Repeat("x", 32): {strings.Repeat("x", 32)}, strings.Repeat("x", 33): nil,
		"a%20b": nil, "%C3%A4": nil, "%07": nil, "~!": {"~!"},
	} {
		offer := unwrap[api.StandardRequired](t, get(t, m.d.URL()+"/v1/search?pack="+pack), api.HeaderRequired)
		if !slices.Equal(offer.Resource.Tags, want) {
			t.Errorf("%q has the tags %q", pack, offer.Resource.Tags)
		}
	}
}

// TestOfferTellsCatalogues: the offer of every operation says how it is called, with an example of an answer, in a header that no proxy cuts,
// and in the words of the schema that is beside it.
func TestOfferTellsCatalogues(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	m := newSettlingMarket(t, func(c *daemon.Config) {
		c.PublicURL = "https://example.org/context"
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	ahead.Store(int64(3 * time.Minute)) // the first state is of the past
	minute := time.Now().Add(2 * time.Minute).UTC().Format("2006-01-02T15:04")
	for name := range paidBy(t) {
		method, path, _ := strings.Cut(name, " ")
		pack, query := "credits", "pack=starter" // of the purchase
		if op, ok := api.OpAt(path); ok {
			pack, query = api.PackCrypto, "pack=crypto&"+exampleOf(op, minute, true)
		}
		a := call(t, method, m.d.URL()+path+"?"+query)
		offer := unwrap[api.StandardRequired](t, a, api.HeaderRequired)
		if n := len(a.Header.Get(api.HeaderRequired)); a.Status != http.StatusPaymentRequired || n > 3<<10 {
			t.Errorf("%s: %d, an offer of %d bytes", name, a.Status, n)
		}
		if r := offer.Resource; r.URL != "https://example.org/context"+path+"?"+query || r.ServiceName != "contextd" ||
			!slices.Equal(r.Tags, []string{pack}) || !strings.Contains(r.Description, ": ") {
			t.Errorf("%s: %+v", name, r)
		}
		tellsHow(t, name, query, offer.Extensions["bazaar"])
	}
	a := get(t, m.d.URL()+"/v1/fresh?unknown="+strings.Repeat("x", 950))
	offer := unwrap[api.StandardRequired](t, a, api.HeaderRequired)
	if n := len(a.Header.Get(api.HeaderRequired)); n > 3<<10 || offer.Extensions["payment-identifier"].Info == nil || offer.Extensions["bazaar"].Info != nil {
		t.Errorf("what is long is offered with %d bytes: %+v", n, offer)
	}
	if a := get(t, m.d.URL()+"/v1/search?q="+strings.Repeat("x", 2000)); unwrap[api.StandardRequired](t, a, api.HeaderRequired).Resource.URL !=
		"https://example.org/context/v1/search" {
		t.Errorf("%v", a.Header)
	}
}

// TestBareProbe: an operation that a catalogue asks without anything says what it costs and which parameter is missing, and quotes no
// transfer. A wrong value, a key, a payment, and a daemon that takes no standard x402 have 400 as ever.
func TestBareProbe(t *testing.T) {
	t.Parallel()
	m, plain := newSettlingMarket(t), daemontest.Start(t)
	key := m.d.Key(t, api.TierFree)
	for _, c := range []struct{ method, path, missing string }{
		{"GET", "/v1/search", "q"}, {"GET", "/v1/lookup", "q"}, {"GET", "/v1/snapshot", "at"}, {"GET", "/v1/cite", "ref"},
		{"GET", "/v1/query", "table"}, {"POST", "/v1/cite", "ref"}, {"GET", "/v1/changes", "since"},
	} {
		a := call(t, c.method, m.d.URL()+c.path)
		offer := unwrap[api.StandardRequired](t, a, api.HeaderRequired)
		var body api.ErrorBody
		if err := json.Unmarshal(a.Body, &body); err != nil || a.Status != http.StatusPaymentRequired || body.Payment != nil ||
			!strings.Contains(offer.Error, "the parameter "+c.missing+" is missing") || offer.Extensions["bazaar"].Info == nil ||
			!strings.Contains(body.Error.Message, "needs the parameter "+c.missing) {
			t.Errorf("%s %s: %d %s, offered %+v", c.method, c.path, a.Status, a.Body, offer)
		}
		for what, a := range map[string]answer{
			"with a key":     call(t, c.method, m.d.URL()+c.path, with("Authorization", "Bearer "+key)),
			"not sold":       call(t, c.method, plain.URL()+c.path),
			"a wrong value":  call(t, c.method, m.d.URL()+c.path+"?"+c.missing+"="),
			"with a payment": call(t, c.method, m.d.URL()+c.path, with(api.HeaderSignature, "e30=")),
		} {
			if a.Status != http.StatusBadRequest {
				t.Errorf("%s %s %s: %d %s", c.method, c.path, what, a.Status, a.Body)
			}
		}
	}
	if a := call(t, http.MethodPost, m.d.URL()+"/v1/cite", sending(`{"ref":0}`)); a.Status != http.StatusBadRequest {
		t.Errorf("a body with a wrong value: %d %s", a.Status, a.Body)
	}
}

// tellsHow holds the extension bazaar of an offer to its own schema, and to how the operation was called.
func tellsHow(t *testing.T, name, query string, e api.StandardExtension) {
	t.Helper()
	text, err := json.Marshal(e.Schema)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if check, err := schema.Resolve(nil); err != nil {
		t.Errorf("%s: %v", name, err)
	} else if err := check.Validate(e.Info); err != nil {
		t.Errorf("%s is not told as its schema has it: %v", name, err)
	}
	method, _, _ := strings.Cut(name, " ")
	input, _ := e.Info["input"].(map[string]any)
	sent, _ := input["queryParams"].(map[string]any)
	body, _ := input["body"].(map[string]any)
	for _, of := range []string{"queryParams", "body"} {
		declared := schema.Properties["input"].Properties[of]
		if declared == nil {
			continue
		}
		for parameter, p := range declared.Properties {
			if !slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object"}, p.Type) {
				t.Errorf("%s: %s is of type %q", name, parameter, p.Type)
			}
		}
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(query, "&"), "&") {
		parameter, value, _ := strings.Cut(part, "=")
		told := sent[parameter] != nil || body[parameter] != nil
		if input["type"] != "http" || input["method"] != method || !told || parameter == "pack" && sent["pack"] != value {
			t.Errorf("%s is told as %v", name, input)
		}
	}
	output, _ := e.Info["output"].(map[string]any)
	example, err := json.Marshal(output["example"])
	if err != nil || output["example"] == nil || len(example) > 512 {
		t.Errorf("%s has an example of %d bytes, %v", name, len(example), err)
	}
	if name == "POST "+api.PathPurchase && !strings.Contains(string(example), `"key":"cv_`) {
		t.Errorf("%s does not tell of the key: %s", name, example)
	}
}

// TestDescriptionHeld: what anyone may ask for and is dear to make is made once a minute at most, also by a clock that is set back.
func TestDescriptionHeld(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://example.org")
	if err != nil {
		t.Fatal(err)
	}
	var now time.Time
	made := 0
	routes := web.Discovery{PublicURL: base, Now: func() time.Time { return now }, Packs: func() []api.PackInfo {
		made++
		return nil
	}}.Routes()
	for _, step := range []struct {
		at   time.Duration
		made int
	}{{0, 1}, {0, 1}, {time.Minute - 1, 1}, {time.Minute, 2}, {time.Minute + 1, 2}, {0, 3}, {1, 3}} {
		now = time.Unix(0, 0).Add(step.at)
		w := httptest.NewRecorder()
		if err := routes[api.PathLLMs][http.MethodGet](w, httptest.NewRequest(http.MethodGet, api.PathLLMs, nil)); err != nil {
			t.Error(err)
		}
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "# contextd") || made != step.made {
			t.Errorf("at %s: %d, made %d times, want %d", step.at, w.Code, made, step.made)
		}
	}
}

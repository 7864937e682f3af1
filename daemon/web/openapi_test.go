package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi/datamodel/high/base"
	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/sdk/api"
)

// TestForms: the JSON says what the YAML says, and both what the constants of the API say.
func TestForms(t *testing.T) {
	t.Parallel()
	var fromYAML, fromJSON map[string]any
	if err := yaml.Unmarshal(yamlOf(t), &fromYAML); err != nil {
		t.Fatal(err)
	}
	text, err := web.DescriptionJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &fromJSON); err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fromJSON, again) {
		t.Error("the JSON and the YAML differ")
	}
	info, _ := fromJSON["info"].(map[string]any)
	if fromJSON["openapi"] != "3.1.0" || info["version"] != api.Version {
		t.Errorf("openapi is %v, info.version %v", fromJSON["openapi"], info["version"])
	}
	if strings.Contains(string(yamlOf(t)), ": *") {
		t.Error("the YAML has aliases, which not every tool reads")
	}
}

// TestWords compares the enumerations and limits of the description with those that the daemon goes by.
func TestWords(t *testing.T) {
	t.Parallel()
	c, _ := readContract(t)
	schema := func(path string) *base.Schema {
		name, member, _ := strings.Cut(path, ".")
		s := c.model.Components.Schemas.GetOrZero(name).Schema()
		if member != "" {
			s = s.Properties.GetOrZero(member).Schema()
		}
		return s
	}
	for path, want := range map[string][]string{
		"Error.code": texts(api.Codes()), "Error.reason": texts(api.Reasons()), "Tier": texts(api.Tiers()), "Op": texts(api.CountedOps()),
		"CreditPack": texts(api.CreditPacks()), "TraceConsent": texts([]api.TraceConsent{api.ConsentFull, api.ConsentAggregated, api.ConsentNone}),
		"Deposit.status":       texts([]api.DepositStatus{api.DepositPending, api.DepositVerified, api.DepositExpired}),
		"Flag.severity":        texts([]api.Severity{api.SeverityCritical, api.SeverityWarning, api.SeverityNotice}),
		"ChangedFlag.change":   texts(api.FlagChanges()),
		"ChangedFlag.severity": texts([]api.Severity{api.SeverityCritical, api.SeverityWarning, api.SeverityNotice}),
		"ChangedFlag.was":      texts([]api.Severity{api.SeverityCritical, api.SeverityWarning, api.SeverityNotice}),
		"ChangedSource.from":   texts(api.SourceHealths()), "ChangedSource.to": texts(api.SourceHealths()),
		"SourceStatus.status": texts([]api.SourceState{api.SourceOK, api.SourceStale, api.SourceError}),
		"Mover.group":         {api.GroupMajor, api.GroupGainer, api.GroupLoser}, "ProtocolTVL.group": {api.GroupTop, api.GroupMover, api.GroupChain},
		"Narrative.direction": {api.DirectionUp, api.DirectionDown, api.DirectionFlat},
		"Flag.kind": {api.FlagDepeg, api.FlagPriceMove, api.FlagFastMove, api.FlagTVLDrop, api.FlagExploit, api.FlagSentiment, api.FlagDivergence,
			api.FlagFeeSpike, api.FlagGasSpike, api.FlagSuspiciousName, api.FlagSourceStale, api.FlagSourceError, api.FlagSourceEnding},
	} {
		var got []string
		for _, value := range schema(path).Enum {
			got = append(got, value.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]int64{"SearchResponse.matches": api.SearchKMax, "ChangesResponse.rows": api.MaxChangedRows, "CreditBalanceResponse.recentDeposits": api.RecentDeposits} {
		if got := schema(path).MaxItems; got == nil || *got != want {
			t.Errorf("%s has at most %v items, want %d", path, got, want)
		}
	}
	for path, want := range map[string]int64{"Prompt.prompt": api.MaxPrompt, "CreateKeyRequest.name": api.MaxKeyName, "IssuedKey.keyId": api.KeyIDLength} {
		if got := schema(path).MaxLength; got == nil || *got != want {
			t.Errorf("%s has at most %v characters, want %d", path, got, want)
		}
	}
	for _, op := range api.Ops() {
		if price := op.PriceMicros(); price > 0 {
			text := c.operations()["GET "+op.Path()].Description
			if want := strings.TrimRight(fmt.Sprintf("%.6f", float64(price)/1e6), "0") + " USDG"; !strings.Contains(text, want) {
				t.Errorf("%s does not say that it costs %s", op, want)
			}
		}
	}
}

// texts are the texts of words.
func texts[T ~string](words []T) []string {
	var list []string
	for _, word := range words {
		list = append(list, string(word))
	}
	return list
}

// TestAnswersAreDescribed: the schema of each answer has the members of its type, and what may be left out is not required.
func TestAnswersAreDescribed(t *testing.T) {
	t.Parallel()
	c, _ := readContract(t)
	for _, op := range api.Ops() {
		of := op.Operation().Answer
		name := of.Name()
		if of == reflect.TypeFor[api.StateResponse]() {
			name = "MindResponse" // in the contract
		}
		proxy, ok := c.model.Components.Schemas.Get(name)
		if !ok {
			t.Errorf("the answer of %s is not described", op)
			continue
		}
		for _, f := range reflect.VisibleFields(of) {
			member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			_, described := proxy.Schema().Properties.Get(member)
			if described != (member != "-") || slices.Contains(proxy.Schema().Required, member) != (options == "") {
				t.Errorf("%s of %s: described %t, required %q", member, name, described, proxy.Schema().Required)
			}
		}
	}
}

// TestDocument holds the description to the schema of OpenAPI 3.1, and its examples to its own schemas.
func TestDocument(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	if ok, errs := c.validator.ValidateDocument(); !ok {
		t.Errorf("the description is not OpenAPI 3.1: %v", errs)
	}
	seen := 0
	for name, op := range c.operations() {
		if op.OperationId == "" || op.Summary == "" || len(op.Tags) != 1 || op.Security == nil {
			t.Errorf("%s lacks an operationId, a summary, one tag or its credentials", name)
		}
		for status, response := range op.Responses.Codes.FromOldest() {
			if _, ok := response.Headers.Get(api.HeaderRequestID); !ok {
				t.Errorf("%s %s lacks %s", name, status, api.HeaderRequestID)
			}
			for _, media := range response.Content.FromOldest() {
				schema, err := media.Schema.BuildSchema()
				if err != nil {
					t.Fatal(err)
				}
				for example, e := range media.Examples.FromOldest() {
					var value any
					if err := e.Value.Decode(&value); err != nil {
						t.Fatal(err)
					}
					seen++
					holds(t, fmt.Sprintf("%s %s, example %s", name, status, example), schema, value)
				}
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d examples were found", seen)
	}
}

// TestForGenerators: what generators of clients need beyond the rules of OpenAPI. Where one of these does not hold they refuse the description,
// give a price 24 bits, or name two types alike; .ci/run has two of them make clients.
func TestForGenerators(t *testing.T) {
	t.Parallel()
	var tree yaml.Node
	if err := yaml.Unmarshal(yamlOf(t), &tree); err != nil {
		t.Fatal(err)
	}
	typed(t, tree.Content[0])
	c, _ := readContract(t)
	for _, op := range c.operations() {
		for _, p := range op.Parameters {
			if len(p.Schema.Schema().Type) != 1 {
				t.Errorf("%s: the parameter %s is not of one type", op.OperationId, p.Name)
			}
		}
		name := strings.ToUpper(op.OperationId[:1]) + op.OperationId[1:]
		for _, suffix := range []string{"Response", "Params", "JSONRequestBody"} {
			if _, clash := c.model.Components.Schemas.Get(name + suffix); clash {
				t.Errorf("the operation %s and the schema %s%s make two types of one name", op.OperationId, name, suffix)
			}
		}
	}
}

// typed checks that values which are listed have a type, that no type is one of several beside null, and that numbers say how wide they are.
func typed(t *testing.T, n *yaml.Node) {
	t.Helper()
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			typed(t, item)
		}
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	members := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		members[name] = n.Content[i+1]
		if name != "examples" && name != "example" && name != "not" {
			typed(t, n.Content[i+1])
		}
	}
	types, listed := members["type"], members["enum"] != nil || members["const"] != nil
	if listed && (types == nil || types.Kind != yaml.ScalarNode) {
		t.Errorf("line %d: values without their type", n.Line)
	}
	if types == nil || types.Kind == yaml.MappingNode {
		return
	}
	var list []string
	for _, item := range append([]*yaml.Node{types}, types.Content...) {
		if item.Value != "" && item.Value != "null" {
			list = append(list, item.Value)
		}
	}
	if len(list) > 1 {
		t.Errorf("line %d: one of the types %q; write anyOf", n.Line, list)
	}
	if slices.Contains(list, "number") && members["format"] == nil {
		t.Errorf("line %d: a number without a format", n.Line)
	}
}

// description serves the description alone.
var description = sync.OnceValue(func() http.Handler { return web.New(web.Config{More: web.DescriptionRoutes(nil)}) })

// fetch is an answer of the description alone.
func fetch(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	description().ServeHTTP(w, r)
	return w
}

// TestCaching: an hour, with an ETag that a copy can be compared by.
func TestCaching(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{
		api.PathOpenAPI: "application/json", api.PathOpenAPIRoot: "application/json", api.PathOpenAPIYAML: "application/yaml", api.PathDocs: "text/html; charset=utf-8",
		api.PathDocs + "/run": "text/html; charset=utf-8",
	} {
		full := fetch(t, http.MethodGet, path)
		tag := full.Header().Get("ETag")
		if full.Code != http.StatusOK || full.Header().Get("Content-Type") != kind || full.Header().Get("Cache-Control") != "public, max-age=3600" ||
			!regexp.MustCompile(`^"[0-9a-f]{16}"$`).MatchString(tag) || full.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v", path, full.Code, full.Header())
		}
		for _, same := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			if a := fetch(t, http.MethodGet, path, "If-None-Match", same); a.Code != http.StatusNotModified || a.Body.Len() > 0 || a.Header().Get("ETag") != tag {
				t.Errorf("%s with If-None-Match %s: %d with %d bytes", path, same, a.Code, a.Body.Len())
			}
		}
		for _, other := range []string{`"other"`, strings.Trim(tag, `"`), ""} {
			if a := fetch(t, http.MethodGet, path, "If-None-Match", other); a.Code != http.StatusOK || a.Body.String() != full.Body.String() {
				t.Errorf("%s with If-None-Match %s: %d", path, other, a.Code)
			}
		}
		if a := fetch(t, http.MethodPost, path); a.Code != http.StatusMethodNotAllowed || a.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("POST %s: %d, Allow %s", path, a.Code, a.Header().Get("Allow"))
		}
	}
}

// TestDescriptionPage: every operation, status, parameter, schema and error is on the page; it has no script and loads nothing, which its policy sees
// to, and its style is the one that the policy lets in.
func TestDescriptionPage(t *testing.T) {
	t.Parallel()
	c, _ := readContract(t)
	a := fetch(t, http.MethodGet, api.PathDocs)
	page, policy := a.Body.String(), a.Header().Get("Content-Security-Policy")
	for name, op := range c.operations() {
		_, section, _ := strings.Cut(page, `<section id="`+op.OperationId+`">`)
		section, _, _ = strings.Cut(section, "</section>")
		if !strings.Contains(html.UnescapeString(section), op.Summary) {
			t.Errorf("%s is not on the page", name)
		}
		for status := range op.Responses.Codes.FromOldest() {
			if !strings.Contains(section, "<tr><td>"+status+"</td>") {
				t.Errorf("%s lacks %s on the page", name, status)
			}
		}
		for _, p := range op.Parameters {
			if !strings.Contains(section, "<code>"+p.Name+"</code>") {
				t.Errorf("%s lacks %s on the page", name, p.Name)
			}
		}
	}
	for name := range c.model.Components.Schemas.FromOldest() {
		if !strings.Contains(page, `<section id="schema-`+name+`">`) {
			t.Errorf("%s is not on the page", name)
		}
	}
	for what, shown := range map[string]string{
		"a link in a text":                    `standard <a href="https://x402.org">x402</a>, version 2`,
		"the calls, folded":                   "<details>\n<summary><h3><code>",
		"what an address means, unfolded":     "section:target > details::details-content, details:has(:target)::details-content",
		"the answers of a call, folded":       "<details>\n<summary>Answers: 200, ",
		"the members of a schema, folded":     "<details>\n<summary>2 members</summary>",
		"the answers on paper, which unfolds": "details::details-content { content-visibility: visible }",
	} {
		if !strings.Contains(page, shown) {
			t.Errorf("the page has not %s: %s", what, shown)
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("#%s leads nowhere", link[1])
		}
	}
	harmless(t, page, policy)
}

// TestDocsHeader: the pages of the documentation lead to those of the packs and the account, as they are now, where there are such pages.
func TestDocsHeader(t *testing.T) {
	t.Parallel()
	packs := []api.PackInfo{{ID: "crypto", Title: "Crypto <markets>"}}
	with := web.New(web.Config{More: web.DescriptionRoutes(func() []api.PackInfo { return packs })})
	header := func(h http.Handler, path string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		_, text, _ := strings.Cut(w.Body.String(), "<header>")
		text, _, _ = strings.Cut(text, "</header>")
		return text
	}
	for path, root := range map[string]string{api.PathDocs: "", api.PathDocs + "/run": "../"} {
		if got := header(description(), path); !strings.Contains(got, `href="`+root+`docs"`) || strings.Contains(got, "account") || strings.Contains(got, "packs/") {
			t.Errorf("%s without pages begins with %s", path, got)
		}
		packs = packs[:1]
		first := header(with, path)
		packs = append(packs, api.PackInfo{ID: "ai", Title: "AI"})
		second := header(with, path)
		link := `<a href="` + root + `packs/crypto" title="Crypto &lt;markets&gt;">crypto</a>`
		if !strings.Contains(first, link) || !strings.Contains(first, `<a href="`+root+`account">`) || strings.Contains(first, "packs/ai") {
			t.Errorf("%s begins with %s", path, first)
		}
		if !strings.Contains(second, link) || !strings.Contains(second, `<a href="`+root+`packs/ai"`) {
			t.Errorf("%s with another pack begins with %s", path, second)
		}
	}
}

// TestTopics: every topic of the handbook has a page, which the description's page leads to and which is as harmless as that.
func TestTopics(t *testing.T) {
	t.Parallel()
	index := fetch(t, http.MethodGet, api.PathDocs).Body.String()
	for _, topic := range handbook.Topics() {
		a := fetch(t, http.MethodGet, api.PathDocs+"/"+topic.Name)
		page := a.Body.String()
		if a.Code != http.StatusOK || !strings.Contains(page, "<h1") || !strings.Contains(html.UnescapeString(page), topic.Summary) {
			t.Errorf("%s: %d with %d bytes", topic.Name, a.Code, len(page))
		}
		if !strings.Contains(page, `<a class="home" href="../">`) || !strings.Contains(index, `<a class="home" href="./">`) {
			t.Errorf("%s has no way back", topic.Name)
		}
		if !strings.Contains(index, `<a href="docs/`+topic.Name+`">`) {
			t.Errorf("nothing leads to %s", topic.Name)
		}
		for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			to := path.Join(api.PathDocs, link[1])
			if to == "/" { // the way back, which is not of this server
				continue
			}
			if b := fetch(t, http.MethodGet, to); b.Code != http.StatusOK {
				t.Errorf("%s leads to %s, which answers %d", topic.Name, to, b.Code)
			}
		}
		harmless(t, page, a.Header().Get("Content-Security-Policy"))
	}
	if a := fetch(t, http.MethodGet, api.PathDocs+"/nothing"); a.Code != http.StatusNotFound {
		t.Errorf("a topic that is none: %d", a.Code)
	}
}

// harmless checks that a page has no script and loads nothing, and that its policy sees to that.
func harmless(t *testing.T, page, policy string) {
	t.Helper()
	for _, foreign := range []string{"<script", "<link", "<img", "<iframe", "<object", "javascript:", "http-equiv", " style="} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %s", foreign)
		}
	}
	for _, part := range []string{"default-src 'none'", "style-src 'sha256-" + hash(page) + "'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy is %q, without %q", policy, part)
		}
	}
}

// hash is that of the page's style, as policies name it.
func hash(page string) string {
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// TestVersion: every answer says which release it is of, and nothing where it is of none.
func TestVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1.3.0", ""} {
		for _, path := range []string{"/api/openapi", "/nothing"} {
			w := httptest.NewRecorder()
			web.New(web.Config{Version: version, More: web.DescriptionRoutes(nil)}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if got, is := w.Header()[http.CanonicalHeaderKey(api.HeaderVersion)]; is != (version != "") || is && got[0] != version {
				t.Errorf("version %q: %s answers with %q", version, path, got)
			}
		}
	}
}

package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/skills"
	"github.com/contextd/contextd/sdk/api"
)

// parsedLLMs reads llms.txt as its parsers do: one title, a quote, prose, and then sections of nothing but links with notes.
func parsedLLMs(t *testing.T, text string) {
	t.Helper()
	head, rest, _ := strings.Cut(text, "\n## ")
	if !strings.HasPrefix(head, "# contextd\n\n> ") || strings.Count("\n"+head, "\n#") != 1 {
		t.Errorf("llms.txt begins with %q", head)
	}
	for _, section := range strings.Split(rest, "\n## ") {
		title, list, _ := strings.Cut(section, "\n\n")
		for line := range strings.Lines(strings.TrimSuffix(list, "\n")) {
			if line = strings.TrimSuffix(line, "\n"); line != "" && !regexp.MustCompile(`^- \[[^\]]+\]\((https?:/|BASE)/[^)]+\)(: .+)?$`).MatchString(line) {
				t.Errorf("in the section %s there is the line %q", title, line)
			}
		}
	}
}

// TestCard: the card says in the schema's words what the server of MCP says of itself when a client connects, and where. It is the same at
// both addresses.
func TestCard(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	a := get(t, d.URL()+api.PathServerCard)
	if b := get(t, d.URL()+api.PathServerCardKnown); string(b.Body) != string(a.Body) || a.Header.Get("Content-Type") != "application/mcp-server-card+json" {
		t.Errorf("there are two cards: %s\n%s", a.Body, b.Body)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "listing", "testdata", "server-card.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	check, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := check.Validate(decode[map[string]any](t, a)); err != nil {
		t.Errorf("%v: %s", err, a.Body)
	}
	card := decode[struct {
		Title, Description, Version string
		Remotes                     []struct {
			URL      string
			Headers  []any
			Versions []string `json:"supportedProtocolVersions"`
		}
	}](t, a)
	if len(card.Remotes) != 1 || card.Remotes[0].URL != d.URL()+api.PathMCPAccount || len(card.Remotes[0].Headers) != 1 {
		t.Fatalf("the card of a daemon without OAuth and payments: %s", a.Body)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	key := d.Key(t, api.TierFree)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: card.Remotes[0].URL, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: bearing(key)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	server := session.InitializeResult()
	if who := server.ServerInfo; who.Title != card.Title || who.Version != card.Version || who.Description != card.Description {
		t.Errorf("the card says %+v, the server %+v", card, who)
	}
	if v := card.Remotes[0].Versions; !slices.Contains(v, server.ProtocolVersion) || !slices.Equal(v, mcp.Versions()) {
		t.Errorf("the card has the versions %q, the server speaks %s", v, server.ProtocolVersion)
	}
}

// bearing sends a key with every request.
type bearing string

func (key bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

// TestCatalogs: every link of every catalogue leads to a document of the type that is told, the digests are those of the files, and the
// front leads to the catalogues.
func TestCatalogs(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, daemontest.WithPages)
	follow := func(from, address, kind string) answer {
		t.Helper()
		a := get(t, address)
		if got, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); a.Status != http.StatusOK || kind != "" && got != kind {
			t.Errorf("%s leads to %s, which is %d of type %s, not %s", from, address, a.Status, got, kind)
		}
		return a
	}
	type catalog struct {
		SpecVersion string
		Host        struct{ DisplayName, Identifier, DocumentationURL string }
		Entries     []struct{ Identifier, DisplayName, Type, URL, Description string }
	}
	all, one := decode[catalog](t, get(t, d.URL()+api.PathAICatalog)), decode[catalog](t, get(t, d.URL()+api.PathMCPCatalog))
	follow("the catalogue", all.Host.DocumentationURL, "text/html")
	names := map[string]bool{}
	for _, e := range all.Entries {
		names[e.Identifier] = true
		kind := map[string]string{"application/vnd.oai.openapi+json": "application/json"}[e.Type]
		if kind == "" {
			kind = e.Type
		}
		follow("the catalogue", e.URL, kind)
		if !strings.HasPrefix(e.Identifier, "urn:air:127.0.0.1:contextd") || e.DisplayName == "" || e.Description == "" {
			t.Errorf("the entry %+v", e)
		}
	}
	if all.SpecVersion != "1.0" || len(names) != 4 || one.SpecVersion != "draft" || !slices.Equal(one.Entries, all.Entries[:1]) {
		t.Errorf("the catalogues are %+v\n%+v", all, one)
	}
	list := get(t, d.URL()+api.PathAPICatalog)
	if kind := list.Header.Get("Content-Type"); kind != `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"` {
		t.Errorf("the linkset is of type %s", kind)
	}
	type link struct{ Href, Type string }
	set := decode[struct {
		Linkset []map[string]json.RawMessage
	}](t, list)
	items, anchors := []string{}, []string{}
	for _, links := range set.Linkset {
		for name, raw := range links {
			var to []link
			var anchor string
			switch {
			case name == "anchor" && json.Unmarshal(raw, &anchor) == nil:
				anchors = append(anchors, anchor)
			case json.Unmarshal(raw, &to) != nil || !slices.Contains([]string{"item", "service-desc", "service-doc", "status"}, name):
				t.Errorf("the linkset has %s %s", name, raw)
			}
			for _, l := range to {
				if name == "item" {
					items = append(items, l.Href)
				} else if name != "status" { // there is no state yet
					follow(name, l.Href, l.Type)
				}
			}
		}
	}
	if len(items) != 2 || !slices.Equal(anchors[1:], items) || anchors[0] != d.URL()+api.PathAPICatalog {
		t.Errorf("the linkset has the items %q of the anchors %q", items, anchors)
	}
	for what, a := range map[string]answer{
		"HEAD of the catalogue": call(t, http.MethodHead, d.URL()+api.PathAPICatalog), "the front": get(t, d.URL()+"/"),
		"the page": get(t, d.URL()+"/", with("Accept", "text/html")),
	} {
		if said := strings.Join(a.Header.Values("Link"), ", "); !strings.Contains(said, "<"+d.URL()+`/.well-known/api-catalog>; rel="api-catalog"`) ||
			!strings.Contains(said, `rel="service-desc"`) || !strings.Contains(said, `rel="service-doc"`) {
			t.Errorf("%s has the links %q", what, said)
		}
	}
	index := decode[struct {
		Schema string `json:"$schema"`
		Skills []struct{ Name, Type, Description, URL, Digest string }
	}](t, get(t, d.URL()+api.PathSkillsIndex))
	want, err := skills.All(d.URL())
	if err != nil {
		t.Fatal(err)
	}
	if index.Schema != "https://schemas.agentskills.io/discovery/0.2.0/schema.json" || len(index.Skills) != len(want) {
		t.Errorf("the index is %+v", index)
	}
	for i, s := range index.Skills {
		a := follow("the index", s.URL, "text/markdown")
		if s.Digest != want[i].Digest() || string(a.Body) != string(want[i].Text) || s.Name != want[i].Name || s.Type != "skill-md" || s.Description == "" {
			t.Errorf("the index has %+v of\n%s", s, a.Body)
		}
	}
	text := string(get(t, d.URL()+api.PathLLMs).Body)
	operations, documents, _ := strings.Cut(text, "\n## Skills\n")
	found := regexp.MustCompile(`\]\((\S+)\)`)
	for _, l := range found.FindAllStringSubmatch(documents, -1) {
		follow("llms.txt", l[1], "")
	}
	for _, l := range found.FindAllStringSubmatch(operations, -1) {
		if a := get(t, l[1]); a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed {
			t.Errorf("llms.txt leads to %s, which is %d", l[1], a.Status)
		}
	}
	if len(found.FindAllString(documents, -1)) != len(want)+4 || len(found.FindAllString(operations, -1)) < 10 {
		t.Errorf("llms.txt has other links:\n%s", text)
	}
	for _, none := range []string{
		api.PathSkills + "/none/SKILL.md", api.PathSkills + "/contextd-brief/x", api.PathSecurity, api.PathRegistryAuth, "/.well-known/agent-card.json",
	} {
		if a := get(t, d.URL()+none); a.Status != http.StatusNotFound {
			t.Errorf("%s is %d, and is not switched on", none, a.Status)
		}
	}
}

// TestCardsOfSwitches: what is switched on is told, with OAuth no key is asked for, and where calls are sold the address that takes payments.
func TestCardsOfSwitches(t *testing.T) {
	t.Parallel()
	const line = "v=MCPv1; k=ed25519; p=AAAA"
	d := newSettlingMarket(t, func(c *daemon.Config) {
		c.PublicURL, c.OAuth.Enabled, c.SecurityContact, c.MCP.RegistryAuth = "https://example.org", true, "mailto:security@example.org", line
	}).d
	card := string(get(t, d.URL()+api.PathServerCard).Body)
	account, paid, _ := strings.Cut(card, `"url":"https://example.org/api/mcp"`)
	if !strings.Contains(account, `"url":"https://example.org/mcp"`) || strings.Contains(account, "Authorization") || !strings.Contains(paid, "Authorization") {
		t.Errorf("the card is %s", card)
	}
	if text := string(get(t, d.URL()+api.PathLLMs).Body); !strings.Contains(text, "signs in (OAuth)") || strings.Contains(text, "It needs a key") {
		t.Errorf("llms.txt says of MCP:\n%s", text)
	}
	if a := get(t, d.URL()+api.PathRegistryAuth); string(a.Body) != line+"\n" || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("the registry is told %q", a.Body)
	}
	text := string(get(t, d.URL()+api.PathSecurity).Body)
	if !strings.HasPrefix(text, "Contact: mailto:security@example.org\nExpires: ") ||
		!strings.HasSuffix(text, "\nCanonical: https://example.org/.well-known/security.txt\n") {
		t.Errorf("security.txt is %q", text)
	}
}

// TestSecurityHolds: a security.txt never says a day that is over, nor one more than a year ahead, whenever it is read.
func TestSecurityHolds(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("http://127.0.0.1:8402")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 27, 23, 59, 0, 0, time.UTC)
	routes := web.Discovery{PublicURL: base, Now: func() time.Time { return now }, SecurityContact: "https://example.org/report"}.Routes()
	for range 400 {
		w := httptest.NewRecorder()
		if err := routes[api.PathSecurity][http.MethodGet](w, httptest.NewRequest(http.MethodGet, api.PathSecurity, nil)); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(w.Body.String(), "Contact: https://example.org/report\nExpires: ")
		until, err := time.Parse(time.RFC3339, strings.TrimSuffix(rest, "\n"))
		if err != nil || until.Sub(now) < 30*24*time.Hour || until.Sub(now) > 365*24*time.Hour {
			t.Fatalf("at %s it says %q", now, w.Body)
		}
		now = now.Add(26 * time.Hour)
	}
}

// TestContact: contacts are what RFC 9116 takes, and a mail address for short.
func TestContact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"security@example.org": "mailto:security@example.org", "mailto:security@example.org": "mailto:security@example.org",
		"https://example.org/report": "https://example.org/report", "tel:+1-201-555-0123": "tel:+1-201-555-0123",
		"": "", "http://example.org": "", "example.org": "", "https://": "", "tel:": "", "a@b.c\nExpires: x": "", "https://a b": "", "Me <me@example.org>": "",
	} {
		if got, err := web.ParseContact(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}

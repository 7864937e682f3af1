package web

import (
	"net/http"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/listing"
	"github.com/contextd/contextd/internal/skills"
	"github.com/contextd/contextd/sdk/api"
)

// Media types of the documents about the service.
const (
	typeCard      = "application/mcp-server-card+json"
	typeAICatalog = "application/ai-catalog+json"
	typeLinkset   = "application/linkset+json"
	typeJSON      = "application/json"
	typeMarkdown  = "text/markdown"

	// profileCatalog says of a linkset that it is a catalogue of APIs (RFC 9727).
	profileCatalog = `; profile="https://www.rfc-editor.org/info/rfc9727"`
)

// skillsSchema is that of the index of skills.
const skillsSchema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

// pathSkill is where the file of a skill is served.
const pathSkill = api.PathSkills + "/{skill}/" + skills.File

// expires is for how long, from the beginning of the day on which it is read, a security.txt holds.
const expires = 90 * 24 * time.Hour

// cards are the routes of the documents that say what there is. None tells of what is switched off.
func (d Discovery) cards() Routes {
	card, catalog := d.serve(typeCard, d.card()), d.serve(typeAICatalog, d.aiCatalog("1.0", d.entries()))
	routes := Routes{
		api.PathServerCard:      {http.MethodGet: card},
		api.PathServerCardKnown: {http.MethodGet: card},
		api.PathAICatalog:       {http.MethodGet: catalog},
		api.PathMCPCatalog:      {http.MethodGet: d.serve(typeAICatalog, d.aiCatalog("draft", d.entries()[:1]))},
		api.PathAPICatalog:      {http.MethodGet: d.announced(d.serve(typeLinkset+profileCatalog, d.apiCatalog()))},
		api.PathSkillsIndex:     {http.MethodGet: d.serve(typeJSON, d.skillIndex())},
		pathSkill:               {http.MethodGet: d.skillFiles()},
	}
	if d.SecurityContact != "" {
		routes[api.PathSecurity] = map[string]Handler{http.MethodGet: d.lately(d.security)}
	}
	if d.RegistryAuth != "" {
		routes[api.PathRegistryAuth] = map[string]Handler{http.MethodGet: document{
			contentType: contentPlain, text: []byte(d.RegistryAuth + "\n"),
		}.handler()}
	}
	return routes
}

// serve makes the handler of a value as JSON.
func (d Discovery) serve(contentType string, value any) Handler {
	return once(func() (document, error) {
		text, err := jsonx.Encode(value)
		return document{contentType: contentType, text: append(text, '\n')}, err
	})
}

// at is the address of a path.
func (d Discovery) at(path string) string { return d.PublicURL.String() + path }

func (d Discovery) card() listing.Server {
	e := listing.Endpoint{URL: d.at(api.PathMCPAccount), SignsIn: d.SignsIn, Versions: d.Protocols}
	if d.Sells {
		e.PaidURL = d.at(api.PathMCP)
	}
	return listing.Card(d.Version, d.at(api.PathDocs), e)
}

// entry is an entry of an AI catalogue.
type entry struct {
	Identifier  string `json:"identifier"`
	DisplayName string `json:"displayName"`
	Type        string `json:"type"`
	URL         string `json:"url"`
	Description string `json:"description"`
}

// entries are those of the AI catalogue, the server's first.
func (d Discovery) entries() []entry {
	urn := "urn:air:" + d.PublicURL.Hostname() + ":contextd"
	return []entry{
		{urn, listing.Title, typeCard, d.at(api.PathServerCard), listing.Description},
		{urn + ":api", "HTTP API", "application/vnd.oai.openapi+json", d.at(api.PathOpenAPIRoot), "OpenAPI 3.1, with prices"},
		{urn + ":skills", "Agent skills", typeJSON, d.at(api.PathSkillsIndex), "How agents use the service well"},
		{urn + ":llms", "llms.txt", typeMarkdown, d.at(api.PathLLMs), "How to call the service, in short, for language models"},
	}
}

func (d Discovery) aiCatalog(version string, entries []entry) any {
	type host struct {
		DisplayName      string `json:"displayName"`
		Identifier       string `json:"identifier"`
		DocumentationURL string `json:"documentationUrl"`
	}
	return struct {
		SpecVersion string  `json:"specVersion"`
		Host        host    `json:"host"`
		Entries     []entry `json:"entries"`
	}{version, host{"contextd", d.PublicURL.Hostname(), d.at(api.PathDocs)}, entries}
}

// link is a link of a linkset (RFC 9264).
type link struct {
	Href string `json:"href"`
	Type string `json:"type,omitempty"`
}

// links are those of one anchor.
type links struct {
	Anchor      string `json:"anchor"`
	Item        []link `json:"item,omitempty"`
	ServiceDesc []link `json:"service-desc,omitempty"`
	ServiceDoc  []link `json:"service-doc,omitempty"`
	Status      []link `json:"status,omitempty"`
}

// apiCatalog lists the two interfaces, and then says of each what there is to read.
func (d Discovery) apiCatalog() any {
	base, mcp := d.at("/"), d.at(api.PathMCPAccount)
	status := []link{{d.at(api.PathReady), typeJSON}}
	return struct {
		Linkset []links `json:"linkset"`
	}{[]links{
		{Anchor: d.at(api.PathAPICatalog), Item: []link{{Href: base}, {Href: mcp}}},
		{
			Anchor: base, ServiceDesc: []link{{d.at(api.PathOpenAPIRoot), typeJSON}}, Status: status,
			ServiceDoc: []link{{d.at(api.PathDocs), "text/html"}, {d.at(api.PathLLMs), typeMarkdown}},
		},
		{
			Anchor: mcp, ServiceDesc: []link{{d.at(api.PathServerCard), typeCard}}, Status: status,
			ServiceDoc: []link{{d.at(api.PathDocs + "/agents"), "text/html"}, {d.at(api.PathSkillsIndex), typeJSON}},
		},
	}}
}

// Announced has the front among routes say in headers where the documents are.
func (d Discovery) Announced(routes Routes) Routes {
	for method, serve := range routes[pathFront] {
		routes[pathFront][method] = d.announced(serve)
	}
	return routes
}

// announced adds to the answers of serve where the catalogue of APIs is, and what it leads to.
func (d Discovery) announced(serve Handler) Handler {
	said := "<" + d.at(api.PathAPICatalog) + `>; rel="api-catalog", <` + d.at(api.PathOpenAPIRoot) + `>; rel="service-desc"; type="` + typeJSON +
		`", <` + d.at(api.PathDocs) + `>; rel="service-doc"; type="text/html"`
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Add("Link", said)
		return serve(w, r)
	}
}

func (d Discovery) skillIndex() any {
	type one struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Description string `json:"description"`
		URL         string `json:"url"`
		Digest      string `json:"digest"`
	}
	told := struct {
		Schema string `json:"$schema"`
		Skills []one  `json:"skills"`
	}{skillsSchema, []one{}}
	for _, s := range d.Skills {
		told.Skills = append(told.Skills, one{s.Name, "skill-md", s.Description, d.at(skillPath(s.Name)), s.Digest()})
	}
	return told
}

func skillPath(name string) string { return strings.Replace(pathSkill, "{skill}", name, 1) }

// skillFiles serves the files of the skills.
func (d Discovery) skillFiles() Handler {
	files := map[string]Handler{}
	for _, s := range d.Skills {
		files[s.Name] = document{contentType: contentMarkdown, text: s.Text}.handler()
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("skill")
		if serve, ok := files[name]; ok {
			return serve(w, r)
		}
		return api.Errorf(api.ReasonNotFound, "there is no skill %q", name).WithHint("the skills are listed at %s", api.PathSkillsIndex)
	}
}

// security is the security.txt (RFC 9116), which never says a day that is over.
func (d Discovery) security() (document, error) {
	until := d.Now().UTC().Truncate(24 * time.Hour).Add(expires)
	text := "Contact: " + d.SecurityContact + "\nExpires: " + until.Format(time.RFC3339) + "\n"
	if d.PublicURL.Scheme == "https" {
		text += "Canonical: " + d.at(api.PathSecurity) + "\n"
	}
	return document{contentType: contentPlain, text: []byte(text)}, nil
}

// ParseContact reads the address for reports about security: a mail address, or a URI of mailto, https or tel.
func ParseContact(text string) (string, error) {
	address, err := mail.ParseAddress(strings.TrimPrefix(text, "mailto:"))
	if err == nil && strings.TrimPrefix(text, "mailto:") == address.Address {
		return "mailto:" + address.Address, nil
	}
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "https" && u.Host != "" || u.Scheme == "tel" && u.Opaque != "") && !strings.ContainsAny(text, " \t") {
		return text, nil
	}
	return "", api.Errorf(api.ReasonInvalidRequest, "the contact %q is neither a mail address nor a URI of mailto, https or tel", text).
		WithHint("write it as security@example.org or https://example.org/security")
}

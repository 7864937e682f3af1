// Package listing is what registries, catalogues and clients are told of the MCP server before they connect: who it is, and how it is
// reached. The server introduces itself in the same words.
//
// There are two forms with one shape: the card that a service serves about itself, and server.json, which its owner publishes in the
// official registry and which names packages too.
package listing

// How the server is called. Description is also for lists, which take 100 characters.
const (
	Name        = "io.github.contextd/contextd"
	Title       = "Continuous context"
	Description = "Live, cited facts for agents: every figure with its source and age, renewed every five minutes"
	Repository  = "https://github.com/contextd/contextd"
)

// The schemas that the forms are held to. That of the card is of a draft, SEP-2127.
const (
	registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	cardSchema     = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
)

// Server is a card or a server.json.
type Server struct {
	Schema      string    `json:"$schema"`
	Name        string    `json:"name"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Version     string    `json:"version"`
	WebsiteURL  string    `json:"websiteUrl"`
	Repository  Source    `json:"repository"`
	Packages    []Package `json:"packages,omitempty"` // of server.json alone
	Remotes     []Remote  `json:"remotes"`
}

// Source is where the code is.
type Source struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

// Remote is an endpoint. Variables are those of its URL.
type Remote struct {
	Type      string           `json:"type"`
	URL       string           `json:"url"`
	Headers   []Input          `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
	Versions  []string         `json:"supportedProtocolVersions,omitempty"` // of a card alone
}

// Package is a program that is the server, on the user's machine. A bundle has an address and a hash, an image a name with its tag.
type Package struct {
	RegistryType string    `json:"registryType"`
	Identifier   string    `json:"identifier"`
	FileSHA256   string    `json:"fileSha256,omitempty"`
	RuntimeHint  string    `json:"runtimeHint,omitempty"`
	Transport    Transport `json:"transport"`
	Arguments    []Input   `json:"packageArguments,omitempty"`
	Environment  []Input   `json:"environmentVariables,omitempty"`
}

// Transport is how a client speaks to the program of a package.
type Transport struct {
	Type string `json:"type"`
}

// Input is a value that a user gives or that is set: a header, an argument, a variable of the environment, or of one of these. Variables
// are those of Value.
type Input struct {
	Type        string           `json:"type,omitempty"` // of an argument
	Name        string           `json:"name,omitempty"`
	Description string           `json:"description,omitempty"`
	Required    bool             `json:"isRequired,omitempty"`
	Secret      bool             `json:"isSecret,omitempty"`
	Default     string           `json:"default,omitempty"`
	Placeholder string           `json:"placeholder,omitempty"`
	Value       string           `json:"value,omitempty"`
	Variables   map[string]Input `json:"variables,omitempty"`
}

// Endpoint is where a service answers MCP: URL takes an account or a key, and PaidURL payments by call, "" where none are taken. With
// SignsIn clients get a token by OAuth, unasked.
type Endpoint struct {
	URL, PaidURL string
	SignsIn      bool
	Versions     []string // of the protocol
}

// Card is what a service of a version says of itself. docs is the address of its pages.
func Card(version, docs string, at Endpoint) Server {
	s := server(cardSchema, version, docs)
	s.Remotes = []Remote{remote(at.URL, at.SignsIn)}
	if at.PaidURL != "" {
		s.Remotes = append(s.Remotes, remote(at.PaidURL, false))
	}
	for i := range s.Remotes {
		s.Remotes[i].Versions = at.Versions
	}
	return s
}

// Registry is the server.json of a version such as 1.2.3, with the packages that were made of it. hosted is the address of a service that
// is run for everybody, with OAuth, "" where there is none: then users name the host of their own.
func Registry(version, hosted string, packages ...Package) Server {
	s := server(registrySchema, version, Repository)
	s.Packages = packages
	if hosted != "" {
		s.Remotes = append(s.Remotes, remote(hosted+"/mcp", true))
	}
	own := remote("https://{host}/mcp", false)
	own.Variables = map[string]Input{"host": {
		Description: "Host of the contextd service that you use", Required: true, Placeholder: "context.example.org",
	}}
	s.Remotes = append(s.Remotes, own)
	return s
}

// Image is the package of an image of ctx.
func Image(identifier string) Package {
	return Package{RegistryType: "oci", Identifier: identifier, RuntimeHint: "docker", Transport: Transport{"stdio"},
		Arguments:   []Input{{Type: "positional", Value: "mcp"}, {Type: "positional", Value: "stdio"}},
		Environment: environment()}
}

// Bundle is the package of a bundle of ctx at url, whose file has the hash sum, in hexadecimal.
func Bundle(url, sum string) Package {
	return Package{RegistryType: "mcpb", Identifier: url, FileSHA256: sum, Transport: Transport{"stdio"}, Environment: environment()}
}

func server(schema, version, website string) Server {
	return Server{Schema: schema, Name: Name, Title: Title, Description: Description, Version: version, WebsiteURL: website,
		Repository: Source{Repository, "github"}}
}

// remote is the endpoint at url. Where clients do not sign in by themselves they are told of the header for a key.
func remote(url string, signsIn bool) Remote {
	r := Remote{Type: "streamable-http", URL: url}
	if !signsIn {
		r.Headers = []Input{{
			Name: "Authorization", Description: "The API key of the service", Secret: true, Value: "Bearer {api_key}",
			Variables: map[string]Input{"api_key": {Description: "API key of the service, cv_…", Secret: true}},
		}}
	}
	return r
}

// environment is what ctx takes from the environment.
func environment() []Input {
	return []Input{
		{
			Name: "CTX_BASE_URL", Description: "Address of the contextd service; without it ctx finds one on this machine",
			Placeholder: "https://context.example.org",
		},
		{Name: "CTX_API_KEY", Description: "API key of the service", Secret: true},
		{Name: "CTX_PACK", Description: "Data pack that is meant where none is named", Default: "crypto"},
	}
}

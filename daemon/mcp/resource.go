package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/skills"
	"github.com/contextd/contextd/sdk/api"
)

// Media types of resources.
const (
	typeJSON     = "application/json"
	typeMarkdown = "text/markdown"
	typeText     = "text/plain"
)

type resource struct {
	query api.Query
	skill *skills.Skill // in place of query; nil for what is of a pack
	live  bool          // it changes, so one can subscribe to it
}

// free reports whether reading r costs nothing.
func (r resource) free() bool { return r.skill != nil || r.query.Describe }

func (s *Server) uri(pack, part string) string { return s.cfg.Prefix + "://packs/" + pack + "/" + part }

// tablesURI is where the tables of a pack are described, which is free.
func (s *Server) tablesURI(pack string) string { return s.cfg.Prefix + "://tables/" + pack }

// parseURI reads the URI of a resource; ok is false for one that is not of this server. A state and a brief have one spelling: that under
// which subscribers are told of them.
func (s *Server) parseURI(uri string) (r resource, ok bool) {
	if r.skill = s.skill(uri); r.skill != nil {
		return r, true
	}
	if pack, tables := strings.CutPrefix(uri, s.tablesURI("")); tables {
		r.query = api.Query{Op: api.OpQuery, Pack: pack, Describe: true}
		return r, slices.Contains(*s.packs.Load(), pack)
	}
	rest, ok := strings.CutPrefix(uri, s.cfg.Prefix+"://packs/")
	if !ok {
		return r, false
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		var err error
		if parts[i], err = url.PathUnescape(p); err != nil {
			return r, false
		}
	}
	served := slices.Contains(*s.packs.Load(), parts[0])
	r.query.Pack = parts[0]
	switch {
	case !served || len(parts) < 2:
		return r, false
	case len(parts) == 2 && parts[1] == "state":
		r.query.Op, r.live = api.OpFresh, true
	case len(parts) == 2 && parts[1] == "brief":
		r.query.Op, r.live = api.OpBrief, true
	case len(parts) == 3 && parts[1] == "snapshot":
		at, err := api.ParseMoment(parts[2])
		if err != nil {
			return r, false
		}
		r.query.Op, r.query.At = api.OpSnapshot, at
	default:
		return r, false
	}
	return r, !r.live || uri == s.uri(parts[0], parts[1])
}

// addResources lists what can be read of a pack.
func (s *Server) addResources(pack string) {
	s.sdk.AddResource(&sdk.Resource{
		URI: s.uri(pack, "state"), Name: pack + "-state", Title: "State of " + pack, MIMEType: typeJSON,
		Description: "The newest state of the pack with its citations, as the tool fresh returns it. Reading it costs as much as that.",
	}, s.read)
	s.sdk.AddResource(&sdk.Resource{
		URI: s.uri(pack, "brief"), Name: pack + "-brief", Title: "Brief of " + pack, MIMEType: typeMarkdown,
		Description: "The newest brief of the pack with its sources. Reading it costs as much as the tool brief.",
	}, s.read)
	s.sdk.AddResource(&sdk.Resource{
		URI: s.tablesURI(pack), Name: pack + "-tables", Title: "Tables of " + pack, MIMEType: typeText,
		Description: "The tables and fields of the pack that the tool query takes. Reading it is free.",
	}, s.read)
}

// addTemplate lists what can be read of the past of every pack.
func (s *Server) addTemplate() {
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: s.cfg.Prefix + "://packs/{pack}/snapshot/{minute}", Name: "snapshot", Title: "Past state", MIMEType: typeJSON,
		Description: "The state of a pack as of a past minute, such as 2026-11-20T14:05. Reading it costs as much as the tool snapshot.",
	}, s.read)
}

func (s *Server) read(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	r, ok := s.parseURI(req.Params.URI)
	rq := s.requestOf(req)
	switch {
	case !ok:
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	case rq == nil:
		return nil, errLeft
	case r.skill != nil:
		return readSkill(r.skill), nil
	case r.query.Describe:
		return s.readTables(rq, req.Params.URI, r.query.Pack)
	}
	o, err := s.order(rq, methodRead, r.query)
	if err != nil {
		return nil, s.refusedRead(rq, err)
	}
	body, meta, err := s.serve(rq, r.query, o)
	if err != nil {
		return nil, s.refusedRead(rq, err)
	}
	content := &sdk.ResourceContents{URI: req.Params.URI, MIMEType: typeJSON, Text: string(body)}
	if r.query.Op == api.OpBrief {
		content.MIMEType, content.Text = typeMarkdown, toolText(r.query.Op, r.query.Pack, body)
	}
	res := &sdk.ReadResourceResult{Meta: meta, Contents: []*sdk.ResourceContents{content}}
	res.CacheScope, res.TTLMs = scopePrivate, s.holds(r, body)
	return res, nil
}

// readTables reads the description of the tables of a pack.
func (s *Server) readTables(rq *request, uri, pack string) (*sdk.ReadResourceResult, error) {
	window := rq.caller.Snapshot
	if !rq.who.HasBearer {
		window, _ = s.cfg.Gate.Anonymous()
	}
	tables, err := s.cfg.Reader.Tables(pack, true, window)
	if err != nil {
		return nil, s.refusedRead(rq, err)
	}
	res := &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: typeText, Text: tablesText(tables)}}}
	res.CacheScope, res.TTLMs = scopePrivate, int(s.cfg.Every.Milliseconds())
	return res, nil
}

// readAs reads a resource by the URI that the client has sent. A minute has a colon in it, which the SDK matches with its template only
// where it is escaped.
func (s *Server) readAs(ctx context.Context, method string, req *sdk.ReadResourceRequest, next sdk.MethodHandler) (sdk.Result, error) {
	uri := req.Params.URI
	if r, ok := s.parseURI(uri); ok && r.query.Op == api.OpSnapshot {
		req.Params.URI = s.uri(r.query.Pack, "snapshot/"+url.QueryEscape(r.query.At.Key()))
	}
	res, err := next(ctx, method, req)
	if read, ok := res.(*sdk.ReadResourceResult); ok && err == nil {
		for _, c := range read.Contents {
			if req.Params.URI != uri {
				c.URI = uri
			}
		}
	}
	return res, err
}

// scopePrivate lets only the caller's own client keep a result: what a caller gets depends on who they are, and was paid by them.
const scopePrivate = "private"

// holds is for how many milliseconds a client may keep what it has read: until the next state is due.
func (s *Server) holds(r resource, body []byte) int {
	if !r.live {
		return int((24 * time.Hour).Milliseconds()) // as over HTTP
	}
	var read struct {
		Freshness api.Freshness `json:"freshness"`
	}
	if json.Unmarshal(body, &read) != nil {
		return 0
	}
	return int(max(0, read.Freshness.GeneratedAt.Add(s.cfg.Every).Sub(s.cfg.Now())).Milliseconds())
}

// cacheable says how long lists may be kept. What was read says so itself.
func (s *Server) cacheable(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
	if _, ok := req.(*sdk.ReadResourceRequest); ok {
		return
	}
	c.CacheScope, c.TTLMs = scopePrivate, int(s.cfg.Every.Milliseconds())
}

func (s *Server) addPrompts() {
	s.sdk.AddPrompt(&sdk.Prompt{
		Name: "daily-brief", Title: "Daily brief", Description: "Read the newest brief of a pack and report what matters, with sources.",
		Arguments: []*sdk.PromptArgument{{Name: "pack", Description: "Data pack; crypto if left out"}},
	}, s.dailyBrief)
}

// dailyBrief tells a model how to report on a pack. It holds no data: the calls that it asks for are paid.
func (s *Server) dailyBrief(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	pack := req.Params.Arguments["pack"]
	if pack == "" {
		pack = api.DefaultPack
	}
	name := func(op api.Op) string { return toolName(s.cfg.Prefix, op) }
	text := "Call " + name(api.OpBrief) + " with pack " + strings.Join(strings.Fields(pack), " ") + ". " +
		"Report in at most ten sentences what changed and what needs attention, gravest first. " +
		"Keep every [N] ref next to the fact it supports and list the cited sources at the end; " +
		name(api.OpCite) + " resolves a ref. " +
		"If freshness.dataAgeSeconds is over 300, begin by saying how old the data is. " +
		"State nothing that the brief does not; look up a single value with " + name(api.OpLookup) + "."
	return &sdk.GetPromptResult{
		Description: "Daily brief of " + pack,
		Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}},
	}, nil
}

func (s *Server) complete(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	res := &sdk.CompleteResult{}
	res.Completion.Values = []string{}
	if req.Params.Argument.Name != "pack" {
		return res, nil
	}
	for _, pack := range *s.packs.Load() {
		if strings.HasPrefix(pack, strings.ToLower(req.Params.Argument.Value)) {
			res.Completion.Values = append(res.Completion.Values, pack)
		}
	}
	res.Completion.Total = len(res.Completion.Values)
	return res, nil
}

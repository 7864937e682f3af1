package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Fresh returns the newest state of pack with its brief and citations. An empty pack means api.DefaultPack. The state is the JSON as sent;
// DecodeState decodes it.
func (c *Client) Fresh(ctx context.Context, pack string, opts ...CallOption) (*api.StateResponse, error) {
	return ask[api.StateResponse](ctx, c, api.Query{Op: api.OpFresh, Pack: pack}, opts)
}

// Brief returns the newest brief of pack without the state. An empty pack means api.DefaultPack.
func (c *Client) Brief(ctx context.Context, pack string, opts ...CallOption) (*api.BriefResponse, error) {
	return ask[api.BriefResponse](ctx, c, api.Query{Op: api.OpBrief, Pack: pack}, opts)
}

// SearchRequest is a query for Search.
type SearchRequest struct {
	Pack  string // empty means api.DefaultPack
	Query string // required
	K     int    // at most so many matches, 1 to api.SearchKMax; 0 means api.SearchKDefault
}

// Search returns leaves of the newest state that match by value or name, best first.
func (c *Client) Search(ctx context.Context, r SearchRequest, opts ...CallOption) (*api.SearchResponse, error) {
	return ask[api.SearchResponse](ctx, c, api.Query{Op: api.OpSearch, Pack: r.Pack, Text: r.Query, Limit: r.K}, opts)
}

// LookupRequest is a query for Lookup.
type LookupRequest struct {
	Pack      string   // empty means api.DefaultPack, api.PackAll all packs that the caller may read
	Questions []string // 1 to api.MaxQuestions, each a name and what is asked of it, such as ADA price; a comma in one makes two
	Kind      string   // of the rows that count; empty means all
	Limit     int      // at most so many rows per question, 1 to api.MaxLookupRows; 0 means api.DefaultLookupLimit
}

// Lookup answers questions by name from the newest data of all sources of a pack. A question without a match has no rows and the nearest
// names. A call without any match is free for a key.
func (c *Client) Lookup(ctx context.Context, r LookupRequest, opts ...CallOption) (*api.LookupResponse, error) {
	q := api.Query{Op: api.OpLookup, Pack: r.Pack, Text: strings.Join(r.Questions, ","), Kinds: r.Kind, Limit: r.Limit}
	return ask[api.LookupResponse](ctx, c, q, opts)
}

// Snapshot returns the past state of pack at a time: a whole minute means the end of that minute, any other time that millisecond, so that
// GeneratedAt names its own state. The time must be over. The brief is empty, and the freshness is as of that time.
func (c *Client) Snapshot(ctx context.Context, pack string, at time.Time, opts ...CallOption) (*api.StateResponse, error) {
	return ask[api.StateResponse](ctx, c, api.Query{Op: api.OpSnapshot, Pack: pack, At: api.MomentOf(at)}, opts)
}

// ChangesRequest is a query for Changes.
type ChangesRequest struct {
	Pack  string        // empty means api.DefaultPack
	Since time.Time     // read as that of Snapshot; the GeneratedAt of an answer names its own state
	Ago   time.Duration // in place of Since: so long before the service answers, in whole seconds
	Min   float64       // only rows that moved by so many percent, 0 or more
	Kinds []string      // only rows of these kinds; none means all
}

// Changes returns the differences since a time: flags that appeared, rose, fell or ended, rows by the size of their moves, new headlines,
// and sources without an answer.
func (c *Client) Changes(ctx context.Context, r ChangesRequest, opts ...CallOption) (*api.ChangesResponse, error) {
	q := api.Query{Op: api.OpChanges, Pack: r.Pack, At: api.MomentOf(r.Since), Min: r.Min, Kinds: api.Listed(strings.Join(r.Kinds, ","))}
	q.At.Ago = r.Ago.Truncate(time.Second)
	return ask[api.ChangesResponse](ctx, c, q, opts)
}

// Cite returns the source behind anchor [ref] of pack's briefs, counted from 1.
func (c *Client) Cite(ctx context.Context, pack string, ref int, opts ...CallOption) (*api.CiteResponse, error) {
	return c.CiteRow(ctx, pack, ref, "", time.Time{}, opts...)
}

// CiteRow is Cite for a row of the source, kind/key as in Lookup and claims, with the row's own page and figures. A non-zero at selects the
// past row; an empty row means the source.
func (c *Client) CiteRow(
	ctx context.Context, pack string, ref int, row string, at time.Time, opts ...CallOption,
) (*api.CiteResponse, error) {
	q := api.Query{Op: api.OpCite, Pack: pack, Ref: ref, Row: row}
	if !at.IsZero() {
		q.At = api.MomentOf(at)
	}
	return ask[api.CiteResponse](ctx, c, q, opts)
}

// DecodeState decodes the state of an answer into a struct, for example an api.CryptoState.
func DecodeState(state json.RawMessage, into any) error {
	if err := json.Unmarshal(state, into); err != nil {
		return fmt.Errorf("decode state: %w", err)
	}
	return nil
}

// ask makes the call q, as its declaration spells it.
func ask[T any](ctx context.Context, c *Client, q api.Query, opts []CallOption) (*T, error) {
	resp, err := c.Do(ctx, requestOf(q), opts...)
	if err != nil {
		return nil, err
	}
	return decodeAs[T](resp)
}

// requestOf is the call q. A pack is sent where it is named, even if it is the default.
func requestOf(q api.Query) Request {
	pack := q.Pack
	q.Pack = api.DefaultPack
	values, _ := url.ParseQuery(q.Canonical()) // it was encoded
	if pack != "" {
		values.Set("pack", pack)
	}
	return Request{Path: q.Op.Path(), Query: values}
}

// CanonicalRequest is the canonical form of a request of a service, named as in a Quote, to which the service binds a payment of it: one
// request may be spelled in several ways. It is empty for what is no call of an operation, or has a body.
func CanonicalRequest(service, request string) string {
	base, err := url.Parse(service)
	if err != nil {
		return ""
	}
	target, get := strings.CutPrefix(request, http.MethodGet+" ")
	u, err := url.Parse(target)
	if err != nil || !get {
		return ""
	}
	op, ok := api.OpAt(strings.TrimPrefix(u.Path, strings.TrimSuffix(base.Path, "/")))
	if !ok {
		return ""
	}
	q, err := api.Parse(op, api.FaceHTTP, u.Query())
	if err != nil {
		return ""
	}
	return string(op) + "?" + q.Canonical()
}

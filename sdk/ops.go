package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Fresh returns the newest state of pack with its brief and citations. An empty pack means api.DefaultPack. The state is the JSON as sent;
// DecodeState decodes it.
func (c *Client) Fresh(ctx context.Context, pack string, opts ...CallOption) (*api.StateResponse, error) {
	return answer[api.StateResponse](ctx, c, api.OpFresh, inPack(pack), opts)
}

// Brief returns the newest brief of pack without the state. An empty pack means api.DefaultPack.
func (c *Client) Brief(ctx context.Context, pack string, opts ...CallOption) (*api.BriefResponse, error) {
	return answer[api.BriefResponse](ctx, c, api.OpBrief, inPack(pack), opts)
}

// SearchRequest is a query for Search.
type SearchRequest struct {
	Pack  string // empty means api.DefaultPack
	Query string // required
	K     int    // at most so many matches, 1 to api.SearchKMax; 0 means api.SearchKDefault
}

// Search returns leaves of the newest state that match by value or name, best first.
func (c *Client) Search(ctx context.Context, r SearchRequest, opts ...CallOption) (*api.SearchResponse, error) {
	query := inPack(r.Pack)
	query.Set("q", r.Query)
	if r.K != 0 {
		query.Set("k", strconv.Itoa(r.K))
	}
	return answer[api.SearchResponse](ctx, c, api.OpSearch, query, opts)
}

// LookupRequest is a query for Lookup.
type LookupRequest struct {
	Pack      string   // empty means api.DefaultPack
	Questions []string // 1 to api.MaxQuestions, each a name and what is asked of it, such as ADA price; a comma in one makes two
	Kind      string   // of the rows that count; empty means all
	Limit     int      // at most so many rows per question, 1 to api.MaxLookupRows; 0 means api.DefaultLookupLimit
}

// Lookup answers questions by name from the newest data of all sources of a pack. A question without a match has no rows and the nearest
// names. A call without any match is free for a key.
func (c *Client) Lookup(ctx context.Context, r LookupRequest, opts ...CallOption) (*api.LookupResponse, error) {
	query := inPack(r.Pack)
	query.Set("q", strings.Join(r.Questions, ","))
	if r.Kind != "" {
		query.Set("kind", r.Kind)
	}
	if r.Limit != 0 {
		query.Set("limit", strconv.Itoa(r.Limit))
	}
	return answer[api.LookupResponse](ctx, c, api.OpLookup, query, opts)
}

// Snapshot returns the past state of pack at a time: a whole minute means the end of that minute, any other time that millisecond, so that
// GeneratedAt names its own state. The time must be over. The brief is empty, and the freshness is as of that time.
func (c *Client) Snapshot(ctx context.Context, pack string, at time.Time, opts ...CallOption) (*api.StateResponse, error) {
	query := inPack(pack)
	query.Set("at", moment(at))
	return answer[api.StateResponse](ctx, c, api.OpSnapshot, query, opts)
}

// moment is a moment of the past as the service reads it: a minute, or a millisecond.
func moment(at time.Time) string {
	layout := time.RFC3339
	if !at.Equal(at.Truncate(time.Minute)) {
		layout = "2006-01-02T15:04:05.000Z07:00"
	}
	return at.UTC().Format(layout)
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
	query := inPack(r.Pack)
	if query.Set("since", moment(r.Since)); r.Ago > 0 {
		query.Set("since", fmt.Sprintf("-%ds", int64(r.Ago/time.Second)))
	}
	if r.Min != 0 {
		query.Set("min", strconv.FormatFloat(r.Min, 'f', -1, 64))
	}
	if len(r.Kinds) > 0 {
		query.Set("kinds", strings.Join(r.Kinds, ","))
	}
	return answer[api.ChangesResponse](ctx, c, api.OpChanges, query, opts)
}

// Cite returns the source behind anchor [ref] of pack's briefs, counted from 1.
func (c *Client) Cite(ctx context.Context, pack string, ref int, opts ...CallOption) (*api.CiteResponse, error) {
	query := inPack(pack)
	query.Set("ref", strconv.Itoa(ref))
	return answer[api.CiteResponse](ctx, c, api.OpCite, query, opts)
}

// CiteRow is Cite for a row of the source, kind/key as in Lookup and claims, with the row's own page and figures. A non-zero at selects the
// past row; an empty row means the source.
func (c *Client) CiteRow(
	ctx context.Context, pack string, ref int, row string, at time.Time, opts ...CallOption,
) (*api.CiteResponse, error) {
	query := inPack(pack)
	query.Set("ref", strconv.Itoa(ref))
	if row != "" {
		query.Set("row", row)
	}
	if !at.IsZero() {
		query.Set("at", moment(at))
	}
	return answer[api.CiteResponse](ctx, c, api.OpCite, query, opts)
}

// DecodeState decodes the state of an answer into a struct, for example an api.CryptoState.
func DecodeState(state json.RawMessage, into any) error {
	if err := json.Unmarshal(state, into); err != nil {
		return fmt.Errorf("decode state: %w", err)
	}
	return nil
}

func answer[T any](ctx context.Context, c *Client, op api.Op, query url.Values, opts []CallOption) (*T, error) {
	resp, err := c.Do(ctx, Request{Path: op.Path(), Query: query}, opts...)
	if err != nil {
		return nil, err
	}
	return decodeAs[T](resp)
}

// inPack is the query that names pack, none for the default.
func inPack(pack string) url.Values {
	query := url.Values{}
	if pack != "" {
		query.Set("pack", pack)
	}
	return query
}

package sdk

import (
	"context"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// QueryRequest is a query for Query.
type QueryRequest struct {
	Pack   string        // empty means api.DefaultPack, api.PackAll all packs that the caller may read
	Table  string        // a kind of rows, such as asset, or api.TableFlags or api.TableSources; required
	Where  []string      // conditions that rows have to meet, such as change24hPct > 5, at most api.MaxConditions
	Fields []string      // of the rows; none means all
	Order  string        // a field, behind a - the most first; empty means the largest first
	Limit  int           // at most so many rows, 1 to api.MaxQueryRows; 0 means api.DefaultQueryLimit
	Agg    []string      // such as count or sum:tvlUsd
	At     time.Time     // as of then, read as that of Snapshot; zero means now
	Over   time.Duration // with what changed in the time before, whole seconds, 1h or more; 0 means nothing
}

// Query returns rows by structure, of what all sources of a pack last said, or of a past state. A call without a row is free for a key.
func (c *Client) Query(ctx context.Context, r QueryRequest, opts ...CallOption) (*api.QueryResponse, error) {
	q := api.Query{
		Op: api.OpQuery, Pack: r.Pack, Table: r.Table, Where: strings.Join(r.Where, "\n"), Fields: strings.Join(r.Fields, ","),
		Order: r.Order, Limit: r.Limit, Agg: strings.Join(r.Agg, ","), Over: r.Over,
	}
	if !r.At.IsZero() {
		q.At = api.MomentOf(r.At)
	}
	return ask[api.QueryResponse](ctx, c, q, opts)
}

// Tables describes what Query can ask of a pack; an empty one means all that the caller may read. It is free.
func (c *Client) Tables(ctx context.Context, pack string, opts ...CallOption) (*api.QueryTables, error) {
	return ask[api.QueryTables](ctx, c, api.Query{Op: api.OpQuery, Pack: pack, Describe: true}, opts)
}

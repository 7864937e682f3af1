package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// Watches lists the watches of the key's owner, oldest first. It is free.
func (c *Client) Watches(ctx context.Context, opts ...CallOption) ([]api.Watch, error) {
	out, err := watchCall[api.WatchList](ctx, c, Request{Path: api.PathWatches}, nil, opts)
	if err != nil {
		return nil, err
	}
	return out.Watches, nil
}

// CreateWatch makes a watch, or renews the one with the same type, arguments and delivery. Its first and each started day costs a call. The
// secret of a webhook is only in this answer.
func (c *Client) CreateWatch(ctx context.Context, r api.WatchRequest, opts ...CallOption) (*api.Watch, error) {
	return watchCall[api.Watch](ctx, c, Request{Method: http.MethodPost, Path: api.PathWatches}, r, opts)
}

// RemoveWatch ends a watch.
func (c *Client) RemoveWatch(ctx context.Context, id string, opts ...CallOption) error {
	_, err := c.Do(ctx, Request{Method: http.MethodDelete, Path: watchPath(api.PathWatch, id)}, opts...)
	return err
}

// WatchEvents returns the events of a watch behind a cursor, oldest first. An empty cursor means from now on: no events, and a cursor.
func (c *Client) WatchEvents(ctx context.Context, id, cursor string, opts ...CallOption) (*api.EventPage, error) {
	r := Request{Path: watchPath(api.PathWatchEvents, id)}
	if cursor != "" {
		r.Query = url.Values{"cursor": {cursor}}
	}
	return watchCall[api.EventPage](ctx, c, r, nil, opts)
}

// TestWatch has the delivery of a watch tried now: a webhook is challenged, a person gets a message.
func (c *Client) TestWatch(ctx context.Context, id string, opts ...CallOption) error {
	_, err := c.Do(ctx, Request{Method: http.MethodPost, Path: watchPath(api.PathWatchTest, id)}, opts...)
	return err
}

func watchPath(pattern, id string) string {
	return strings.Replace(pattern, "{watchId}", url.PathEscape(id), 1)
}

// watchCall makes a call with a body, nil for none.
func watchCall[T any](ctx context.Context, c *Client, r Request, ask any, opts []CallOption) (*T, error) {
	if ask != nil {
		body, err := json.Marshal(ask)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		r.Body = body
	}
	resp, err := c.Do(ctx, r, opts...)
	if err != nil {
		return nil, err
	}
	return decodeAs[T](resp)
}

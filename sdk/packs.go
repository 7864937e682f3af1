package sdk

import (
	"context"

	"github.com/contextd/contextd/sdk/api"
)

// Packs lists the served packs with their members and sources. It is free and needs no key.
func (c *Client) Packs(ctx context.Context, opts ...CallOption) (*api.PacksResponse, error) {
	resp, err := c.Do(ctx, Request{Path: api.PathPacks}, opts...)
	if err != nil {
		return nil, err
	}
	return decodeAs[api.PacksResponse](resp)
}

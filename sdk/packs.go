package sdk

import (
	"context"

	"github.com/contextd/contextd/sdk/api"
)

// Packs lists the packs that the service has, with their members and sources. It costs nothing, and asks for no key.
func (c *Client) Packs(ctx context.Context, opts ...CallOption) (*api.PacksResponse, error) {
	resp, err := c.Do(ctx, Request{Path: api.PathPacks}, opts...)
	if err != nil {
		return nil, err
	}
	return decodeAs[api.PacksResponse](resp)
}

package sdk

import (
	"context"

	"github.com/contextd/contextd/sdk/api"
)

// Signers says with which keys the service signs offers and receipts. It is free and needs no key.
func (c *Client) Signers(ctx context.Context, opts ...CallOption) (*api.DIDDocument, error) {
	resp, err := c.Do(ctx, Request{Path: api.PathDID}, opts...)
	if err != nil {
		return nil, err
	}
	return decodeAs[api.DIDDocument](resp)
}

// Packs lists the served packs with their members and sources. It is free and needs no key.
func (c *Client) Packs(ctx context.Context, opts ...CallOption) (*api.PacksResponse, error) {
	resp, err := c.Do(ctx, Request{Path: api.PathPacks}, opts...)
	if err != nil {
		return nil, err
	}
	return decodeAs[api.PacksResponse](resp)
}

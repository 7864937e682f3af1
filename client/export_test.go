package client

import (
	"context"

	"github.com/contextd/contextd/sdk"
)

// Ask calls a method as the commands do, with p in place of the wallet.
func Ask(ctx context.Context, a *App, p sdk.Payer, method string, params any) error {
	e, err := newEndpoint(a, "")
	if err != nil {
		return err
	}
	e.payer = p
	_, err = e.ask(ctx, method, params)
	return err
}

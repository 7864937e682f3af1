package bridge

import (
	"context"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/sdk"
)

// Ask calls a method as the commands do, with p in place of the wallet.
func Ask(ctx context.Context, a *command.Factory, p sdk.Payer, method string, params any) error {
	e, err := endpointOf(a).endpoint("")
	if err != nil {
		return err
	}
	e.paying.Payer = p
	_, err = e.ask(ctx, method, params)
	return err
}

// Relay passes on what a client of the bridge says, with p in place of the wallet.
func Relay(ctx context.Context, a *command.Factory, p sdk.Payer) error {
	e, err := endpointOf(a).endpoint("")
	if err != nil {
		return err
	}
	e.paying.Payer = p
	return newRelay(a.IO, a.Failure, e).run(ctx, a.In)
}

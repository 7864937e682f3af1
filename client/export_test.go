package client

import (
	"context"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TellPurchase tells what to transfer for a purchase, as ctx credits buy does without a wallet.
func TellPurchase(a *App, i *api.DepositIntent, amount usdg.Amount) {
	(&buyOptions{app: a, code: true}).tell(i, amount)
}

// ToFailure is what an error means for the exit code of ctx.
func ToFailure(err error) *cli.Failure { return toFailure(err, nil) }

// Ask calls a method as the commands do, with p in place of the wallet.
func Ask(ctx context.Context, a *App, p sdk.Payer, method string, params any) error {
	e, err := newEndpoint(a, "")
	if err != nil {
		return err
	}
	e.paying.Payer = p
	_, err = e.ask(ctx, method, params)
	return err
}

// Relay passes on what a client of the bridge says, with p in place of the wallet.
func Relay(ctx context.Context, a *App, p sdk.Payer) error {
	e, err := newEndpoint(a, "")
	if err != nil {
		return err
	}
	e.paying.Payer = p
	return newRelay(a, e).run(ctx, a.In)
}

package pay

import (
	"context"
	"errors"
	"strings"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// purchaseOf is what the journal calls the payment of a purchase, before its id.
const purchaseOf = "deposit "

// begunPurchase is the payment of a purchase of the pack that was begun at the configured service and has not come to its end, nil if there
// is none.
func begunPurchase(ctx context.Context, f *command.Factory, pack api.CreditPack) (*wallet.Payment, error) {
	list, err := wallet.Payments(f.Wallets.DataDir())
	if err != nil {
		return nil, err
	}
	console, err := f.Account.Console(true)
	if err != nil {
		return nil, err
	}
	client, err := f.Client()
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if !p.Live || !p.Purchase || p.Service != client.BaseURL() {
			continue
		}
		d, err := console.Deposit(ctx, strings.TrimPrefix(p.Request, purchaseOf), "")
		if errors.Is(err, &api.Error{Reason: api.ReasonDepositNotFound}) {
			continue // of another owner
		}
		if err != nil {
			return nil, err
		}
		if d.Pack == pack {
			return &p, nil
		}
	}
	return nil, nil
}

// finishPurchase goes on with the payment of a purchase that was begun, waits until the service has seen it, and notes that.
func finishPurchase(ctx context.Context, f *command.Factory, p wallet.Payment) (*api.Deposit, error) {
	console, err := f.Account.Console(true)
	if err != nil {
		return nil, err
	}
	payer, err := f.Payments.ReadOnly(ctx, p.Payer)
	if err != nil {
		return nil, err
	}
	defer payer.Close()
	proof, err := payer.Resume(ctx, sdk.Quote{Service: p.Service, Request: p.Request})
	if err != nil {
		return nil, err
	}
	d, err := console.AwaitDeposit(ctx, strings.TrimPrefix(p.Request, purchaseOf), proof.TxHash)
	if err != nil {
		return nil, err
	}
	return d, payer.Settled(proof, nil)
}

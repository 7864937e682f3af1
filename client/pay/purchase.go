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

// purchases are what was bought from the wallet and has not come to its end.
type purchases struct {
	client   func() (*sdk.Client, error)
	account  *command.Account
	wallets  *command.Wallets
	payments *command.Payments
}

// purchasesOf are those of a run.
func purchasesOf(f *command.Factory) purchases {
	return purchases{client: f.Client, account: f.Account, wallets: f.Wallets, payments: f.Payments}
}

// begun is the payment of a purchase of the pack that was begun at the configured service and has not come to its end, nil if there
// is none.
func (p purchases) begun(ctx context.Context, pack api.CreditPack) (*wallet.Payment, error) {
	list, err := wallet.Payments(p.wallets.DataDir())
	if err != nil {
		return nil, err
	}
	console, err := p.account.Console(true)
	if err != nil {
		return nil, err
	}
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	for _, paid := range list {
		if !paid.Live || !paid.Purchase || paid.Authorization != "" || paid.Service != client.BaseURL() {
			continue
		}
		d, err := console.Deposit(ctx, strings.TrimPrefix(paid.Request, purchaseOf), "")
		if errors.Is(err, &api.Error{Reason: api.ReasonDepositNotFound}) {
			continue // of another owner
		}
		if err != nil {
			return nil, err
		}
		if d.Pack == pack {
			return &paid, nil
		}
	}
	return nil, nil
}

// finish goes on with the payment of a purchase that was begun, waits until the service has seen it, and notes that.
func (p purchases) finish(ctx context.Context, begun wallet.Payment) (*api.Deposit, error) {
	console, err := p.account.Console(true)
	if err != nil {
		return nil, err
	}
	payer, err := p.payments.ReadOnly(ctx, begun.Payer)
	if err != nil {
		return nil, err
	}
	defer payer.Close()
	proof, err := payer.Resume(ctx, sdk.Quote{Service: begun.Service, Request: begun.Request})
	if err != nil {
		return nil, err
	}
	d, err := console.AwaitDeposit(ctx, strings.TrimPrefix(begun.Request, purchaseOf), proof.TxHash)
	if err != nil {
		return nil, err
	}
	return d, payer.Settled(proof, nil)
}

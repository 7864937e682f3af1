package sdk

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Buy begins a purchase of credits for the key with the given id or, for "", the owner's oldest. The answer holds the amount, the recipient
// and the deadline of the transfer.
func (s *Console) Buy(ctx context.Context, pack api.CreditPack, keyID string, opts ...CallOption) (*api.DepositIntent, error) {
	return s.BuyOn(ctx, "", pack, keyID, opts...)
}

// BuyOn is Buy on the rail with the given id, one of the service's chains and tokens.
func (s *Console) BuyOn(
	ctx context.Context, rail string, pack api.CreditPack, keyID string, opts ...CallOption,
) (*api.DepositIntent, error) {
	ask := api.CreateDepositRequest{Pack: pack, Rail: rail}
	if keyID != "" {
		ask.KeyID = &keyID
	}
	intent, err := consoleCall[api.DepositIntent](ctx, s, http.MethodPost, api.PathCredits, nil, ask, opts)
	if err == nil {
		intent.Pack = pack
	}
	return intent, err
}

// Deposit returns the state of a purchase. With txHash, the service looks for the payment in that transaction at once; the deposit stays
// pending while the chain does not show it.
func (s *Console) Deposit(ctx context.Context, id, txHash string, opts ...CallOption) (*api.Deposit, error) {
	path := api.PathCredits + "/" + url.PathEscape(id)
	if txHash == "" {
		return consoleCall[api.Deposit](ctx, s, http.MethodGet, path, nil, nil, opts)
	}
	return consoleCall[api.Deposit](ctx, s, http.MethodPost, path+"/verify", nil, api.VerifyDepositRequest{TxHash: txHash}, opts)
}

// depositPoll is how often AwaitDeposit asks.
const depositPoll = 2 * time.Second

// AwaitDeposit waits until a purchase is verified or has expired, and returns it. With txHash, the service looks in that transaction; if it
// can never pay for the purchase, the error is an *api.Error with the reason. The wait continues while the service does not answer, and
// ends with the error of ctx.
func (s *Console) AwaitDeposit(ctx context.Context, id, txHash string, opts ...CallOption) (*api.Deposit, error) {
	for {
		d, err := s.Deposit(ctx, id, txHash, opts...)
		wait := depositPoll
		if err != nil {
			again, ok := waitBefore(1, err)
			if !ok {
				return nil, err
			}
			wait = max(wait, again)
		} else if d.Status != api.DepositPending {
			return d, nil
		} else if d.Reason != "" {
			return d, api.Errorf(d.Reason, "%s", d.Message).
				WithHint("nothing that arrived is lost: send the operator the hash of the transaction")
		}
		if err := sleep(ctx, wait); err != nil {
			return d, err
		}
	}
}

// BuyCredits buys a pack with a Payer and waits for the credits. It is for scripts: calling it is consent to the price of the pack.
func (s *Console) BuyCredits(ctx context.Context, pack api.CreditPack, keyID string, payer Payer) (*api.Deposit, error) {
	intent, err := s.Buy(ctx, pack, keyID)
	if err != nil {
		return nil, err
	}
	return s.PayDeposit(ctx, intent, payer)
}

// Quote is what PayDeposit pays for an open purchase.
func (s *Console) Quote(intent *api.DepositIntent) Quote {
	return Quote{
		PaymentRequirements: intent.Requirements(), Service: s.client.BaseURL(), Request: "deposit " + intent.ID, Purchase: intent,
	}
}

// PayDeposit pays an open purchase and waits for the credits.
func (s *Console) PayDeposit(ctx context.Context, intent *api.DepositIntent, payer Payer) (*api.Deposit, error) {
	paid, err := payer.Pay(ctx, s.Quote(intent))
	if err != nil {
		return nil, err
	}
	d, err := s.AwaitDeposit(ctx, intent.ID, paid.ID)
	if err != nil {
		return nil, &PaidError{Payment: paid, Err: err}
	}
	return d, payer.Conclude(context.WithoutCancel(ctx), paid, Outcome{})
}

package pay

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// bindKey adds the flags of a purchase without an account.
func (o *buyOptions) bindKey(c *cobra.Command, f *command.Factory) {
	o.given = f.KeyOut()
	c.Flags().BoolVar(&o.x402, "x402", false, "buy with the wallet alone, by standard x402, and get the credits on a new key")
	o.given.Bind(c)
	for _, other := range []string{"rail", "key", "qr", "wait", "no-wait"} {
		c.MarkFlagsMutuallyExclusive("x402", other)
	}
}

// buyKey buys a pack by standard x402, which takes no account, and gives the key that the credits are on to whom it was asked for. The
// profile gets it where that has none. A purchase that was killed is finished by the same command: the journal has its payment, and the
// service tells the key again to who shows that.
func (o *buyOptions) buyKey(ctx context.Context, pack api.CreditPack, what string) error {
	kept, err := o.account.Stored()
	if err != nil {
		return err
	}
	o.given.Save = o.given.Save || o.given.Out == "" && kept.Key.IsZero()
	client, err := o.client()
	if err != nil {
		return err
	}
	if err := o.Confirm(ctx, "buy "+what+" from the wallet, on a new key"); err != nil {
		return err
	}
	if err := o.given.Open(); err != nil {
		return err
	}
	var meta sdk.Response
	bought, err := client.BuyKey(ctx, pack, o.payments.Exact(), o.Call(&meta)...)
	if err == nil && bought.Key == "" {
		err = &cli.Failure{Exit: cli.ExitPaid, Reason: "paid_unanswered",
			Err:  fmt.Errorf("the credits are on key %s, which the service has told before and tells no more", bought.KeyID),
			Hint: "ctx auth login --wallet NAME, then ctx keys rotate " + bought.KeyID}
	}
	if err != nil {
		return o.given.Drop(err)
	}
	return o.given.Hand(ctx, bought)
}

package daemon

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// purchaseKeyFile is the name, in the data directory, of the file with the secrets that keys come from which wallets buy: as quoteKeyFile.
// With it and a purchase its key can be made. Without it, a bought key works, but is never shown again.
const purchaseKeyFile = "purchase.keys"

// shop is what sells packs of credits for payments of standard x402.
func (d *Daemon) shop(ctx context.Context) (*x402.Shop, error) {
	secrets, err := d.secretKeys(ctx, purchaseKeyFile, "purchases", nil)
	if err != nil {
		return nil, err
	}
	if len(secrets) == 0 || len(secrets[0]) < secretKeySize {
		return nil, fmt.Errorf("the first line of %s is no key of %d bytes", d.secretPlace(purchaseKeyFile), secretKeySize)
	}
	return &x402.Shop{
		Shop: &account.Shop{
			Keys: d.keys, Secrets: secrets, SignupOpen: func() bool { return d.signIn.Open() }, // which comes later
			Checksum: chain.Checksum, NewID: uuid.NewString,
		},
		Exclusively: func(ctx context.Context, act func() ([]billing.Deposit, error)) error {
			done, err := d.deposits.Credit(ctx, act)
			d.tellBought(done)
			return err
		},
	}, nil
}

// tellBought tells of purchases that were paid.
func (d *Daemon) tellBought(list []billing.Deposit) {
	for _, v := range list {
		d.metrics.Bought(string(v.Pack))
		d.cfg.Logger.Info("credits bought", "deposit", v.ID, "rail", v.Rail, "pack", v.Pack, "credits", v.Credits,
			"key_id", v.Credited)
	}
}

// keyMade lets a key in that was made with a purchase.
func (d *Daemon) keyMade(v billing.Deposit) {
	d.keys.Bought(account.Key{
		ID: v.Credited, Hash: v.NewKey.Hash, OwnerID: v.OwnerID, Name: v.NewKey.Name, Consent: api.ConsentAggregated,
		CreatedAt: v.VerifiedAt,
	})
}

package daemon

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/chain"
)

// purchaseKeyFile is the name, in the data directory, of the file with the secrets that keys come from which wallets buy: as quoteKeyFile.
// With it and a purchase its key can be made. Without it, a bought key works, but is never shown again.
const purchaseKeyFile = "purchase.keys"

// shop is what sells packs of credits for payments of standard x402.
func (d *Daemon) shop(ctx context.Context) (*account.Shop, error) {
	secrets, err := d.secrets.keys(ctx, purchaseKeyFile, "purchases", nil)
	if err != nil {
		return nil, err
	}
	if len(secrets) == 0 || len(secrets[0]) < secretKeySize {
		return nil, fmt.Errorf("the first line of %s is no key of %d bytes", d.secrets.place(purchaseKeyFile), secretKeySize)
	}
	return &account.Shop{
		Keys: d.keys, Secrets: secrets, SignupOpen: d.signIn.Open, Checksum: chain.Checksum, NewID: uuid.NewString,
	}, nil
}

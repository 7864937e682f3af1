package pay

import (
	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// TellPurchase tells what to transfer for a purchase, as ctx credits buy does without a wallet.
func TellPurchase(a *command.Factory, i *api.DepositIntent, amount usdg.Amount) {
	(&buyOptions{IO: a.IO, code: true}).tell(i, amount)
}

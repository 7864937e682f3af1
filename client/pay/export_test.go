package pay

import (
	"time"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// TellPurchase tells what to transfer for a purchase, as ctx credits buy does without a wallet.
func TellPurchase(a *command.Factory, i *api.DepositIntent, amount usdg.Amount) {
	(&buyOptions{IO: a.IO, code: true}).tell(i, amount)
}

// DepositRows are purchases as a table.
func DepositRows(list []api.Deposit) [][]string {
	rows := depositRows(list, time.UTC)
	return append([][]string{rows.Columns}, rows.Rows...)
}

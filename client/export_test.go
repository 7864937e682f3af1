package client

import (
	"context"
	"io"
	"time"

	"github.com/contextd/contextd/client/bridge"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
	"github.com/contextd/contextd/tui"
)

// Factory is what the commands of a run are made with.
type Factory = factory

// New makes the factory of a run.
func New(s cli.System) *Factory { return newFactory(s) }

// ToFailure is what an error means for the exit code of ctx.
func ToFailure(err error) *cli.Failure { return toFailure(err, nil) }

// SetVersion is the version that a factory takes ctx for.
func (f *factory) SetVersion(v string) { f.release.own = v }

// NewPay makes ctx pay.
var NewPay = newPay

// Config is what ctx ui begins with.
func Config(a *Factory) (tui.Config, error) {
	return (&uiOptions{factory: a, theme: themeAuto}).config(a, nil)
}

// Other is what ctx ui goes over to.
func Other(a *Factory, profile string) (tui.Config, error) {
	return (&uiOptions{factory: a, theme: themeAuto}).other(profile)
}

// TellPurchase writes what to transfer for a purchase, as ctx credits buy does without a wallet.
func TellPurchase(a *Factory, i *api.DepositIntent, amount usdg.Amount) {
	(&buyOptions{factory: a, code: true}).showTransfer(i, amount)
}

// DepositRows are purchases as a table.
func DepositRows(list []api.Deposit) [][]string {
	rows := depositRows(list, time.UTC)
	return append([][]string{rows.Columns}, rows.Rows...)
}

// WriteDeposits writes purchases as a terminal of a width shows them.
func WriteDeposits(w io.Writer, width int, list []api.Deposit) error {
	return depositRows(list, time.UTC).Write(w, width, cli.Style{})
}

// CallTool calls a tool as ctx mcp call does, or lists them for "", with p in place of the wallet.
func CallTool(ctx context.Context, a *Factory, p sdk.Payer, tool string, arguments map[string]string) error {
	a.Payments.Use(p)
	e, err := a.endpoint("")
	if err != nil {
		return err
	}
	if tool == "" {
		_, err = e.Tools(ctx)
		return err
	}
	_, err = e.Call(ctx, tool, arguments)
	return err
}

// Relay passes on what a program says, as ctx mcp stdio --names dots does, with p in place of the wallet.
func Relay(ctx context.Context, a *Factory, p sdk.Payer) error {
	a.Payments.Use(p)
	e, err := a.endpoint("")
	if err != nil {
		return err
	}
	return bridge.Serve(ctx, e, bridge.Program{In: a.In, Out: a.Out, Note: a.Note, Failure: a.Failure})
}

// MCPCommand is ctx mcp.
var MCPCommand = mcpCommand

// SaveBought keeps the key in the answer to a purchase at a service, as ctx pay resume does.
func SaveBought(a *Factory, service string, answer []byte) ([]byte, error) {
	return (&resumeOptions{factory: a, given: a.KeyOut()}).saveKey(wallet.Payment{Service: service}, answer)
}

// StoredKey is the key of the profile.
func StoredKey(a *Factory) (string, error) {
	kept, err := a.Account.Stored()
	if err != nil || kept.Key.IsZero() {
		return "", err
	}
	return kept.Key.Secret(), nil
}

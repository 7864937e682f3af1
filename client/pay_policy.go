package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/wallet"
)

// bounds are the settings of the policy by what they are called here.
func bounds() map[string]string {
	return map[string]string{"per-call": config.MaxPerCall, "per-day": config.MaxPerDay, "per-month": config.MaxPerMonth}
}

type policyView struct {
	PerCall    string       `json:"perCall"`
	PerDay     string       `json:"perDay"`
	PerMonth   string       `json:"perMonth"`
	PaidDay    string       `json:"paidDay"`
	PaidMonth  string       `json:"paidMonth"`
	MaxFee     string       `json:"maxFeeEther"`
	Chain      string       `json:"chainId"`
	Token      string       `json:"token"`
	Assets     string       `json:"assets"` // that services of others are paid with, beside the token
	Recipients []wallet.Pin `json:"recipients"`
	Stopped    []string     `json:"stopped"` // services that are paid nothing more
}

// policyOptions are those of the commands on the policy, which have no flags.
type policyOptions struct {
	*factory
}

// newPolicy makes the group of commands on what the wallet may pay.
func newPolicy(f *factory) *cobra.Command {
	o := &policyOptions{factory: f}
	fields := []string{"perCall", "perDay", "perMonth", "paidDay", "paidMonth", "maxFeeEther", "chainId", "token", "assets",
		"recipients", "stopped"}
	get := f.Command(&cobra.Command{Use: "show", Aliases: []string{"get"}, Short: "Show the bounds of the wallet and its payments"},
		fields, o.show)
	set := f.Command(&cobra.Command{Use: "set per-call|per-day|per-month AMOUNT", Short: "Change a bound, of the profile in use",
		Args: cobra.ExactArgs(2), ValidArgs: []string{"per-call", "per-day", "per-month"},
		Example: "  ctx pay policy set per-day 0.5\n  ctx pay policy set per-call published"}, fields, o.set)
	trust := f.Command(&cobra.Command{Use: "trust SERVICE ADDRESS", Short: "Accept a new payment address of a service",
		Args: cobra.ExactArgs(2), Example: "  ctx pay policy trust https://ctx.example 0x…"}, []string{"service", "recipient"}, o.trust)
	forget := f.Command(&cobra.Command{Use: "forget SERVICE", Short: "Forget the payment address of a service",
		Args: cobra.ExactArgs(1)}, []string{"service", "recipient"}, o.forget)
	allow := f.Command(&cobra.Command{Use: "allow SERVICE", Short: "Pay a service again that has refused a payment",
		Args: cobra.ExactArgs(1), ValidArgsFunction: o.complete,
		Long: "Pay a service again that has refused a payment. Until you run this, neither ctx nor an agent pays it anything: a\n" +
			"service that takes money and gives no answer would go on taking it.",
		Example: "  ctx pay policy allow https://ctx.example"}, paymentFields(), o.allow)
	return cli.Group(&cobra.Command{Use: "policy", Short: "Show and change what the wallet may pay",
		Long: "Show and change what the wallet may pay: bounds per call, day and month, a bound on the fee of the chain, and\n" +
			"the address of each service at its first payment. A call may cost its published price and no more, unless you\n" +
			"set another bound. If a service asks for payment to another address, it is refused until you trust the address;\n" +
			"if it has refused a payment, or answered none of the last two, until you allow it again. Purchases of credits,\n" +
			"which ask first, do not count.",
		Example: "  ctx pay policy show\n  ctx pay policy set per-call 0.01"}, get, set, trust, forget, allow)
}

// stopped are the services that are paid nothing more.
func (o *policyOptions) stopped() ([]string, error) {
	return wallet.Stopped(o.Wallets.DataDir())
}

// complete offers the address of a service that is paid nothing more.
func (o *policyOptions) complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	services, _ := o.stopped() // what cannot be listed is not offered
	return services, cobra.ShellCompDirectiveNoFileComp
}

// allow has a service be paid again.
func (o *policyOptions) allow(ctx context.Context, args []string) error {
	service := strings.TrimRight(args[0], "/")
	services, err := o.stopped()
	if err != nil {
		return err
	}
	if !slices.Contains(services, service) {
		return &cli.Failure{Exit: cli.ExitNotFound, Reason: "unknown_service",
			Err:  fmt.Errorf("%s has refused no payment, and answered one of the last two, since it was last allowed", service),
			Hint: "ctx pay policy show"}
	}
	if err := o.Confirm(ctx, "pay "+service+" again, which has refused or not answered a payment"); err != nil {
		return err
	}
	refused, err := wallet.AllowService(ctx, o.Wallets.DataDir(), service)
	if err != nil {
		return err
	}
	return o.Show(ctx, refused, paymentRows(refused, o.Now().Location()))
}

func (o *policyOptions) show(ctx context.Context, _ []string) error {
	c, err := o.Config()
	if err != nil {
		return err
	}
	paid, err := wallet.Spent(o.Wallets.DataDir(), o.Now())
	if err != nil {
		return err
	}
	pins, err := wallet.Pins(o.Wallets.DataDir())
	if err != nil {
		return err
	}
	text := func(name string) string { return c.Get(name).Text }
	v := policyView{
		PerCall: text(config.MaxPerCall), PerDay: text(config.MaxPerDay), PerMonth: text(config.MaxPerMonth),
		PaidDay: paid.Day.String(), PaidMonth: paid.Month.String(),
		MaxFee: wallet.Ether(strconv.Itoa(wallet.DefaultMaxFee)), Chain: text(config.ChainID), Token: text(config.Token),
		Assets:     text(config.Assets),
		Recipients: append([]wallet.Pin{}, pins...),
	}
	if v.Stopped, err = o.stopped(); err != nil {
		return err
	}
	rows := &cli.Rows{Columns: []string{"what", "bound", "paid"}, Rows: [][]string{
		{"per call", v.PerCall, ""}, {"per day", v.PerDay, v.PaidDay}, {"per month", v.PerMonth, v.PaidMonth},
		{"fee of the chain", v.MaxFee + " ether", ""}, {"chain", v.Chain, ""}, {"token", v.Token, ""}, {"assets", v.Assets, ""},
	}}
	for _, pin := range pins {
		rows.Rows = append(rows.Rows, []string{"recipient of " + pin.Service, pin.Recipient, ""})
	}
	for _, service := range v.Stopped {
		rows.Rows = append(rows.Rows, []string{"payments to " + service, "stopped: it has refused one", ""})
	}
	return o.Show(ctx, v, rows)
}

func (o *policyOptions) set(ctx context.Context, args []string) error {
	name, value := args[0], args[1]
	setting, ok := bounds()[name]
	if !ok {
		return cli.Invalid("there is no bound %q", name).WithHint("per-call, per-day or per-month")
	}
	bound, err := config.Find(setting)
	if err != nil {
		return err
	}
	if err := bound.Check(value); err != nil {
		return cli.Invalid("%w", err)
	}
	c, err := o.Config()
	if err != nil {
		return err
	}
	if err := o.SetHere(setting, value); err != nil {
		return err
	}
	if now := c.Get(setting); strings.HasPrefix(now.Origin, "environment") {
		o.Note("%s is set, %s, and wins over it", strings.TrimPrefix(now.Origin, "environment "), now.Text)
	}
	return o.show(ctx, nil)
}

// trust has a service be paid elsewhere.
func (o *policyOptions) trust(ctx context.Context, args []string) error {
	service, recipient := strings.TrimRight(args[0], "/"), args[1]
	if err := o.Confirm(ctx, "pay "+service+" at "+recipient+" from now on"); err != nil {
		return err
	}
	if err := wallet.TrustRecipient(ctx, o.Wallets.DataDir(), service, recipient); err != nil {
		return cli.Invalid("%w", err)
	}
	return o.Show(ctx, wallet.Pin{Service: service, Recipient: recipient},
		&cli.Rows{Columns: []string{"service", "recipient"}, Rows: [][]string{{service, recipient}}})
}

// forget forgets where a service was paid.
func (o *policyOptions) forget(ctx context.Context, args []string) error {
	service := strings.TrimRight(args[0], "/")
	if err := o.Confirm(ctx, "forget where "+service+" was paid, and pay where it says next"); err != nil {
		return err
	}
	was, err := wallet.ForgetRecipient(ctx, o.Wallets.DataDir(), service)
	if err != nil {
		return err
	}
	if was == "" {
		return &cli.Failure{Exit: cli.ExitNotFound, Reason: "unknown_service",
			Err: fmt.Errorf("%s was never paid", service), Hint: "ctx pay policy show"}
	}
	return o.Show(ctx, wallet.Pin{Service: service, Recipient: was},
		&cli.Rows{Columns: []string{"service", "recipient"}, Rows: [][]string{{service, was}}})
}

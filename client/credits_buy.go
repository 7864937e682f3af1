package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
	"github.com/contextd/contextd/tui/view"
)

func depositFields() []string {
	return []string{
		"id", "userId", "keyId", "pack", "credits", "amountUsdc", "status",
		"txHash", "payerAddress", "nonce", "createdAt", "verifiedAt", "expiresAt", "nonceRequired", "reason", "message",
	}
}

type buyOptions struct {
	*factory

	key       string
	rail      string
	maxAmount string
	wallet    string
	dryRun    bool
	noWait    bool
	wait      time.Duration // 0 for as long as the purchase is open
	code      bool          // show the QR code in any case, and pay from no wallet
	x402      bool          // buy without an account
	given     *keyOut
}

func newBuy(f *factory) *cobra.Command {
	o := &buyOptions{factory: f, given: f.KeyOut()}
	c := f.Command(&cobra.Command{
		Use: "buy PACKAGE", Short: "Buy a package of credits with USDG", Args: cobra.ExactArgs(1),
		ValidArgs: []string{string(api.CreditStarter), string(api.CreditHobby), string(api.CreditPro), string(api.CreditTeam)},
		Long: "Buy a package of credits. With --pay, the wallet transfers the price after you confirm. Otherwise ctx shows the\n" +
			"transfer to make, as text, as a link for wallets and as a QR code. Then it waits for the credits. A transfer\n" +
			"counts if its block comes within 30 minutes and its amount is exact; the amount is reserved for you during that\n" +
			"time.\n\n" +
			"With --x402, a wallet is enough, without mail or sign-in, if the service settles standard x402 payments. The\n" +
			"credits go to a new key, which becomes the key of the profile if that has none, and is shown once otherwise. If\n" +
			"the command is killed, run it again to finish the purchase. The wallet can sign in later: ctx login\n" +
			"--wallet NAME.",
		Example: "  ctx credits buy starter\n  ctx credits buy hobby --pay --yes --max-amount 8.01\n  ctx credits buy starter --dry-run\n" +
			"  ctx credits buy starter --x402 --yes",
	}, append(depositFields(), "key", "name", "tier", "creditBalance"), func(ctx context.Context, args []string) error {
		err := o.run(ctx, api.CreditPack(args[0]))
		if f, ok := errors.AsType[*cli.Failure](err); ok && f.Exit == cli.ExitAuth {
			f.Hint += "; with a wallet and no account: ctx credits buy " + args[0] + " --x402"
		}
		return err
	})
	flags := c.Flags()
	flags.StringVar(&o.rail, "rail", "", "pay on this `rail` of the service, a chain and token (default its first)")
	flags.StringVar(&o.key, "key", "", "put the credits on this key, by its `id` (default your oldest)")
	flags.StringVar(&o.wallet, "wallet", "", "pay from this wallet, by its `name`, as --pay does from the configured one")
	flags.StringVar(&o.maxAmount, "max-amount", "", "buy nothing that costs more `USDG`")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only show the price")
	flags.BoolVar(&o.code, "qr", false, "show the transfer as a QR code, even without a terminal, and pay from no wallet")
	flags.DurationVar(&o.wait, "wait", 0, "wait at most this `time`, such as 5m (default while the purchase is open)")
	flags.BoolVar(&o.noWait, "no-wait", false, "only begin the purchase and show the transfer to make")
	o.bindKey(c)
	return c
}

// pays reports whether the price comes from a wallet.
func (o *buyOptions) pays() bool {
	if o.wallet != "" {
		o.Wallets.Use(o.wallet)
	}
	return !o.code && (o.wallet != "" || o.Payments.On())
}

// check reports flags that contradict each other.
func (o *buyOptions) check() error {
	switch {
	case o.code && o.wallet != "":
		return cli.Invalid("--qr pays from no wallet, and --wallet names one")
	case o.noWait && o.wait > 0:
		return cli.Invalid("--wait and --no-wait exclude each other")
	case !o.x402 && (o.given.Save || o.given.Out != ""):
		return cli.Invalid("--save and --out are for the key that --x402 buys")
	}
	return nil
}

func (o *buyOptions) run(ctx context.Context, pack api.CreditPack) error {
	offer, ok := pack.Offer()
	if !ok {
		return cli.Invalid("there is no package %q of credits", pack).WithHint("ctx credits packages")
	}
	if err := o.check(); err != nil {
		return err
	}
	price := usdg.Amount(offer.PriceMicros)
	if err := o.checkMost(pack, price); err != nil {
		return err
	}
	what := fmt.Sprintf("%d credits for %s %s", offer.Credits, price, api.AssetUSDG)
	if o.dryRun {
		o.Note("would buy %s", what)
		return nil
	}
	pays := o.pays() // and has the wallet of the flag be the one
	if o.x402 {
		return o.buyKey(ctx, pack, what)
	}
	if pays {
		if done, err := o.goOn(ctx, pack); done || err != nil {
			return err
		}
		if err := o.Payments.Open(ctx); err != nil { // before a purchase is begun that it cannot pay
			return err
		}
		if err := o.Askable("buy " + what + " from the wallet"); err != nil {
			return cmp.Or(o.hasKey(ctx), err)
		}
	}
	return o.begin(ctx, pack, what)
}

// checkMost refuses a price above --max-amount.
func (o *buyOptions) checkMost(pack api.CreditPack, price usdg.Amount) error {
	if o.maxAmount == "" {
		return nil
	}
	most, err := usdg.ParseAmount(o.maxAmount)
	if err != nil {
		return cli.Invalid("--max-amount: %w", err)
	}
	if price > most {
		return &cli.Failure{Exit: cli.ExitCap, Reason: "payment_refused",
			Err: fmt.Errorf("%s costs %s %s, more than %s", pack, price, api.AssetUSDG, most)}
	}
	return nil
}

// goOn finishes a purchase of the pack whose payment was begun before: it is never paid for twice. It reports whether there was one.
func (o *buyOptions) goOn(ctx context.Context, pack api.CreditPack) (done bool, err error) {
	begun, err := o.begunPurchase(ctx, pack)
	if begun == nil || err != nil {
		return false, err
	}
	o.Note("a purchase of %s was paid for with %s before and not finished; going on with it", pack, begun.TxHash)
	task := o.Busy("waiting for the confirmations")
	d, err := o.finishPurchase(ctx, *begun)
	task.Done()
	if errors.Is(err, wallet.ErrNotBegun) { // it can never get on chain
		return false, nil
	}
	return true, o.end(ctx, d, err)
}

// hasKey reports an account without a key for the credits, as the service does where a purchase is begun.
func (o *buyOptions) hasKey(ctx context.Context) error {
	b, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.CreditBalanceResponse, error) {
		return c.Balance(ctx, o.key, opts...)
	})
	if err == nil && b.KeyCount == 0 {
		return cli.Invalid("the account has no active key for the credits").WithHint("ctx keys create NAME")
	}
	return err
}

// begin begins a purchase and waits for its end.
func (o *buyOptions) begin(ctx context.Context, pack api.CreditPack, what string) error {
	intent, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.DepositIntent, error) {
		return c.BuyOn(ctx, o.rail, pack, o.key, opts...)
	})
	if err != nil {
		return err
	}
	amount, err := usdg.ParseAmount(intent.AmountUSDC)
	if err != nil {
		return fmt.Errorf("read the amount of purchase %s: %w", intent.ID, err)
	}
	if err := o.checkMost(pack, amount); err != nil { // the price, and what makes the amount the purchase's own
		return err
	}
	if !o.pays() {
		o.showTransfer(intent, amount)
	} else if err := o.agree(ctx, intent, what); err != nil {
		return err
	}
	if o.noWait && !o.pays() {
		return o.Show(ctx, intent, &cli.Rows{Columns: []string{"purchase", "amount", "to", "chain", "until"}, Rows: [][]string{{
			intent.ID, intent.AmountUSDC, intent.Recipient, strconv.FormatInt(intent.ChainID, 10), o.until(intent),
		}}})
	}
	console, err := o.Account.Console(true)
	if err != nil {
		return err
	}
	wait, cancel := context.WithDeadline(ctx, time.Unix(intent.ExpiresAt, 0).Add(time.Minute))
	defer cancel()
	if o.wait > 0 {
		wait, cancel = context.WithTimeout(wait, o.wait)
		defer cancel()
	}
	task := o.Busy("waiting for the payment and its confirmations, until " + o.until(intent))
	var d *api.Deposit
	if o.pays() {
		d, err = console.PayDeposit(wait, intent, o.Payments.Payer())
	} else {
		d, err = console.AwaitDeposit(wait, intent.ID, "")
	}
	task.Done()
	var paid *sdk.PaidError
	if errors.As(err, &paid) && !errors.Is(err, &api.Error{Code: api.CodePaymentInvalid}) {
		o.Note("transaction %s is sent; the service finds it by itself. To look: ctx credits purchases verify %s --tx %s",
			paid.Payment.ID, intent.ID, paid.Payment.ID)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return &cli.Failure{Exit: cli.ExitUnavailable, Reason: "timeout",
			Err: fmt.Errorf("purchase %s still waits for its payment", intent.ID), Hint: "ctx credits purchases wait " + intent.ID}
	}
	return o.end(ctx, d, err)
}

// heed tells what of the package the service does not deliver.
func (o *buyOptions) heed(i *api.DepositIntent) {
	for _, notice := range i.Notices {
		text := human.Line(notice)
		if o.ErrTTY {
			text = strings.Join(view.Wrap(text, min(o.Columns(), proseWidth)), "\n")
		}
		o.Note("%s", text)
	}
	if i.Warning != "" {
		o.Note("warning: %s", i.Warning)
	}
}

// agree shows what the wallet would pay, to whom and until when, and asks whether it is to.
func (o *buyOptions) agree(ctx context.Context, i *api.DepositIntent, what string) error {
	console, err := o.Account.Console(true)
	if err != nil {
		return err
	}
	v, has, err := o.Payments.Preview(ctx, console.Quote(i))
	if err == nil {
		err = v.Why
	}
	if err != nil {
		return err
	}
	o.Note("pay exactly %s %s\n  from     %s, which has %s %s and %s ether\n  to       %s\n  network  %s, token %s\n"+
		"  fee      at most %s ether\n  until    %s",
		i.AmountUSDC, api.AssetUSDG, has.Address, has.USDG, api.AssetUSDG, wallet.Ether(has.Wei),
		v.Recipient, api.ChainName(i.ChainID), i.Token, wallet.Fee(v.MaxFee), o.until(i))
	o.heed(i)
	err = o.Confirm(ctx, "buy "+what+" from the wallet")
	if err != nil {
		o.Note("nothing is due: purchase %s ends unpaid at %s", i.ID, o.until(i))
	}
	return err
}

// until is the end of a purchase, for people.
func (o *buyOptions) until(i *api.DepositIntent) string {
	return time.Unix(i.ExpiresAt, 0).In(o.Now().Location()).Format(time.DateTime + " MST")
}

func (o *buyOptions) showTransfer(i *api.DepositIntent, amount usdg.Amount) {
	link := "link   " + i.PaymentURI
	if i.NonceRequired {
		link = "data   " + usdg.TransferData(i.Recipient, amount, i.Nonce)
	}
	o.Note("transfer exactly %s %s\n  to     %s\n  token  %s on %s\n  until  %s\n  %s",
		i.AmountUSDC, api.AssetUSDG, i.Recipient, i.Token, api.ChainName(i.ChainID), o.until(i), link)
	if i.NonceRequired {
		o.Note("very many people are buying this package: the transfer counts only if it carries the nonce of this purchase, as the\n"+
			"wallet of ctx does (ctx credits buy %s --pay). A wallet that sends data has to send the data above to the token.\n"+
			"A plain transfer pays for nothing.", i.Pack)
	} else if lines := view.QRCode(i.PaymentURI, view.QuietZone, o.ErrTTY); len(lines) > 0 && (o.code || o.showsCode(lines[0])) {
		fmt.Fprintln(o.Err, strings.Join(lines, "\n"))
	}
	o.heed(i)
	if o.noWait {
		o.Note("after the transfer, wait for the credits, or name its transaction:\n"+
			"  ctx credits purchases wait %[1]s\n  ctx credits purchases verify %[1]s --tx 0x…", i.ID)
		return
	}
	o.Note("waiting for it; Ctrl-C leaves the purchase as it is. Faster, with the transaction:\n"+
		"  ctx credits purchases verify %s --tx 0x…", i.ID)
}

// showsCode reports whether a code with such lines can be seen where people read.
func (o *buyOptions) showsCode(line string) bool {
	return o.ErrTTY && !o.Flags.Quiet && !o.Style(true).ASCII && ansi.StringWidth(line) <= o.Columns()
}

// end says what became of a purchase.
func (o *buyOptions) end(ctx context.Context, d *api.Deposit, err error) error {
	if err != nil {
		return err
	}
	if d.Status == api.DepositExpired {
		until := d.ExpiresAt.In(o.Now().Location()).Format(time.DateTime + " MST")
		return &cli.Failure{Exit: cli.ExitChain, Reason: "expired",
			Err:  fmt.Errorf("nothing arrived for purchase %s until %s", d.ID, until),
			Hint: "if you have paid, tell the operator the hash of the transaction: nothing that arrived is lost"}
	}
	o.Note("%d credits are yours", d.Credits)
	return o.Show(ctx, d, depositRows([]api.Deposit{*d}, o.Now().Location()))
}

// bindKey adds the flags of a purchase without an account.
func (o *buyOptions) bindKey(c *cobra.Command) {
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
	kept, err := o.Account.Stored()
	if err != nil {
		return err
	}
	o.given.Save = o.given.Save || o.given.Out == "" && kept.Key.IsZero()
	client, err := o.Client()
	if err != nil {
		return err
	}
	address, err := o.Wallets.Address(ctx, "", "")
	if err != nil {
		return err
	}
	o.Note("wallet %s pays, and no fee: the service settles", address)
	if err := o.Confirm(ctx, "buy "+what+" from the wallet, on a new key"); err != nil {
		return err
	}
	if err := o.given.Open(); err != nil {
		return err
	}
	var meta sdk.Response
	bought, err := client.BuyKey(ctx, pack, o.Payments.Payer(), o.Call(&meta)...)
	if err == nil && bought.Key == "" {
		err = &cli.Failure{Exit: cli.ExitPaid, Reason: "paid_unanswered",
			Err:  fmt.Errorf("the credits are on key %s, which the service has told before and tells no more", bought.KeyID),
			Hint: "ctx login --wallet NAME, then ctx keys rotate " + bought.KeyID}
	}
	if err != nil {
		return o.given.Drop(err)
	}
	return o.given.Hand(ctx, bought)
}

// purchaseOf is what the journal calls the payment of a purchase, before its id.
const purchaseOf = "deposit "

// begunPurchase is the payment of a purchase of the pack that was begun at the configured service and has not come to its end, nil if there
// is none.
func (f *factory) begunPurchase(ctx context.Context, pack api.CreditPack) (*wallet.Payment, error) {
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

// finishPurchase goes on with the payment of a purchase that was begun, waits until the service has seen it, and notes that.
func (f *factory) finishPurchase(ctx context.Context, begun wallet.Payment) (*api.Deposit, error) {
	console, err := f.Account.Console(true)
	if err != nil {
		return nil, err
	}
	payer, err := f.Payments.ReadOnly(ctx, begun.Payer, true)
	if err != nil {
		return nil, err
	}
	defer payer.Close()
	paid, err := payer.Resume(ctx, sdk.Quote{Service: begun.Service, Request: begun.Request})
	if err != nil {
		return nil, err
	}
	d, err := console.AwaitDeposit(ctx, strings.TrimPrefix(begun.Request, purchaseOf), paid.ID)
	if err != nil {
		return nil, err
	}
	return d, payer.Conclude(context.WithoutCancel(ctx), paid, sdk.Outcome{})
}

package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// asker takes quotes and pays nothing.
type asker struct {
	quote   *sdk.Quote  // the first
	instead []sdk.Quote // where that cannot be paid
}

// asked reports whether there is a quote.
func (a *asker) asked() bool { return a != nil && a.quote != nil }

// errAsked ends a call whose quote is known.
var errAsked = errors.New("nothing was paid")

// Pay notes q.
func (a *asker) Pay(_ context.Context, q sdk.Quote) (sdk.Payment, error) {
	if a.quote == nil {
		a.quote = &q
	} else {
		a.instead = append(a.instead, q)
	}
	return sdk.Payment{}, sdk.Unable(errAsked)
}

// Conclude is for what was paid, which is nothing.
func (a *asker) Conclude(context.Context, sdk.Payment, sdk.Outcome) error { return nil }

// quoteFields are the members of a quote and of what paying it would do.
func quoteFields() []string {
	return []string{"request", "service", "amount", "asset", "recipient", "validUntil", "nonce", "chainId", "token", "decimals",
		"calldata", "maxFeeWei", "refusal"}
}

// urlOptions are the flags of the commands that take a URL.
type urlOptions struct {
	*factory
	requestFlags
	dryRun bool // only show the price
	signIn bool // with the wallet, in place of paying
}

// newQuote makes the command that asks what a call costs.
func newQuote(f *factory) *cobra.Command {
	o := &urlOptions{factory: f}
	c := &cobra.Command{Use: "quote COMMAND...|URL", Short: "Show the price of a call and what the policy says",
		Long: "Show the price of a call without a key, and whether the wallet would pay it. The call is a data command as you\n" +
			"would type it, or a URL or path. Nothing is paid and no wallet is opened. The calldata is for wallets that send\n" +
			"the transaction to the token themselves. Put options of ctx pay quote before the command.",
		Example: "  ctx pay quote brief\n  ctx pay quote --json amount,refusal search bitcoin -k 3\n  ctx pay quote /v1/fresh"}
	c.Args = cobra.MinimumNArgs(1)
	c = f.Command(c, quoteFields(), func(ctx context.Context, args []string) error { return o.quote(ctx, c, args) })
	c.Flags().SetInterspersed(false) // the flags behind the command are the command's
	return c
}

// quote asks what a call costs: that of a URL, or of another command, which is run with a payer that only asks.
func (o *urlOptions) quote(ctx context.Context, c *cobra.Command, args []string) error {
	ask := &asker{}
	if isAddress(args[0]) {
		c.Flags().SetInterspersed(true)
		o.Payments.Use(ask)
		if err := c.ParseFlags(args); err != nil {
			return c.FlagErrorFunc()(c, err)
		}
		return o.get(ctx, c.Flags().Args(), ask, ask)
	}
	payable := []string{"ask", "state", "brief", "query", "cite"}
	former := []string{"fresh", "lookup", "price", "search", "snapshot"}
	if !slices.Contains(append(former, payable...), args[0]) {
		return cli.Invalid("%q cannot be paid for", args[0]).
			WithHint("one of %s, or a path such as /v1/fresh", strings.Join(payable, ", "))
	}
	o.Payments.Use(ask)
	c.Root().SetArgs(args)
	if err := c.Root().ExecuteContext(ctx); err != nil && !ask.asked() {
		return err
	}
	return o.show(ctx, ask)
}

// addPayURL has c, the group of commands on payments, take a URL in place of a command.
func addPayURL(f *factory, c *cobra.Command) {
	o := &urlOptions{factory: f}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only show the price, and whether the wallet would pay it")
	c.Flags().BoolVar(&o.signIn, "sign-in", false, "sign in with the wallet in place of paying: get again what it has paid for,\n"+
		"or spend credits of its owner; nothing is paid")
	c.MarkFlagsMutuallyExclusive("dry-run", "sign-in")
	o.bind(c)
	c.Use = "pay URL"
	group := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 || !isAddress(args[0]) {
			return group(c, args)
		}
		cli.SetFields(c, cli.OpenFields)
		if err := o.apply(c); err != nil {
			return err
		}
		if err := f.Check(c); err != nil {
			return err
		}
		return o.pay(c.Context(), args)
	}
}

// pay makes a request and pays for it, or says what that costs.
func (o *urlOptions) pay(ctx context.Context, args []string) error {
	if o.dryRun {
		ask := &asker{}
		return o.get(ctx, args, ask, ask)
	}
	return o.get(ctx, args, o.Payments.Payer(), nil)
}

// target is the service of a URL, and the path there with its query. A path alone is of the configured service.
func (o *urlOptions) target(text string) (service, path string, err error) {
	client, err := o.Client()
	if err != nil {
		return "", "", err
	}
	base := client.BaseURL()
	if strings.HasPrefix(text, "/") {
		return base, text, nil
	}
	if rest, ok := strings.CutPrefix(text, base); ok && strings.HasPrefix(rest, "/") {
		return base, rest, nil
	}
	u, err := url.Parse(text)
	if err == nil {
		u.Host = strings.ToLower(u.Host) // by which the journal knows it
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", "", cli.Invalid("%q is neither a path nor http://… or https://…", text)
	}
	return u.Scheme + "://" + u.Host, u.RequestURI(), nil
}

// get makes a request that p pays for and shows its answer or, where ask is p, what it would cost.
func (o *urlOptions) get(ctx context.Context, args []string, p sdk.Payer, ask *asker) error {
	if len(args) > 1 {
		return cli.Invalid("one URL at a time; there are %d", len(args))
	}
	service, path, err := o.target(args[0])
	if err != nil {
		return err
	}
	if !o.own(service) || !o.plain() || o.signIn {
		return o.call(ctx, service, service+path, p, ask)
	}
	client, err := o.PayingClient(service, p)
	if err != nil {
		return err
	}
	var meta sdk.Response
	resp, err := client.Do(ctx, sdk.Request{Path: path}, o.Call(&meta)...)
	if ask.asked() {
		return o.show(ctx, ask)
	}
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	if ask != nil {
		return o.free(ctx, service, http.MethodGet+" "+path)
	}
	return o.write(ctx, resp.Body)
}

// free says that a request costs nothing: in words or, where the output was asked for as JSON, as a quote of nothing.
func (o *urlOptions) free(ctx context.Context, service, request string) error {
	o.Note("it costs nothing")
	spec, err := o.Spec()
	if err != nil || !spec.Machine() {
		return err
	}
	doc, err := cli.Marshal(quoted{Request: request, Service: service, Amount: "0"})
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc})
}

// own reports whether a service is the configured one, which is paid in our own dialect.
func (o *urlOptions) own(service string) bool {
	client, err := o.Client()
	return err == nil && client.BaseURL() == service
}

// write writes the body of an answer. It was paid for, whatever it is.
func (o *urlOptions) write(ctx context.Context, text []byte) error {
	if json.Valid(text) {
		return o.Print(ctx, cli.Answer{JSON: text, Piped: cli.JSON})
	}
	if o.OutTTY {
		text = []byte(human.Text(string(text)))
	}
	_, err := o.Out.Write(text)
	return err
}

// quoted is a quote as JSON shows it, with what paying it would do.
type quoted struct {
	Request    string     `json:"request"`
	Service    string     `json:"service"`
	Amount     string     `json:"amount"`
	Asset      string     `json:"asset"`
	Recipient  string     `json:"recipient"`
	ValidUntil *time.Time `json:"validUntil"` // nil by standard x402, as the nonce is the wallet's
	Nonce      string     `json:"nonce"`
	ChainID    int64      `json:"chainId"` // this and the token are those of the service, 0 and "" where it does not say them
	Token      string     `json:"token"`
	Decimals   int        `json:"decimals"`
	Calldata   string     `json:"calldata"`
	MaxFeeWei  string     `json:"maxFeeWei"`
	Refusal    string     `json:"refusal"`
}

func (o *urlOptions) show(ctx context.Context, ask *asker) error {
	q := ask.quote
	if q == nil {
		o.Note("it costs nothing")
		return nil
	}
	v, err := o.preview(ctx, *q)
	for _, other := range ask.instead {
		if err != nil || !v.Unable {
			break
		}
		var instead wallet.Preview
		if instead, err = o.preview(ctx, other); instead.Refusal == "" {
			q, v = &other, instead
		}
	}
	if err != nil {
		return err
	}
	if q.Exact != nil {
		return o.showExact(ctx, *q, v)
	}
	until := time.Unix(q.ValidUntil, 0).UTC()
	out := quoted{
		Request: q.Request, Service: q.Service, Amount: q.Amount, Asset: q.Asset, Recipient: q.Recipient,
		ValidUntil: &until, Nonce: q.Nonce,
		ChainID: q.ChainID, Token: q.Token, Decimals: q.Decimals,
		Calldata: v.Calldata, MaxFeeWei: v.MaxFee, Refusal: v.Refusal,
	}
	doc, err := cli.Marshal(out)
	if err != nil {
		return err
	}
	fee := "not asked: ctx does not know the chain"
	if v.MaxFee != "" {
		fee = "at most " + wallet.Fee(v.MaxFee) + " ether"
	}
	token := ""
	if q.Token != "" {
		token = fmt.Sprintf("\n  token  %s on chain %d, %d decimals", human.Line(q.Token), q.ChainID, q.Decimals)
	}
	left := strconv.Itoa(int(time.Unix(q.ValidUntil, 0).Sub(o.Now()).Seconds()))
	return o.Print(ctx, cli.Answer{JSON: doc, Text: func(w io.Writer, _ int, style cli.Style) error {
		verdict := style.Good("the wallet would pay it")
		if v.Refusal != "" {
			verdict = style.Bad("the wallet would not pay it: " + human.Line(v.Refusal))
		}
		_, err := fmt.Fprintf(w, "%s\n  price  %s %s\n  fee    %s\n  to     %s%s\n  holds  %s seconds more\n  %s\n",
			human.Line(q.Request), human.Line(q.Amount), human.Line(q.Asset), fee, human.Line(q.Recipient), token, left, verdict)
		return err
	}})
}

// preview is what paying q would do. Where ctx knows no chain or no wallet, that is why it would not be paid.
func (o *urlOptions) preview(ctx context.Context, q sdk.Quote) (wallet.Preview, error) {
	address, refusal := "0x"+strings.Repeat("0", 40), "no wallet is configured: ctx wallet use NAME"
	if o.Wallets.Configured() {
		found, err := o.Wallets.Address(ctx, "", "")
		if err != nil {
			return wallet.Preview{}, err
		}
		address, refusal = found, ""
	}
	p, err := o.Payments.ReadOnly(ctx, address, q.Exact == nil)
	if failure, ok := errors.AsType[*cli.Failure](err); ok && q.Exact == nil {
		return wallet.Preview{Refusal: failure.Error(), Unable: true}, nil // that something is not configured is the answer
	}
	if err != nil {
		return wallet.Preview{}, err
	}
	defer p.Close()
	v, err := p.Preview(ctx, q)
	switch {
	case err != nil || refusal == "":
	case q.Exact == nil:
		v.Refusal, v.MaxFee = refusal, ""
	case v.Refusal == "":
		v.Refusal = refusal
	}
	return v, err
}

type requestFlags struct {
	method  string
	headers []string
	body    string
	most    string
}

func (r *requestFlags) bind(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVarP(&r.method, "request", "X", "", "request `method` (default GET, or POST with --data)")
	cli.CompleteValues(c, "request", "GET", "POST", "PUT", "PATCH", "DELETE")
	flags.StringArrayVarP(&r.headers, "header", "H", nil, "send this `header`, such as \"Accept: text/csv\"")
	flags.StringVarP(&r.body, "data", "d", "", "send this `body`, that of a file with @FILE, of stdin with @-")
	flags.StringVar(&r.most, "max-usd", "", "the same as --max-amount, in `dollars`")
}

// apply has --max-usd be --max-amount.
func (r *requestFlags) apply(c *cobra.Command) error {
	if r.most == "" {
		return nil
	}
	if c.Flags().Changed("max-amount") {
		return cli.Invalid("--max-usd and --max-amount are the same; one is enough")
	}
	return c.Flags().Set("max-amount", r.most)
}

// plain reports whether the request is what a URL says, and no more.
func (r *requestFlags) plain() bool { return r.method == "" && len(r.headers) == 0 && r.body == "" }

func (r *requestFlags) read(stdin io.Reader) ([]byte, error) {
	const most = 8 << 20
	name, isFile := strings.CutPrefix(r.body, "@")
	if !isFile {
		return []byte(r.body), nil
	}
	from := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.Invalid("--data: %w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it is over %d MiB", most>>20)
	}
	if err != nil {
		return nil, cli.Invalid("--data: %w", err)
	}
	return text, nil
}

// call is a request that is paid for, and what the journal calls it.
type call struct {
	*http.Request
	name string
	bare bool // name says all of it
}

func (r *requestFlags) request(ctx context.Context, address string, stdin io.Reader) (call, error) {
	body, err := r.read(stdin)
	if err != nil {
		return call{}, err
	}
	method := r.method
	switch {
	case method == "" && r.body != "":
		method = http.MethodPost
	case method == "":
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(string(body)))
	if err != nil {
		return call{}, cli.Invalid("%q with -X %q is no request", human.Short(address, maxShown), human.Short(method, human.Quoted))
	}
	req.Header.Set("User-Agent", userAgent())
	if r.body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if json.Valid(body) {
			req.Header.Set("Content-Type", "application/json")
		}
	}
	if err := setHeaders(req.Header, r.headers); err != nil {
		return call{}, err
	}
	c := call{req, req.Method + " " + req.URL.RequestURI(), len(r.headers) == 0 && r.body == ""}
	if r.body != "" {
		const shown = 8
		sum := sha256.Sum256(body)
		c.name += fmt.Sprintf(" with body %x", sum[:shown])
	}
	return c, nil
}

// maxShown is how much of a URL is told.
const maxShown = 200

// setHeaders sets those that were given, as NAME: VALUE.
func setHeaders(h http.Header, given []string) error {
	for i, text := range given {
		name, value, ok := strings.Cut(text, ":")
		name, value = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n") { // it may be a secret
			return cli.Invalid("-H number %d is not \"Name: value\"", i+1)
		}
		for _, ours := range []string{"Host", api.HeaderPayment, api.HeaderPaymentAlias, api.HeaderSignature, api.HeaderRequired} {
			if name == textproto.CanonicalMIMEHeaderKey(ours) {
				return cli.Invalid("-H %s is ctx's own to send", name)
			}
		}
		h.Set(name, value)
	}
	return nil
}

// patience is how often a payment is sent again to a service that is still settling it.
const patience = 15

// call makes a request that is paid for: by standard x402 first where the service is not the configured one, else in our own dialect first.
// It goes to that service alone, and follows no redirect: there is nobody else whom the payment is for.
func (o *urlOptions) call(ctx context.Context, service, address string, p sdk.Payer, ask *asker) error {
	c, err := o.Config()
	if err != nil {
		return err
	}
	if limit := c.Timeout(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	r, err := o.request(ctx, address, o.In)
	if err != nil {
		return err
	}
	pays := &sdk.PayTransport{Payer: p, Service: service, Base: o.HTTP(), Patience: patience,
		Name: func(*http.Request) (string, bool) { return r.name, r.bare }, Notify: o.tellReceipt(service),
		Schemes: []sdk.Scheme{sdk.Transfer{}, sdk.Exact{}}}
	if !o.own(service) {
		slices.Reverse(pays.Schemes)
		pays.Price = func(*http.Request) int64 { return 0 } // somebody else's paths say nothing of prices
	}
	if o.signIn {
		pays.Payer, pays.Base = nil, &signing{o.HTTP(), o.Wallets}
	}
	client := &http.Client{Transport: pays, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r.Request)
	switch {
	case ask.asked():
		return o.show(ctx, ask)
	case err != nil:
		return unsent(r.Request, err)
	case resp.StatusCode/100 != 2:
		return refused(resp)
	}
	defer resp.Body.Close()
	if ask != nil {
		return o.free(ctx, service, r.name)
	}
	return o.pass(ctx, resp.Body)
}

// signing sends requests, and those that are answered 402 once more with a sign-in of the wallet.
type signing struct {
	base    http.RoundTripper
	wallets *wallets
}

// RoundTrip sends r.
func (s *signing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.base.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusPaymentRequired {
		return resp, err
	}
	defer resp.Body.Close()
	key, err := s.wallets.Open(r.Context(), "", "")
	if err != nil {
		return nil, err
	}
	signed, err := sdk.SignIn(r, resp, key.Address(), key.SignMessage)
	if err != nil {
		return nil, err
	}
	again := r.Clone(r.Context())
	again.Header.Set(api.HeaderSignIn, signed)
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, fmt.Errorf("read the request again: %w", err)
		}
	}
	return s.base.RoundTrip(again)
}

// unsent is err, of a client, without the URL around it: what became of a payment, why there was none, or that nothing came.
func unsent(r *http.Request, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if _, paid := errors.AsType[*sdk.PaidError](err); paid || !unreached(err) {
		return err
	}
	return &sdk.TransportError{Method: r.Method, URL: sdk.RedactURL(r.URL), Attempts: 1, Err: err}
}

// unreached reports whether err is of a connection, and not of a wallet.
func unreached(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// refused is the error of an answer that is no 2xx.
func refused(resp *http.Response) error {
	to := resp.Header.Get("Location")
	err := sdk.ErrorOf(resp)
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case ok && resp.StatusCode/100 == 3 && to != "":
		e.Hint = "ctx pay " + human.Short(to, maxShown) + ", if you trust that"
	case ok && resp.StatusCode == http.StatusPaymentRequired && e.Reason == "":
		e.Message = "the service wants to be paid, and not by x402, version 2: " + e.Message
		e.Hint = "nothing was paid; its operator, for what it is paid with"
	case ok && e.Reason == "":
		e.Hint = ""
	}
	return err
}

// pass writes the body of an answer as it came or, where that was asked for, as JSON.
func (o *urlOptions) pass(ctx context.Context, body io.Reader) error {
	spec, err := o.Spec()
	if err != nil {
		return err
	}
	if !spec.Machine() && !o.OutTTY {
		_, err := io.Copy(o.Out, body)
		return err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return o.write(ctx, text)
}

// receipt is what a paid answer says of its payment, as JSON shows it.
type receipt struct {
	Service       string `json:"service"`
	Amount        string `json:"amount"`
	Asset         string `json:"asset"`
	Network       string `json:"network"`
	Payer         string `json:"payer"`
	Authorization string `json:"authorization"`
	Settled       bool   `json:"settled"`     // the service says so
	Transaction   string `json:"transaction"` // "" where the service says none
}

// tellReceipt tells on stderr what was paid to a service: in words or, where the output was asked for as JSON, as JSON.
func (o *urlOptions) tellReceipt(service string) func(sdk.Payment, *api.StandardReceipt) {
	return func(p sdk.Payment, said *api.StandardReceipt) {
		if p.Scheme != api.SchemeExact { // the answer of a context service says it
			return
		}
		r := receipt{Service: service, Amount: p.Amount, Asset: p.Asset, Network: p.Network, Payer: p.Payer, Authorization: p.ID}
		by := "authorization " + p.ID + "; the service gives no receipt"
		if said != nil && said.Success {
			r.Settled, r.Transaction = true, said.Transaction
			by = "transaction " + said.Transaction
		}
		spec, err := o.Spec()
		if err != nil || !spec.Machine() {
			o.Note("paid %s %s on %s to %s, %s", p.Amount, p.Asset, p.Network, service, by)
			return
		}
		text, err := cli.Marshal(map[string]receipt{"receipt": r})
		if err == nil && !o.Flags.Quiet {
			fmt.Fprintln(o.Err, string(text))
		}
	}
}

// showExact shows what a request costs by standard x402.
func (o *urlOptions) showExact(ctx context.Context, q sdk.Quote, v wallet.Preview) error {
	doc, err := cli.Marshal(quoted{Request: q.Request, Service: q.Service, Amount: v.Amount.String(), Asset: v.Asset.Symbol,
		Recipient: v.Recipient, ChainID: v.Asset.ChainID, Token: v.Asset.Token, Decimals: usdg.Decimals, MaxFeeWei: "0",
		Refusal: v.Refusal})
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Text: func(w io.Writer, _ int, style cli.Style) error {
		verdict := style.Good("the wallet would pay it")
		if v.Refusal != "" {
			verdict = style.Bad("the wallet would not pay it: " + human.Line(v.Refusal))
		}
		way := ""
		if v.Asset.Token != "" { // else there is none that the wallet goes
			way = fmt.Sprintf("  price  %s %s\n  fee    none: the service settles it\n  to     %s\n  token  %s on chain %d\n",
				v.Amount, v.Asset.Symbol, v.Recipient, v.Asset.Token, v.Asset.ChainID)
		}
		_, err := fmt.Fprintf(w, "%s\n%s  %s\n", human.Line(q.Request), way, verdict)
		return err
	}})
}

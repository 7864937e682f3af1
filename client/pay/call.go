package pay

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
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// requestFlags are the flags that make a request of a URL.
type requestFlags struct {
	method  string
	headers []string
	body    string
	most    string
}

// bind defines them for c.
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

// read is the body.
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

// request makes the request of a URL.
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
	req.Header.Set("User-Agent", command.UserAgent())
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

// call makes a request that is paid for: by standard x402 where the service is not the configured one and takes that, else in our own
// dialect. It goes to that service alone, and follows no redirect: there is nobody else whom the payment is for.
func (o *urlOptions) call(ctx context.Context, service, address string, p sdk.Payer, ask *asker) error {
	c, err := o.config()
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
	pays := &sdk.PayTransport{Payer: p, Service: service, Base: o.http(), Patience: patience,
		Name: func(*http.Request) string { return r.name }}
	exact := &sdk.ExactTransport{Payer: o.payments.Exact(), Service: service, Base: o.http(), Patience: patience,
		Name: func(*http.Request) (string, bool) { return r.name, r.bare }, Tell: o.tellReceipt(service)}
	if ask != nil {
		exact.Payer = ask
	}
	if !o.own(service) {
		pays.Base = exact
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

// unsent is err, of a client, without the URL around it: what became of a payment, why there was none, or that nothing came.
func unsent(r *http.Request, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	_, authorized := errors.AsType[*sdk.AuthorizedError](err)
	_, paid := errors.AsType[*sdk.PaidError](err)
	if authorized || paid || !unreached(err) {
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
func (o *urlOptions) tellReceipt(service string) func(sdk.ExactPayment, *api.StandardReceipt) {
	return func(p sdk.ExactPayment, said *api.StandardReceipt) {
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
func (o *urlOptions) showExact(ctx context.Context, q sdk.ExactQuote) error {
	address, refusal := "0x"+strings.Repeat("0", 40), "no wallet is configured: ctx wallet use NAME"
	if o.wallets.Configured() {
		found, err := o.wallets.Address(ctx, "", "")
		if err != nil {
			return err
		}
		address, refusal = found, ""
	}
	a, err := o.payments.ReadOnlyExact(ctx, address)
	if err != nil {
		return err
	}
	defer a.Close()
	v, err := a.Preview(ctx, q)
	if err != nil {
		return err
	}
	if v.Refusal == "" {
		v.Refusal = refusal
	}
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

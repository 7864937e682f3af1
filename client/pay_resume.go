package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// resumed is what became of a payment that was gone on with.
type resumed struct {
	wallet.Payment
	Answer json.RawMessage `json:"answer"` // of the call, or the purchase; null if there is none yet
	Error  string          `json:"error"`  // why not; empty if there is one
}

// resumeOptions are those of resume, which has no flags.
type resumeOptions struct {
	*factory
	given *keyOut
}

// newResume makes the command that goes on with what was begun.
func newResume(f *factory) *cobra.Command {
	o := &resumeOptions{factory: f, given: f.KeyOut()}
	return f.Command(&cobra.Command{Use: "resume", Short: "Continue unfinished payments",
		Long: "Continue unfinished payments, after a crash or without a network: bring each onto the chain if still possible,\n" +
			"present it to its service, and show the answer. None is paid twice, and no wallet is opened. Repeating the\n" +
			"original command does the same for its call. A purchased key becomes the key of the profile, if that has none\n" +
			"and is for the service; otherwise it is shown.",
		Example: "  ctx pay resume\n  ctx pay resume --jq '.[].answer'"},
		append(paymentFields(), "answer", "error"), o.run)
}

// run goes on with each payment that is not at its end.
func (o *resumeOptions) run(ctx context.Context, _ []string) error {
	list, err := wallet.Payments(o.Wallets.DataDir())
	if err != nil {
		return err
	}
	done := []resumed{}
	var settle []func() error
	var failed error
	for _, p := range list {
		if !p.Live {
			continue
		}
		answer, settled, err := o.goOn(ctx, p)
		r := resumed{Payment: p, Answer: answer}
		if err != nil {
			failed, r.Error = errors.Join(failed, fmt.Errorf("%s: %w", p.Request, err)), err.Error()
		} else {
			settle = append(settle, settled)
		}
		done = append(done, r)
	}
	if len(done) == 0 {
		o.Note("no payment waits to be gone on with")
	}
	doc, err := cli.Marshal(done)
	if err == nil {
		err = o.Print(ctx, cli.Answer{JSON: doc, Piped: cli.JSON, Text: func(w io.Writer, _ int, style cli.Style) error {
			return writeResumed(w, style, done)
		}})
	}
	if err != nil {
		return err
	}
	for _, s := range settle { // once they were shown
		failed = errors.Join(failed, s())
	}
	return failed
}

// writeResumed writes what became of payments, for people.
func writeResumed(w io.Writer, style cli.Style, list []resumed) error {
	for _, r := range list {
		outcome := style.Good(style.Mark("ok"))
		if r.Error != "" {
			outcome = style.Bad(style.Mark("error"))
		}
		text := r.Error
		if r.Answer != nil {
			text = string(r.Answer)
		}
		_, err := fmt.Fprintf(w, "%s %s %s for %s, %s\n%s\n",
			outcome, r.Amount, cmp.Or(r.Asset, api.AssetUSDG), human.Line(r.Request), r.By(), human.Text(text))
		if err != nil {
			return err
		}
	}
	return nil
}

// resumer pays with what was paid before, and makes no payment.
type resumer struct{ *wallet.Payer }

// Pay goes on with the payment that was begun for the request.
func (r resumer) Pay(ctx context.Context, q sdk.Quote) (sdk.Payment, error) { return r.Resume(ctx, q) }

// Conclude notes refusals, and what has no answer: that there is one is noted once it was shown.
func (r resumer) Conclude(ctx context.Context, p sdk.Payment, o sdk.Outcome) error {
	if o.Refused == nil && o.Unanswered == nil {
		return nil
	}
	return r.Payer.Conclude(ctx, p, o)
}

// goOn goes on with a payment and returns its answer, and what notes that it was shown.
func (o *resumeOptions) goOn(ctx context.Context, p wallet.Payment) (answer json.RawMessage, settled func() error, err error) {
	if p.Authorization != "" {
		return o.goOnExact(ctx, p)
	}
	if p.Purchase {
		task := o.Busy("waiting for the confirmations")
		d, err := o.finishPurchase(ctx, p)
		task.Done()
		if err != nil {
			return nil, nil, err
		}
		answer, err = cli.Marshal(d)
		return answer, func() error { return nil }, err
	}
	payer, err := o.Payments.ReadOnly(ctx, p.Payer, true)
	if err != nil {
		return nil, nil, err
	}
	defer payer.Close()
	if strings.HasPrefix(p.Request, "POST "+api.PathMCP) { // what the agent asked is not all in the journal
		if _, err := payer.Resume(ctx, sdk.Quote{Service: p.Service, Request: p.Request}); err != nil {
			return nil, nil, err
		}
		return nil, nil, errors.New("it is on chain; the same call of the agent gets its answer with it: " +
			"ctx mcp call --pay, or the agent itself")
	}
	client, err := o.PayingClient(p.Service, resumer{payer})
	if err != nil {
		return nil, nil, err
	}
	method, path, ok := strings.Cut(p.Request, " ")
	if !ok {
		return nil, nil, errors.New("the journal does not say what it is for")
	}
	base, err := url.Parse(p.Service)
	if err != nil {
		return nil, nil, errors.New("the journal does not say whom it is for")
	}
	resp, err := client.Do(ctx, sdk.Request{Method: method, Path: strings.TrimPrefix(path, base.EscapedPath())})
	if err != nil {
		return nil, nil, err
	}
	if !json.Valid(resp.Body) {
		return nil, nil, errors.New("the answer is not JSON")
	}
	shown := sdk.TransferPayment(api.PaymentProof{TxHash: p.TxHash})
	return resp.Body, func() error { return payer.Conclude(ctx, shown, sdk.Outcome{}) }, nil
}

// goOnExact sends an authorization again and returns the answer, and what notes that it was shown. One that is over, and is not answered,
// is abandoned: nothing can be settled any more.
func (o *resumeOptions) goOnExact(ctx context.Context, p wallet.Payment) (answer json.RawMessage, settled func() error, err error) {
	payer, err := o.Payments.ReadOnly(ctx, p.Payer, false)
	if err != nil {
		return nil, nil, err
	}
	defer payer.Close()
	held, err := payer.Resume(ctx, sdk.Quote{Service: p.Service, Request: p.Request, Exact: &sdk.Required{}})
	if errors.Is(err, wallet.ErrNotBegun) {
		return nil, nil, errors.New("the chain says that it was not settled, and it can be no more")
	}
	if err != nil {
		return nil, nil, err
	}
	text, receipt, err := o.again(ctx, p, payer)
	if err != nil && held.Lapsed {
		return nil, nil, errors.Join(fmt.Errorf("%w; it can be settled no more", err), payer.Abandon(ctx, held))
	}
	if err != nil {
		return nil, nil, err
	}
	if !json.Valid(text) {
		text, _ = cli.Marshal(string(text)) // a text can be written
	}
	if p.Purchase {
		if text, err = o.saveKey(p, text); err != nil {
			return nil, nil, err
		}
	}
	return text, func() error { return payer.Conclude(ctx, held, sdk.Outcome{Receipt: receipt}) }, nil
}

// saveKey stores the key in an answer as that of the profile, if that has none and is for the service of the payment, and returns the
// answer without it then.
func (o *resumeOptions) saveKey(p wallet.Payment, answer json.RawMessage) (json.RawMessage, error) {
	var bought api.IssuedKey
	if err := json.Unmarshal(answer, &bought); err != nil || bought.Key == "" {
		return answer, nil // there is none to keep
	}
	client, err := o.Client()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(client.BaseURL())
	if err != nil || base.Scheme+"://"+base.Host != p.Service {
		return answer, nil
	}
	kept, err := o.Account.Stored()
	if err != nil {
		return nil, err
	}
	if !kept.Key.IsZero() && kept.Key.Secret() != bought.Key { // the same is that of a command that was killed
		return answer, nil
	}
	o.given.SaveToProfile(&bought)
	return cli.Marshal(bought)
}

// again makes a request that the journal has, and pays with what was authorized for it.
func (o *resumeOptions) again(
	ctx context.Context, p wallet.Payment, payer *wallet.Payer,
) (text []byte, r *api.StandardReceipt, err error) {
	method, path, ok := strings.Cut(p.Request, " ")
	if !p.Bare || !ok {
		return nil, nil, errors.New("not all of the request is in the journal; the same command as before, or the agent, gets its answer")
	}
	base, err := url.Parse(p.Service)
	if err != nil {
		return nil, nil, errors.New("the journal does not say whom it is for")
	}
	req, err := http.NewRequestWithContext(ctx, method, p.Service+strings.TrimPrefix(path, base.EscapedPath()), http.NoBody)
	if err != nil {
		return nil, nil, errors.New("the journal does not say what it is for")
	}
	transport := &sdk.PayTransport{Payer: resumer{payer}, Service: p.Service, Base: o.HTTP(), Patience: patience,
		Schemes: []sdk.Scheme{sdk.Exact{}},
		Name:    func(*http.Request) (string, bool) { return p.Request, true },
		Notify:  func(_ sdk.Payment, said *api.StandardReceipt) { r = said }}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, nil, unsent(req, err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, nil, refused(resp)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return text, r, err
}

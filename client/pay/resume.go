package pay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/command"
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
	*command.IO
	payingClient func(address string, p sdk.Payer) (*sdk.Client, error)
	purchases
}

// newResume makes the command that goes on with what was begun.
func newResume(f *command.Factory) *cobra.Command {
	o := &resumeOptions{IO: f.IO, payingClient: f.PayingClient, purchases: purchasesOf(f)}
	return f.Command(&cobra.Command{Use: "resume", Short: "Go on with payments that were begun and not answered",
		Long: "Go on with payments that were begun and not answered, after a crash or without a network: each is brought onto the " +
			"chain if it can\nstill be, presented to its service, and its answer shown. None is paid anew, and no wallet is " +
			"opened. The same command as before does that\nfor its own call.",
		Example: "  ctx pay resume\n  ctx pay resume --jq '.[].answer'"},
		append(paymentFields(), "answer", "error"), o.run)
}

// run goes on with each payment that is not at its end.
func (o *resumeOptions) run(ctx context.Context, _ []string) error {
	list, err := wallet.Payments(o.wallets.DataDir())
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
		_, err := fmt.Fprintf(w, "%s %s USDG for %s, transaction %s\n%s\n",
			outcome, r.Amount, human.Line(r.Request), r.TxHash, human.Text(text))
		if err != nil {
			return err
		}
	}
	return nil
}

// resumer pays with what was paid before, and makes no payment.
type resumer struct{ *wallet.Payer }

// Pay goes on with the payment that was begun for the request.
func (r resumer) Pay(ctx context.Context, q sdk.Quote) (api.PaymentProof, error) {
	return r.Resume(ctx, q)
}

// Settled notes refusals alone: that there is an answer is noted once it was shown.
func (r resumer) Settled(proof api.PaymentProof, refused error) error {
	if refused == nil {
		return nil
	}
	return r.Payer.Settled(proof, refused)
}

// goOn goes on with a payment and returns its answer, and what notes that it was shown.
func (o *resumeOptions) goOn(ctx context.Context, p wallet.Payment) (answer json.RawMessage, settled func() error, err error) {
	if p.Purchase {
		d, err := o.finish(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		answer, err = cli.Marshal(d)
		return answer, func() error { return nil }, err
	}
	payer, err := o.payments.ReadOnly(ctx, p.Payer)
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
	client, err := o.payingClient(p.Service, resumer{payer})
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
	return resp.Body, func() error { return payer.Settled(api.PaymentProof{TxHash: p.TxHash}, nil) }, nil
}

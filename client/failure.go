package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// toFailure is err as a Failure: what it means for the exit code. It returns nil for nil and for a reader of stdout that has gone. That a
// call was paid for wins over why it was not answered, of which journal knows more.
func toFailure(err error, journal []wallet.Payment) *cli.Failure {
	f := cli.ToFailure(err, ownFailure)
	paid, ok := errors.AsType[*sdk.PaidError](err)
	_, said := errors.AsType[*cli.Failure](err)
	switch {
	case !ok || said:
		return f
	case paid.Payment.Scheme == api.SchemeExact:
		return authorizedFailure(paid, journal)
	}
	return paidFailure(paid, journal)
}

// authorizedFailure says what was authorized for a call without an answer, and what to do next.
func authorizedFailure(sent *sdk.PaidError, journal []wallet.Payment) *cli.Failure {
	p := wallet.Payment{Request: "the call", Service: "SERVICE"}
	for _, one := range journal {
		if one.Authorization == sent.Payment.ID {
			p = one
		}
	}
	until := sent.Payment.Until.UTC().Format("15:04:05") + " UTC"
	what := fmt.Sprintf("authorized %s %s on %s for %s (authorization %s, until %s)",
		sent.Payment.Amount, sent.Payment.Asset, sent.Payment.Network, p.Request, sent.Payment.ID, until)
	settled := sent.Receipt != nil && sent.Receipt.Success
	if settled {
		what += ", which the service says is settled by transaction " + cmp.Or(sent.Receipt.Transaction, "(none said)")
	}
	f := &cli.Failure{Exit: cli.ExitPaid, Reason: cli.ReasonPaidUnanswered, Err: fmt.Errorf("%s, and not answered: %v", what, sent.Err),
		Hint: "run the same command again: it sends the same authorization and pays nothing more"}
	if !sent.Refused {
		return f
	}
	f.Reason, f.Err = cli.ReasonPaidRefused, fmt.Errorf("%s, and the service refuses that: %v; nothing more is paid to it", what, sent.Err)
	f.Hint = "ctx pay policy allow " + p.Service + ", to send the same again until then, and another after that"
	if sent.Receipt != nil && !settled {
		f.Exit, f.Reason = cli.ExitChain, "payment_failed"
	}
	if sent.Receipt != nil && sent.Receipt.ErrorReason == api.StandardNoFunds {
		f.Hint = fmt.Sprintf("send %s on %s to %s; then ctx pay policy allow %s", sent.Payment.Asset, sent.Payment.Network,
			sent.Payment.Payer, p.Service)
	}
	return f
}

// paidFailure says what was paid for a call without an answer, and how to get at that.
func paidFailure(paid *sdk.PaidError, journal []wallet.Payment) *cli.Failure {
	refused, _ := errors.AsType[*api.Error](paid)
	is := refused != nil && refused.Status == http.StatusPaymentRequired
	what, service := "paid", "SERVICE"
	for _, p := range journal {
		if p.TxHash == paid.Payment.ID {
			what, service = fmt.Sprintf("paid %s %s for %s", p.Amount, api.AssetUSDG, p.Request), p.Service
		}
	}
	what = fmt.Sprintf("%s with transaction %s, and ", what, paid.Payment.ID)
	if is {
		return &cli.Failure{Exit: cli.ExitPaid, Reason: cli.ReasonPaidRefused,
			Err: fmt.Errorf("%sthe service refuses that: %v; nothing more is paid to it", what, paid.Err),
			Hint: "ctx pay receipts, to ask its operator about the transaction; ctx pay policy allow " + service +
				", to pay it again"}
	}
	return &cli.Failure{Exit: cli.ExitPaid, Reason: cli.ReasonPaidUnanswered, Err: fmt.Errorf("%snot answered: %v", what, paid.Err),
		Hint: "ctx pay resume, or the same command again: both show the same payment, and pay nothing more"}
}

// ownFailure is what err means for the exit code where a wallet does not pay or a service is not reached, nil for all else.
func ownFailure(err error) *cli.Failure {
	lost, isLost := errors.AsType[*sdk.TransportError](err)
	stopped, isStopped := errors.AsType[*wallet.StoppedError](err)
	broken, isBroken := errors.AsType[*sdk.ProofError](err)
	switch {
	case isBroken:
		return unproven(broken, err)
	case isStopped:
		hint := "ctx pay policy allow " + stopped.Refused.Service + ", if it is to be paid again"
		if stopped.Empty {
			hint = "ctx pay resume, which sends the same payments again; " + hint
		}
		return &cli.Failure{Exit: cli.ExitCap, Reason: "payment_refused", Err: err, Hint: hint}
	case errors.Is(err, wallet.ErrPolicy) || errors.Is(err, wallet.ErrRecipient) || errors.Is(err, wallet.ErrWrongChain):
		return &cli.Failure{Exit: cli.ExitCap, Reason: "payment_refused", Err: err,
			Hint: "ctx pay policy show, for what the wallet may pay"}
	case errors.Is(err, sdk.ErrRequired):
		return &cli.Failure{Exit: cli.ExitPayment, Reason: string(api.ReasonPaymentRequired), Err: err,
			Hint: "nothing was paid; its operator, for what it is paid with"}
	case errors.Is(err, wallet.ErrNode):
		return &cli.Failure{Exit: cli.ExitUnavailable, Reason: "unreachable", Err: err,
			Hint: "ctx config get rpc_url --show-origin, for another node; ctx doctor"}
	case chainRefuses(err):
		return &cli.Failure{Exit: cli.ExitChain, Reason: "payment_failed", Err: err}
	case isLost && (lost.Timeout() || errors.Is(err, context.DeadlineExceeded)):
		return &cli.Failure{Exit: cli.ExitUnavailable, Reason: "timeout", Err: err}
	case isLost:
		return &cli.Failure{Exit: cli.ExitUnavailable, Reason: "unreachable", Err: err}
	}
	return nil
}

// unproven is what a proof that does not hold means for the exit code.
func unproven(broken *sdk.ProofError, err error) *cli.Failure {
	f := &cli.Failure{Exit: cli.ExitUnproven, Reason: string(broken.Reason), Err: err}
	switch broken.Reason {
	case sdk.ProofRestored:
		f.Exit = cli.ExitRestored
		f.Hint = "its operator, for why; then ctx verify --accept-new-log"
	case sdk.ProofForked, sdk.ProofShrunk, sdk.ProofReplaced, sdk.ProofOtherKey:
		f.Hint = "do not rely on this service; ask its operator, and compare with other clients"
	}
	return f
}

// chainRefuses reports whether err says that the chain or the token would refuse a payment.
func chainRefuses(err error) bool {
	return errors.Is(err, wallet.ErrNoFunds) || errors.Is(err, wallet.ErrNoGas) || errors.Is(err, wallet.ErrNoUSDG) ||
		errors.Is(err, wallet.ErrReverted)
}

// Failure is what err means for the exit code. Of a call that was paid for and not answered it tells what the journal knows.
func (f *factory) Failure(err error) *cli.Failure {
	journal, _ := wallet.Payments(f.Wallets.DataDir()) // what cannot be read is not told
	return toFailure(err, journal)
}

// Report tells on stderr what went wrong, in words or, where the output was asked for as JSON, as the envelope of the API: of a
// filter on a terminal in words. It returns the exit code.
func (f *factory) Report(args []string, err error) int {
	if err == nil { // which needs neither journal nor settings
		return cli.ExitOK
	}
	failure := f.Failure(err)
	if failure != nil && failure.Hint == "" {
		failure.Hint = hint(failure)
	}
	spec, _ := f.Spec() // what is wrong with it has been found
	return failure.Report(f.Err, f.Style(f.ErrTTY), spec.Machine() && !(f.ErrTTY && spec.Filtered()) || cli.AsksJSON(args))
}

// hint is what to do next about an error of the service or of the connection: in ctx's own terms where it knows better.
func hint(f *cli.Failure) string {
	if e, ok := errors.AsType[*api.Error](f.Err); ok {
		switch {
		case errors.Is(e, sdk.ErrPaymentRequired):
			return "export CTX_API_KEY=cv_…, or ctx config profile add NAME --api-key-file FILE; " +
				"with a wallet: --pay, or ctx credits buy starter --x402"
		case errors.Is(e, sdk.ErrInvalidToken), errors.Is(e, sdk.ErrKeyRevoked):
			return "another key; ctx config list --show-origin shows where this one is from"
		}
		return e.Hint
	}
	lost, ok := errors.AsType[*sdk.TransportError](f.Err)
	if !ok {
		return ""
	}
	fault, _ := human.Explain(lost)
	switch {
	case lost.Timeout():
		return "--timeout with a longer time, or ctx doctor"
	case fault.Kind == human.FaultHost:
		return "ctx config get base_url --show-origin, to check the address; ctx doctor, to check the network"
	case fault.Kind == human.FaultCertificate:
		return "SSL_CERT_FILE=FILE with the certificate of its issuer, if you trust it; ctx doctor"
	case fault.Next != "":
		return fault.Next + "; ctx doctor"
	}
	return "ctx doctor, or contextd demo for a service on this machine, or --base-url for another"
}

package client

import (
	"context"
	"errors"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// toFailure is err as a Failure: what it means for the exit code. It returns nil for nil and for a reader of stdout that has gone.
func toFailure(err error) *cli.Failure { return cli.ToFailure(err, ownFailure) }

// ownFailure is toFailure for what a wallet does not pay and for a service that is not reached, nil for all else.
func ownFailure(err error) *cli.Failure {
	lost, isLost := errors.AsType[*sdk.TransportError](err)
	switch {
	case errors.Is(err, wallet.ErrPolicy) || errors.Is(err, wallet.ErrRecipient) || errors.Is(err, wallet.ErrWrongChain):
		return &cli.Failure{Exit: cli.ExitCap, Reason: "payment_refused", Err: err,
			Hint: "ctx pay policy show, for what the wallet may pay"}
	case errors.Is(err, wallet.ErrNoGas) || errors.Is(err, wallet.ErrNoUSDG) || errors.Is(err, wallet.ErrReverted):
		return &cli.Failure{Exit: cli.ExitChain, Reason: "payment_failed", Err: err}
	case isLost && (lost.Timeout() || errors.Is(err, context.DeadlineExceeded)):
		return &cli.Failure{Exit: cli.ExitUnavailable, Reason: "timeout", Err: err}
	case isLost:
		return &cli.Failure{Exit: cli.ExitUnavailable, Reason: "unreachable", Err: err}
	}
	return nil
}

// report tells on stderr what went wrong, in words or, where the output was asked for as JSON, as the envelope of the API. It
// returns the exit code.
func report(a *App, args []string, err error) int {
	f := toFailure(err)
	if f != nil && f.Hint == "" {
		f.Hint = hint(f)
	}
	spec, err := a.Spec()
	return f.Report(a.Err, a.Style(a.ErrTTY), err == nil && spec.Machine() || cli.AsksJSON(args))
}

// hint is what to do next about an error of the service or of the connection: in ctx's own terms where it knows better.
func hint(f *cli.Failure) string {
	if e, ok := errors.AsType[*api.Error](f.Err); ok {
		switch {
		case errors.Is(e, sdk.ErrPaymentRequired):
			return "export CTX_API_KEY=cv_…, or ctx profile add NAME --api-key-file FILE"
		case errors.Is(e, sdk.ErrInvalidToken), errors.Is(e, sdk.ErrKeyRevoked):
			return "another key; ctx config list --show-origin tells where this one comes from"
		}
		return e.Hint
	}
	lost, ok := errors.AsType[*sdk.TransportError](f.Err)
	switch {
	case !ok:
		return ""
	case lost.Timeout():
		return "--timeout with a longer time, or ctx doctor"
	}
	return "ctx doctor, or contextd demo for a service on this machine, or --base-url for another"
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Exit codes. A code that is not listed is a failure.
const (
	ExitOK          = 0
	ExitFailure     = 1   // anything else, and a bug of the service
	ExitDeclined    = 2   // the user said no, or Ctrl-C at a question
	ExitUsage       = 3   // flags, arguments, configuration; 400
	ExitAuth        = 4   // no key where one is needed, unknown, revoked; 401
	ExitPayment     = 5   // to be paid, no credits; 402
	ExitAccess      = 6   // 403
	ExitNotFound    = 7   // 404
	ExitQuota       = 8   // 429
	ExitUnavailable = 9   // no answer, no state yet, timeout; 502, 503, 504
	ExitStale       = 10  // older than --max-age
	ExitCap         = 11  // the wallet's policy refuses the payment
	ExitChain       = 12  // the chain or the token refuses it, or the wallet has not enough
	ExitPaid        = 13  // paid for, and not answered
	ExitUnproven    = 14  // a proof does not hold, or the log of a service is not the one that was known
	ExitRestored    = 15  // the log of a service is another one, as it restored a backup
	ExitInterrupted = 130 // Ctrl-C
)

// Reasons of a Failure whose call was paid for.
const (
	ReasonPaidUnanswered = "paid_unanswered" // the same payment may still be answered
	ReasonPaidRefused    = "paid_refused"
)

// Failure is an error with its exit code and what to do next.
type Failure struct {
	Exit   int
	Reason string // as api.Reason; for errors of the programs: usage, unreachable, timeout, stale, declined, interrupted
	Err    error
	Hint   string // a command or a step, after "try: "
	Usage  string // how the command is called, for flag errors
}

// Error is the text of the cause, with what the system and Go's libraries say in words.
func (f *Failure) Error() string { return human.Words(f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// WithHint sets what to do next and returns f.
func (f *Failure) WithHint(format string, args ...any) *Failure {
	f.Hint = fmt.Sprintf(format, args...)
	return f
}

// Invalid makes the Failure of a user's mistake.
func Invalid(format string, args ...any) *Failure {
	return &Failure{Exit: ExitUsage, Reason: "usage", Err: fmt.Errorf(format, args...)}
}

// ToFailure is err as a Failure: what it means for the exit code. It returns nil for nil and for a reader of stdout that has gone.
// What only one program knows is asked of own, which returns nil for all else.
func ToFailure(err error, own func(error) *Failure) *Failure {
	if err == nil || readerGone(err) && own(err) == nil {
		return nil
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if errors.Is(err, context.Canceled) {
		return &Failure{Exit: ExitInterrupted, Reason: "interrupted", Err: errors.New("interrupted")}
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		return &Failure{Exit: exitOf(e.Status), Reason: string(e.Reason), Err: err}
	}
	if f := own(err); f != nil {
		return f
	}
	if _, ok := errors.AsType[*FieldError](err); ok {
		return Invalid("%w", err).WithHint("--json alone lists the fields")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Failure{Exit: ExitUnavailable, Reason: "timeout", Err: err}
	}
	return &Failure{Exit: ExitFailure, Reason: "failure", Err: err}
}

// readerGone reports whether err is of a pipe that is read no more, such as that to head, and not of a connection.
func readerGone(err error) bool {
	_, connection := errors.AsType[*net.OpError](err)
	return errors.Is(err, syscall.EPIPE) && !connection
}

// exitOf is the exit code for an HTTP status.
func exitOf(status int) int {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusRequestEntityTooLarge:
		return ExitUsage
	case http.StatusUnauthorized:
		return ExitAuth
	case http.StatusPaymentRequired:
		return ExitPayment
	case http.StatusForbidden:
		return ExitAccess
	case http.StatusNotFound:
		return ExitNotFound
	case http.StatusTooManyRequests:
		return ExitQuota
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ExitUnavailable
	}
	return ExitFailure
}

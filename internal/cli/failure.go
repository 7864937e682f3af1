package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
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
	ExitRefuted     = 16  // a text says what the data do not
	ExitConsistent  = 17  // a proof holds, by a key that only the file with it names
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

// Report tells on w what went wrong, in words or as the envelope of the API, and returns the exit code. A nil f is success, and an
// interrupted command says nothing: who did it knows.
func (f *Failure) Report(w io.Writer, style Style, asJSON bool) int {
	if f == nil {
		return ExitOK
	}
	if fault, ok := human.Explain(f.Err); ok && f.Hint == "" {
		f.Hint = fault.Next
	}
	switch {
	case f.Exit == ExitInterrupted:
	case asJSON && f.Reason != reasonFields:
		fmt.Fprintln(w, f.envelope())
	default:
		fmt.Fprint(w, f.words(style))
	}
	return f.Exit
}

// AsksJSON reports whether the arguments of a program ask for JSON. It is for where its flags were not all parsed, as those after a
// wrong one are not.
func AsksJSON(args []string) bool {
	for i, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--json" || strings.HasPrefix(arg, "--json=") || slices.Contains([]string{"-ojson", "--output=json", "-o=json"}, arg) ||
			i > 0 && arg == "json" && (args[i-1] == "-o" || args[i-1] == "--output") {
			return true
		}
	}
	return false
}

// wire is an error as JSON shows it.
type wire struct {
	Code      api.Code `json:"code"`
	Reason    string   `json:"reason"`
	Message   string   `json:"message"`
	RequestID string   `json:"requestId"`
	Hint      string   `json:"hint"`
	Status    int      `json:"status"` // 0 where the service said nothing
}

func (f *Failure) envelope() string {
	w := wire{Code: f.Code(), Reason: f.Reason, Message: f.Error(), Hint: f.Hint}
	if e, ok := errors.AsType[*api.Error](f.Err); ok {
		w = wire{e.Code, string(e.Reason), e.Message, e.RequestID, f.Hint, e.Status}
	}
	text, err := Marshal(map[string]wire{"error": w})
	if err != nil {
		return `{"error":{"code":"INTERNAL_ERROR","message":"the error could not be encoded"}}`
	}
	return string(text)
}

// Code is the code of an error that is not the service's.
func (f *Failure) Code() api.Code {
	switch f.Reason {
	case "usage", "no_such_path", "declined":
		return api.CodeValidation
	case "timeout":
		return api.CodeUpstreamTimeout
	case "unreachable", "stale", ReasonPaidUnanswered:
		return api.CodeUpstreamError
	case ReasonPaidRefused:
		return api.CodePaymentInvalid
	case "payment_refused", "payment_failed":
		return api.CodePaymentRequired
	case string(api.ReasonMissingSession):
		return api.CodeAuthMissing
	}
	return api.CodeInternal
}

// words is f for people: what happened, what to do next, and the request id.
func (f *Failure) words(style Style) string {
	message, request, retry, label, sources := f.Error(), "", "", "try: ", ""
	if e, ok := errors.AsType[*api.Error](f.Err); ok {
		message, request = e.Message, e.RequestID
		if e.Reason != "" {
			message = fmt.Sprintf("%d %s: %s", e.Status, e.Reason, e.Message)
		}
		if f.Hint == e.Hint { // the service's own words need not be a command
			label = ""
		}
		if e.RetryAfter > 0 {
			retry = human.Age(e.RetryAfter)
		}
		sources = whyNot(e.SourceStatus)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", style.Bad(style.Mark("error")), human.Text(message))
	for _, line := range []struct{ label, text string }{
		{"usage: ", f.Usage}, {"", sources}, {label, f.Hint}, {"retry after ", retry}, {"request ", request},
	} {
		if line.text != "" {
			fmt.Fprintf(&b, "  %s%s\n", line.label, human.Line(line.text))
		}
	}
	return b.String()
}

// whyNot says in a line why sources give nothing, the most frequent reason first, "" where none fails.
func whyNot(list []api.SourceStatus) string {
	of := map[string][]string{} // ids by reason
	failing := 0
	for _, s := range list {
		if s.Error != nil {
			failing++
			of[*s.Error] = append(of[*s.Error], s.ID)
		}
	}
	if failing == 0 {
		return ""
	}
	reasons := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(of[b]), len(of[a])), cmp.Compare(a, b))
	})
	const most = 3 // reasons that are told
	if len(reasons) == 1 && failing > 1 {
		why := fmt.Sprintf("%d of %d sources fail: %s", failing, len(list), reasons[0])
		if failing == len(list) && strings.HasPrefix(reasons[0], "network") {
			why += "; is there a network where the service runs?"
		}
		return why
	}
	for i, reason := range reasons[:min(len(reasons), most)] {
		who := of[reason][0]
		if n := len(of[reason]); n > 1 {
			who = fmt.Sprintf("%d sources", n)
		}
		reasons[i] = who + ": " + reason
	}
	return fmt.Sprintf("%d of %d sources fail: %s", failing, len(list), strings.Join(reasons[:min(len(reasons), most)], "; "))
}

package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// report tells on stderr what went wrong, in words or, where the output was asked for as JSON, as the envelope of the API. It
// returns the exit code.
func report(a *App, args []string, err error) int {
	f := Judge(err)
	switch {
	case f == nil:
		return ExitOK
	case f.Exit == ExitInterrupted:
		return f.Exit
	}
	if f.Hint == "" {
		f.Hint = hint(a, f)
	}
	if f.Reason != ReasonFields && wantsJSON(a, args) {
		fmt.Fprintln(a.Err, envelope(f))
	} else {
		fmt.Fprint(a.Err, words(f, a.Style(a.ErrTTY)))
	}
	return f.Exit
}

// wantsJSON reports whether the output was asked for as JSON. After a wrong flag the flags that follow it are not parsed; then it
// goes by the arguments.
func wantsJSON(a *App, args []string) bool {
	if spec, err := a.Spec(); err == nil && spec.Machine() {
		return true
	}
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

// envelope is f as JSON.
func envelope(f *Failure) string {
	w := wire{Code: codeOf(f), Reason: f.Reason, Message: f.Error(), Hint: f.Hint}
	if e, ok := errors.AsType[*api.Error](f.Err); ok {
		w = wire{e.Code, string(e.Reason), e.Message, e.RequestID, f.Hint, e.Status}
	}
	text, err := cli.Marshal(map[string]wire{"error": w})
	if err != nil {
		return `{"error":{"code":"INTERNAL_ERROR","message":"the error could not be encoded"}}`
	}
	return string(text)
}

// codeOf is the code of an error that is not the service's.
func codeOf(f *Failure) api.Code {
	switch f.Reason {
	case "usage", "no_such_path", "declined":
		return api.CodeValidation
	case "timeout":
		return api.CodeUpstreamTimeout
	case "unreachable", "stale":
		return api.CodeUpstreamError
	}
	return api.CodeInternal
}

// words is f for people: what happened, what to do next, and the request id.
func words(f *Failure, style cli.Style) string {
	message, request, retry, label := f.Error(), "", "", "try: "
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
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", style.Bad(style.Mark("error")), human.Text(message))
	for _, line := range []struct{ label, text string }{{"usage: ", f.Usage}, {label, f.Hint}, {"retry after ", retry}, {"request ", request}} {
		if line.text != "" {
			fmt.Fprintf(&b, "  %s%s\n", line.label, human.Line(line.text))
		}
	}
	return b.String()
}

// hint is what to do next about an error of the service or of the connection: in ctx's own terms where it knows better.
func hint(a *App, f *Failure) string {
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

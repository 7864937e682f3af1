package screen

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/text"
)

// Explain makes the Problem of an error.
func Explain(err error) session.Problem {
	if err == nil {
		return session.Problem{What: "no connection"}
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		return explainRefusal(e)
	}
	lost, ok := errors.AsType[*sdk.TransportError](err)
	switch {
	case ok && lost.Timeout() || errors.Is(err, context.DeadlineExceeded):
		return session.Problem{What: "the service did not answer in time", Next: "r tries again"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return session.Problem{What: "nothing answers at the address of the service", Next: "is it running? r tries again at once"}
	case ok:
		return session.Problem{What: text.Line(lost.Err.Error()), Next: "r tries again at once"}
	}
	return session.Problem{What: text.Line(err.Error())}
}

// explainRefusal makes the Problem of what the service refused.
func explainRefusal(e *api.Error) session.Problem {
	p := session.Problem{What: text.Line(e.Message), Next: text.Line(e.Hint), RequestID: text.Line(e.RequestID)}
	if p.What == "" {
		p.What = fmt.Sprintf("the service answered with status %d", e.Status)
	}
	switch {
	case errors.Is(e, sdk.ErrPaymentRequired):
		p.What, p.Next = "a key is needed", "quit, then: ctx keys create NAME --save"
	case errors.Is(e, sdk.ErrKeyRevoked), errors.Is(e, sdk.ErrInvalidToken):
		p.Next = "quit, then: ctx keys create NAME --save"
	case errors.Is(e, sdk.ErrMissingSession), errors.Is(e, sdk.ErrInvalidSession):
		p.What, p.Next = "you are not signed in any more", "quit, then: ctx auth login --email you@example.com"
	}
	if e.RetryAfter > 0 {
		p.Next = "try again in " + text.Age(e.RetryAfter)
	}
	return p
}

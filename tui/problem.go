package tui

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Unopened is an address that no browser could be brought to show.
type Unopened struct{ URL string }

// Error says so.
func (e *Unopened) Error() string { return "no browser opened " + e.URL }

// Explain makes the Problem of an error, for who has such keys.
func Explain(keys view.Keymap, err error) session.Problem {
	again := view.KeyLabel(keys.Reconnect) + " tries again"
	if err == nil {
		return session.Problem{What: "no connection"}
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		return explainRefusal(keys, e)
	}
	lost, ok := errors.AsType[*sdk.TransportError](err)
	fault, _ := human.Explain(err)
	switch {
	case ok && lost.Timeout() || errors.Is(err, context.DeadlineExceeded):
		return session.Problem{What: "the service did not answer in time", Next: again}
	case fault.Kind == human.FaultRefused:
		return session.Problem{What: "nothing answers at the address of the service", Next: "is it running? " + again + " at once"}
	case ok && errors.Is(lost.Err, io.EOF):
		return session.Problem{What: "the connection broke off", Next: again + " at once"}
	case ok:
		return session.Problem{What: view.Line(human.Words(lost.Err)), Next: again + " at once"}
	}
	if shown, ok := errors.AsType[*Unopened](err); ok {
		return session.Problem{What: shown.Error(), Next: view.KeyLabel(keys.Copy) + " copies it"}
	}
	return session.Problem{What: view.Line(err.Error())}
}

// explainRefusal makes the Problem of what the service refused.
func explainRefusal(keys view.Keymap, e *api.Error) session.Problem {
	p := session.Problem{What: view.Line(e.Message), Next: view.Line(e.Hint), RequestID: view.Line(e.RequestID)}
	if p.What == "" {
		p.What = fmt.Sprintf("the service answered with status %d", e.Status)
	}
	switch {
	case errors.Is(e, sdk.ErrPackAccessDenied), errors.Is(e, sdk.ErrInsufficientCredits):
		p.Word = "NO ACCESS"
		p.Next = view.KeyLabel(keys.Pack) + " shows another pack, " + view.KeyLabel(keys.Tab[6]) + " buys credits"
	case errors.Is(e, sdk.ErrPaymentRequired):
		p.What, p.Next = "a key is needed", "quit, then: ctx keys create NAME --save"
	case errors.Is(e, sdk.ErrKeyRevoked), errors.Is(e, sdk.ErrInvalidToken):
		p.Next = "quit, then: ctx keys create NAME --save"
	case errors.Is(e, sdk.ErrMissingSession), errors.Is(e, sdk.ErrInvalidSession):
		p.What, p.Next = "you are not signed in any more", "quit, then: ctx login --email you@example.com"
	}
	if e.RetryAfter > 0 {
		p.Next = "try again in " + human.Age(e.RetryAfter)
	}
	return p
}

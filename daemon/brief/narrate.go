package brief

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/brief/ground"
)

// Finding is one reason why a text is not published.
type Finding = ground.Finding

// Check holds a text against the state it is about, as package ground says. Nil means that it may be published.
func Check(text string, in Input) []Finding { return ground.Check(text, in.State, in.Citations) }

// Refusal says why the text of a writer was not taken.
type Refusal struct {
	Writer   string
	Again    bool      // it was the text that should have mended the one before
	Text     string    // what it wrote, "" if it failed
	Err      error     // the writer failed; nil if it wrote something
	Findings []Finding // what Check found in its text
	Usage    Usage
}

// Error tells the failure or the first finding.
func (r *Refusal) Error() string {
	name := r.Writer
	if r.Again {
		name += ", second text"
	}
	switch {
	case r.Err != nil:
		return fmt.Sprintf("%s: %v", name, r.Err)
	case len(r.Findings) > 1:
		return fmt.Sprintf("%s: %v, and %d more", name, r.Findings[0], len(r.Findings)-1)
	}
	return fmt.Sprintf("%s: %v", name, r.Findings[0])
}

// Kind says in a word why the text was not taken: failed, or the kind of the first finding.
func (r *Refusal) Kind() string {
	if r.Err != nil {
		return "failed"
	}
	return string(r.Findings[0].Kind)
}

// Unwrap returns the writer's own error, nil if its text was refused.
func (r *Refusal) Unwrap() error { return r.Err }

// Result is what became of a brief.
type Result struct {
	Text    string     // that passed; "" if none did
	Writer  string     // who wrote it
	Refused []*Refusal // the texts before, in order
	Usage   Usage      // of all texts
}

// Reasons are the reasons of the refusals, in order.
func (r Result) Reasons() (list []string) {
	for _, refusal := range r.Refused {
		list = append(list, refusal.Error())
	}
	return list
}

// ErrNoBrief is returned when no writer wrote a text that passes.
var ErrNoBrief = errors.New("no writer wrote a brief that passes the check")

// Narrate returns the first brief, in the order of writers, that passes Check. A writer whose text has findings may mend it once,
// if it can. Each text may take as long as timeout, 0 for any time, so that one that hangs leaves the next its own. A text with
// findings is never returned as Text: if none passes, the error is an ErrNoBrief with every Refusal. The end of ctx ends the search.
func Narrate(ctx context.Context, writers []Writer, in Input, timeout time.Duration) (result Result, err error) {
	reasons := []error{ErrNoBrief}
	for _, w := range writers {
		write := w.Write
		for again := false; write != nil; again = true {
			if err := ctx.Err(); err != nil {
				return result, fmt.Errorf("write brief: %w", err)
			}
			r := try(ctx, write, in, timeout)
			result.Usage = result.Usage.Plus(r.Usage)
			if r.Err == nil && len(r.Findings) == 0 {
				result.Text = r.Text
				result.Writer = w.Name()
				return result, nil
			}
			r.Writer = w.Name()
			r.Again = again
			result.Refused = append(result.Refused, r)
			reasons = append(reasons, r)
			write = nil
			if repairer, can := w.(Repairer); can && !again && r.Err == nil {
				write = func(ctx context.Context, in Input) (Draft, error) { return repairer.Repair(ctx, in, r) }
			}
		}
	}
	return result, errors.Join(reasons...)
}

// try has one text written and checks it.
func try(ctx context.Context, write func(context.Context, Input) (Draft, error), in Input, timeout time.Duration) *Refusal {
	if timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = bounded
	}
	draft, err := write(ctx, in)
	if err != nil {
		return &Refusal{Err: err, Usage: draft.Usage}
	}
	return &Refusal{Text: draft.Text, Findings: Check(draft.Text, in), Usage: draft.Usage}
}

package brief

import (
	"context"
	"errors"
	"fmt"

	"github.com/contextd/contextd/daemon/brief/ground"
)

// Finding is one reason why a text is not published.
type Finding = ground.Finding

// Check holds a text against the state it is about, as package ground says. Nil means that it may be published.
func Check(text string, in Input) []Finding { return ground.Check(text, in.State, in.Citations) }

// Refusal says why the text of a writer was not taken.
type Refusal struct {
	Writer   string
	Err      error     // the writer failed; nil if it wrote something
	Findings []Finding // what Check found in its text
}

// Error tells the failure or the first finding.
func (r *Refusal) Error() string {
	switch {
	case r.Err != nil:
		return fmt.Sprintf("%s: %v", r.Writer, r.Err)
	case len(r.Findings) > 1:
		return fmt.Sprintf("%s: %v, and %d more", r.Writer, r.Findings[0], len(r.Findings)-1)
	}
	return fmt.Sprintf("%s: %v", r.Writer, r.Findings[0])
}

// Unwrap returns the writer's own error, nil if its text was refused.
func (r *Refusal) Unwrap() error { return r.Err }

// Result is a brief that passed.
type Result struct {
	Text    string
	Writer  string     // who wrote it
	Refused []*Refusal // the writers tried before, in order
}

// ErrNoBrief is returned when no writer wrote a text that passes.
var ErrNoBrief = errors.New("no writer wrote a brief that passes the check")

// Narrate returns the first brief, in the order of writers, that passes Check. A text with findings is never returned: if none
// passes, the error is an ErrNoBrief with every Refusal, and the end of ctx ends the search.
func Narrate(ctx context.Context, writers []Writer, in Input) (Result, error) {
	var refused []*Refusal
	reasons := []error{ErrNoBrief}
	for _, w := range writers {
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("write brief: %w", err)
		}
		text, err := w.Write(ctx, in)
		r := &Refusal{Writer: w.Name(), Err: err}
		if err == nil {
			r.Findings = Check(text, in)
			if len(r.Findings) == 0 {
				return Result{Text: text, Writer: r.Writer, Refused: refused}, nil
			}
		}
		refused = append(refused, r)
		reasons = append(reasons, r)
	}
	return Result{}, errors.Join(reasons...)
}

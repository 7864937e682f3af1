package brief

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/state"
)

// Report says what became of the briefs of a pack.
type Report struct {
	Pack     string      `json:"pack"`
	Writers  []string    `json:"writers"`  // in order
	Briefs   []Published `json:"briefs"`   // newest first
	Findings []string    `json:"findings"` // why the newest should not have been published; empty if it holds
	Unknown  string      `json:"unknown"`  // why the newest could not be checked, "" if it was
	Owners   Owners      `json:"owners"`
	Day      string      `json:"day"` // of UTC, that Taken is of
	Taken    Usage       `json:"taken"`
	Limit    Limit       `json:"limit"`
}

// Published is a brief of the pack.
type Published struct {
	At          time.Time `json:"at"`
	GeneratedAt time.Time `json:"generatedAt"` // of the state it is about
	Writer      string    `json:"writer"`
	Refused     []string  `json:"refused"` // why texts before it were not taken
}

// Owners counts the newest briefs by owners' own prompts.
type Owners struct {
	Written int `json:"written"`
	Failed  int `json:"failed"`
}

const reported = 7

// Check reports on the briefs of pack and checks the newest again.
func (e *Editor) Check(ctx context.Context, pack string) (Report, error) {
	if err := e.served(pack); err != nil {
		return Report{}, err
	}
	r := Report{Pack: pack, Briefs: []Published{}, Findings: []string{}, Day: Day(e.cfg.Now()), Limit: e.cfg.Limit}
	for _, w := range e.Writers(pack) {
		r.Writers = append(r.Writers, w.Name())
	}
	var err error
	if r.Taken, err = e.cfg.Store.Writing(ctx, r.Day); err != nil {
		return r, err
	}
	if r.Owners.Written, r.Owners.Failed, err = e.cfg.Store.OwnerBriefs(ctx, pack); err != nil {
		return r, err
	}
	briefs, err := e.cfg.History.Briefs(ctx, pack, reported)
	if err != nil {
		return r, err
	}
	for _, b := range briefs {
		p := Published{At: b.At, GeneratedAt: b.Of, Writer: b.Writer, Refused: []string{}}
		if b.Refused != "" {
			p.Refused = strings.Split(b.Refused, "\n")
		}
		r.Briefs = append(r.Briefs, p)
	}
	if len(briefs) == 0 {
		r.Unknown = "there is no brief yet"
		return r, nil
	}
	pulse, err := e.cfg.History.PulseBefore(ctx, pack, briefs[0].Of.Add(time.Millisecond))
	switch {
	case errors.Is(err, state.ErrNoPulse) || err == nil && !pulse.GeneratedAt.Equal(briefs[0].Of):
		r.Unknown = "its state is not kept any more"
	case err != nil:
		return r, err
	default:
		in := Input{Pack: pack, State: pulse.Read(), Citations: pulse.Citations}
		r.Findings = append(r.Findings, lines(Check(briefs[0].Text, in))...)
	}
	return r, nil
}

package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/check"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// sampled is how many earlier states a figure is looked for in, over the day before the moment of the check.
const sampled = 96

// readyCheck returns the error for a text that is none, or has more figures than are judged.
func readyCheck(q api.Query) error {
	if !utf8.ValidString(q.Text) {
		return api.Errorf(api.ReasonInvalidText, "text is not UTF-8").WithHint("send it as UTF-8")
	}
	if n := len(prose.Numbers(prose.Flatten(q.Text).Text, api.MaxCheckFigures+1)); n > api.MaxCheckFigures {
		return api.Errorf(api.ReasonInvalidText, "text has more than %d numbers", api.MaxCheckFigures).WithHint("send it in parts")
	}
	return nil
}

// check judges the figures of a text against what all sources last gave, or against a state of the past.
func (r *Reader) check(ctx context.Context, v View, window time.Duration) (Answer, error) {
	report, pulse, err := r.judged(ctx, v, window)
	if err != nil {
		return Answer{}, err
	}
	answer := api.CheckResponse{
		Verdict: report.Verdict(), Judged: report.Judged(), Verified: report.Counts[api.CheckVerified],
		Refuted: report.Counts[api.CheckRefuted], Stale: report.Counts[api.CheckStale], Unknown: report.Counts[api.CheckUnknown],
		At: pulse.GeneratedAt, Findings: append([]api.CheckFinding{}, report.Findings...), Citations: []api.Citation{},
		Notices: v.pack.Notices,
	}
	answer.Clear = answer.Refuted+answer.Stale == 0
	for _, c := range pulse.Citations {
		if slices.Contains(report.Refs, c.Ref) {
			answer.Citations = append(answer.Citations, c)
		}
	}
	if now := r.cfg.Now(); v.At.At.IsZero() {
		answer.Freshness = v.edition.Freshness(now)
	} else {
		answer.Freshness = pulse.Read().Ages().Freshness(pulse.GeneratedAt, now)
		answer.Freshness.Sources, answer.Freshness.Flags = nil, nil // they do nothing now that this is about
	}
	a, err := encode(answer)
	a.Nothing, a.Proof = answer.Judged == 0, proven(v.Query, pulse.Proof)
	return a, err
}

// judged is what became of the figures of v's text, and the state that it was judged by.
func (r *Reader) judged(ctx context.Context, v View, window time.Duration) (check.Report, state.Pulse, error) {
	pulse, now := v.edition.Pulse, r.cfg.Now()
	m := check.Material{
		Tables: v.edition.Rows, Shown: v.pack.Shown, Within: cmp.Or(v.Span, api.CheckWithin), All: v.All,
		Late: func(row *state.Row) bool {
			stale, _ := v.edition.RowAt(row, now)
			return stale
		},
	}
	if !v.At.At.IsZero() {
		var err error
		if pulse, err = r.past(ctx, v, window); err != nil {
			return check.Report{}, pulse, err
		}
		m.Past, m.Late = true, nil
	}
	m.At, m.State, m.Citations = pulse.GeneratedAt, pulse.Read(), pulse.Citations
	report := check.Judge(v.Text, m)
	if !report.Asks {
		return report, pulse, nil
	}
	samples, err := r.samples(ctx, v, pulse, window)
	if err != nil || len(samples) == 0 {
		return report, pulse, err
	}
	m.Samples = samples
	return check.Judge(v.Text, m), pulse, nil
}

// samples are what states had in the day before one, as far back as the caller may read, the newest first.
func (r *Reader) samples(ctx context.Context, v View, of state.Pulse, window time.Duration) (list []check.Sample, err error) {
	first, err := r.cfg.History.Earliest(ctx, v.pack.ID)
	if errors.Is(err, state.ErrNoPulse) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for earlier states of %s: %w", v.pack.ID, err)
	}
	now := r.cfg.Now()
	if !v.asOf.IsZero() {
		now = v.asOf
	}
	begin := of.GeneratedAt.Add(-24 * time.Hour)
	for _, least := range []time.Time{first, now.Add(-window)} {
		if least.After(begin) {
			begin = least
		}
	}
	end := of.GeneratedAt.Add(-time.Millisecond)
	if !begin.Before(end) {
		return nil, nil
	}
	last := of.GeneratedAt
	for p, err := range r.cfg.History.Past(ctx, v.pack.ID, slices.Values(state.Times(end, end.Sub(begin), sampled))) {
		if err != nil {
			return nil, fmt.Errorf("read earlier states of %s: %w", v.pack.ID, err)
		}
		if len(p.State) == 0 || p.GeneratedAt.Equal(last) {
			continue
		}
		last = p.GeneratedAt
		list = append(list, check.NewSample(p.GeneratedAt, p.Read(), v.pack.Shown))
	}
	slices.Reverse(list)
	return list, nil
}

// anyJudged is the error for a text of which nothing can be judged.
func (r *Reader) anyJudged(ctx context.Context, v View, window time.Duration) error {
	report, _, err := r.judged(ctx, v, window)
	if err != nil || report.Judged() > 0 {
		return err
	}
	none := api.Errorf(api.ReasonNothingFound, "pack %s can judge no figure of the text", v.Pack)
	for _, f := range report.Findings {
		if f.Reason != "" && f.Reason != api.CheckCharacter {
			return none.WithHint("%q is unknown: %s", f.Text, f.Reason)
		}
	}
	return none.WithHint("write figures with the name of what they are of: Bitcoin is at $91,240")
}

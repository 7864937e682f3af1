package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
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

// Check judges a text that somebody wrote against what all sources last gave, or with at against a state of the past, with what is
// verified.
func (r *Reader) Check(ctx context.Context, pack, text, at string, window time.Duration) (api.CheckResponse, error) {
	params := url.Values{"pack": {pack}, "text": {text}, "all": {"true"}}
	if at != "" {
		params.Set("at", at)
	}
	q, err := api.Parse(api.OpCheck, api.FaceHTTP, params)
	if err != nil {
		return api.CheckResponse{}, err
	}
	v, err := r.Ready(q)
	if err != nil {
		return api.CheckResponse{}, err
	}
	answer, _, err := r.verdicts(ctx, v, window)
	return answer, err
}

// check judges the figures of a text against what all sources last gave, or against a state of the past.
func (r *Reader) check(ctx context.Context, v View, window time.Duration) (Answer, error) {
	answer, of, err := r.verdicts(ctx, v, window)
	if err != nil {
		return Answer{}, err
	}
	a, err := encode(answer)
	a.Nothing, a.Proof = answer.Judged == 0, proven(v.Query, of)
	return a, err
}

// verdicts are the answer to check, and the leaf of the state that it is by.
func (r *Reader) verdicts(ctx context.Context, v View, window time.Duration) (answer api.CheckResponse, of api.Proof, err error) {
	report, m, pulse, err := r.judged(ctx, v, window)
	if err != nil {
		return answer, of, err
	}
	var fresh api.Freshness
	if now := r.cfg.Now(); v.At.At.IsZero() {
		fresh = v.edition.Freshness(now)
	} else {
		fresh = pulse.Freshness(now)
		fresh.Sources, fresh.Flags = nil, nil // they do nothing now that this is about
	}
	answer = report.Answer(m, fresh, v.pack.Notices)
	if v.Basis && r.cfg.Sign != nil && pulse.Proof.Log != "" {
		answer.Basis, err = r.basis(v, m, fresh, pulse.Proof)
	}
	return answer, pulse.Proof, err
}

// basis is what the text of v was judged against, signed for the state of a leaf.
func (r *Reader) basis(v View, m check.Material, fresh api.Freshness, of api.Proof) (*api.CheckBasis, error) {
	text, err := check.NewBasis(v.Text, m, fresh, v.pack.Notices)
	if err != nil {
		return nil, err
	}
	note, err := r.cfg.Sign(of.Log, of.Leaf, string(text))
	if err != nil {
		return nil, fmt.Errorf("sign what a text was judged against: %w", err)
	}
	return &api.CheckBasis{Text: string(text), Note: string(note)}, nil
}

// judged is what became of the figures of v's text, what it was judged against, and the state of that.
func (r *Reader) judged(ctx context.Context, v View, window time.Duration) (check.Report, check.Material, state.Pulse, error) {
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
			return check.Report{}, m, pulse, err
		}
		m.Past, m.Late = true, nil
	}
	m.At, m.State, m.Citations = pulse.GeneratedAt, pulse.Read(), pulse.Citations
	past := earlier{Reader: r, ctx: ctx, v: v, of: pulse, begin: r.begin(v, pulse, window)}
	m.Earlier = past.points
	report := check.Judge(v.Text, m)
	return report, m, pulse, past.err
}

// begin is the first moment of the day before a state that the caller may read.
func (r *Reader) begin(v View, of state.Pulse, window time.Duration) time.Time {
	now := r.cfg.Now()
	if !v.asOf.IsZero() {
		now = v.asOf
	}
	begin := of.GeneratedAt.Add(-24 * time.Hour)
	if least := now.Add(-window); least.After(begin) {
		return least
	}
	return begin
}

// earlier is what numbers were before a state: since the start of the process those of all rows, before that those that states show.
type earlier struct {
	*Reader
	ctx     context.Context
	v       View
	of      state.Pulse
	begin   time.Time
	read    bool
	samples []check.Sample
	err     error
}

func (e *earlier) points(kind, key, field string) []state.Point {
	trail := e.v.edition.Trail()
	list := trail.Before(e.begin, e.of.GeneratedAt, kind, key, field)
	until := trail.Since()
	if until.IsZero() || until.After(e.of.GeneratedAt) {
		until = e.of.GeneratedAt
	}
	if !e.read {
		e.read = true
		e.samples, e.err = e.states(until)
	}
	for _, s := range e.samples {
		if n, is := s.Number(kind, key, field); is {
			list = append(list, state.Point{At: s.At, Value: n})
		}
	}
	return list
}

// states are those from the first moment that the caller may read up to another, the newest first.
func (e *earlier) states(until time.Time) (list []check.Sample, err error) {
	first, err := e.cfg.History.Earliest(e.ctx, e.v.pack.ID)
	if errors.Is(err, state.ErrNoPulse) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for earlier states of %s: %w", e.v.pack.ID, err)
	}
	begin, end := e.begin, until.Add(-time.Millisecond)
	if first.After(begin) {
		begin = first
	}
	if !begin.Before(end) {
		return nil, nil
	}
	var last time.Time
	for p, err := range e.cfg.History.Past(e.ctx, e.v.pack.ID, slices.Values(state.Times(end, end.Sub(begin), sampled))) {
		if err != nil {
			return nil, fmt.Errorf("read earlier states of %s: %w", e.v.pack.ID, err)
		}
		if len(p.State) == 0 || p.GeneratedAt.Equal(last) {
			continue
		}
		last = p.GeneratedAt
		list = append(list, check.NewSample(p.GeneratedAt, p.Read(), e.v.pack.Shown))
	}
	slices.Reverse(list)
	return list, nil
}

// anyJudged is the error for a text of which nothing can be judged.
func (r *Reader) anyJudged(ctx context.Context, v View, window time.Duration) error {
	report, _, _, err := r.judged(ctx, v, window)
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

package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// toldBrief is the brief that is told, and the state that it was written from, zero where that is not kept.
type toldBrief struct {
	brief state.Brief
	of    state.Pulse
	daily bool // it is a model's, and told until the next one is due
}

// with is the brief as it is told with p: one that was written from an older state comes with its own citations and with what came since.
func (t toldBrief) with(p state.Pulse) state.Narration {
	n := state.Narration{Brief: t.brief}
	if t.brief.Text == "" || t.brief.Of.Equal(p.GeneratedAt) {
		return n
	}
	if n.Citations = t.of.Citations; n.Citations == nil {
		n.Citations = p.Citations
	}
	n.Since = brief.Since(t.of.Doc, t.brief.Of, brief.Input{Pack: p.Pack, State: p.Read(), Citations: p.Citations})
	return n
}

// stands reports whether a model's brief is told with new states. The caller holds mu.
func (p *Pipeline) stands() bool { return p.told.daily && len(p.cfg.Models) > 0 }

// narrateState writes the brief of pulse by rules, unless a model's is told. It is zero where there is none.
func (p *Pipeline) narrateState(ctx context.Context, pulse state.Pulse) (own state.Brief, err error) {
	p.mu.Lock()
	stands := p.stands()
	p.mu.Unlock()
	if stands {
		return own, nil
	}
	if len(p.cfg.Models) == 0 {
		if done, ok := p.cfg.Track(p.cfg.Pack.ID, JobBrief); ok {
			defer func() { done(err) }()
		}
	}
	own, _, err = p.write(ctx, []brief.Writer{p.cfg.Writer}, pulse)
	switch {
	case ctx.Err() != nil:
		return state.Brief{}, ctx.Err()
	case err != nil: // the state counts more, and the brief before says of what it is
		p.cfg.Logger.Error("brief not written", "error", err, "generated_at", pulse.GeneratedAt)
		return state.Brief{}, nil
	}
	return own, nil
}

// publish publishes pulse with the brief that was written of it. A model may have been faster: then its own is told.
func (p *Pipeline) publish(pulse state.Pulse, own state.Brief, rows *state.Tables) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.newest.Proof.Log; was != "" && was != pulse.Proof.Log {
		p.cfg.Logger.Error("the transparency log is damaged: another one follows it", "log", was, "follows", pulse.Proof.Log)
	}
	p.newest = pulse
	if own.Text != "" && !p.stands() {
		p.told = toldBrief{brief: own, of: pulse}
	}
	return p.cfg.Feed.Publish(pulse, p.told.with(pulse), rows)
}

// write has a brief of pulse written and checked by the first writer whose text passes.
func (p *Pipeline) write(ctx context.Context, writers []brief.Writer, pulse state.Pulse) (b state.Brief, used brief.Usage, err error) {
	in := brief.Input{Pack: pulse.Pack, State: pulse.Read(), Citations: pulse.Citations}
	result, err := brief.Narrate(ctx, writers, in, p.cfg.TextWithin)
	for _, r := range result.Refused {
		if ctx.Err() != nil {
			break // it is not their fault
		}
		p.cfg.Logger.Warn("brief text refused", "writer", r.Writer, "reason", r.Error(), "generated_at", pulse.GeneratedAt)
		p.cfg.Observer.Refused(pulse.Pack, r.Writer, r.Kind())
	}
	p.cfg.Observer.Briefed(pulse.Pack, result.Writer, err)
	if err != nil {
		return b, result.Usage, fmt.Errorf("write brief: %w", err)
	}
	return state.Brief{Text: result.Text, At: p.cfg.Now().UTC().Truncate(time.Millisecond), Of: pulse.GeneratedAt, Writer: result.Writer,
		Refused: strings.Join(result.Reasons(), "\n")}, result.Usage, nil
}

// runBrief has the models write whenever a new state finds that the daily brief is due. If that fails, the next state is the next occasion.
func (p *Pipeline) runBrief(ctx context.Context) {
	if len(p.cfg.Models) == 0 {
		return
	}
	var tried time.Time // the state of the last attempt
	for {
		if at := p.generatedAt(); !at.Equal(tried) && p.briefDue(p.cfg.Now()) {
			tried = at
			p.narrateTracked(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
	}
}

// narrateTracked writes a brief, unless one is being written.
func (p *Pipeline) narrateTracked(ctx context.Context) {
	done, ok := p.cfg.Track(p.cfg.Pack.ID, JobBrief)
	if !ok {
		return
	}
	err := p.Narrate(ctx)
	done(err)
	if err != nil && ctx.Err() == nil {
		p.cfg.Logger.Error("brief not written", "error", err)
	}
}

// briefDue reports whether the daily brief should be written at now: there is a state, and none was written since the daily time.
func (p *Pipeline) briefDue(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.newest.GeneratedAt.IsZero():
		return false
	case p.tried.IsZero(), p.tried.After(now): // the clock was set back since
		return true
	}
	last := now.UTC().Add(-p.cfg.BriefAt).Truncate(day).Add(p.cfg.BriefAt)
	return p.tried.Before(last)
}

// Narrate writes, checks, saves and publishes a brief of the newest state, by the models first. The schedule is not disturbed by it.
func (p *Pipeline) Narrate(ctx context.Context) error {
	p.mu.Lock()
	pulse := p.newest
	p.mu.Unlock()
	if pulse.GeneratedAt.IsZero() {
		return api.Errorf(api.ReasonStateUnavailable, "pack %s has no state for a brief yet", p.cfg.Pack.ID)
	}
	b, used, err := p.write(ctx, append(p.cfg.Models[:len(p.cfg.Models):len(p.cfg.Models)], p.cfg.Writer), pulse)
	if err != nil {
		return err
	}
	if b.Proof, err = p.cfg.Store.SaveBrief(ctx, pulse.Pack, b); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried = b.At
	t := toldBrief{brief: b, of: pulse, daily: b.Writer != p.cfg.Writer.Name()}
	if t.daily || p.stands() || p.newest.GeneratedAt.Equal(b.Of) { // else a newer one by rules is told
		p.told = t
	}
	if err := p.cfg.Feed.PublishBrief(pulse.Pack, p.told.with(p.newest)); err != nil {
		return fmt.Errorf("publish brief: %w", err)
	}
	p.cfg.Logger.Info("brief written", "writer", b.Writer, "generated_at", pulse.GeneratedAt,
		"tokens", used.Tokens(), "cost_usd_micros", used.CostMicros)
	return nil
}

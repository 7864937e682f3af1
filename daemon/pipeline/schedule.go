package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/sdk/api"
)

const (
	firstRetry   = 5 * time.Second // after a failed refresh, while there is no state at all
	maxDoublings = 10              // of firstRetry, by when any slot is sooner
	day          = 24 * time.Hour
)

// Run refreshes, narrates and prunes on schedule until ctx is done.
func (p *Pipeline) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { p.runRefresh(ctx) })
	all.Go(func() { p.runBrief(ctx) })
	all.Go(func() { p.runPrune(ctx) })
	all.Wait()
}

// runRefresh refreshes at once if nothing was asked in this slot yet, then in every slot.
func (p *Pipeline) runRefresh(ctx context.Context) {
	last, failed := p.attemptedAt(), 0
	for p.wait(ctx, p.untilRefresh(last, failed)) {
		last = p.cfg.Now()
		done, ok := p.cfg.Track(p.cfg.Pack.ID, JobRefresh)
		if !ok {
			continue // one is under way, which serves as well
		}
		report, err := p.Refresh(ctx, false)
		done(err)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrAllFailed):
			p.cfg.Logger.Error("refresh failed: every source failed", "asked", report.Asked, "newest_state", p.generatedAt())
		case err != nil:
			p.cfg.Logger.Error("refresh failed", "error", err)
		default:
			p.cfg.Logger.Info("refreshed", "asked", report.Asked, "failed", report.Failed, "generated_at", report.GeneratedAt)
		}
		if p.generatedAt().IsZero() {
			failed++
		}
	}
}

// generatedAt is the time of the newest state, zero if there is none.
func (p *Pipeline) generatedAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest.GeneratedAt
}

// attemptedAt is when a source was last asked, zero if none ever was.
func (p *Pipeline) attemptedAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	var last time.Time
	for _, t := range p.tracks {
		if t.attemptedAt.After(last) {
			last = t.attemptedAt
		}
	}
	return last
}

// untilRefresh is the time to the next refresh after the one at last. While there is no state it is shorter, the more so the
// fewer have failed.
func (p *Pipeline) untilRefresh(last time.Time, failed int) time.Duration {
	now := p.cfg.Now()
	slot := p.slot(now)
	if last.Before(slot) {
		return 0
	}
	next := slot.Add(p.cfg.Every).Sub(now)
	if p.generatedAt().IsZero() {
		return min(next, firstRetry<<min(max(failed-1, 0), maxDoublings))
	}
	return next
}

// slot is the beginning of the slot that now lies in: a multiple of Every, shifted by this process's phase.
func (p *Pipeline) slot(now time.Time) time.Time {
	return now.Add(-p.phase).Truncate(p.cfg.Every).Add(p.phase)
}

// wait sleeps for d and reports false when ctx is done first.
func (p *Pipeline) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// runBrief writes a brief whenever a new state finds that one is due. If that fails, the next state is the next occasion.
func (p *Pipeline) runBrief(ctx context.Context) {
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
		p.cfg.Logger.Error("no brief was written", "error", err)
	}
}

// briefDue reports whether a brief should be written at now: there is a state, and no brief since the last daily time.
func (p *Pipeline) briefDue(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.newest.GeneratedAt.IsZero():
		return false
	case p.briefAt.IsZero(), p.briefAt.After(now): // the clock was set back since
		return true
	case p.cfg.EveryState:
		return p.briefAt.Before(p.newest.GeneratedAt)
	}
	last := now.UTC().Add(-p.cfg.BriefAt).Truncate(day).Add(p.cfg.BriefAt)
	return p.briefAt.Before(last)
}

// Narrate writes, checks, saves and publishes a brief of the newest state. The schedule is not disturbed by it.
func (p *Pipeline) Narrate(ctx context.Context) error {
	p.mu.Lock()
	pulse := p.newest
	p.mu.Unlock()
	if pulse.GeneratedAt.IsZero() {
		return api.Errorf(api.ReasonStateUnavailable, "pack %s has no state to write a brief of", p.cfg.Pack.ID)
	}
	in := brief.Input{Pack: pulse.Pack, State: pulse.State, Citations: pulse.Citations}
	result, err := brief.Narrate(ctx, p.cfg.Writers, in, p.cfg.TextWithin)
	for _, r := range result.Refused {
		if ctx.Err() != nil {
			break // it is not their fault
		}
		p.cfg.Logger.Warn("a text was not taken as the brief", "writer", r.Writer, "reason", r.Error(), "generated_at", pulse.GeneratedAt)
		p.cfg.Observer.Refused(pulse.Pack, r.Writer, r.Kind())
	}
	p.cfg.Observer.Briefed(pulse.Pack, result.Writer, err)
	if err != nil {
		return fmt.Errorf("write brief: %w", err)
	}
	b := state.Brief{Text: result.Text, At: p.cfg.Now().UTC().Truncate(time.Millisecond), Writer: result.Writer,
		Refused: strings.Join(result.Reasons(), "\n")}
	if err := p.cfg.Store.SaveBrief(ctx, pulse.Pack, b, pulse.GeneratedAt); err != nil {
		return err
	}
	p.mu.Lock()
	p.briefAt = b.At
	p.mu.Unlock()
	if err := p.cfg.Feed.PublishBrief(pulse.Pack, b); err != nil {
		return fmt.Errorf("publish brief: %w", err)
	}
	p.cfg.Logger.Info("brief written", "writer", b.Writer, "generated_at", pulse.GeneratedAt,
		"tokens", result.Usage.Tokens(), "cost_usd_micros", result.Usage.CostMicros)
	return nil
}

// runPrune drops what is older than the retention, at once and then daily.
func (p *Pipeline) runPrune(ctx context.Context) {
	for {
		dropped, err := p.cfg.Store.Prune(ctx, p.cfg.Pack.ID, p.cfg.Now().Add(-api.HistoryRetention))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.cfg.Logger.Error("history was not pruned", "error", err)
		case dropped > 0:
			p.cfg.Logger.Info("history pruned", "states", dropped)
		}
		if !p.wait(ctx, day) {
			return
		}
	}
}

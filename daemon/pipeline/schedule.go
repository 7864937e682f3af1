package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

const (
	firstRetry   = 5 * time.Second // after a failed refresh, while there is no state at all
	maxDoublings = 10              // of firstRetry, by when any slot is sooner
	day          = 24 * time.Hour

	longestEarly  = 25 * time.Second // less than slack, so that no source misses a refresh that begins early
	tookRefreshes = 12               // by which the next one begins early
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
		report, err := p.refreshFor(ctx, p.slotOf(last), false)
		done(err)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrAllFailed):
			log := p.cfg.Logger
			if report.Unreachable == report.Asked {
				log = log.With("hint", "no source can be reached: is there a network?")
			}
			log.Error("refresh failed: every source failed", "asked", report.Asked, "newest_state", p.generatedAt())
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

// attemptedAt is when a source was last asked, zero if there is one that never was, or that is to be asked at once.
func (p *Pipeline) attemptedAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	var last time.Time
	for _, t := range p.tracks {
		if t.attemptedAt.IsZero() && t.off == "" {
			return time.Time{}
		}
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
	begin := p.slotOf(now).Add(-p.early())
	if last.Before(begin) {
		return 0
	}
	next := begin.Add(p.cfg.Every).Sub(now)
	if p.generatedAt().IsZero() {
		return min(next, firstRetry<<min(max(failed-1, 0), maxDoublings))
	}
	return next
}

// slotOf is the slot whose refresh begins at now or is the last to have begun before: a multiple of Every, shifted by this process's phase.
func (p *Pipeline) slotOf(now time.Time) time.Time {
	return now.Add(p.early() - p.phase).Truncate(p.cfg.Every).Add(p.phase)
}

// early is how long before its slot a refresh begins: a quarter longer than sources took lately, within bounds.
func (p *Pipeline) early() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.Early < 0 {
		return 0
	}
	longest := p.cfg.Early
	for _, took := range p.took {
		longest = max(longest, took+took/4)
	}
	return min(longest, longestEarly, p.cfg.Every/10)
}

// noteTook notes how long sources took. The caller holds mu.
func (p *Pipeline) noteTook(took time.Duration) {
	p.took = append(p.took, max(took, 0))
	p.took = p.took[max(len(p.took)-tookRefreshes, 0):]
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

// runPrune drops what is older than the retention, at once and then daily.
func (p *Pipeline) runPrune(ctx context.Context) {
	for {
		dropped, err := p.cfg.Store.Prune(ctx, p.cfg.Pack.ID, p.cfg.Now().Add(-api.HistoryRetention))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.cfg.Logger.Error("history not pruned", "error", err)
		case dropped > 0:
			p.cfg.Logger.Info("history pruned", "states", dropped)
		}
		if !p.wait(ctx, day) {
			return
		}
	}
}

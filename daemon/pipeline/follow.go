package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/contextd/contextd/internal/state"
)

// followEvery is how often a pipeline that follows looks for what is new, where nobody tells it to.
const followEvery = time.Second

// Follow publishes, until ctx is done, what another node saves of the pack: every state once, in order. It asks no source. Once ctx is
// done, Run can go on from there, after CatchUp.
func (p *Pipeline) Follow(ctx context.Context) {
	failing := false
	for {
		err := p.CatchUp(ctx)
		if err != nil && !failing && ctx.Err() == nil { // once for each outage
			p.cfg.Logger.Error("states of other nodes not read", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-p.hint:
		case <-time.After(followEvery):
		}
	}
}

// Hint has Follow look at once.
func (p *Pipeline) Hint() {
	select {
	case p.hint <- struct{}{}:
	default: // it is about to
	}
}

// CatchUp publishes what another node has saved of the pack, if anything.
func (p *Pipeline) CatchUp(ctx context.Context) error {
	select {
	case p.refreshing <- struct{}{}:
		defer func() { <-p.refreshing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		p.mu.Lock()
		seen := p.seen
		if p.newest.GeneratedAt.After(seen.State) { // but for those that cannot be read
			seen.State = p.newest.GeneratedAt
		}
		p.mu.Unlock()
		news, err := p.cfg.Store.Newer(ctx, p.cfg.Pack.ID, seen)
		if err != nil || news.Mark == seen {
			return err
		}
		if err := p.take(ctx, news, seen); err != nil || !news.More {
			return err
		}
	}
}

// take publishes news of another node.
func (p *Pipeline) take(ctx context.Context, news state.News, seen state.Mark) error {
	for _, pulse := range news.Pulses {
		if err := p.cfg.Pack.CheckAnchors(pulse); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if news.Withheld.After(p.after) {
		p.after = news.Withheld
	}
	p.takeSources(news.Sources)
	for i, pulse := range news.Pulses {
		if i == len(news.Pulses)-1 && !news.More {
			p.receive(news.Saved)
		}
		if err := p.takeState(ctx, pulse); err != nil {
			return err
		}
	}
	p.seen = news.Mark
	if news.More || len(news.Pulses) > 0 || p.newest.GeneratedAt.IsZero() {
		return nil
	}
	if before := p.told.brief; p.receive(news.Saved) && p.told.brief != before {
		if err := p.cfg.Feed.PublishBrief(p.cfg.Pack.ID, p.told.with(p.newest)); err != nil {
			return fmt.Errorf("publish brief of another node: %w", err)
		}
	}
	if !seen.Asked.IsZero() && news.Mark.Asked.After(seen.Asked) {
		if err := p.publishHealth(); err != nil {
			return fmt.Errorf("publish sources of another node: %w", err)
		}
		p.cfg.Feed.Fail(p.cfg.Pack.ID, failedAll)
	}
	return nil
}

// takeSources has what another node keeps of the sources in place of what was known of them. The caller holds mu.
func (p *Pipeline) takeSources(list []state.SourceRecord) {
	records := make(map[string]state.SourceRecord, len(list))
	for _, r := range list {
		records[r.Source] = r
	}
	for i, t := range p.tracks {
		p.tracks[i] = newTrack(t.connector, records[t.connector.ID], t.off, p.cfg.Logger)
	}
}

// takeState publishes a state of another node. The caller holds mu.
func (p *Pipeline) takeState(ctx context.Context, pulse state.Pulse) error {
	last := p.newest
	pulse.Doc = pulse.Read()
	p.newest = pulse
	if last.GeneratedAt.IsZero() {
		p.remember(ctx)
	} else {
		p.newest.Remember(last)
	}
	p.newest.Health = p.health(pulse, nil)
	in := p.input()
	in.Now = pulse.GeneratedAt
	if err := p.cfg.Feed.Publish(p.newest, p.told.with(pulse), p.rowsOf(pulse, in)); err != nil {
		return fmt.Errorf("publish state of another node: %w", err)
	}
	return nil
}

// receive has the brief of saved told with new states. It reports whether there is one. The caller holds mu.
func (p *Pipeline) receive(saved state.Saved) bool {
	p.tried = saved.Tried
	if saved.Brief.Text == "" {
		return false
	}
	p.told = toldBrief{brief: saved.Brief, daily: saved.Brief.Writer != p.cfg.Writer.Name()}
	if saved.BriefState != nil {
		p.told.of = *saved.BriefState
		p.told.of.Doc = saved.BriefState.Read()
	}
	return true
}

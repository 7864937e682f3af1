package pipeline

import (
	"context"
	"errors"
	"slices"

	"github.com/contextd/contextd/internal/state"
)

// mostPast is how many states Open reads at most to find out which flags ended. It is ten hours of them at the usual pace.
const mostPast = 120

// remember notes in the newest state which flags ended in the hour before it, and how grave the others were. History tells: nothing else is
// kept of them, so that there is nothing that a kill could lose.
func (p *Pipeline) remember(ctx context.Context) {
	past := []state.Pulse{p.newest} // newest first
	for len(past) < mostPast && p.newest.GeneratedAt.Sub(past[len(past)-1].GeneratedAt) <= state.FlagMemory {
		before, err := p.cfg.Store.PulseBefore(ctx, p.cfg.Pack.ID, past[len(past)-1].GeneratedAt)
		if err != nil {
			if !errors.Is(err, state.ErrNoPulse) {
				p.cfg.Logger.Warn("ended flags dropped: an older state is unreadable", "error", err)
			}
			break
		}
		past = append(past, before)
	}
	var last state.Pulse
	for _, pulse := range slices.Backward(past) {
		pulse.Doc = pulse.Read()
		pulse.Remember(last)
		last = pulse
	}
	p.newest.Ended, p.newest.Worst = last.Ended, last.Worst
}

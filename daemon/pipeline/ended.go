package pipeline

import (
	"context"
	"errors"
	"slices"

	"github.com/contextd/contextd/internal/state"
)

// mostPast is how many states Open reads at most to find out which flags ended. It is ten hours of them at the usual pace.
const mostPast = 120

// ended are the flags that ended in the hour before the newest state. History tells: nothing else is kept of them, so that there is
// nothing that a kill could lose.
func (p *Pipeline) ended(ctx context.Context) (list []state.Ended) {
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
	flags := past[len(past)-1].Read().Flags()
	for _, pulse := range slices.Backward(past[:len(past)-1]) {
		next := pulse.Read().Flags()
		list = state.EndedAt(list, flags, next, pulse.GeneratedAt)
		flags = next
	}
	return list
}

package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/state"
)

// mostPast is how many states Open reads at most to find out which flags ended. It is ten hours of them at the usual pace.
const mostPast = 120

// remember notes in the newest state which flags ended in the hour before it, and how grave the others were. History tells: nothing else is
// kept of them, so that there is nothing that a kill could lose.
func (p *Pipeline) remember(ctx context.Context) {
	past, err := Remembered(ctx, p.cfg.Store, p.newest)
	if err != nil {
		p.cfg.Logger.Warn("ended flags dropped: an older state is unreadable", "error", err)
	}
	var last state.Pulse
	for _, pulse := range slices.Backward(past) {
		pulse.Doc = pulse.Read()
		pulse.Remember(last)
		last = pulse
	}
	p.newest.Ended, p.newest.Worst = last.Ended, last.Worst
}

// Earlier has states; a Store is one.
type Earlier interface {
	// PulseBefore returns the newest state of pack from before t, or state.ErrNoPulse.
	PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error)
}

// Remembered are the states that the one after p is made from: p, and as many before it as tell which flags ended, the newest first. With
// an error they are those that could be read.
func Remembered(ctx context.Context, history Earlier, p state.Pulse) (past []state.Pulse, err error) {
	past = []state.Pulse{p}
	for len(past) < mostPast && p.GeneratedAt.Sub(past[len(past)-1].GeneratedAt) <= state.FlagMemory {
		before, err := history.PulseBefore(ctx, p.Pack, past[len(past)-1].GeneratedAt)
		if errors.Is(err, state.ErrNoPulse) {
			break
		}
		if err != nil {
			return past, err
		}
		past = append(past, before)
	}
	return past, nil
}

package pipeline

import (
	"context"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Store keeps a pack's states, briefs and sources. Each method is one transaction, on disk when it returns.
type Store interface {
	// OpenPack returns what is kept of pack and notes now as its start if it is new.
	OpenPack(ctx context.Context, pack string, now time.Time) (state.Saved, error)
	// Newer returns what another node has saved of pack beyond seen: nothing, with seen as its Mark, where there is nothing.
	Newer(ctx context.Context, pack string, seen state.Mark) (state.News, error)
	// SavePulse adds p to history with the brief that was written with it, unless its text is "", and replaces the given sources. It adds
	// a leaf for them to the pack's log, and says which.
	SavePulse(ctx context.Context, p state.Pulse, b state.Brief, changed []state.SourceRecord) (api.Proof, error)
	// SaveSources replaces the given sources.
	SaveSources(ctx context.Context, pack string, changed []state.SourceRecord) error
	// SaveBrief adds b, which was not written with its state, and a leaf as SavePulse does.
	SaveBrief(ctx context.Context, pack string, b state.Brief) (api.Proof, error)
	// PulseBefore returns the newest state of pack from before t, or state.ErrNoPulse.
	PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error)
	// Prune drops the states and briefs of pack that are older than before and says how many states those were.
	Prune(ctx context.Context, pack string, before time.Time) (int64, error)
}

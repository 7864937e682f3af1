package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/state"
)

// Past is what a state was made of.
type Past struct {
	Prev    state.Pulse // the state before, zero for none
	Sources []PastSource
	Made    time.Time // when it was made
}

// PastSource is how a source stood then.
type PastSource struct {
	state.SourceRecord
	Ending string // what it said of the end of its service
	Off    bool   // it was not asked; Err says why
}

// Recompute makes the state again that was made of past, with its rows and its brief by rules, by the code that made it. Of cfg it takes
// the pack, the pace, the writer and the store, of which it reads older states alone.
func Recompute(ctx context.Context, cfg Config, past Past) (state.Pulse, *state.Tables, state.Brief, error) {
	if cfg.Writer == nil {
		cfg.Writer = brief.BuiltIn()
	}
	cfg.Observer, cfg.Logger = noopObserver{}, slog.New(slog.DiscardHandler)
	cfg.Now, cfg.TextWithin = func() time.Time { return past.Made }, DefaultTextWithin
	p := &Pipeline{cfg: cfg, newest: past.Prev}
	if !p.newest.GeneratedAt.IsZero() {
		p.newest.Doc = p.newest.Read()
		p.remember(ctx)
		p.newest.Health = p.health(p.newest, nil)
	}
	of := make(map[string]PastSource, len(past.Sources))
	for _, s := range past.Sources {
		of[s.Source] = s
	}
	for _, s := range cfg.Pack.Sources {
		was, off := of[s.ID], ""
		if was.Off {
			off = was.Err
		}
		t := newTrack(s.Connector, was.SourceRecord, off, cfg.Logger)
		if t.reading.Doc == nil && was.Doc != nil {
			return state.Pulse{}, nil, state.Brief{}, fmt.Errorf("the document of %s cannot be read", s.ID)
		}
		t.reading.Ending = was.Ending
		p.tracks = append(p.tracks, t)
	}
	pulse, rows, err := p.compact()
	if err != nil {
		return pulse, rows, state.Brief{}, err
	}
	own, _, err := p.write(ctx, []brief.Writer{cfg.Writer}, pulse)
	return pulse, rows, own, err
}

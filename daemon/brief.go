package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/editor"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
)

var (
	_ llm.Ledger     = (*store.Store)(nil)
	_ editor.Store   = (*store.Store)(nil)
	_ editor.History = (*history.History)(nil)
)

// Briefs says how briefs are written.
type Briefs struct {
	At         time.Duration // time of day, UTC, of the daily brief
	TextWithin time.Duration // bound of one text of a writer; 0 means pipeline.DefaultTextWithin
	Model      *llm.Config   // the language model; nil means the built-in writer alone. Ledger and Now are the daemon's.
}

// newEditor makes the editor that writes as cfg says.
func newEditor(ctx context.Context, cfg Config, s *store.Store, h *history.History) (*editor.Editor, error) {
	settings := editor.Config{Packs: packIDs(), Store: s, History: h, TextWithin: cfg.Briefs.TextWithin, Now: cfg.Now, Logger: cfg.Logger}
	if settings.TextWithin == 0 {
		settings.TextWithin = pipeline.DefaultTextWithin
	}
	if cfg.Briefs.Model != nil {
		model := *cfg.Briefs.Model
		model.Ledger, model.Now = s, cfg.Now
		w, err := llm.New(model)
		if err != nil {
			return nil, fmt.Errorf("language model: %w", err)
		}
		settings.Models, settings.Limit = []brief.Writer{w}, model.Limit
	}
	return editor.New(ctx, settings), nil
}

package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
)

var (
	_ llm.Ledger          = (*store.Store)(nil)
	_ brief.EditorStore   = (*store.Store)(nil)
	_ brief.EditorHistory = (*history.History)(nil)
)

// OpenEditor makes what writes briefs as cfg says where no daemon runs, for admin.Config: on the opened store of the directory of cfg, with
// the function that frees it.
func OpenEditor(cfg Config) func(ctx context.Context, s *store.Store) (*brief.Editor, func() error, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return func(ctx context.Context, s *store.Store) (*brief.Editor, func() error, error) {
		h, err := history.Open(ctx, cfg.place(), cfg.Now())
		if err != nil {
			return nil, nil, err
		}
		e, err := newEditor(ctx, cfg, cfg.packList, s, h, nil)
		if err != nil {
			return nil, nil, errors.Join(err, h.Close())
		}
		return e, func() error { e.Close(); return h.Close() }, nil
	}
}

// newEditor makes the editor that writes about packs as cfg says and tells m, unless that is nil.
func newEditor(
	ctx context.Context, cfg Config, packs func() []Pack, s *store.Store, h *history.History, m *metrics.Metrics,
) (*brief.Editor, error) {
	settings := brief.EditorConfig{
		Packs: func() []string { return idsOf(packs()) }, ByRules: func(id string) brief.Writer { return writerOf(packs(), id) },
		Store: s, History: h, TextWithin: cfg.Briefs.TextWithin, Now: cfg.Now, Logger: cfg.Logger,
	}
	if m != nil {
		settings.Refused = m.Refused
	}
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
	return brief.NewEditor(ctx, settings), nil
}

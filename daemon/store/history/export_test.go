package history

import (
	"context"
	"database/sql"

	"github.com/contextd/contextd/internal/state"
)

// KeyframeEvery is the length of a block.
const KeyframeEvery = keyframeEvery

// Apart and Together move the numbers of a content behind its text and back.
func Apart(content []byte) []byte           { return apart(content) }
func Together(moved []byte) ([]byte, error) { return together(nil, moved) }

// SaveUnproven is SavePulse without a leaf: as it was before there was a log.
func (h *History) SaveUnproven(ctx context.Context, p state.Pulse) error {
	return h.save(ctx, p, state.Brief{}, nil, func(*sql.Tx) error { return nil })
}

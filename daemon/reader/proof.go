package reader

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// proven is p as it proves an answer to q: of the whole state, where the answer is a part of that.
func proven(q api.Query, p api.Proof) api.Proof {
	if p.Log != "" && (q.Members != "" || q.Claims) {
		p.Scope = api.ScopeFull
	}
	return p
}

// Again returns why sold, an answer about pack that was given before, must not be given again: the state that it was made of must not be
// served any more. It is nil where it may.
func (r *Reader) Again(ctx context.Context, pack string, sold []byte) error {
	var told struct {
		BriefOf   *time.Time
		Freshness struct{ GeneratedAt time.Time }
	}
	if json.Unmarshal(sold, &told) != nil {
		return nil
	}
	at := told.Freshness.GeneratedAt
	if told.BriefOf != nil {
		at = *told.BriefOf
	}
	packs := []string{pack}
	if pack == api.PackAll {
		packs = r.Packs()
	}
	for _, id := range packs {
		if _, err := r.cfg.History.PulseBefore(ctx, id, at.Add(time.Millisecond)); errors.Is(err, state.ErrWithheld) {
			return api.Errorf(api.ReasonSnapshotNotFound, "the answer that was paid for has data that may not be sold any more").
				WithHint("ask the operator for the price back; a new call is answered without that data")
		}
	}
	return nil
}

// Leaves knows the leaves of briefs that were told; *history.History is one.
type Leaves interface {
	// ProofOfBrief is the leaf of b, zero where the log has none of that text.
	ProofOfBrief(ctx context.Context, pack string, b state.Brief) (api.Proof, error)
}

// ProofOf is the leaf of the state or brief in text, an answer to q that was given before. It is zero where that is not known any more.
func (r *Reader) ProofOf(ctx context.Context, q api.Query, text []byte) api.Proof {
	var told api.BriefResponse
	switch {
	case json.Unmarshal(text, &told) != nil:
	case q.Op == api.OpFresh, q.Op == api.OpSnapshot:
		at := told.Freshness.GeneratedAt
		if pulse, err := r.cfg.History.PulseBefore(ctx, q.Pack, at.Add(time.Millisecond)); err == nil && pulse.GeneratedAt.Equal(at) {
			return proven(q, pulse.Proof)
		}
	case q.Op == api.OpBrief && r.cfg.Leaves != nil && told.BriefAt != nil && told.BriefOf != nil:
		b := state.Brief{Text: told.Brief, At: *told.BriefAt, Of: *told.BriefOf}
		if p, err := r.cfg.Leaves.ProofOfBrief(ctx, q.Pack, b); err == nil {
			return proven(q, p)
		}
	}
	return api.Proof{}
}

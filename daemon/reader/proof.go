package reader

import (
	"context"
	"encoding/json"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// proven is p as it proves an answer to q: of the whole state, where the answer is a part of that.
func (q Query) proven(p api.Proof) api.Proof {
	if p.Log != "" && (q.Members != "" || q.Claims) {
		p.Scope = api.ScopeFull
	}
	return p
}

// ProofOf is the leaf of the state in text, an answer to q that was given before. It is zero where that is not known any more, and for
// briefs: of which leaf they are does not stand in them.
func (r *Reader) ProofOf(ctx context.Context, q Query, text []byte) api.Proof {
	var told struct{ Freshness api.Freshness }
	if q.Op != api.OpFresh && q.Op != api.OpSnapshot || json.Unmarshal(text, &told) != nil {
		return api.Proof{}
	}
	at := told.Freshness.GeneratedAt
	pulse, err := r.cfg.History.PulseBefore(ctx, q.Pack, at.Add(time.Millisecond))
	if err != nil || !pulse.GeneratedAt.Equal(at) {
		return api.Proof{}
	}
	return q.proven(pulse.Proof)
}

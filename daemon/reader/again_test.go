package reader_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// withholding is a history that withholds the states of a pack until a moment.
type withholding struct {
	*memory
	pack  string
	until time.Time
}

func (w withholding) PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error) {
	p, err := w.memory.PulseBefore(ctx, pack, t)
	if err == nil && pack == w.pack && !p.GeneratedAt.After(w.until) {
		return state.Pulse{}, state.ErrWithheld
	}
	return p, err
}

func TestAgain(t *testing.T) {
	t.Parallel()
	at := newest()
	h := &memory{pulses: []state.Pulse{pulse("crypto", at, `{}`), pulse("crypto", at.Add(time.Minute), `{}`)}}
	r := reader.New(reader.Config{Packs: []reader.Pack{newPack("ai"), newPack("crypto")}, History: withholding{h, "crypto", at}})
	for _, c := range []struct {
		pack, sold string
		again      bool
	}{
		{"crypto", `{"freshness":{"generatedAt":"2026-11-20T20:05:02.34Z"}}`, false},
		{"crypto", `{"freshness":{"generatedAt":"2026-11-20T20:06:02.34Z"}}`, true},
		{"crypto", `{"briefOf":"2026-11-20T20:05:02.34Z","freshness":{"generatedAt":"2026-11-20T20:06:02.34Z"}}`, false},
		{"ai", `{"freshness":{"generatedAt":"2026-11-20T20:05:02.34Z"}}`, true},
		{api.PackAll, `{"freshness":{"generatedAt":"2026-11-20T20:05:02.34Z"}}`, false},
		{api.PackAll, `{"freshness":{"generatedAt":"2026-11-20T20:06:02.34Z"}}`, true},
		{"crypto", `{"freshness":{"generatedAt":"2026-11-20T20:04:00Z"}}`, true}, // pruned since
		{"crypto", `not JSON`, true},
	} {
		err := r.Again(t.Context(), c.pack, []byte(c.sold))
		var refused *api.Error
		if (err == nil) != c.again || err != nil && (!errors.As(err, &refused) || refused.Reason != api.ReasonSnapshotNotFound) {
			t.Errorf("%s, %s: %v", c.pack, c.sold, err)
		}
	}
}

package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/contextd/contextd/internal/state"
)

// unreadable is how many damaged states are passed over for one time: a day of them.
const unreadable = 288

// Past yields for each of times, which rise, the newest state of pack at or before it, without citations: the zero Pulse where there is
// none. A state that cannot be read any more counts as one that is not there. A state is read once, however many of the times it is that
// of, and no transaction is open between two of them, so that a slow reader holds nothing up. An error ends it.
func (h *History) Past(ctx context.Context, pack string, times iter.Seq[time.Time]) iter.Seq2[state.Pulse, error] {
	return func(yield func(state.Pulse, error) bool) {
		w := walk{History: h, pack: pack, damaged: make(map[int64]bool)}
		for t := range times {
			if err := w.to(ctx, t.UnixMilli()); err != nil {
				yield(state.Pulse{}, fmt.Errorf("read %s as of %s: %w", pack, t.UTC().Format(time.RFC3339), err))
				return
			}
			if !yield(w.newest, nil) {
				return
			}
		}
	}
}

// walk goes through the states of a pack, on and on.
type walk struct {
	*History
	pack    string
	newest  state.Pulse // that was reached
	at      int64       // when it was made, 0 for none
	damaged map[int64]bool
}

// to goes on to the newest readable state at or before limit, in milliseconds.
func (w *walk) to(ctx context.Context, limit int64) error {
	for range unreadable {
		r, err := scan(w.db.Read.QueryRowContext(ctx, "SELECT "+columns+" FROM pulses"+
			" WHERE pack = ? AND generated_at > ? AND generated_at <= ? ORDER BY generated_at DESC LIMIT 1", w.pack, w.at, limit))
		if errors.Is(err, state.ErrNoPulse) {
			return nil
		}
		if err != nil {
			return err
		}
		if limit = r.generatedAt - 1; w.damaged[r.id] {
			continue
		}
		content, err := w.decode(ctx, w.db.Read, r)
		if err == nil {
			if content, _, err = r.parts(content); err == nil {
				w.newest, w.at = r.of(content), r.generatedAt
				return nil
			}
		}
		if !errors.Is(err, ErrDamaged) {
			return err
		}
		w.damaged[r.id] = true
	}
	return nil
}

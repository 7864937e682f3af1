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
// of, and no transaction is open between two of them, so that a slow reader holds nothing up. Its text is good until the next one. An error
// ends it.
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

	moved         []byte // of the row that was read last
	content, next []byte // of newest, and room for that of the next
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
		if err = w.read(ctx, r); err == nil {
			return nil
		}
		if !errors.Is(err, ErrDamaged) {
			return err
		}
		w.damaged[r.id] = true
	}
	return nil
}

// read makes r the newest. Where it cannot be read, what was reached before stands.
func (w *walk) read(ctx context.Context, r row) (err error) {
	if w.moved, err = w.decompress(ctx, w.db.Read, r, w.moved[:0]); err != nil {
		return err
	}
	content, err := together(w.next[:0], w.moved)
	if err != nil {
		return err
	}
	doc, _, err := r.parts(content)
	if err != nil {
		return err
	}
	w.content, w.next = content, w.content
	w.newest, w.at = r.of(doc), r.generatedAt
	return nil
}

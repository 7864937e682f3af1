package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/state"
)

// NotifyState is what nodes that listen are told when a state, a brief or the state of a source was saved.
const NotifyState = "state"

// mostNews is how many states Newer reads at once.
const mostNews = 16

// Newer returns what another node has saved of pack beyond seen, as of one moment. Where no state was seen, the newest one alone counts.
func (h *History) Newer(ctx context.Context, pack string, seen state.Mark) (n state.News, err error) {
	mark, err := markOf(ctx, h.db.Read, pack)
	if err != nil || mark == seen {
		return state.News{Mark: mark}, err
	}
	h.logs.forget(pack) // another node has added to it
	err = h.db.Snapshot(ctx, func(tx *sql.Tx) (err error) {
		if n.Mark, err = markOf(ctx, tx, pack); err != nil {
			return err
		}
		if err := h.newer(ctx, tx, pack, seen, &n); err != nil {
			return err
		}
		return h.readRest(ctx, tx, pack, &n.Saved)
	})
	if err != nil {
		return state.News{}, fmt.Errorf("follow pack %s: %w", pack, err)
	}
	return n, nil
}

func markOf(ctx context.Context, db database.Querier, pack string) (m state.Mark, err error) {
	var made, written, asked sql.NullInt64
	err = db.QueryRowContext(ctx, `SELECT (SELECT max(generated_at) FROM pulses WHERE pack = ?1),
		(SELECT max(written_at) FROM briefs WHERE pack = ?1), (SELECT max(attempted_at) FROM sources WHERE pack = ?1)`, pack).
		Scan(&made, &written, &asked)
	if err != nil {
		return m, fmt.Errorf("look what is new of pack %s: %w", pack, err)
	}
	return state.Mark{
		State: database.FromMillis(made), Brief: database.FromMillis(written), Asked: database.FromMillis(asked),
	}, nil
}

// newer adds to n the states of pack that were made after that which was seen.
func (h *History) newer(ctx context.Context, tx *sql.Tx, pack string, seen state.Mark, n *state.News) error {
	if seen.State.IsZero() {
		newest, damaged, err := h.newest(ctx, tx, pack)
		if n.Damaged = damaged; err == nil && newest != nil {
			n.Pulses = append(n.Pulses, *newest)
		}
		return err
	}
	list, err := database.Query(ctx, tx, scanRow, "SELECT "+columns+
		" FROM pulses WHERE pack = ? AND generated_at > ? ORDER BY generated_at LIMIT ?", pack, seen.State.UnixMilli(), mostNews)
	if err != nil {
		return fmt.Errorf("read newer states: %w", err)
	}
	for _, r := range list {
		content, err := h.decode(ctx, tx, r)
		if err == nil {
			var p state.Pulse
			if p, err = r.pulse(content); err == nil {
				p.Proof, err = proof(ctx, tx, pack, kindState, p.GeneratedAt)
				n.Pulses = append(n.Pulses, p)
			}
		}
		if errors.Is(err, ErrDamaged) {
			n.Damaged++
			continue
		}
		if err != nil {
			return err
		}
	}
	if len(list) == mostNews {
		n.More, n.Mark.State = true, database.FromMillis(valid(list[len(list)-1].generatedAt))
	}
	return nil
}

// Forget drops what is remembered of what is written next, because another node may have written since.
func (h *History) Forget() {
	h.codec.mu.Lock()
	clear(h.codec.blocks)
	h.codec.mu.Unlock()
	h.logs.forgetAll()
}

package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// columns are those of row, in the order scan reads them.
const columns = "id, pack, version, generated_at, coalesce(keyframe, 0), sum, body"

func scanRow(rows *sql.Rows) (p row, err error) {
	err = p.read(rows)
	return p, err
}

func (p *row) read(from interface{ Scan(into ...any) error }) error {
	return from.Scan(&p.id, &p.pack, &p.version, &p.generatedAt, &p.keyframe, &p.sum, &p.body)
}

// scan reads one row, or state.ErrNoPulse where there is none.
func scan(r *sql.Row) (row, error) {
	var p row
	err := p.read(r)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, state.ErrNoPulse
	}
	return p, err
}

func valid(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: true} }

// PulseBefore returns the newest pulse of pack with GeneratedAt before t, or state.ErrNoPulse. A damaged row gives an error
// with ErrDamaged in its chain.
func (h *History) PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error) {
	before := t.Add(time.Millisecond - 1).UnixMilli() // rounded up: states have whole milliseconds
	r, err := scan(h.db.Read.QueryRowContext(ctx, "SELECT "+columns+
		" FROM pulses WHERE pack = ? AND generated_at < ? ORDER BY generated_at DESC LIMIT 1", pack, before))
	if err != nil {
		return state.Pulse{}, err
	}
	content, err := h.decode(ctx, h.db.Read, r)
	if err != nil {
		return state.Pulse{}, err
	}
	p, err := r.pulse(content)
	if err == nil {
		p.Proof, err = proof(ctx, h.db.Read, pack, kindState, p.GeneratedAt)
	}
	return p, err
}

// Earliest returns when the oldest pulse of pack was made, or state.ErrNoPulse.
func (h *History) Earliest(ctx context.Context, pack string) (time.Time, error) {
	var at sql.NullInt64
	err := h.db.Read.QueryRowContext(ctx, "SELECT min(generated_at) FROM pulses WHERE pack = ?", pack).Scan(&at)
	if err == nil && !at.Valid {
		err = state.ErrNoPulse
	}
	return database.FromMillis(at), err
}

// decode decompresses the content of r. The content is not checked yet.
func (h *History) decode(ctx context.Context, db database.Querier, r row) ([]byte, error) {
	moved, err := h.decompress(ctx, db, r, nil)
	if err != nil {
		return nil, err
	}
	return together(nil, moved)
}

// decompress appends to into the content of r, taken apart, looking up its keyframe where that is not at hand.
func (h *History) decompress(ctx context.Context, db database.Querier, r row, into []byte) ([]byte, error) {
	decoder := h.codec.plainDecoder
	if r.keyframe != 0 {
		d := h.codec.open(r.keyframe)
		if d == nil {
			frame, err := h.keyframe(ctx, db, r.keyframe)
			if err != nil {
				return nil, err
			}
			if d, err = h.codec.cache(r.keyframe, frame); err != nil {
				return nil, err
			}
		}
		decoder = d.Decoder
	}
	moved, err := decoder.DecodeAll(r.body, into)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return moved, nil
}

// keyframe returns the checked content of the keyframe with the given id, taken apart.
func (h *History) keyframe(ctx context.Context, db database.Querier, id int64) ([]byte, error) {
	k, err := scan(db.QueryRowContext(ctx, "SELECT "+columns+" FROM pulses WHERE id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("%w: keyframe %d: %w", ErrDamaged, id, err)
	}
	moved, err := h.codec.plainDecoder.DecodeAll(k.body, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: keyframe %d: %w", ErrDamaged, id, err)
	}
	content, err := together(nil, moved)
	if err != nil {
		return nil, fmt.Errorf("keyframe %d: %w", id, err)
	}
	if _, err := k.pulse(content); err != nil {
		return nil, fmt.Errorf("keyframe %d: %w", id, err)
	}
	return moved, nil
}

// SavePulse adds p to history with the brief that was written with it, unless its text is "", replaces the changed sources, and adds a leaf
// to the log of the pack, in one transaction. A second pulse of the same time is refused.
func (h *History) SavePulse(ctx context.Context, p state.Pulse, b state.Brief, changed []state.SourceRecord) (api.Proof, error) {
	var proof api.Proof
	err := h.save(ctx, p, b, changed, func(tx *sql.Tx) (err error) {
		proof, err = h.appendLeaf(ctx, tx, stateLeaf(p, b))
		return err
	})
	h.logs.forget(p.Pack)
	if err != nil {
		return api.Proof{}, err
	}
	return proof, nil
}

func (h *History) save(ctx context.Context, p state.Pulse, b state.Brief, changed []state.SourceRecord, prove func(*sql.Tx) error) error {
	text, err := content(p)
	if err != nil {
		return err
	}
	r := row{pack: p.Pack, version: p.Version, generatedAt: p.GeneratedAt.UnixMilli()}
	r.sum = r.checksum(text)
	moved := apart(text)
	var open *block
	err = h.db.TxLeading(ctx, func(tx *sql.Tx) error {
		if open, err = h.openBlock(ctx, tx, p.Pack); err != nil {
			return err
		}
		if err := r.insert(ctx, tx, h.codec, open, moved); err != nil {
			return fmt.Errorf("insert pulse of %s: %w", p.Pack, err)
		}
		if b.Text != "" {
			if err := saveBrief(ctx, tx, p.Pack, b, true); err != nil {
				return err
			}
		}
		if err := saveSources(ctx, tx, p.Pack, changed); err != nil {
			return err
		}
		if err := prove(tx); err != nil {
			return err
		}
		return h.db.Notify(ctx, tx, NotifyState)
	})
	if err != nil {
		h.codec.forget(p.Pack)
		return err
	}
	return h.codec.wrote(r, open, moved)
}

// insert compresses what r holds, taken apart, and adds r, as a keyframe where no block is open.
func (r *row) insert(ctx context.Context, tx *sql.Tx, c *codec, open *block, moved []byte) error {
	var keyframe sql.NullInt64
	if open == nil {
		r.body = c.plainEncoder.EncodeAll(moved, nil)
	} else {
		keyframe = valid(open.keyframe)
		r.keyframe = open.keyframe
		r.body = open.encoder.EncodeAll(moved, nil)
	}
	return tx.QueryRowContext(ctx,
		"INSERT INTO pulses (pack, version, generated_at, keyframe, sum, body) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
		r.pack, r.version, r.generatedAt, keyframe, r.sum, r.body).Scan(&r.id)
}

// wrote notes that r was written, into the open block or as the keyframe of a new one.
func (c *codec) wrote(r row, open *block, moved []byte) error {
	if open == nil {
		var err error
		if open, err = newBlock(r.id, moved, 0); err != nil {
			return err
		}
	}
	open.rows++
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks[r.pack] = open
	return nil
}

// openBlock returns the block that the next row of pack goes into, nil when that row begins a new one. After a restart it is
// read back; a block whose keyframe is damaged is not continued.
func (h *History) openBlock(ctx context.Context, tx *sql.Tx, pack string) (*block, error) {
	h.codec.mu.Lock()
	b := h.codec.blocks[pack]
	h.codec.mu.Unlock()
	if b == nil {
		var id int64
		var rows int
		err := tx.QueryRowContext(ctx, `SELECT k, (SELECT count(*) FROM pulses WHERE keyframe = k) + 1
			FROM (SELECT coalesce(keyframe, id) AS k FROM pulses WHERE pack = ? ORDER BY generated_at DESC LIMIT 1) AS newest`, pack).Scan(&id, &rows)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find open block: %w", err)
		}
		frame, err := h.keyframe(ctx, tx, id)
		if errors.Is(err, ErrDamaged) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if b, err = newBlock(id, frame, rows); err != nil {
			return nil, err
		}
	}
	if b.rows >= keyframeEvery {
		return nil, nil
	}
	return b, nil
}

// Prune drops the states and briefs of pack older than before and returns how many states those were. A keyframe stays until
// the last state of its block goes; the newest brief always stays.
func (h *History) Prune(ctx context.Context, pack string, before time.Time) (int64, error) {
	var dropped int64
	err := h.db.TxLeading(ctx, func(tx *sql.Tx) error {
		limit := before.UnixMilli()
		for _, statement := range []string{
			"DELETE FROM pulses WHERE pack = ? AND generated_at < ? AND keyframe IS NOT NULL",
			`DELETE FROM pulses WHERE pack = ? AND generated_at < ? AND keyframe IS NULL
				AND NOT EXISTS (SELECT 1 FROM pulses AS later WHERE later.keyframe = pulses.id)`,
		} {
			res, err := tx.ExecContext(ctx, statement, pack, limit)
			if err != nil {
				return fmt.Errorf("prune states of %s: %w", pack, err)
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			dropped += n
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM briefs WHERE pack = ?1 AND written_at < ?2
			AND id <> (SELECT max(id) FROM briefs WHERE pack = ?1)`, pack, limit)
		if err != nil {
			return fmt.Errorf("prune briefs of %s: %w", pack, err)
		}
		return nil
	})
	if err == nil {
		h.codec.forget(pack)
	}
	return dropped, err
}

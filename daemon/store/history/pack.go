package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// OpenPack returns what is kept of pack and notes now as its start if it is new.
func (h *History) OpenPack(ctx context.Context, pack string, now time.Time) (state.Saved, error) {
	var saved state.Saved
	err := h.db.Tx(ctx, func(tx *sql.Tx) error {
		var start sql.NullInt64
		if err := tx.QueryRowContext(ctx, `INSERT INTO packs (id, started_at) VALUES (?, ?)
			ON CONFLICT (id) DO UPDATE SET started_at = packs.started_at RETURNING started_at`, pack, now.UnixMilli()).Scan(&start); err != nil {
			return err
		}
		saved.Start = database.FromMillis(start)
		var err error
		if saved.Pulse, saved.Damaged, err = h.newest(ctx, tx, pack); err != nil {
			return err
		}
		return h.readRest(ctx, tx, pack, &saved)
	})
	if err != nil {
		return state.Saved{}, fmt.Errorf("open pack %s: %w", pack, err)
	}
	return saved, nil
}

// readRest adds to saved what is kept of pack beside its newest state.
func (h *History) readRest(ctx context.Context, db database.Querier, pack string, saved *state.Saved) (err error) {
	if err := h.newestBrief(ctx, db, pack, saved); err != nil {
		return err
	}
	saved.Sources, err = readSources(ctx, db, pack)
	return err
}

// newest returns the newest pulse of pack that can be read, nil if there is none, and how many newer ones could not.
func (h *History) newest(ctx context.Context, db database.Querier, pack string) (*state.Pulse, int, error) {
	const tries = 288 // a day of states: damage on a disk takes a page of them at a time
	before := time.UnixMilli(1 << 52).UnixMilli()
	for damaged := range tries {
		r, err := scan(db.QueryRowContext(ctx, "SELECT "+columns+
			" FROM pulses WHERE pack = ? AND generated_at < ? ORDER BY generated_at DESC LIMIT 1", pack, before))
		if errors.Is(err, state.ErrNoPulse) {
			return nil, damaged, nil
		}
		if err != nil {
			return nil, damaged, fmt.Errorf("read newest state: %w", err)
		}
		content, err := h.decode(ctx, db, r)
		if err == nil {
			var p state.Pulse
			if p, err = r.pulse(content); err == nil {
				p.Proof, err = proof(ctx, db, pack, kindState, p.GeneratedAt)
				return &p, damaged, err
			}
		}
		if !errors.Is(err, ErrDamaged) {
			return nil, damaged, err
		}
		before = r.generatedAt
	}
	return nil, tries, nil
}

// newestBrief adds to saved the newest brief of pack, the state it was written from, and when the daily one was written last, as far as
// they are kept.
func (h *History) newestBrief(ctx context.Context, db database.Querier, pack string, saved *state.Saved) error {
	var at, of, tried sql.NullInt64
	var withState bool
	b := &saved.Brief
	err := db.QueryRowContext(ctx, `SELECT written_at, generated_at, writer, text, refused, with_state,
			(SELECT max(written_at) FROM briefs WHERE pack = ?1 AND with_state = 0)
		FROM briefs WHERE pack = ?1 ORDER BY id DESC LIMIT 1`, pack).Scan(&at, &of, &b.Writer, &b.Text, &b.Refused, &withState, &tried)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read newest brief: %w", err)
	}
	b.At, b.Of, saved.Tried = database.FromMillis(at), database.FromMillis(of), database.FromMillis(tried)
	if b.Proof, err = proofOfBrief(ctx, db, pack, *b, withState); err != nil {
		return err
	}
	r, err := scan(db.QueryRowContext(ctx, "SELECT "+columns+" FROM pulses WHERE pack = ? AND generated_at = ?", pack, of.Int64))
	if err != nil {
		if errors.Is(err, state.ErrNoPulse) {
			err = nil
		}
		return err
	}
	content, err := h.decode(ctx, db, r)
	if err == nil {
		var p state.Pulse
		if p, err = r.pulse(content); err == nil {
			p.Proof, err = proof(ctx, db, pack, kindState, p.GeneratedAt)
			saved.BriefState = &p
		}
	}
	if errors.Is(err, ErrDamaged) {
		return nil
	}
	return err
}

// SaveBrief adds b, which was not written with its state, and a leaf to the log of the pack, in one transaction.
func (h *History) SaveBrief(ctx context.Context, pack string, b state.Brief) (proof api.Proof, err error) {
	err = h.db.TxLeading(ctx, func(tx *sql.Tx) error {
		if err := saveBrief(ctx, tx, pack, b, false); err != nil {
			return err
		}
		if proof, err = h.appendLeaf(ctx, tx, briefLeaf(pack, b)); err != nil {
			return err
		}
		return h.db.Notify(ctx, tx, NotifyState)
	})
	h.logs.forget(pack)
	if err != nil {
		return api.Proof{}, err
	}
	return proof, nil
}

// saveBrief adds b. One that was written with its state takes the place of those before it on the same day of UTC.
func saveBrief(ctx context.Context, tx *sql.Tx, pack string, b state.Brief, withState bool) error {
	var id int64
	err := tx.QueryRowContext(ctx, `INSERT INTO briefs (pack, written_at, generated_at, writer, text, refused, with_state)
		VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		pack, b.At.UnixMilli(), b.Of.UnixMilli(), b.Writer, b.Text, b.Refused, withState).Scan(&id)
	if err == nil && withState {
		day := b.At.UTC().Truncate(24 * time.Hour).UnixMilli()
		_, err = tx.ExecContext(ctx, "DELETE FROM briefs WHERE pack = ? AND with_state = 1 AND written_at >= ? AND id < ?", pack, day, id)
	}
	if err != nil {
		return fmt.Errorf("save brief of %s: %w", pack, err)
	}
	return nil
}

// Briefs returns the newest briefs of pack, newest first, at most limit.
func (h *History) Briefs(ctx context.Context, pack string, limit int) ([]state.Brief, error) {
	list, err := database.Query(ctx, h.db.Read, func(rows *sql.Rows) (b state.Brief, err error) {
		var at, of sql.NullInt64
		err = rows.Scan(&at, &of, &b.Writer, &b.Text, &b.Refused)
		b.At = database.FromMillis(at)
		b.Of = database.FromMillis(of)
		return b, err
	}, "SELECT written_at, generated_at, writer, text, refused FROM briefs WHERE pack = ? ORDER BY id DESC LIMIT ?", pack, limit)
	if err != nil {
		return nil, fmt.Errorf("read briefs of %s: %w", pack, err)
	}
	return list, nil
}

// SaveSources replaces the changed sources.
func (h *History) SaveSources(ctx context.Context, pack string, changed []state.SourceRecord) error {
	return h.db.TxLeading(ctx, func(tx *sql.Tx) error {
		if err := saveSources(ctx, tx, pack, changed); err != nil {
			return err
		}
		return h.db.Notify(ctx, tx, NotifyState)
	})
}

func saveSources(ctx context.Context, tx *sql.Tx, pack string, changed []state.SourceRecord) error {
	for _, c := range changed {
		_, err := tx.ExecContext(ctx, `INSERT INTO sources
			(pack, source, doc, fetched_at, attempted_at, not_before, failures, error, bodies, asked_at, made_from, versions)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (pack, source) DO UPDATE SET doc = excluded.doc, fetched_at = excluded.fetched_at,
			attempted_at = excluded.attempted_at, not_before = excluded.not_before, failures = excluded.failures, error = excluded.error,
			bodies = excluded.bodies, asked_at = excluded.asked_at, made_from = excluded.made_from,
			versions = excluded.versions`,
			pack, c.Source, c.Doc, database.Millis(c.FetchedAt), c.AttemptedAt.UnixMilli(), database.Millis(c.NotBefore), c.Failures, c.Err,
			strings.Join(c.Bodies, " "), database.Millis(c.AskedAt), c.From, c.Versions)
		if err != nil {
			return fmt.Errorf("save source %s: %w", c.Source, err)
		}
	}
	return nil
}

func readSources(ctx context.Context, db database.Querier, pack string) ([]state.SourceRecord, error) {
	rows, err := db.QueryContext(ctx,
		`SELECT source, doc, fetched_at, attempted_at, not_before, failures, error, bodies, asked_at, made_from, versions
		FROM sources WHERE pack = ? ORDER BY source`, pack)
	if err != nil {
		return nil, fmt.Errorf("read sources: %w", err)
	}
	defer rows.Close()
	var list []state.SourceRecord
	for rows.Next() {
		var r state.SourceRecord
		var fetched, attempted, notBefore, asked sql.NullInt64
		var bodies string
		if err := rows.Scan(&r.Source, &r.Doc, &fetched, &attempted, &notBefore, &r.Failures, &r.Err, &bodies, &asked,
			&r.From, &r.Versions); err != nil {
			return nil, fmt.Errorf("read sources: %w", err)
		}
		r.FetchedAt, r.AttemptedAt = database.FromMillis(fetched), database.FromMillis(attempted)
		r.NotBefore, r.AskedAt, r.Bodies = database.FromMillis(notBefore), database.FromMillis(asked), strings.Fields(bodies)
		list = append(list, r)
	}
	return list, rows.Err()
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/state"
)

// ReserveWriting adds u to what language models took on day, unless the day would then have more than limit.
func (s *Store) ReserveWriting(ctx context.Context, day string, u brief.Usage, limit brief.Limit) (ok bool, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		taken, err := writing(ctx, tx, day)
		if err != nil {
			return err
		}
		all := taken.Plus(u)
		if limit.Tokens > 0 && all.Tokens() > limit.Tokens || limit.CostMicros > 0 && all.CostMicros > limit.CostMicros {
			return nil
		}
		ok = true
		return addWriting(ctx, tx, day, u)
	})
	return ok && err == nil, err
}

// CorrectWriting adds by to what language models took on day.
func (s *Store) CorrectWriting(ctx context.Context, day string, by brief.Usage) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error { return addWriting(ctx, tx, day, by) })
}

// Writing returns what language models took on day.
func (s *Store) Writing(ctx context.Context, day string) (brief.Usage, error) {
	return writing(ctx, s.db.Read, day)
}

func writing(ctx context.Context, db database.Querier, day string) (u brief.Usage, err error) {
	err = db.QueryRowContext(ctx, "SELECT input_tokens, output_tokens, cost_micros FROM writing WHERE day = ?", day).
		Scan(&u.InputTokens, &u.OutputTokens, &u.CostMicros)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return u, fmt.Errorf("read what models took on %s: %w", day, err)
	}
	return u, nil
}

func addWriting(ctx context.Context, tx *sql.Tx, day string, u brief.Usage) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO writing (day, input_tokens, output_tokens, cost_micros) VALUES (?, ?, ?, ?)
		ON CONFLICT (day) DO UPDATE SET input_tokens = writing.input_tokens + excluded.input_tokens,
		output_tokens = writing.output_tokens + excluded.output_tokens, cost_micros = writing.cost_micros + excluded.cost_micros`,
		day, u.InputTokens, u.OutputTokens, u.CostMicros)
	if err != nil {
		return fmt.Errorf("write what models took on %s: %w", day, err)
	}
	return nil
}

// OwnerBrief returns the newest brief by an owner's own prompt, zero if there is none.
func (s *Store) OwnerBrief(ctx context.Context, ownerID, pack string) (b state.OwnerBrief, err error) {
	var of, at sql.NullInt64
	err = s.db.Read.QueryRowContext(ctx, `SELECT generated_at, prompt, attempts, written_at, writer, text, refused FROM owner_briefs
		WHERE owner_id = ? AND pack = ?`, ownerID, pack).Scan(&of, &b.Prompt, &b.Attempts, &at, &b.Writer, &b.Text, &b.Refused)
	if errors.Is(err, sql.ErrNoRows) {
		return state.OwnerBrief{}, nil
	}
	if err != nil {
		return b, fmt.Errorf("read brief of owner %s: %w", ownerID, err)
	}
	b.Of, b.At = database.FromMillis(of), database.FromMillis(at)
	return b, nil
}

// SaveOwnerBrief replaces it.
func (s *Store) SaveOwnerBrief(ctx context.Context, ownerID, pack string, b state.OwnerBrief) error {
	err := s.db.Exec(ctx, `INSERT INTO owner_briefs
		(owner_id, pack, generated_at, prompt, attempts, written_at, writer, text, refused) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner_id, pack) DO UPDATE SET generated_at = excluded.generated_at, prompt = excluded.prompt,
		attempts = excluded.attempts, written_at = excluded.written_at, writer = excluded.writer, text = excluded.text,
		refused = excluded.refused`,
		ownerID, pack, b.Of.UnixMilli(), b.Prompt, b.Attempts, b.At.UnixMilli(), b.Writer, b.Text, b.Refused)
	if err != nil {
		return fmt.Errorf("save brief of owner %s: %w", ownerID, err)
	}
	return nil
}

// OwnerBriefs counts the briefs that owners have by their own prompts, and those that no model could write.
func (s *Store) OwnerBriefs(ctx context.Context, pack string) (written, failed int, err error) {
	err = s.db.Read.QueryRowContext(ctx,
		"SELECT count(nullif(text, '')), count(*) - count(nullif(text, '')) FROM owner_briefs WHERE pack = ?", pack).
		Scan(&written, &failed)
	if err != nil {
		err = fmt.Errorf("count briefs of owners: %w", err)
	}
	return written, failed, err
}

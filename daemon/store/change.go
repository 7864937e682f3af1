package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
)

// changed notes, within an act, that it has changed keys, tier, standing or credits of owners, for the other nodes on the database. On
// SQLite there are none.
func (s *Store) changed(ctx context.Context, tx *sql.Tx, owners ...string) error {
	if !s.db.OnServer() || len(owners) == 0 {
		return nil
	}
	slices.Sort(owners)
	_, err := tx.ExecContext(ctx, `INSERT INTO changes (at, owner_id)
		SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, * FROM unnest(?::text[])`, slices.Compact(owners))
	if err == nil {
		_, err = tx.ExecContext(ctx, "SELECT pg_notify(current_schema(), 'owner')")
	}
	if err != nil {
		return fmt.Errorf("note change: %w", err)
	}
	return nil
}

func (s *Store) changedKey(ctx context.Context, tx *sql.Tx, id string) error {
	if !s.db.OnServer() {
		return nil
	}
	var owner string
	if err := tx.QueryRowContext(ctx, "SELECT owner_id FROM keys WHERE id = ?", id).Scan(&owner); err != nil {
		return fmt.Errorf("find owner of key %s: %w", id, err)
	}
	return s.changed(ctx, tx, owner)
}

func (s *Store) changedBy(ctx context.Context, tx *sql.Tx, list ...billing.Deposit) error {
	var owners []string
	for _, d := range list {
		if d.ID != "" {
			owners = append(owners, d.OwnerID)
		}
	}
	return s.changed(ctx, tx, owners...)
}

// maxChanges is of how many changes one is told; who has missed more reads everything.
const maxChanges = 2000

// Changes returns the owners whose keys, tier, standing or credits were changed after the change with the number after, and the number of
// the last. all says that they are not known any more, or too many: it can be any owner. It is for PostgreSQL.
func (s *Store) Changes(ctx context.Context, after int64) (owners []string, last int64, all bool, err error) {
	type change struct {
		seq   int64
		owner string
	}
	// The newest is never dropped, so that one after it, or one before the oldest, shows what was.
	list, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (c change, err error) { return c, rows.Scan(&c.seq, &c.owner) },
		`(SELECT seq, '' FROM changes ORDER BY seq LIMIT 1) UNION ALL (SELECT seq, '' FROM changes ORDER BY seq DESC LIMIT 1)
		UNION ALL (SELECT seq, owner_id FROM changes WHERE seq > ? ORDER BY seq LIMIT ?)`, after, maxChanges+1)
	if err != nil {
		return nil, 0, false, fmt.Errorf("read changes: %w", err)
	}
	if len(list) == 0 {
		return nil, 0, after > 0, nil
	}
	oldest, newest := list[0].seq, list[1].seq
	if newest < after || oldest > after+1 || len(list) > maxChanges+2 {
		return nil, newest, true, nil
	}
	last = after
	for _, c := range list[2:] {
		owners, last = append(owners, c.owner), c.seq
	}
	slices.Sort(owners)
	return slices.Compact(owners), last, false, nil
}

// LastChange is the number of the last change, 0 for none.
func (s *Store) LastChange(ctx context.Context) (last int64, err error) {
	if err := s.db.Read.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM changes").Scan(&last); err != nil {
		return 0, fmt.Errorf("read changes: %w", err)
	}
	return last, nil
}

// PruneChanges drops those that are an hour old, but the newest.
func (s *Store) PruneChanges(ctx context.Context) error {
	if !s.db.OnServer() {
		return nil
	}
	const kept = 3_600_000 // ms
	err := s.db.ExecLeading(ctx, `DELETE FROM changes WHERE at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - ?
		AND seq < (SELECT max(seq) FROM changes)`, kept)
	if err != nil {
		return fmt.Errorf("prune changes: %w", err)
	}
	return nil
}

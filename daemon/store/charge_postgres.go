package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
)

// groupWith books a batch on PostgreSQL: as one statement, because every one costs a way to the server and back. Rows are locked in
// ascending order, so that batches of several daemons wait for each other and never in a circle. It returns how many keys were debited.
const groupWith = `WITH debit AS (SELECT * FROM unnest(?1::text[], ?2::bigint[]) AS d (id, n)),
	locked AS (SELECT keys.id, n FROM keys JOIN debit ON debit.id = keys.id WHERE credits >= n AND revoked_at IS NULL
		ORDER BY keys.id FOR UPDATE OF keys),
	debited AS (UPDATE keys SET credits = credits - n, spent = spent + n FROM locked WHERE keys.id = locked.id AND credits >= n RETURNING 1),
	counted AS (INSERT INTO usage (key_id, hour, op, paid, free)
		SELECT * FROM unnest(?3::text[], ?4::bigint[], ?5::text[], ?6::bigint[], ?7::bigint[]) AS u (key_id, hour, op, paid, free)
		ORDER BY key_id, hour, op
		ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = usage.paid + excluded.paid, free = usage.free + excluded.free),
	freed AS (INSERT INTO free_calls (key_id, at, calls) SELECT * FROM unnest(?8::text[], ?9::bigint[], ?10::bigint[])),
	traced AS (INSERT INTO traces (key_id, at, op, pack) SELECT * FROM unnest(?11::text[], ?12::bigint[], ?13::text[], ?14::text[]))
	SELECT `

const group = groupWith + "count(*) FROM debited"

// groupFree is group for a batch with free calls. It returns -1 where one of their windows has no room for them, which several daemons
// fill: who charges has locked the windows before, so that the calls of all others are seen.
const groupFree = groupWith + `CASE WHEN EXISTS (
		SELECT 1 FROM (SELECT whose, sum(n) AS n FROM unnest(?15::text[], ?10::bigint[]) AS w (whose, n) GROUP BY whose) AS f
		WHERE n + coalesce((SELECT sum(calls) FROM free_calls WHERE at > ?16
			AND key_id IN (SELECT id FROM keys WHERE owner_id = whose UNION ALL SELECT whose)), 0) > ?17)
	THEN -1 ELSE (SELECT count(*) FROM debited) END`

// lockFree locks owners and then keys, in ascending order: those whose free windows are used, and those that are debited.
const lockFree = `WITH whose AS MATERIALIZED (SELECT id FROM owners WHERE id = ANY(?1::text[]) ORDER BY id FOR NO KEY UPDATE)
	SELECT count(*) FROM (SELECT id FROM keys WHERE id = ANY(?2::text[]) AND (SELECT count(*) FROM whose) >= 0
		ORDER BY id FOR NO KEY UPDATE) AS locked`

// chargeGroup is Charge on PostgreSQL.
func (s *Store) chargeGroup(ctx context.Context, b billing.Batch) error {
	var keys, used, ops, freeKeys, windows, traced, tracedOps, packs []string
	var debits, hours, paid, free, freeAt, freeCalls, tracedAt []int64
	for id, n := range b.Debits {
		keys, debits = append(keys, id), append(debits, n)
	}
	for k, c := range b.Usage {
		used, hours, ops = append(used, k.KeyID), append(hours, k.Hour), append(ops, string(k.Op))
		paid, free = append(paid, c.Paid), append(free, c.Free)
	}
	for id, stamp := range b.Free {
		if whose := b.Windows[id]; whose != "" {
			windows = append(windows, whose)
		}
		freeKeys, freeAt, freeCalls = append(freeKeys, id), append(freeAt, stamp.At.UnixMilli()), append(freeCalls, stamp.Calls)
	}
	for _, t := range b.Traces {
		traced, tracedAt = append(traced, t.KeyID), append(tracedAt, t.At.UnixMilli())
		tracedOps, packs = append(tracedOps, string(t.Op)), append(packs, t.Pack)
	}
	check := func(debited int64) error {
		if debited != int64(len(keys)) {
			return fmt.Errorf("debit %d keys: %w", len(keys), billing.ErrConflict)
		}
		return nil
	}
	args := []any{keys, debits, used, hours, ops, paid, free, freeKeys, freeAt, freeCalls, traced, tracedAt, tracedOps, packs}
	acts := []database.Statement{{Text: group, Args: args}}
	if len(windows) > 0 {
		acts = []database.Statement{{Text: lockFree, Args: []any{windows, slices.Concat(windows, keys)}},
			{Text: groupFree, Args: append(args, windows, b.FreeAfter.UnixMilli(), b.FreeLimit)}}
	}
	err := s.db.Group(ctx, check, acts...)
	if lost := new(database.Unsettled); errors.As(err, &lost) {
		s.refund(lost, b)
	}
	return err
}

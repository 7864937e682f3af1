package store

import (
	"context"
	"fmt"

	"github.com/contextd/contextd/daemon/billing"
)

// group books a batch on PostgreSQL: as one statement, because every one costs a way to the server and back. Rows are locked in ascending
// order, so that batches of several daemons wait for each other and never in a circle. It returns how many keys were debited.
const group = `WITH debit AS (SELECT * FROM unnest(?1::text[], ?2::bigint[]) AS d (id, n)),
	locked AS (SELECT keys.id, n FROM keys JOIN debit ON debit.id = keys.id WHERE credits >= n AND revoked_at IS NULL
		ORDER BY keys.id FOR UPDATE OF keys),
	debited AS (UPDATE keys SET credits = credits - n, spent = spent + n FROM locked WHERE keys.id = locked.id AND credits >= n RETURNING 1),
	counted AS (INSERT INTO usage (key_id, hour, op, paid, free)
		SELECT * FROM unnest(?3::text[], ?4::bigint[], ?5::text[], ?6::bigint[], ?7::bigint[]) AS u (key_id, hour, op, paid, free)
		ORDER BY key_id, hour, op
		ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = usage.paid + excluded.paid, free = usage.free + excluded.free),
	freed AS (INSERT INTO free_calls (key_id, at, calls) SELECT * FROM unnest(?8::text[], ?9::bigint[], ?10::bigint[])),
	traced AS (INSERT INTO traces (key_id, at, op, pack) SELECT * FROM unnest(?11::text[], ?12::bigint[], ?13::text[], ?14::text[]))
	SELECT count(*) FROM debited`

// chargeGroup is Charge on PostgreSQL.
func (s *Store) chargeGroup(ctx context.Context, b billing.Batch) error {
	var keys, used, ops, freeKeys, traced, tracedOps, packs []string
	var debits, hours, paid, free, freeAt, freeCalls, tracedAt []int64
	for id, n := range b.Debits {
		keys, debits = append(keys, id), append(debits, n)
	}
	for k, c := range b.Usage {
		used, hours, ops = append(used, k.KeyID), append(hours, k.Hour), append(ops, string(k.Op))
		paid, free = append(paid, c.Paid), append(free, c.Free)
	}
	for id, stamp := range b.Free {
		freeKeys, freeAt, freeCalls = append(freeKeys, id), append(freeAt, stamp.At.UnixMilli()), append(freeCalls, stamp.Calls)
	}
	for _, t := range b.Traces {
		traced, tracedAt = append(traced, t.KeyID), append(tracedAt, t.At.UnixMilli())
		tracedOps, packs = append(tracedOps, string(t.Op)), append(packs, t.Pack)
	}
	return s.db.Group(ctx, func(debited int64) error {
		if debited != int64(len(keys)) {
			return fmt.Errorf("debit %d keys: %w", len(keys), billing.ErrConflict)
		}
		return nil
	}, group, keys, debits, used, hours, ops, paid, free, freeKeys, freeAt, freeCalls, traced, tracedAt, tracedOps, packs)
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
)

// The statement that books a batch on PostgreSQL has these parts, of which those are left out for which a batch has nothing. It is one,
// because every one costs a way to the server and back. Where not all is as it should be it fails, so that its commit can go with it and a
// batch is booked if its transaction was committed, whoever has heard of that. Rows are locked in ascending order: batches of several
// daemons wait for each other and never in a circle. The conditions stand in wasBooked alone: in the join, the planner would take
// revoked_at for a reason to expect one row, until the table is analyzed for the first time.
const (
	lockKeys = `debit AS (SELECT * FROM unnest(?::text[], ?::bigint[]) AS d (id, n)),
	locked AS (SELECT keys.id, n, credits, revoked_at FROM keys JOIN debit ON debit.id = keys.id ORDER BY keys.id FOR UPDATE OF keys),
	debited AS (UPDATE keys SET credits = keys.credits - n, spent = spent + n FROM locked WHERE keys.id = locked.id)`
	countUsage = `counted AS (INSERT INTO usage (key_id, hour, op, paid, free)
		SELECT * FROM unnest(?::text[], ?::bigint[], ?::text[], ?::bigint[], ?::bigint[]) AS u (key_id, hour, op, paid, free)
		ORDER BY key_id, hour, op
		ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = usage.paid + excluded.paid, free = usage.free + excluded.free)`
	keepFree    = `freed AS (INSERT INTO free_calls (key_id, at, calls) SELECT * FROM unnest(?::text[], ?::bigint[], ?::bigint[]))`
	keepTraces  = `traced AS (INSERT INTO traces (key_id, at, op, pack) SELECT * FROM unnest(?::text[], ?::bigint[], ?::text[], ?::text[]))`
	haveCredits = `(SELECT count(*) FILTER (WHERE credits >= n AND revoked_at IS NULL) FROM locked) = ?`
	haveRoom    = `NOT EXISTS (
		SELECT 1 FROM (SELECT whose, sum(n) AS n FROM unnest(?::text[], ?::bigint[]) AS w (whose, n) GROUP BY whose) AS f
		WHERE n + coalesce((SELECT sum(calls) FROM free_calls WHERE at > ?
			AND key_id IN (SELECT id FROM keys WHERE owner_id = whose UNION ALL SELECT whose)), 0) > ?)`
	haveDay = `NOT EXISTS (SELECT 1 FROM unnest(?::text[], ?::bigint[], ?::bigint[], ?::bigint[]) AS d (key, since, n, most)
		WHERE n + coalesce((SELECT sum(paid) FROM usage WHERE key_id = key AND hour >= since AND hour < since + 24), 0) > most)`
	wasBooked = `SELECT (CASE WHEN %s THEN '1' ELSE 'the books have changed' END)::int` // of PostgreSQL's log, where it does not hold
)

// lockFree locks owners and then keys, in ascending order: those whose free windows or bounds of a day are used, and those that are
// debited. It goes before, where a batch has such calls: several daemons fill these, and haveRoom and haveDay have to see the calls of all.
const lockFree = `WITH whose AS MATERIALIZED (SELECT id FROM owners WHERE id = ANY(?1::text[]) ORDER BY id FOR NO KEY UPDATE)
	SELECT count(*) FROM (SELECT id FROM keys WHERE id = ANY(?2::text[]) AND (SELECT count(*) FROM whose) >= 0
		ORDER BY id FOR NO KEY UPDATE) AS locked`

func (s *Store) chargeGroup(ctx context.Context, batch func() billing.Batch) error {
	var b billing.Batch
	err := s.db.Group(ctx, func() []database.Statement {
		b = batch()
		return statementsOf(b)
	})
	const noNumber = "22P02" // of PostgreSQL's errors
	switch lost, refused := new(database.Unsettled), new(pgconn.PgError); {
	case errors.As(err, &lost):
		s.refund(lost, b)
	case errors.As(err, &refused) && refused.Code == noNumber:
		return fmt.Errorf("debit %d keys: %w", len(b.Debits), billing.ErrConflict)
	}
	return err
}

func statementsOf(b billing.Batch) (all []database.Statement) {
	var keys, used, ops, freeKeys, windows, bounded, traced, tracedOps, packs []string
	var days, spent, most, debits, hours, paid, free, freeAt, freeCalls, tracedAt []int64
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
	for day, s := range b.Daily {
		bounded, days, spent, most = append(bounded, day.KeyID), append(days, day.Hour), append(spent, s.Credits), append(most, s.Most)
	}
	for _, t := range b.Traces {
		traced, tracedAt = append(traced, t.KeyID), append(tracedAt, t.At.UnixMilli())
		tracedOps, packs = append(tracedOps, string(t.Op)), append(packs, t.Pack)
	}

	var parts []string
	var args []any
	part := func(there int, text string, values ...any) {
		if there > 0 {
			parts, args = append(parts, text), append(args, values...)
		}
	}
	part(len(keys), lockKeys, keys, debits)
	part(len(used), countUsage, used, hours, ops, paid, free)
	part(len(freeKeys), keepFree, freeKeys, freeAt, freeCalls)
	part(len(traced), keepTraces, traced, tracedAt, tracedOps, packs)
	ok := "true"
	if len(keys) > 0 {
		ok, args = haveCredits, append(args, len(keys))
	}
	if len(windows) > 0 {
		ok, args = ok+" AND "+haveRoom, append(args, windows, freeCalls, b.FreeAfter.UnixMilli(), b.FreeLimit)
	}
	if len(bounded) > 0 {
		ok, args = ok+" AND "+haveDay, append(args, bounded, days, spent, most)
	}
	if len(windows)+len(bounded) > 0 {
		all = append(all, database.Statement{Text: lockFree, Args: []any{windows, slices.Concat(windows, keys, bounded)}})
	}
	return append(all, database.Statement{Text: "WITH " + strings.Join(parts, ",\n\t") + "\n\t" + fmt.Sprintf(wasBooked, ok), Args: args})
}

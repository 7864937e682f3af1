package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

var _ event.Store = (*Store)(nil)

const watchColumns = `w.id, w.owner_id, w.key_id, w.type, w.pack, w.arguments, w.rule, w.expires, w.target, w.host, w.secret,
	w.secret_before, w.sealed, w.before_until, w.log, w.seq, w.created_at, w.expires_at, w.paid_until, w.paused_at, w.suspended_at,
	w.ended_at, w.low_since, w.last_at, w.last_error, w.failed_since, w.failures, w.gap`

// atZero is a time as watches have it: 0 for none.
func atZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromZero(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// watchSecret is the name for which the secret of a watch is sealed.
func watchSecret(id string) string { return "watch " + id }

// scanWatch reads watchColumns, and what stands behind them into more.
func (s *Store) scanWatch(rows *sql.Rows, more ...any) (w event.Watch, err error) {
	var arguments, target string
	var sealed int64
	var times [10]int64
	err = rows.Scan(append([]any{
		&w.ID, &w.OwnerID, &w.KeyID, &w.Type, &w.Pack, &arguments, &w.Rule, &w.Expires, &target, &w.Host, &w.Secret, &w.SecretBefore,
		&sealed,
		&times[0], &w.From.Log, &w.From.Seq, &times[1], &times[2], &times[3], &times[4], &times[5], &times[6], &times[7], &times[8],
		&w.LastError, &times[9], &w.Failures, &w.Gap,
	}, more...)...)
	if err != nil {
		return w, err
	}
	for i, at := range []*time.Time{
		&w.BeforeUntil, &w.CreatedAt, &w.ExpiresAt, &w.PaidUntil, &w.PausedAt, &w.SuspendedAt, &w.EndedAt, &w.LowSince, &w.LastAt,
		&w.FailedSince,
	} {
		*at = fromZero(times[i])
	}
	w.Arguments = json.RawMessage(arguments)
	for _, secret := range []*[]byte{&w.Secret, &w.SecretBefore} {
		if len(*secret) == 0 {
			*secret = nil
		} else if *secret, err = s.seal.open(watchSecret(w.ID), *secret, sealed); err != nil {
			return w, fmt.Errorf("read the secret of watch %s: %w", w.ID, err)
		}
	}
	return w, json.Unmarshal([]byte(target), &w.Delivery)
}

func (s *Store) watches(ctx context.Context, db database.Querier, rest string, args ...any) ([]event.Watch, error) {
	list, err := database.Query(ctx, db, func(rows *sql.Rows) (event.Watch, error) { return s.scanWatch(rows) },
		"SELECT "+watchColumns+" FROM watches AS w WHERE "+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read watches: %w", err)
	}
	return list, nil
}

// Watches are the watches of an owner, or all for "", oldest first.
func (s *Store) Watches(ctx context.Context, ownerID string) ([]event.Watch, error) {
	return s.watches(ctx, s.db.Read, "(?1 = '' OR owner_id = ?1) AND ended_at = 0 ORDER BY created_at, id", ownerID)
}

// Watch is the watch of an id.
func (s *Store) Watch(ctx context.Context, id string) (w event.Watch, ok bool, err error) {
	list, err := s.watches(ctx, s.db.Read, "id = ? AND ended_at = 0", id)
	if err != nil || len(list) == 0 {
		return w, false, err
	}
	return list[0], true, nil
}

// UnpaidWatches are those whose day has ended, of those that are paid by the day.
func (s *Store) UnpaidWatches(ctx context.Context, now time.Time) ([]event.Watch, error) {
	return s.watches(ctx, s.db.Read, "paid_until <= ? AND ended_at = 0 AND expires = 0 ORDER BY paused_at, paid_until, id LIMIT 1000",
		now.UnixMilli())
}

// PutWatch keeps w, or renews the one that has its id.
func (s *Store) PutWatch(ctx context.Context, w event.Watch, most event.Bounds, first []event.Message) (
	stored event.Watch, unpaid bool, err error,
) {
	target, err := json.Marshal(w.Delivery)
	if err != nil {
		return w, false, fmt.Errorf("write watch: %w", err)
	}
	seal := func(secret []byte) []byte {
		if err == nil && len(secret) > 0 {
			secret, err = s.seal.close(watchSecret(w.ID), secret)
		}
		return append([]byte{}, secret...)
	}
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		old, failed := s.watches(ctx, tx, "id = ?", w.ID)
		if failed != nil {
			return failed
		}
		if stored, unpaid = w, true; len(old) > 0 {
			was := old[0]
			if w.SecretMade && len(was.Secret) > 0 { // the same was made elsewhere in the meantime
				w.Secret, stored.Secret = was.Secret, was.Secret
			}
			stored.CreatedAt, stored.From, stored.Gap = was.CreatedAt, was.From, was.Gap
			stored.LowSince, stored.LastAt = was.LowSince, was.LastAt
			if string(was.Secret) != string(w.Secret) {
				stored.SecretBefore, stored.BeforeUntil = was.Secret, w.BeforeUntil
			} else {
				stored.SecretBefore, stored.BeforeUntil = was.SecretBefore, was.BeforeUntil
			}
			if unpaid = !was.PaidUntil.After(w.CreatedAt); !unpaid {
				stored.PaidUntil = was.PaidUntil
			}
			_, failed := tx.ExecContext(ctx, `UPDATE watches SET expires = ?, target = ?, host = ?, secret = ?, secret_before = ?,
				sealed = ?, before_until = ?, expires_at = ?, paid_until = ?, paused_at = 0, suspended_at = 0, ended_at = 0,
				failed_since = 0, failures = 0, last_error = '' WHERE id = ?`,
				stored.Expires, string(target), w.Host, seal(w.Secret), seal(stored.SecretBefore), s.seal.id,
				atZero(stored.BeforeUntil), w.ExpiresAt.UnixMilli(), stored.PaidUntil.UnixMilli(), w.ID)
			if err == nil {
				err = failed
			}
			return err
		}
		stored.SecretBefore, stored.BeforeUntil = nil, time.Time{}
		if failed := room(ctx, tx, w, most); failed != nil {
			return failed
		}
		if at, ok, failed := watchPlace(ctx, tx, w.Pack); failed != nil || ok && at.Log == w.From.Log && at.Seq > w.From.Seq {
			return cmp.Or(failed, event.ErrOvertaken)
		}
		_, failed = tx.ExecContext(ctx, `INSERT INTO watches (id, owner_id, key_id, type, pack, arguments, rule, expires, delivery, target,
			host, secret, secret_before, sealed, log, seq, created_at, expires_at, paid_until, gap)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			w.ID, w.OwnerID, w.KeyID, string(w.Type), w.Pack, string(w.Arguments), w.Rule, w.Expires, string(w.Delivery.Type),
			string(target), w.Host, seal(w.Secret), []byte{}, s.seal.id, w.From.Log, w.From.Seq, w.CreatedAt.UnixMilli(),
			w.ExpiresAt.UnixMilli(), w.PaidUntil.UnixMilli(), w.Gap)
		if err == nil {
			err = failed
		}
		for _, m := range first {
			if err == nil {
				err = deliver(ctx, tx, w, m, w.CreatedAt.Add(event.FirstWait))
			}
		}
		return err
	})
	return stored, unpaid, err
}

// room reports where a key or an owner has as many watches as they may.
func room(ctx context.Context, tx *sql.Tx, w event.Watch, most event.Bounds) error {
	var owner, key int
	if err := tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(CASE WHEN key_id = ? THEN 1 ELSE 0 END), 0) FROM watches "+
		"WHERE owner_id = ? AND ended_at = 0", w.KeyID, w.OwnerID).Scan(&owner, &key); err != nil {
		return fmt.Errorf("count watches: %w", err)
	}
	switch {
	case key >= most.Key:
		return api.Errorf(api.ReasonTooManyWatches, "key %s has %d watches, as many as it may", w.KeyID, key).
			WithHint("remove one: ctx watch list, then ctx watch remove ID")
	case owner >= most.Owner:
		return api.Errorf(api.ReasonTooManyWatches, "the owner of key %s has %d watches, as many as they may", w.KeyID, owner).
			WithHint("remove one: ctx watch list, then ctx watch remove ID")
	}
	return nil
}

// deliver keeps m and a delivery of it.
func deliver(ctx context.Context, tx *sql.Tx, w event.Watch, m event.Message, at time.Time) error {
	if err := keepMessage(ctx, tx, m); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO watch_deliveries (watch, event, cursor, next_at) VALUES (?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, w.ID, m.ID, m.Before, at.UnixMilli()); err != nil {
		return fmt.Errorf("keep delivery: %w", err)
	}
	return nil
}

func keepMessage(ctx context.Context, tx *sql.Tx, m event.Message) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO watch_events (id, rule, at, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		m.ID, m.Rule, m.At.UnixMilli(), m.Body); err != nil {
		return fmt.Errorf("keep event: %w", err)
	}
	return nil
}

// UnpayWatch undoes a PutWatch whose day was refused.
func (s *Store) UnpayWatch(ctx context.Context, w event.Watch, was time.Time) error {
	if was.IsZero() {
		return s.RemoveWatch(ctx, w.ID)
	}
	return s.db.Exec(ctx, "UPDATE watches SET paid_until = ?, paused_at = ? WHERE id = ?", was.UnixMilli(), w.CreatedAt.UnixMilli(), w.ID)
}

// RemoveWatch drops a watch with what it was to have.
func (s *Store) RemoveWatch(ctx context.Context, id string) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error { return removeWatch(ctx, tx, id) })
}

func removeWatch(ctx context.Context, tx *sql.Tx, id string) error {
	for _, text := range []string{"DELETE FROM watch_deliveries WHERE watch = ?", "DELETE FROM watches WHERE id = ?"} {
		if _, err := tx.ExecContext(ctx, text, id); err != nil {
			return fmt.Errorf("remove watch: %w", err)
		}
	}
	return nil
}

// WatchMessages are those of a rule after a time, oldest first.
func (s *Store) WatchMessages(ctx context.Context, rule string, after time.Time, limit int) ([]event.Message, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (m event.Message, err error) {
		var at int64
		err = rows.Scan(&m.ID, &m.Rule, &at, &m.Body)
		m.At = fromZero(at)
		return m, err
	}, "SELECT id, rule, at, body FROM watch_events WHERE rule = ? AND at > ? ORDER BY at, id LIMIT ?", rule, after.UnixMilli(), limit)
}

// WatchedRules are the conditions of a pack that somebody is to be told of.
func (s *Store) WatchedRules(ctx context.Context, pack string) ([]event.Rule, error) {
	return watchedRules(ctx, s.db.Read, pack)
}

func watchedRules(ctx context.Context, db database.Querier, pack string) ([]event.Rule, error) {
	return database.Query(ctx, db, func(rows *sql.Rows) (r event.Rule, err error) {
		var arguments string
		err = rows.Scan(&r.Hash, &r.Type, &arguments)
		r.Arguments = json.RawMessage(arguments)
		return r, err
	}, `SELECT DISTINCT rule, type, arguments FROM watches WHERE pack = ? AND delivery <> 'poll' AND paused_at = 0 AND ended_at = 0
		ORDER BY rule`, pack)
}

// WatchPlace is the place to which a pack was looked at.
func (s *Store) WatchPlace(ctx context.Context, pack string) (p event.Place, ok bool, err error) {
	return watchPlace(ctx, s.db.Read, pack)
}

func watchPlace(ctx context.Context, db database.Querier, pack string) (p event.Place, ok bool, err error) {
	list, err := database.Query(ctx, db, func(rows *sql.Rows) (p event.Place, err error) { return p, rows.Scan(&p.Log, &p.Seq) },
		"SELECT log, seq FROM watch_cursors WHERE pack = ?", pack)
	if err != nil || len(list) == 0 {
		return p, false, err
	}
	return list[0], true, nil
}

// SaveEvents keeps messages with a delivery for each watch that is to have them, and the place to which a pack was looked at.
func (s *Store) SaveEvents(ctx context.Context, pack string, at event.Place, looked []event.Rule, messages []event.Message,
	now time.Time,
) error {
	const wants = `w.rule = ?1 AND w.delivery <> 'poll' AND w.paused_at = 0 AND w.ended_at = 0 AND (w.log <> ?2 OR w.seq < ?3)`
	const full = `(w.suspended_at > 0 OR (SELECT count(*) FROM watch_deliveries AS d WHERE d.watch = w.id) >= ?4)`
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		if looked != nil {
			rules, err := watchedRules(ctx, tx, pack)
			if err != nil {
				return fmt.Errorf("read conditions: %w", err)
			}
			for _, r := range rules {
				if !slices.ContainsFunc(looked, func(l event.Rule) bool { return l.Hash == r.Hash }) {
					return event.ErrOvertaken
				}
			}
		}
		for _, m := range messages {
			if err := keepMessage(ctx, tx, m); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "UPDATE watches AS w SET gap = ?5 WHERE w.gap = '' AND "+wants+" AND "+full,
				m.Rule, at.Log, at.Seq, event.MostWaiting, m.Before); err != nil {
				return fmt.Errorf("note gaps: %w", err)
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO watch_deliveries (watch, event, cursor, next_at)
				SELECT w.id, CAST(?5 AS TEXT), CAST(?6 AS TEXT), CAST(?7 AS BIGINT) FROM watches AS w
				WHERE `+wants+" AND NOT "+full+" ON CONFLICT DO NOTHING",
				m.Rule, at.Log, at.Seq, event.MostWaiting, m.ID, m.Before, now.UnixMilli()); err != nil {
				return fmt.Errorf("keep deliveries: %w", err)
			}
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO watch_cursors (pack, log, seq) VALUES (?, ?, ?)
			ON CONFLICT (pack) DO UPDATE SET log = excluded.log, seq = excluded.seq`, pack, at.Log, at.Seq); err != nil {
			return fmt.Errorf("keep place: %w", err)
		}
		return nil
	})
}

// ChangeWatch changes the state of a watch and keeps a message for it alone; nil is none.
func (s *Store) ChangeWatch(ctx context.Context, w event.Watch, m *event.Message, now time.Time) error {
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE watches SET paid_until = ?, paused_at = ?, ended_at = ?, low_since = ?, gap = ?
			WHERE id = ?`, w.PaidUntil.UnixMilli(), atZero(w.PausedAt), atZero(w.EndedAt), atZero(w.LowSince), w.Gap, w.ID); err != nil {
			return fmt.Errorf("change watch: %w", err)
		}
		if !w.EndedAt.IsZero() {
			if _, err := tx.ExecContext(ctx, "DELETE FROM watch_deliveries WHERE watch = ?", w.ID); err != nil {
				return fmt.Errorf("drop deliveries: %w", err)
			}
		}
		if m == nil {
			return nil
		}
		if w.Delivery.Type == api.DeliverPoll {
			return keepMessage(ctx, tx, *m)
		}
		return deliver(ctx, tx, w, *m, now)
	})
}

// perHost is how many deliveries to one host are looked at together, mostDue how many to all.
const (
	perHost = 100
	mostDue = 1000
)

// DueDeliveries are those that are due: of each host the oldest, so that none waits for another.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time) ([]event.Delivery, error) {
	list, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (d event.Delivery, err error) {
		d.Watch, err = s.scanWatch(rows, &d.Event, &d.Before, &d.Attempts, &d.Body)
		return d, err
	}, `SELECT `+watchColumns+`, due.event, due.cursor, due.attempts, e.body FROM (
			SELECT d.watch, d.event, d.cursor, d.attempts, d.next_at,
				row_number() OVER (PARTITION BY o.host ORDER BY d.next_at, d.event, d.watch) AS place
			FROM watch_deliveries AS d JOIN watches AS o ON o.id = d.watch WHERE d.next_at <= ? OR d.next_at > ?
		) AS due JOIN watches AS w ON w.id = due.watch JOIN watch_events AS e ON e.id = due.event
		WHERE due.place <= ? ORDER BY due.next_at, due.event, due.watch LIMIT ?`, now.UnixMilli(),
		now.Add(event.LongestWait).UnixMilli(), perHost, mostDue)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	return list, nil
}

// NextDelivery is when the next delivery is due, zero for none.
func (s *Store) NextDelivery(ctx context.Context) (time.Time, error) {
	var at sql.NullInt64
	err := s.db.Read.QueryRowContext(ctx, "SELECT min(next_at) FROM watch_deliveries").Scan(&at)
	return database.FromMillis(at), err
}

// WatchStanding is how all watches stand.
func (s *Store) WatchStanding(ctx context.Context, now time.Time) (w event.Standing, err error) {
	const count = "coalesce(sum(CASE WHEN %s THEN 1 ELSE 0 END), 0)"
	text := "SELECT "
	for i, which := range []string{
		"paused_at = 0 AND suspended_at = 0", "paused_at = 0 AND suspended_at = 0 AND failures > 0", "paused_at = 0 AND suspended_at > 0",
		"paused_at > 0", "gap <> ''",
	} {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf(count, which)
	}
	var due sql.NullInt64
	err = s.db.Read.QueryRowContext(ctx, text+` , (SELECT count(*) FROM watch_deliveries), (SELECT min(next_at) FROM watch_deliveries)
		FROM watches WHERE ended_at = 0`).Scan(&w.Active, &w.Failing, &w.Suspended, &w.Paused, &w.Gaps, &w.Waiting, &due)
	if err != nil {
		return w, fmt.Errorf("count watches: %w", err)
	}
	if due.Valid {
		w.OverdueSeconds = max(0, now.UnixMilli()-due.Int64) / 1000
	}
	return w, nil
}

// RecordDeliveries notes what came of attempts.
func (s *Store) RecordDeliveries(ctx context.Context, list []event.Outcome) error {
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		for _, o := range list {
			if err := recordDelivery(ctx, tx, o); err != nil {
				return fmt.Errorf("record delivery: %w", err)
			}
		}
		return nil
	})
}

func recordDelivery(ctx context.Context, tx *sql.Tx, o event.Outcome) (err error) {
	if o.Next.IsZero() {
		_, err = tx.ExecContext(ctx, "DELETE FROM watch_deliveries WHERE watch = ? AND event = ?", o.Watch, o.Event)
	} else {
		_, err = tx.ExecContext(ctx, "UPDATE watch_deliveries SET attempts = attempts + 1, next_at = ? WHERE watch = ? AND event = ?",
			o.Next.UnixMilli(), o.Watch, o.Event)
	}
	switch at := o.At.UnixMilli(); {
	case err != nil:
	case o.Taken:
		_, err = tx.ExecContext(ctx, `UPDATE watches SET last_at = ?, last_error = '', failed_since = 0, failures = 0, suspended_at = 0
			WHERE id = ?`, at, o.Watch)
	case o.Error != "":
		_, err = tx.ExecContext(ctx, `UPDATE watches SET last_error = ?1, failures = failures + 1,
			failed_since = CASE WHEN failed_since = 0 THEN ?2 ELSE failed_since END,
			suspended_at = CASE WHEN ?3 = 1 AND suspended_at = 0 THEN ?2 ELSE suspended_at END WHERE id = ?4`,
			o.Error, at, o.Suspend, o.Watch)
	}
	if err == nil && o.Gap != "" {
		_, err = tx.ExecContext(ctx, "UPDATE watches SET gap = ? WHERE id = ? AND gap = ''", o.Gap, o.Watch)
	}
	return err
}

// PayWatch moves the end of the paid time on, once.
func (s *Store) PayWatch(ctx context.Context, id string, was, until time.Time) (ok bool, err error) {
	err = s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE watches SET paid_until = ? WHERE id = ? AND paid_until = ?", until.UnixMilli(), id,
			was.UnixMilli())
		if err != nil {
			return fmt.Errorf("pay watch: %w", err)
		}
		n, err := res.RowsAffected()
		ok = n == 1
		return err
	})
	return ok, err
}

// LowCredits are the watches of credits, with what their owners have.
func (s *Store) LowCredits(ctx context.Context) ([]event.Low, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (l event.Low, err error) {
		l.Watch, err = s.scanWatch(rows, &l.Balance)
		return l, err
	}, "SELECT "+watchColumns+`, (SELECT coalesce(sum(credits), 0) FROM keys WHERE owner_id = w.owner_id AND revoked_at IS NULL)
		FROM watches AS w WHERE w.type = 'credits.low' AND w.paused_at = 0 AND w.ended_at = 0`)
}

// PruneWatches drops what has ended, and messages that nobody is to have any more.
func (s *Store) PruneWatches(ctx context.Context, now time.Time) error {
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		over, err := database.Query(ctx, tx, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
			`SELECT id FROM watches WHERE expires_at <= ? OR ended_at > 0 AND NOT EXISTS
				(SELECT 1 FROM watch_deliveries WHERE watch = watches.id)`, now.UnixMilli())
		if err != nil {
			return fmt.Errorf("look for watches that have ended: %w", err)
		}
		for _, id := range over {
			if err := removeWatch(ctx, tx, id); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM watch_events WHERE at < ? AND NOT EXISTS
			(SELECT 1 FROM watch_deliveries WHERE event = watch_events.id)`, now.Add(-api.WatchReplay).UnixMilli()); err != nil {
			return fmt.Errorf("drop events: %w", err)
		}
		return nil
	})
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/sqlite"
	"github.com/contextd/contextd/sdk/api"
)

// maxJournal is how many bytes of charges are kept before they are moved into the tables. With many keys, more bytes are more calls for
// each page of those that is written then.
const maxJournal = 32 << 20

// journal is what the rows of charges hold, summed up. A transaction that moves it into the tables of the books writes a page for many
// calls where one for each batch would write a page for each call. What reads those tables, or takes credits from a record, has the
// journal moved first, by settle or settled: so the tables and the journal never have to be added up.
type journal struct {
	turn    sync.Mutex       // held by who writes to charges; taken before a transaction begins
	size    int              // of the rows, in bytes
	stale   bool             // the rows have to be read: a commit failed, and nobody knows what it has done
	left    map[string]int64 // what the records have that were charged, the journal taken off; some
	version int64            // of the database when left was read; another program that writes to it changes that

	mu   sync.Mutex // guards what follows; who changes it holds turn too
	sum  entries
	keys map[string]bool // that sum has something of
}

// entries are a batch of charges as charges has it, and many of them summed up.
type entries struct {
	Debits map[string]int64 `json:"debits,omitempty"`
	Usage  []counted        `json:"usage,omitempty"`
	Free   []stamped        `json:"free,omitempty"`
	Traces []traced         `json:"traces,omitempty"`

	usage map[billing.UsageKey]billing.Count // Usage, where many are summed up
}

type (
	counted struct {
		KeyID string `json:"k"`
		Hour  int64  `json:"h"`
		Op    api.Op `json:"o"`
		Paid  int64  `json:"p"`
		Free  int64  `json:"f"`
	}
	stamped struct {
		KeyID string `json:"k"`
		At    int64  `json:"at"`
		Calls int64  `json:"n"`
	}
	traced struct {
		KeyID string `json:"k"`
		At    int64  `json:"at"`
		Op    api.Op `json:"o"`
		Pack  string `json:"pack"`
	}
)

// entriesOf is b as it is written.
func entriesOf(b billing.Batch) entries {
	e := entries{Debits: b.Debits, Usage: make([]counted, 0, len(b.Usage))}
	for k, c := range b.Usage {
		e.Usage = append(e.Usage, counted{k.KeyID, k.Hour, k.Op, c.Paid, c.Free})
	}
	for id, s := range b.Free {
		e.Free = append(e.Free, stamped{id, s.At.UnixMilli(), s.Calls})
	}
	for _, t := range b.Traces {
		e.Traces = append(e.Traces, traced{t.KeyID, t.At.UnixMilli(), t.Op, t.Pack})
	}
	return e
}

// add adds a row of so many bytes.
func (j *journal) add(e entries, size int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, n := range e.Debits {
		j.sum.Debits[id] += n
		j.keys[id] = true
	}
	for _, u := range e.Usage {
		k := billing.UsageKey{KeyID: u.KeyID, Hour: u.Hour, Op: u.Op}
		c := j.sum.usage[k]
		j.sum.usage[k] = billing.Count{Paid: c.Paid + u.Paid, Free: c.Free + u.Free}
		j.keys[u.KeyID] = true
	}
	j.sum.Free = append(j.sum.Free, e.Free...)
	j.sum.Traces = append(j.sum.Traces, e.Traces...)
	j.size += size
}

// clear forgets all of it.
func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.size, j.left, j.keys = 0, map[string]int64{}, map[string]bool{}
	j.sum = entries{Debits: map[string]int64{}, usage: map[billing.UsageKey]billing.Count{}}
}

// has reports whether there is something of one of the keys.
func (j *journal) has(ids []string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(ids, func(id string) bool { return j.keys[id] })
}

// empty reports whether there is nothing.
func (j *journal) empty() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.keys) == 0
}

// ofOwnerOrKey names the keys of the owner with an id, or the key with it.
const ofOwnerOrKey = "SELECT id FROM keys WHERE id = ?1 OR owner_id = ?1"

// settle moves the journal into the tables, if it has something of the keys that a query names.
func (s *Store) settle(ctx context.Context, which string, args ...any) error {
	if s.journal.empty() {
		return nil
	}
	ids, err := sqlite.Query(ctx, s.db.Read, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }, which, args...)
	if err != nil || !s.journal.has(ids) {
		return err
	}
	return s.settled(context.WithoutCancel(ctx), nil)
}

// settleAll moves the journal into the tables, if it has something.
func (s *Store) settleAll(ctx context.Context) error {
	if s.journal.empty() {
		return nil
	}
	return s.settled(context.WithoutCancel(ctx), nil)
}

// settled runs act in a transaction that has moved the journal into the tables.
func (s *Store) settled(ctx context.Context, act func(*sql.Tx) error) error {
	s.journal.turn.Lock()
	defer s.journal.turn.Unlock()
	return s.move(ctx, act)
}

// move is settled for who holds the turn.
func (s *Store) move(ctx context.Context, act func(*sql.Tx) error) error {
	err := s.write(ctx, func(tx *sql.Tx) error {
		if err := s.charge.book(ctx, tx, &s.journal.sum); err != nil || act == nil {
			return err
		}
		return act(tx)
	})
	if err == nil {
		s.journal.clear()
	}
	return err
}

// write runs act in a transaction, with a journal that is what the rows hold. The caller holds the turn.
func (s *Store) write(ctx context.Context, act func(*sql.Tx) error) error {
	if s.journal.stale {
		if err := s.reload(ctx); err != nil {
			return err
		}
	}
	var refused error
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		refused = act(tx)
		return refused
	})
	s.journal.stale = err != nil && refused == nil
	return err
}

// reload sums the rows up.
func (s *Store) reload(ctx context.Context) error {
	s.journal.clear()
	_, err := sqlite.Query(ctx, s.db.Write, func(rows *sql.Rows) (e entries, err error) {
		var text []byte
		if err = rows.Scan(&text); err == nil {
			err = json.Unmarshal(text, &e)
		}
		if err == nil {
			s.journal.add(e, len(text))
		}
		return entries{}, err
	}, "SELECT batch FROM charges ORDER BY id")
	if err != nil {
		return fmt.Errorf("read charges: %w", err)
	}
	return nil
}

// afford fails with billing.ErrConflict where a record has not the credits that are to be taken from it.
func (s *Store) afford(ctx context.Context, tx *sql.Tx, debits map[string]int64) error {
	j := &s.journal
	was := j.version
	if err := tx.StmtContext(ctx, s.charge.version).QueryRowContext(ctx).Scan(&j.version); err != nil {
		return fmt.Errorf("look for other programs: %w", err)
	}
	if j.version != was {
		clear(j.left)
	}
	var unknown []string
	for id, n := range debits {
		if j.left[id] < n { // or more was put there
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	text, err := json.Marshal(unknown)
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	rows, err := tx.StmtContext(ctx, s.charge.left).QueryContext(ctx, string(text))
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var credits int64
		if err := rows.Scan(&id, &credits); err != nil {
			return fmt.Errorf("read records: %w", err)
		}
		j.left[id] = credits - j.sum.Debits[id]
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	for _, id := range unknown {
		if j.left[id] < debits[id] {
			return fmt.Errorf("debit key %s: %w", id, billing.ErrConflict)
		}
	}
	return nil
}

// statements are those of charges, prepared once. Many rows go into them as JSON, because a statement for each costs more than the commit.
type statements struct{ version, left, append, debit, count, free, trace, clear *sql.Stmt }

// prepareCharge prepares the statements.
func prepareCharge(ctx context.Context, db *sql.DB) (st statements, err error) {
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&st.version, "PRAGMA data_version"},
		{&st.left, `SELECT keys.id, credits FROM json_each(?) AS wanted CROSS JOIN keys ON keys.id = wanted.value
			WHERE revoked_at IS NULL`},
		{&st.append, "INSERT INTO charges (batch) VALUES (?)"},
		// What another program has taken from a record meanwhile is missing there. The calls were answered: they count, and the audit
		// tells that the two do not agree.
		{&st.debit, `UPDATE keys SET credits = max(0, credits - debit.value), spent = spent + debit.value
			FROM json_each(?) AS debit WHERE keys.id = debit.key`},
		{&st.count, `INSERT INTO usage (key_id, hour, op, paid, free)
			SELECT value ->> 'k', value ->> 'h', value ->> 'o', value ->> 'p', value ->> 'f' FROM json_each(?) WHERE true
			ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = paid + excluded.paid, free = free + excluded.free`},
		{&st.free, "INSERT INTO free_calls (key_id, at, calls) SELECT value ->> 'k', value ->> 'at', value ->> 'n' FROM json_each(?)"},
		{&st.trace, `INSERT INTO traces (key_id, at, op, pack)
			SELECT value ->> 'k', value ->> 'at', value ->> 'o', value ->> 'pack' FROM json_each(?)`},
		{&st.clear, "DELETE FROM charges"},
	} {
		if *p.into, err = db.PrepareContext(ctx, p.text); err != nil {
			return st, fmt.Errorf("prepare charge: %w", err)
		}
	}
	return st, nil
}

// book writes e into the tables, in the order of their rows, and leaves no row in charges.
func (st statements) book(ctx context.Context, tx *sql.Tx, e *entries) error {
	if len(e.usage) == 0 {
		return nil
	}
	usage := make([]counted, 0, len(e.usage))
	for k, c := range e.usage {
		usage = append(usage, counted{k.KeyID, k.Hour, k.Op, c.Paid, c.Free})
	}
	slices.SortFunc(usage, func(a, b counted) int {
		return cmp.Or(strings.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Hour, b.Hour), strings.Compare(string(a.Op), string(b.Op)))
	})
	for _, part := range []struct {
		into *sql.Stmt
		rows any
		n    int
	}{{st.debit, e.Debits, len(e.Debits)}, {st.count, usage, 1}, {st.free, e.Free, len(e.Free)}, {st.trace, e.Traces, len(e.Traces)}} {
		if part.n == 0 {
			continue
		}
		text, err := json.Marshal(part.rows)
		if err == nil {
			_, err = tx.StmtContext(ctx, part.into).ExecContext(ctx, string(text))
		}
		if err != nil {
			return fmt.Errorf("book charges: %w", err)
		}
	}
	if _, err := tx.StmtContext(ctx, st.clear).ExecContext(ctx); err != nil {
		return fmt.Errorf("book charges: %w", err)
	}
	return nil
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// maxJournal is how many bytes of charges are kept before they are moved into the tables. With many keys, more bytes are more calls for
// each page of those that is written then.
const maxJournal = 32 << 20

// maxTallies is of how many keys something is remembered when the tables have all of it.
const maxTallies = 200_000

// journal is what the rows of charges hold, summed up. A transaction that moves it into the tables of the books writes a page for many
// calls where one for each batch would write a page for each call. What reads those tables, or takes credits from a record, has the
// journal moved first, by settle or settled: so the tables and the journal never have to be added up.
type journal struct {
	turn    sync.Mutex // held by who writes to charges; taken before a transaction begins
	size    int        // of the rows, in bytes
	stale   bool       // the rows have to be read: a write failed, and nobody knows what it has done
	version int64      // of the database when what records have was read; another program that writes to it changes that

	mu   sync.Mutex // guards what follows; who changes it holds turn too
	keys map[string]*tally
	used bool // there are rows
}

// tally is what a key has in the journal.
type tally struct {
	left  int64 // credits on its record, the journal taken off; more may have been put there since
	debit int64
	rows
}

// rows are those for the tables but keys.
type rows struct {
	Usage  []counted `json:"usage"`
	Free   []stamped `json:"free"`
	Traces []traced  `json:"traces"`
}

// entries are a row of charges.
type entries struct {
	Debits map[string]int64 `json:"debits"`
	rows
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
	e := entries{Debits: b.Debits, rows: rows{Usage: make([]counted, 0, len(b.Usage))}}
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

// of is the tally of a key. The caller holds mu.
func (j *journal) of(id string) *tally {
	t := j.keys[id]
	if t == nil {
		t = new(tally)
		j.keys[id] = t
	}
	return t
}

// add adds a row of so many bytes.
func (j *journal) add(e entries, size int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.size += size
	j.used = true
	for id, n := range e.Debits {
		t := j.of(id)
		t.debit += n
		t.left -= n
	}
	for _, u := range e.Usage {
		t := j.of(u.KeyID)
		i := slices.IndexFunc(t.Usage, func(o counted) bool { return o.Hour == u.Hour && o.Op == u.Op })
		if i < 0 {
			t.Usage = append(t.Usage, u)
			continue
		}
		t.Usage[i].Paid += u.Paid
		t.Usage[i].Free += u.Free
	}
	for _, f := range e.Free {
		t := j.of(f.KeyID)
		t.Free = append(t.Free, f)
	}
	for _, c := range e.Traces {
		t := j.of(c.KeyID)
		t.Traces = append(t.Traces, c)
	}
}

// clear forgets the rows, and with all what records have.
func (j *journal) clear(all bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.size, j.used = 0, false
	if all || len(j.keys) > maxTallies {
		j.keys = map[string]*tally{}
		return
	}
	for _, t := range j.keys {
		t.debit, t.rows = 0, rows{Usage: t.Usage[:0]}
	}
}

// forget forgets what the record of a key has, so that it is read when it is needed.
func (j *journal) forget(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if t := j.keys[id]; t != nil {
		t.left = 0
	}
}

// forgetAll is forget for all keys.
func (j *journal) forgetAll() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, t := range j.keys {
		t.left = 0
	}
}

// has reports whether there is something of one of the keys.
func (j *journal) has(ids []string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(ids, func(id string) bool {
		t := j.keys[id]
		return t != nil && (t.debit > 0 || len(t.Usage) > 0)
	})
}

// empty reports whether there is nothing.
func (j *journal) empty() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.used
}

// ofOwnerOrKey names the keys of the owner with an id, or the key with it.
const ofOwnerOrKey = "SELECT id FROM keys WHERE id = ?1 OR owner_id = ?1"

// settle moves the journal into the tables, if it has something of the keys that a query names.
func (s *Store) settle(ctx context.Context, which string, args ...any) error {
	if s.journal.empty() {
		return nil
	}
	ids, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }, which, args...)
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
	if err := s.reload(ctx); err != nil {
		return err
	}
	var refused error
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		if refused = s.charge.book(ctx, tx, &s.journal); refused == nil && act != nil {
			refused = act(tx)
		}
		return refused
	})
	if err == nil {
		s.journal.clear(false)
	}
	s.journal.stale = err != nil && refused == nil
	return err
}

// reload sums the rows up again, where that has to be. The caller holds the turn.
func (s *Store) reload(ctx context.Context) error {
	if !s.journal.stale || s.db.OnServer() {
		return nil
	}
	s.journal.clear(true)
	_, err := database.Query(ctx, s.db.Write, func(rows *sql.Rows) (e entries, err error) {
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
	s.journal.forgetAll()
	s.journal.stale = false
	return nil
}

// append writes a row, unless a record has not the credits that it takes: that is billing.ErrConflict. The caller holds the turn.
func (s *Store) append(ctx context.Context, e entries) error {
	debits := make([]billing.Record, 0, len(e.Debits))
	for id, n := range e.Debits {
		debits = append(debits, billing.Record{KeyID: id, Credits: n})
	}
	parts, err := texts(debits, e.rows)
	if err != nil {
		return err
	}
	text := `{"debits":` + parts[0] + `,"usage":` + parts[1] + `,"free":` + parts[2] + `,"traces":` + parts[3] + "}"
	j := &s.journal
	const attempts = 3 // another program writes between the two each time
	for range attempts {
		if err := s.afford(ctx, e.Debits); err != nil {
			return err
		}
		written, err := s.db.Run(ctx, s.charge.append, text, j.version)
		if err != nil {
			j.stale = true
			return fmt.Errorf("write charges: %w", err)
		}
		if written > 0 {
			j.add(e, len(text))
			return nil
		}
		j.forgetAll()
		if err := s.charge.version.QueryRowContext(ctx).Scan(&j.version); err != nil {
			return fmt.Errorf("look for other programs: %w", err)
		}
	}
	return fmt.Errorf("write charges: another program writes to the books: %w", billing.ErrConflict)
}

// afford fails with billing.ErrConflict where a record has not the credits that are to be taken from it.
func (s *Store) afford(ctx context.Context, debits map[string]int64) error {
	j := &s.journal
	var unsure []string
	for id, n := range debits {
		if t := j.keys[id]; t == nil || t.left < n {
			unsure = append(unsure, id)
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	text, err := json.Marshal(unsure)
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	found, err := database.Query(ctx, s.db.Write, func(rows *sql.Rows) (r billing.Record, err error) {
		return r, rows.Scan(&r.KeyID, &r.Credits)
	}, `SELECT keys.id, credits FROM json_each(?) AS wanted CROSS JOIN keys ON keys.id = wanted.value WHERE revoked_at IS NULL`, string(text))
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range found {
		t := j.of(r.KeyID)
		t.left = r.Credits - t.debit
	}
	for _, id := range unsure {
		if t := j.keys[id]; t == nil || t.left < debits[id] {
			return fmt.Errorf("debit key %s: %w", id, billing.ErrConflict)
		}
	}
	return nil
}

// statements are those of charges, prepared once. Many rows go into them as JSON, because a statement for each costs more than the commit.
type statements struct{ version, append, debit, count, free, trace, clear *sql.Stmt }

// prepareCharge prepares the statements.
func prepareCharge(ctx context.Context, db *sql.DB) (st statements, err error) {
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&st.version, "PRAGMA data_version"},
		{&st.append, "INSERT INTO charges (batch) SELECT ? WHERE (SELECT data_version FROM pragma_data_version) = ?"},
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

// book writes what j has into the tables, in the order of their rows, and leaves no row in charges.
func (st statements) book(ctx context.Context, tx *sql.Tx, j *journal) error {
	if !j.used {
		return nil
	}
	var debits []billing.Record
	var all rows
	for id, t := range j.keys {
		if t.debit > 0 {
			debits = append(debits, billing.Record{KeyID: id, Credits: t.debit})
		}
		all.Usage, all.Free, all.Traces = append(all.Usage, t.Usage...), append(all.Free, t.Free...), append(all.Traces, t.Traces...)
	}
	slices.SortFunc(debits, func(a, b billing.Record) int { return strings.Compare(a.KeyID, b.KeyID) })
	slices.SortFunc(all.Usage, func(a, b counted) int {
		return cmp.Or(strings.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Hour, b.Hour), strings.Compare(string(a.Op), string(b.Op)))
	})
	texts, err := texts(debits, all)
	if err != nil {
		return err
	}
	for i, into := range []*sql.Stmt{st.debit, st.count, st.free, st.trace} {
		if len(texts[i]) == len("[]") {
			continue
		}
		if _, err := tx.StmtContext(ctx, into).ExecContext(ctx, texts[i]); err != nil {
			return fmt.Errorf("book charges: %w", err)
		}
	}
	if _, err := tx.StmtContext(ctx, st.clear).ExecContext(ctx); err != nil {
		return fmt.Errorf("book charges: %w", err)
	}
	return nil
}

// texts are debits and the three kinds of rows as JSON. That of each batch is written by hand: encoding/json takes longer than SQLite does
// to store it.
func texts(debits []billing.Record, r rows) (list [4]string, err error) {
	text := []byte{'{'}
	for i, d := range debits {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(quote(text, d.KeyID), ':'), d.Credits, 10)
	}
	list[0] = string(append(text, '}'))
	text = append(text[:0], '[')
	for i, u := range r.Usage {
		if i > 0 {
			text = append(text, ',')
		}
		text = quote(append(text, `{"k":`...), u.KeyID)
		text = strconv.AppendInt(append(text, `,"h":`...), u.Hour, 10)
		text = quote(append(text, `,"o":`...), string(u.Op))
		text = strconv.AppendInt(append(text, `,"p":`...), u.Paid, 10)
		text = append(strconv.AppendInt(append(text, `,"f":`...), u.Free, 10), '}')
	}
	list[1] = string(append(text, ']'))
	for i, part := range []any{append([]stamped{}, r.Free...), append([]traced{}, r.Traces...)} {
		text, err := json.Marshal(part)
		if err != nil {
			return list, fmt.Errorf("write charges: %w", err)
		}
		list[2+i] = string(text)
	}
	return list, nil
}

// quote appends s as JSON.
func quote(text []byte, s string) []byte {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		safe, _ := json.Marshal(s) // of a string, never an error
		return append(text, safe...)
	}
	return append(append(append(text, '"'), s...), '"')
}

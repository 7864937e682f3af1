package store

import (
	"cmp"
	"container/heap"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
)

// A generation moves into the tables in slices, each a transaction, with charges written between two of them: first what changes records,
// in the order of these on disk, then counts and free calls, in that of keys, because a slice writes every page that it touches, and at
// last rows of charges with their traces. A slice also writes a row, an array, that says of which keys it has moved what: for these, the
// rows up to a number are void. Rows go in their order, so that each that is void outlives none that makes it so.

// maxSlice is how many rows a slice writes or deletes at most: nobody waits for more. What one row of charges or one key needs is never
// parted, and may be more.
const maxSlice = 1000

// rowPart is how many bytes of a row of charges cost as much as a row of another table.
const rowPart = 16 << 10

// booked are the keys of which rows are void: in debits, and in counts and free calls.
type booked [2][]string

// voided is up to which row those of a key are void, for each of the two.
type voided [2]map[string]int64

// read adds a row that says what is void.
func (v voided) read(text []byte) error {
	var upTo int64
	var keys booked
	if err := json.Unmarshal(text, &[]any{&upTo, &keys[0], &keys[1]}); err != nil {
		return err
	}
	for i, list := range keys {
		for _, id := range list {
			v[i][id] = max(v[i][id], upTo)
		}
	}
	return nil
}

// from is e, the row with an id, without what is void of it.
func (v voided) from(e entries, id int64) entries {
	maps.DeleteFunc(e.Debits, func(key string, _ int64) bool { return id <= v[0][key] })
	e.Usage = slices.DeleteFunc(e.Usage, func(u counted) bool { return id <= v[1][u.KeyID] })
	e.Free = slices.DeleteFunc(e.Free, func(f stamped) bool { return id <= v[1][f.KeyID] })
	return e
}

// move is that of a generation, under way.
type move struct {
	gen     int
	records queue[record]
	counts  queue[*tally]
	rows    []row
	last    int64 // of the rows
	done    bool
}

// record is one to be changed.
type record struct {
	id    string
	place int64
	t     *tally // nil for nothing to debit
	used  int64  // when it was last used, in milliseconds; 0 for not
}

// queue hands out a list in order. To sort it at once would take long for who waits.
type queue[T any] struct {
	list []T
	less func(a, b T) bool
}

func (q *queue[T]) Len() int           { return len(q.list) }
func (q *queue[T]) Less(i, j int) bool { return q.less(q.list[i], q.list[j]) }
func (q *queue[T]) Swap(i, j int)      { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *queue[T]) Push(any)           {}
func (q *queue[T]) Pop() any           { q.list = q.list[:len(q.list)-1]; return nil }

// next takes the first off the list.
func (q *queue[T]) next() T {
	first := q.list[0]
	heap.Pop(q)
	return first
}

// begin makes the generation of now the one that is moved, with when keys were used.
func (j *journal) begin(used map[string]time.Time) *move {
	j.mu.Lock()
	defer j.mu.Unlock()
	gen := j.gens[j.now]
	j.gens[j.now] = generation{}
	m := &move{gen: j.now, rows: gen.rows, last: j.last}
	m.records.less = func(a, b record) bool { return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.id, b.id)) < 0 }
	m.counts = queue[*tally]{gen.keys, func(a, b *tally) bool { return a.id < b.id }}
	for _, t := range gen.keys {
		if _, ok := used[t.id]; !ok && t.parts[m.gen].debit > 0 {
			m.records.list = append(m.records.list, record{id: t.id, place: t.place, t: t})
		}
	}
	for id, at := range used {
		r := record{id: id, used: at.UnixMilli()}
		if t := j.keys[id]; t != nil {
			r.t, r.place = t, t.place
		}
		m.records.list = append(m.records.list, r)
	}
	heap.Init(&m.records)
	heap.Init(&m.counts)
	j.now ^= 1
	j.moving = m
	return m
}

// parcel is what a transaction moves.
type parcel struct {
	debits, used []billing.Record // credits, and times
	usage        []counted
	free         []stamped
	booked       booked
	upTo         int64 // moves the traces of the rows of charges up to this one, and deletes them
	voids        int64 // the row up to which what is moved is void; 0 where none is left
}

// debit takes what generations have debited t into p, and count the rest of one. Of two debits of a record SQLite would book one.
func (p *parcel) debit(t *tally, gens ...int) {
	var n int64
	for _, gen := range gens {
		n += t.parts[gen].debit
	}
	if n > 0 {
		p.debits = append(p.debits, billing.Record{KeyID: t.id, Credits: n})
		p.booked[0] = append(p.booked[0], t.id)
	}
}

func (p *parcel) count(t *tally, gen int) {
	if part := t.parts[gen]; len(part.usage)+len(part.free) > 0 {
		p.usage, p.free = append(p.usage, part.usage...), append(p.free, part.free...)
		p.booked[1] = append(p.booked[1], t.id)
	}
}

// slice moves the next slice, the first where no move is under way. The caller holds the turn.
func (s *Store) slice(ctx context.Context) error {
	j := &s.journal
	if j.moving == nil {
		j.begin(nil)
	}
	m := j.moving
	var p parcel
	room := maxSlice
	records := m.takeRecords(&p, &room)
	tallies := m.takeCounts(&p, &room)
	gone := 0
	if m.records.Len()+m.counts.Len() == 0 {
		gone = m.takeRows(&p, room)
	}
	if gone < len(m.rows) {
		p.voids = m.last
	}
	made, err := s.carry(ctx, p, nil)
	if err != nil {
		j.stale.Store(true) // what failed was taken off the move
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.addRow(made)
	for _, t := range records {
		t.parts[m.gen].debit = 0
	}
	for _, t := range tallies {
		t.parts[m.gen] = part{usage: t.parts[m.gen].usage[:0]}
	}
	for _, r := range m.rows[:gone] {
		j.size -= r.size
	}
	if m.rows = m.rows[gone:]; len(m.rows)+m.records.Len()+m.counts.Len() == 0 {
		j.end(m)
	}
	return nil
}

// takeRecords takes records while there is room, and returns the tallies that they debit.
func (m *move) takeRecords(p *parcel, room *int) (debited []*tally) {
	for ; *room > 0 && m.records.Len() > 0; *room-- {
		r := m.records.next()
		if r.t != nil {
			p.debit(r.t, m.gen)
			debited = append(debited, r.t)
		}
		if r.used > 0 {
			p.used = append(p.used, billing.Record{KeyID: r.id, Credits: r.used})
		}
	}
	return debited
}

// takeCounts takes the counts and free calls of keys while there is room.
func (m *move) takeCounts(p *parcel, room *int) (counted []*tally) {
	for *room > 0 && m.counts.Len() > 0 {
		part := m.counts.list[0].parts[m.gen]
		n := len(part.usage) + len(part.free)
		if n > *room && *room < maxSlice {
			break
		}
		*room -= max(1, n)
		t := m.counts.next()
		counted = append(counted, t)
		p.count(t, m.gen)
	}
	return counted
}

// takeRows takes rows of charges while there is room, and returns how many.
func (m *move) takeRows(p *parcel, room int) (gone int) {
	whole := room == maxSlice
	for _, r := range m.rows {
		if room -= 1 + r.traces + r.size/rowPart; room < 0 && !(whole && gone == 0) {
			break
		}
		gone, p.upTo = gone+1, r.id
	}
	return gone
}

// end ends a move. The caller holds mu.
func (j *journal) end(m *move) {
	m.done, j.moving = true, nil
	if len(j.keys) > maxTallies {
		j.keys = map[string]*tally{}
		for _, t := range j.gens[j.now].keys {
			j.keys[t.id] = t
		}
	}
}

// moveAll moves what the journal has by now into the tables, and writes when keys were used. Others charge between two slices.
func (s *Store) moveAll(ctx context.Context, used map[string]time.Time) error {
	j := &s.journal
	one := func(mine *move) (_ *move, done bool, err error) {
		j.turn.Lock()
		defer j.turn.Unlock()
		if mine != nil && mine.done { // by another caller's slice
			return mine, true, nil
		}
		if err := s.reload(ctx); err != nil {
			return mine, false, err
		}
		if j.moving == nil {
			mine = j.begin(used)
		}
		err = s.slice(context.WithoutCancel(ctx))
		return mine, mine != nil && mine.done, err
	}
	for mine, done := (*move)(nil), false; !done; {
		err := ctx.Err()
		if err == nil {
			mine, done, err = one(mine)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofOwnerOrKey names the keys of the owner with an id, or the key with it.
const ofOwnerOrKey = "SELECT id FROM keys WHERE id = ?1 OR owner_id = ?1"

// ofSameOwner names the keys of the owner of a key.
const ofSameOwner = "SELECT id FROM keys WHERE owner_id = (SELECT owner_id FROM keys WHERE id = ?)"

// settle moves what the journal has of the keys that a query names.
func (s *Store) settle(ctx context.Context, which string, args ...any) error {
	if s.journal.empty() {
		return nil
	}
	ids, err := idsOf(ctx, s.db.Read, which, args)
	if err != nil {
		return err
	}
	if list, all := s.journal.having(ids); all && len(list) == 0 {
		return nil
	}
	return s.settled(context.WithoutCancel(ctx), nil, which, args...)
}

// idsOf is what a query names.
func idsOf(ctx context.Context, from database.Querier, which string, args []any) ([]string, error) {
	return database.Query(ctx, from, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }, which, args...)
}

// settleAll moves the journal into the tables, if it has something.
func (s *Store) settleAll(ctx context.Context) error {
	if s.journal.empty() {
		return nil
	}
	return s.moveAll(context.WithoutCancel(ctx), nil)
}

// settled runs act in a transaction that has moved what the journal has of the keys that a query names.
func (s *Store) settled(ctx context.Context, act func(*sql.Tx) error, which string, args ...any) error {
	if s.db.OnServer() { // which has no journal
		return s.db.Tx(ctx, act)
	}
	j := &s.journal
	j.turn.Lock()
	defer j.turn.Unlock()
	if err := s.reload(ctx); err != nil {
		return err
	}
	ids, err := idsOf(ctx, s.db.Write, which, args)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	list, _ := j.having(ids)
	p := parcel{voids: j.last}
	for _, t := range list {
		p.debit(t, 0, 1)
		for gen := range t.parts {
			p.count(t, gen)
		}
	}
	made, err := s.carry(ctx, p, act)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.addRow(made)
	for _, t := range list {
		for gen := range t.parts {
			t.parts[gen] = part{listed: t.parts[gen].listed}
		}
	}
	return nil
}

// carry writes p in a transaction, and runs act in it where that is not nil. It returns the row that says what p has moved.
func (s *Store) carry(ctx context.Context, p parcel, act func(*sql.Tx) error) (made row, err error) {
	var refused error
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		if made, refused = s.charge.move(ctx, tx, p); refused == nil && act != nil {
			refused = act(tx)
		}
		return refused
	})
	s.journal.stale.Store(err != nil && refused == nil)
	return made, err
}

// statements are those of charges, prepared once. Many rows go into them as JSON, because a statement for each costs more than the commit.
type statements struct{ version, append, debit, touch, count, free, trace, drop, voids *sql.Stmt }

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
		{&st.touch, `UPDATE keys SET last_used_at = max(coalesce(last_used_at, 0), used.value)
			FROM json_each(?) AS used WHERE keys.id = used.key`},
		{&st.count, `INSERT INTO usage (key_id, hour, op, paid, free)
			SELECT value ->> 'k', value ->> 'h', value ->> 'o', value ->> 'p', value ->> 'f' FROM json_each(?) WHERE true
			ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = paid + excluded.paid, free = free + excluded.free`},
		{&st.free, "INSERT INTO free_calls (key_id, at, calls) SELECT value ->> 'k', value ->> 'at', value ->> 'n' FROM json_each(?)"},
		{&st.trace, `INSERT INTO traces (key_id, at, op, pack)
			SELECT value ->> 'k', value ->> 'at', value ->> 'o', value ->> 'pack' FROM charges, json_each(batch, '$.traces')
			WHERE charges.id <= ? ORDER BY charges.id`},
		{&st.drop, "DELETE FROM charges WHERE id <= ?"},
		{&st.voids, "INSERT INTO charges (batch) VALUES (?)"},
	} {
		if *p.into, err = db.PrepareContext(ctx, p.text); err != nil {
			return st, fmt.Errorf("prepare charge: %w", err)
		}
	}
	return st, nil
}

// move writes p into the tables, in the order of their rows.
func (st statements) move(ctx context.Context, tx *sql.Tx, p parcel) (made row, err error) {
	slices.SortFunc(p.usage, func(a, b counted) int {
		return cmp.Or(strings.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Hour, b.Hour), strings.Compare(string(a.Op), string(b.Op)))
	})
	free, err := json.Marshal(p.free)
	if err != nil {
		return made, fmt.Errorf("move charges: %w", err)
	}
	void, err := json.Marshal([]any{p.voids, p.booked[0], p.booked[1]})
	if err != nil {
		return made, fmt.Errorf("move charges: %w", err)
	}
	for _, do := range []struct {
		is   bool
		what *sql.Stmt
		arg  any
	}{
		{len(p.debits) > 0, st.debit, numbers(p.debits)}, {len(p.used) > 0, st.touch, numbers(p.used)},
		{len(p.usage) > 0, st.count, counts(p.usage)}, {len(p.free) > 0, st.free, string(free)},
		{p.upTo > 0, st.trace, p.upTo}, {p.upTo > 0, st.drop, p.upTo},
		{p.voids > 0 && len(p.booked[0])+len(p.booked[1]) > 0, st.voids, string(void)},
	} {
		if !do.is {
			continue
		}
		res, err := tx.StmtContext(ctx, do.what).ExecContext(ctx, do.arg)
		if err == nil && do.what == st.voids {
			made.size = len(void)
			made.id, err = res.LastInsertId()
		}
		if err != nil {
			return made, fmt.Errorf("move charges: %w", err)
		}
	}
	return made, nil
}

// numbers are a number for each key as JSON, and counts those of calls. They are written by hand: encoding/json takes longer than SQLite
// does to store them.
func numbers(list []billing.Record) string {
	text := []byte{'{'}
	for i, r := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(quote(text, r.KeyID), ':'), r.Credits, 10)
	}
	return string(append(text, '}'))
}

func counts(list []counted) string {
	text := []byte{'['}
	for i, u := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = quote(append(text, `{"k":`...), u.KeyID)
		text = strconv.AppendInt(append(text, `,"h":`...), u.Hour, 10)
		text = quote(append(text, `,"o":`...), string(u.Op))
		text = strconv.AppendInt(append(text, `,"p":`...), u.Paid, 10)
		text = append(strconv.AppendInt(append(text, `,"f":`...), u.Free, 10), '}')
	}
	return string(append(text, ']'))
}

// quote appends s as JSON.
func quote(text []byte, s string) []byte {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		safe, _ := json.Marshal(s) // of a string, never an error
		return append(text, safe...)
	}
	return append(append(append(text, '"'), s...), '"')
}

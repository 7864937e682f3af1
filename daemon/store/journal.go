package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

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
// calls where one for each batch would write a page for each call. What reads those tables, or takes credits from a record, has what the
// journal has of its keys moved first, by settle or settled: so the tables and the journal never have to be added up.
type journal struct {
	turn    sync.Mutex  // held by who writes to charges; taken before a transaction begins
	size    int         // of the rows, in bytes
	stale   atomic.Bool // the rows have to be read: a write failed, and nobody knows what it has done; set with turn alone
	version int64       // of the database when what records have was read; another program that writes to it changes that

	mu     sync.Mutex // guards what follows; who changes it holds turn too
	keys   map[string]*tally
	gens   [2]generation
	last   int64 // the id of the last row
	now    int   // the generation that takes what is charged; a move takes the other
	moving *move // nil for none under way
}

// generation is what is moved together.
type generation struct {
	keys []*tally // that have something in it, or had until it was settled
	rows []row    // in the order of their ids
}

// row is one of charges.
type row struct {
	id           int64
	size, traces int
}

// tally is what is remembered of a key.
type tally struct {
	id    string
	left  int64   // credits on its record, the journal taken off; more may have been put there since
	place int64   // of its record on disk, at about
	parts [2]part // what the journal has of it, by generation
}

// part is what a generation has of a key. Traces are moved from the rows: a key can have any number of them.
type part struct {
	debit  int64
	usage  []counted
	free   []stamped
	listed bool // in the generation
}

// entries are a row of charges.
type entries struct {
	Debits map[string]int64 `json:"debits"`
	Usage  []counted        `json:"usage"`
	Free   []stamped        `json:"free"`
	Traces []traced         `json:"traces"`
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
	e := entries{Debits: b.Debits, Usage: make([]counted, 0, len(b.Usage)), Free: []stamped{}, Traces: []traced{}}
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
		t = &tally{id: id}
		j.keys[id] = t
	}
	return t
}

// add adds a row.
func (j *journal) add(e entries, r row) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.addRow(r)
	gen := &j.gens[j.now]
	take := func(id string) (*tally, *part) {
		t := j.of(id)
		p := &t.parts[j.now]
		if !p.listed {
			p.listed = true
			gen.keys = append(gen.keys, t)
		}
		return t, p
	}
	for id, n := range e.Debits {
		t, p := take(id)
		p.debit += n
		t.left -= n
	}
	for _, u := range e.Usage {
		_, p := take(u.KeyID)
		i := slices.IndexFunc(p.usage, func(o counted) bool { return o.Hour == u.Hour && o.Op == u.Op })
		if i < 0 {
			p.usage = append(p.usage, u)
			continue
		}
		p.usage[i].Paid += u.Paid
		p.usage[i].Free += u.Free
	}
	for _, f := range e.Free {
		_, p := take(f.KeyID)
		p.free = append(p.free, f)
	}
}

// addRow notes that there is a row, if r is one. The caller holds mu.
func (j *journal) addRow(r row) {
	if r.id == 0 {
		return
	}
	j.size, j.last = j.size+r.size, r.id
	j.gens[j.now].rows = append(j.gens[j.now].rows, r)
}

// clear forgets everything.
func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.size, j.keys, j.gens, j.last, j.now, j.moving = 0, map[string]*tally{}, [2]generation{}, 0, 0, nil
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

// having returns the tallies of keys of which there is something, and whether these are surely all.
func (j *journal) having(ids []string) (list []*tally, all bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range ids {
		t := j.keys[id]
		if t != nil && slices.ContainsFunc(t.parts[:], func(p part) bool { return p.debit > 0 || len(p.usage) > 0 || len(p.free) > 0 }) {
			list = append(list, t)
		}
	}
	return list, !j.stale.Load()
}

// empty reports whether there is surely nothing of any key.
func (j *journal) empty() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.gens[j.now].keys) == 0 && j.moving == nil && !j.stale.Load()
}

// reload sums the rows up again, where that has to be. The caller holds the turn.
func (s *Store) reload(ctx context.Context) error {
	if !s.journal.stale.Load() {
		return nil
	}
	j := &s.journal
	j.clear()
	void := voided{{}, {}}
	read := func(which string, take func(id int64, text []byte) error) error {
		_, err := database.Query(ctx, s.db.Write, func(rows *sql.Rows) (none struct{}, err error) {
			var id int64
			var text []byte
			if err = rows.Scan(&id, &text); err == nil {
				err = take(id, text)
			}
			return none, err
		}, "SELECT id, batch FROM charges WHERE batch "+which+" ORDER BY id")
		return err
	}
	err := read("LIKE '[%'", func(_ int64, text []byte) error { return void.read(text) })
	if err == nil {
		err = read("<> ''", func(id int64, text []byte) error {
			var e entries
			if text[0] == '{' {
				if err := json.Unmarshal(text, &e); err != nil {
					return err
				}
			}
			j.add(void.from(e, id), row{id, len(text), len(e.Traces)})
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("read charges: %w", err)
	}
	j.forgetAll()
	j.stale.Store(false)
	return nil
}

// append writes a row, unless a record has not the credits that it takes: that is billing.ErrConflict. The caller holds the turn.
func (s *Store) append(ctx context.Context, e entries) error {
	debits := make([]billing.Record, 0, len(e.Debits))
	for id, n := range e.Debits {
		debits = append(debits, billing.Record{KeyID: id, Credits: n})
	}
	free, err := json.Marshal(e.Free)
	if err != nil {
		return fmt.Errorf("write charges: %w", err)
	}
	traces, err := json.Marshal(e.Traces)
	if err != nil {
		return fmt.Errorf("write charges: %w", err)
	}
	text := `{"debits":` + numbers(debits) + `,"usage":` + counts(e.Usage) + `,"free":` + string(free) + `,"traces":` + string(traces) + "}"
	j := &s.journal
	const attempts = 3 // another program writes between the two each time
	for range attempts {
		if err := s.afford(ctx, e.Debits); err != nil {
			return err
		}
		written, id, err := s.db.Run(ctx, s.charge.append, text, j.version)
		if err != nil {
			j.stale.Store(true)
			return fmt.Errorf("write charges: %w", err)
		}
		if written > 0 {
			j.add(e, row{id, len(text), len(e.Traces)})
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
	type record struct {
		billing.Record
		place int64
	}
	found, err := database.Query(ctx, s.db.Write, func(rows *sql.Rows) (r record, err error) {
		return r, rows.Scan(&r.KeyID, &r.Credits, &r.place)
	}, `SELECT keys.id, credits, keys.rowid FROM json_each(?) AS wanted CROSS JOIN keys ON keys.id = wanted.value
		WHERE revoked_at IS NULL`, string(text))
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range found {
		t := j.of(r.KeyID)
		t.left, t.place = r.Credits-t.parts[0].debit-t.parts[1].debit, r.place
	}
	for _, id := range unsure {
		if t := j.keys[id]; t == nil || t.left < debits[id] {
			return fmt.Errorf("debit key %s: %w", id, billing.ErrConflict)
		}
	}
	return nil
}

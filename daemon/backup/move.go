package backup

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/translog"
)

// Moved is what was copied from SQLite to PostgreSQL or back, and reads back the same.
type Moved struct {
	Rows   int64   `json:"rows"`
	Tables []Table `json:"tables"`
	Agree  bool    `json:"booksAgree"` // they do on both sides; else both have the same Problems
	Money  int64   `json:"arrivedMicros"`

	Problems []Problem `json:"problems"`
}

// books are what the audit and the sums of money say of the books at a place.
type books struct {
	problems []Problem
	totals   map[string]any // by rail
	arrived  int64
}

// Copy says what is copied between SQLite and PostgreSQL.
type Copy struct {
	Dir   string // with SQLite's files, whose lock the caller holds
	Place string // the URL of PostgreSQL
	Key   []byte // that seals the secrets there, nil for none
	Now   time.Time
}

// ToServer copies the databases in a directory, and the secret keys that all nodes share, to PostgreSQL: all of them or nothing, whenever
// the process is killed. Those there must be empty. Then the books of both are audited, and what they sum up to is compared.
func ToServer(ctx context.Context, c Copy) (m Moved, err error) {
	dir, place, now := c.Dir, c.Place, c.Now
	seal, err := sealOf(c.Key)
	if err != nil {
		return m, err
	}
	if _, err := os.Stat(filepath.Join(dir, store.File)); errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%w in %s", ErrNothing, dir)
	}
	if err := newest(ctx, dir); err != nil {
		return m, err
	}
	if err := migrate(ctx, dir, now); err != nil {
		return m, err
	}
	var all moves
	for _, name := range Files() {
		snapshot, err := database.Pin(ctx, filepath.Join(dir, name))
		if err == nil {
			err = all.add(ctx, name, place, now, snapshot.Conn(), snapshot.Close)
		}
		if err != nil {
			return m, errors.Join(err, all.close())
		}
	}
	err = database.ToServer(ctx, all.list, func(on *sql.Conn) error { return seal.storeSecrets(ctx, on, dir) })
	if err := errors.Join(err, all.close()); err != nil {
		return m, err
	}
	return compare(ctx, dir, place, all.list)
}

// FromServer copies the databases and secret keys of PostgreSQL into a directory that has no databases: all of them or nothing, whenever
// the process is killed. It is ToServer otherwise.
func FromServer(ctx context.Context, c Copy) (m Moved, err error) {
	dir, place, now := c.Dir, c.Place, c.Now
	for _, name := range Files() {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return m, fmt.Errorf("%w: %s is in %s", database.ErrNotEmpty, name, dir)
		}
	}
	if err := newest(ctx, place); err != nil {
		return m, err
	}
	incoming, err := datadir.Incoming(dir)
	if err != nil {
		return m, err
	}
	all, err := c.fill(ctx, incoming)
	if err == nil {
		m, err = compare(ctx, place, incoming, all)
	}
	if err == nil {
		err = tidy(incoming)
	}
	if err != nil {
		return m, errors.Join(err, os.RemoveAll(incoming))
	}
	_, err = datadir.Replace(dir, now)
	return m, err
}

// fill makes the databases and the files with secret keys in dir from those of the server.
func (c Copy) fill(ctx context.Context, dir string) ([]database.Move, error) {
	seal, err := sealOf(c.Key)
	if err != nil {
		return nil, err
	}
	var all moves
	for _, name := range Files() {
		layout, err := layoutOf(name)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		file, err := database.Open(ctx, filepath.Join(dir, name), layout, c.Now)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		on, err := file.Write.Conn(ctx)
		if err == nil {
			err = all.add(ctx, name, c.Place, c.Now, on, func() error { return errors.Join(on.Close(), file.Close()) })
		}
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
	}
	err = database.FromServer(ctx, all.list, func(on *sql.Conn) error { return seal.leave(ctx, on, dir) })
	return all.list, errors.Join(err, all.close())
}

// secrets matches the names of the files with keys that are in PostgreSQL where the books are.
var secrets = regexp.MustCompile(`^(?:[a-z]+\.keys|` + regexp.QuoteMeta(translog.KeyFile) + `)$`)

type sealed struct{ store.Seal }

// sealOf is the Seal of a key, nil for none.
func sealOf(key []byte) (s sealed, err error) {
	if len(key) > 0 {
		s.Seal, err = store.NewSeal(key)
	}
	return s, err
}

func (s sealed) storeSecrets(ctx context.Context, on *sql.Conn, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	for _, e := range entries {
		if !secrets.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil {
			err = s.Store(ctx, on, e.Name(), text)
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", e.Name(), err)
		}
	}
	return nil
}

// leave writes the secrets of the server into dir.
func (s sealed) leave(ctx context.Context, on *sql.Conn, dir string) error {
	all, err := s.All(ctx, on)
	if err != nil {
		return err
	}
	for name, text := range all {
		if !secrets.MatchString(name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

// moves are databases on their way, with what closes them.
type moves struct {
	list   []database.Move
	closes []func() error
}

// add adds the database of a file, and that on the server which takes its place.
func (m *moves) add(ctx context.Context, name, place string, now time.Time, file *sql.Conn, done func() error) error {
	m.closes = append(m.closes, done)
	layout, err := layoutOf(name)
	if err != nil {
		return err
	}
	one := database.Move{Name: name, File: file}
	if name == store.File {
		one.Apart = []string{"leader", "nodes", "changes", "secrets"}
	}
	if one.Server, err = database.Open(ctx, place, layout, now); err != nil {
		return err
	}
	m.closes = append(m.closes, one.Server.Close)
	m.list = append(m.list, one)
	return nil
}

// close closes what add was given and has opened.
func (m *moves) close() error {
	var errs []error
	for _, done := range m.closes {
		errs = append(errs, done())
	}
	return errors.Join(errs...)
}

// newest refuses databases at a place that are of another schema than this program's: they are upgraded by a start of the daemon alone,
// which makes a backup before.
func newest(ctx context.Context, place string) error {
	s, err := store.OpenRead(ctx, place)
	if err == nil {
		err = s.Close()
	}
	if errors.Is(err, database.ErrOlder) {
		err = fmt.Errorf("%w: start and stop this version of the daemon on it first", err)
	}
	return err
}

// compare audits the books at two places, one of which was copied to the other.
func compare(ctx context.Context, from, to string, all []database.Move) (m Moved, err error) {
	was, err := booksAt(ctx, from)
	if err != nil {
		return m, err
	}
	is, err := booksAt(ctx, to)
	if err != nil {
		return m, err
	}
	if !slices.Equal(was.problems, is.problems) || fmt.Sprint(was.totals) != fmt.Sprint(is.totals) {
		return m, fmt.Errorf("the books of the two do not agree: the audit says %v and %v, the money is %v and %v",
			was.problems, is.problems, was.totals, is.totals)
	}
	m = Moved{Problems: append([]Problem{}, is.problems...), Agree: len(is.problems) == 0, Money: is.arrived, Tables: []Table{}}
	for _, one := range all {
		for _, t := range one.Moved {
			m.Tables = append(m.Tables, Table{Name: t.Table, Rows: t.Count})
			m.Rows += t.Count
		}
	}
	slices.SortFunc(m.Tables, func(a, b Table) int { return cmp.Compare(a.Name, b.Name) })
	return m, nil
}

// booksAt audits the books at a place, and sums up the money of each rail.
func booksAt(ctx context.Context, place string) (b books, err error) {
	if b.problems, err = Books(ctx, place); err != nil {
		return b, err
	}
	s, err := store.OpenRead(ctx, place)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	rails, err := s.Chains(ctx)
	if err != nil {
		return b, err
	}
	rails[""] = [32]byte{} // all of them
	b.totals = map[string]any{}
	for rail := range rails {
		t, err := s.Totals(ctx, rail)
		if err != nil {
			return b, fmt.Errorf("sum up the money: %w", err)
		}
		b.totals[rail] = t
		if rail == "" {
			b.arrived = int64(t.Arrived)
		}
	}
	return b, nil
}

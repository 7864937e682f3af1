// Package backup looks after a data directory as a whole: it copies it while its daemon serves, puts copies back, and says how large its
// databases are, whether they are sound and whether what is in them agrees.
//
// A backup is one file: a tar archive compressed with zstd, which begins with a manifest. It holds both databases, the files with
// secret keys and the journal of alerts, which is all that a daemon needs to go on; mail that was not sent and what a demo keeps are not in
// it.
//
// The two databases refer to each other nowhere, so any two copies of them fit. Both are copied as of one moment all the same: snapshots
// of both are taken before a page of either is copied, the books first. So every state that a charged call of the copy was answered
// with is in the copy too.
package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
)

// Files are the names of the databases of a data directory. The books come before history: every state that a charged call was answered
// with was saved before the call, so looking at them in this order finds it.
func Files() []string { return []string{store.File, history.File} }

// Database is how one database stands. Sizes are in bytes.
type Database struct {
	Name        string  `json:"name"` // of the file in the data directory
	Schema      int     `json:"schema"`
	Known       int     `json:"knownSchema"` // the newest that this program knows
	Size        int64   `json:"size"`
	Free        int64   `json:"free"`    // within Size, for new rows
	LogSize     int64   `json:"logSize"` // of the write-ahead log
	PageSize    int64   `json:"pageSize"`
	JournalMode string  `json:"journalMode"`
	Tables      []Table `json:"tables,omitempty"` // where they were asked for, by name
}

// Table is a table of a database.
type Table struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// Status says how the databases in dir stand, those that are there; with tables, how many rows their tables have.
func Status(ctx context.Context, dir string, tables bool) ([]Database, error) {
	list := []Database{}
	for _, name := range Files() {
		d, err := size(ctx, dir, name, tables)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func size(ctx context.Context, dir, name string, tables bool) (d Database, err error) {
	snapshot, err := database.Pin(ctx, filepath.Join(dir, name))
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	d.Name = name
	db := snapshot.Conn()
	var pages, free int64
	if err := db.QueryRowContext(ctx, `SELECT page_count, freelist_count, page_size, journal_mode
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size, pragma_journal_mode`).
		Scan(&pages, &free, &d.PageSize, &d.JournalMode); err != nil {
		return d, fmt.Errorf("look at %s: %w", name, err)
	}
	d.Size = pages * d.PageSize
	d.Free = free * d.PageSize
	if info, err := os.Stat(filepath.Join(dir, name+"-wal")); err == nil {
		d.LogSize = info.Size()
	}
	if d.Schema, err = database.Schema(ctx, db); err != nil {
		return d, err
	}
	if d.Known, err = known(name); err != nil || !tables {
		return d, err
	}
	names, err := database.Query(ctx, db, func(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) },
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	if err != nil {
		return d, fmt.Errorf("list tables of %s: %w", name, err)
	}
	for _, table := range names {
		t := Table{Name: table}
		if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) FROM %q", table)).Scan(&t.Rows); err != nil {
			return d, fmt.Errorf("count rows of %s: %w", table, err)
		}
		d.Tables = append(d.Tables, t)
	}
	return d, nil
}

// known is the newest schema of a database that this program knows.
func known(name string) (int, error) {
	layout, err := layoutOf(name)
	if err != nil {
		return 0, err
	}
	names, err := fs.Glob(layout.Scripts, "*.sql")
	return len(names), err
}

func layoutOf(name string) (database.Layout, error) {
	if name == history.File {
		return history.Layout()
	}
	return store.Layout()
}

// Problem is something that is wrong with a data directory.
type Problem struct {
	Database string `json:"database"`
	Text     string `json:"text"`
}

// String is the problem in one line.
func (p Problem) String() string { return p.Database + ": " + p.Text }

// Structure says what SQLite finds wrong with the databases in dir.
func Structure(ctx context.Context, dir string) ([]Problem, error) {
	if database.IsURL(dir) {
		return nil, nil // that is for pg_amcheck
	}
	return eachDatabase(ctx, dir, func(s *database.Snapshot, _ string) ([]string, error) { return database.Problems(ctx, s.Conn()) })
}

// Foreign says what the databases in dir would do that no program of ours told them to. It runs nothing of it.
func Foreign(ctx context.Context, dir string) ([]Problem, error) {
	return eachDatabase(ctx, dir, func(s *database.Snapshot, name string) ([]string, error) {
		layout, err := layoutOf(name)
		if err != nil {
			return nil, err
		}
		return database.Foreign(ctx, s.Conn(), layout.Scripts)
	})
}

func eachDatabase(ctx context.Context, dir string, find func(s *database.Snapshot, name string) ([]string, error)) ([]Problem, error) {
	var problems []Problem
	for _, name := range Files() {
		found, err := readDatabase(ctx, dir, name, find)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if database.Corrupt(err) {
			found, err = []string{err.Error()}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("verify %s: %w", name, err)
		}
		problems = append(problems, about(name, found)...)
	}
	return problems, nil
}

func readDatabase(
	ctx context.Context, dir, name string, find func(s *database.Snapshot, name string) ([]string, error),
) (found []string, err error) {
	snapshot, err := database.Pin(ctx, filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return find(snapshot, name)
}

func about(name string, texts []string) []Problem {
	var list []Problem
	for _, text := range texts {
		list = append(list, Problem{name, text})
	}
	return list
}

// Books says what does not agree in the books in dir. Those of an older schema cannot be checked by this program: the error then has
// database.ErrOlder in its chain.
func Books(ctx context.Context, dir string) (problems []Problem, err error) {
	s, err := store.OpenRead(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	findings, err := s.Audit(ctx)
	for _, f := range findings {
		problems = append(problems, Problem{store.File, f.Subject + " " + f.Text})
	}
	return problems, err
}

// States reads every state of the history in dir back, if there is one, and returns how many there are and which are damaged.
func States(ctx context.Context, dir string) (states int, problems []Problem, err error) {
	h, err := history.OpenRead(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	const named = 20
	states, damaged, err := h.Verify(ctx, named)
	return states, about(history.File, damaged), err
}

// LogStatus is how a transparency log stands.
type LogStatus = history.LogStatus

// Cosigner is how a witness stands with a log.
type Cosigner = translog.Cosigner

// openLogs opens the history at place, a directory or URL, for its logs; nil where there are none, as before the schema that has them.
func openLogs(ctx context.Context, place string) (*history.History, error) {
	h, err := history.OpenRead(ctx, place)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, database.ErrOlder) {
		return nil, nil
	}
	return h, err
}

// Logs are the transparency logs of the history at place, a directory or URL, the oldest first.
func Logs(ctx context.Context, place string) (list []LogStatus, err error) {
	h, err := openLogs(ctx, place)
	if h == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return h.Logs(ctx)
}

// VerifyLogs makes the trees of the logs at place, a directory or URL, again and compares them with what is stored, and the key there with
// the one that signed them. It returns how many leaves there are, and what is wrong.
func VerifyLogs(ctx context.Context, place string) (leaves int64, problems []Problem, err error) {
	h, err := openLogs(ctx, place)
	if h == nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	const named = 20
	leaves, found, err := h.VerifyLogs(ctx, named)
	if err != nil {
		return leaves, nil, err
	}
	public, err := h.LogKey(ctx)
	problems = about(history.File, found)
	if err != nil || public == "" {
		return leaves, problems, err
	}
	wrong, err := LogKey(ctx, place, public)
	if wrong != "" {
		problems = append(problems, Problem{translog.KeyFile, wrong})
	}
	return leaves, problems, err
}

// LogKey says what is wrong with the key in place of logs that were signed with the one whose public half is given, "" for nothing.
func LogKey(ctx context.Context, place, public string) (wrong string, err error) {
	text, err := logKey(ctx, place)
	switch key, bad := translog.ParseKey(text); {
	case errors.Is(err, store.ErrSealed): // the nodes have its key and compare it at start
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
		return "it is missing, and the logs were signed with it", nil
	case err != nil:
		return "", fmt.Errorf("read key of the logs: %w", err)
	case bad != nil:
		return bad.Error(), nil
	case key.Public() != public:
		return "it is not the key that the logs were signed with", nil
	}
	return "", nil
}

func logKey(ctx context.Context, dir string) (text []byte, err error) {
	if !database.IsURL(dir) {
		return os.ReadFile(filepath.Join(dir, translog.KeyFile))
	}
	s, err := store.OpenRead(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Secret(ctx, translog.KeyFile, func() ([]byte, error) { return nil, fs.ErrNotExist })
}

// Report is what Verify found.
type Report struct {
	States   int       `json:"states"` // that were read back
	Leaves   int64     `json:"leaves"` // of the logs, that were hashed again
	Problems []Problem `json:"problems"`
}

// Verify checks everything at place, a directory or URL: the structure of the databases, the books, every state, every leaf of the logs,
// and their key.
func Verify(ctx context.Context, place string) (r Report, err error) {
	broken, err := Structure(ctx, place)
	if err != nil {
		return r, err
	}
	if len(broken) > 0 { // what is in a broken database cannot be read with any confidence
		r.Problems = broken
		return r, nil
	}
	books, err := Books(ctx, place)
	if err != nil {
		return r, err
	}
	states, damaged, err := States(ctx, place)
	if err != nil {
		return r, err
	}
	leaves, torn, err := VerifyLogs(ctx, place)
	r.States, r.Leaves = states, leaves
	r.Problems = slices.Concat([]Problem{}, books, damaged, torn)
	return r, err
}

// Vacuum rewrites the databases in dir without the space that is free in them. Nobody else may have them open.
func Vacuum(ctx context.Context, dir string) error {
	for _, name := range Files() {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := database.Vacuum(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

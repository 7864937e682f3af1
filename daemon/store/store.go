// Package store keeps everything that outlives the process in SQLite, and is the only package with SQL in it.
//
// There are two files in the data directory: contextd.db for owners and keys, history.db for states, briefs and what sources
// said last. Both are in WAL mode with synchronous=FULL: what a method has returned is on disk. Each exported method is one
// business act and one transaction; writes go through one connection per file, reads through a small pool. Store knows no rules:
// the packages that own them declare what they need and Store satisfies it.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// Names of the database files in the data directory.
const (
	MainFile    = "contextd.db"
	HistoryFile = "history.db"
)

// Sizes of pages. Charges change a few rows, and every commit writes whole pages. States take some 2 KB each, so that small pages
// would stay half empty.
const (
	mainPage    = 4 << 10
	historyPage = 32 << 10
)

// logSize is how large a write-ahead log gets before it is checkpointed. SQLite counts in pages, which would be 32 MB of history.
const logSize = 4 << 20

// readers is the size of each pool of reading connections.
const readers = 4

// Store is the open databases of one data directory. It is safe for concurrent use. Only one process may have it open;
// the lock on the data directory sees to that.
type Store struct {
	main, history *file
	codec         *codec
	charge        statements // on main.write
}

// file is one database.
type file struct {
	write *sql.DB // one connection
	read  *sql.DB
}

// Open opens the databases in dir, creates them where they are missing and brings them to the newest schema. It refuses
// databases that a newer program wrote. now is recorded with the migrations.
func Open(ctx context.Context, dir string, now time.Time) (*Store, error) {
	s := &Store{codec: newCodec()}
	var err error
	if s.main, err = openFile(ctx, filepath.Join(dir, MainFile), "main", mainPage, now); err != nil {
		return nil, err
	}
	if s.history, err = openFile(ctx, filepath.Join(dir, HistoryFile), "history", historyPage, now); err != nil {
		return nil, errors.Join(err, s.main.close())
	}
	if s.charge, err = prepareCharge(ctx, s.main.write); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends all connections. The last one checkpoints each write-ahead log.
func (s *Store) Close() error {
	s.codec.close()
	return errors.Join(s.history.close(), s.main.close())
}

// Check reports whether the databases answer.
func (s *Store) Check(ctx context.Context) error {
	for _, f := range []*file{s.main, s.history} {
		var one int
		if err := f.read.QueryRowContext(ctx, "SELECT 1 FROM schema_migrations LIMIT 1").Scan(&one); err != nil {
			return fmt.Errorf("read database: %w", err)
		}
	}
	return nil
}

// openFile opens one database, made of pages of the given size if it is new, and migrates it by the scripts of the given set.
func openFile(ctx context.Context, path, set string, pageSize int, now time.Time) (*file, error) {
	// SQLite would create the file with the mode of the umask, and gives its companions the mode of the file.
	made, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := made.Close(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := layOut(ctx, path, pageSize); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	f := new(file)
	if f.write, err = sql.Open("sqlite3", dsn(path, "_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_foreign_keys=1")); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	f.write.SetMaxOpenConns(1)
	if f.read, err = sql.Open("sqlite3", dsn(path, "mode=ro&_query_only=1")); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), f.write.Close())
	}
	f.read.SetMaxOpenConns(readers)
	f.read.SetMaxIdleConns(readers)
	if err := f.prepare(ctx, set, pageSize, now); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), f.close())
	}
	return f, nil
}

// layOut sets the size of the pages of a new database, which is fixed as soon as there is something in it.
func layOut(ctx context.Context, path string, pageSize int) error {
	db, err := sql.Open("sqlite3", dsn(path, ""))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size = %d; PRAGMA journal_mode = WAL", pageSize))
	return errors.Join(err, db.Close())
}

// dsn names a database file with the options that every connection shares and more.
func dsn(path, more string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "_busy_timeout=5000&" + more}).String()
}

// prepare checks that commits are durable, bounds the log and migrates.
func (f *file) prepare(ctx context.Context, set string, pageSize int, now time.Time) error {
	var level int
	if err := f.write.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	if level != 2 {
		return fmt.Errorf("synchronous is %d, not FULL: commits would not be durable", level)
	}
	if _, err := f.write.ExecContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", logSize/pageSize)); err != nil {
		return err
	}
	return migrate(ctx, f.write, set, now)
}

// close ends the connections, readers first so that the writer can checkpoint.
func (f *file) close() error {
	return errors.Join(f.read.Close(), f.write.Close())
}

// tx runs act in one transaction.
func (f *file) tx(ctx context.Context, act func(*sql.Tx) error) error {
	tx, err := f.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := act(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// ignoreDone drops the error of rolling back what is already ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// millis is t as stored, NULL where t is zero.
func millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

// fromMillis is the time that millis stored.
func fromMillis(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64).UTC()
}

// Package database opens the databases of daemon/store, SQLite's files or schemas of PostgreSQL: their settings, migrations and
// transactions.
//
// What a transaction has committed is on disk, and transactions that write follow one another. On SQLite, a database is in WAL mode with
// synchronous=FULL, and writes go through one connection; on PostgreSQL they take an advisory lock, whichever process they are of.
// Statements are SQLite's with ? in place of values, in words that both take. The package knows no tables but the ledger of migrations
// and, on PostgreSQL, that of who leads; only daemon/store and what is below it import it.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3" // also the driver "sqlite3"
)

// logSize is how large a write-ahead log gets before it is checkpointed. SQLite counts in pages.
const logSize = 4 << 20

// readers is the size of the pool of reading connections.
const readers = 4

// statements is how many prepared statements a connection of a DB keeps. More than those that its callers have in turns.
const statements = 64

// DB is one open database. It is safe for concurrent use. Only one process may have it open; the lock on the data directory
// sees to that.
type DB struct {
	Write *sql.DB // one connection; transactions on it go through Tx
	Read  *sql.DB

	path   string    // without secrets
	files  []noted   // of SQLite, that may not go
	last   *sql.Conn // that is closed; nil for PostgreSQL and for reading alone
	server *server   // nil for SQLite
	lease  *Lease    // nil where nobody else can lead
	busy   atomic.Int64
}

// Busy counts the transactions that found the database locked for longer than they wait.
func (f *DB) Busy() int64 { return f.busy.Load() }

// LogSize is the size of the write-ahead log in bytes, 0 where there is none.
func (f *DB) LogSize() int64 {
	info, err := os.Stat(f.path + "-wal")
	if err != nil || f.server != nil {
		return 0
	}
	return info.Size()
}

// Layout is what a database is made of.
type Layout struct {
	Scripts  fs.FS // migrations, named NNNN_what.sql
	PageSize int   // bytes; fixed when the database is made

	Name     string // of the schema on PostgreSQL
	Postgres fs.FS  // migrations there, which begin with the schema of their time
}

// Place is the path of a file in dir, or dir where that is the URL of a database.
func Place(dir, file string) string {
	if IsURL(dir) {
		return dir
	}
	return filepath.Join(dir, file)
}

// Open opens the database at path, a file or the URL of PostgreSQL, creates it where it is missing and brings it to the newest schema. It
// refuses one that a newer program wrote. now is recorded with the migrations.
func Open(ctx context.Context, path string, layout Layout, now time.Time) (*DB, error) {
	if IsURL(path) {
		return openPostgres(ctx, path, layout, now)
	}
	if err := left(path); err != nil {
		return nil, err
	}
	// SQLite would create the file with the mode of the umask, and gives its companions the mode of the file.
	made, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := made.Close(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := layOut(ctx, path, layout.PageSize); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	f, kept := &DB{path: path}, fmt.Sprintf("&_stmt_cache_size=%d", statements)
	f.Write, err = sql.Open("sqlite3", dsn(path, "_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_foreign_keys=1"+kept))
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	f.Write.SetMaxOpenConns(1)
	f.Read = sql.OpenDB(reading{f, dsn(path, "mode=ro&_query_only=1"+kept)})
	f.Read.SetMaxOpenConns(readers + 1) // with the last
	f.Read.SetMaxIdleConns(readers)
	if err := f.prepare(ctx, layout, now); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), f.Close())
	}
	return f, nil
}

// OpenRead opens the database at path for reading alone, if its schema is the newest: ErrOlder or ErrNewer is in the chain of the error
// otherwise. Write is nil.
func OpenRead(ctx context.Context, path string, layout Layout) (*DB, error) {
	if IsURL(path) {
		return openPostgresRead(ctx, path, layout)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	f := &DB{path: path}
	var err error
	if f.Read, err = sql.Open("sqlite3", dsn(path, "mode=ro&_query_only=1")); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	names, err := scriptNames(layout.Scripts)
	if err == nil {
		var have int
		if have, err = Schema(ctx, f.Read); err == nil {
			err = compare(have, len(names))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), f.Close())
	}
	return f, nil
}

// LeaveLog leaves checkpoints to another program that follows the write-ahead log, such as Litestream: it grows until that one resets it.
func (f *DB) LeaveLog(ctx context.Context) error {
	if f.server != nil {
		return errors.New("litestream follows SQLite's files, and the database is PostgreSQL")
	}
	if _, err := f.Write.ExecContext(ctx, "PRAGMA wal_autocheckpoint = 0"); err != nil {
		return fmt.Errorf("leave checkpoints to another program: %w", err)
	}
	return nil
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
func (f *DB) prepare(ctx context.Context, layout Layout, now time.Time) error {
	var level int
	if err := f.Write.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	if level != 2 {
		return fmt.Errorf("synchronous is %d, not FULL: commits would not be durable", level)
	}
	if _, err := f.Write.ExecContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", logSize/layout.PageSize)); err != nil {
		return err
	}
	if err := f.migrate(ctx, layout.Scripts, now); err != nil {
		return err
	}
	return f.note(ctx)
}

// Check reports whether the database answers.
func (f *DB) Check(ctx context.Context) error {
	if err := f.there(); err != nil {
		return err
	}
	var one int
	if err := f.Read.QueryRowContext(ctx, "SELECT 1 FROM schema_migrations LIMIT 1").Scan(&one); err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	return nil
}

// CheckWrite reports whether the database can be written to: whether a transaction gets its turn, and what it writes gets on disk.
func (f *DB) CheckWrite(ctx context.Context) error {
	if err := f.Exec(ctx, "UPDATE schema_migrations SET applied_at = applied_at WHERE version = 1"); err != nil {
		return fmt.Errorf("write to database: %w", err)
	}
	return f.Check(ctx)
}

// Close ends the connections, readers first so that the writer can checkpoint.
func (f *DB) Close() error {
	var err error
	if f.last != nil {
		err = f.last.Close()
	}
	err = errors.Join(err, f.Read.Close())
	if f.server != nil {
		return errors.Join(err, f.server.beats.Close(), f.server.batch.Close(), f.server.turns.Close(), f.Write.Close())
	}
	if f.Write != nil {
		// A query that was given up at a stop may have been interrupted when it was over. The interruption would hold until the next
		// statement, and end the checkpoint of the close.
		_, last := f.Write.Exec("SELECT 1")
		err = errors.Join(err, last, f.Write.Close())
	}
	return err
}

// Tx runs act in one transaction, which is on disk when Tx returns nil.
func (f *DB) Tx(ctx context.Context, act func(*sql.Tx) error) error { return f.count(f.tx(ctx, act)) }

// count counts err, if it is that of a database that was locked. A disk that takes nothing is nobody's mistake, and may pass.
func (f *DB) count(err error) error {
	var failed sqlite3.Error
	var refused *pgconn.PgError
	disk := []sqlite3.ErrNo{sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrReadonly, sqlite3.ErrCantOpen}
	if errors.As(err, &failed) && slices.Contains(disk, failed.Code) {
		return gone{err}
	}
	if errors.As(err, &failed) && failed.Code == sqlite3.ErrBusy || errors.As(err, &refused) && refused.Code == lockNotAvailable {
		f.busy.Add(1)
	}
	return err
}

// tx is Tx without counting.
func (f *DB) tx(ctx context.Context, act func(*sql.Tx) error) error {
	if err := f.there(); err != nil {
		return err
	}
	tx, err := f.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := act(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	err = tx.Commit()
	if lost := new(unknown); errors.As(err, &lost) {
		err = f.resolve(ctx, lost)
	}
	if err != nil {
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

// Exec runs one statement in a transaction of its own.
func (f *DB) Exec(ctx context.Context, text string, args ...any) error {
	return f.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	})
}

// Querier reads: a database or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

// Query returns what read makes of each row.
func Query[T any](ctx context.Context, db Querier, read func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		v, err := read(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// Millis is t as stored, NULL where t is zero.
func Millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

// FromMillis is the time that Millis stored.
func FromMillis(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64).UTC()
}

// Verify reads a database that another process may have open, and says what is damaged in it, "" for nothing.
func Verify(ctx context.Context, path string) (trouble string, err error) {
	db, err := sql.Open("sqlite3", dsn(path, "mode=ro&_query_only=1"))
	if err != nil {
		return "", fmt.Errorf("open database %s: %w", path, err)
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&trouble); err != nil {
		if Corrupt(err) {
			return err.Error(), nil
		}
		return "", fmt.Errorf("check database %s: %w", path, err)
	}
	if trouble == "ok" {
		return "", nil
	}
	return trouble, nil
}

// Corrupt reports whether err says that a file is no sound database.
func Corrupt(err error) bool {
	var failed sqlite3.Error
	return errors.As(err, &failed) && (failed.Code == sqlite3.ErrCorrupt || failed.Code == sqlite3.ErrNotADB)
}

// Refused reports whether err says that a row breaks what its table demands, such as a key that is there already.
func Refused(err error) bool {
	var failed sqlite3.Error
	var refused *pgconn.PgError
	return errors.As(err, &failed) && failed.Code == sqlite3.ErrConstraint || errors.As(err, &refused) && refused.Code[:2] == "23"
}

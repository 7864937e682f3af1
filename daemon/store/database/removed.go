package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"

	"github.com/mattn/go-sqlite3"
)

// ErrRemoved is in the chain of the error for a file of a database that is no longer where it was when the database was opened. The process
// has the old one open still, and what it would write there is lost with it.
var ErrRemoved = errors.New("was removed or replaced while the daemon runs")

// noted is a file of a database as it was found when that was opened.
type noted struct {
	path string
	info os.FileInfo
}

// note notes the files of the database, and keeps one connection open until Close: the last one that closes removes the write-ahead log.
func (f *DB) note(ctx context.Context) (err error) {
	if f.last, err = f.Read.Conn(ctx); err != nil {
		return err
	}
	var one int
	if err := f.last.QueryRowContext(ctx, "SELECT 1 FROM schema_migrations LIMIT 1").Scan(&one); err != nil { // which opens the log
		return err
	}
	for _, path := range []string{f.path, f.path + "-wal"} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		f.files = append(f.files, noted{path, info})
	}
	return nil
}

// left fails where the write-ahead log of a database is there and the database is not: SQLite would make a new one and drop the log.
func left(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		return nil
	}
	return fmt.Errorf("%s is gone, and its write-ahead log is there: put it back, or restore a backup", path)
}

// there fails with ErrRemoved in the chain where a file of the database was removed or replaced. On PostgreSQL there are none.
func (f *DB) there() error {
	for _, was := range f.files {
		is, err := os.Stat(was.path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(was.info, is) {
			return gone{fmt.Errorf("%s %w", was.path, ErrRemoved)}
		}
	}
	return nil
}

// reading makes connections that read a DB, as long as its files are there: a file that replaced one is another database.
type reading struct {
	of  *DB
	dsn string
}

func (r reading) Connect(context.Context) (driver.Conn, error) {
	if err := r.of.there(); err != nil {
		return nil, err
	}
	return r.Driver().Open(r.dsn)
}

func (r reading) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

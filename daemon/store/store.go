// Package store keeps what must outlive the process, in SQLite or PostgreSQL. Together with the packages below it, it is the only
// one with SQL.
//
// It has owners, keys, sign-in and the books: the file contextd.db, or a schema of the server that store.url names.
// daemon/store/history has the states and briefs, in another file or schema.
// What a method has returned is on disk. Each exported method is one business act and one transaction. Store knows no rules: the
// packages that own them declare what they need and Store satisfies it.
package store

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
)

// File is the name of the database in the data directory.
const File = "contextd.db"

// pageSize of the database: charges change a few rows, and every commit writes whole pages.
const pageSize = 4 << 10

//go:embed migrations/*.sql migrations/postgres/*.sql
var migrations embed.FS

// Store is the open database of one data directory. It is safe for concurrent use.
type Store struct {
	db      *database.DB
	charge  statements // on db.Write
	journal journal
	seal    Seal // of secrets

	life    context.Context // of refunds; ends with the store
	end     context.CancelFunc
	refunds sync.WaitGroup
}

// Open opens the database in dir, creates it where it is missing and brings it to the newest schema. now is recorded with the
// migrations.
func Open(ctx context.Context, dir string, now time.Time) (*Store, error) {
	layout, err := Layout()
	if err != nil {
		return nil, err
	}
	s := new(Store)
	if s.db, err = database.Open(ctx, database.Place(dir, File), layout, now); err != nil {
		return nil, err
	}
	if s.db.OnServer() { // which needs no journal
		s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
		return s, nil
	}
	if s.charge, err = prepareCharge(ctx, s.db.Write); err == nil {
		s.journal.stale.Store(true)
		err = s.moveAll(ctx, nil)
	}
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// Layout is what the database is made of.
func Layout() (database.Layout, error) {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return database.Layout{}, err
	}
	postgres, err := fs.Sub(scripts, "postgres")
	return database.Layout{Scripts: scripts, PageSize: pageSize, Name: "contextd", Postgres: postgres}, err
}

// OpenRead opens the database in dir for reading alone. What was charged last may be in no answer but that of Audit. A database that is not
// of the newest schema is refused, with database.ErrOlder or database.ErrNewer in the chain of the error.
func OpenRead(ctx context.Context, dir string) (*Store, error) {
	layout, err := Layout()
	if err != nil {
		return nil, err
	}
	s := new(Store)
	if s.db, err = database.OpenRead(ctx, database.Place(dir, File), layout); err != nil {
		return nil, err
	}
	return s, nil
}

// LeaveLog leaves checkpoints to a program such as Litestream.
func (s *Store) LeaveLog(ctx context.Context) error { return s.db.LeaveLog(ctx) }

// Close ends all connections. The last one checkpoints the write-ahead log.
func (s *Store) Close() error {
	if s.end != nil {
		s.end()
	}
	s.refunds.Wait()
	return s.db.Close()
}

// CheckWrite reports whether the database answers and can be written to.
func (s *Store) CheckWrite(ctx context.Context) error { return s.db.CheckWrite(ctx) }

// Log is the size of the write-ahead log in bytes, and how often the database was busy for too long.
func (s *Store) Log() (size, busy int64) { return s.db.LogSize(), s.db.Busy() }

// Check reports whether the database answers.
func (s *Store) Check(ctx context.Context) error { return s.db.Check(ctx) }

// Server tells of the PostgreSQL that a URL leads to: its version, and whether what it has committed outlives a crash.
func Server(ctx context.Context, place string) (version string, durable bool, err error) {
	layout, err := Layout()
	if err != nil {
		return "", false, err
	}
	db, err := database.Connect(place, layout)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Private(ctx); err != nil {
		return "", false, err
	}
	err = db.Read.QueryRowContext(ctx, `SELECT current_setting('server_version'), current_setting('fsync') = 'on' AND
		current_setting('full_page_writes') = 'on' AND current_setting('synchronous_commit') <> 'off'`).Scan(&version, &durable)
	return version, durable, err
}

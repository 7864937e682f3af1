// Package store keeps what must outlive the process, in SQLite or PostgreSQL. Together with the packages below it, it is the only
// one with SQL.
//
// It has owners, keys, sign-in and the books: the file contextd.db, or a schema of the server that store.url names.
// daemon/store/history has the states and briefs, in another file or schema.
// What a method has returned is on disk. Each exported method is one business act and one transaction. Store knows no rules: the
// packages that own them declare what they need and Store satisfies it.
//
// A charge, from the call to the disk, on SQLite:
//
//	14:05:00.000  Two calls arrive, of the keys A and B. billing.Meter decides both in memory: each key has credits. A kill here leaves
//	              nothing: no call was answered.
//	14:05:00.001  The meter sums them up as a billing.Batch, one credit of A and one of B, and hands it to Charge. Calls that arrive from
//	              here on go into the next batch.
//	14:05:00.001  Charge begins a transaction. One statement takes the credits from the rows of both keys, where the row still has them
//	              and the key is not revoked. If it changes fewer than two rows, another program has written meanwhile: Charge rolls back
//	              and returns billing.ErrConflict, and the meter reads the keys again. The next statements count the calls in usage,
//	              free_calls and traces.
//	14:05:00.002  The commit writes the changed pages to the write-ahead log and waits for the disk. A kill before its last byte is there
//	              leaves nothing of the batch. A kill after it leaves all of the batch, though nobody was answered: the two callers were
//	              charged for calls that they have to ask again.
//	14:05:00.004  Charge returns, and both calls are answered. A kill here loses nothing.
//
// So an answered call is charged, once, and a kill charges at most the calls of one batch without an answer. On PostgreSQL the batch is one
// statement, and what the meter cannot learn from a lost connection is in the database: if the batch turns out to be booked after its calls
// were refused, it is taken back (see refund.go).
package store

import (
	"context"
	"database/sql"
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
	db     *database.DB
	charge map[string]*sql.Stmt // what Charge runs on db.Write, by table; nil on PostgreSQL
	seal   Seal                 // of secrets

	background context.Context // of refunds; ends with the store
	end        context.CancelFunc
	refunds    sync.WaitGroup
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
	if s.db.OnServer() {
		s.background, s.end = context.WithCancel(context.WithoutCancel(ctx))
		return s, nil
	}
	if s.charge, err = prepareCharge(ctx, s.db.Write); err != nil {
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

// OpenRead opens the database in dir for reading alone. A database that is not of the newest schema is refused, with database.ErrOlder or
// database.ErrNewer in the chain of the error.
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

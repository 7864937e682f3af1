// Package history keeps the states and briefs of packs, and what sources said last, in history.db or a schema
// of PostgreSQL.
//
// A state is stored against the keyframe of its block, with its numbers apart from its text, and comes back byte for byte or as an
// error: every row carries a checksum. Each exported method is one transaction, on disk when it returns.
package history

import (
	"context"
	"embed"
	"io/fs"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
)

// File is the name of the database in the data directory.
const File = "history.db"

// pageSize of the database: states take some 2 KB each, so that small pages would stay half empty.
const pageSize = 32 << 10

//go:embed migrations/*.sql migrations/postgres/*.sql
var migrations embed.FS

// History is the open history of one data directory. It is safe for concurrent use.
type History struct {
	db    *database.DB
	codec *codec
	logs  heads
}

// Open opens the history in dir, creates it where it is missing and brings it to the newest schema. now is recorded with the
// migrations.
func Open(ctx context.Context, dir string, now time.Time) (*History, error) {
	layout, err := Layout()
	if err != nil {
		return nil, err
	}
	db, err := database.Open(ctx, database.Place(dir, File), layout, now)
	if err != nil {
		return nil, err
	}
	return &History{db: db, codec: newCodec()}, nil
}

// Layout is what the database is made of.
func Layout() (database.Layout, error) {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return database.Layout{}, err
	}
	postgres, err := fs.Sub(scripts, "postgres")
	return database.Layout{Scripts: scripts, PageSize: pageSize, Name: "history", Postgres: postgres}, err
}

// OpenRead opens the history in dir for reading alone. One that is not of the newest schema is refused, with database.ErrOlder or
// database.ErrNewer in the chain of the error.
func OpenRead(ctx context.Context, dir string) (*History, error) {
	layout, err := Layout()
	if err != nil {
		return nil, err
	}
	db, err := database.OpenRead(ctx, database.Place(dir, File), layout)
	if err != nil {
		return nil, err
	}
	return &History{db: db, codec: newCodec()}, nil
}

// Use lets the lease of the books decide who may save and prune; nil lets everybody.
func (h *History) Use(l *database.Lease) { h.db.Use(l) }

// LeaveLog leaves checkpoints to a program such as Litestream.
func (h *History) LeaveLog(ctx context.Context) error { return h.db.LeaveLog(ctx) }

// Close ends all connections. The last one checkpoints the write-ahead log.
func (h *History) Close() error {
	h.codec.close()
	return h.db.Close()
}

// CheckWrite reports whether the database answers and can be written to.
func (h *History) CheckWrite(ctx context.Context) error { return h.db.CheckWrite(ctx) }

// Log is the size of the write-ahead log in bytes, and how often the database was busy for too long.
func (h *History) Log() (size, busy int64) { return h.db.LogSize(), h.db.Busy() }

// Check reports whether the database answers.
func (h *History) Check(ctx context.Context) error { return h.db.Check(ctx) }

package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/contextd/contextd/daemon/store/database"
)

// Origin is what the states of a history are made of.
type Origin struct {
	Demo   bool // recorded, synthetic data; a history that is marked so stays so
	States bool // there are some
}

// OriginOf reads the origin of the history in dir, or of that which a URL leads to, of whatever schema and without changing it. Where
// there is none, it is the zero Origin.
func OriginOf(ctx context.Context, dir string) (o Origin, err error) {
	if database.IsURL(dir) {
		return originOnServer(ctx, dir)
	}
	s, err := database.Pin(ctx, filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for table, found := range map[string]*bool{"origin": &o.Demo, "pulses": &o.States} {
		var there bool
		err := s.Conn().QueryRowContext(ctx,
			"SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?)", table).Scan(&there)
		if err == nil && there {
			err = s.Conn().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table+")").Scan(found)
		}
		if err != nil {
			return o, fmt.Errorf("read origin of history: %w", err)
		}
	}
	return o, nil
}

func originOnServer(ctx context.Context, place string) (o Origin, err error) {
	layout, err := Layout()
	if err != nil {
		return o, err
	}
	db, err := database.Connect(place, layout)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Private(ctx); err != nil {
		return o, fmt.Errorf("read origin of history in %s: %w", database.Host(place), err)
	}
	for table, found := range map[string]*bool{"origin": &o.Demo, "pulses": &o.States} {
		var there bool
		err := db.Read.QueryRowContext(ctx, "SELECT to_regclass(?) IS NOT NULL", table).Scan(&there)
		if err == nil && there {
			err = db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table+")").Scan(found)
		}
		if err != nil {
			return o, fmt.Errorf("read origin of history in %s: %w", database.Host(place), err)
		}
	}
	return o, nil
}

// MarkDemo notes for good that the states of h are a demo's.
func (h *History) MarkDemo(ctx context.Context) error {
	return h.db.Exec(ctx, "INSERT INTO origin (only_row, demo) VALUES (1, 1) ON CONFLICT DO NOTHING")
}

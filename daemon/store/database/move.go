package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNotEmpty is in the chain of the error for a database that rows are to be moved to, and that has some.
var ErrNotEmpty = errors.New("the database is not empty")

// Move is a database whose rows go from SQLite to PostgreSQL or back. Both are of the newest schema.
type Move struct {
	Name   string     // of the file, for errors
	File   *sql.Conn  // SQLite
	Server *DB        // PostgreSQL
	Apart  []string   // tables of one of the two alone, whose rows are not moved
	Moved  []TableSum // set by ToServer and FromServer
}

// TableSum is what a table has: how many rows, and a sum of the digests of each, whatever their order.
type TableSum struct {
	Table string
	Count int64 // of rows

	sum [4]uint64
}

// ledger is the table of migrations, which each database has of its own.
const ledger = "schema_migrations"

// ToServer moves all rows in one transaction of the server: the databases there have all of them or none, whenever the process is killed.
// They must be empty, and nobody writes to them meanwhile. more goes on in the transaction, in the schema of the first.
func ToServer(ctx context.Context, all []Move, more func(*sql.Conn) error) error {
	return alone(ctx, all, func(on *sql.Conn) error {
		for i := range all {
			if err := all[i].empty(ctx, on); err != nil {
				return err
			}
			if err := all[i].carry(ctx, on, true); err != nil {
				return fmt.Errorf("move %s to PostgreSQL: %w", all[i].Name, err)
			}
		}
		return more(on)
	})
}

// FromServer moves all rows into files, whose tables are empty. Nobody writes to the server meanwhile.
func FromServer(ctx context.Context, all []Move, more func(*sql.Conn) error) error {
	return alone(ctx, all, func(on *sql.Conn) error {
		for i := range all {
			if err := all[i].fromServer(ctx, on); err != nil {
				return fmt.Errorf("move %s from PostgreSQL: %w", all[i].Name, err)
			}
		}
		return more(on)
	})
}

// alone runs act in a transaction of the server in which no other writes to any table of the databases. A node that is seen there, or a
// lock that is not free within patience, is ErrHeld.
func alone(ctx context.Context, all []Move, act func(*sql.Conn) error) (err error) {
	on, err := all[0].Server.Write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, undone := on.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			err = errors.Join(err, ignoreBad(undone))
		}
		err = errors.Join(err, ignoreBad(on.Close()))
	}()
	if _, err := on.ExecContext(ctx, fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = %d", patience.Milliseconds())); err != nil {
		return err
	}
	for _, m := range all {
		tables, err := m.onServer(ctx, on)
		if err != nil {
			return err
		}
		for i, t := range tables {
			tables[i] = m.Server.server.schema + "." + t
		}
		if _, err := on.ExecContext(ctx, "LOCK TABLE "+strings.Join(tables, ", ")+" IN EXCLUSIVE MODE"); err != nil {
			if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == lockNotAvailable {
				err = ErrHeld
			}
			return fmt.Errorf("lock %s: %w", m.Server.path, err)
		}
	}
	var nodes int
	const seen = "SELECT count(*) FROM %s.nodes WHERE seen_at > extract(epoch FROM clock_timestamp()) * 1000 - ?"
	if err := on.QueryRowContext(ctx, fmt.Sprintf(seen, all[0].Server.server.schema), patience.Milliseconds()).Scan(&nodes); err != nil {
		return err
	}
	if nodes > 0 {
		return fmt.Errorf("%w: %d nodes were seen on %s in ten seconds\n  try: stop them first", ErrHeld, nodes, all[0].Server.path)
	}
	if err := act(on); err != nil {
		return err
	}
	_, err = on.ExecContext(ctx, "COMMIT")
	return err
}

// ignoreBad drops the error of a connection that is gone, which ends its transaction too.
func ignoreBad(err error) error {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// onServer are the tables on the server, each after those that it refers to.
func (m *Move) onServer(ctx context.Context, on *sql.Conn) (tables []string, err error) {
	type reference struct{ from, to string }
	read := func(rows *sql.Rows) (r reference, err error) { return r, rows.Scan(&r.from, &r.to) }
	open, err := Query(ctx, on, read, `SELECT t.relname, coalesce(other.relname, '') FROM pg_class AS t
		LEFT JOIN pg_constraint AS c ON c.conrelid = t.oid AND c.contype = 'f' AND c.confrelid <> t.oid
		LEFT JOIN pg_class AS other ON other.oid = c.confrelid
		WHERE t.relnamespace = to_regnamespace(?) AND t.relkind = 'r' AND t.relname <> '`+ledger+`' ORDER BY 1`, m.Server.server.schema)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	for len(open) > 0 {
		waits := func(table string) bool {
			return slices.ContainsFunc(open, func(r reference) bool {
				return r.from == table && slices.ContainsFunc(open, func(o reference) bool { return o.from == r.to })
			})
		}
		i := slices.IndexFunc(open, func(r reference) bool { return !waits(r.from) })
		if i < 0 {
			return nil, fmt.Errorf("the tables of %s refer to each other in a circle", m.Name)
		}
		next := open[i].from
		tables = append(tables, next)
		open = slices.DeleteFunc(open, func(r reference) bool { return r.from == next })
	}
	return tables, nil
}

// empty fails with ErrNotEmpty where a table on the server has rows that might be moved.
func (m *Move) empty(ctx context.Context, on *sql.Conn) error {
	tables, err := m.onServer(ctx, on)
	if err != nil {
		return err
	}
	for _, t := range tables {
		var some bool
		if slices.Contains(m.Apart, t) {
			continue
		}
		ask := fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s.%s)", m.Server.server.schema, t)
		if err := on.QueryRowContext(ctx, ask).Scan(&some); err != nil {
			return err
		}
		if some {
			return fmt.Errorf("%w: there are rows in %s of %s", ErrNotEmpty, t, m.Server.path)
		}
	}
	return nil
}

// shared are the tables that both have, each after those that it refers to.
func (m *Move) shared(ctx context.Context, on *sql.Conn) ([]string, error) {
	server, err := m.onServer(ctx, on)
	if err != nil {
		return nil, err
	}
	file, err := Query(ctx, m.File, func(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) },
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '"+ledger+"'")
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	for _, list := range [][2][]string{{server, file}, {file, server}} {
		for _, t := range list[0] {
			if !slices.Contains(list[1], t) && !slices.Contains(m.Apart, t) {
				return nil, fmt.Errorf("only one of the two databases has a table %s", t)
			}
		}
	}
	return slices.DeleteFunc(server, func(t string) bool { return slices.Contains(m.Apart, t) }), nil
}

// columns are those of a table, which both sides have to have.
func (m *Move) columns(ctx context.Context, on *sql.Conn, table string) ([]string, error) {
	name := func(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) }
	file, err := Query(ctx, m.File, name, "SELECT name FROM pragma_table_info(?) ORDER BY name", table)
	if err != nil {
		return nil, fmt.Errorf("list columns of %s: %w", table, err)
	}
	server, err := Query(ctx, on, name, `SELECT attname::text FROM pg_attribute
		WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped ORDER BY attname::text COLLATE "C"`, m.Server.server.schema+"."+table)
	if err != nil {
		return nil, fmt.Errorf("list columns of %s: %w", table, err)
	}
	if !slices.Equal(file, server) {
		return nil, fmt.Errorf("the columns of %s are %q in SQLite and %q in PostgreSQL", table, file, server)
	}
	return file, nil
}

// carry moves the rows of every table between the file and the server, reads each table back where they went, and has new rows numbered on
// from there.
func (m *Move) carry(ctx context.Context, on *sql.Conn, toServer bool) error {
	tables, err := m.shared(ctx, on)
	if err != nil {
		return err
	}
	for _, t := range tables {
		columns, err := m.columns(ctx, on, t)
		if err != nil {
			return err
		}
		from, source, to, target := Querier(m.File), t, Querier(on), m.Server.server.schema+"."+t
		put, number := m.copyIn, m.goOn
		if !toServer {
			from, source, to, target, put, number = to, target, from, source, m.fill, m.goOnInFile
		}
		rows, err := openTable(ctx, from, source, columns)
		if err != nil {
			return err
		}
		if err := errors.Join(put(ctx, on, t, columns, rows), rows.Close()); err != nil {
			return fmt.Errorf("table %s: %w", t, err)
		}
		rows.Table = t
		if err := m.same(ctx, to, target, columns, rows.TableSum); err != nil {
			return err
		}
		if err := number(ctx, on, t); err != nil {
			return fmt.Errorf("table %s: %w", t, err)
		}
	}
	return nil
}

// fromServer moves the rows of the server into the file.
func (m *Move) fromServer(ctx context.Context, on *sql.Conn) error {
	if _, err := m.File.ExecContext(ctx, "PRAGMA foreign_keys = 0; BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := m.carry(ctx, on, false); err != nil {
		return err
	}
	if _, err := m.File.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	problems, err := Problems(ctx, m.File)
	if err == nil && len(problems) > 0 {
		err = errors.New(problems[0])
	}
	return err
}

// copyIn writes rows into a table of the server.
func (m *Move) copyIn(ctx context.Context, on *sql.Conn, table string, columns []string, from *rowsOf) error {
	return on.Raw(func(c any) error {
		_, err := c.(*conn).Conn.Conn().CopyFrom(ctx, pgx.Identifier{m.Server.server.schema, table}, columns, pgx.CopyFromFunc(from.next))
		return err
	})
}

// fill writes rows into a table of the file.
func (m *Move) fill(ctx context.Context, _ *sql.Conn, table string, columns []string, from *rowsOf) error {
	insert, err := m.File.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(columns, ", "),
		strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")))
	if err != nil {
		return err
	}
	defer insert.Close()
	for {
		row, err := from.next()
		if row == nil || err != nil {
			return err
		}
		if _, err := insert.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
}

// same reads a table back and compares it with what was read elsewhere.
func (m *Move) same(ctx context.Context, db Querier, table string, columns []string, want TableSum) error {
	back, err := openTable(ctx, db, table, columns)
	if err != nil {
		return err
	}
	for {
		row, err := back.next()
		if err != nil {
			return errors.Join(err, back.Close())
		}
		if row == nil {
			break
		}
	}
	if err := back.Close(); err != nil {
		return err
	}
	if back.Count != want.Count || back.sum != want.sum {
		return fmt.Errorf("table %s reads back with %d rows that are not the %d that were moved", table, back.Count, want.Count)
	}
	m.Moved = append(m.Moved, want)
	return nil
}

// numbered is the id column of the tables that number their rows.
const numbered = "id"

// goOn has the server number new rows of a table after those that the file has ever numbered.
func (m *Move) goOn(ctx context.Context, on *sql.Conn, table string) error {
	var sequence sql.NullString
	err := on.QueryRowContext(ctx, `SELECT pg_get_serial_sequence(?, attname) FROM pg_attribute
		WHERE attrelid = to_regclass(?1) AND attname = '`+numbered+`'`, m.Server.server.schema+"."+table).Scan(&sequence)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !sequence.Valid {
		return nil
	}
	var last int64
	if err == nil {
		last, err = m.lastInFile(ctx, table)
	}
	if err == nil && last > 0 {
		_, err = on.ExecContext(ctx, "SELECT setval(?::text::regclass, ?::bigint)", sequence.String, last)
	}
	return err
}

// lastInFile is the greatest number that a row of a table has in the file, or has had where that is remembered.
func (m *Move) lastInFile(ctx context.Context, table string) (last int64, err error) {
	remembers, err := m.remembers(ctx, table)
	if err != nil {
		return 0, err
	}
	text := fmt.Sprintf("SELECT coalesce(max(%s), 0) FROM %s", numbered, table)
	if remembers {
		text = fmt.Sprintf("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '%s'", table)
	}
	err = m.File.QueryRowContext(ctx, text).Scan(&last)
	return last, err
}

// remembers reports whether the file remembers the numbers of rows of a table that are gone.
func (m *Move) remembers(ctx context.Context, table string) (does bool, err error) {
	err = m.File.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE '%AUTOINCREMENT%')", table).
		Scan(&does)
	return does, err
}

// goOnInFile is goOn in the file, for the tables where it remembers numbers.
func (m *Move) goOnInFile(ctx context.Context, on *sql.Conn, table string) error {
	remembers, err := m.remembers(ctx, table)
	if err != nil || !remembers {
		return err
	}
	var last int64
	if err := on.QueryRowContext(ctx, fmt.Sprintf("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM %s.%s_%s_seq",
		m.Server.server.schema, table, numbered)).Scan(&last); err != nil {
		return err
	}
	if _, err := m.File.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = ?", table); err != nil {
		return err
	}
	_, err = m.File.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, last)
	return err
}

// rowsOf reads a table and sums it up.
type rowsOf struct {
	*sql.Rows
	TableSum

	row  []any
	into []any
}

func openTable(ctx context.Context, db Querier, table string, columns []string) (*rowsOf, error) {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s", strings.Join(columns, ", "), table))
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", table, err)
	}
	r := &rowsOf{Rows: rows, TableSum: TableSum{Table: table}, row: make([]any, len(columns)), into: make([]any, len(columns))}
	for i := range r.row {
		r.into[i] = &r.row[i]
	}
	return r, nil
}

// next is the next row, nil after the last one. It holds until the one after it is asked for.
func (r *rowsOf) next() ([]any, error) {
	if !r.Next() {
		return nil, r.Err()
	}
	if err := r.Scan(r.into...); err != nil {
		return nil, err
	}
	var text []byte
	for _, v := range r.row {
		switch v := v.(type) {
		case nil:
			text = append(text, 0)
		case int64:
			text = binary.BigEndian.AppendUint64(append(text, 1), uint64(v))
		case string:
			text = append(binary.BigEndian.AppendUint64(append(text, 2), uint64(len(v))), v...)
		case []byte:
			text = append(binary.BigEndian.AppendUint64(append(text, 3), uint64(len(v))), v...)
		default:
			return nil, fmt.Errorf("a value of %s is a %T", r.Table, v)
		}
	}
	digest := sha256.Sum256(text)
	for i := range r.sum {
		r.sum[i] += binary.BigEndian.Uint64(digest[8*i:])
	}
	r.Count++
	return r.row, nil
}

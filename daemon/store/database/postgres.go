package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// IsURL reports whether a place names a PostgreSQL database; else it is a path.
func IsURL(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// CheckURL says what is wrong with the URL of a PostgreSQL database. No error of this package shows what such a URL holds.
func CheckURL(place string) error {
	_, err := parseURL(place, "contextd")
	return err
}

// Host is where the URL of a database leads, without what is secret in it: host, port and database.
func Host(place string) string {
	cfg, err := parseURL(place, "contextd")
	if err != nil {
		return "PostgreSQL"
	}
	return fmt.Sprintf("%s:%d/%s", cfg.Host, cfg.Port, cfg.Database)
}

// schemaName is what may be a schema: it needs no quotes, and leaves room for a suffix.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,40}$`)

// server is what a DB on PostgreSQL has more.
type server struct {
	schema string
	notify string // channel on which all databases of the URL tell what is new
	lock   int64  // number of the advisory lock under which transactions write, one after the other
	batch  *sql.DB
	beats  *sql.DB       // of who leads, and of the nodes
	turns  *sql.DB       // one connection for each Turn
	silent time.Duration // turnLasts, but for tests
}

type settings struct {
	*pgx.ConnConfig
	schema string
	first  string // schema of the first database
}

// parseURL reads the URL of a database, of which the tables are in a schema: that which the parameter "schema" names, or contextd, with a
// suffix for all databases but the first.
func parseURL(place, name string) (settings, error) {
	wrong := func(what string) error {
		return fmt.Errorf("the URL of the database is wrong: %s; it is like postgres://user@host/database", what)
	}
	u, err := url.Parse(place)
	if err != nil || !IsURL(place) { // what the parser says would show the password
		return settings{}, wrong("it cannot be read")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return settings{}, wrong("its parameters cannot be read")
	}
	schema := query.Get("schema")
	if schema == "" {
		schema = "contextd"
	}
	if !schemaName.MatchString(schema) {
		return settings{}, wrong("a schema has at most 41 small letters, digits and _")
	}
	query.Del("schema")
	u.RawQuery = query.Encode()
	cfg, err := pgx.ParseConfig(u.String())
	if err != nil {
		return settings{}, wrong("it is not one of PostgreSQL, or a file that it names cannot be read")
	}
	first := schema
	if name != "contextd" {
		schema += "_" + name
	}
	cfg.RuntimeParams["application_name"] = "contextd"
	cfg.ConnectTimeout, cfg.DialFunc = patience, dial
	return settings{cfg, schema, first}, nil
}

// ErrHeld is in the chain of the error for what needs a database on which no daemon works.
var ErrHeld = errors.New("another contextd works on the database")

const lockNotAvailable = "55P03" // of PostgreSQL's errors

const (
	writers  = 4 // of connections that write, of which all but one wait for their turn
	pgReads  = 8
	patience = 10 * time.Second // for a connection, and for what another holds
)

// openPostgres opens the database that place names, makes its schema where that is missing and brings it to the newest.
func openPostgres(ctx context.Context, place string, layout Layout, now time.Time) (*DB, error) {
	f, err := Connect(place, layout)
	if err != nil {
		return nil, err
	}
	if err := f.preparePostgres(ctx, layout, now); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", f.path, hide(err)), f.Close())
	}
	return f, nil
}

// openPostgresRead opens the database for reading alone, where its schema is the newest.
func openPostgresRead(ctx context.Context, place string, layout Layout) (*DB, error) {
	f, err := Connect(place, layout)
	if err != nil {
		return nil, err
	}
	names, err := scriptNames(layout.Postgres)
	if err == nil {
		err = f.Private(ctx)
	}
	if err == nil {
		var have int
		if have, err = f.version(ctx); err == nil {
			err = compare(have, len(names))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", f.path, hide(err)), f.Close())
	}
	return f, nil
}

// Connect makes the pools of a database, whatever is in it. They connect when they are used.
func Connect(place string, layout Layout) (*DB, error) {
	cfg, err := parseURL(place, layout.Name)
	if err != nil {
		return nil, err
	}
	hash := fnv.New64a()
	hash.Write([]byte("contextd " + cfg.schema))
	s := &server{schema: cfg.schema, notify: cfg.first, lock: int64(hash.Sum64()), silent: turnLasts}
	f, words := &DB{path: Host(place), server: s}, new(dialect)
	known := &contact{dial: cfg.DialFunc, greet: cfg.Copy(), now: time.Now}
	cfg.DialFunc, known.greet.DialFunc = known.listening, known.hearing
	for _, p := range []struct {
		into **sql.DB
		size int
		more string
	}{
		{&f.Write, writers, ""}, {&f.Read, pgReads, ""}, {&s.turns, 0, ""},
		{&s.batch, 3, "; SET idle_in_transaction_session_timeout TO '10s'; SET lock_timeout TO '10s'"},
		{&s.beats, 2, "; SET statement_timeout TO 1500"},
	} {
		// Not as a parameter of the connection, which a pooler before the database would refuse.
		to := stdlib.GetConnector(*cfg.ConnConfig, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "SET search_path TO "+cfg.schema+p.more)
			return err
		}))
		*p.into = sql.OpenDB(connector{to, s.lock, words, known})
		(*p.into).SetMaxOpenConns(p.size)
		(*p.into).SetMaxIdleConns(p.size)
		(*p.into).SetConnMaxIdleTime(5 * time.Minute)
	}
	return f, nil
}

// dial connects to a server, of which nothing is heard any more where a cable is cut: neither may that take long.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: patience / 2, Interval: patience / 10, Count: 5}}
	d.Control = func(network, _ string, c syscall.RawConn) (err error) {
		if runtime.GOOS != "linux" || !strings.HasPrefix(network, "tcp") {
			return nil
		}
		const userTimeout = 0x12 // TCP_USER_TIMEOUT
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(patience.Milliseconds()))
		}), err)
	}
	return d.DialContext(ctx, network, address)
}

// hide takes from an error of a connection what names the user: who reads the log need not know.
func hide(err error) error {
	var failed *pgconn.ConnectError
	if !errors.As(err, &failed) {
		return err
	}
	if cause := failed.Unwrap(); cause != nil {
		err = cause
	}
	return fmt.Errorf("connect to PostgreSQL: %w", err)
}

// preparePostgres checks that commits are durable, and migrates, which one process at a time does.
func (f *DB) preparePostgres(ctx context.Context, layout Layout, now time.Time) error {
	if err := f.Private(ctx); err != nil {
		return err
	}
	var version int
	var durable, encoding string
	if err := f.Read.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::bigint, current_setting('synchronous_commit'),
		current_setting('server_encoding')`).Scan(&version, &durable, &encoding); err != nil {
		return err
	}
	switch {
	case version < 130000:
		return fmt.Errorf("PostgreSQL is of version %d: 13 is the oldest that works", version/10000)
	case durable == "off":
		return errors.New("synchronous_commit is off: commits would not be durable")
	case encoding != "UTF8":
		return fmt.Errorf("the database is in the encoding %s: make one in UTF8", encoding)
	}
	var there bool
	if err := f.Read.QueryRowContext(ctx, "SELECT to_regnamespace(?) IS NOT NULL", f.server.schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		if err := f.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+f.server.schema); err != nil {
			return err
		}
	}
	return f.migrate(ctx, layout.Postgres, now)
}

// connector makes connections that take the store's words.
type connector struct {
	driver.Connector
	lock    int64
	words   *dialect
	contact *contact
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{made.(*stdlib.Conn), c.lock, c.words, c.contact}, nil
}

// conn is a connection whose statements have ? in place of $1, as SQLite's.
type conn struct {
	*stdlib.Conn
	lock    int64
	words   *dialect
	contact *contact
}

func (c *conn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	st, err := c.Conn.PrepareContext(ctx, c.words.numbered(text))
	return st, c.mark(ctx, err)
}

func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	res, err := c.Conn.ExecContext(ctx, c.words.numbered(text), args)
	return res, c.mark(ctx, err)
}

func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	found, err := c.Conn.QueryContext(ctx, c.words.numbered(text), args)
	if err != nil {
		return nil, c.mark(ctx, err)
	}
	return rows{found.(*stdlib.Rows), c, ctx}, nil
}

// CheckNamedValue makes of a value what SQLite would be given: a number of a truth, and the kind of a type of ours.
func (c *conn) CheckNamedValue(v *driver.NamedValue) (err error) {
	switch v.Value.(type) {
	case []string, []int64: // whole columns
		return nil
	}
	if v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value); err != nil {
		return err
	}
	if truth, ok := v.Value.(bool); ok {
		v.Value = int64(0)
		if truth {
			v.Value = int64(1)
		}
	}
	return nil
}

// BeginTx begins a transaction that writes. Such follow one another, as they do in SQLite, whichever process they are of: what an act has
// read is so until it ends. What holds the lock and hangs is ended by the server. One that reads alone sees the database as of one moment,
// and waits for nobody.
func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if c.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	if options.ReadOnly {
		_, err := c.Conn.Conn().PgConn().Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").ReadAll()
		if pgconn.SafeToRetry(err) {
			err = driver.ErrBadConn
		}
		return transaction{ctx, c, ""}, c.mark(ctx, err)
	}
	begin := fmt.Sprintf("BEGIN; SELECT %s, pg_advisory_xact_lock(%d)", opening, c.lock)
	results, err := c.Conn.Conn().PgConn().Exec(ctx, begin).ReadAll()
	if err != nil {
		if pgconn.SafeToRetry(err) {
			return nil, driver.ErrBadConn
		}
		if !c.Conn.Conn().IsClosed() { // it has begun, and waited in vain
			err = errors.Join(err, c.end(ctx, "ROLLBACK", ""))
		}
		return nil, c.mark(ctx, err)
	}
	return transaction{ctx, c, string(results[1].Rows[0][0])}, nil
}

// opening is what a transaction says first: its number, by which what has become of it can be asked for, and bounds, of patience, for who
// hangs.
const opening = "pg_current_xact_id()::text, set_config('idle_in_transaction_session_timeout', '10s', true), " +
	"set_config('lock_timeout', '10s', true)"

type transaction struct {
	ctx  context.Context // of its begin
	conn *conn
	id   string
}

func (t transaction) Commit() error   { return t.conn.end(t.ctx, "COMMIT", t.id) }
func (t transaction) Rollback() error { return t.conn.end(t.ctx, "ROLLBACK", "") }

// end ends a transaction even if its caller has left: its outcome would be unknown otherwise. It fails with an *unknown where that is so.
func (c *conn) end(ctx context.Context, how, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	results, err := c.Conn.Conn().PgConn().Exec(ctx, how).ReadAll()
	if err == nil && results[0].CommandTag.String() != how {
		return pgx.ErrTxCommitRollback
	}
	return c.unsure(ctx, id, err)
}

// unsure marks the error of what was to end the transaction id, as an *unknown where it may have been committed; "" is one that is not.
func (c *conn) unsure(ctx context.Context, id string, err error) error {
	var refused *pgconn.PgError
	if err != nil && id != "" && (!errors.As(err, &refused) || refused.Code[:2] == "57") { // an operator has ended it, or a crash
		return &unknown{id, c.mark(ctx, err)}
	}
	return c.mark(ctx, err)
}

// unknown is the error of a commit without an answer.
type unknown struct {
	id string
	error
}

func (u *unknown) Unwrap() error { return u.error }

// dialect numbers statements, each once. There are as many as the store has.
type dialect struct{ known sync.Map } // of string to string

// numbered is a statement with $1 in place of ?1, and with numbers in place of ?.
func (d *dialect) numbered(text string) string {
	if known, ok := d.known.Load(text); ok {
		return known.(string)
	}
	var b strings.Builder
	n := 0
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case c != '?' || quoted:
			b.WriteByte(c)
		case i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9':
			b.WriteByte('$')
		default:
			n++
			fmt.Fprintf(&b, "$%d", n)
		}
	}
	d.known.Store(text, b.String())
	return b.String()
}

// OnServer reports whether the database is PostgreSQL, which has Group.
func (f *DB) OnServer() bool { return f.server != nil }

// Statement is one with its values.
type Statement struct {
	Text string
	Args []any
}

// Group asks for statements when it has begun, runs them and commits, unless one fails. It may run beside others of its kind, which lock
// the rows that they change, and beside no Tx. What another has committed before a statement begins is seen by that.
func (f *DB) Group(ctx context.Context, statements func() []Statement) error {
	on, err := f.server.batch.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err = errors.Join(on.Raw(func(c any) error { return c.(*conn).group(ctx, statements) }), on.Close())
	if lost := new(unknown); errors.As(err, &lost) {
		err = f.resolve(ctx, lost)
	}
	return err
}

// group is Group. The commit goes with the statements, so that no row is locked for the time of a way to the server and back; for the case
// that its answer is lost, the number of the transaction has come before.
func (c *conn) group(ctx context.Context, statements func() []Statement) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience) // longer than a lock may be waited for
	defer cancel()
	var id string
	var begin, all pgx.Batch
	begin.Queue("BEGIN")
	begin.Queue("SELECT pg_current_xact_id()::text, pg_advisory_xact_lock_shared($1)::text", c.lock).QueryRow(func(row pgx.Row) error {
		return row.Scan(&id, nil)
	})
	err := c.mark(ctx, c.Conn.Conn().SendBatch(ctx, &begin).Close())
	if err == nil {
		for _, s := range statements() {
			all.Queue(c.words.numbered(s.Text), s.Args...)
		}
		all.Queue("COMMIT")
		err = c.unsure(ctx, id, c.Conn.Conn().SendBatch(ctx, &all).Close())
	}
	if err != nil && !c.Conn.Conn().IsClosed() {
		err = errors.Join(err, c.end(ctx, "ROLLBACK", ""))
	}
	return err
}

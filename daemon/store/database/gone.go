package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Bounds of a server that says nothing. Who waits for it longer than both is told that it is gone.
const (
	silentFor  = 300 * time.Millisecond // an answer takes, before anybody asks whether the server is there at all
	greetsIn   = 700 * time.Millisecond // that one is heard of, on whichever connection
	connectsIn = silentFor + greetsIn   // to a host, before anything is said
	retriesIn  = 500 * time.Millisecond // after a failure, until somebody tries again to connect
	settlesIn  = 2 * time.Second        // after a commit without an answer, what has become of it is told
)

// errGone is what those hear at once who need a connection while another caller tries to make one, after the last try has failed.
var errGone = errors.New("PostgreSQL does not answer")

// gone is the error of a connection that was lost, or could not be made.
type gone struct{ error }

func (g gone) Unwrap() error { return g.error }

// Unavailable tells those that answer calls that the cause is neither theirs nor the caller's, and passes.
func (gone) Unavailable() bool { return true }

// contact is what is known of whether a server answers. It is shared by the connections of a DB.
type contact struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	greet *pgx.ConnConfig  // of the connection that finds out
	now   func() time.Time // with a monotonic part

	heard  atomic.Int64              // number of reads in which something came
	lost   atomic.Pointer[time.Time] // when it was last asked in vain; nil where it has said something since
	trying atomic.Bool               // somebody connects although it is lost

	mu  sync.Mutex // guards ask
	ask *asked     // that goes on; nil for none
}

// asked is a question to a server for whether it is there.
type asked struct {
	done  chan struct{}
	there bool // set before done is closed
}

// answers finds out whether the server is there; those who ask at the same time share what one of them finds.
func (c *contact) answers(ctx context.Context) bool {
	c.mu.Lock()
	a := c.ask
	if a != nil {
		c.mu.Unlock()
		<-a.done
		return a.there
	}
	a = &asked{done: make(chan struct{})}
	c.ask = a
	c.mu.Unlock()
	before := c.heard.Load()
	ctx, cancel := context.WithTimeout(ctx, greetsIn)
	defer cancel()
	if made, err := pgx.ConnectConfig(ctx, c.greet); err == nil {
		_ = made.Close(ctx)
	}
	a.there = c.heard.Load() != before // whatever it said, even that it starts or has no room
	if !a.there {
		c.lose()
	}
	c.mu.Lock()
	c.ask = nil
	c.mu.Unlock()
	close(a.done)
	return a.there
}

// lose notes that the server was asked in vain.
func (c *contact) lose() {
	now := c.now()
	c.lost.Store(&now)
}

// listening is dial for connections on which the server may not be silent when there is something to say.
func (c *contact) listening(ctx context.Context, network, address string) (net.Conn, error) {
	made, err := c.hearing(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &line{made, c, context.WithoutCancel(ctx)}, nil
}

// hearing is dial for connections that note what they hear.
func (c *contact) hearing(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectsIn)
	defer cancel()
	made, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &ear{made, c}, nil
}

// ear is a connection that notes what it hears.
type ear struct {
	net.Conn
	contact *contact
}

func (e *ear) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	if n > 0 {
		e.contact.heard.Add(1)
		if e.contact.lost.Load() != nil {
			e.contact.lost.Store(nil)
		}
	}
	return n, err
}

// line is an ear that is closed where it hears nothing from a server that is not there. One that works for long is.
type line struct {
	net.Conn
	contact *contact
	ctx     context.Context // of who asks whether it is
}

func (l *line) Read(b []byte) (int, error) {
	var over atomic.Bool
	var look func()
	look = func() {
		switch {
		case over.Load():
		case l.contact.answers(l.ctx):
			time.AfterFunc(time.Second, look)
		case !over.Load():
			_ = l.Conn.Close()
		}
	}
	watch := time.AfterFunc(silentFor, look)
	n, err := l.Conn.Read(b)
	over.Store(true)
	watch.Stop()
	return n, err
}

// connect makes a connection. While the server is lost, one caller at a time tries, and the others fail at once.
func (c connector) connect(ctx context.Context) (driver.Conn, error) {
	if since := c.contact.lost.Load(); since != nil {
		if c.contact.now().Sub(*since) < retriesIn || !c.contact.trying.CompareAndSwap(false, true) {
			return nil, gone{errGone}
		}
		defer c.contact.trying.Store(false)
	}
	before := c.contact.heard.Load()
	made, err := c.Connector.Connect(ctx)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return made, hide(err)
	}
	if c.contact.heard.Load() == before {
		c.contact.lose()
	}
	var refused *pgconn.PgError
	if err = hide(err); errors.As(err, &refused) && !passes(refused.Code) {
		return nil, err
	}
	return nil, gone{err}
}

// passes reports whether a server that refuses something with a code may do it later: it stops, starts, or has no connection left.
func passes(code string) bool {
	return len(code) == 5 && code[:2] == "08" || slices.Contains([]string{"57P01", "57P02", "57P03", "53300"}, code)
}

// mark marks the error of a connection that was lost. Who has left has lost it themselves.
func (c *conn) mark(ctx context.Context, err error) error {
	var refused *pgconn.PgError
	switch {
	case err == nil || errors.Is(ctx.Err(), context.Canceled):
		return err
	case c.Conn.Conn().IsClosed(), errors.As(err, &refused) && passes(refused.Code):
		return gone{err}
	}
	return err
}

// ResetSession drops a connection that waits for work, where the server is lost: who would use it need not find out again.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.contact.lost.Load() != nil {
		return driver.ErrBadConn
	}
	return c.Conn.ResetSession(ctx)
}

// rows are those of a query on a conn.
type rows struct {
	*stdlib.Rows
	conn *conn
	ctx  context.Context // of the query
}

func (r rows) Next(to []driver.Value) error {
	err := r.Rows.Next(to)
	if err == nil || !r.conn.Conn.Conn().IsClosed() {
		return err
	}
	return r.conn.mark(r.ctx, err)
}

// Unsettled is in the chain of the error for a transaction of which could not be told in time whether it was committed.
type Unsettled struct {
	db *DB
	id string
	error
}

// Unwrap is why it could not be told.
func (u *Unsettled) Unwrap() error { return u.error }

// Committed reports whether it was, as soon as that can be told, or fails when ctx is done.
func (u *Unsettled) Committed(ctx context.Context) (bool, error) { return u.db.committed(ctx, u.id) }

// resolve says what has become of a transaction, if that can be told before who waits for it has to be answered.
func (f *DB) resolve(ctx context.Context, u *unknown) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlesIn)
	defer cancel()
	switch committed, err := f.committed(ctx, u.id); {
	case err != nil:
		return &Unsettled{f, u.id, errors.Join(u.error, err)}
	case committed:
		return nil
	}
	return u.error
}

// committed reports what has become of a transaction, as soon as that can be told.
func (f *DB) committed(ctx context.Context, id string) (bool, error) {
	for {
		var status sql.NullString
		err := f.Read.QueryRowContext(ctx, "SELECT pg_xact_status(?::text::xid8)", id).Scan(&status)
		if err == nil && status.String != "in progress" {
			return status.String == "committed", nil
		}
		select {
		case <-ctx.Done():
			return false, errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

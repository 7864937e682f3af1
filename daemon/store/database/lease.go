package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// LeaseLasts is how long a lease lasts from a beat, by the clock of the database, until others may take it.
const LeaseLasts = 5 * time.Second

const (
	leaseHolds = 4 * time.Second // from when a beat was sent, by the clock of its holder, until that no longer leads
	beatWithin = 2 * time.Second // a beat is answered, or another is sent
)

// BeatEvery is how often the holder of a lease has to Beat, and others may try to Take it.
const BeatEvery = time.Second

// ErrFenced is in the chain of the error for a write that only the leader may do, on a node that does not lead or leads no longer. Nothing
// of it is written.
var ErrFenced = errors.New("this node does not lead")

// Lease is one node's part in who leads: the row of the table leader, of which all times are the database's. Its epoch counts the takeovers
// and goes with each write of a leader, so that one that was paused, or cut off, can write nothing once another leads. It is safe for
// concurrent use. Nil is the Lease of SQLite, whose only node leads.
type Lease struct {
	db    *DB
	node  string
	now   func() time.Time // with a monotonic part
	clock string           // SQL: the time of the database in milliseconds

	mu    sync.Mutex         // guards what follows
	epoch int64              // 0 while this node does not lead
	sent  time.Time          // the last beat that was answered
	end   context.CancelFunc // of the term
	late  *time.Timer        // that ends it where no beat is answered
}

// Lease makes node one of those of the database, nil on SQLite. What only the leader may write is from now on refused to it until it leads.
func (f *DB) Lease(node string) *Lease {
	if f.server == nil {
		return nil
	}
	f.lease = &Lease{db: f, node: node, now: time.Now, clock: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"}
	return f.lease
}

// Use lets l, of another database of the same server, decide about this one too.
func (f *DB) Use(l *Lease) { f.lease = l }

// Take tries to lead, where nobody does, and returns a context that ends when this node no longer leads; nil while another does. It waits
// for writes of the one that led. What this node did in a term before has ended. Where the answer to a Take was lost, the next one has it.
func (l *Lease) Take(ctx context.Context) (term context.Context, err error) {
	bound, cancel := context.WithTimeout(ctx, beatWithin)
	defer cancel()
	sent := l.now()
	var epoch int64
	// An update alone would not wait for who holds the row in hold, nor may beats do so. A clock that was set back makes no lease last.
	err = l.db.server.beats.QueryRowContext(bound, fmt.Sprintf(`UPDATE leader
		SET epoch = leader.epoch + 1, node = ?, beat_at = %[1]s, since = %[1]s
		FROM (SELECT one FROM leader WHERE node IN ('', ?) OR abs(%[1]s - beat_at) > ? FOR UPDATE) AS free
		WHERE leader.one = free.one RETURNING leader.epoch`, l.clock), l.node, l.node, LeaseLasts.Milliseconds()).Scan(&epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take the lease: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose()
	l.epoch, l.sent = epoch, sent
	term, l.end = context.WithCancel(context.WithoutCancel(ctx))
	l.late = time.AfterFunc(leaseHolds-l.now().Sub(sent), func() { l.Leads() })
	return term, nil
}

// Beat keeps the lease, or fails with ErrFenced where another has it. Any other failure ends the term only when it lasts.
func (l *Lease) Beat(ctx context.Context) error {
	epoch, sent := l.Epoch(), l.now()
	if epoch == 0 {
		return ErrFenced
	}
	ctx, cancel := context.WithTimeout(ctx, beatWithin)
	defer cancel()
	res, err := l.db.server.beats.ExecContext(ctx, "UPDATE leader SET beat_at = "+l.clock+" WHERE epoch = ?", epoch)
	var rows int64
	if err == nil {
		rows, err = res.RowsAffected()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		return fmt.Errorf("keep the lease: %w", err)
	case l.epoch != epoch:
		return ErrFenced
	case rows == 0:
		l.lose()
		return ErrFenced
	}
	l.sent = sent
	l.late.Reset(leaseHolds - l.now().Sub(sent))
	return nil
}

// Free gives the lease up, so that another need not wait for its end. What the leader does has ended before.
func (l *Lease) Free(ctx context.Context) error {
	l.mu.Lock()
	epoch := l.epoch
	l.lose()
	l.mu.Unlock()
	if epoch == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, beatWithin)
	defer cancel()
	if _, err := l.db.server.beats.ExecContext(ctx, "UPDATE leader SET node = '', beat_at = 0 WHERE epoch = ?", epoch); err != nil {
		return fmt.Errorf("give up the lease: %w", err)
	}
	return nil
}

// Epoch is that of the term in which this node leads, 0 while it does not.
func (l *Lease) Epoch() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// Leads reports whether this node leads, by its own clock: another leads, where that differs, at the earliest a second later.
func (l *Lease) Leads() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != 0 && l.now().Sub(l.sent) >= leaseHolds {
		l.lose()
	}
	return l.epoch != 0
}

// lose ends the term. The caller holds mu.
func (l *Lease) lose() {
	if l.epoch != 0 {
		l.epoch = 0
		l.end()
		l.late.Stop()
	}
}

// hold keeps others, until tx ends, from taking the lease, or fails with ErrFenced where one has done so. Who hangs then is ended by the
// server, sooner than in other transactions.
func (l *Lease) hold(ctx context.Context, tx *sql.Tx) error {
	epoch := l.Epoch()
	if epoch == 0 {
		return ErrFenced
	}
	var set string
	err := tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT set_config('idle_in_transaction_session_timeout', '%d', true) FROM %s.leader
		WHERE epoch = ? FOR KEY SHARE`, leaseHolds.Milliseconds(), l.db.server.schema), epoch).Scan(&set)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch == epoch {
		l.lose()
	}
	return ErrFenced
}

// TxLeading is Tx for what only the leader may write. It fails with ErrFenced on a node that has a Lease and does not lead.
func (f *DB) TxLeading(ctx context.Context, act func(*sql.Tx) error) error {
	return f.Tx(ctx, func(tx *sql.Tx) error {
		if err := f.Fence(ctx, tx); err != nil {
			return err
		}
		return act(tx)
	})
}

// ExecLeading is Exec for what only the leader may write.
func (f *DB) ExecLeading(ctx context.Context, text string, args ...any) error {
	return f.TxLeading(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	})
}

// Fence makes a transaction one of the leader, as TxLeading does from its beginning.
func (f *DB) Fence(ctx context.Context, tx *sql.Tx) error {
	if f.lease == nil {
		return nil
	}
	return f.lease.hold(ctx, tx)
}

// Beats is for small statements about the nodes, each of which commits by itself and waits for no Tx. It is nil on SQLite.
func (f *DB) Beats() *sql.DB {
	if f.server == nil {
		return nil
	}
	return f.server.beats
}

package database_test

import (
	"context"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
)

// TestTurn: one at a time has the turn of a name, others of other names; it ends with end, with its connection, or with silence, which is
// said to who had it. Who leaves while they wait has nothing.
func TestTurn(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	one, two := openServer(t, place, onServer()), openServer(t, place, onServer())
	take := func(f *database.DB, name string) (held func(context.Context) error, end func()) {
		t.Helper()
		held, end, err := f.Lock(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return held, end
	}
	held, end := take(one, "a")
	_, other := take(two, "b")
	other()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := two.Lock(ctx, "a"); err == nil {
		t.Error("two have the turn")
	}
	if err := two.Exec(t.Context(), "INSERT INTO numbers (n) VALUES (1)"); err != nil {
		t.Errorf("a transaction beside a turn: %v", err)
	}
	if err := held(t.Context()); err != nil {
		t.Errorf("a turn that is held: %v", err)
	}
	end()
	held, end = take(two, "a")
	if _, err := one.Read.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE state = 'idle in transaction' AND query LIKE 'SELECT pg_advisory_xact_lock($%'`); err != nil {
		t.Fatal(err)
	}
	_, next := take(one, "a")
	if err := held(t.Context()); err == nil {
		t.Error("who has lost the turn is not told")
	}
	next()
	end()
	one.SetTurnLasts(100 * time.Millisecond)
	held, end = take(one, "a")
	defer end()
	_, next = take(two, "a") // which the server gives it
	defer next()
	if err := held(t.Context()); err == nil {
		t.Error("who was silent for too long still has the turn")
	}
}

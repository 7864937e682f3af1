package history_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestUpgrade opens a history of every earlier schema: every state in it is read as it was written, its brief is there, and it goes on.
//
// testdata/schemaN.sql is what "sqlite3 history.db .dump" prints of a demo of the last contextd with schema N, with fewer rows: one block of
// states that another state follows, and a brief.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(scripts) < 2 {
		t.Fatalf("%d migrations, %v", len(scripts), err)
	}
	for n := 1; n < len(scripts); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			dir := testbed.Files(t)
			times := load(t, dir, fmt.Sprintf("testdata/schema%d.sql", n))
			for range 2 { // the second time there is nothing to upgrade
				goOn(t, dir, times)
			}
		})
	}
}

// load makes the history of dir from a dump, and returns the times of its states.
func load(t *testing.T, dir, dump string) (times []int64) {
	t.Helper()
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatalf("every earlier schema needs a history to upgrade from: %v", err)
	}
	db, err := sql.Open("sqlite3", filepath.Join(dir, history.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "PRAGMA journal_mode = WAL;"+string(text)); err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT generated_at FROM pulses ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var at int64
		if err := rows.Scan(&at); err != nil {
			t.Fatal(err)
		}
		times = append(times, at)
	}
	if rows.Err() != nil || len(times) < 3 {
		t.Fatalf("%d states, %v", len(times), rows.Err())
	}
	return times
}

// goOn opens a history, reads what is in it and adds a state and a brief.
func goOn(t *testing.T, dir string, times []int64) {
	t.Helper()
	h, err := history.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, at := range times {
		p, err := h.PulseBefore(t.Context(), api.PackCrypto, time.UnixMilli(at+1))
		if err != nil || p.GeneratedAt.UnixMilli() != at || !strings.Contains(string(p.State), `"top_movers"`) || len(p.Citations) == 0 {
			t.Errorf("the state of %d: %v of %v, %d citations", at, err, p.GeneratedAt, len(p.Citations))
		}
	}
	saved, err := h.OpenPack(t.Context(), api.PackCrypto, time.Now())
	if err != nil || saved.Damaged > 0 || saved.Pulse == nil || saved.Brief.Text == "" || saved.Brief.Writer == "" || len(saved.Sources) == 0 {
		t.Fatalf("%+v, %v", saved, err)
	}
	next := *saved.Pulse
	next.GeneratedAt = next.GeneratedAt.Add(time.Minute)
	if _, err := h.SavePulse(t.Context(), next, state.Brief{}, nil); err != nil {
		t.Fatal(err)
	}
	brief := state.Brief{Text: "All is well [1].", At: next.GeneratedAt, Of: next.GeneratedAt, Writer: "pen"}
	if _, err := h.SaveBrief(t.Context(), api.PackCrypto, brief); err != nil {
		t.Fatal(err)
	}
	if saved, err = h.OpenPack(t.Context(), api.PackCrypto, time.Now()); err != nil || saved.Brief.Text != brief.Text || !saved.Pulse.GeneratedAt.Equal(next.GeneratedAt) {
		t.Errorf("what was added is not there: %+v, %v", saved.Brief, err)
	}
}

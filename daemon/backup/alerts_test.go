package backup_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/state"
)

// alerts observes in the data directory dir that flags stand in the n-th state, and returns what is delivered of it.
func alerts(t *testing.T, dir string, n int, flags ...string) string {
	t.Helper()
	var told []string
	taken := make(chan string, 10)
	rule := alert.Rule{Name: "r", Pack: "crypto", Find: alert.Flags("", nil), Targets: []alert.Target{{
		Name: "r/webhook", Deliver: func(_ context.Context, e alert.Event) error { taken <- e.Message; return nil },
	}}}
	teller, err := alert.Open(alert.Config{Path: filepath.Join(dir, backup.AlertJournal), Rules: []alert.Rule{rule}})
	if err != nil {
		t.Fatal(err)
	}
	doc := `{"flags":[`
	for i, name := range flags {
		doc += strings.Repeat(",", min(i, 1)) + `{"id":"` + name + `","since":"2026-11-20T19:00:00Z","message":"` + name + `"}`
	}
	s := alert.State{Pack: "crypto", At: epoch().Add(time.Duration(n) * time.Second), Doc: state.Read([]byte(doc + "]}"))}
	events, err := teller.Observe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { teller.Run(ctx); close(ended) }()
	for range events {
		told = append(told, <-taken)
	}
	for pending := 1; pending > 0; pending, _ = teller.Pending() {
		time.Sleep(time.Millisecond)
	}
	stop()
	<-ended
	if err := teller.Close(); err != nil {
		t.Error(err)
	}
	return strings.Join(told, " ")
}

// TestAlertsAreRestored: what was told before the backup is told no more after a restore elsewhere, and in the same place what was told
// since is told no more either.
func TestAlertsAreRestored(t *testing.T) {
	t.Parallel()
	d := newData(t)
	if got := alerts(t, d.dir, 1, "a", "b"); got != "a b" {
		t.Fatalf("%q was told", got)
	}
	archive := backUp(t, d.dir)
	if got := alerts(t, d.dir, 2, "a", "b", "c"); got != "c" {
		t.Errorf("%q was told after the backup", got)
	}
	if got := alerts(t, restore(t, archive), 3, "a", "b", "d"); got != "d" {
		t.Errorf("%q was told after a restore elsewhere", got)
	}
	dir := restore(t, archive)
	if got := alerts(t, dir, 2, "a", "b", "c"); got != "c" {
		t.Errorf("%q was told after a restore", got)
	}
	lock, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := backup.Restore(t.Context(), bytes.NewReader(archive), dir, epoch(), func(backup.Unpacked) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := alerts(t, dir, 3, "a", "b", "c", "d"); got != "d" {
		t.Errorf("%q was told after a restore in the same place", got)
	}
}

package mail_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/mail"
)

// TestPruneOutbox: messages older than a time go, with both sides of it, and no other file does.
func TestPruneOutbox(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	box := &mail.Outbox{Dir: t.TempDir(), Now: func() time.Time { return now }}
	for range 3 {
		if err := box.Send(t.Context(), "ada@example.org", "s", "t"); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Millisecond)
	}
	for _, name := range []string{"notes.eml", "20200101T000000.000Z-old.txt"} {
		if err := os.WriteFile(filepath.Join(box.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := box.Prune(now.Add(-2 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(box.Dir); err != nil || len(left) != 4 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if err := (&mail.Outbox{Dir: filepath.Join(t.TempDir(), "none")}).Prune(now); err != nil {
		t.Errorf("without an outbox: %v", err)
	}
}

package alert_test

import (
	"os"
	"testing"

	"github.com/contextd/contextd/internal/alert"
)

// TestJournalIsSynced: a line counts once it is on the disk. A pipe takes it and has no disk.
func TestJournalIsSynced(t *testing.T) {
	t.Parallel()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	if err := alert.AppendTo(in); err == nil {
		t.Error("a line counts that is not on the disk")
	}
}

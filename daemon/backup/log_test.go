package backup_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/sdk/api"
)

// keyLogs gives the logs of d a key, as a daemon does.
func (d *data) keyLogs(seed string) {
	d.t.Helper()
	text := []byte(strings.Repeat(seed, 32) + "\n")
	key, err := translog.ParseKey(text)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, translog.KeyFile), text, 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := d.history.SignLogs(d.t.Context(), key.Public()); err != nil {
		d.t.Fatal(err)
	}
}

// TestRestoreBeginsNewLogs: what clients saw after the backup is in no log that goes on, so the log of the backup ends, and the first leaf of
// the next one names where. Its key comes along.
func TestRestoreBeginsNewLogs(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 5)
	d.keyLogs("0a")
	old, err := d.history.LogHead(t.Context(), "crypto")
	if err != nil || old.Size != 5 {
		t.Fatal(old, err)
	}
	archive := backUp(t, d.dir)
	d.writeAll(5, 8)
	dir := filepath.Join(t.TempDir(), "data")
	lock, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	var told []backup.LogStatus
	if _, err := backup.Restore(t.Context(), bytes.NewReader(archive), dir, epoch(), func(u backup.Unpacked) error {
		told = u.Logs
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || told[0].LogHead != old {
		t.Errorf("told of %+v", told)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	r := openData(t, dir)
	for range 2 { // a start, and the next
		if err := r.history.ResumeLogs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	newest, err := r.history.PulseBefore(t.Context(), "crypto", epoch().AddDate(1, 0, 0))
	if err != nil || newest.Proof.Log == old.Origin || newest.Proof.Seq != 0 || newest.Proof.Leaf == "" {
		t.Errorf("after a start the newest state is proven by %+v, %v", newest.Proof, err)
	}
	r.writeAll(5, 6)
	head, err := r.history.LogHead(t.Context(), "crypto")
	if err != nil || head.Origin == old.Origin || head.Size != 2 {
		t.Fatalf("after the restore the log is %+v, %v", head, err)
	}
	bundle, err := r.history.LogBundle(t.Context(), head.Origin, 0)
	if err != nil {
		t.Fatal(err)
	}
	list, err := translog.Entries(bundle)
	if err != nil {
		t.Fatal(err)
	}
	var first, second api.LogLeaf
	if err := json.Unmarshal(list[0], &first); err != nil || first.Previous == nil || *first.Previous != old {
		t.Errorf("the first leaf is %s, %v", list[0], err)
	}
	if err := json.Unmarshal(list[1], &second); err != nil || second.Previous != nil {
		t.Errorf("the second leaf is %s, %v", list[1], err)
	}
	if leaves, wrong, err := backup.VerifyLogs(t.Context(), dir); err != nil || len(wrong) > 0 || leaves != 7 {
		t.Errorf("%d leaves, %v, %v", leaves, wrong, err)
	}
}

// TestVerifyNamesTheKey: a key that is another, missing or none is named; of a log that nothing has signed there is nothing to say.
func TestVerifyNamesTheKey(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 3)
	path := filepath.Join(d.dir, translog.KeyFile)
	look := func(want string) {
		t.Helper()
		r, err := backup.Verify(t.Context(), d.dir)
		if err != nil || r.Leaves != 3 {
			t.Fatal(r, err)
		}
		if want == "" && len(r.Problems) > 0 || want != "" && (len(r.Problems) != 1 || !strings.Contains(r.Problems[0].String(), want)) {
			t.Errorf("found %v, want %q", r.Problems, want)
		}
	}
	look("")
	d.keyLogs("0a")
	look("")
	for text, want := range map[string]string{
		strings.Repeat("0b", 32): "log.key: it is not the key that the logs were signed with", "0a": "a key of logs has 1 bytes", "secret": "one line of hexadecimal",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		look(want)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look("log.key: it is missing")
}

package database_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/contextd/contextd/daemon/store/database"
)

// TestOpenRead: a database of this schema alone is read, and is not written to.
func TestOpenRead(t *testing.T) {
	t.Parallel()
	more := scripts()
	more["0002_second.sql"] = &fstest.MapFile{Data: []byte("INSERT INTO numbers (n) VALUES (2)")}
	for _, one := range []struct {
		made, known fstest.MapFS
		want        error
	}{{scripts(), scripts(), nil}, {more, scripts(), database.ErrNewer}, {scripts(), more, database.ErrOlder}, {nil, scripts(), fs.ErrNotExist}} {
		path := filepath.Join(t.TempDir(), "x.db")
		if one.made != nil {
			if err := open(t, path, one.made).Exec(t.Context(), "INSERT INTO numbers (n) VALUES (1)"); err != nil {
				t.Fatal(err)
			}
		}
		f, err := database.OpenRead(t.Context(), path, database.Layout{Scripts: one.known})
		if !errors.Is(err, one.want) {
			t.Errorf("opened a database of %d scripts with %d: %v, want %v", len(one.made), len(one.known), err, one.want)
		}
		if err != nil {
			continue
		}
		if got := numbers(t, f); len(got) != 1 {
			t.Errorf("read %v", got)
		}
		if _, err := f.Read.ExecContext(t.Context(), "INSERT INTO numbers (n) VALUES (3)"); err == nil || f.Write != nil {
			t.Errorf("wrote to a database that is read alone: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestVerify says what is damaged in a file, and fails where there is none.
func TestVerify(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "x.db")
	f := open(t, whole, scripts())
	if err := f.Exec(t.Context(), `INSERT INTO numbers (n)
		WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 5000) SELECT n FROM up`); err != nil {
		t.Fatal(err)
	}
	if trouble, err := database.Verify(t.Context(), whole); err != nil || trouble != "" {
		t.Errorf("a sound one that is open: %q, %v", trouble, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"a page of zeros": func(b []byte) []byte { clear(b[len(b)-8192:]); return b },
		"a page missing":  func(b []byte) []byte { return b[:len(b)-8192] },
		"no database":     func(b []byte) []byte { copy(b, "no database"); return b },
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, change(slices.Clone(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		if trouble, err := database.Verify(t.Context(), path); err != nil || trouble == "" {
			t.Errorf("%s: %q, %v", name, trouble, err)
		}
	}
	if trouble, err := database.Verify(t.Context(), filepath.Join(t.TempDir(), "x.db")); err == nil || trouble != "" {
		t.Errorf("none: %q, %v", trouble, err)
	}
}

// TestRefused are rows that a table does not take, and no other failure.
func TestRefused(t *testing.T) {
	t.Parallel()
	f := open(t, filepath.Join(t.TempDir(), "x.db"), scripts())
	for _, one := range []struct {
		statement string
		refused   bool
	}{
		{"INSERT INTO numbers (n) VALUES (1)", false}, {"INSERT INTO numbers (n) VALUES (1)", true},
		{"INSERT INTO numbers (n) VALUES (NULL)", true}, {"INSERT INTO numbers (n) VALUES ('x')", true},
		{"INSERT INTO others (n) VALUES (1)", false}, {"INSERT INTO", false},
	} {
		if err := f.Exec(t.Context(), one.statement); database.Refused(err) != one.refused {
			t.Errorf("%s: %v", one.statement, err)
		}
	}
}

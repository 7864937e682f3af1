package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
)

// seal is the Seal of 32 times a byte.
func seal(t *testing.T, b byte) store.Seal {
	t.Helper()
	s, err := store.NewSeal(bytes.Repeat([]byte{b}, store.SealSize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// node opens a store on a place, with a seal.
func node(t *testing.T, place string, with store.Seal) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), place, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.SealWith(with)
	return s
}

// TestSecrets: a secret is made once, by the first caller, and read with the key.
func TestSecrets(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	plain, mine, other := node(t, place, store.Seal{}), node(t, place, seal(t, 1)), node(t, place, seal(t, 2))
	var all sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		all.Go(func() {
			value, err := []*store.Store{plain, node(t, place, store.Seal{})}[i%2].Secret(t.Context(), "once", func() ([]byte, error) { return fmt.Append(nil, i), nil })
			if got[i] = string(value); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, v := range got {
		if v != got[0] || v == "" {
			t.Errorf("they have %q", got)
		}
	}
	never := func() ([]byte, error) { return nil, errors.New("it is made again") }
	read := func(s *store.Store, want, says string) {
		t.Helper()
		switch value, err := s.Secret(t.Context(), "once", never); {
		case says == "" && (err != nil || string(value) != want):
			t.Errorf("%q, %v; want %q", value, err, want)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says) || value != nil):
			t.Errorf("%q, %v; want %s", value, err, says)
		}
	}
	read(plain, got[0], "")
	read(mine, got[0], "") // which seals it
	read(plain, "", "set store.key_file")
	read(other, "", "another key than that in store.key_file")
	read(mine, got[0], "")
	if err := mine.SetSecret(t.Context(), "once", []byte("renewed")); err != nil {
		t.Fatal(err)
	}
	read(mine, "renewed", "")
	db := testbed.SQL(t, place, store.File)
	stored := func(change string) (value []byte) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRowContext(t.Context(), "SELECT value FROM secrets WHERE name = 'once'").Scan(&value); err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		return value
	}
	if bytes.Contains(stored("SELECT 1"), []byte("renewed")) {
		t.Error("it is in the database as it is")
	}
	if err := mine.SetSecret(t.Context(), "another", []byte("x")); err != nil {
		t.Fatal(err)
	}
	stored("UPDATE secrets SET value = (SELECT value FROM secrets WHERE name = 'another') WHERE name = 'once'")
	read(mine, "", "changed by somebody without the key") // one secret is not taken for another
	if _, err := store.NewSeal(make([]byte, store.SealSize-1)); err == nil {
		t.Error("a short key seals")
	}
}

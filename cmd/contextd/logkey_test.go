package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/translog"
)

// TestRenewSharedLogKey: the key of the logs of all nodes is renewed in the database, sealed as it was, and leaves no file.
func TestRenewSharedLogKey(t *testing.T) {
	t.Parallel()
	seal := []byte("0123456789abcdef0123456789abcdef")
	for _, key := range [][]byte{nil, seal} {
		cfg := dataConfig{Dir: t.TempDir(), StoreURL: testbed.Postgres(t), StoreKey: key, Now: time.Now}
		var seen []string
		for range 2 {
			c := newLog(func() (dataConfig, error) { return cfg, nil })
			c.SetArgs([]string{"key", "--renew"})
			c.SetErr(io.Discard)
			if err := c.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(t.Context(), cfg.StoreURL, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if key != nil {
				with, err := store.NewSeal(key)
				if err != nil {
					t.Fatal(err)
				}
				s.SealWith(with)
			}
			text, err := s.Secret(t.Context(), translog.KeyFile, func() ([]byte, error) { return nil, errors.New("there is none") })
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := translog.ParseKey(text); err != nil {
				t.Error(err)
			}
			seen = append(seen, string(text))
		}
		if seen[0] == seen[1] {
			t.Error("the key is not another")
		}
		if _, err := os.Stat(filepath.Join(cfg.Dir, translog.KeyFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that no node reads: %v", err)
		}
	}
}

// TestRenewBesideNodes: no key is made while a daemon works on the database, or led a moment ago, and the logs go on.
func TestRenewBesideNodes(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	cfg := dataConfig{Dir: t.TempDir(), StoreURL: place, Now: time.Now}
	renew := func() error {
		c := newLog(func() (dataConfig, error) { return cfg, nil })
		c.SetArgs([]string{"key", "--renew"})
		c.SetErr(io.Discard)
		return c.ExecuteContext(t.Context())
	}
	s, err := store.Open(t.Context(), place, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	made := []byte("old")
	if _, err := s.Secret(t.Context(), translog.KeyFile, func() ([]byte, error) { return made, nil }); err != nil {
		t.Fatal(err)
	}
	still := func(when string) {
		t.Helper()
		if text, err := s.Secret(t.Context(), translog.KeyFile, func() ([]byte, error) { return nil, errors.New("there is none") }); err != nil || string(text) != "old" {
			t.Errorf("%s the key is %q, %v", when, text, err)
		}
	}
	if err := s.SaveNode(t.Context(), store.Node{ID: "n", URL: "http://10.0.0.1:8402", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := renew(); !errors.Is(err, database.ErrHeld) || !strings.Contains(err.Error(), "http://10.0.0.1:8402") {
		t.Errorf("beside a follower: %v", err)
	}
	still("beside a follower")
	lease := s.Lease("n")
	if term, err := lease.Take(t.Context()); err != nil || term == nil {
		t.Fatalf("the lease is not given back: %v", err)
	}
	if err := s.RemoveNode(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	if err := renew(); !errors.Is(err, database.ErrHeld) {
		t.Errorf("beside one that leads and has not said that it runs: %v", err)
	}
	still("beside a leader")
	if err := lease.Free(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := renew(); err != nil {
		t.Errorf("alone: %v", err)
	}
}

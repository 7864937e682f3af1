package store_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
)

func TestOpenPostgres(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	s, err := store.Open(t.Context(), place, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CheckWrite(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := history.Open(t.Context(), place, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.CheckWrite(t.Context()); err != nil {
		t.Fatal(err)
	}
}

package operate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/operate"
)

// disk is a database that answers and takes writes, but for what fails.
type disk struct {
	check, write error
	writes       int
}

func (d *disk) Check(context.Context) error { return d.check }

func (d *disk) CheckWrite(context.Context) error {
	d.writes++
	return d.write
}

// TestReady: what each part lets load balancers see.
func TestReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(h *operate.Health, d *disk)
		want   string // "" where it is ready
	}{
		"all is well":     {func(*operate.Health, *disk) {}, ""},
		"stopping":        {func(h *operate.Health, _ *disk) { h.Stopping = func() bool { return true } }, "stopping"},
		"no state":        {func(h *operate.Health, _ *disk) { h.HasState = func(string) bool { return false } }, "no pack has a state yet: a, b"},
		"one has a state": {func(h *operate.Health, _ *disk) { h.HasState = func(id string) bool { return id == "b" } }, ""},
		"no charges":      {func(h *operate.Health, _ *disk) { h.Charges = func() error { return errors.New("uncharged") } }, "uncharged"},
		"no answer":       {func(_ *operate.Health, d *disk) { d.check = errors.New("gone") }, "gone"},
		"no writes":       {func(_ *operate.Health, d *disk) { d.write = errors.New("full") }, "full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &disk{}
			h := healthy(d)
			c.change(h, d)
			err := h.Ready(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// healthy is the Health of a daemon with two packs, where all is well.
func healthy(d *disk) *operate.Health {
	return &operate.Health{
		Stopping: func() bool { return false }, Packs: func() []string { return []string{"a", "b"} },
		HasState: func(string) bool { return true }, Charges: func() error { return nil },
		Databases: []operate.Database{d}, Now: time.Now,
	}
}

// TestWritesAreRare: however often somebody asks, a write is tried each five seconds, or each second while it fails. Alive always tries.
func TestWritesAreRare(t *testing.T) {
	t.Parallel()
	d := &disk{}
	h := healthy(d)
	now := time.Unix(1_800_000_000, 0)
	h.Now = func() time.Time { return now }
	var got []int
	ask := func(later time.Duration) {
		now = now.Add(later)
		_ = h.Ready(t.Context())
		got = append(got, d.writes)
	}
	for _, later := range []time.Duration{0, 5*time.Second - 1, 1} {
		ask(later)
	}
	d.write = errors.New("full")
	for _, later := range []time.Duration{5 * time.Second, time.Second - 1, 1, -time.Hour} {
		ask(later)
	}
	if want := []int{1, 1, 2, 3, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("tried %v times, want %v", got, want)
	}
	if err := h.Alive(t.Context()); err == nil || d.writes != 6 {
		t.Errorf("alive: %v after %d tries", err, d.writes)
	}
}

package history_test

import (
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/state"
)

// past are the states as of times, by their places in the order in which they were saved, -1 where there is none.
func past(t testing.TB, s *history.History, times ...time.Time) (places []int) {
	t.Helper()
	for p, err := range s.Past(t.Context(), "crypto", slices.Values(times)) {
		if err != nil {
			t.Fatal(err)
		}
		if p.GeneratedAt.IsZero() {
			if p.State != nil {
				t.Errorf("a state of no time: %s", p.State)
			}
			places = append(places, -1)
			continue
		}
		n := int(p.GeneratedAt.Sub(epoch()) / (5 * time.Minute))
		if p.Citations != nil {
			t.Errorf("state %d has citations", n)
		}
		want := pulseAt(n, "x")
		want.Citations = nil
		same(t, p, want)
		places = append(places, n)
	}
	return places
}

// at is the time of pulse n and so much more.
func at(n int, more time.Duration) time.Time {
	return epoch().Add(time.Duration(n)*5*time.Minute + more)
}

// TestPast: of every time the newest state at or before it, to the millisecond, over blocks and gaps.
func TestPast(t *testing.T) {
	t.Parallel()
	s := open(t, testbed.Place(t))
	const n, gap = 3 * history.KeyframeEvery, 40 // the states from gap on are an hour later
	for i := range n {
		save(t, s, pulseAt(i, "x"))
	}
	save(t, s, pulseAt(n+gap, "x"))
	for what, c := range map[string]struct {
		times []time.Time
		want  []int
	}{
		"none":                    {nil, nil},
		"before the first":        {[]time.Time{at(0, -time.Millisecond)}, []int{-1}},
		"the first":               {[]time.Time{at(0, 0)}, []int{0}},
		"within its millisecond":  {[]time.Time{at(0, time.Millisecond-1)}, []int{0}},
		"both sides of one":       {[]time.Time{at(7, -time.Millisecond), at(7, 0), at(7, time.Millisecond)}, []int{6, 7, 7}},
		"into and out of history": {[]time.Time{at(-9, 0), at(1, 0), at(n-1, 0), at(n+gap-1, 0), at(n+gap, 0), at(n+gap+99, 0)}, []int{-1, 1, n - 1, n - 1, n + gap, n + gap}},
		"from block to block":     {[]time.Time{at(3, 0), at(3+history.KeyframeEvery, 0), at(3+2*history.KeyframeEvery, 0)}, []int{3, 3 + history.KeyframeEvery, 3 + 2*history.KeyframeEvery}},
	} {
		if got := past(t, s, c.times...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	for p, err := range s.Past(t.Context(), "other", slices.Values([]time.Time{at(1, 0)})) {
		if err != nil || !p.GeneratedAt.IsZero() {
			t.Errorf("of another pack: %v, %v", p.GeneratedAt, err)
		}
	}
}

// TestPastIsReadAsItIsAsked: nothing is read ahead, and what was pruned or written between two times is no mistake.
func TestPastIsReadAsItIsAsked(t *testing.T) {
	t.Parallel()
	s := open(t, testbed.Place(t))
	for i := range 4 {
		save(t, s, pulseAt(i, "x"))
	}
	next, stop := iter.Pull2(s.Past(t.Context(), "crypto", slices.Values([]time.Time{at(0, 0), at(1, 0), at(9, 0)})))
	defer stop()
	for _, want := range []struct {
		before func()
		at     time.Time
	}{
		{func() {}, at(0, 0)},
		{func() { // of the first block nothing is left but what was read
			if _, err := s.Prune(t.Context(), "crypto", at(9, 0)); err != nil {
				t.Fatal(err)
			}
		}, at(0, 0)},
		{func() { save(t, s, pulseAt(9, "x")) }, at(9, 0)},
	} {
		want.before()
		if p, err, ok := next(); !ok || err != nil || !p.GeneratedAt.Equal(want.at) {
			t.Errorf("%v, %v, %v; want %v", p.GeneratedAt, err, ok, want.at)
		}
	}
}

// TestPastPassesOverDamage: a state that is damaged is not there, and one more does not end it all; a database that does not answer does.
func TestPastPassesOverDamage(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	for i := range history.KeyframeEvery + 3 {
		save(t, s, pulseAt(i, "x"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := testbed.SQL(t, dir, history.File)
	for _, damage := range []string{
		"UPDATE pulses SET body = substr(body, 1, 1) WHERE id IN (1 + 3, 1 + 4)",
		"UPDATE pulses SET sum = substr(sum, 1, 1) WHERE keyframe IS NULL AND id > 1", // the second block
	} {
		if _, err := db.ExecContext(t.Context(), damage); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	last := history.KeyframeEvery - 1
	times := []time.Time{at(2, 0), at(3, 0), at(4, 0), at(5, 0), at(last, 0), at(last+1, 0), at(last+2, 0)}
	if got, want := past(t, s, times...), []int{2, 2, 2, 5, last, last, last}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := past(t, s, at(last+2, 0)); !slices.Equal(got, []int{last}) {
		t.Errorf("asked alone: %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, err := range s.Past(t.Context(), "crypto", slices.Values(times)) {
		if calls++; err == nil || errors.Is(err, state.ErrNoPulse) {
			t.Errorf("of a closed history: %v", err)
		}
	}
	if calls != 1 {
		t.Errorf("%d answers after an error", calls)
	}
}

// BenchmarkPast reads states at every five minutes, as an export does.
func BenchmarkPast(b *testing.B) {
	s, w := open(b, b.TempDir()), newWalk(b, 1)
	n := *pulses
	write(b, s, w, n)
	first, err := s.Earliest(b.Context(), "crypto")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		read := 0
		for _, err := range s.Past(b.Context(), "crypto", func(yield func(time.Time) bool) {
			for i := range n {
				if !yield(first.Add(time.Duration(i) * 5 * time.Minute)) {
					return
				}
			}
		}) {
			if err != nil {
				b.Fatal(err)
			}
			read++
		}
		if read != n {
			b.Fatalf("%d states", read)
		}
	}
}

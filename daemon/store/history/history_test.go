package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// epoch is the time of the first pulse in these tests; the others follow every five minutes.
func epoch() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 123_000_000, time.UTC) }

// pulseAt is the n-th pulse, with a text of its own and much that repeats.
func pulseAt(n int, text string) state.Pulse {
	rows := make([]map[string]any, 40)
	for i := range rows {
		rows[i] = map[string]any{"id": fmt.Sprintf("coin-%d", i), "priceUsd": float64(i*1000+n) / 7, "text": text}
	}
	doc, err := json.Marshal(map[string]any{"n": n, "top_movers": rows})
	if err != nil {
		panic(err)
	}
	at := epoch().Add(time.Duration(n) * 5 * time.Minute)
	return state.Pulse{
		Pack: "crypto", Version: 1, GeneratedAt: at, State: doc,
		Citations: []api.Citation{{Ref: 1, SourceID: "s", URL: "https://example.org/", FetchedAt: at.Add(-time.Second)}},
	}
}

// save saves p, and opens its pack first.
func save(t testing.TB, s *history.History, p state.Pulse) {
	t.Helper()
	if _, err := s.OpenPack(t.Context(), p.Pack, epoch()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SavePulse(t.Context(), p, state.Brief{}, nil); err != nil {
		t.Fatal(err)
	}
}

// newest is the newest pulse a store restores.
func newest(t *testing.T, s *history.History) state.Pulse {
	t.Helper()
	saved, err := s.OpenPack(t.Context(), "crypto", epoch())
	if err != nil || saved.Pulse == nil {
		t.Fatalf("OpenPack = %+v, %v", saved, err)
	}
	return *saved.Pulse
}

// same compares two pulses.
func same(t testing.TB, got, want state.Pulse) {
	t.Helper()
	a, b := got, want
	if !bytes.Equal(a.State, b.State) || !a.GeneratedAt.Equal(b.GeneratedAt) || a.Pack != b.Pack || a.Version != b.Version ||
		fmt.Sprint(a.Citations) != fmt.Sprint(b.Citations) {
		t.Errorf("got pulse of %v with %d bytes, want that of %v with %d", a.GeneratedAt, len(a.State), b.GeneratedAt, len(b.State))
	}
}

func TestEveryPulseReadsBackAsOfItsTime(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	const n = 3*history.KeyframeEvery + 5
	for i := range n {
		save(t, s, pulseAt(i, "x"))
		if i == n/2 { // in the middle of a block
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
		}
	}
	for i := range n {
		want := pulseAt(i, "x")
		for _, after := range []time.Duration{time.Millisecond, time.Minute, 5 * time.Minute} {
			got, err := s.PulseBefore(t.Context(), "crypto", want.GeneratedAt.Add(after))
			if err != nil {
				t.Fatalf("pulse %d after %v: %v", i, after, err)
			}
			same(t, got, want)
		}
	}
	for _, early := range []time.Time{epoch(), epoch().Add(-time.Hour)} {
		if _, err := s.PulseBefore(t.Context(), "crypto", early); !errors.Is(err, state.ErrNoPulse) {
			t.Errorf("before the first pulse: %v, want ErrNoPulse", err)
		}
	}
	if _, err := s.PulseBefore(t.Context(), "other", epoch().Add(time.Hour)); !errors.Is(err, state.ErrNoPulse) {
		t.Errorf("of another pack: %v, want ErrNoPulse", err)
	}
	if got := count(t, dir, "SELECT count(*) FROM pulses WHERE keyframe IS NULL"); got != 4 {
		t.Errorf("%d keyframes for %d pulses; a restart must not begin a new block", got, n)
	}
}

func TestSamePulseTwiceIsRefusedWhole(t *testing.T) {
	t.Parallel()
	s := open(t, testbed.Place(t))
	save(t, s, pulseAt(0, "x"))
	record := []state.SourceRecord{{Source: "s", AttemptedAt: epoch()}}
	if _, err := s.SavePulse(t.Context(), pulseAt(0, "y"), state.Brief{}, record); err == nil {
		t.Fatal("a second pulse of the same time was saved")
	}
	saved, err := s.OpenPack(t.Context(), "crypto", epoch())
	if err != nil || len(saved.Sources) != 0 {
		t.Errorf("the refused transaction left sources %v, %v", saved.Sources, err)
	}
	same(t, *saved.Pulse, pulseAt(0, "x"))
	save(t, s, pulseAt(1, "x")) // and the block goes on
	same(t, newest(t, s), pulseAt(1, "x"))
}

func TestDamageIsAnErrorNeverAWrongState(t *testing.T) {
	t.Parallel()
	const target, keyframe = 5, 1 // rows 6 and 1: ids count from 1
	tests := map[string]struct {
		query string
		hurt  map[int]bool // pulses that must fail; all others must read back
	}{
		"body cut":         {"UPDATE pulses SET body = substr(body, 1, 20) WHERE id = 6", map[int]bool{target: true}},
		"body emptied":     {"UPDATE pulses SET body = x'' WHERE id = 6", map[int]bool{target: true}},
		"bit flipped":      {"UPDATE pulses SET body = CAST(substr(body, 1, 30) || x'5a' || substr(body, 32) AS BLOB) WHERE id = 6", map[int]bool{target: true}},
		"body of another":  {"UPDATE pulses SET body = (SELECT body FROM pulses WHERE id = 8) WHERE id = 6", map[int]bool{target: true}},
		"row of another":   {"UPDATE pulses SET (body, sum) = (SELECT body, sum FROM pulses WHERE id = 8) WHERE id = 6", map[int]bool{target: true}},
		"time moved":       {"UPDATE pulses SET generated_at = generated_at + 1 WHERE id = 6", map[int]bool{target: true}},
		"version changed":  {"UPDATE pulses SET version = 2 WHERE id = 6", map[int]bool{target: true}},
		"sum changed":      {"UPDATE pulses SET sum = zeroblob(16) WHERE id = 6", map[int]bool{target: true}},
		"keyframe wrong":   {fmt.Sprintf("UPDATE pulses SET keyframe = %d WHERE id = 6", history.KeyframeEvery+1), map[int]bool{target: true}},
		"keyframe missing": {"UPDATE pulses SET keyframe = 9999 WHERE id = 6", map[int]bool{target: true}},
		"keyframe a row":   {"UPDATE pulses SET keyframe = 7 WHERE id = 6", map[int]bool{target: true}},
		"keyframe dropped": {"UPDATE pulses SET keyframe = NULL WHERE id = 6", map[int]bool{target: true}},
		"keyframe damaged": {fmt.Sprintf("UPDATE pulses SET body = substr(body, 1, 50) WHERE id = %d", keyframe), block(0)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testbed.Place(t)
			s := open(t, dir)
			const n = history.KeyframeEvery + 8
			for i := range n {
				save(t, s, pulseAt(i, "x"))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			exec(t, dir, test.query)
			s = open(t, dir)
			for i := range n {
				want := pulseAt(i, "x")
				got, err := s.PulseBefore(t.Context(), "crypto", want.GeneratedAt.Add(time.Minute))
				switch {
				case test.hurt[i] && !errors.Is(err, history.ErrDamaged):
					t.Errorf("damaged pulse %d: %v, want ErrDamaged", i, err)
				case !test.hurt[i] && err != nil:
					t.Errorf("pulse %d: %v", i, err)
				case err == nil:
					same(t, got, want)
				}
			}
		})
	}
}

// block is the pulses of the n-th block.
func block(n int) map[int]bool {
	all := map[int]bool{}
	for i := range history.KeyframeEvery {
		all[n*history.KeyframeEvery+i] = true
	}
	return all
}

func TestRestoreStepsOverDamage(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	for i := range history.KeyframeEvery + 3 {
		save(t, s, pulseAt(i, "x"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	exec(t, dir, "UPDATE pulses SET body = substr(body, 1, 1) WHERE id = ?", history.KeyframeEvery+1) // a keyframe
	s = open(t, dir)
	saved, err := s.OpenPack(t.Context(), "crypto", epoch())
	if err != nil || saved.Damaged != 3 {
		t.Fatalf("OpenPack counts %d damaged, %v; want 3", saved.Damaged, err)
	}
	same(t, *saved.Pulse, pulseAt(history.KeyframeEvery-1, "x"))
	save(t, s, pulseAt(500, "y")) // goes into a new block, not the damaged one
	same(t, newest(t, s), pulseAt(500, "y"))
}

func TestRestoreStepsOverHoursOfDamage(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	const n = 10 * history.KeyframeEvery
	for i := range n {
		save(t, s, pulseAt(i, "x"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	exec(t, dir, "UPDATE pulses SET body = substr(body, 1, 1) WHERE id > 3")
	saved, err := open(t, dir).OpenPack(t.Context(), "crypto", epoch())
	if err != nil || saved.Damaged != n-3 {
		t.Fatalf("OpenPack counts %d damaged, %v; want %d", saved.Damaged, err, n-3)
	}
	same(t, *saved.Pulse, pulseAt(2, "x"))
}

func TestPruneKeepsWhatLaterStatesNeed(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	const n = 2*history.KeyframeEvery + 10
	for i := range n {
		save(t, s, pulseAt(i, "x"))
	}
	for i := range 3 {
		if _, err := s.SaveBrief(t.Context(), "crypto", state.Brief{Text: fmt.Sprint(i), At: epoch(), Of: epoch()}); err != nil {
			t.Fatal(err)
		}
	}
	const keep = history.KeyframeEvery + 20 // the first pulse that stays, within the second block
	before := pulseAt(keep, "").GeneratedAt
	dropped, err := s.Prune(t.Context(), "crypto", before)
	if err != nil || dropped != keep-1 { // all older ones but the keyframe of the second block
		t.Fatalf("Prune = %d, %v; want %d", dropped, err, keep-1)
	}
	for i := keep; i < n; i++ {
		got, err := s.PulseBefore(t.Context(), "crypto", pulseAt(i, "").GeneratedAt.Add(1))
		if err != nil {
			t.Fatalf("pulse %d: %v", i, err)
		}
		same(t, got, pulseAt(i, "x"))
	}
	if got := count(t, dir, "SELECT count(*) FROM briefs"); got != 1 {
		t.Errorf("%d briefs left, want the newest alone", got)
	}
	if dropped, err = s.Prune(t.Context(), "crypto", before.Add(24*time.Hour)); err != nil || dropped != n-keep+1 {
		t.Errorf("second Prune = %d, %v; want %d", dropped, err, n-keep+1)
	}
	save(t, s, pulseAt(n+300, "z"))
	same(t, newest(t, s), pulseAt(n+300, "z"))
}

func TestSourcesAndBriefSurvive(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	want := state.SourceRecord{
		Source: "a", Doc: []byte(`{"x":1}`), FetchedAt: epoch(), AttemptedAt: epoch().Add(time.Minute), NotBefore: epoch().Add(time.Hour),
		Failures: 3, Err: "upstream_5xx: HTTP 503", Bodies: []string{"aa", "bb"},
	}
	never := state.SourceRecord{Source: "b", AttemptedAt: epoch(), Failures: 1, Err: "network: no route"}
	if err := s.SaveSources(t.Context(), "crypto", []state.SourceRecord{never, {Source: "a", AttemptedAt: epoch()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SavePulse(t.Context(), pulseAt(0, "x"), state.Brief{}, []state.SourceRecord{want}); err != nil {
		t.Fatal(err)
	}
	brief := state.Brief{Text: "All quiet [1].", At: epoch().Add(time.Second), Of: epoch(), Writer: "built-in"}
	var err error
	if brief.Proof, err = s.SaveBrief(t.Context(), "crypto", brief); err != nil || brief.Proof.Seq != 1 {
		t.Fatal(brief.Proof, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	saved, err := open(t, dir).OpenPack(t.Context(), "crypto", epoch().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(saved.Sources) != fmt.Sprint([]state.SourceRecord{want, never}) {
		t.Errorf("sources %v, want %v and %v", saved.Sources, want, never)
	}
	if saved.Brief != brief {
		t.Errorf("brief %+v, want %+v", saved.Brief, brief)
	}
	if !saved.Start.Equal(epoch()) {
		t.Errorf("start %v moved", saved.Start)
	}
}

// count runs a query for one number on the history file.
func count(t *testing.T, dir, query string) (n int) {
	t.Helper()
	db := testbed.SQL(t, dir, history.File)
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBlockOfAnother has another node drop the block that is being filled: the state that cannot be saved into it is refused, and the next one
// begins a block of its own.
func TestBlockOfAnother(t *testing.T) {
	t.Parallel()
	dir := testbed.Files(t)
	s := open(t, dir)
	for i := range 3 {
		save(t, s, pulseAt(i, "x"))
	}
	if _, err := testbed.SQL(t, dir, history.File).ExecContext(t.Context(), "DELETE FROM pulses"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SavePulse(t.Context(), pulseAt(3, "x"), state.Brief{}, nil); err == nil {
		t.Fatal("a state is saved whose keyframe is gone")
	}
	save(t, s, pulseAt(4, "x"))
	got, err := s.PulseBefore(t.Context(), "crypto", pulseAt(4, "x").GeneratedAt.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, pulseAt(4, "x"))
}

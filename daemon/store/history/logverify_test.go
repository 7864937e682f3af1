package history_test

import (
	"os"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/state"
)

// TestVerifyNamesWhatIsWrong: everything that can be changed behind the log's back is named.
func TestVerifyNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	s := open(t, whole)
	if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	for i := range translog.Width + 20 {
		p := pulseAt(i, "x")
		if _, err := s.SavePulse(t.Context(), p, state.Brief{Text: "Calm.", At: p.GeneratedAt, Of: p.GeneratedAt}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ query, want string }{
		"nothing":               {"SELECT 1", ""},
		"a state of another":    {"UPDATE pulses SET generated_at = generated_at + 1 WHERE id = 6", "the state of 2026-11-20T20:25:00.123Z, which leaf 5 proves, is missing"},
		"a damaged state":       {"UPDATE pulses SET body = x'00' WHERE id = 6", "is not the one that leaf 5 proves"},
		"a leaf's number":       {"UPDATE log_leaves SET body = CAST(replace(body, '\"seq\":260', '\"seq\":261') AS BLOB) WHERE seq = 260", "leaf 260 is not one of that place"},
		"a leaf's pack":         {"UPDATE log_leaves SET body = CAST(replace(body, '\"crypto\"', '\"cryptx\"') AS BLOB) WHERE seq = 260", "leaf 260 is not one of that place"},
		"a dropped state":       {"DELETE FROM pulses WHERE id = 7", "which leaf 6 proves, is missing"},
		"a state without leaf":  {"UPDATE log_leaves SET at = at + 1 WHERE seq = 9", "the state of 2026-11-20T20:45:00.123Z has no leaf"},
		"a changed brief":       {"UPDATE briefs SET text = 'Buy!' WHERE with_state = 1", "proves another brief than the one"},
		"a changed leaf":        {"UPDATE log_leaves SET body = CAST(replace(body, '\"code\"', '\"Code\"') AS BLOB) WHERE seq = 260", "not to the root"},
		"a dropped leaf":        {"DELETE FROM log_leaves WHERE seq = 260", "of the leaves from 256 on, 1 are missing"},
		"the last leaf dropped": {"DELETE FROM log_leaves WHERE seq = 275", "of the leaves from 256 on, 1 are missing"},
		"a dropped bundle":      {"DELETE FROM log_bundles", "of the leaves from 0 on, 256 are missing"},
		"a broken bundle":       {"UPDATE log_bundles SET body = substr(body, 1, 100)", "of the leaves from 0 on, 256 are missing"},
		"a short tile":          {"UPDATE log_tiles SET hashes = substr(hashes, 1, 608) WHERE level = 0 AND n = 1", "tile 1 of level 0 has 608 bytes, not 640: it was cut off"},
		"a changed tile":        {"UPDATE log_tiles SET hashes = zeroblob(8192) WHERE level = 0 AND n = 0", "tile 0 of level 0 has another hash"},
		"a tile above":          {"UPDATE log_tiles SET hashes = zeroblob(32) WHERE level = 1", "tile 0 of level 1 has another hash"},
		"a dropped tile":        {"DELETE FROM log_tiles WHERE level = 1", "tile 0 of level 1 has 0 bytes"},
		"a changed root":        {"UPDATE logs SET root = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='", "not to the root AAAA"},
		"a rolled back size":    {"UPDATE logs SET size = 270", "there are 6 rows behind its last leaf: it was cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			db := testbed.SQL(t, dir, history.File)
			if _, err := db.ExecContext(t.Context(), "PRAGMA foreign_keys = 0; "+tt.query); err != nil {
				t.Fatal(err)
			}
			leaves, wrong, err := s.VerifyLogs(t.Context(), 100)
			if err != nil || leaves == 0 {
				t.Fatal(leaves, err)
			}
			if found := strings.Join(wrong, "\n"); tt.want == "" && found != "" || !strings.Contains(found, tt.want) {
				t.Errorf("found %q, want %q", found, tt.want)
			}
			if _, few, err := s.VerifyLogs(t.Context(), 1); err != nil || len(few) > 1 {
				t.Errorf("%d lines, want one at most: %v", len(few), err)
			}
		})
	}
}

// TestVerifyNamesAnotherState: a state that is whole, and not the one that was proven, is named.
func TestVerifyNamesAnotherState(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*state.Pulse){
		"content": func(p *state.Pulse) { p.State = pulseAt(1, "y").State },
		"version": func(p *state.Pulse) { p.Version = 2 },
	} {
		dir := t.TempDir()
		s := open(t, dir)
		if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			p := pulseAt(i, "x")
			if _, err := s.SavePulse(t.Context(), p, state.Brief{Text: "Calm.", At: p.GeneratedAt, Of: p.GeneratedAt}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		exec(t, dir, "DELETE FROM briefs WHERE generated_at = (SELECT max(generated_at) FROM pulses)")
		exec(t, dir, "DELETE FROM pulses WHERE generated_at = (SELECT max(generated_at) FROM pulses)")
		s = open(t, dir)
		if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
			t.Fatal(err)
		}
		p := pulseAt(1, "x")
		change(&p)
		if err := s.SaveUnproven(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		_, wrong, err := s.VerifyLogs(t.Context(), 9)
		if found := strings.Join(wrong, "\n"); err != nil || !strings.Contains(found, "is not the one that leaf 1 proves") {
			t.Errorf("%s: found %q, %v", what, found, err)
		}
	}
}

package packtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/packtest"
)

// machines is a good manifest. Its flag looks back.
const machines = `pack: machines
version: 1
title: Machines
sources:
  - id: loads
    name: Loads
    public_url: https://loads.example/
    licence: ours
    request: {url: https://loads.example/all.json}
    expect: '.machines | type == "array" and length > 0'
    rows: '.machines[] | {key: .id, name: .title, load: .load, seen: .seen, place: .place}'
    kind: machine
    fields: {load: {type: percent, changed: 1h}, seen: time, place: text}
members:
  busiest: {from: loads, select: 'sort_by(-(.load // 0))[:10]'}
flags:
  - {kind: load_high, over: loads, when: '(.load // 0) >= 80', clear: '(.load // 0) < 70', threshold: 80, at: seen,
     message: '{name} is at {load}'}
  - {kind: load_moved, over: loads, when: '.load_was != null and .load != .load_was', message: '{name} was at {load_was}'}
brief:
  - {over: busiest, rows: 3, say: 'The busiest machines are {list}.', item: '{name} at {load}'}
`

// answer is one of the only source of machines at a tick.
func answer(tick int) string {
	return fmt.Sprintf(`{"machines":[{"id":"a","title":"Alpha","load":%d,"seen":"2026-11-20T19:00:00Z","place":"Oslo"},
		{"id":"b","title":"Beta","load":"12.5","seen":1795204800,"place":"Rome"}]}`, 40+20*tick)
}

// record keeps an answer for each of three ticks in a new directory.
func record(t *testing.T, text string, answer func(tick int) string) (dir string, m *manifest.Manifest) {
	t.Helper()
	m, err := manifest.Read([]byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "machines.test")
	for tick := 1; tick <= 3; tick++ {
		at := time.Date(2026, 11, 20, 20, 5*tick, 0, 0, time.UTC)
		n, err := packtest.Record(dir, m, at, map[string][]byte{m.Sources[0].ID: []byte(answer(tick))})
		if err != nil || n != tick {
			t.Fatalf("tick %d, want %d: %v", n, tick, err)
		}
	}
	return dir, m
}

// try runs a manifest on what is recorded in a directory.
func try(t *testing.T, dir string, m *manifest.Manifest) packtest.Report {
	t.Helper()
	tape, err := packtest.Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	report, err := packtest.Run(t.Context(), packtest.Config{Manifest: m, Evaluator: e, Tape: tape, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestRun: a good pack has no findings, and what its ticks made is compared with that of the last time.
func TestRun(t *testing.T) {
	t.Parallel()
	dir, m := record(t, machines, answer)
	report := try(t, dir, m)
	for _, f := range report.Findings {
		t.Error(f)
	}
	const told = "The busiest machines are Alpha at 100% and Beta at 12.5% [1]."
	if len(report.Ticks) != 3 || !strings.Contains(report.Ticks[2].Brief, told) ||
		!strings.Contains(report.Ticks[2].Brief, "Alpha was at 80%") {
		t.Errorf("%+v", report.Ticks)
	}
	if _, missing, err := packtest.Compare(dir, report); len(missing) != 6 || err != nil {
		t.Errorf("before anything is kept: missing %s, %v", missing, err)
	}
	if err := packtest.Save(dir, report); err != nil {
		t.Fatal(err)
	}
	again := try(t, dir, m)
	if found, missing, err := packtest.Compare(dir, again); len(found)+len(missing) > 0 || err != nil {
		t.Errorf("the second time: %v, missing %s, %v", found, missing, err)
	}
	again.Ticks[1].Brief += " More."
	if found, _, err := packtest.Compare(dir, again); err != nil || len(found) != 1 ||
		!strings.Contains(found[0].Text, "tick2.brief.txt, line ") {
		t.Errorf("another brief: %v, %v", found, err)
	}
}

// TestFindings: what is wrong with a pack is found.
func TestFindings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change []string // of the manifest, from and to
		answer func(tick int) string
		want   string
	}{
		"answer": {nil, func(tick int) string { return strings.Repeat("{}", tick/2) + answer(tick)[tick/2:] },
			"answers of tick 2: loads: bad_content"},
		"dropped": {nil, func(tick int) string { return strings.Replace(answer(tick), `"id":"b",`, "", 1) },
			"answers of tick 1: loads: 1 rows were dropped"},
		"no expect": {[]string{`expect: '.machines | type == "array" and length > 0'`, "expect: 'true'",
			"rows: '.machines[]", "rows: '(.machines? // [{id: 1, title: \"none\", load: 0}])[]"}, answer,
			"failures: loads: takes 200_fng_metadata_error.json for data; say in expect"},
		"state": {[]string{"title: Machines", "title: Machines\nlimits: {state_bytes: 1024}"}, answer, "size: a state has "},
		"flag": {[]string{"(.load // 0) >= 80", `.place == "Oslo" and .place == "Rome"`}, answer,
			"flags: loads: no row was found that raises load_high"},
		"clear": {[]string{"(.load // 0) < 70", "false"}, answer,
			"flags: loads: load_high went up for a, and nothing was found that lets it fall"},
		"brief": {[]string{"say: 'The busiest machines are {list}.'", "say: 'The 7 busiest machines are {list}.'"}, answer,
			`brief of tick 1: figure "7"`},
		"message": {[]string{"message: '{name} is at {load}'", "message: '{name} is at {load} in {place} since {load_was}'"}, answer,
			"flags: loads: the message of load_high has a field that may be missing: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer(tt.change...).Replace(machines)
			if len(tt.change) > 0 && text == machines {
				t.Fatal("nothing is changed")
			}
			dir, m := record(t, text, tt.answer)
			report := try(t, dir, m)
			var all []string
			for _, f := range report.Findings {
				if strings.HasPrefix(f.String(), tt.want) {
					return
				}
				all = append(all, f.String())
			}
			t.Errorf("no finding begins with %q:\n%s", tt.want, strings.Join(all, "\n"))
		})
	}
}

// TestRandom: a pack whose brief can say what does not hold is found by a random state, and a good one is not.
func TestRandom(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		machines: false, strings.Replace(machines, "busiest machines are", "100 busiest machines are", 1): true,
	} {
		dir, m := record(t, text, answer)
		tape, err := packtest.Directory(dir)
		if err != nil {
			t.Fatal(err)
		}
		e, err := manifest.NewLocal(m)
		if err != nil {
			t.Fatal(err)
		}
		found, err := packtest.Random(t.Context(), packtest.Config{Manifest: m, Evaluator: e, Tape: tape}, 100)
		if err != nil || len(found) > 0 != want {
			t.Errorf("found, want some %v: %v, %v", want, found, err)
		}
	}
}

// TestDirectory: a recording that is damaged says what is wrong with it.
func TestDirectory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"at":"2026-11-20T20:00:00Z","answers":{"loads":"../../x"}}`:          "outside of its directory",
		`{"at":"2026-11-20T20:00:00Z","answers":{"loads":"tick2/gone.json"}}`:  "the answer of loads in ",
		`{"at":"2026-11-20T20:05:00Z","answers":{"loads":"tick1/loads.json"}}`: "tick 2 of ",
		`{`: "read ",
	} {
		dir, _ := record(t, machines, answer)
		if err := os.WriteFile(filepath.Join(dir, "tick2.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := packtest.Directory(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := packtest.Directory(t.TempDir()); err == nil {
		t.Error("an empty directory is a recording")
	}
}

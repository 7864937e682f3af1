package packtest_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/packtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// subject is a manifest of the program as a trial takes it.
func subject(t *testing.T, id string) packtest.Config {
	t.Helper()
	text, _ := manifest.ShippedText(id)
	return subjectOf(t, text, packtest.Shipped())
}

func subjectOf(t *testing.T, text []byte, tape packtest.Tape) packtest.Config {
	t.Helper()
	m, err := manifest.Read(text, true)
	if err != nil {
		t.Fatal(err)
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	return packtest.Config{Manifest: m, Evaluator: e, Tape: tape, Dir: t.TempDir()}
}

// TestShipped tries every pack of the program, with -short one: what its recorded ticks make is that of the golden files, and nothing is
// found.
func TestShipped(t *testing.T) {
	t.Parallel()
	ids := manifest.Shipped()
	if testing.Short() {
		ids = ids[len(ids)-1:]
	}
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			report, err := packtest.Run(t.Context(), subject(t, id))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				t.Error(f)
			}
			if len(report.Ticks) != 3 {
				t.Errorf("%d ticks", len(report.Ticks))
			}
			expected(t, filepath.Join("testdata", id), report)
		})
	}
}

// expected compares what the ticks made with what a directory keeps.
func expected(t *testing.T, dir string, report packtest.Report) {
	t.Helper()
	if *update {
		if err := errors.Join(os.MkdirAll(dir, 0o755), packtest.Save(dir, report)); err != nil {
			t.Fatal(err)
		}
	}
	findings, missing, err := packtest.Compare(dir, report)
	if err != nil || len(missing) > 0 {
		t.Errorf("%v, missing: %s", err, missing)
	}
	for _, f := range findings {
		t.Errorf("%s; look at the change, then run with -update", f)
	}
}

// TestShippedAnyState: a state of random rows is as good as a recorded one, and so is its brief. internal/bench has it with a thousand.
func TestShippedAnyState(t *testing.T) {
	t.Parallel()
	const states = 40
	for _, id := range manifest.Shipped() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			findings, err := packtest.Random(t.Context(), subject(t, id), states)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				t.Error(f)
			}
		})
	}
}

package packtest_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/packtest"
	"github.com/contextd/contextd/internal/check"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
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
	if !long.On() {
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
			for _, tick := range report.Ticks {
				checked(t, tick)
			}
		})
	}
}

// checked holds each figure of a brief against the rows that it was made of, and then with its first digit changed.
func checked(t *testing.T, tick packtest.Tick) {
	t.Helper()
	m := check.Material{
		At: tick.At, Tables: tick.Rows, State: state.Read(tick.State), Shown: tick.Shown, Within: api.CheckWithin, All: true,
	}
	text := []rune(tick.Brief)
	for _, f := range check.Judge(tick.Brief, m).Findings {
		around := string(text[max(0, f.Start-60):min(len(text), f.End+30)])
		if f.Verdict != api.CheckVerified {
			t.Errorf("%q is %s %s %s %s in …%s…", f.Text, f.Verdict, f.Reason, f.Row, f.Field, around)
		}
		changed := slices.Clone(text)
		at := f.Start + strings.IndexAny(f.Text, "0123456789")
		changed[at] = '1' + (changed[at]-'0')%9
		for _, g := range check.Judge(string(changed), m).Findings {
			if g.Start <= at && at < g.End && g.Verdict == api.CheckVerified {
				t.Errorf("%q is verified as %q in …%s…", g.Text, f.Text, around)
			}
		}
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

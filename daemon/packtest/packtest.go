// Package packtest tries a pack that a manifest declares, as a daemon would run it: recorded answers, or live ones, go through the fetcher,
// the pipeline and a history on disk.
//
// # What Run looks at
//
// Take a manifest with two sources and a recording of three ticks.
//
//  1. Each tick is refreshed. Every source must answer, the state must fit its bound, every row and every flag must point to its source,
//     and the brief must pass its check. State and brief of each tick are in the Report, to be compared with those of the last time.
//  2. Half of the sources answer with each kind of failure, then the other half: HTTP errors, pages in place of data, bodies that are cut
//     off. None may be taken for data, and their old rows must stay and be marked stale.
//  3. All answer with rows whose texts are hostile, then with ten thousand rows. Names that read as instructions must raise a flag, links
//     that are none must be gone, and the state must still fit.
//  4. For every flag a row is looked for that meets its condition, by changing recorded rows at random; with it the flag must go up, and
//     go down with another one.
//
// What is wrong comes back as Findings. It is a package of its own because the command line runs it on manifests of users as the tests run
// it on those of the program.
package packtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/state"
)

// Tape answers requests as they were recorded.
type Tape interface {
	http.RoundTripper
	// SeekTick goes to a tick, from 1, and tells when it was recorded. It is not ok where there is none.
	SeekTick(tick int) (at time.Time, ok bool)
}

// Config is what a trial needs.
type Config struct {
	Manifest  *manifest.Manifest
	Evaluator manifest.Evaluator
	Tape      Tape
	Dir       string            // for the history; empty, and the caller's to remove
	Seed      uint64            // of what is random
	Progress  func(step string) // is told what begins; nil means nobody
}

// Finding is something that is wrong with a pack.
type Finding struct {
	Check  string `json:"check"`            // what was looked at: answers, state, brief, failures, hostile text, size, flags
	Tick   int    `json:"tick,omitempty"`   // of the recording; 0 for what follows it
	Source string `json:"source,omitempty"` // "" where it is none in particular
	Text   string `json:"text"`
	Note   bool   `json:"note,omitempty"` // it may be meant so
}

// String is f on a line.
func (f Finding) String() string {
	text := f.Check
	if f.Tick > 0 {
		text += fmt.Sprintf(" of tick %d", f.Tick)
	}
	if f.Source != "" {
		text += ": " + f.Source
	}
	return text + ": " + f.Text
}

// Report is what came of a trial.
type Report struct {
	Ticks     []Tick    `json:"ticks"`
	Refreshes int       `json:"refreshes"`
	Findings  []Finding `json:"findings"`
}

// Tick is what a recorded tick made.
type Tick struct {
	At    time.Time       `json:"at"`
	State json.RawMessage `json:"state"`
	Brief string          `json:"brief"`

	Rows  *state.Tables `json:"-"` // of which State was made
	Shown []state.Shown `json:"-"`
}

// Failed reports whether there is a finding that is no note.
func (r Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Note })
}

// trial is a Run under way.
type trial struct {
	cfg     Config
	pack    *pack.Pack
	writer  brief.Writer
	rand    *rand.Rand
	stage   *stage
	line    *line
	harness *harness
	pipe    *pipeline.Pipeline
	report  Report
	tick    int // that is played; 0 after the last
}

// Run tries a pack. The error is about the trial itself; what is wrong with the pack is in the Report.
func Run(ctx context.Context, cfg Config) (Report, error) {
	t, err := newTrial(cfg)
	if err != nil {
		return Report{}, err
	}
	store, err := history.Open(ctx, cfg.Dir, t.line.now())
	if err != nil {
		return Report{}, err
	}
	t.pipe, err = pipeline.Open(ctx, pipeline.Config{
		Pack: t.pack, Fetcher: t.harness, Store: store, Feed: t.harness, Writer: t.writer, Jitter: -1, AlwaysDue: true, Now: t.line.now,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = t.play(ctx)
	}
	return t.report, errors.Join(err, store.Close())
}

func newTrial(cfg Config) (*trial, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	at, ok := cfg.Tape.SeekTick(1)
	if !ok {
		return nil, errors.New("nothing is recorded")
	}
	t := &trial{cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 0)), report: Report{Findings: []Finding{}}}
	t.stage = newStage(cfg.Evaluator)
	t.line = &line{tape: cfg.Tape, clock: at, recorded: at}
	var err error
	if t.pack, t.writer, err = cfg.Manifest.Make(t.stage); err != nil {
		return nil, fmt.Errorf("make pack: %w", err)
	}
	t.harness = &harness{
		fetcher:  source.NewFetcher(source.Config{Transport: t.line, Now: t.line.now, Shift: t.line.shift}),
		outcomes: make(map[string]source.Outcome), docs: make(map[string]source.Doc),
	}
	return t, nil
}

// play goes through all steps.
func (t *trial) play(ctx context.Context) error {
	for tick := 1; ; tick++ {
		at, ok := t.cfg.Tape.SeekTick(tick)
		if !ok {
			break
		}
		t.cfg.Progress(fmt.Sprintf("tick %d", tick))
		t.line.play(at)
		t.tick = tick
		if err := t.refresh(ctx, "answers"); err != nil {
			return err
		}
		t.answers()
		t.report.Ticks = append(t.report.Ticks, Tick{at, t.harness.pulse.State, t.harness.narration.Text, t.harness.tables, t.pack.Shown})
	}
	t.tick = 0
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{{"failures", t.failures}, {"hostile text", t.hostile}, {"size", t.size}, {"flags", t.flags}} {
		t.cfg.Progress(step.name)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("try %s: %w", step.name, err)
		}
	}
	return nil
}

// refresh refreshes a second later and examines what is published then.
func (t *trial) refresh(ctx context.Context, check string) error {
	t.line.pass(time.Second)
	t.report.Refreshes++
	_, err := t.pipe.Refresh(ctx, true)
	if err != nil && !errors.Is(err, pipeline.ErrAllFailed) {
		return err
	}
	if err == nil {
		t.examine(ctx, check)
	}
	return nil
}

// fail notes what is wrong, once.
func (t *trial) fail(check, source, format string, args ...any) {
	t.note(Finding{Check: check, Tick: t.tick, Source: source, Text: fmt.Sprintf(format, args...)})
}

// remark notes what may be meant so.
func (t *trial) remark(check, source, format string, args ...any) {
	t.note(Finding{Check: check, Tick: t.tick, Source: source, Text: fmt.Sprintf(format, args...), Note: true})
}

func (t *trial) note(f Finding) {
	if !slices.Contains(t.report.Findings, f) {
		t.report.Findings = append(t.report.Findings, f)
	}
}

// answers judges those of a recorded tick.
func (t *trial) answers() {
	for _, s := range t.pack.Sources {
		switch out := t.harness.outcomes[s.ID]; {
		case out.Err != nil:
			t.fail("answers", s.ID, "%v", out.Err)
		case out.Dropped > 0:
			t.remark("answers", s.ID, "%d rows were dropped", out.Dropped)
		}
	}
}

package packtest

import (
	"context"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/state"
)

// drawnRows is how many rows of a source a random state is made of.
const drawnRows = 12

// Random makes states of random rows, in the ranges of their fields and with names that have broken checks before, and holds each and its
// brief to the same as Run. Dir is not needed.
func Random(ctx context.Context, cfg Config, states int) ([]Finding, error) {
	t, err := newTrial(cfg)
	if err != nil {
		return nil, err
	}
	for _, s := range t.pack.Sources {
		if out := t.harness.Fetch(ctx, s.Connector, nil); out.Err != nil {
			return nil, fmt.Errorf("fetch %s: %w", s.ID, out.Err)
		}
	}
	var prev *state.Document
	for n := range states {
		t.line.pass(5 * time.Minute)
		t.stage.give(t.drawAll())
		if prev, err = t.once(ctx, prev); err != nil {
			return nil, err
		}
		if len(t.report.Findings) > 0 {
			t.note(Finding{Check: "state", Text: fmt.Sprintf("that was random state %d, seed %d: %s", n, cfg.Seed, prev.Text())})
			break
		}
	}
	return t.report.Findings, nil
}

func (t *trial) drawAll() map[string][]any {
	given := make(map[string][]any)
	names := awkwardNames()
	for i := range t.cfg.Manifest.Sources {
		s := &t.cfg.Manifest.Sources[i]
		rows := t.stage.rows(s.ID)
		d := newDrawer(t.rand, t.cfg.Manifest, s.ID, t.line.now().Add(-t.line.shift("")))
		d.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		drawn := make([]any, min(len(rows), 1+d.IntN(drawnRows)))
		for j := range drawn {
			row := d.draw(s, rows, j)
			if d.IntN(4) == 0 {
				row["name"] = names[d.IntN(len(names))]
			}
			drawn[j] = row
		}
		given[s.ID] = drawn
	}
	return given
}

// once makes one state of what is given, and a brief of it.
func (t *trial) once(ctx context.Context, prev *state.Document) (*state.Document, error) {
	in := pack.Input{Readings: make(map[string]pack.Reading), Prev: prev, Now: t.line.now()}
	for _, s := range t.pack.Sources {
		r := pack.Reading{Doc: t.harness.docs[s.ID], FetchedAt: in.Now}
		if t.rand.IntN(8) == 0 {
			r.FetchedAt, r.Failures, r.Err = in.Now.Add(-s.StaleAfter), 1, "network: connection refused"
		} else if out := t.harness.Fetch(ctx, s.Connector, r.Doc); out.Doc != nil {
			r.Doc = out.Doc
		}
		in.Readings[s.ID] = r
	}
	text, err := t.pack.Compact(in)
	if err != nil {
		return nil, err
	}
	doc := state.Read(text)
	p := state.Pulse{Pack: t.pack.ID, State: text, Doc: doc, Citations: t.pack.Citations(doc, t.pack.Status(in), in.Now)}
	t.checkState("state", text, p.Citations)
	draft, err := t.writer.Write(ctx, brief.Input{Pack: p.Pack, State: doc, Citations: p.Citations})
	if err != nil {
		return nil, fmt.Errorf("write brief: %w", err)
	}
	t.checkBrief(draft.Text, p)
	if len(t.report.Findings) > 0 {
		t.fail("brief", "", "the brief was: %s", draft.Text)
	}
	return doc, nil
}

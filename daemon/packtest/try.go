package packtest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TryConfig is what Try needs.
type TryConfig struct {
	Manifest     *manifest.Manifest
	Evaluator    manifest.Evaluator
	PrivateHosts []string // on private addresses, that may be asked
	Only         string   // the source that is asked; "" for all
	Now          func() time.Time
	Progress     func(source string) // is told who is asked next
}

// Tried is what live sources say, and what is made of it.
type Tried struct {
	Pack     string          `json:"pack"`
	At       time.Time       `json:"at"`
	Sources  []TriedSource   `json:"sources"`
	Flags    []api.Flag      `json:"flags"`
	Brief    string          `json:"brief"`
	State    json.RawMessage `json:"state"`
	Findings []string        `json:"findings"` // of the check of the brief

	Answers map[string][]byte `json:"-"` // by source, of those that answered
}

// TriedSource is what one source said.
type TriedSource struct {
	ID        string   `json:"id"`
	Class     string   `json:"class"` // as source.Class
	Error     string   `json:"error,omitempty"`
	LatencyMS int64    `json:"latencyMs"`
	Bytes     int      `json:"bytes"`
	Given     int      `json:"given"` // rows that jq gave
	Kept      int      `json:"kept"`
	Dropped   []string `json:"dropped"` // what is left out, and why

	Rows []api.Fields `json:"rows"` // as the tables have them
}

// Try asks every source once, as a daemon would.
func Try(ctx context.Context, cfg TryConfig) (Tried, error) {
	seen := newStage(cfg.Evaluator)
	p, writer, err := cfg.Manifest.Make(seen)
	if err != nil {
		return Tried{}, fmt.Errorf("make pack: %w", err)
	}
	fetcher := source.NewFetcher(source.Config{Now: cfg.Now, PrivateHosts: cfg.PrivateHosts})
	done := Tried{Pack: p.ID, At: cfg.Now().UTC(), Sources: []TriedSource{}, Findings: []string{}, Answers: make(map[string][]byte)}
	in := pack.Input{Readings: make(map[string]pack.Reading)}
	for _, s := range p.Sources {
		if cfg.Only != "" && cfg.Only != s.ID {
			continue
		}
		cfg.Progress(s.ID)
		out := fetcher.Fetch(ctx, s.Connector, nil)
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
		tried := TriedSource{ID: s.ID, Class: string(out.Class), LatencyMS: out.Latency.Milliseconds(), Bytes: len(seen.bodies[s.ID]),
			Given: len(seen.recorded[s.ID]), Dropped: []string{}, Rows: []api.Fields{}}
		reading := pack.Reading{Doc: out.Doc, FetchedAt: cfg.Now()}
		if out.Err != nil {
			tried.Error = out.Err.Error()
			reading = pack.Reading{Failures: 1, Err: tried.Error}
		} else {
			tried.Kept = out.Doc.Len()
			done.Answers[s.ID] = seen.bodies[s.ID]
		}
		tried.Dropped = append(tried.Dropped, cfg.Manifest.Dropped(s.ID, seen.recorded[s.ID])...)
		in.Readings[s.ID] = reading
		done.Sources = append(done.Sources, tried)
	}
	in.Now = cfg.Now()
	return done, done.conclude(ctx, p, writer, in)
}

// conclude makes state, flags and brief of what the sources said.
func (d *Tried) conclude(ctx context.Context, p *pack.Pack, writer brief.Writer, in pack.Input) (err error) {
	if d.State, err = p.Compact(in); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	read, err := readState(d.State)
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	d.Flags = read.flags
	doc := state.Read(d.State)
	for _, row := range p.Tables(in).Rows() {
		for i := range d.Sources {
			if d.Sources[i].ID == p.Sources[row.Ref-1].ID {
				named := api.Fields{{Name: "key", Value: row.Key}, {Name: "name", Value: row.Name}}
				d.Sources[i].Rows = append(d.Sources[i].Rows, append(named, row.Fields...))
			}
		}
	}
	text := brief.Input{Pack: p.ID, State: doc, Citations: p.Citations(doc, p.Status(in), in.Now)}
	draft, err := writer.Write(ctx, text)
	if err != nil {
		return fmt.Errorf("write brief: %w", err)
	}
	d.Brief = draft.Text
	for _, f := range brief.Check(draft.Text, text) {
		d.Findings = append(d.Findings, f.String())
	}
	return nil
}

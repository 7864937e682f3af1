package packtest

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// stage is an Evaluator that can give other rows than those of an answer, and remembers what it saw.
type stage struct {
	inner manifest.Evaluator

	mu       sync.Mutex       // guards what follows
	recorded map[string][]any // by source, of its last answer
	given    map[string][]any // instead, by source
	bodies   map[string][]byte
}

func newStage(inner manifest.Evaluator) *stage {
	return &stage{inner: inner, recorded: make(map[string][]any), given: make(map[string][]any), bodies: make(map[string][]byte)}
}

// Rows implements manifest.Evaluator.
func (s *stage) Rows(ctx context.Context, id string, answer []byte, at time.Time) ([]any, error) {
	s.mu.Lock()
	given, instead := s.given[id]
	s.mu.Unlock()
	if instead {
		return given, nil
	}
	rows, err := s.inner.Rows(ctx, id, answer, at)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies[id] = answer
	if err == nil && len(rows) > 0 {
		s.recorded[id] = rows
	}
	return rows, err
}

// Judge implements manifest.Evaluator.
func (s *stage) Judge(ctx context.Context, id string, rows []any, at time.Time) (manifest.Judgement, error) {
	return s.inner.Judge(ctx, id, rows, at)
}

// give has sources give other rows from now on, all of them those of their answers where rows is nil.
func (s *stage) give(rows map[string][]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.given)
	maps.Copy(s.given, rows)
}

// rows are the recorded rows of a source that are objects, as copies.
func (s *stage) rows(id string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []map[string]any
	for _, row := range s.recorded[id] {
		if object, is := row.(map[string]any); is {
			list = append(list, maps.Clone(object))
		}
	}
	return list
}

// asAny are rows as an Evaluator gives them.
func asAny(rows []map[string]any) []any {
	list := make([]any, len(rows))
	for i, row := range rows {
		list[i] = row
	}
	return list
}

// asking is the key of the context of a request, which holds the id of the source.
type asking struct{}

func asked(req *http.Request) string {
	id, _ := req.Context().Value(asking{}).(string)
	return id
}

// line is the transport between sources and tape, and their clock.
type line struct {
	tape Tape

	mu       sync.Mutex // guards what follows
	clock    time.Time
	recorded time.Time // when what is played was recorded
	broken   map[string]func(*http.Request) (*http.Response, error)
}

// RoundTrip answers as recorded, unless the source is broken.
func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	answer := l.broken[asked(req)]
	l.mu.Unlock()
	if answer != nil {
		return answer(req)
	}
	return l.tape.RoundTrip(req)
}

func (l *line) now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock
}

// shift is the time since what is played was recorded, of any source.
func (l *line) shift(string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock.Sub(l.recorded)
}

// play sets the clock to when something was recorded, unless it is later already.
func (l *line) play(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recorded = at
	if at.After(l.clock) {
		l.clock = at
	}
}

func (l *line) pass(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock = l.clock.Add(by)
}

// setBroken has sources answer so; nil mends all.
func (l *line) setBroken(ids []string, answer func(*http.Request) (*http.Response, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = make(map[string]func(*http.Request) (*http.Response, error))
	for _, id := range ids {
		l.broken[id] = answer
	}
}

// harness is where a pipeline fetches and publishes, and keeps what passed it last.
type harness struct {
	fetcher *source.Fetcher

	mu       sync.Mutex // guards the maps
	outcomes map[string]source.Outcome
	docs     map[string]source.Doc // the last good answers

	pulse     state.Pulse // these are only touched by a refresh, of which there is one at a time
	narration state.Narration
	tables    *state.Tables
}

var (
	_ pipeline.Fetcher   = (*harness)(nil)
	_ pipeline.Publisher = (*harness)(nil)
)

// Know implements pipeline.Fetcher.
func (h *harness) Know(source.Versions) {}

// Fetch implements pipeline.Fetcher.
func (h *harness) Fetch(ctx context.Context, c source.Connector, last source.Doc) source.Outcome {
	out := h.fetcher.Fetch(context.WithValue(ctx, asking{}, c.ID), c, last)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.outcomes[c.ID] = out
	if out.Doc != nil {
		h.docs[c.ID] = out.Doc
	}
	return out
}

// Publish implements pipeline.Publisher.
func (h *harness) Publish(p state.Pulse, b state.Narration, rows *state.Tables) error {
	h.pulse, h.narration, h.tables = p, b, rows
	return nil
}

// Restore implements pipeline.Publisher.
func (h *harness) Restore(p state.Pulse, b state.Narration, rows *state.Tables) error {
	return h.Publish(p, b, rows)
}

// PublishBrief implements pipeline.Publisher.
func (h *harness) PublishBrief(_ string, b state.Narration) error {
	h.narration = b
	return nil
}

// PublishHealth implements pipeline.Publisher.
func (h *harness) PublishHealth(_ string, rows *state.Tables, _ api.Ages) error {
	h.tables = rows
	return nil
}

// Fail implements pipeline.Publisher.
func (h *harness) Fail(string, string) {}

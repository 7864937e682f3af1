package reader_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// memory is a history in memory. err, if set, is what a broken one answers.
type memory struct {
	pulses []state.Pulse // oldest first
	err    error
}

var _ reader.History = (*memory)(nil)

func (m *memory) PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error) {
	if err := errors.Join(m.err, ctx.Err()); err != nil {
		return state.Pulse{}, err
	}
	for i := len(m.pulses) - 1; i >= 0; i-- {
		if p := m.pulses[i]; p.Pack == pack && p.GeneratedAt.Before(t) {
			return p, nil
		}
	}
	return state.Pulse{}, state.ErrNoPulse
}

func (m *memory) Past(ctx context.Context, pack string, times iter.Seq[time.Time]) iter.Seq2[state.Pulse, error] {
	return func(yield func(state.Pulse, error) bool) {
		for t := range times {
			p, err := m.PulseBefore(ctx, pack, t.Add(1))
			if errors.Is(err, state.ErrNoPulse) {
				p, err = state.Pulse{}, nil
			}
			if p.Citations = nil; !yield(p, err) || err != nil {
				return
			}
		}
	}
}

func (m *memory) Earliest(_ context.Context, pack string) (time.Time, error) {
	for _, p := range m.pulses {
		if p.Pack == pack {
			return p.GeneratedAt, m.err
		}
	}
	return time.Time{}, errors.Join(m.err, state.ErrNoPulse)
}

// newest is when the newest state of most tests was made.
func newest() time.Time { return time.Date(2026, 11, 20, 20, 5, 2, 340e6, time.UTC) }

// pulse is a pulse of pack with two of its three sources' citations as they were at the given time.
func pulse(id string, at time.Time, doc string) state.Pulse {
	return state.Pulse{Pack: id, Version: 1, GeneratedAt: at, State: []byte(doc), Citations: []api.Citation{
		{Ref: 1, SourceID: "one", URL: "https://one.test/", FetchedAt: at.Add(-time.Second), Excerpt: "BTC at $91,240"},
		{Ref: 2, SourceID: "two", URL: "https://two.test/", FetchedAt: at.Add(-time.Minute)},
	}}
}

// newPack is a pack of two sources.
func newPack(id string) reader.Pack {
	return reader.Pack{ID: id, Names: map[string]string{"one": "One & Only", "two": "Two"}, Shown: []state.Shown{
		{Kind: "coin", Path: "coins", Label: "name", Fields: []state.ShownField{{Name: "price"}, {Name: "day"}}},
		{Kind: "asset", Path: "assets", Label: "id", Fields: []state.ShownField{{Name: "priceUsd"}}},
	}}
}

// world is a Reader with its parts: the pack crypto has a state, ai has none.
type world struct {
	*reader.Reader
	feed    *feed.Feed
	history *memory
	now     atomic.Pointer[time.Time]
}

// has puts rows in place of those of the newest state.
func (w *world) has(t *testing.T, rows *state.Tables) {
	t.Helper()
	edition, _ := w.feed.Latest("crypto")
	if err := w.feed.PublishHealth("crypto", rows, edition.Ages()); err != nil {
		t.Fatal(err)
	}
}

// newWorld makes a world whose clock stands 61 seconds after newest.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{feed: feed.New("crypto", "ai"), history: &memory{}}
	w.clock(newest().Add(61 * time.Second))
	w.Reader = reader.New(reader.Config{
		Packs: []reader.Pack{newPack("crypto"), newPack("ai")}, Feed: w.feed, History: w.history,
		Now: func() time.Time { return *w.now.Load() },
		Trouble: func(id string) []api.SourceStatus {
			why := "HTTP 503"
			return []api.SourceStatus{{Ref: 1, ID: "one of " + id, Status: api.SourceError, Failures: 2, Error: &why}}
		},
	})
	if err := w.feed.Publish(pulse("crypto", newest(), `{"coins":[{"name":"Bitcoin","up":true},{"name":"bitcoins < 21M","price":1.50}]}`),
		state.Narration{}, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) clock(t time.Time) { w.now.Store(&t) }

// narrate publishes a brief of crypto.
func (w *world) narrate(t testing.TB, text string) {
	t.Helper()
	if err := w.feed.PublishBrief("crypto", state.Narration{Brief: state.Brief{Text: text, At: newest()}}); err != nil {
		t.Fatal(err)
	}
}

// ask makes both steps of a call.
func (w *world) ask(ctx context.Context, q api.Query, tier api.Tier) (reader.Answer, error) {
	view, err := w.Ready(q)
	if err != nil {
		return reader.Answer{}, err
	}
	return w.Answer(ctx, view, tier.SnapshotWindow())
}

// get is ask where no error is expected.
func (w *world) get(t testing.TB, q api.Query, tier api.Tier) reader.Answer {
	t.Helper()
	a, err := w.ask(t.Context(), q, tier)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return a
}

// refused fails unless err is the *api.Error want, all of it.
func refused(t testing.TB, what string, err error, want api.Error) {
	t.Helper()
	var got *api.Error
	if !errors.As(err, &got) {
		t.Errorf("%s: %v is no *api.Error", what, err)
		return
	}
	if got.Code != want.Code || got.Reason != want.Reason || got.Status != want.Status || got.Message != want.Message ||
		got.Hint != want.Hint ||
		got.RetryAfter != want.RetryAfter || got.Payment != nil || len(got.SourceStatus) != len(want.SourceStatus) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, *got, want)
	}
}

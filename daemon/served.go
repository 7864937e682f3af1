package daemon

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ pipeline.Store = keepingHistory{}
	_ reader.History = servedHistory{}
)

// servedHistory is a history of which nothing is read that may not be served, see pack.Serves: pipelines and readers know no other. What is
// logged stays as it is.
type servedHistory struct {
	*history.History
	pack func(id string) *pack.Pack // nil where it is not served
}

// keepingHistory is one that keeps evidence of the sources too, once what was made of it is saved.
type keepingHistory struct {
	servedHistory
	evidence *evidence.Store // nil for none
}

// SavePulse is that of the history.
func (h keepingHistory) SavePulse(ctx context.Context, p state.Pulse, b state.Brief, changed []state.SourceRecord) (api.Proof, error) {
	proof, err := h.servedHistory.SavePulse(ctx, p, b, changed)
	if err == nil && h.evidence != nil {
		h.evidence.Keep(p.Pack, changed)
	}
	return proof, err
}

// SaveSources is that of the history.
func (h keepingHistory) SaveSources(ctx context.Context, pack string, changed []state.SourceRecord) error {
	err := h.servedHistory.SaveSources(ctx, pack, changed)
	if err == nil && h.evidence != nil {
		h.evidence.Keep(pack, changed)
	}
	return err
}

func (h servedHistory) serves(p state.Pulse) bool {
	made := h.pack(p.Pack)
	return made == nil || made.Serves(p)
}

// PulseBefore is that of the history, or state.ErrWithheld.
func (h servedHistory) PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error) {
	p, err := h.History.PulseBefore(ctx, pack, t)
	if err == nil && !h.serves(p) {
		return state.Pulse{}, state.ErrWithheld
	}
	return p, err
}

// Past is that of the history, with none where a state is withheld.
func (h servedHistory) Past(ctx context.Context, pack string, times iter.Seq[time.Time]) iter.Seq2[state.Pulse, error] {
	return func(yield func(state.Pulse, error) bool) {
		var last time.Time // of a state that was looked at
		serves := true
		for p, err := range h.History.Past(ctx, pack, times) {
			if !p.GeneratedAt.IsZero() && !p.GeneratedAt.Equal(last) {
				last, serves = p.GeneratedAt, h.serves(p)
			}
			if err == nil && !p.GeneratedAt.IsZero() && !serves {
				p = state.Pulse{}
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// Earliest is when a state was made that is served, while the one before it is not: the oldest such one where clean was switched on once.
func (h servedHistory) Earliest(ctx context.Context, pack string) (time.Time, error) {
	first, err := h.History.Earliest(ctx, pack)
	if err != nil {
		return first, err
	}
	switch _, err := h.PulseBefore(ctx, pack, first.Add(time.Millisecond)); {
	case err == nil:
		return first, nil
	case !errors.Is(err, state.ErrWithheld):
		return first, err
	}
	newest, err := h.PulseBefore(ctx, pack, time.UnixMilli(1<<52))
	if err != nil {
		return time.Time{}, err
	}
	for from, to := first, newest.GeneratedAt; ; { // withheld, and served
		half := from.Add(to.Sub(from) / 2).Truncate(time.Millisecond) // as states are
		if !half.After(from) {
			return to, nil
		}
		switch p, err := h.PulseBefore(ctx, pack, half.Add(time.Millisecond)); {
		case errors.Is(err, state.ErrWithheld):
			from = half
		case err != nil:
			return time.Time{}, err
		default:
			to = p.GeneratedAt
		}
	}
}

// OpenPack is that of the history, without a newest state or brief that is withheld.
func (h servedHistory) OpenPack(ctx context.Context, pack string, now time.Time) (state.Saved, error) {
	saved, err := h.History.OpenPack(ctx, pack, now)
	if p := saved.Pulse; p != nil && !h.serves(*p) {
		saved.Pulse, saved.Withheld = nil, p.GeneratedAt
	}
	return h.brief(pack, saved), err
}

// Newer is that of the history, without states and a brief that are withheld.
func (h servedHistory) Newer(ctx context.Context, pack string, seen state.Mark) (state.News, error) {
	news, err := h.History.Newer(ctx, pack, seen)
	served := news.Pulses[:0]
	for _, p := range news.Pulses {
		if h.serves(p) {
			served = append(served, p)
		} else {
			news.Withheld = p.GeneratedAt
		}
	}
	news.Pulses, news.Saved = served, h.brief(pack, news.Saved)
	return news, err
}

// brief is saved without a brief of which it is not known that its state is served.
func (h servedHistory) brief(pack string, saved state.Saved) state.Saved {
	made := h.pack(pack)
	if made == nil || !made.Clean() || saved.BriefState != nil && made.Serves(*saved.BriefState) {
		return saved
	}
	saved.Brief, saved.BriefState = state.Brief{}, nil
	return saved
}

// unsold is what is served although it may not be sold, while calls are charged.
func (d *Daemon) unsold() (list []string) {
	if d.cfg.Recording == nil && d.cfg.Charges() {
		for _, p := range d.served.all() {
			list = append(list, p.Unsold()...)
		}
	}
	return list
}

// tellSources logs what an operator should know of the sources that are served: which may not be sold, and which are asked elsewhere.
func (d *Daemon) tellSources() {
	for _, p := range d.served.all() {
		for _, s := range p.Sources {
			if s.Moved != "" {
				d.cfg.Logger.Info("a source is asked at another address, see sources.url", "source", s.ID, "host", s.Asks[0].Host())
			}
		}
	}
	if list := d.unsold(); len(list) > 0 {
		d.cfg.Logger.Warn("calls are charged, and these sources may not be sold without a licence: see sell.clean and sources.licensed",
			"sources", list)
	}
}

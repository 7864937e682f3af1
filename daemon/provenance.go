package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ pipeline.Publisher = provenFeed{}
	_ reader.History     = provenHistory{}
)

// provenFeed is a feed in which each citation has its provenance: what this daemon has of the bodies when it is published, and once they
// are written, which is later.
type provenFeed struct {
	*feed.Feed
	evidence *evidence.Store // nil where none is kept
}

// Publish is that of the feed.
func (f provenFeed) Publish(p state.Pulse, b state.Narration, rows *state.Tables) error {
	p.Citations, b.Citations = f.proven(p, p.Citations), f.proven(p, b.Citations)
	return f.Feed.Publish(p, b, rows)
}

// Restore is that of the feed.
func (f provenFeed) Restore(p state.Pulse, b state.Narration, rows *state.Tables) error {
	p.Citations, b.Citations = f.proven(p, p.Citations), f.proven(p, b.Citations)
	return f.Feed.Restore(p, b, rows)
}

// PublishBrief is that of the feed.
func (f provenFeed) PublishBrief(pack string, b state.Narration) error {
	if newest, _ := f.Latest(pack); newest != nil {
		b.Citations = f.proven(newest.Pulse, b.Citations)
	}
	return f.Feed.PublishBrief(pack, b)
}

func (f provenFeed) proven(p state.Pulse, list []api.Citation) []api.Citation {
	return proven(f.evidence, p, list)
}

// proven is list, of p or of a state before it, with the provenance of each source that has answered.
func proven(kept *evidence.Store, p state.Pulse, list []api.Citation) []api.Citation {
	list = slices.Clone(list)
	status := p.Read().Sources()
	for i, c := range list {
		answered := slices.ContainsFunc(status, func(s api.SourceStatus) bool { return s.ID == c.SourceID && s.FetchedAt != nil })
		switch {
		case !answered:
			list[i].Provenance = ""
		case kept != nil && kept.Has(p.Pack, c.SourceID, c.FetchedAt):
			list[i].Provenance = api.Recomputable
		default:
			list[i].Provenance = api.SelfAttested
		}
	}
	return list
}

// provenHistory is a history whose citations have their provenance.
type provenHistory struct {
	servedHistory
	evidence *evidence.Store // nil where none is kept
}

// PulseBefore is that of the history.
func (h provenHistory) PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error) {
	p, err := h.servedHistory.PulseBefore(ctx, pack, t)
	if err == nil {
		p.Doc = p.Read()
		p.Citations = proven(h.evidence, p, p.Citations)
	}
	return p, err
}

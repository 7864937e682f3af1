// Package pack says what a pack is: an id and a version, its sources in an order that never changes within the version, and a
// pure function that compacts what the sources last said into one structured state.
//
// It does no I/O and reads no clock: daemon/pipeline gives it the readings and the time and stores what comes back.
package pack

import (
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/sdk/api"
)

// Source is one source of a pack. Its anchor [N] is its place in Pack.Sources, counted from 1.
type Source struct {
	source.Connector
	Name      string
	PublicURL string
	Licence   string // the terms under which its data may be used
}

// Pack is a data pack. Packs are made by functions such as Crypto and never change while the daemon runs.
type Pack struct {
	ID          string
	Title       string
	Description string
	Version     int // a new order of sources needs a new version
	Sources     []Source

	// Compact makes the state, compact JSON. It is pure: the same input gives the same bytes.
	Compact func(Input) ([]byte, error)
	// Excerpts returns, by source id, one fact of the state for the citation of that source. Sources without one are absent.
	Excerpts func(state []byte) map[string]string
	// Tables are all rows that the sources gave, of which the state is a selection. It is pure as well.
	Tables func(Input) *state.Tables
	// Shown says where in the state which of these rows stand, and so what has a past.
	Shown []state.Shown
}

// Reading is what is known of one source at compaction.
type Reading struct {
	Doc       source.Doc // the last good answer, nil if there never was one
	FetchedAt time.Time  // when Doc was fetched (or confirmed unchanged); zero if never
	Failures  int        // attempts that failed since then
	Err       string     // why the last attempt failed, "" after a good one
}

// Input is what Compact works on.
type Input struct {
	Readings map[string]Reading // by source id; an absent one was never fetched
	Prev     []byte             // the previous state, nil for the first
	Ended    []state.Ended      // flags that ended before it and are remembered
	Every    time.Duration      // from refresh to refresh: no source is asked more often
	Now      time.Time
}

// Citations lists every source of p in order, for a state whose source_status is given. start stands in for the time of
// a source that never answered: the moment the pack was first started.
func (p *Pack) Citations(state []byte, status []api.SourceStatus, start time.Time) []api.Citation {
	excerpts := p.Excerpts(state)
	fetched := make(map[string]time.Time, len(status))
	for _, s := range status {
		if s.FetchedAt != nil {
			fetched[s.ID] = *s.FetchedAt
		}
	}
	list := make([]api.Citation, len(p.Sources))
	for i, s := range p.Sources {
		at, ok := fetched[s.ID]
		if !ok {
			at = start
		}
		list[i] = api.Citation{Ref: i + 1, SourceID: s.ID, URL: s.PublicURL, FetchedAt: at.UTC(), Excerpt: excerpts[s.ID]}
	}
	return list
}

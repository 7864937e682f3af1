// Package pack says what a pack is: an id and a version, its sources in an order that never changes within the version, and a
// pure function that compacts what the sources last said into one structured state.
//
// It does no I/O and reads no clock: daemon/pipeline gives it the readings and the time and stores what comes back.
package pack

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Source is one source of a pack. Its anchor [N] is its place in Pack.Sources, counted from 1.
type Source struct {
	source.Connector
	Name      string
	PublicURL string
	Licence   string // what it asks of those who use its data, in a few words
	Licensed  bool   // the operator has a licence for it
}

// Pack is a data pack. Packs are made by functions such as Crypto and never change while the daemon runs.
type Pack struct {
	ID          string
	Version     int // a new order of sources needs a new version
	Title       string
	Description string
	Manifest    string // SHA-256 in hex of the text that declares it; "" for a pack in code
	Digest      string // of what it was made of; "" for a pack that is like no other
	clean       bool   // see Terms
	Sources     []Source
	Members     []api.PackMember // where rows stand in the state
	Kinds       []string         // of rows
	FlagKinds   []string         // of flags that it may raise; nil means any

	// Compact makes the state, compact JSON. It is pure: the same input gives the same bytes.
	Compact func(Input) ([]byte, error)
	// Excerpts returns, by source id, one fact of the state for the citation of that source. Sources without one are absent.
	Excerpts func(*state.Document) map[string]string
	// Tables are all rows that the sources gave, of which the state is a selection. It is pure as well.
	Tables func(Input) *state.Tables
	// Shown says where in the state which of these rows stand, and so what has a past.
	Shown []state.Shown
}

// Same reports whether p and other do the same: whether one was made as the other was.
func (p *Pack) Same(other *Pack) bool {
	return p == other || p.ID == other.ID && p.Version == other.Version && p.Digest != "" && p.Digest == other.Digest
}

// CheckAnchors reports that the sources of p do not begin with those that a state of the same version cites, in their order: an anchor must
// not change its meaning within a version.
func (p *Pack) CheckAnchors(of state.Pulse) error {
	if p.Version != of.Version || p.Continues(of.Citations) {
		return nil
	}
	return fmt.Errorf("pack %s: version %d has states whose sources are %s; now they are %s: raise its version",
		p.ID, p.Version, named(of.Citations, func(c api.Citation) string { return c.SourceID }),
		named(p.Sources, func(s Source) string { return s.ID }))
}

// named are the ids of sources with their anchors.
func named[T any](list []T, id func(T) string) string {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = fmt.Sprintf("[%d] %s", i+1, id(one))
	}
	return strings.Join(names, " ")
}

// Continues reports whether the sources of p begin with those that are cited, so that their anchors mean what they mean there.
func (p *Pack) Continues(cited []api.Citation) bool {
	for i, c := range cited {
		if i >= len(p.Sources) || p.Sources[i].ID != c.SourceID {
			return false
		}
	}
	return true
}

// Info says what p is, where its sources are not asked more often than each of every, and not at all for which unasked has a reason.
func (p *Pack) Info(every time.Duration, unasked func(source.Connector) string) api.PackInfo {
	info := api.PackInfo{
		ID: p.ID, Title: p.Title, Description: p.Description, Version: p.Version,
		Members: append([]api.PackMember{}, p.Members...), Kinds: append([]string{}, p.Kinds...),
		Sources: make([]api.PackSource, len(p.Sources)),
	}
	for i, s := range p.Sources {
		info.Sources[i] = api.PackSource{
			Ref: i + 1, ID: s.ID, Name: s.Name, URL: s.PublicURL, Licence: s.Licence, Use: s.Use, IntervalSeconds: s.seconds(every),
			Unasked: unasked(s.Connector), Moved: s.Moved != "",
		}
	}
	return info
}

// use is what the terms of who answered for s allow.
func (s Source) use(via string) api.Use {
	for _, b := range s.Fallbacks {
		if b.Via == via {
			return b.Use
		}
	}
	return s.Use
}

// seconds is how many lie between two attempts to ask s, where it is not asked more often than each of every.
func (s Source) seconds(every time.Duration) int { return int(max(s.Interval, every) / time.Second) }

// MembersOf are the members of a state that show rows so: their numbers are their fields.
func MembersOf(shown []state.Shown) []api.PackMember {
	list := make([]api.PackMember, len(shown))
	for i, s := range shown {
		list[i] = api.PackMember{Name: s.Path, Kind: s.Kind, Fields: make([]string, len(s.Fields))}
		if s.Within != "" {
			list[i].Name += "." + s.Within
		}
		for j, f := range s.Fields {
			list[i].Fields[j] = f.Name
		}
	}
	return list
}

// Reading is what is known of one source at compaction.
type Reading struct {
	Doc       source.Doc // the last good answer, nil if there never was one
	FetchedAt time.Time  // when Doc was fetched (or confirmed unchanged); zero if never
	Failures  int        // attempts that failed since then
	Err       string     // why the last attempt failed, "" after a good one
	Via       string     // who answered with Doc in place of the source, "" if nobody had to
	Ending    string     // what the last answer said of the end of its service, "" if nothing
}

// Input is what Compact works on.
type Input struct {
	Readings map[string]Reading // by source id; an absent one was never fetched
	Prev     *state.Document    // the previous state, nil for the first
	Beside   []api.Flag         // about sources, that were told beside it
	Ended    []state.Ended      // flags that ended before it and are remembered
	Every    time.Duration      // from refresh to refresh: no source is asked more often
	Now      time.Time
}

// flags are those that were told before in.Now.
func (in Input) flags() []api.Flag { return slices.Concat(in.Beside, in.Prev.Flags()) }

// Citations lists every source of p in order, for a state whose source_status is given. start stands in for the time of
// a source that never answered: the moment the pack was first started.
func (p *Pack) Citations(doc *state.Document, status []api.SourceStatus, start time.Time) []api.Citation {
	excerpts := p.Excerpts(doc)
	fetched, via := make(map[string]time.Time, len(status)), make(map[string]string)
	for _, s := range status {
		if s.FetchedAt != nil {
			fetched[s.ID], via[s.ID] = *s.FetchedAt, s.Via
		}
	}
	list := make([]api.Citation, len(p.Sources))
	for i, s := range p.Sources {
		at, ok := fetched[s.ID]
		if !ok {
			at = start
		}
		list[i] = api.Citation{
			Ref: i + 1, SourceID: s.ID, URL: s.PublicURL, FetchedAt: at.UTC(), Via: via[s.ID], Excerpt: excerpts[s.ID],
			Use: s.use(via[s.ID]),
		}
	}
	return list
}

package tui

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Saved is what the user chose of the screen, for the next time. The zero Saved is the usual screen.
type Saved struct {
	Span    string                `json:"span,omitempty"` // of charts, such as 7d
	Drawing view.Drawing          `json:"drawing,omitempty"`
	Packs   map[string]SavedPanes `json:"packs,omitempty"`
	Beside  string                `json:"beside,omitempty"` // pack at the right of another, "" for none
}

// SavedPanes is what the user chose of the panes of a pack.
type SavedPanes struct {
	Seen  []string       `json:"seen,omitempty"`  // panes that were in focus, the last one last
	Sorts map[string]int `json:"sorts,omitempty"` // orders of tables
}

// ReadSaved reads what Saved was written as. What it does not know is as usual.
func ReadSaved(text []byte) (k Saved) {
	if json.Unmarshal(text, &k) != nil {
		return Saved{}
	}
	if !slices.Contains(view.Drawings(), k.Drawing) {
		k.Drawing = ""
	}
	return k
}

// charts are how charts are drawn by k.
func (k Saved) charts() *Charts {
	c := &Charts{Drawing: k.Drawing}
	for _, span := range session.Spans() {
		if spanName(span) == k.Span {
			c.Span = span
		}
	}
	return c
}

// mostSeen bounds the panes of a pack that are kept.
const mostSeen = 8

// remember keeps what the user chose of the panes that are shown.
func (s *Live) remember() {
	if len(s.seen)+len(s.sorts) == 0 {
		return
	}
	panes := SavedPanes{Sorts: map[string]int{}}
	for _, p := range s.seen[max(0, len(s.seen)-mostSeen):] {
		panes.Seen = append(panes.Seen, string(p))
	}
	for p, by := range s.sorts {
		if by > 0 {
			panes.Sorts[string(p)] = by
		}
	}
	s.env.Packs[s.pack] = panes
}

// recall puts the panes as they were kept.
func (s *Live) recall() {
	panes := s.env.Packs[s.pack]
	for _, p := range panes.Seen {
		s.see(pane(p))
	}
	for p, by := range panes.Sorts {
		s.sorts[pane(p)] = max(by, 0)
	}
}

// remember keeps what the user chose of the panes of m.
func (m *Model) remember() {
	if live, ok := m.screens[0].(*Live); ok {
		live.remember()
	}
}

// saved is what the user chose so far of m.
func (m *Model) saved() Saved {
	m.remember()
	k := Saved{Drawing: m.env.Charts.Drawing, Packs: maps.Clone(m.env.Packs)}
	if span := m.env.Charts.Span; span > time.Duration(0) {
		k.Span = spanName(span)
	}
	return k
}

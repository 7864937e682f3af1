package replay

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/atomicfile"
)

// saveEvery is how often a Living writes down where it stands; what a kill loses of it is one walk of that time.
const saveEvery = 5 * time.Minute

// saved is where a Living stands: all that its seed and the time do not tell.
type saved struct {
	Version      int
	Things       []string // by place; another list is of another program
	Start, Begun time.Time
	Due          time.Time
	Number       int

	Tick    int
	At      time.Time
	Courses [][2]float64
	Fear    []savedValue
	Stories [3][]savedStory
	Trail   []savedTrace
	Events  []Event
}

type (
	savedValue struct {
		At    time.Time
		Value float64
	}
	savedStory struct {
		Title, Slug string
		At          time.Time
	}
	savedTrace struct {
		At     time.Time
		Values []float64
	}
)

// savedVersion changes with saved.
const savedVersion = 1

// Close writes down where l stands, if that is wanted, for the next one with the same Path.
func (l *Living) Close() error {
	if l == nil || l.cfg.Path == "" {
		return nil
	}
	return l.save()
}

// save writes down where l stands.
func (l *Living) save() error {
	k := saved{Version: savedVersion, Begun: l.others.begun, Due: l.due, Number: l.number}
	l.market.mu.Lock()
	l.market.put(&k)
	l.market.mu.Unlock()
	return atomicfile.File{Path: l.cfg.Path, Mode: 0o600}.Write(func(w io.Writer) error { return gob.NewEncoder(w).Encode(k) })
}

// readSaved reads what save has written, nil where nothing is or another program wrote it.
func readSaved(path string, things []thing) (*saved, error) {
	if path == "" {
		return nil, nil
	}
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read where the market stood: %w", err)
	}
	defer in.Close()
	var k saved
	same := func(id string, t thing) bool { return id == t.id }
	if err := gob.NewDecoder(in).Decode(&k); err != nil || k.Version != savedVersion || !slices.EqualFunc(k.Things, things, same) {
		return nil, nil
	}
	return &k, nil
}

// put tells k where m stands.
func (m *Market) put(k *saved) {
	last := m.moments[len(m.moments)-1]
	k.Start, k.Tick, k.At, k.Events = m.cfg.Start, m.tick(), last.at, slices.Clone(m.cfg.Events)
	for i, t := range m.base.things {
		k.Things = append(k.Things, t.id)
		k.Courses = append(k.Courses, [2]float64{last.courses[i].now, last.courses[i].day})
	}
	for _, f := range last.fear {
		k.Fear = append(k.Fear, savedValue{f.day, f.value})
	}
	for i, list := range last.stories {
		for _, s := range list {
			k.Stories[i] = append(k.Stories[i], savedStory{s.title, s.slug, s.at})
		}
	}
	for _, t := range m.trail {
		k.Trail = append(k.Trail, savedTrace{t.at, t.values})
	}
}

// take has m stand where k says.
func (m *Market) take(k *saved) {
	now := &moment{at: k.At}
	for _, c := range k.Courses {
		now.courses = append(now.courses, course{c[0], c[1]})
	}
	for _, f := range k.Fear {
		now.fear = append(now.fear, fearDay{f.At, f.Value})
	}
	for i, list := range k.Stories {
		for _, s := range list {
			now.stories[i] = append(now.stories[i], story{title: s.Title, slug: s.Slug, at: s.At})
		}
	}
	m.cfg.Start, m.cfg.Events, m.first, m.moments, m.trail = k.Start, k.Events, k.Tick, []*moment{now}, nil
	for _, t := range k.Trail {
		m.trail = append(m.trail, trace{t.At, t.Values})
	}
}

package session

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// Mark is what an entry of the log is marked with.
type Mark int

// The marks.
const (
	Plain Mark = iota
	Critical
	Warned
	Noticed
	Over // a flag that ended, a source that answers again
	Rose
	Fell
	Headline
)

// What makes a move news: so much of a value, in percent, within so long, and told once in that time.
const (
	newsMove   = 1.0
	newsWithin = 5 * time.Minute
	mostMoves  = 4 // told of one state, the largest
)

// named is what a key of the series is called and which field it is of.
type named struct {
	name, field string
	ref         int
}

// news tells what a state brought, the least first, since the newest stands at the top: moves, headlines, sources, flags.
func (s *Session) news(old, now content, first bool) {
	readable := func(c content) bool { return c.view != nil }
	switch {
	case first:
		s.noteStanding(now)
		return
	case !readable(old) || !readable(now): // what is not known has not ended
		return
	}
	s.noteMoves(now)
	s.noteHeadlines(old, now)
	s.noteSources(old, now)
	s.noteFlags(old, now)
}

// noteStanding tells what holds when one comes: headlines and flags, as of when they came.
func (s *Session) noteStanding(now content) {
	var list []Entry
	for _, f := range slices.Backward(now.flags) { // the gravest is the first
		list = append(list, flagged(f, f.Since))
	}
	for _, h := range headlines(now) {
		list = append(list, headline(h, h.At))
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return a.At.Compare(b.At) })
	for _, e := range list {
		s.Log.put(e)
	}
}

func flagged(f api.Flag, at time.Time) Entry {
	mark := Noticed
	switch f.Severity {
	case api.SeverityCritical:
		mark = Critical
	case api.SeverityWarning:
		mark = Warned
	}
	return Entry{At: at, Level: News, Mark: mark, Text: view.Line(f.Message), Ref: f.Ref}
}

// noteFlags tells which flags went up, became graver and ended.
func (s *Session) noteFlags(old, now content) {
	was := map[string]api.Flag{}
	for _, f := range old.flags {
		was[f.ID] = f
	}
	for _, f := range slices.Backward(now.flags) {
		before, stood := was[f.ID]
		delete(was, f.ID)
		if !stood || rank(f.Severity) > rank(before.Severity) {
			s.Log.put(flagged(f, s.Now))
		}
	}
	for _, f := range old.flags {
		if _, ended := was[f.ID]; ended {
			said := "over: " + view.Line(f.Message)
			if lasted := s.TS.Sub(f.Since); f.Since.Unix() > 0 && lasted > 0 {
				said += ", after " + human.Age(lasted)
			}
			s.Log.put(Entry{At: s.Now, Level: News, Mark: Over, Text: said, Ref: f.Ref})
		}
	}
}

func rank(severity api.Severity) int {
	return slices.Index([]api.Severity{api.SeverityNotice, api.SeverityWarning, api.SeverityCritical}, severity)
}

// noteSources tells which sources answer no more, and which do again.
func (s *Session) noteSources(old, now content) {
	was := map[string]api.SourceState{}
	for _, source := range old.sources {
		was[source.ID] = source.Status
	}
	for _, source := range now.sources {
		before, known := was[source.ID]
		id := view.Line(source.ID)
		switch {
		case !known || before == source.Status:
		case source.Status == api.SourceOK:
			s.Log.put(Entry{At: s.Now, Level: News, Mark: Over, Text: id + " answers again", Ref: source.Ref})
		case before == api.SourceOK:
			said := id + " does not answer"
			if source.Error != nil {
				said += ": " + view.Line(*source.Error)
			}
			s.Log.put(Entry{At: s.Now, Level: News, Mark: Warned, Text: said, Ref: source.Ref})
		}
	}
}

func (s *Session) noteHeadlines(old, now content) {
	was := map[string]bool{}
	for _, h := range headlines(old) {
		was[h.URL] = true
	}
	for _, h := range slices.Backward(headlines(now)) {
		if !was[h.URL] {
			s.Log.put(headline(h, s.Now))
		}
	}
}

func headline(h state.ViewRow, at time.Time) Entry {
	return Entry{At: at, Level: News, Mark: Headline, Text: view.Line(h.Name), Ref: h.Ref, URL: h.URL}
}

// headlines are those of a state, each once.
func headlines(c content) (list []state.ViewRow) {
	if c.view == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, t := range c.view.Tables {
		for _, r := range t.Rows {
			for _, h := range r.News {
				if !seen[h.URL] {
					seen[h.URL] = true
					list = append(list, h)
				}
			}
		}
	}
	return list
}

// noteMoves tells of the values that moved most in the last minutes, each once in that time.
func (s *Session) noteMoves(now content) {
	type move struct {
		key      string
		from, to float64
		share    float64
		over     time.Duration
	}
	names := now.names()
	var list []move
	for key := range names {
		points := s.Points(key)
		if len(points) < 2 || s.Now.Sub(s.moved[key]) < newsWithin {
			continue
		}
		last, i := points[len(points)-1], len(points)-2
		for i > 0 && last.At.Sub(points[i].At) < newsWithin {
			i--
		}
		from := points[i]
		if over := last.At.Sub(from.At); from.V != 0 && last.At.Equal(s.TS) && over <= 2*newsWithin {
			if share := (last.V - from.V) / math.Abs(from.V) * 100; math.Abs(share) >= newsMove {
				list = append(list, move{key, from.V, last.V, share, over})
			}
		}
	}
	slices.SortFunc(list, func(a, b move) int {
		if x, y := math.Abs(a.share), math.Abs(b.share); x != y {
			return int(math.Copysign(1, y-x))
		}
		return 0
	})
	if s.moved == nil {
		s.moved = map[string]time.Time{}
	}
	for _, m := range slices.Backward(list[:min(len(list), mostMoves)]) {
		n, mark := names[m.key], Rose
		if m.share < 0 {
			mark = Fell
		}
		said := fmt.Sprintf("%s %s, %s in %s", n.name, human.Field(n.field, m.to), human.Percent(m.share), inMinutes(m.over))
		s.Log.put(Entry{At: s.Now, Level: News, Mark: mark, Text: said, Ref: n.ref})
		s.moved[m.key] = s.Now
	}
}

func inMinutes(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
}

// names are the rows whose moves are news, by the keys of their series. Rows whose number is a percentage have no share of their own.
func (c content) names() map[string]named {
	list := map[string]named{}
	for i := range c.view.Tables {
		t := &c.view.Tables[i]
		if t.Quiet || t.Readings || t.Past == "" || human.FieldMoves(t.Past) {
			continue
		}
		for _, r := range t.Rows {
			name := r.Name
			if t.Symbols {
				name = r.Symbol
			}
			list[SeriesOf(t, r)] = named{view.Line(name), t.Past, r.Ref}
		}
	}
	return list
}

// read reads the state of a pack. One of no known form has nothing.
func read(pack string, doc *state.Document) content {
	v, ok := doc.View(pack)
	if !ok {
		return content{}
	}
	return content{&v, v.Flags, v.Sources}
}

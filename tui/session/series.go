package session

import (
	"math"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// maxPoints bounds a series. The older half of one that is longer is thinned out.
const maxPoints = 480

// MostSpan is how far back trends reach.
const MostSpan = api.SeriesSpanDefault

// Spans are those that charts can have, the shortest first.
func Spans() []time.Duration {
	return []time.Duration{time.Hour, MostSpan, 7 * MostSpan, 30 * MostSpan}
}

// Point is a number at a time.
type Point struct {
	At time.Time
	V  float64
}

// Series are the numbers of the rows of a pack over time, oldest first, by Key. What was not known at a time is left out.
type Series map[string][]Point

// Key is the key of the series of a row: the member of the state that it is in, and its id.
func Key(member, id string) string { return member + "/" + id }

// SeriesOf is the key of a row of a table, "" where it has no series.
func SeriesOf(t *state.ViewTable, r state.ViewRow) string {
	switch {
	case t.Readings && r.Reading.Row != "":
		return Key(t.Member, r.Reading.Row)
	case t.Readings || t.Past == "":
		return ""
	}
	return Key(t.Member, r.ID)
}

// add adds a number of a row, unless one of that time is there.
func (s Series) add(key string, p Point) {
	list := s[key]
	i, found := slices.BinarySearchFunc(list, p.At, func(p Point, at time.Time) int { return p.At.Compare(at) })
	if found {
		return
	}
	if list = slices.Insert(list, i, p); len(list) > maxPoints {
		half, n := len(list)/2, 0
		list = slices.DeleteFunc(list, func(Point) bool {
			n++
			return n <= half && n%2 == 0
		})
	}
	s[key] = list
}

func (s Series) addAll(at time.Time, numbers map[string]float64) {
	for key, v := range numbers {
		s.add(key, Point{at, v})
	}
	s.trim(at.Add(-MostSpan))
}

// trim lets go of what was before from, where each line that goes on from there begins.
func (s Series) trim(from time.Time) {
	for key, list := range s {
		i, found := slices.BinarySearchFunc(list, from, func(p Point, at time.Time) int { return p.At.Compare(at) })
		switch {
		case i == 0 || i == len(list):
		case found:
			s[key] = list[i:]
		default:
			list[i-1] = Point{from, between(list[i-1], list[i], from)}
			s[key] = list[i-1:]
		}
	}
}

func between(a, b Point, at time.Time) float64 {
	return a.V + (b.V-a.V)*float64(at.Sub(a.At))/float64(b.At.Sub(a.At))
}

// numbers are the values of a state that are worth a series, nil where there are none.
func (c content) numbers() map[string]float64 {
	if c.view == nil {
		return nil
	}
	n := map[string]float64{}
	for i := range c.view.Tables {
		t := &c.view.Tables[i]
		for _, r := range t.Rows {
			field := t.Past
			if t.Readings {
				field = r.Reading.Main
			}
			if x, known := r.Fields.Get(field).(float64); known && SeriesOf(t, r) != "" {
				n[SeriesOf(t, r)] = x
			}
		}
	}
	return n
}

// past is what is known of the past of a pack.
type past struct {
	near  Series                 // within MostSpan
	far   map[time.Duration]*far // of the spans beyond it
	asked map[spanned]bool
}

// far is what a service told of a span beyond MostSpan.
type far struct {
	rows Series
	from time.Time // the oldest number of any row
}

type spanned struct {
	member string
	span   time.Duration
}

func newPast() past {
	return past{Series{}, map[time.Duration]*far{}, map[spanned]bool{}}
}

// Ask notes that the past of a member over one of the Spans is asked for.
func (s *Session) Ask(member string, span time.Duration) { s.known.asked[spanned{member, span}] = true }

// Asked reports whether it was.
func (s *Session) Asked(member string, span time.Duration) bool {
	return s.known.asked[spanned{member, span}]
}

// Refused notes that it cannot be had for now.
func (s *Session) Refused(member string, span time.Duration) {
	delete(s.known.asked, spanned{member, span})
}

// PointsOver are the numbers of a row within one of the Spans before the newest state, oldest first. Where the first of them is older, the
// line to the next one is cut off there.
func (s *Session) PointsOver(key string, span time.Duration) []Point {
	list, from := s.known.near[key], s.TS.Add(-span)
	if f := s.known.far[span]; f != nil && span > MostSpan {
		until := s.TS
		if len(list) > 0 {
			until = list[0].At
		}
		older := f.rows[key]
		n, _ := slices.BinarySearchFunc(older, until, func(p Point, at time.Time) int { return p.At.Compare(at) })
		list = slices.Concat(older[:n], list)
	}
	i, found := slices.BinarySearchFunc(list, from, func(p Point, at time.Time) int { return p.At.Compare(at) })
	if i > 0 && i < len(list) && !found {
		cut := slices.Clone(list[i-1:])
		cut[0] = Point{from, between(cut[0], cut[1], from)}
		return cut
	}
	return list[i:]
}

// Reach is the time from the oldest number of any series to the newest state, at most one of the Spans.
func (s *Session) Reach(span time.Duration) time.Duration {
	reach := s.span
	if f := s.known.far[span]; f != nil {
		reach = max(reach, s.TS.Sub(f.from))
	}
	return min(reach, span)
}

// Points are the numbers of a row of the state within MostSpan of the newest state, oldest first; see Key for the key.
func (s *Session) Points(key string) []Point {
	list, from := s.known.near[key], s.TS.Add(-MostSpan)
	i, _ := slices.BinarySearchFunc(list, from, func(p Point, at time.Time) int { return p.At.Compare(at) })
	return list[i:]
}

// Moves reports whether the numbers of a row differ.
func (s *Session) Moves(key string) bool {
	list := s.Points(key)
	return slices.ContainsFunc(list, func(p Point) bool { return p.V != list[0].V })
}

// Span is the time from the oldest number of any series to the newest state, at most MostSpan.
func (s *Session) Span() time.Duration { return s.span }

func (s *Session) measure() time.Duration {
	return min(s.TS.Sub(s.known.near.oldest(s.TS)), MostSpan)
}

// oldest is the time of the oldest number, now where none is older.
func (s Series) oldest(now time.Time) time.Time {
	for _, list := range s {
		if len(list) > 0 && list[0].At.Before(now) {
			now = list[0].At
		}
	}
	return now
}

// Window are n values of a row at even times of the Span that ends with the newest state: each lies on the line between the numbers beside
// it. Before the first there is none.
func (s *Session) Window(key string, n int) []float64 {
	return s.Spread(s.Points(key), s.span, n)
}

// Spread are n values at even times of a span that ends with the newest state, as Window has them.
func (s *Session) Spread(points []Point, span time.Duration, n int) []float64 {
	if len(points) < 2 || n < 2 || span <= 0 {
		return nil
	}
	values, at := make([]float64, n), 0
	for i := range values {
		t := s.TS.Add(-span + span*time.Duration(i)/time.Duration(n-1))
		for at < len(points)-1 && !points[at+1].At.After(t) {
			at++
		}
		p := points[at]
		switch {
		case t.Before(p.At):
			values[i] = math.NaN()
		case at == len(points)-1:
			values[i] = p.V
		default:
			values[i] = between(p, points[at+1], t)
		}
	}
	return values
}

// Load adds what the service knows of the past of a member over a span.
func (s *Session) Load(member string, past *api.SeriesResponse, span time.Duration) {
	t, idle, to := s.View.Table(member), idle(past), s.known.near
	if t == nil {
		return
	}
	if span > MostSpan {
		f := s.known.far[span]
		if f == nil {
			f = &far{Series{}, s.TS}
			s.known.far[span] = f
		}
		defer func() { f.from = f.rows.oldest(f.from) }()
		to = f.rows
	}
	for _, r := range past.Rows {
		key := Key(member, r.Key)
		if t.Readings {
			key = Key(member, r.Kind+"/"+r.Key)
		} else if t.Past != r.Field {
			continue
		}
		if t.Readings && !slices.ContainsFunc(t.Rows, func(row state.ViewRow) bool { return SeriesOf(t, row) == key }) {
			continue
		}
		for i, v := range r.Values {
			if v != nil && i < len(past.Times) && !idle[i] {
				to.add(key, Point{past.Times[i], *v})
			}
		}
	}
	s.known.near.trim(s.TS.Add(-MostSpan))
	s.span = s.measure()
}

// idle are the times of an answer at which it repeats a state for want of a newer one: nothing moves until most of what is known moves at
// once. A line joins the states around them; where rows move one by one, as those of services do, they stand still in truth.
func idle(past *api.SeriesResponse) map[int]bool {
	list, next := map[int]bool{}, false
	for i := len(past.Times) - 1; i > 0; i-- {
		moved, known := 0, 0
		for _, r := range past.Rows {
			if i < len(r.Values) && r.Values[i] != nil {
				known++
				if before := r.Values[i-1]; before == nil || *before != *r.Values[i] {
					moved++
				}
			}
		}
		if moved > 0 {
			next = 2*moved > known
		}
		list[i] = moved == 0 && next
	}
	return list
}

// Pasts are the members whose past can be loaded, the most important first.
func (s *Session) Pasts() (list []string) {
	if s.View == nil {
		return nil
	}
	for _, t := range s.View.Tables {
		if len(t.Rows) > 0 && (t.Readings || t.Past != "") {
			list = append(list, t.Member)
		}
	}
	return list
}

// Rows is how many rows a member of the state has.
func (s *Session) Rows(member string) int {
	if member == api.MemberFlags {
		return len(s.Flags)
	}
	if t := s.View.Table(member); t != nil {
		return len(t.Rows)
	}
	return 0
}

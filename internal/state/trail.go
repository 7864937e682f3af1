package state

import (
	"math"
	"sync"
	"time"
)

// How much of the past a Trail has.
const (
	trailed     = 288             // samples
	trailEvery  = 4 * time.Minute // no two samples are closer
	trailSeries = 20_000          // numbers that are followed at most
)

// Point is what a number was at a time.
type Point struct {
	At    time.Time `json:"at"`
	Value float64   `json:"value"`
}

// Trail is what the numbers of all rows of a pack were of late, also of those that no state shows. It is lost with the process.
type Trail struct {
	mu     sync.RWMutex
	times  [trailed]time.Time // by turns
	added  int
	series map[trailKey]*trailOf
}

type trailKey struct{ kind, key, field string }

// trailOf is one number, to the seven digits that a float32 has: more than texts have of it.
type trailOf struct {
	values [trailed]float32 // NaN where it was not there
	last   int              // the sample that had it last
}

// Add adds what rows say at a time. What is no later than the sample before by some minutes is left out.
func (t *Trail) Add(at time.Time, rows *Tables) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.series == nil {
		t.series = map[trailKey]*trailOf{}
	}
	if t.added > 0 && at.Sub(t.times[(t.added-1)%trailed]) < trailEvery {
		return
	}
	turn := t.added % trailed
	t.times[turn] = at
	for i := range rows.rows {
		r := &rows.rows[i]
		kind := rows.KindNamed(r.Kind)
		if kind.Own {
			continue
		}
		for _, f := range kind.Fields {
			if v, is := r.Number(f.Name); is {
				t.set(trailKey{r.Kind, r.Key, f.Name}, turn, v)
			}
		}
	}
	for key, s := range t.series {
		switch {
		case t.added-s.last >= trailed:
			delete(t.series, key)
		case s.last != t.added:
			s.values[turn] = float32(math.NaN())
		}
	}
	t.added++
}

func (t *Trail) set(key trailKey, turn int, v float64) {
	s := t.series[key]
	if s == nil {
		if len(t.series) >= trailSeries {
			return
		}
		s = &trailOf{}
		for i := range s.values {
			s.values[i] = float32(math.NaN())
		}
		t.series[key] = s
	}
	s.values[turn], s.last = float32(v), t.added
}

// Before is what the number of a row was in the samples from a time up to another, the newest first.
func (t *Trail) Before(from, to time.Time, kind, key, field string) (list []Point) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := t.series[trailKey{kind, key, field}]
	for n := t.added - 1; s != nil && n >= max(0, t.added-trailed); n-- {
		at, v := t.times[n%trailed], float64(s.values[n%trailed])
		if at.Before(to) && !at.Before(from) && !math.IsNaN(v) {
			list = append(list, Point{at, v})
		}
	}
	return list
}

// Since is the time of the oldest sample; zero where there is none.
func (t *Trail) Since() time.Time {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.added == 0 {
		return time.Time{}
	}
	return t.times[max(0, t.added-trailed)%trailed]
}

package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// TestTrail: what numbers were is kept for a day of samples, by row and field, and what is gone is forgotten.
func TestTrail(t *testing.T) {
	t.Parallel()
	kinds := []Kind{{Name: "asset", Fields: []Field{{Name: "priceUsd"}, {Name: "category"}}},
		{Name: "news", Own: true, Fields: []Field{{Name: "score"}}}}
	rows := func(price float64, more ...Row) *Tables {
		return NewTables(kinds, append(more, Row{Kind: "asset", Key: "bitcoin", Name: "Bitcoin",
			Fields: api.Fields{{Name: "priceUsd", Value: price}, {Name: "category", Value: "coin"}}}))
	}
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	after := func(n int) time.Time { return start.Add(time.Duration(n) * 5 * time.Minute) }
	var trail Trail
	if got := trail.Before(start, after(1), "asset", "bitcoin", "priceUsd"); got != nil || !trail.Since().IsZero() {
		t.Errorf("nothing was added: %v since %s", got, trail.Since())
	}
	trail.Add(start, rows(1, Row{Kind: "asset", Key: "gone", Name: "Gone", Fields: api.Fields{{Name: "priceUsd", Value: 7.0}}},
		Row{Kind: "news", Key: "n", Name: "News", Fields: api.Fields{{Name: "score", Value: 3.0}}}))
	trail.Add(start.Add(trailEvery-time.Millisecond), rows(99)) // too soon
	trail.Add(after(1), rows(2.5))
	trail.Add(after(2), rows(3))
	for _, c := range []struct {
		from, to    time.Time
		kind, key   string
		field, want string
	}{
		{start, after(3), "asset", "bitcoin", "priceUsd", "[3 2.5 1]"}, {start, after(2), "asset", "bitcoin", "priceUsd", "[2.5 1]"},
		{start.Add(1), after(3), "asset", "bitcoin", "priceUsd", "[3 2.5]"}, {start, after(3), "asset", "gone", "priceUsd", "[7]"},
		{start, after(3), "asset", "bitcoin", "category", "[]"}, {start, after(3), "news", "n", "score", "[]"},
	} {
		values := []float64{}
		for _, p := range trail.Before(c.from, c.to, c.kind, c.key, c.field) {
			values = append(values, p.Value)
		}
		if got := fmt.Sprint(values); got != c.want {
			t.Errorf("%s/%s %s from %s to %s: %s, want %s", c.kind, c.key, c.field, c.from, c.to, got, c.want)
		}
	}
	for n := 3; n < trailed; n++ {
		trail.Add(after(n), rows(float64(n)))
	}
	if first := trail.Since(); !first.Equal(start) || len(trail.series) != 2 {
		t.Errorf("%d numbers since %s", len(trail.series), first)
	}
	trail.Add(after(trailed), rows(trailed))
	list := trail.Before(time.Time{}, after(trailed+1), "asset", "bitcoin", "priceUsd")
	if first := trail.Since(); !first.Equal(after(1)) || len(trail.series) != 1 || len(list) != trailed || list[0].Value != trailed ||
		list[trailed-1].Value != 2.5 {
		t.Errorf("%d numbers since %s, %d samples", len(trail.series), first, len(list))
	}
}

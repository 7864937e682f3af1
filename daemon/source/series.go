package source

import (
	"slices"
	"time"
)

// Sample is a value and since when it was so.
type Sample struct {
	At    time.Time
	Value float64
}

// changeSince is the change of the last of points, oldest first, against the point at a time before it, in percent. It is nil if
// there is no point within half a day of then.
func changeSince(points []Sample, before time.Duration) *float64 {
	if len(points) == 0 {
		return nil
	}
	last := points[len(points)-1]
	then := last.At.Add(-before)
	for _, p := range slices.Backward(points) {
		if p.At.Sub(then).Abs() <= 12*time.Hour && p.Value > 0 {
			change := (last.Value - p.Value) / p.Value * 100
			return &change
		}
	}
	return nil
}

// clampTime is t, or at if t lies after it: upstream times are clamped to the time of the fetch.
func clampTime(t, at time.Time) time.Time {
	if t.After(at) {
		return at
	}
	return t
}

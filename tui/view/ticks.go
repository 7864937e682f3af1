package view

import (
	"math"
	"time"
)

// Steps are round times, which an axis is divided by.
func Steps() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day,
		2 * day, 7 * day, 14 * day}
}

// Step is the shortest of Steps of which span has at most so many, the longest where none is.
func Step(span time.Duration, most int) time.Duration {
	steps := Steps()
	for _, step := range steps {
		if span/step <= time.Duration(most) {
			return step
		}
	}
	return steps[len(steps)-1]
}

// Rounds are the times from one to another that are whole steps of their day, or of days, by the clock of their zone.
func Rounds(from, to time.Time, step time.Duration) (list []time.Time) {
	const day = 24 * time.Hour
	at := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location())
	for !at.After(to) {
		if !at.Before(from) {
			list = append(list, at)
		}
		if step >= day {
			at = at.AddDate(0, 0, int(step/day))
		} else {
			at = at.Add(step)
		}
	}
	return list
}

// Values are round numbers between low and high, at most so many, the lowest first.
func Values(low, high float64, most int) (list []float64) {
	if !(high > low) || most < 1 || math.IsInf(high-low, 0) {
		return nil
	}
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/float64(most+1))))
	for _, times := range []float64{1, 2, 2.5, 5, 10, 20} {
		step := unit * times
		first, n := math.Ceil(low/step), int(math.Floor(high/step)-math.Ceil(low/step))+1
		if n > most {
			continue
		}
		for i := range n {
			list = append(list, (first+float64(i))*step)
		}
		return list
	}
	return nil
}

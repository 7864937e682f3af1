package human

import (
	"fmt"
	"regexp"
	"time"
)

// About is the moment that a figure is about, as exact as its source tells it: a time, a day, a month, a quarter or a year, in UTC.
type About struct {
	Begin, End time.Time // equal for a time
	form       aboutForm
}

type aboutForm int

const (
	aboutTime aboutForm = iota
	aboutDay
	aboutMonth
	aboutQuarter
	aboutYear
)

var quarterForm = regexp.MustCompile(`^(\d{4})-?Q([1-4])$`)

// ParseAbout reads 2026-11-21, 2026-10, 2026-Q3, 2026 or a time as RFC 3339 has it.
func ParseAbout(text string) (a About, ok bool) {
	if m := quarterForm.FindStringSubmatch(text); m != nil {
		begin, err := time.Parse("2006-1", fmt.Sprintf("%s-%d", m[1], 3*(m[2][0]-'1')+1))
		return About{begin, begin.AddDate(0, 3, 0), aboutQuarter}, err == nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return AboutDay(at), true
	}
	if at, err := time.Parse("2006-01", text); err == nil {
		return About{at, at.AddDate(0, 1, 0), aboutMonth}, true
	}
	if at, err := time.Parse("2006", text); err == nil {
		return About{at, at.AddDate(1, 0, 0), aboutYear}, true
	}
	at, err := time.Parse(time.RFC3339, text)
	return AboutTime(at), err == nil
}

// AboutTime is a time, to the second.
func AboutTime(at time.Time) About {
	at = at.UTC().Truncate(time.Second)
	return About{at, at, aboutTime}
}

// AboutDay is the day in which a time lies.
func AboutDay(at time.Time) About {
	day := at.UTC().Truncate(24 * time.Hour)
	return About{day, day.AddDate(0, 0, 1), aboutDay}
}

// ShiftAbout is text, which ParseAbout reads, moved by d: a day by whole days. Longer periods stay.
func ShiftAbout(text string, d time.Duration) string {
	a, ok := ParseAbout(text)
	switch {
	case ok && a.form == aboutTime:
		return AboutTime(a.Begin.Add(d)).String()
	case ok && a.form == aboutDay:
		return AboutDay(a.Begin.Add(d.Round(24 * time.Hour))).String()
	}
	return text
}

// Long reports whether a is a month or longer.
func (a About) Long() bool { return a.form >= aboutMonth }

// String is a as ParseAbout reads it, "" where it is not known.
func (a About) String() string {
	if a.Begin.IsZero() {
		return ""
	}
	switch a.form {
	case aboutDay:
		return a.Begin.Format(time.DateOnly)
	case aboutMonth:
		return a.Begin.Format("2006-01")
	case aboutQuarter:
		return fmt.Sprintf("%d-Q%d", a.Begin.Year(), a.quarter())
	case aboutYear:
		return a.Begin.Format("2006")
	}
	return a.Begin.Format(time.RFC3339)
}

func (a About) quarter() int { return (int(a.Begin.Month()) + 2) / 3 }

// AboutPhrase is text, which ParseAbout reads, as Phrase has it, "" for none.
func AboutPhrase(text string, now time.Time) string {
	a, ok := ParseAbout(text)
	if !ok {
		return ""
	}
	return a.Phrase(now)
}

// Phrase is a in a sentence, with the preposition: on 21 November, in October 2026. The year of a day is said where it is not that of now.
func (a About) Phrase(now time.Time) string {
	day := a.Begin.Format("2 January")
	if a.Begin.Year() != now.UTC().Year() {
		day += a.Begin.Format(" 2006")
	}
	switch a.form {
	case aboutDay:
		return "on " + day
	case aboutMonth:
		return "in " + a.Begin.Format("January 2006")
	case aboutQuarter:
		return fmt.Sprintf("in Q%d of %d", a.quarter(), a.Begin.Year())
	case aboutYear:
		return "in " + a.Begin.Format("2006")
	}
	return "at " + a.Begin.Format("15:04") + " UTC on " + day
}

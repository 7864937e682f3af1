package prose

import (
	"strconv"
	"strings"
	"time"
)

// The lengths of the longer units of time, as they are meant and not as calendars have them.
const (
	Day   = 24 * time.Hour
	Week  = 7 * Day
	Month = 30 * Day
	Year  = 12 * Month
)

// Period is a length of time that a text names: that over which something moved, or how long ago it was.
type Period struct {
	Start, End int
	Length     time.Duration
	Ago        bool // it names the moment that was so long ago, as yesterday does
	Over       bool // it ended before now, as the week before last does
}

// Periods lists the periods that words name, in order.
func Periods(words []Word) []Period {
	var list []Period
	for i := 0; i < len(words); i++ {
		if p, n := periodAt(words, i); n > 0 {
			list = append(list, p)
			i += n - 1
		}
	}
	return list
}

// periodAt reads the period that starts with word i, and how many words it has, 0 for none.
func periodAt(words []Word, i int) (p Period, n int) {
	w, ended := words[i].Text, false
	p.Start, p.End, n = words[i].Start, words[i].End, 1
	switch w {
	case "today", "daily", "intraday", "overnight":
		p.Length = Day
		return p, n
	case "weekly":
		p.Length = Week
		return p, n
	case "monthly":
		p.Length = Month
		return p, n
	case "yearly", "annual", "annually", "annualized":
		p.Length = Year
		return p, n
	case "hourly":
		p.Length = time.Hour
		return p, n
	case "yesterday":
		p.Length, p.Ago = Day, true
		return p, n
	}
	if unit := unitOfTime(w); unit > 0 && i+2 < len(words) {
		switch words[i+1].Text + " " + words[i+2].Text {
		case "to date", "on " + w, "over " + w: // year to date, year on year
			p.Length, p.End = unit, words[i+2].End
			return p, 3
		}
	}
	if p.Length = SpanOf(w); p.Length == 0 || w[len(w)-1] == 'm' { // 80M are millions
		_, known := Count(w)
		at := i
		for at < len(words)-1 && opensPeriod(words[at].Text) {
			if at++; known {
				break // nothing but the unit stands behind a number
			}
			_, known = Count(words[at].Text)
		}
		unit := unitOfTime(words[at].Text)
		if unit == 0 || at == i {
			return p, 0
		}
		count, known := Count(words[at-1].Text)
		switch {
		case !known:
			count = 1
		case words[at].Start-words[at-1].End > 1: // 3.17% year on year
			return p, 0
		}
		p.Length, p.End, n = time.Duration(count*float64(unit)), words[at].End, at-i+1
		before := words[at-1].Text
		ended = before == "last" && i == at-1 // last week is not the last week
		p.Ago = ended || before == "previous" || before == "prior"
	}
	if next := i + n; next < len(words) {
		switch words[next].Text {
		case "ago", "earlier", "before", "previously":
			p.Ago, p.End = true, words[next].End
			n++
		}
	}
	p.Over = ended || p.Ago && n == 3 && w == "the" && i > 0 && within(words[i-1].Text)
	return p, n
}

// within reports whether w puts something into a period.
func within(w string) bool {
	return w == "in" || w == "over" || w == "during" || w == "within" || w == "for"
}

// opensPeriod reports whether w stands before the unit of a period, as in the past day.
func opensPeriod(w string) bool {
	switch w {
	case "a", "an", "the", "this", "past", "last", "latest", "most", "recent", "previous", "per", "each", "every",
		"trailing", "prior", "same",
		"full", "whole":
		return true
	}
	_, counted := Count(w)
	return counted
}

// unitOfTime is the length of a unit by its name, 0 for other words.
func unitOfTime(w string) time.Duration {
	switch Stem(w) {
	case "minute", "min":
		return time.Minute
	case "hour", "hr":
		return time.Hour
	case "day":
		return Day
	case "week":
		return Week
	case "fortnight":
		return 2 * Week
	case "month":
		return Month
	case "year":
		return Year
	}
	return 0
}

// SpanOf is the length of a span in one word, as 24h and 7d; 0 for other words. Twelve m are months, five are minutes.
func SpanOf(w string) time.Duration {
	digits := strings.TrimRight(w, "hdwmy")
	n, err := strconv.Atoi(digits)
	if err != nil || len(w) != len(digits)+1 || n <= 0 || n > 1000 {
		return 0
	}
	unit := map[byte]time.Duration{'h': time.Hour, 'd': Day, 'w': Week, 'm': time.Minute, 'y': Year}[w[len(w)-1]]
	if w[len(w)-1] == 'm' && (n == 1 || n == 3 || n == 6 || n == 12) {
		unit = Month
	}
	return time.Duration(n) * unit
}

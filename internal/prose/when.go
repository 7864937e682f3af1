package prose

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// When is a span or a moment as people write it: in the last hour, this week, yesterday at noon, 3 days ago, since Monday, 14:05.
// A span has a length, a moment none. It goes by no clock until Begin is asked.
type When struct {
	Span   time.Duration // its length; 0 for a moment
	Names  []string      // what a table may call it: week, weekly, 7d
	Loose  bool          // today: the present belongs to it
	Vague  bool          // last week may be a span or a moment of it, and a day is no moment: there are several
	Future bool          // it is to come
	Since  bool          // from the moment until now

	ago      time.Duration // so long before now, where it is set
	days     int           // days before today, of a Day
	week     int           // 1 + the day of the week, of a day of the last seven
	date     time.Time     // a Day, or a moment where exact is set
	year     int           // a whole one
	yearless bool          // the date has a month and a day alone
	since    string        // unit of the calendar whose current one it is: month or year
	clock    int           // 1 + minutes since midnight UTC, where one was written
	exact    bool
	month    bool          // the date is all of its month
	yearly   bool          // or of its year
	this     bool          // of what the present is in: this week
	edge     edge          // before or after it
	next     string        // unit of the calendar whose next one it is, or day for tomorrow
	ahead    time.Duration // so long from now on
	upto     *When         // the last day or month of several
}

// edge is the side of a day, a month or a moment that is meant.
type edge uint8

const (
	midst edge = iota
	after
	before
	through // to its end
)

// Ranges reports whether w bounds what has a time of its own, and says nothing of how anything was at one.
func (w When) Ranges() bool {
	return w.edge != midst || w.month && !w.Since || w.upto != nil || w.ahead > 0 || w.next != ""
}

// Day reports whether w is a day, without a time of the day.
func (w When) Day() bool {
	return !w.yearly && w.clock == 0 && !w.exact && !w.Since && w.Span == 0 && (w.days > 0 || w.week > 0 || !w.date.IsZero())
}

// Range is from when until when what has a time of its own is in w. A zero time is no bound. Of days and months that have no year,
// and of weeks, those are meant that come, where ahead is set, and else those that were. ok is false for what lies on the other side.
func (w When) Range(now time.Time, ahead bool) (from, to time.Time, ok bool) {
	now = now.UTC()
	midnight := now.Truncate(Day)
	monday := midnight.AddDate(0, 0, -(int(now.Weekday())+6)%7)
	first := midnight.AddDate(0, 0, 1-now.Day())
	switch {
	case w.ahead > 0:
		return now, now.Add(w.ahead), ahead
	case w.next == "day":
		return midnight.Add(Day), midnight.Add(2 * Day), ahead
	case w.next == "week":
		return monday.Add(Week), monday.Add(2 * Week), ahead
	case w.next == "month":
		return first.AddDate(0, 1, 0), first.AddDate(0, 2, 0), ahead
	case w.next != "" || ahead && w.Span > 0 && !w.this:
		return from, to, false
	case ahead && w.Span == Day:
		return now, midnight.Add(Day), true
	case ahead && w.Span == Week:
		return now, monday.Add(Week), true
	case ahead && w.since == "month":
		return now, first.AddDate(0, 1, 0), true
	case ahead && w.since == "year":
		return now, time.Date(now.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC), true
	case ahead && w.Span > 0:
		return from, to, false
	case w.edge == midst && w.upto == nil && (w.Since || !w.month && !w.Day()):
		from, ok = w.Begin(now)
		return from, w.End(), ok && !(ahead && !w.End().IsZero() && !w.End().After(now))
	}
	if from, to, ok = w.whole(now, ahead); !ok {
		return from, to, false
	}
	defer func() { ok = ok && !(ahead && !to.IsZero() && !to.After(now)) }() // what is to come lies not in what was
	switch {
	case w.upto != nil:
		_, to, ok = w.upto.whole(now, ahead)
		if last := to; w.upto.yearless && !w.yearless && last.Year() != from.Year() {
			to = to.AddDate(from.Year()-last.Year(), 0, 0)
		}
		return from, to, ok && to.After(from)
	case w.edge == after:
		return to, time.Time{}, true
	case w.edge == before:
		return time.Time{}, from, true
	case w.edge == through:
		return time.Time{}, to, true
	}
	return from, to, true
}

// whole is when a day or month begins and ends; of a moment, when it is.
func (w When) whole(now time.Time, ahead bool) (from, to time.Time, ok bool) {
	if w.clock > 0 || w.exact || w.ago > 0 && w.days == 0 {
		from, ok = w.Begin(now)
		return from, from, ok
	}
	midnight := now.Truncate(Day)
	switch {
	case w.week > 0:
		from = midnight.AddDate(0, 0, -(int(now.Weekday())-(w.week-1)+7)%7)
		if ahead && (from.Before(midnight) || w.edge == before && from.Equal(midnight)) {
			from = from.Add(Week)
		}
	case w.days > 0:
		from = midnight.AddDate(0, 0, -w.days)
	case w.yearless:
		from = time.Date(now.Year(), w.date.Month(), w.date.Day(), 0, 0, 0, 0, time.UTC)
	default:
		from = w.date
	}
	end := func() time.Time {
		switch {
		case w.yearly:
			return from.AddDate(1, 0, 0)
		case w.month:
			return from.AddDate(0, 1, 0)
		}
		return from.Add(Day)
	}
	if w.yearless && ahead && !end().After(now) {
		from = from.AddDate(1, 0, 0)
	} else if w.yearless && !ahead && from.After(now) {
		from = from.AddDate(-1, 0, 0)
	}
	return from, end(), !from.IsZero()
}

// Begin is the moment, or when the span begins. ok is false for one that cannot be: a day without a time of day, or what is not over.
func (w When) Begin(now time.Time) (at time.Time, ok bool) {
	now = now.UTC()
	midnight := now.Truncate(Day)
	switch {
	case w.year > 0:
		at = time.Date(w.year, 1, 1, 0, 0, 0, 0, time.UTC)
		return at, !at.After(now)
	case w.since == "year":
		return time.Date(now.Year(), 1, 1, 0, 0, 0, 0, time.UTC), true
	case w.since == "month":
		return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC), true
	case w.Span > 0:
		return now.Add(-w.Span), true
	case w.ago > 0 && w.clock == 0 && !(w.Since && w.days > 0):
		return now.Add(-w.ago), true
	case w.exact:
		return w.date, !w.date.After(now)
	case w.yearless:
		if at = time.Date(now.Year(), w.date.Month(), w.date.Day(), 0, 0, 0, 0, time.UTC); at.After(now) {
			at = at.AddDate(-1, 0, 0) // the last one that was
		}
	case !w.date.IsZero():
		at = w.date
	case w.week > 0:
		back := (int(now.Weekday()) - (w.week - 1) + 7) % 7
		if back == 0 && !w.Since {
			back = 7
		}
		at = midnight.AddDate(0, 0, -back)
	case w.days > 0:
		at = midnight.AddDate(0, 0, -w.days)
	default:
		at = midnight
		if w.clock == 0 {
			return at, w.Since
		}
		if at = at.Add(time.Duration(w.clock-1) * time.Minute); at.After(now) {
			at = at.Add(-Day) // the last one that was
		}
		return at, true
	}
	switch {
	case w.clock > 0:
		at = at.Add(time.Duration(w.clock-1) * time.Minute)
	case !w.Since:
		return at, false
	}
	return at, !at.After(now)
}

// End is when a year ends, which is named as one; zero for all else, which goes on until now or is a moment.
func (w When) End() time.Time {
	if w.year == 0 {
		return time.Time{}
	}
	return time.Date(w.year+1, 1, 1, 0, 0, 0, 0, time.UTC)
}

var (
	yearForm  = regexp.MustCompile(`^(?:19|20)\d\d$`)
	clockForm = regexp.MustCompile(`^(\d{1,2})(?:[:.](\d\d))?(am|pm|z|utc|h)?$`)
	isoForm   = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:t(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(z|[+-]\d\d:\d\d)?)?$`)
	shortForm = regexp.MustCompile(`^(\d{1,3})(m|min|mins|h|hr|hrs|d|w|y)$`)
)

// units are spans by the words for them, with what a table calls one of them.
func unit(word string) (d time.Duration, names []string, ok bool) {
	switch word {
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute, nil, true
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour, []string{"1h", "hour", "hourly"}, true
	case "d", "day", "days":
		return Day, []string{"24h", "1d", "day", "daily"}, true
	case "w", "week", "weeks":
		return Week, []string{"7d", "week", "weekly"}, true
	case "month", "months":
		return 30 * Day, []string{"30d", "month", "monthly", "mom"}, true
	case "quarter":
		return 91 * Day, []string{"quarter", "quarterly"}, true
	case "y", "year", "years":
		return 365 * Day, []string{"year", "yearly", "annual", "yoy"}, true
	}
	return 0, nil, false
}

// number reads a whole number up to 999, written in digits or as a word.
func number(word string) (n int, ok bool) {
	if n, err := strconv.Atoi(word); err == nil {
		return n, n > 0 && n < 1000 && len(word) <= 3
	}
	small := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	if i := slices.Index(small, word); i > 0 {
		return i, true
	}
	switch word {
	case "a", "an":
		return 1, true
	case "couple":
		return 2, true
	}
	return 0, false
}

// ReadWhen reads the span or moment that words, which are folded, begin with, and how many of them it takes; 0 where they begin with none.
// A time of the day or a date is one word.
func ReadWhen(words []string) (w When, taken int) {
	r := whenReader{words: words}
	if r.skip("tomorrow") {
		return When{Future: true, next: "day"}, r.at
	}
	if r.skip("in the future") {
		return When{Future: true}, r.at
	}
	if r.skip("by", "in", "over", "for", "within", "during"); r.skip("the next", "next", "the coming", "coming", "the following") {
		n, counted := number(r.next())
		if counted {
			r.at++
		}
		if d, _, ok := unit(r.next()); ok {
			w := When{Future: true, ahead: time.Duration(n) * d}
			if !counted {
				w.next = strings.TrimSuffix(r.next(), "s")
			}
			if w.next == "hour" || w.next == "day" {
				w.next, w.ahead = "", d
			}
			return w, r.at + 1
		}
	}
	r.at = 0
	if w, n := readBounds(words); n > 0 {
		return w, n
	}
	back := r.skip("looking back", "going back", "back")
	since := !back && r.skip("since", "from", "between", "starting", "starting from") // from 14:05
	if since {
		r.skip("the start of", "start of", "the beginning of", "beginning of")
	}
	if !since {
		r.skip("over the course of", "in", "over", "during", "within", "for", "at", "on", "as of", "around", "by", "before", "across")
	}
	r.skip("exactly this time", "this time", "the same time", "exactly", "about")
	r.skip("the")
	if back {
		r.skip("a full", "full")
	}
	lead := r.at
	switch {
	case r.span(&w), r.moment(&w):
	case r.clock(&w), r.date(&w), lead > 0 && r.monthly(&w), since && r.whole(&w):
	case lead > 0 && !since && yearForm.MatchString(r.next()): // in 2022
		w.year, _ = strconv.Atoi(r.next())
		r.at++
		return w, r.at
	default:
		return When{}, 0
	}
	w.Since = since
	if back {
		if w.Span == 0 {
			return When{}, 0
		}
		w.ago, w.Span, w.Names = w.Span, 0, agoNames(w.Span)
		r.skip("from now")
	}
	if words[0] == "before" && w.Span > 0 { // before one Day
		w.ago, w.Span, w.Names = w.Span, 0, nil
	}
	// since yesterday
	timed := r.at < len(words) && (slices.Contains([]string{"at", "noon", "midnight"}, r.words[r.at]) || clocked(r.words[r.at:]))
	if since && w.days == 1 && w.clock == 0 && !timed {
		_, w.Names, _ = unit("day")
		w.Span, w.Since, w.ago, w.days = Day, false, 0, 0
		return w, r.at
	}
	if since && w.Span > 0 { // since last week
		w.ago, w.Span = w.Span, 0
	}
	if w.Span == 0 && (w.ago == 0 || w.days > 0) && !w.exact {
		r.rest(&w)
	}
	if w.Since || w.clock > 0 || w.exact {
		w.Vague = w.Vague && w.Span > 0
	}
	if since && lead > 0 && words[0] != "since" && w.clock == 0 && w.date.IsZero() && w.ago == 0 && w.days == 0 {
		return When{}, 0
	}
	r.skip("utc", "gmt")
	if since {
		r.skip("and now", "until now", "till now", "to now", "and today")
	}
	return w, r.at
}

// clocked reports whether words begin with a time of the day.
func clocked(words []string) bool {
	r, w := whenReader{words: words, at: 0}, When{}
	return r.clock(&w)
}

// readBounds reads what words begin with where it is days and months from one to another, or what is before or after one.
func readBounds(words []string) (w When, taken int) {
	r := whenReader{words: words}
	day := func(w *When) bool {
		r.skip("the")
		r.skip("start of", "beginning of")
		return r.monthly(w) || r.whole(w) || r.date(w) || r.moment(w)
	}
	if r.skip("between", "from") {
		upto := When{}
		if !day(&w) || !r.skip("and", "to", "until", "till", "through") || !day(&upto) {
			return When{}, 0
		}
		if w.yearless && !upto.yearless && !upto.date.IsZero() {
			w.date, w.yearless = time.Date(upto.date.Year(), w.date.Month(), w.date.Day(), 0, 0, 0, 0, time.UTC), false
		}
		w.upto = &upto
		return w, r.at
	}
	for i, lead := range [...][]string{{"after", "later than"}, {"before", "earlier than", "prior to"},
		{"until", "till", "up to", "by", "no later than"}} {
		if r.skip(lead...) {
			if !day(&w) && !(i == 0 && r.clock(&w)) {
				return When{}, 0
			}
			w.edge = edge(i + 1)
			if w.days == 0 && (w.week > 0 || !w.date.IsZero()) && !w.exact && !w.month && !w.yearly {
				r.rest(&w)
			}
			if w.clock > 0 && i > 0 || w.days > 0 && i == 2 { // by noon yesterday
				return When{}, 0
			}
			return w, r.at
		}
	}
	return When{}, 0
}

// whole reads a year.
func (r *whenReader) whole(w *When) bool {
	if !yearForm.MatchString(r.next()) {
		return false
	}
	year, _ := strconv.Atoi(r.next())
	w.date, w.yearly = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), true
	r.at++
	return true
}

// monthly reads a month: october, september 2026.
func (r *whenReader) monthly(w *When) bool {
	begin := r.at
	month := r.month()
	if month == 0 {
		return false
	}
	if m := dayForm.FindStringSubmatch(r.next()); m != nil { // a day of it
		r.at = begin
		return false
	}
	const leap = 2024
	year := leap
	if w.yearless = true; yearForm.MatchString(r.next()) {
		year, _ = strconv.Atoi(r.next())
		w.yearless = false
		r.at++
	}
	w.date, w.month = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), true
	return true
}

type whenReader struct {
	words []string
	at    int
}

// skip goes over one of the phrases.
func (r *whenReader) skip(phrases ...string) bool {
	for _, p := range phrases {
		if r.has(p) {
			r.at += strings.Count(p, " ") + 1
			return true
		}
	}
	return false
}

func (r *whenReader) has(phrase string) bool {
	at := r.at
	for w := range strings.SplitSeq(phrase, " ") {
		if at >= len(r.words) || r.words[at] != w {
			return false
		}
		at++
	}
	return true
}

func (r *whenReader) next() string {
	if r.at < len(r.words) {
		return r.words[r.at]
	}
	return ""
}

// span reads a length: this week, last 4 hours, 24h, weekly, an hour ago.
func (r *whenReader) span(w *When) bool {
	if r.clocked() { // 15 hours UTC
		return false
	}
	begin := r.at
	switch {
	case r.has("day before yesterday"):
		return false
	case r.skip("today", "so far today", "tonight"):
		w.this = true
		w.Span, w.Loose, w.Names = Day, true, []string{"24h", "1d", "day", "daily", "today"}
		return true
	case r.skip("half an hour", "half hour"):
		w.Span = time.Hour / 2
		return r.ago(w)
	}
	for i, adverb := range [...]string{"hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "annual", "annually", "yoy", "mom"} {
		if r.skip(adverb) {
			of := [...]string{"hour", "day", "week", "month", "quarter", "year", "year", "year", "year", "month"}[i]
			w.Span, w.Names, _ = unit(of)
			return true
		}
	}
	last := r.skip("last", "past", "previous", "trailing")
	this := !last && r.skip("this", "the current", "current")
	if m := shortForm.FindStringSubmatch(r.next()); m != nil && !this {
		n, _ := strconv.Atoi(m[1])
		r.at++
		return r.length(w, n, m[2])
	}
	n, counted := number(r.next())
	if counted && !this {
		r.at++
		r.skip("of") // a couple of
		if _, _, ok := unit(r.next()); ok {
			r.at++
			return r.length(w, n, r.words[r.at-1])
		}
		r.at = begin
		return false
	}
	if d, names, ok := unit(r.next()); ok && (last || this || len(r.next()) > 3 || r.next() == "day") {
		w.Span, w.Names = d, names
		if r.words[r.at-min(r.at, 1)] == "previous" && d == Day {
			w.Names = append(slices.Clone(names), agoNames(Day)...)
		}
		w.Vague = last && d > Day && r.words[r.at-1] == "last"
		w.this = this
		if this && (r.next() == "month" || r.next() == "year") {
			w.since = r.next()
		}
		r.at++
		return true
	}
	if last || this {
		r.at = begin
	}
	return false
}

func (r *whenReader) length(w *When, n int, word string) bool {
	d, names, _ := unit(word)
	w.Span = time.Duration(n) * d
	switch {
	case n == 1:
		w.Names = names
	case w.Span == Day: // 24 hours
		_, w.Names, _ = unit("day")
	case w.Span == Week:
		_, w.Names, _ = unit("week")
	case w.Span == Year: // 12 months
		w.Span = Year
		_, w.Names, _ = unit("year")
	case n == 60 && d == time.Minute:
		_, w.Names, _ = unit("hour")
	case w.Span == Month:
		_, w.Names, _ = unit("month")
	}
	return r.ago(w)
}

// ago makes a moment of a length that ago stands behind.
func (r *whenReader) ago(w *When) bool {
	if r.skip("ago", "earlier", "before", "back") {
		w.ago, w.Span, w.Names = w.Span, 0, agoNames(w.Span)
	}
	return true
}

// agoNames are what a table may call what was so long ago.
func agoNames(ago time.Duration) []string {
	switch ago {
	case Day:
		return []string{"yesterday", "previous day"}
	case Week:
		return []string{"week ago"}
	}
	return nil
}

// moment reads a day, or a word for a time of the day.
func (r *whenReader) moment(w *When) bool {
	days := [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	begin := r.at
	last := r.skip("last")
	for i, name := range days {
		if r.skip(name, name[:3]) {
			w.week, w.Vague = i+1, true
			return true
		}
	}
	if last && r.skip("night") {
		w.days, w.clock = 1, 1+22*60
		return true
	}
	r.at = begin
	switch {
	case r.skip("the day before yesterday", "day before yesterday"):
		w.days, w.ago = 2, 2*Day
	case r.skip("yesterday"):
		w.days, w.ago, w.Names = 1, Day, []string{"yesterday", "previous day"}
	case r.skip("noon", "midday"):
		w.clock = 1 + 12*60
	case r.skip("midnight"):
		w.clock = 1
	case r.skip("this morning"):
		w.Vague = true
	default:
		return false
	}
	return true
}

// rest reads what stands behind a day or a time of the day: yesterday at noon, 14:05 yesterday.
func (r *whenReader) rest(w *When) {
	begin := r.at
	r.skip("utc", "gmt")
	r.skip("at", "on", "around")
	dayless := w.days == 0 && w.week == 0 && w.date.IsZero()
	switch {
	case !dayless && w.clock == 0 && r.skip("morning"):
		if r.skip("at"); !r.clock(w) {
			if m := clockForm.FindStringSubmatch(r.next()); m != nil && m[2]+m[3] == "" { // at nine
				if hour, _ := strconv.Atoi(m[1]); hour >= 1 && hour < 12 {
					w.clock = 1 + hour*60
					r.at++
				}
			}
		}
	case !dayless && w.clock == 0 && (r.skip("noon", "midday") || r.skip("midnight") || r.clock(w)):
		if w.clock == 0 {
			w.clock = 1
			if word := r.words[r.at-1]; word == "noon" || word == "midday" {
				w.clock = 1 + 12*60
			}
		}
	case dayless && w.clock > 0 && (r.date(w) || r.moment(w)):
		w.ago = 0
	case dayless && w.clock > 0 && r.skip("today"):
	default:
		r.at = begin
	}
}

// clock reads a time of the day: 14:05, 2pm, 9:30am.
func (r *whenReader) clock(w *When) bool {
	half := r.skip("half past")
	m := clockForm.FindStringSubmatch(r.next())
	if m == nil || m[2] == "" && !slices.Contains([]string{"am", "pm"}, m[3]) && !half && !r.clocked() {
		return false
	}
	led := r.at > 0 && slices.Contains([]string{"at", "around", "since", "by", "yesterday", "today"}, r.words[r.at-1])
	if strings.Contains(m[0], ".") && m[3] == "" && !led && !r.clocked() {
		return false // 1.30 of a coin
	}
	if half && m[2] == "" {
		m[2] = "30"
	}
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	side := m[3]
	r.at++
	r.skip("o clock", "oclock", "hours", "hrs", "hour")
	switch {
	case r.skip("am", "in the morning", "this morning"):
		side = "am"
	case r.skip("pm", "in the afternoon", "this afternoon", "in the evening", "this evening", "at night"):
		side = "pm"
	}
	if side == "am" || side == "pm" {
		if hour < 1 || hour > 12 {
			return false
		}
		hour %= 12
		if side == "pm" {
			hour += 12
		}
	}
	if hour > 23 || minute > 59 {
		return false
	}
	w.clock = 1 + hour*60 + minute
	return true
}

// clocked reports whether what stands behind a number makes it an hour.
func (r *whenReader) clocked() bool {
	after := whenReader{words: r.words, at: r.at + 1}
	return after.skip("am", "pm", "o clock", "oclock", "in the morning", "this morning", "in the afternoon", "this afternoon",
		"in the evening", "hour utc", "hour gmt", "hours utc", "hours gmt", "hrs utc", "hrs gmt")
}

var dayForm = regexp.MustCompile(`^(\d{1,2})(st|nd|rd|th)?$`)

// named reads a date with the name of its month: 26 November 2026, November 26th, the 26th of Nov.
func (r *whenReader) named(w *When) bool {
	begin := r.at
	day, month := r.day(), r.month()
	if day == nil {
		if month == 0 {
			month = r.month()
		}
		day = r.day()
	} else if month == 0 {
		r.skip("of")
		month = r.month()
	}
	if day == nil || month == 0 {
		r.at = begin
		return false
	}
	year := 0
	if yearForm.MatchString(r.next()) {
		year, _ = strconv.Atoi(r.next())
		r.at++
	} else if month == time.May && day[2] == "" { // you may 5
		r.at = begin
		return false
	}
	number, _ := strconv.Atoi(day[1])
	const leap = 2024
	at := time.Date(cmp.Or(year, leap), month, number, 0, 0, 0, 0, time.UTC)
	if at.Month() != month || number == 0 {
		r.at = begin
		return false
	}
	w.date, w.Vague, w.yearless = at, true, year == 0
	return true
}

// day reads the number of a day.
func (r *whenReader) day() []string {
	w := r.next()
	if w == "" || w[0] < '0' || w[0] > '9' { // as most words, for which no form is tried
		return nil
	}
	m := dayForm.FindStringSubmatch(w)
	if m != nil {
		r.at++
	}
	return m
}

// month reads the name of a month, in full or in three letters; 0 for none.
func (r *whenReader) month() time.Month {
	w := r.next()
	for i, name := range [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
		"november", "december"} {
		if w == name || w == name[:3] || w == "sept" && name == "september" {
			r.at++
			return time.Month(i + 1)
		}
	}
	return 0
}

// date reads a date, or a moment as RFC 3339 has it.
func (r *whenReader) date(w *When) bool {
	m := isoForm.FindStringSubmatch(r.next())
	if m == nil {
		return r.named(w)
	}
	layout, text := time.DateOnly, m[1]
	if m[2] != "" {
		zone := strings.ToUpper(m[3])
		if zone == "" {
			zone = "Z"
		}
		layout, text, w.exact = "2006-01-02T15:04Z07:00", m[1]+"T"+m[2]+zone, true
	}
	at, err := time.Parse(layout, text)
	if err != nil {
		return false
	}
	w.date, w.Vague = at.UTC(), !w.exact
	r.at++
	return true
}

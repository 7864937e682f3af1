package ground

import (
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/prose"
)

// reading is a sentence taken apart.
type reading struct {
	prose.Sentence
	text     string // with spaces in the place of anchors
	words    []prose.Word
	mentions []*mention
	hinting  []string   // its words without endings and its concepts, sorted
	maybe    []*mention // names that are written as ordinary words
	periods  []prose.Period
	figures  []assertion
	quoted   []prose.Figure // those in titles and messages of the state
	known    []*mention     // of the sentence before
}

// assertion is a figure with what the sentence says of it.
type assertion struct {
	prose.Figure
	readings  []prose.Figure // of which any may hold
	subjects  []*mention     // what it is of; any of them
	measures  []string       // concepts and words beside it
	carried   []string       // those of the figure before, which it may be told in comparison with
	direction int
	over      time.Duration // 0 where none is said
	ago       time.Duration // how long ago, past for before, 0 where nothing is said
	ended     bool          // its time ended before now
	follows   bool          // it may be of an earlier time: it stands behind after, from or against
	named     bool          // its measures stand behind it
	of        bool          // other words say what it is of
	ranked    bool          // it is told as a place in an order
	listed    bool          // it goes on with a list, in the words of the figure before
	goes      bool          // its clause has a word for a direction before it
	by        bool          // a word for a direction stands before it: it is how far something went
	noun      string        // what it counts, where a plural stands directly behind it
	beside    bool          // a word for the direction, or a sign, stands directly beside it
	stems     []string      // all words beside it, without endings
	after     []string      // those of them behind it
	negated   bool          // it is denied
	bound     bool          // it is told as a threshold
	points    bool          // it is told in percentage points: it is a difference of two percentages
	inherits  bool          // its subjects are those of the sentence before, which it may go on about
	pair      *mention      // what it is of, where names and figures stand in two lists
	shared    bool          // it is said of each of its subjects
}

// read takes s apart.
func (c *checker) read(s prose.Sentence) *reading {
	body := prose.Sentence{Text: c.text[s.Start:s.End]}
	r := &reading{Sentence: s, text: body.Masked(), known: c.previous}
	r.words = prose.Words(r.text)
	r.mentions, r.maybe = c.mentions(s, r.words)
	r.hinting = append(r.stemsIn(0, len(r.text)), concepts(r.wordsIn(0, len(r.text)))...)
	slices.Sort(r.hinting)
	r.periods = slices.DeleteFunc(prose.Periods(r.words), func(p prose.Period) bool { return c.inName(s.Start+p.End-1, s.Start+p.End) })
	list := prose.Figures(r.text)
	for i, f := range list {
		one := assertion{Figure: f, readings: []prose.Figure{f}}
		if i+1 < len(list) {
			if g, ok := f.Within(list[i+1], r.text[f.End:list[i+1].Start]); ok {
				one.readings = append(one.readings, g)
			}
		}
		age := strings.HasPrefix(r.text[f.End:], " old")
		switch {
		case c.inName(s.Start+f.Start, s.Start+f.End), !age && (f.UsualSpan() || f.Kind == prose.Span && c.spanned(r.periods, f)):
			continue
		case f.Raw == "100" && strings.HasSuffix(r.text[:f.Start], " out of ") && !prose.Says(r.text[f.End:min(len(r.text), f.End+2)]):
			continue // the end of a scale
		case c.quoted(s.Start+f.Start, s.Start+f.End):
			r.quoted = append(r.quoted, f)
			continue
		}
		r.figures = append(r.figures, one)
	}
	for i := range r.figures {
		r.describe(i)
	}
	for i := range r.figures {
		if m := r.figures[i].pair; m != nil {
			r.figures[i].subjects = []*mention{m}
			continue
		}
		r.figures[i].subjects = r.subjects(i)
	}
	for i := 1; i < len(r.figures); i++ { // A has open interest of 1, while B stands at 2
		a, b := &r.figures[i-1], &r.figures[i]
		if len(b.measures) == 0 && b.alike(a) && !slices.Equal(a.subjects, b.subjects) {
			b.carried = slices.Concat(a.measures, a.carried)
		}
	}
	for i := len(r.figures) - 1; i > 0; i-- { // A rose 1 % and B 2 % in a week
		if a, b := &r.figures[i-1], r.figures[i]; b.listed && a.over == 0 && a.ago == 0 {
			a.over = b.over
		}
	}
	for i := 1; i < len(r.figures); i++ { // A rose 1 % in a week, and B fell 2 %
		a, b := &r.figures[i-1], &r.figures[i]
		moves := a.percent() && b.percent() && a.goes && b.goes
		if moves && a.over > 0 && !a.ended && b.over == 0 && b.ago == 0 && strings.Contains(r.text[a.End:b.Start], " and ") {
			b.over = a.over
		}
	}
	return r
}

// quoted reports whether text[start:end] lies within a title or a message of the state.
func (c *checker) quoted(start, end int) bool {
	return slices.ContainsFunc(c.spans, func(p prose.Found) bool {
		return p.Start <= start && end <= p.End && c.index.phrases[p.Phrase].long
	})
}

// inName reports whether text[start:end] is part of a name that says more than it.
func (c *checker) inName(start, end int) bool {
	return slices.ContainsFunc(c.spans, func(p prose.Found) bool {
		rest := ""
		if p.Named && p.Start <= start && end <= p.End && !c.index.phrases[p.Phrase].long {
			rest = c.text[p.Start:start] + c.text[end:p.End]
		}
		return len(strings.TrimSpace(rest)) > 1 && prose.Says(rest)
	})
}

// spanned reports whether f is a span that a member of the state has.
func (c *checker) spanned(periods []prose.Period, f prose.Figure) bool {
	return slices.ContainsFunc(periods, func(p prose.Period) bool {
		return p.Start < f.End && f.Start < p.End && c.index.spans[p.Length]
	})
}

// before is the text between the figure before the i-th, or the start of the sentence, and the i-th.
func (r *reading) before(i int) (start, end int) {
	if i > 0 {
		start = r.figures[i-1].End
	}
	return start, r.figures[i].Start
}

// behind is the text that belongs to the i-th figure from its end on: up to the next one, or to where another clause or item begins.
func (r *reading) behind(i int) (start, end int) {
	start, end = r.figures[i].End, r.until(i)
	for _, stop := range []string{
		",", ";", ":", "(", ")", ". ", " and ", " but ", " while ", " or ", " after ", " from ", " against ", " versus ",
	} {
		if at := strings.Index(r.text[start:end], stop); at >= 0 {
			end = start + at
		}
	}
	for _, m := range r.mentions {
		if m.start >= start && m.start < end && m.name && m.start > start+8 {
			end = m.start
		}
	}
	return start, end
}

// describe reads what the sentence says of the i-th figure, but for its subject.
func (r *reading) describe(i int) {
	f := &r.figures[i]
	from, to := r.before(i)
	start, end := r.behind(i)
	next := from
	if i > 0 {
		if _, of := r.behind(i - 1); of < to {
			next = of // what stands behind the figure before is of it
		}
	}
	f.listed = i > 0 && listing(r.blot(next, to, true))
	from = max(next, r.clause(from, to))
	f.after = r.stemsIn(start, end)
	f.stems = append(r.stemsIn(from, to), f.after...)
	f.measures = r.measuresBehind(i, start, end)
	if m := r.attached(start, "worth of"); m != nil && f.Unit == prose.USD && f.measures == nil {
		worth := strings.HasPrefix(r.text[start:], " worth of ")
		traded := r.measuresBehind(i, m.end, r.until(i)) // what is done with it stands behind its name
		if slices.Contains(traded, "volume") && (worth || strings.HasPrefix(r.text[start:], " in ")) {
			f.measures = []string{"volume"}
		}
	}
	if f.named = len(f.measures) > 0; !f.named {
		f.measures = r.measuresBefore(f.Figure, from, to)
		if i > 0 && r.figures[i-1].named && slices.Equal(f.measures, r.figures[i-1].measures) {
			f.measures = nil // they are of the figure before: $2 billion of volume at a ratio of 2
		}
	}
	f.of = strings.HasPrefix(strings.TrimSpace(r.text[start:end]), "of ")
	masked := r.nameless(0, len(r.text))
	f.direction = prose.Direction(masked, f.Figure)
	f.beside = f.direction != 0
	f.by = f.Sign == 0 && prose.Direction(masked[:f.End], f.Figure) != 0
	if behind := r.wordsIn(start, end); len(behind) > 0 && prose.Stem(behind[0]) != behind[0] {
		f.noun = prose.Stem(behind[0])
	}
	if f.direction == 0 {
		f.direction = prose.Heading(masked[from:to], masked[start:end])
	}
	last, _ := r.before(i)
	opens := r.clause(last, f.Start)
	f.goes = prose.Heading(masked[opens:f.Start], "") != 0 || i > 0 && opens == last && r.figures[i-1].goes
	r.placed(f, from, to)
	f.bound = bounding.MatchString(masked[from:to])
	f.points = pointed.MatchString(f.Raw)
	r.dated(f, i, from, to, start, end)
	for at := i - 1; f.listed && at >= 0; at-- {
		k := r.figures[at]
		if len(f.measures) == 0 && f.alike(&k) && (r.part(i) < k.End || !r.verb(r.part(i), f.Start)) {
			f.measures = k.measures
		}
		if k.percent() == f.percent() {
			if f.direction == 0 {
				f.direction = k.direction
			}
			f.stems = append(f.stems, k.stems[:min(len(k.stems), listedStems)]...)
			break
		}
	}
}

// placed reads the last words before f: whether they deny it, make it a place in an order or say that it is of before.
func (r *reading) placed(f *assertion, from, to int) {
	before := strings.TrimRight(r.text[from:to], " $€£¥")
	words := prose.Words(before)
	last := words[max(0, len(words)-3):]
	f.negated = slices.ContainsFunc(last, func(w prose.Word) bool { return denies(prose.Stem(w.Text)) })
	if len(last) > 0 {
		switch last[len(last)-1].Text {
		case "after", "from", "against", "versus", "vs", "than", "was", "were":
			f.follows = true
		case "number":
			f.ranked = !slices.ContainsFunc(f.measures, func(m string) bool { return !amount(m) && !level(m) }) // gainers number 32
		case "no", "place", "position":
			f.ranked = true
		}
	}
	ranks := func(w prose.Word) bool {
		return w.Text == "rank" || w.Text == "ranks" || w.Text == "ranked" || w.Text == "ranking"
	}
	f.ranked = f.bareCount() && (f.ranked || strings.HasSuffix(before, "#") || slices.ContainsFunc(words, ranks) ||
		slices.Contains([]string{"th", "st", "nd", "rd"}, f.Raw[max(0, len(f.Raw)-2):]))
}

// denies reports whether what a word is said of is not so, or not yet.
func denies(stem string) bool {
	switch stem {
	case "not", "never", "neither", "could", "would", "will", "may", "might", "should", "expect", "expected", "forecast", "predict":
		return true
	}
	return false
}

// bareCount reports whether f is a whole number of things or places.
func (f *assertion) bareCount() bool {
	return f.Kind == prose.Number && f.Unit == prose.Plain && f.Half == 0.5 && f.Sign == 0
}

// breadth reports whether the i-th figure counts coins that go one way, as the one before it may, or is their share.
func (r *reading) breadth(i int) bool {
	f := &r.figures[i]
	goes := f.bareCount() && slices.ContainsFunc(f.measures, breadth)
	return f.breadth() || goes && i > 0 && r.breadth(i-1)
}

// breadth reports whether f counts coins that go one way, or is their share.
func (f *assertion) breadth() bool {
	coins := func(w string) bool {
		switch w {
		case "coin", "winner", "loser", "gainer", "advancer", "decliner":
			return true
		}
		return false
	}
	if f.percent() {
		return len(f.after) > 0 && f.after[0] == "of" && slices.Contains(f.after, "coin")
	}
	return f.bareCount() && slices.ContainsFunc(f.measures, breadth) && slices.ContainsFunc(f.stems, coins)
}

// listedStems is how many words beside a figure the next one of a list takes on.
const listedStems = 32

// alike reports whether f may go on with the measures of k.
func (f *assertion) alike(k *assertion) bool {
	return (k.Unit == f.Unit || k.percent() && f.percent()) && (k.by || !f.by)
}

// verb reports whether text[from:to] is a clause of its own.
func (r *reading) verb(from, to int) bool {
	return slices.ContainsFunc(r.wordsIn(from, to), func(w string) bool {
		measure, _ := conceptAt([]string{w})
		return w == "is" || w == "are" || w == "has" || w == "have" || slices.ContainsFunc(measure, breadth)
	})
}

// percent reports whether f is told in percent.
func (f *assertion) percent() bool { return f.Unit == prose.Percent || f.Unit == prose.Basis }

// clause is where the clause that ends at to begins, at from at the earliest.
func (r *reading) clause(from, to int) int {
	for _, stop := range []string{";", " while ", ", and ", ", but ", " but ", ", whereas "} {
		if at := strings.LastIndex(r.text[from:to], stop); at >= 0 {
			from += at + len(stop)
		}
	}
	return from
}

// nameless is text[from:to] with the names in it blotted out.
func (r *reading) nameless(from, to int) string { return r.blot(from, to, false) }

// blot is text[from:to] with the names in it blotted out, and all other mentions too where they are asked for.
func (r *reading) blot(from, to int, all bool) string {
	t := []byte(r.text[from:to])
	for _, m := range r.mentions {
		for i := max(m.start, from); (all || m.name) && i < min(m.end, to); i++ {
			t[i-from] = '_'
		}
	}
	return string(t)
}

// listing reports whether text, between two figures, only goes on with a list.
func listing(text string) bool {
	for _, w := range prose.Words(text) {
		switch w.Text {
		case "one", "that", "all", "and", "at", "by", "with", "for", "to", "in", "on", "then", "or", "the", "usd", "of", "ahead",
			"followed", "before", "next", "plus", "as", "well":
		default:
			measure, _ := conceptAt([]string{w.Text})
			verb := slices.Contains([]string{"is", "are", "has", "have"}, w.Text) || slices.ContainsFunc(measure, breadth)
			if strings.Trim(w.Text, "_") != "" && prose.SpanOf(w.Text) == 0 && !(verb && strings.Contains(text, "_")) { // and B is down 2 %
				return false
			}
		}
	}
	return !strings.Contains(text, ";")
}

// stemsIn lists the words of text[from:to] without their endings, but for those of names.
func (r *reading) stemsIn(from, to int) []string {
	list := r.wordsIn(from, to)
	for i, w := range list {
		list[i] = prose.Stem(w)
	}
	return list
}

func (r *reading) named(w prose.Word) bool {
	return slices.ContainsFunc(r.mentions, func(m *mention) bool { return m.name && m.start <= w.Start && w.End <= m.end })
}

// measuresBehind are the concepts that stand behind a figure, as in $2 billion of volume. What follows another preposition is of something
// else.
func (r *reading) measuresBehind(i, start, end int) []string {
	words := r.wordsIn(start, end)
	for at, w := range words {
		if c, _ := conceptAt(words[at:]); w == "in" && c == nil || prepositional(w) {
			return nil
		}
		if w == "market" && words[0] == "of" && r.figures[i].percent() {
			return []string{"dominance"}
		}
		if found, n := conceptAt(words[at:]); len(found) > 0 {
			if i+1 < len(r.figures) && end == r.figures[i+1].Start && at+n >= len(words)-1 && at > 0 && words[0] != "of" {
				return nil // of the next
			}
			if found = fitting(found, r.figures[i].Figure); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// prepositional reports whether a word behind a figure begins something else.
func prepositional(w string) bool {
	switch w {
	case "on", "with", "at", "to", "by", "for", "as", "where", "when", "against", "than":
		return true
	}
	return false
}

// measuresBefore are the concepts that stand last before f.
func (r *reading) measuresBefore(f prose.Figure, from, to int) (last []string) {
	words := r.wordsIn(from, to)
	for at := 0; at < len(words); at++ {
		w := words[at]
		found, n := conceptAt(words[at:])
		at += max(n-1, 0)
		if at > 0 && words[at-1] == "who" {
			continue // those who hold it
		}
		if at == len(words)-1 && f.Unit == prose.USD && (w == "moved" || w == "moving") {
			found = []string{"volume"} // of what is traded
		}
		if found = fitting(found, f); len(found) > 0 && !slices.Contains(last, "odds") { // of whatever
			last = found
		}
	}
	return last
}

func (r *reading) wordsIn(from, to int) (list []string) {
	for _, w := range r.words {
		if w.Start >= from && w.End <= to && !r.named(w) {
			list = append(list, w.Text)
		}
	}
	return list
}

// fitting are those of the concepts that f can be of.
func fitting(concepts []string, f prose.Figure) (list []string) {
	for _, c := range concepts {
		fits := true
		switch f.Unit {
		case prose.USD, prose.Currency:
			fits = !breadth(c) && (amount(c) || !level(c))
		case prose.Percent, prose.Basis:
			fits = !breadth(c)
		}
		if fits {
			list = append(list, c)
		}
	}
	return list
}

// dated reads the time that f is of: what stands behind it counts first, and a span that opens the sentence is that of all its figures.
func (r *reading) dated(f *assertion, i, from, to, start, end int) {
	var found, opening *prose.Period
	part := r.part(i)
	first := slices.IndexFunc(r.figures, func(g assertion) bool { return g.Start >= part })
	for at := range r.periods {
		p := &r.periods[at]
		switch {
		case p.Start >= start && p.End <= end:
			if found == nil || found.Start < start {
				found = p
			}
		case p.Start >= from && p.End <= to && (found == nil || found.End <= to),
			found == nil && p.Ago && f.percent() && p.Start > f.End && r.text[f.End:p.Start] == " from ":
			found = p
		case p.Ago:
		case p.Start >= part && p.End <= r.figures[first].Start,
			opening == nil && p.End <= r.figures[0].Start && (part <= p.End || r.lastIn(0, p.Start, true) == nil):
			opening = p
		}
	}
	if found == nil {
		found = opening
	}
	if found == nil {
		for _, w := range append(r.stemsIn(from, to), r.stemsIn(start, end)...) {
			switch w {
			case "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
				"weekend", "quarter", "decade", "minute", "hour":
				f.ago = past
			}
		}
		return
	}
	f.ended = found.Over
	if found.Ago {
		f.ago = found.Length
	} else {
		f.over = found.Length
	}
}

// subjects is what the i-th figure is of: the name last before it, or the one that stands directly behind it where none is new, or what the
// figure before is of. nil means that the sentence does not say.
func (r *reading) subjects(i int) []*mention {
	f := &r.figures[i]
	from, to := r.before(i)
	next := r.nextTo(i)
	if part := r.part(i); part > from {
		if own := r.subjectsFrom(i, part, to, next); own != nil {
			return own
		}
		if i > 0 && (f.totals() || r.breadth(i)) {
			return nil
		}
		if next != nil && !r.goesOn(part) {
			return []*mention{next}
		}
	}
	if own := r.subjectsFrom(i, from, to, next); own != nil {
		return own
	}
	if i > 0 {
		if f.totals() || r.breadth(i) {
			return nil
		}
		before := &r.figures[i-1]
		behind := len(before.subjects) == 1 && before.subjects[0].start >= before.End
		if next != nil && behind && r.attached(f.End, "with") == next { // its name stands behind it, as that of the one before
			return []*mention{next}
		}
		if r.clause(from, to) == from {
			f.inherits = r.figures[i-1].inherits
			return r.figures[i-1].subjects
		}
		var all []*mention
		for _, m := range r.mentions {
			if m.refs == nil && (m.end <= f.Start || m == next) {
				all = append(all, m)
			}
		}
		return all
	}
	if next != nil && (!r.goesOn(0) || r.Opens || len(r.known) == 0) { // its price down 2 %, A stands out
		return []*mention{next}
	}
	if !r.Opens {
		f.inherits = !r.goesOn(0)
		return r.known
	}
	return nil
}

// part is where the part of the sentence begins that the i-th figure is in: behind an anchor or a semicolon.
func (r *reading) part(i int) (start int) {
	before := r.text[:r.figures[i].Start]
	if at := strings.LastIndex(before, anchored); at >= 0 {
		start = at + len(anchored)
	}
	return max(start, strings.LastIndexByte(before, ';')+1)
}

// anchored stands in the place of an anchor at least.
const anchored = "   "

// subjectsFrom is what the text before the i-th figure from a place on names, or what stands directly behind it; nil for nothing.
func (r *reading) subjectsFrom(i, from, to int, next *mention) []*mention {
	f := &r.figures[i]
	if m := r.lastIn(from, to, true); m != nil {
		if m.start == 0 && m.rows == nil && next != nil && !strings.ContainsAny(r.text[f.End:next.start], ",;:") {
			return []*mention{next} // a word that begins a sentence need be no name: hackers took it from Bitcoin
		}
		if of := r.qualified(m); of != nil { // fees on Bitcoin
			return []*mention{m, of}
		}
		if group := r.groupAt(m); group[0].start >= from {
			return r.paired(i, group)
		}
		return []*mention{m}
	}
	if m := r.attached(f.End); m != nil {
		return []*mention{m}
	}
	if m := r.lastIn(from, to, false); m != nil {
		return []*mention{m}
	}
	return nil
}

// until is where the next figure begins, or the end.
func (r *reading) until(i int) int {
	if i+1 < len(r.figures) {
		return r.figures[i+1].Start
	}
	return len(r.text)
}

// nextTo is the first name behind the i-th figure and before the next one, or else another mention there; nil for none.
func (r *reading) nextTo(i int) (next *mention) {
	until := r.until(i)
	for _, m := range r.mentions {
		if m.refs != nil || m.start < r.figures[i].End || m.end > until || strings.Contains(r.text[r.figures[i].End:m.start], anchored) {
			continue // or an anchor is between
		}
		if next == nil || m.name && !next.name {
			next = m
		}
	}
	return next
}

// lastIn is the last mention in text[from:to] that is a name, or none; nil for none. One that the figure before it has taken is not new,
// and one that says the place of a name is no subject.
func (r *reading) lastIn(from, to int, name bool) (last *mention) {
	for _, m := range r.mentions {
		if m.start < from || m.end > to || m.name != name || m.refs != nil || r.taken(m) || r.excluded(m) {
			continue
		}
		if of := r.qualified(m); !name || of == nil || !of.name {
			last = m
		}
	}
	return last
}

// excluded reports whether something is said not of m, but of another: A, unlike B, is up.
func (r *reading) excluded(m *mention) bool {
	words := prose.Words(r.text[:m.start])
	if len(words) == 0 || strings.TrimSpace(r.text[words[len(words)-1].End:m.start]) != "" {
		return false
	}
	switch words[len(words)-1].Text {
	case "not", "unlike", "except", "excluding", "without":
		return true
	}
	return false
}

// qualified is what m says the place of, as in a pool on Base; nil for nothing.
func (r *reading) qualified(m *mention) *mention {
	if !strings.HasSuffix(r.text[:m.start], " on ") {
		return nil
	}
	var last *mention
	for _, o := range r.mentions {
		if len(o.rows) > 0 && o.end < m.start && !strings.ContainsAny(r.text[o.end:m.start], ",;:.(") {
			last = o
		}
	}
	return last
}

// perhaps reports whether the last words before f are an ordinary word that is the name of x too, and no other name.
func (r *reading) perhaps(f *assertion, x *row) bool {
	from := 0
	for _, m := range r.mentions {
		if m.name && m.end <= f.Start {
			from = max(from, m.end)
		}
	}
	for _, o := range r.figures {
		if o.End <= f.Start {
			from = max(from, o.End)
		}
	}
	return slices.ContainsFunc(r.maybe, func(m *mention) bool { return m.start >= from && m.end <= f.Start && m.covers(x) })
}

// taken reports whether m stands directly behind a figure that no name stands before.
func (r *reading) taken(m *mention) bool {
	return slices.ContainsFunc(r.figures, func(f assertion) bool {
		return len(f.subjects) == 1 && f.subjects[0] == m && f.End <= m.start
	})
}

// attached is the name that stands directly behind end, as in 6.9 at Tonga, or behind another word there.
func (r *reading) attached(end int, also ...string) (best *mention) {
	for _, m := range r.mentions {
		if !m.name || m.start < end || m.refs != nil {
			continue
		}
		between := strings.TrimSuffix(strings.TrimRight(r.text[end:m.start], "“\""), "the ")
		if slices.Contains(also, strings.TrimSpace(between)) {
			return m
		}
		switch between {
		case " ", " at ", " for ", " in ", " near ", " on ", " off ", " of ", " to ":
			if best == nil || m.end > best.end {
				best = m
			}
		}
	}
	return best
}

// paired is the part of group that the i-th figure is of, where as many figures follow as there are names: A and B are at 1 and 2.
func (r *reading) paired(i int, group []*mention) []*mention {
	if len(group) == 1 {
		return group
	}
	first, last := i, i
	end := group[len(group)-1].end
	for last+1 < len(r.figures) && r.figures[last+1].Unit == r.figures[first].Unit && r.lastIn(end, r.figures[last+1].Start, true) == nil {
		last++
	}
	a := r.figures[first]
	for _, w := range r.stemsIn(0, r.figures[first].Start) {
		if w == "between" || w == "from" {
			return group
		}
	}
	if last-first+1 != len(group) || len(a.readings) > 1 && r.text[a.End:r.figures[first+1].Start] != " and " {
		r.figures[first].shared = len(a.readings) == 1 && strings.Contains(r.text[group[0].end:end], " and ")
		return group // or a range
	}
	for at := first + 1; at <= last; at++ {
		r.figures[at].pair = group[at-first]
	}
	return group[:1]
}

// goesOn reports whether the text from a place on starts with a word for what was named before.
func (r *reading) goesOn(from int) bool {
	for _, w := range r.words {
		switch w.Text {
		case "and", "but", "while", "whereas", "with":
			if from > 0 {
				continue
			}
		case "it", "its", "they", "their", "this", "that", "these", "those", "which", "whose", "both":
			if w.Start >= from {
				return true
			}
		}
		if w.Start >= from {
			return false
		}
	}
	return false
}

package check

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// statement is a sentence as it is judged: with what stands in it.
type statement struct {
	*judge
	prose.Sentence
	numbers []*prose.Written
	named   []*mention
	words   []prose.Word // with places in the flat text
	ends    []reason     // words that end the judgement
	skip    map[int]bool // numbers that are part of the one before
	periods []prose.Period
	long    bool // it is no sentence that a reader would follow
}

// value is a number of a row.
type value struct {
	row   *state.Row
	field string
	now   float64
	late  bool
}

func (j *judge) read(s prose.Sentence) *statement {
	t := &statement{judge: j, Sentence: s, skip: map[int]bool{}}
	for i := range j.numbers {
		if w := &j.numbers[i]; s.Start <= w.Start && w.End <= s.End {
			t.numbers = append(t.numbers, w)
		}
	}
	for _, m := range j.mentions {
		if s.Start <= m.start && m.end <= s.End {
			t.named = append(t.named, m)
		}
	}
	const most = 1500 // bytes
	if t.long = s.End-s.Start > most; t.long || len(t.numbers) == 0 {
		return t
	}
	for _, w := range prose.Words(j.flat.Text[s.Start:s.End]) {
		w.Start += s.Start
		w.End += s.Start
		t.words = append(t.words, w)
	}
	t.periods = prose.Periods(t.words)
	t.words = slices.DeleteFunc(t.words, func(w prose.Word) bool { // basis points
		return strings.Trim(w.Text, "0123456789") != "" && slices.ContainsFunc(t.numbers, func(n *prose.Written) bool {
			return n.Kind == prose.Number && n.Start <= w.Start && w.End <= n.End
		})
	})
	t.ends = t.endings()
	return t
}

// between are the words of the sentence from one place to another that are in no name.
func (t *statement) between(from, to int) (list []prose.Word) {
	for _, w := range t.words {
		if w.Start >= from && w.End <= to && !t.inMention(w) {
			list = append(list, w)
		}
	}
	return list
}

// inMention reports whether a word is of a name.
func (t *statement) inMention(w prose.Word) bool {
	return slices.ContainsFunc(t.named, func(m *mention) bool { return m.start <= w.Start && w.End <= m.end })
}

// figure judges the i-th number of the sentence. counts is false for what is no figure of anything: a span, a date, an anchor.
func (t *statement) figure(i int) (f api.CheckFinding, counts bool) {
	w := t.numbers[i]
	switch {
	case t.skip[i] || w.Kind != prose.Number || t.anchored(w) || t.dated(w) || t.inName(w.Start, w.End) || within(t.links, w.Start):
		return f, false
	}
	f = t.finding(w)
	f.Verdict = api.CheckUnknown
	if w.Sign == 0 && w.Unit != prose.Currency {
		said := w.Value
		f.Written = &said
	} else if w.Unit != prose.Currency {
		said := w.Value * float64(w.Sign)
		f.Written = &said
	}
	if f.Written != nil && (math.IsInf(*f.Written, 0) || math.IsNaN(*f.Written)) {
		f.Written = nil
	}
	switch {
	case within(t.masked, w.Start):
		f.Reason = api.CheckQuoted
		return f, !w.Bare()
	case t.long:
		f.Reason = api.CheckAmbiguousSubject
		return f, !w.Bare()
	case within(t.quotes, w.Start):
		return t.quotation(f, w)
	}
	c := t.clause(i)
	c.fields()
	if w.Bare() && len(c.values) == 0 {
		return f, false // it counts something, or is part of a name
	}
	c.judge(&f)
	return f, true
}

// dated reports whether w is the day or the year beside the name of a month.
func (t *statement) dated(w *prose.Written) bool {
	day := len(w.Raw) <= 2
	if w.Sign != 0 || strings.Trim(w.Raw, "0123456789") != "" || !day && !year(w.Raw) {
		return false
	}
	for i, m := range t.words {
		beside := i > 0 && t.words[i-1].Start == w.Start || i+1 < len(t.words) && t.words[i+1].Start == w.Start
		if beside && month(m.Text) > 0 {
			return true
		}
	}
	return false
}

// anchored reports whether w is the number of an anchor.
func (t *statement) anchored(w *prose.Written) bool {
	text := t.flat.Text
	return w.Start > 0 && text[w.Start-1] == '[' && w.End < len(text) && text[w.End] == ']'
}

// inName reports whether a part of the text is in a name, as the end of ether.fi is.
func (t *statement) inName(from, to int) bool {
	return slices.ContainsFunc(t.named, func(m *mention) bool { return m.start < to && from < m.end })
}

// quotation is what becomes of a figure in words of somebody else: it is verified where the state has these words.
func (t *statement) quotation(f api.CheckFinding, w *prose.Written) (api.CheckFinding, bool) {
	at := slices.IndexFunc(t.quotes, func(q [2]int) bool { return q[0] <= w.Start && w.Start < q[1] })
	quote := t.flat.Text[t.quotes[at][0]:t.quotes[at][1]]
	if t.inTexts(quote) || t.inTexts(strings.TrimRight(quote, ".,!?…")) {
		f.Verdict = api.CheckVerified
		return f, true
	}
	f.Reason = api.CheckQuoted
	return f, true
}

// clause is what the sentence says about one number.
type clause struct {
	*statement
	w        *prose.Written
	last     *prose.Written // of an interval, its end
	readings []prose.Figure
	hedge    hedge
	subject  *mention
	others   []*mention // that it may be of as well
	before   []prose.Word
	behind   []prose.Word
	metric   bool   // a word says what the figure measures
	word     string // that says it of no other field, "" for none
	fixed    bool   // words leave one number of the subject
	values   []value
	inherits []value // that a word for another figure of the sentence leads to
	missing  bool    // the row is not in the state of the moment
	paired   bool    // it is of the name in its place in a list
	cites    bool    // no word says what it measures: it is held against all that the cited row has
	prior    bool    // it is what something was before: it asks $4 after $5
	from     int     // where its part of the sentence begins
}

var rangeWords = regexp.MustCompile(`^(?: ?[-–—] ?| to )\$?$`)

// clause reads what stands around the i-th number.
func (t *statement) clause(i int) *clause {
	w := t.numbers[i]
	c := &clause{statement: t, w: w, readings: w.Readings()}
	from, to := t.Start, t.End
	if n := t.beside(i, -1); n >= 0 {
		from = t.numbers[n].End
		if cut := lastCut(t.flat.Text[from:w.Start]); cut > 0 {
			from += cut // what stands before it is of the number before
		}
	}
	end := w.End
	if i+1 < len(t.numbers) {
		next := t.numbers[i+1]
		gap := t.flat.Text[w.End:next.Start]
		betweens := gap == " and " && strings.HasSuffix(strings.ToLower(t.flat.Text[from:w.Start]), "between ")
		plain := w.Unit == prose.Plain || w.Unit == next.Unit
		if (betweens || rangeWords.MatchString(gap) && !strings.HasSuffix(strings.ToLower(t.flat.Text[from:w.Start]), "from ")) && plain &&
			next.Kind == prose.Number && next.Sign == 0 {
			first, ok := w.Within(next.Figure, "-")
			if ok && first.Value <= next.Value {
				c.readings, c.last, end = []prose.Figure{first}, next, next.End
				t.skip[i+1] = true
			}
		}
	}
	if n := t.beside(i, 1); n >= 0 && c.last == nil {
		to = t.numbers[n].Start
		if cut := firstCut(t.flat.Text[end:to]); cut >= 0 {
			to = end + cut // what stands behind it is of the number behind
		}
	}
	c.from = from
	c.choose(from, to, end)
	start := from
	for _, m := range t.named {
		if c.subject != nil && c.subject.end <= w.Start && m.end <= c.subject.start { // what stands before it is of that name
			start = max(start, m.end)
		}
	}
	c.before = t.between(start, w.Start)
	for stop, r := range t.flat.Text[end:to] {
		if strings.ContainsRune(",;:.()—\n", r) && !t.inName(end+stop, end+stop+1) {
			to = end + stop
			break
		}
	}
	for _, m := range t.named {
		if m.start >= end && m != c.subject {
			to = min(to, m.start)
		}
	}
	c.behind = t.between(end, max(to, end))
	c.hedge = hedgeOf(c.before)
	return c
}

// beside is the next number from the i-th on, in steps of step, that is no length of time and in no name; -1 where there is none.
func (t *statement) beside(i, step int) int {
	for n := i + step; n >= 0 && n < len(t.numbers); n += step {
		if t.numbers[n].Kind != prose.Span && !t.inName(t.numbers[n].Start, t.numbers[n].End) {
			return n
		}
	}
	return -1
}

// joining are words that part one statement of a sentence from the next.
func joining() []string { return []string{" and ", " but ", " while ", " und ", " et ", " y "} }

// lastCut is where the last part of a text begins that a comma or a joining word parts from what is before.
func lastCut(t string) (cut int) {
	for _, by := range append([]string{", ", "; ", ": "}, joining()...) {
		if i := strings.LastIndex(t, by); i >= 0 {
			cut = max(cut, i+1)
		}
	}
	return cut
}

// firstCut is where a joining word ends the first part of a text, -1 for nowhere.
func firstCut(t string) int {
	cut := -1
	for _, by := range append(joining(), " with ") {
		if i := strings.Index(t, by); i >= 0 && (cut < 0 || i < cut) {
			cut = i
		}
	}
	return cut
}

// choose finds what the number is of: the last name before it, or else one behind it, or else that of the sentence before.
func (c *clause) choose(from, to, end int) {
	var before, behind []*mention
	for _, m := range c.named {
		switch {
		case m.end <= c.w.Start:
			before = append(before, m)
		case m.start >= end:
			behind = append(behind, m)
		}
	}
	n := len(before)
	switch {
	case n > 0:
		c.subject = before[n-1]
		c.others = append(c.others, before[:n-1]...)
		if c.pairs(before) {
			break
		}
		if len(behind) > 0 && behind[0].start < to && c.attached(end, behind[0].start) &&
			max(from, c.Start+lastCut(c.flat.Text[c.Start:c.w.Start])) > c.subject.end {
			c.others = append([]*mention{c.subject}, c.others...)
			c.subject = behind[0]
		}
	case len(behind) > 0:
		c.subject, c.others = behind[0], behind[1:]
	case len(c.previous) > 0 && !c.Opens:
		m := *c.previous[0]
		m.sure = false
		m.start, m.end = c.Start, c.Start
		c.subject = &m
	}
	c.others = append(c.others, behind...)
	c.others = slices.DeleteFunc(c.others, func(m *mention) bool { return m == c.subject })
}

// attached reports whether a name stands directly behind a figure, or behind a word for a move: a 2% drop in it.
func (c *clause) attached(from, to int) bool {
	words := c.between(from, to)
	if strings.ContainsAny(c.flat.Text[from:to], ",;:().") {
		return false
	}
	if len(words) == 0 {
		return c.flat.Text[from:to] == " "
	}
	if len(words) > 1 && words[len(words)-1].Text == "the" {
		words = words[:len(words)-1]
	}
	last := words[len(words)-1].Text
	if len(words) == 2 && prose.Heading(words[0].Text, "") == 0 || len(words) > 2 {
		return false
	}
	return slices.Contains([]string{"for", "in", "of", "at", "on"}, last)
}

// pairs reports whether names in a list have the same number of figures behind them, and takes the one in the place of c's.
func (c *clause) pairs(before []*mention) bool {
	n := len(before)
	first := n - 1
	for first > 0 && listed(c.flat.Text[before[first-1].end:before[first].start]) {
		first--
	}
	group := before[first:]
	if len(group) < 2 || strings.HasPrefix(c.flat.Text[group[0].end:], ", and ") { // another clause
		return false
	}
	var figures []*prose.Written
	for _, w := range c.numbers {
		if w.Start >= before[n-1].end && w.Kind == prose.Number && !c.anchored(w) {
			if len(figures) > 0 && !listed(c.flat.Text[figures[len(figures)-1].End:w.Start]) {
				break
			}
			figures = append(figures, w)
		}
	}
	at := slices.Index(figures, c.w)
	switch {
	case at >= 0 && len(figures) == len(group):
		c.subject, c.paired = group[at], true
		return true
	case at >= 0:
		m := *c.subject
		m.sure = false
		c.subject = &m
	}
	return false
}

func listed(between string) bool {
	return slices.Contains([]string{", ", " and ", ", and ", " & ", "/", " / ", "% and ", " respectively"}, between)
}

// fields finds the numbers of the subject that c may be about.
func (c *clause) fields() {
	if c.subject == nil {
		return
	}
	var list []measured
	for _, r := range c.subject.rows {
		list = append(list, c.measures(r)...)
	}
	if n := len(c.before); n > 0 && c.before[n-1].Text == "after" {
		if was := slices.DeleteFunc(slices.Clone(list), func(m measured) bool { return !strings.Contains(m.field, "Was") }); len(was) > 0 {
			list, c.prior = was, true
		}
	}
	best := 0
	for _, m := range list {
		best = max(best, m.words)
	}
	c.metric = best > 0
	if best == 0 {
		for _, m := range list {
			if v, ok := c.valueOf(m.row, m.field); ok && m.inherited {
				c.inherits = append(c.inherits, v)
			}
		}
		list = slices.DeleteFunc(list, func(m measured) bool { return !m.byDefault })
	} else {
		list = slices.DeleteFunc(list, func(m measured) bool { return m.words < best })
		if i := slices.IndexFunc(list, func(m measured) bool { return m.own != "" }); i >= 0 {
			c.word = list[i].own
			list = slices.DeleteFunc(list, func(m measured) bool { return m.own == "" })
		}
	}
	list = c.timed(list)
	c.fixed = c.fixed || c.metric || slices.ContainsFunc(c.before, func(w prose.Word) bool { return priced(w.Text) })
	for _, m := range list {
		v, ok := c.valueOf(m.row, m.field)
		if ok {
			c.values = append(c.values, v)
		}
	}
	if len(c.values)+len(c.inherits) == 0 {
		for _, r := range c.subject.rows {
			if slices.Contains(c.Anchors, r.Ref) && !c.Tables.KindNamed(r.Kind).Own {
				c.values, c.cites = append(c.values, c.cited(r)...), true
			}
		}
	}
}

// valueOf is the number of a field of r at the moment.
func (c *clause) valueOf(r *state.Row, field string) (v value, ok bool) {
	from := r
	if c.then != nil {
		then, there := c.then[r.Kind+"/"+r.Key]
		if !there {
			c.missing = true
			return v, false
		}
		from = &then
	}
	n, is := from.Number(field)
	return value{r, field, n, c.then == nil && (r.Stale || c.Late != nil && c.Late(r))}, is
}

// measured is a field that a figure may be of.
type measured struct {
	row       *state.Row
	field     string
	words     int    // how many words for it stand there
	own       string // one of them that is for no other field: input price; "" for none
	byDefault bool   // it is meant without a word
	inherited bool   // a word for it stands earlier in the sentence
	level     bool   // it is a percentage that has no period and no sign: a yield
}

// measures are the fields of r with the unit of the figure.
func (c *clause) measures(r *state.Row) (list []measured) {
	kind := c.Tables.KindNamed(r.Kind)
	near := append(slices.Clone(c.behind), c.before...)
	text, earlier := " "+joined(near)+" ", " "+joined(c.between(c.Start, c.w.Start))+" "
	name := " " + joined(prose.Words(strings.ToLower(c.flat.Text[c.subject.start:c.subject.end]))) + " "
	amounts := 0
	for _, f := range kind.Fields {
		if human.FieldUnit(f.Name) == "USD" {
			amounts++
		}
	}
	for i, f := range kind.Fields {
		if _, is := r.Number(f.Name); !is && c.then == nil {
			continue
		}
		if !c.unitFits(f.Name) {
			continue
		}
		unit := human.FieldUnit(f.Name)
		m := measured{row: r, field: f.Name, level: unit == "%" && !signed(f.Name) && periodOf(f.Name) == 0}
		if m.level && c.moved() { // a volatility that rose 8% is not at 8%
			continue
		}
		for _, w := range f.Words {
			if periodic(w) || w == "trade" || w == "trades" {
				continue
			}
			if strings.Contains(text, " "+w+" ") || strings.Contains(w, " ") && strings.Contains(name, " "+w+" ") {
				m.words = max(m.words, 1+strings.Count(w, " "))
				if !slices.ContainsFunc(kind.Fields, func(o state.Field) bool { // what it was before is no other
					stem := strings.TrimSuffix(strings.TrimSuffix(f.Name, "Usd"), "Pct")
					return !strings.HasPrefix(o.Name, stem) && c.unitFits(o.Name) && slices.Contains(o.Words, w)
				}) {
					m.own = w
				}
			}
			m.inherited = m.inherited || strings.Contains(earlier, " "+w+" ") || strings.Contains(name, " "+w+" ")
		}
		switch {
		case unit == "%":
			rate := m.level && slices.ContainsFunc(f.Words, func(w string) bool { return w == "rate" || w == "yield" })
			m.byDefault = changes(f.Name) || i == 0 && (kind.Own || rate) || periodOf(f.Name) != 0 && len(c.periods) > 0
		case unit == "USD":
			marked := strings.HasPrefix(f.Name, "mark") && slices.Contains(f.Words, "trade")
			m.byDefault = strings.HasPrefix(f.Name, "price") || marked
			m.inherited = m.inherited || amounts == 1
		default:
			m.byDefault = i == 0 && (len(kind.Fields) < 8 || slices.Contains(f.Words, "level"))
			m.byDefault = m.byDefault || c.readings[0].Unit == prose.Other && unit != ""
		}
		list = append(list, m)
	}
	return list
}

// unitFits reports whether a field has the unit of the number.
func (c *clause) unitFits(field string) bool {
	unit := human.FieldUnit(field)
	w := c.readings[0]
	if c.last != nil {
		w.Unit = max(w.Unit, c.last.Unit)
	}
	switch w.Unit {
	case prose.USD:
		return unit == "USD"
	case prose.Percent:
		return unit == "%"
	case prose.Basis:
		return unit == "%" || unit == "bp"
	case prose.Currency:
		return false
	case prose.Other:
		return unit == "" || begins(c.flat.Text[w.End:], unit)
	}
	if w.Bare() {
		return unit == "" || unit == "sat/vB" || unit == "gwei"
	}
	return unit == "" || unit == "USD"
}

// begins reports whether a text begins with a unit.
func begins(t, unit string) bool {
	t = strings.TrimPrefix(t, " ")
	return len(t) >= len(unit) && strings.EqualFold(t[:len(unit)], unit)
}

// changes reports whether a field says how much something moved.
func changes(field string) bool {
	return strings.HasPrefix(field, "change") || strings.Contains(field, "Change")
}

// signed reports whether a field may be below zero.
func signed(field string) bool {
	return changes(field) || strings.Contains(field, "eviation") || strings.Contains(field, "unding")
}

// periodic reports whether a word of a field is one for its period, which is read by itself.
func periodic(w string) bool {
	switch w {
	case "1h", "hour", "hourly", "24h", "1d", "day", "daily", "7d", "week", "weekly", "performance":
		return true
	}
	return false
}

// timed leaves the fields of the period that the sentence names, where they are of one.
func (c *clause) timed(list []measured) []measured {
	var length time.Duration
	near := func(p prose.Period) bool {
		from, to := c.w.Start, c.w.End
		if len(c.before) > 0 {
			from = c.before[0].Start
		}
		if len(c.behind) > 0 {
			to = c.behind[len(c.behind)-1].End
		}
		return p.Start >= from && p.End <= to
	}
	one := true // there is one in the sentence
	for _, only := range []bool{true, false} {
		for _, p := range c.periods {
			if !p.Ago && (near(p) || !only) && length == 0 {
				length, c.fixed = p.Length, only
			}
			one = one && (p.Length == length || length == 0)
		}
	}
	if length == 0 {
		return list
	}
	c.fixed = c.fixed && one
	return slices.DeleteFunc(list, func(m measured) bool {
		p := periodOf(m.field)
		return p != 0 && p != length
	})
}

var periodForm = regexp.MustCompile(`(\d+[hdwmy])pct$`)

// periodOf is the period of a field that is a percentage over one, as of a change or of what a position costs, 0 for others.
func periodOf(field string) time.Duration {
	m := periodForm.FindStringSubmatch(strings.ToLower(field))
	if m == nil {
		return 0
	}
	return prose.SpanOf(m[1])
}

// priced reports whether a word before an amount makes it a price.
func priced(w string) bool {
	switch w {
	case "costs", "cost", "trades", "trade", "trading", "traded", "priced", "quoted", "hands":
		return true
	}
	return false
}

// moved reports whether words before the figure say that something moved by it.
func (c *clause) moved() bool {
	f := c.w.Figure
	f.Sign = 0
	return prose.Direction(c.flat.Text[:f.End], f) != 0
}

func joined(words []prose.Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}

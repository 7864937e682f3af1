package check

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// hedge says how loosely a figure is meant.
type hedge uint8

const (
	exact hedge = iota
	around
	most  // the value is no more: nearly, under
	least // no less: over, at least
)

// hedgeOf reads the words before a figure.
func hedgeOf(before []prose.Word) hedge {
	text := " " + joined(before[max(0, len(before)-3):])
	for _, h := range []struct {
		hedge hedge
		words []string
	}{
		{least, []string{"over", "more than", "at least", "above", "just over", "upwards of"}},
		{most, []string{"nearly", "almost", "under", "just under", "below", "up to", "less than", "just below", "close to"}},
		{around, []string{"about", "around", "roughly", "some", "approximately", "circa", "near"}},
	} {
		for _, w := range h.words {
			if strings.HasSuffix(text, " "+w) {
				return h.hedge
			}
		}
	}
	return exact
}

// outcome is how a figure compares with a value.
type outcome uint8

const (
	off outcome = iota
	reversed
	nearby
	same
)

// band is from where to where a value may lie for a figure, and from where to where it is not clearly another.
type band struct{ low, high, least, most float64 }

// band is that of one reading, in the unit of the field, its sign apart.
func (c *clause) band(f prose.Figure, kind, field string, v float64) band {
	said, half := f.Value, f.Half
	if c.unitOf(f) == prose.Basis && human.FieldUnit(field) == "%" {
		said, half = said/100, half/100
	}
	b := band{said - half, said + half, said - 2*half, said + 2*half}
	if c.last != nil {
		high := c.last.Value
		if c.unitOf(f) == prose.Basis && human.FieldUnit(field) == "%" {
			high /= 100
		}
		wide := math.Abs(high - said)
		return band{min(said, high) - half, max(said, high) + half, min(said, high) - half - wide, max(said, high) + half + wide}
	}
	switch c.hedge {
	case around:
		loose := max(0.02*said, unitOfSecond(said), half)
		b = band{said - loose, said + loose, said - 2*loose, said + 2*loose}
	case most:
		b = band{said * 0.95, said + half*0.01, said * 0.90, said * 1.05}
		if half > 0.01*said {
			b.low = min(b.low, said-half)
		}
	case exact:
		kept := c.keptHalf(kind, field, v)
		b.low, b.high, b.least, b.most = min(b.low, said-kept), max(b.high, said+kept), min(b.least, said-2*kept), max(b.most, said+2*kept)
	case least:
		b = band{said - half*0.01, said * 1.05, said * 0.95, math.Inf(1)}
		if f.Value != c.readings[0].Value {
			b.most = 2 * said // else over 1.5 would be near to all, where over 1,500 is not
		}
		if half > 0.01*said {
			b.high = max(b.high, said+half)
		}
	}
	return b
}

func (c *clause) unitOf(f prose.Figure) prose.Unit {
	if c.last != nil {
		return max(f.Unit, c.last.Unit)
	}
	return f.Unit
}

// unitOfSecond is one unit of the second significant digit.
func unitOfSecond(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Pow10(int(math.Floor(math.Log10(math.Abs(x)))) - 1)
}

// keptHalf is half a unit of the last digit that a state keeps of v, which a text may have more of. Of a percentage it keeps as many as
// of any of its kind.
func (j *judge) keptHalf(kind, field string, v float64) float64 {
	switch {
	case v == 0:
		return 0
	case strings.HasPrefix(field, "price"):
		return math.Pow10(int(math.Floor(math.Log10(math.Abs(v))))-5) / 2
	case human.FieldUnit(field) == "%":
		of := measure{kind: kind, field: field}
		places, known := j.decimals[of]
		if !known {
			places = 2
			for _, r := range j.Tables.Rows() {
				if n, is := r.Number(field); is && r.Kind == kind {
					_, decimals, _ := strings.Cut(strings.TrimRight(strconv.FormatFloat(n, 'f', 4, 64), "0"), ".")
					places = max(places, len(decimals))
				}
			}
			j.decimals[of] = places
		}
		return 0.5 * math.Pow10(-places)
	}
	return 0
}

// compare compares a reading with a value of a field.
func (c *clause) compare(f prose.Figure, kind, field string, v float64) outcome {
	way := 0
	if signed(field) {
		way = prose.Direction(c.flat.Text, c.w.Figure)
	}
	b := c.band(f, kind, field, v)
	magnitude := math.Abs(v)
	if !signed(field) {
		magnitude = v
		if c.w.Sign < 0 || v < 0 && prose.Direction(c.flat.Text, c.w.Figure) < 0 {
			magnitude = -v
		}
	}
	eps := math.Abs(magnitude) * 1e-9
	in := func(low, high float64) bool { return low-eps <= magnitude && magnitude <= high+eps }
	wrongWay := way != 0 && v != 0 && (v > 0) != (way > 0)
	switch {
	case in(b.low, b.high) && wrongWay && magnitude <= f.Half: // rounded to nothing
		return nearby
	case in(b.low, b.high) && wrongWay:
		return reversed
	case in(b.low, b.high):
		const most = 0.05 // $3 trillion is not $3.33 trillion
		if c.hedge == exact && c.last == nil && human.FieldUnit(field) == "USD" && math.Abs(f.Value-magnitude) > most*magnitude {
			return nearby
		}
		return same
	case wrongWay:
		return off
	case in(b.least, b.most):
		return nearby
	}
	return off
}

// best is the best outcome of all readings.
func (c *clause) best(kind, field string, v float64) (o outcome) {
	for _, f := range c.readings {
		if f.Kind == prose.Number {
			o = max(o, c.compare(f, kind, field, v))
		}
	}
	return o
}

// judge completes f.
func (c *clause) judge(f *api.CheckFinding) {
	switch {
	case c.w.Unit == prose.Currency:
		f.Reason = api.CheckOtherCurrency
		return
	case c.subject == nil:
		f.Reason = api.CheckNoSubject
		return
	case len(c.values)+len(c.inherits) == 0:
		f.Reason = api.CheckNoSuchField
		if c.missing {
			f.Reason = api.CheckNotInState
		}
		c.elsewhere(f)
		return
	}
	near := false
	opposed := (*value)(nil)
	why := c.ended(false)
	for i := range c.values {
		v := c.values[i]
		switch c.best(v.row.Kind, v.field, v.now) {
		case same:
			if c.digresses(v) || c.uncited(v) {
				near = true
				continue
			}
			if blocks(why) {
				f.Reason = why
				return
			}
			c.matched(f, v)
			return
		case nearby:
			near = true
		case reversed:
			opposed = &c.values[i]
		}
	}
	for _, v := range c.inherits {
		if why == "" && c.best(v.row.Kind, v.field, v.now) == same {
			c.matched(f, v)
			return
		}
	}
	switch {
	case why == "" && c.elsewhere(f):
		return
	case why != "":
		f.Reason = why
		return
	case len(c.values) == 0:
		f.Reason = api.CheckAmbiguousField
		return
	case !c.cites && c.old(f): // among all that a row ever had is much that fits by chance
		return
	case near:
		f.Reason = api.CheckNear
	default:
		c.refute(f, opposed)
	}
	if len(c.values) == 1 && f.Verdict == api.CheckUnknown {
		c.fill(f, c.values[0])
	}
}

// digresses reports whether v is of another period than the sentences are about, which c leaves unsaid: of a day, where they name none.
func (c *clause) digresses(v value) bool {
	of, about := periodOf(v.field), c.period
	if about == 0 && slices.ContainsFunc(c.values, func(o value) bool { return periodOf(o.field) == prose.Day }) {
		about = prose.Day
	}
	return of != 0 && len(c.periods) == 0 && about != 0 && of != about
}

// uncited reports whether the sentence cites another row that c may be of, and not that of v.
func (c *clause) uncited(v value) bool {
	cited := func(v value) bool { return slices.Contains(c.Anchors, v.row.Ref) }
	return !cited(v) && slices.ContainsFunc(c.values, cited)
}

// blocks reports whether a word keeps even a figure that fits from being verified.
func blocks(why api.CheckReason) bool { return why != "" && why != api.CheckComputed }

// matched says that v is what f is. Who begins with changes of a day goes on with them.
func (c *clause) matched(f *api.CheckFinding, v value) {
	if len(c.periods) == 0 && c.period == 0 {
		c.period = periodOf(v.field)
	}
	if f.Verdict = api.CheckVerified; v.late {
		f.Verdict, f.Reason = api.CheckStale, api.CheckSourceStale
	}
	c.fill(f, v)
}

// elsewhere verifies a figure that another name of the sentence has, where a word says what it measures or the sentence is about that
// name, or one that a reading of the whole market has which the sentence cites.
func (c *clause) elsewhere(f *api.CheckFinding) bool {
	others := slices.Clone(c.others)
	if c.paired || c.touches() || len(c.values) > 0 && c.subject.sure && c.subject.end <= c.w.Start && c.closed() {
		others = nil // it says whose figure it is
	}
	others = slices.DeleteFunc(others, c.parted)
	for _, row := range c.single() {
		if slices.Contains(c.Anchors, row.Ref) && !(len(c.values) > 0 && slices.Contains(c.subject.rows, row)) {
			others = append(others, &mention{start: c.w.End, rows: []*state.Row{row}})
		}
	}
	for _, m := range others {
		other := *c
		other.subject, other.values, other.inherits, other.metric = m, nil, nil, false
		if m.end == 0 { // it is cited
			other.values = other.cited(m.rows[0])
		} else if other.fields(); !other.metric && m != c.named[0] && m.start < c.w.End {
			continue
		}
		for _, v := range append(other.values, other.inherits...) {
			level := human.FieldUnit(v.field) == "%" && !signed(v.field) && c.moved() // up by no share
			if !level && !other.digresses(v) && c.best(v.row.Kind, v.field, v.now) == same {
				f.Reason = ""
				c.matched(f, v)
				return true
			}
		}
	}
	if c.witnessed() {
		f.Verdict, f.Reason = api.CheckVerified, ""
		return true
	}
	return false
}

// parted reports whether m is of another part of the sentence than the figure, which has its subject before it.
func (c *clause) parted(m *mention) bool {
	if c.subject.end > c.w.Start {
		return false
	}
	own := len(c.values) > 0 && c.subject.sure && m.end <= c.Start+lastCut(c.flat.Text[c.Start:c.subject.start])
	return own || m.start >= c.w.End && !c.attached(c.w.End, m.start)
}

// touches reports whether the figure is of the name before it by where it stands: in brackets behind it, or with no figure between them
// and only words that leave one meaning.
func (c *clause) touches() bool {
	if !c.subject.sure || c.subject.end > c.w.Start {
		return false
	}
	return strings.Contains(c.flat.Text[c.subject.end:c.w.Start], "(") ||
		c.subject.start >= c.from && !slices.ContainsFunc(c.before, func(w prose.Word) bool { return !plain(w.Text) })
}

// witnessed reports whether a text of the state, such as the message of a flag, has the figure beside a name of the sentence.
func (c *clause) witnessed() bool {
	raw := c.w.Raw
	if c.w.Bare() || c.hedge != exact || c.last != nil || c.prior || !c.inTexts(raw) {
		return false
	}
	names := slices.DeleteFunc(slices.Clone(c.named), c.parted)
	if c.touches() {
		names = []*mention{c.subject}
	}
	return slices.ContainsFunc(strings.Split(c.texts, "\n"), func(line string) bool {
		return holds(line, raw) && c.goes(line) &&
			slices.ContainsFunc(names, func(m *mention) bool {
				return m.sure && holds(line, c.flat.Text[m.start:m.end])
			})
	})
}

// goes reports whether a text says of the figure what c says: in its part of the text the word for what it measures, and the same way,
// where it is a percentage and c says one.
func (c *clause) goes(text string) bool {
	way := prose.Direction(c.flat.Text, c.w.Figure)
	list := slices.DeleteFunc(prose.Numbers(text, api.MaxCheckFigures), func(w prose.Written) bool { return w.Unit != c.w.Unit })
	for i, w := range list {
		from, to := 0, len(text)
		if i > 0 {
			from = list[i-1].End
			from += lastCut(text[from:w.Start])
		}
		if i+1 < len(list) {
			if to = list[i+1].Start; lastCut(text[w.End:to]) > 0 {
				to = w.End + lastCut(text[w.End:to])
			}
		}
		if strings.HasSuffix(w.Raw, c.w.Raw) && strings.Contains(strings.ToLower(text[from:to]), c.word) &&
			(way == 0 || c.w.Unit != prose.Percent || prose.Direction(text, w.Figure) == way) {
			return true
		}
	}
	return false
}

// cited are the numbers of a row with the unit of the figure.
func (c *clause) cited(r *state.Row) (list []value) {
	for _, field := range r.Fields {
		if v, ok := c.valueOf(r, field.Name); ok && c.unitFits(field.Name) {
			list = append(list, v)
		}
	}
	return list
}

// single are the rows that are the only ones of their kinds, the first kind first.
func (c *clause) single() (list []*state.Row) {
	for _, r := range c.lone {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *state.Row) int { return cmp.Compare(a.Kind, b.Kind) })
	return list
}

// measure is a number of a row.
type measure struct{ kind, key, field string }

// earlier is what v was before.
func (c *clause) earlier(v value) []state.Point {
	if c.Earlier == nil {
		return nil
	}
	of := measure{v.row.Kind, v.row.Key, v.field}
	list, known := c.lately[of]
	if !known {
		list = c.Earlier(of.kind, of.key, of.field)
		c.lately[of] = list
	}
	return list
}

// old looks for the figure among earlier values, the newest first.
func (c *clause) old(f *api.CheckFinding) bool {
	var at time.Time
	for _, v := range c.values {
		for _, then := range c.earlier(v) {
			if !then.At.After(at) {
				break
			}
			if c.best(v.row.Kind, v.field, then.Value) == same {
				at = then.At
				c.fill(f, v)
				break
			}
		}
	}
	switch {
	case at.IsZero():
		return false
	case c.At.Sub(at) <= c.Within:
		f.Verdict = api.CheckVerified
	default:
		f.Verdict, f.Reason, f.AsOf = api.CheckStale, api.CheckOtherTime, &at
	}
	return true
}

// span is where a value was since a time, and how much further it may have gone between samples.
type span struct {
	low, high, slack float64
	since            time.Time // zero where too little is known
}

// looked is the time between two samples that are as near as they come.
const looked = 5 * time.Minute

// spread is the span of v in the day before the moment, as far as it is known.
func (c *clause) spread(v value) span {
	const few = 12 // an hour
	s := span{low: v.now, high: v.now}
	points := c.earlier(v)
	at, last, moves := c.At, v.now, make([]float64, 0, len(points))
	for _, p := range points {
		s.low, s.high, s.since = min(s.low, p.Value), max(s.high, p.Value), p.At
		if p.Value != last { // one that is published once an hour moves less often, and further
			moves = append(moves, math.Abs(p.Value-last)*math.Sqrt(float64(looked)/float64(max(at.Sub(p.At), looked))))
		}
		at, last = p.At, p.Value
	}
	if was, known := dayAgo(v); known {
		s.low, s.high = min(s.low, was), max(s.high, was)
	}
	if len(points) < few {
		s.slack, s.since = usual(v), time.Time{}
		return s
	}
	s.slack = apart(v)
	if slices.Sort(moves); len(moves) > 0 {
		s.slack = max(s.slack, 3*moves[len(moves)/2])
	}
	return s
}

// apart is how far sources are from each other that are both right.
func apart(v value) float64 {
	switch unit := human.FieldUnit(v.field); {
	case unit == "USD":
		return 0.001 * math.Abs(v.now)
	case unit == "%" && changes(v.field):
		return 0.1
	}
	return 0
}

// dayAgo is what an amount was a day ago, by how much its row says that it changed.
func dayAgo(v value) (float64, bool) {
	change, known := v.row.Number("change24hPct")
	if !known || change <= -100 || human.FieldUnit(v.field) != "USD" || strings.Contains(v.field, "24h") {
		return 0, false
	}
	return v.now / (1 + change/100), true
}

// usual is how far a value goes in a day that nobody saw.
func usual(v value) float64 {
	size := math.Abs(v.now)
	switch unit := human.FieldUnit(v.field); {
	case signed(v.field):
		return max(2, 0.2*size)
	case unit == "USD" && strings.HasPrefix(v.field, "volume"):
		return 0.1 * size
	case unit == "USD":
		return 0.05 * size
	case unit == "%":
		return 2
	}
	return 0.1 * size
}

// refute refutes f where all holds that has to, else it says what does not.
func (c *clause) refute(f *api.CheckFinding, opposed *value) {
	late := slices.ContainsFunc(c.values, func(v value) bool { return v.late })
	switch {
	case c.w.Odd || c.ranged():
		f.Reason = api.CheckNumberFormat
		return
	case !c.subject.sure || c.subject.several && !(c.metric && c.entities() == 1) && !c.alike():
		f.Reason = api.CheckAmbiguousSubject
		return
	case late:
		f.Reason = api.CheckSourceStale
		return
	case c.ended(true) != "":
		f.Reason = c.ended(true)
		return
	case slices.ContainsFunc(c.words, func(w prose.Word) bool { return w.Text == "yesterday" }): // any time of it may be meant
		f.Reason = api.CheckOtherTime
		return
	case !c.closed() || c.entities() > 1 && !c.alike() || c.cites, !c.metric && len(c.subject.rows) > 1 && c.leveled():
		f.Reason = api.CheckAmbiguousField
		return
	case c.moves():
		f.Reason = api.CheckComputed
		return
	case c.has() || c.inHeadlines():
		f.Reason = api.CheckAmbiguousSubject
		return
	}
	for _, v := range c.values {
		went := c.spread(v)
		if hourly := strings.Contains(v.field, "1h"); hourly && went.since.IsZero() { // it is another one in minutes
			f.Reason = api.CheckNoHistory
			return
		}
		for _, r := range c.readings {
			slack := went.slack
			if opposed != nil && went.since.IsZero() { // that the figure is right but for its sign is no accident
				slack = 0
			}
			if r.Kind == prose.Number && c.reaches(r, v.row.Kind, v.field, went.low-slack, went.high+slack) {
				f.Reason = api.CheckNear
				return
			}
		}
		if opposed != nil && math.Abs(v.now) < 0.2 {
			f.Reason = api.CheckNear
			return
		}
	}
	v := c.values[0]
	f.Verdict, f.Reason = api.CheckRefuted, api.CheckOtherValue
	if opposed != nil {
		v, f.Reason = *opposed, api.CheckDirection
	}
	c.fill(f, v)
	if went := c.spread(v); !went.since.IsZero() {
		f.Range, f.Since = []float64{went.low, went.high}, &went.since
	}
}

// moves reports whether an amount is what something moved by: lost $2,000, but fell to $90,000.
func (c *clause) moves() bool {
	if human.FieldUnit(c.values[0].field) == "%" {
		return false
	}
	before := strings.TrimRight(c.flat.Text[c.from:c.w.Start], " ")
	for _, w := range []string{" to", " at", " above", " below", " over", " under", ":"} {
		if strings.HasSuffix(before, w) {
			return false
		}
	}
	words := joined(c.before)
	return c.w.Sign != 0 || prose.Heading(words, joined(c.behind)) != 0 || strings.HasSuffix(words, " by") || words == "by"
}

// ranged reports whether a reading of the number is no number at all.
func (c *clause) ranged() bool {
	return slices.ContainsFunc(c.readings, func(f prose.Figure) bool { return f.Kind != prose.Number || math.IsInf(f.Value, 0) })
}

// reaches reports whether a value that a reading may mean lies from low to high.
func (c *clause) reaches(f prose.Figure, kind, field string, low, high float64) bool {
	b := c.band(f, kind, field, low)
	if signed(field) {
		way := prose.Direction(c.flat.Text, c.w.Figure)
		up := way >= 0 && b.least <= high && low <= b.most
		down := way <= 0 && -b.most <= high && low <= -b.least
		return up || down
	}
	return b.least <= high && low <= b.most
}

// entities is how many things the values are of.
func (c *clause) entities() int {
	var list []string
	for _, v := range c.values {
		if !slices.Contains(list, v.row.Entity) {
			list = append(list, v.row.Entity)
		}
	}
	return len(list)
}

// leveled reports whether a percentage may be the level of something.
func (c *clause) leveled() bool {
	return slices.ContainsFunc(c.values, func(v value) bool {
		return human.FieldUnit(v.field) == "%" && !signed(v.field) && periodOf(v.field) == 0
	})
}

// inHeadlines reports whether a text of the state, or of a row such as a headline, has the figure. Where words say which change of its
// subject is meant, one that tells of other things alone is no excuse.
func (c *clause) inHeadlines() bool {
	plain := strings.TrimLeft(c.w.Raw, "+-–$")
	raws := []string{c.w.Raw, plain}
	if c.w.Bare() {
		raws = raws[1:]
	}
	if len(c.w.Raw) <= 3 {
		raws = raws[:len(raws)-1]
	}
	raws = slices.DeleteFunc(raws, func(raw string) bool { return !c.inTexts(raw) })
	if len(raws) == 0 || !c.fixed || !changes(c.values[0].field) {
		return len(raws) > 0
	}
	for line := range strings.SplitSeq(c.texts, "\n") {
		if !slices.ContainsFunc(raws, func(raw string) bool { return holds(line, raw) }) {
			continue
		}
		of := judge{Material: c.Material, flat: prose.Flatten(line), lone: c.lone, title: true}
		about := slices.DeleteFunc(of.find(), func(m *mention) bool { return !m.sure })
		own := func(m *mention) bool {
			return slices.ContainsFunc(m.rows, func(r *state.Row) bool {
				return slices.ContainsFunc(c.subject.rows, func(s *state.Row) bool { return s.Entity == r.Entity })
			})
		}
		if len(about) == 0 || slices.ContainsFunc(about, own) {
			return true
		}
	}
	return false
}

// alike reports whether the values are all of the same field of things that are called so: whichever is meant, it is none of them.
func (c *clause) alike() bool {
	name := c.flat.Text[c.subject.start:c.subject.end]
	return !slices.ContainsFunc(c.values, func(v value) bool {
		called := func(s string) bool { return strings.EqualFold(s, name) }
		return v.field != c.values[0].field || !called(v.row.Name) && !slices.ContainsFunc(v.row.Aliases, called)
	})
}

// has reports whether any number of anything that the sentence names, or the one before, is the figure. Where words say which number of
// its subject is meant, another one of it is no excuse.
func (c *clause) has() bool {
	for _, m := range slices.Concat([]*mention{c.subject}, c.others, c.previous) {
		for _, r := range m.rows {
			if c.fixed && slices.Contains(c.subject.rows, r) {
				continue
			}
			for _, field := range r.Fields {
				v, ok := c.valueOf(r, field.Name)
				if ok && c.unitFits(field.Name) && c.best(r.Kind, field.Name, v.now) == same {
					return true
				}
			}
		}
	}
	return false
}

// fill adds to f what v is, and where it stands.
func (c *clause) fill(f *api.CheckFinding, v value) {
	row := v.row.Kind + "/" + v.row.Key
	actual := v.now
	f.Row, f.Field, f.Actual, f.Ref, f.URL = row, v.field, &actual, v.row.Ref, v.row.URL
	if v.row.Ref > 0 && v.row.Ref <= len(c.Citations) && f.URL == "" {
		f.URL = c.Citations[v.row.Ref-1].URL
	}
	if !v.row.FetchedAt.IsZero() && !c.Past {
		at := v.row.FetchedAt
		age := max(int64(c.At.Sub(at)/time.Second), 0)
		f.FetchedAt, f.AgeSeconds = &at, &age
	}
	if p := c.places[row]; p != nil {
		if path := p.Member(v.field); path != "" && c.State.Has(path) {
			f.Path, f.Proof = path, true
		}
	}
	f.Says = says(v, c.At)
}

// says is a sentence about v.
func says(v value, at time.Time) string {
	name := human.Label(v.row.Name, human.Quoted)
	if label := human.FieldLabel(v.field); label != "" {
		name += " " + label
	} else if strings.HasPrefix(v.field, "price") {
		name += " price"
	}
	text := name + " was " + human.Value(v.field, v.now) + " at " + at.UTC().Format("15:04 UTC on 2006-01-02")
	if v.row.Ref > 0 {
		text += " [" + api.Anchor{Ref: v.row.Ref}.String() + "]"
	}
	return text + "."
}

package state

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// Question is a question as it was read: what is asked, one part after the other, or what of it cannot be given.
type Question struct {
	Parts   []Part
	Missing []api.LookupMissing
	Near    []string // the nearest names, where nothing is known by one
	// Partial says that it has a time, an order, a place or a bound, and no thing, kind or field that these could be of; or that it is
	// ambiguous. In a list of questions it may belong to the one before.
	Partial bool
	// Bare says that it names things, and nothing that would be asked of them; Named that it names things at all; Asks that it has a word
	// of questions, such as which. Where one that asks cannot be answered, a bare one beside it is what it was asked of, and one without a
	// name a figure of what it names.
	Bare, Named, Asks bool
}

// Part is a query that a question became. Its times go by the clock of whoever answers it.
type Part struct {
	Query api.RowQuery
	Match api.Match
	Asked []string // fields that the question named
	keys  []string // of the rows, in the order in which they were named
	skip  int      // rows before the one that is asked for
	even  bool     // that there is none is an answer too
	drop  bool     // what lacks the field of the order stands in none

	word  string      // of the time
	when  *prose.When // the time that was named, where it is no field's
	over  bool        // it is a span over which figures move, or what began with it; a moment where neither is set
	since string      // a field of time that has to be in it; "" means none
}

// asking reads one way to read a question.
type asking struct {
	t     *Tables
	kind  string // the only one that counts, "" for all
	limit int
	words []term

	subjects []subject
	kinds    []int
	kindly   []piece // of kinds
	fields   []piece // and directions
	values   []piece
	refused  []piece // values that are negated
	others   []int   // rows that are left out
	without  []piece // kinds whose things are
	beyond   int     // and so many of the largest, 0 for none
	times    []piece
	order    *Order  // that a kind's own words ask for
	sorted   []role  // most, least, top, expensive, cheap
	sized    bool    // one of these stands before a kind: the biggest coins
	rank     float64 // 0 for none
	capped   bool    // first says among how many the row is
	inTop    bool    // or the rows are: in the top ten
	ranked   bool    // a word says that a rank is asked for
	nth      int     // the row that is asked for, in an order other than that of ranks
	loose    int     // a number that nothing beside it says what it is for
	first    int     // how many are asked for, 0 for no number
	bounds   []bound
	even     bool    // what did not move counts too: not down
	all      []role  // summing, counting, averaging
	asides   []piece // words that say nothing by themselves
	flags    bool
	flagKind string
	happened bool
	singular bool // one thing is asked for: coin, not coins
	plural   bool // or several

	missing []api.LookupMissing
	match   api.Match // of names that are none: prefix, words or spelling
}

// subject is a thing that is asked about.
type subject struct {
	piece
	rows  []int
	match api.Match
}

// bound is a comparison with a figure.
type bound struct {
	op      api.Comparison
	value   float64
	percent bool
	by      piece // the field or the direction that stands beside it, the zero piece for none
	text    string
}

func (a *asking) miss(word string, why api.MissingWhy, instead ...string) {
	a.missing = append(a.missing, api.LookupMissing{Word: word, Why: why, Instead: instead})
}

// collect sorts the pieces of a reading by what they do.
func (a *asking) collect(list []piece) {
	negated := false
	for i, p := range list {
		next := beside(list, i, 1)
		if negated && p.role == naming && a.match == "" {
			for _, h := range p.hits {
				a.others = append(a.others, h.row)
			}
			negated = next.role == naming || next.role == joining
			continue
		}
		last, figured := beside(list, i, -1), next.role == figuring && next.number >= 1 && !next.percent
		if negated && p.role == top && figured && a.beyond == 0 {
			a.beyond = int(min(next.number, 1e6)) // outside of the top ten
			continue
		} else if negated && p.role == figuring && last.role == top && a.beyond > 0 {
			negated = false
			continue
		}
		if negated && p.role == ofKind && p.order == nil && !a.t.kinds[p.kind].Own {
			a.without = append(a.without, p)
			negated = false
			continue
		}
		if negated && (p.role == rising || p.role == falling) {
			p.role, p.text = rising+falling-p.role, map[role]string{rising: "down", falling: "up"}[p.role]
			a.even, negated = true, false
		}
		if negated && !slices.Contains([]role{grammar, negating, valued, joining}, p.role) {
			a.miss("not "+p.text, api.MissingNoSuchField)
			negated = false
			continue
		}
		if last.role == ofField && p.role >= ofKind && p.role <= naming && a.words[p.from].slash { // one through the other
			a.miss(last.text+" / "+p.text, api.MissingNoSuchField)
		}
		switch p.role {
		case unknown, spanning:
			a.miss(p.text, api.MissingUnknownWord)
		case negating:
			negated = true
		case naming:
			a.name(p)
		case ofKind:
			a.kinds, a.kindly = append(a.kinds, p.kind), append(a.kindly, p)
			a.plural = a.plural || p.text != singular(p.text)
			if p.order == nil {
				a.singular = a.singular || p.text == singular(p.text) && p.text != "news"
				if slices.Contains(a.t.kinds[p.kind].Whole, p.text) && !slices.Contains(a.all, summing) {
					a.all = append(a.all, summing)
				}
			} else {
				_, several := a.t.orders[p.text+"s"]
				a.order, a.singular = cmp.Or(a.order, p.order), a.singular || several
			}
		case ofField, rising, falling:
			a.fields = append(a.fields, p)
		case valued:
			if negated {
				a.refused, negated = append(a.refused, p), false
			} else {
				a.values = append(a.values, p)
			}
		case timing:
			a.times = append(a.times, p)
		case most, least, top, expensive, cheap:
			a.sorted = append(a.sorted, p.role)
			a.sized = a.sized || next.role == ofKind && next.order == nil
			a.inTop = a.inTop || p.role == top &&
				slices.Contains([]string{"in", "of", "among", "amongst", "within", "inside", "from"}, a.ahead(p.from))
			// the worst of the top 10, the gainers of the top 10 coins: not the top 10 gainers
			if (p.role == top || p.role == most) && next.role == figuring {
				of := beside(list, place(list, next), 1)
				a.sized = a.sized || a.order != nil || of.role == ofKind && of.order == nil
			}
		case ranking:
			if a.rank > 0 {
				a.miss(p.text, api.MissingAmbiguous)
			}
			a.rank, a.ranked = p.number, strings.Contains(p.text, " ") || a.words[p.from].hash
		case figuring:
			a.figure(list, i)
		case above, below:
			if next.role == naming && len(a.subjects) > 0 { // is SOFR above the fed funds rate
				a.asides = append(a.asides, p)
			} else if next.role != figuring {
				a.miss(p.text, api.MissingUnknownWord)
			}
		case summing, counting, averaging:
			if !slices.Contains(a.all, p.role) {
				a.all = append(a.all, p.role)
			}
		case flagging:
			a.flags, a.flagKind = true, cmp.Or(a.flagKind, flagOf(p.text))
		case happening:
			a.happened = true
		case every:
			if next.role != ofKind {
				a.miss(p.text, api.MissingUnknownWord) // every 8 hours
			}
		case doing:
			a.asides = append(a.asides, p)
		case describing, comparing, everTime:
			a.asides = append(a.asides, p)
			if before := beside(list, i, -1); p.role != describing {
			} else if before.role == most || before.role == least || before.role == top {
				a.miss(p.text, api.MissingUnknownWord) // the most tracked coins stand in an order of their own
			}
		}
	}
	if negated {
		a.miss("not", api.MissingAmbiguous)
	}
	moment := func(p piece) bool { return p.when.Span == 0 && !p.when.Since && !p.when.Loose }
	if said := strings.Join(texts(a.words), " "); slices.ContainsFunc(a.times, moment) {
		for _, until := range [...]string{"to now", "until now", "till now", "since then", "from then"} {
			if strings.Contains(said, until) { // the changes of then are of the time before it
				a.miss(until, api.MissingNoSuchSpan)
			}
		}
	}
	a.lend()
	a.aside()
}

// lend gives the order of one kind to another that is named and has the figure: the best performing category.
func (a *asking) lend() {
	if a.order == nil {
		return
	}
	named := func(p piece) bool { return p.order == nil && a.t.kinds[p.kind].field(a.order.Field) != nil }
	if slices.ContainsFunc(a.kindly, named) {
		a.kindly = slices.DeleteFunc(a.kindly, func(p piece) bool { return p.order != nil })
		a.kinds = a.kinds[:0]
		for _, p := range a.kindly {
			a.kinds = append(a.kinds, p.kind)
		}
	}
}

// aside misses the words that say nothing by themselves, where what they go with is not asked for.
func (a *asking) aside() {
	for _, p := range a.asides {
		goes := len(a.fields)+len(a.kinds) > 0
		switch p.role {
		case doing:
			goes = !a.bare() || p.text == "going" && len(a.words) > 0 && a.words[0].text == "how"
		case comparing, above, below:
			switch of := (piece{role: ofField, from: p.from, to: p.to}); p.text {
			case "stronger", "weaker", "better", "worse":
				of.text = "change"
				a.fields = append(a.fields, of)
			case "cheaper", "dearer", "pricier", "more expensive", "less expensive":
				of.text = "price"
				a.fields = append(a.fields, of)
			case "bigger", "larger", "smaller", "bigger than", "larger than", "smaller than":
				of.text = "how big"
				a.fields = append(a.fields, of)
			case "more": // coins green or red
				if a.opposed() {
					a.all = append(a.all, counting)
					continue
				}
			}
			if len(a.fields) == 0 && a.alike(p) {
				k := a.t.kinds[a.t.kindOf[a.subjects[0].rows[0]]]
				a.fields = append(a.fields, piece{role: ofField, from: p.from, to: p.to, text: k.Fields[0].Name})
			}
			goes = len(a.fields) > 0 && len(a.sorted) == 0 && a.order == nil && max(len(a.subjects), len(a.values)) > 1
		case everTime:
			goes = len(a.kinds) > 0 && !slices.ContainsFunc(a.kinds, func(kind int) bool {
				return !a.t.kinds[kind].Own || clockOf(a.t.kinds[kind]) == ""
			})
		}
		if !goes {
			a.miss(p.text, api.MissingUnknownWord)
		}
	}
	if word := a.beyondRows(); word != "" {
		a.miss(word, api.MissingUnknownWord)
	}
}

// opposed reports whether the question asks for what of a kind rose and for what of it fell.
func (a *asking) opposed() bool {
	return len(a.kinds) == 1 && len(a.fields) == 2 && a.fields[0].role != a.fields[1].role && moving(a.fields[0]) && moving(a.fields[1])
}

// alike reports whether a word that compares says above or below, of things of which one figure is all that can be meant.
func (a *asking) alike(p piece) bool {
	if p.role == comparing && !strings.Contains(p.text, " ") || len(a.subjects) == 0 {
		return false
	}
	kind := -1
	for _, s := range a.subjects {
		of := a.t.kindOf[s.rows[0]]
		if k := a.t.kinds[of]; kind >= 0 && of != kind || len(k.Fields) == 0 || strings.HasPrefix(k.Fields[0].Name, "price") {
			return false
		}
		kind = of
	}
	return true
}

// bare reports whether things are named, and nothing that would be asked of them.
func (a *asking) bare() bool {
	return len(a.subjects) > 0 && len(a.fields)+len(a.kinds)+len(a.values)+len(a.sorted)+len(a.all) == 0 && a.order == nil && a.rank == 0 &&
		!a.flags && !a.happened
}

// beyondRows is a word by which a question asks for something else than what rows say: who is behind a thing, how one gets it, what is like
// it, and what will become of it. It is "" where there is none.
func (a *asking) beyondRows() string {
	words := texts(a.words)
	bare := a.bare()
	moves := slices.ContainsFunc(a.fields, moving)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case w == "my" && slices.ContainsFunc(a.kindly, func(p piece) bool { return p.from == i+1 }): // what is somebody's nobody knows
			return w + " " + next
		case w == "gonna" && (bare || moves), w == "going" && next == "to" && (bare || moves):
			return w
		case w == "like" && i > 0 && a.begins(i+1) && !slices.Contains(likings(), words[i-1]):
			return w
		case !bare:
		case slices.Contains([]string{"who", "whos", "whose", "whom"}, w),
			w == "how" && slices.Contains([]string{"do", "can", "to", "would", "could"}, next),
			w == "where" && slices.ContainsFunc(words, func(w string) bool { return w == "get" || w == "find" }):
			return w
		}
	}
	return ""
}

// likings are words behind which like does not compare.
func likings() []string {
	return []string{"i", "id", "we", "would", "d", "you", "look", "looks", "looking", "sound", "sounds", "feel", "feels", "doing", "just"}
}

// begins reports whether a thing that is asked about begins with the word i.
func (a *asking) begins(i int) bool {
	return slices.ContainsFunc(a.subjects, func(s subject) bool { return s.from == i })
}

// ahead is the word before the place i, but for an article; "" for none.
func (a *asking) ahead(i int) string {
	if i--; i > 0 && a.words[i].text == "the" {
		i--
	}
	if i < 0 {
		return ""
	}
	return a.words[i].text
}

// figure reads a number by what stands beside it: how many rows, or what figures are compared with.
func (a *asking) figure(list []piece, i int) {
	p := list[i]
	before, behind := beside(list, i, -1), beside(list, i, 1)
	to := beside(list, place(list, behind), 1)
	from := beside(list, place(list, before), -1)
	switch {
	case before.role == above || before.role == below:
		op := api.CompareMore
		if before.role == below {
			op = api.CompareLess
		}
		if before.text == "at least" {
			op = api.CompareAtLeast
		}
		if before.text == "at most" {
			op = api.CompareAtMost
		}
		a.bind(op, p, from, behind, before.text+" "+p.text)
	case a.ahead(p.from) == "between" && behind.role == joining && to.role == figuring:
		if unit := strings.Fields(to.text); len(unit) > 1 && p.text == strings.Fields(p.text)[0] { // between 1 and 2 billion
			if scale, _ := unitOf(unit[1]); scale > 0 {
				p.number *= scale
			}
		}
		p.percent = p.percent || to.percent
		after := beside(list, place(list, to), 1)
		a.bind(api.CompareAtLeast, p, before, after, "between "+p.text)
		a.bind(api.CompareAtMost, to, before, after, "between "+to.text)
	case before.role == joining && from.role == figuring && a.ahead(from.from) == "between": // it was bound with that
	case a.first == 0 && p.number == math.Trunc(p.number) && p.number >= 1 && !p.percent && (before.role <= cheap && before.role >= top ||
		before.role == most || before.role == least || slices.Contains([]role{most, least, top, expensive, cheap, ofKind}, behind.role)):
		a.first = int(min(p.number, 1e6))
	case a.loose == 0 && p.number == math.Trunc(p.number) && p.number >= 1 && p.number <= maxFirst && !p.percent:
		a.loose = int(p.number)
	default:
		a.miss(p.text, api.MissingUnknownWord)
	}
}

// bind notes a comparison with p, of the field or the direction before it, or the field behind it.
func (a *asking) bind(op api.Comparison, p, before, behind piece, text string) {
	by := piece{}
	if behind.role == ofField {
		by = behind
	}
	if before.role == ofField || before.role == rising || before.role == falling {
		by = before
	}
	a.bounds = append(a.bounds, bound{op, p.number, p.percent, by, text})
}

// place is where p stands in list.
func place(list []piece, p piece) int {
	return slices.IndexFunc(list, func(o piece) bool { return o.from == p.from })
}

// beside is the next piece of list before or behind the place i that means something.
func beside(list []piece, i, step int) piece {
	for j := i + step; j >= 0 && j < len(list); j += step {
		if list[j].role != grammar {
			return list[j]
		}
	}
	return piece{}
}

// name adds a thing that is asked about. Names of one thing beside each other are one.
func (a *asking) name(p piece) {
	s := subject{piece: p, match: api.MatchExact}
	for _, h := range p.hits {
		s.rows = append(s.rows, h.row)
	}
	if a.match != "" {
		s.match = a.match
	}
	if n := len(a.subjects); n > 0 && a.subjects[n-1].to == p.from && a.t.same(a.subjects[n-1].rows, s.rows) {
		a.subjects[n-1].to = p.to
		a.subjects[n-1].text += " " + p.text
		return
	}
	a.subjects = append(a.subjects, s)
}

// same reports whether rows speak of one thing.
func (t *Tables) same(a, b []int) bool {
	return slices.ContainsFunc(a, func(i int) bool {
		return slices.ContainsFunc(b, func(j int) bool { return t.rows[i].Entity == t.rows[j].Entity })
	})
}

// allowed reports whether rows of a kind may answer: it is asked for, or no other is and it is no kind of its own.
func (a *asking) allowed(kind int) bool {
	k := a.t.kinds[kind]
	switch {
	case a.kind != "":
		return k.Name == a.kind && (len(a.kinds) == 0 || slices.Contains(a.kinds, kind) || slices.Contains(a.kinds, 0))
	case len(a.kinds) > 0:
		return slices.Contains(a.kinds, kind)
	case len(a.values) > 0:
		return !slices.ContainsFunc(a.values, func(p piece) bool { return a.t.valueOf(p, kind) == nil })
	}
	return !k.Own
}

// resolve makes queries of what was collected. What cannot be given is noted as missing.
func (a *asking) resolve() (parts []Part) {
	a.subjects = slices.DeleteFunc(a.subjects, func(s subject) bool { // the models of a maker that has a status too
		of := a.t.values[s.text]
		if len(a.kinds) != 1 || len(a.t.within(s.rows, a.kinds[0])) > 0 || a.t.valueOf(piece{values: of}, a.kinds[0]) == nil {
			return false
		}
		s.role, s.values = valued, of
		a.values = append(a.values, s.piece)
		return true
	})
	switch {
	case a.flags:
		return a.askFlags()
	case a.happened && len(a.subjects) > 0:
		return a.askHappened()
	case a.happened && len(a.kinds)+len(a.values)+len(a.fields) == 0:
		for kind, k := range a.t.kinds {
			if k.Own && clockOf(k) != "" && slices.Contains(k.Words, "news") {
				a.kinds = append(a.kinds, kind)
			}
		}
		return a.askRows()
	case len(a.subjects) > 0 && len(a.sorted) == 0 && a.order == nil && a.rank == 0 && !a.peaked():
		return a.askSubjects()
	case a.peaked():
		return a.askPeak()
	case len(a.subjects) > 0:
		a.miss(a.subjects[0].text, api.MissingAmbiguous)
		return nil
	}
	return a.askRows()
}

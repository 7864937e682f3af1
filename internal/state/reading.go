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
	// name a figure of what it names. Listing says that it names a kind, and nothing that would be asked of it: what stands beside it may
	// be that.
	Bare, Named, Asks, Listing bool
	// Open says that it asks for an order of what it does not name: what else is named may be that. Kind says of one that cannot be
	// answered that it has a kind of the pack all the same.
	Open, Kind bool
	// Empty says that it is of words that carry no meaning alone: please.
	Empty  bool
	amount *amount // of which it asks what it is worth
}

// Part is a query that a question became. Its times go by the clock of whoever answers it.
type Part struct {
	Query api.RowQuery
	Match api.Match
	Asked []string // fields that the question named
	keys  []string // of the rows, in the order in which they were named
	skip  int      // rows before the one that is asked for
	even  bool     // that there is none is an answer too
	one   bool     // the newest of its kind is asked for, by whatever part it is found
	drop  bool     // what lacks the field of the order stands in none

	word  string      // of the time
	when  *prose.When // the time that was named, where it is no field's
	over  bool        // it is a span over which figures move, or what began with it; a moment where neither is set
	apart bool        // how far figures of two things are apart is asked for
	share bool        // what part of all of its kind a figure is
	since string      // a field of time that has to be in it; "" means none
	ahead bool        // and says when something will be
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
	further  *Order  // and another one
	both     bool    // ends of the order are asked for, of which one is left
	paired   bool    // an order stands before a word such as and: the highest and the lowest
	spread   bool    // across all of a kind
	share    bool    // a percentage of something is asked for
	toNow    bool    // how it was at the time is asked for beside how it is
	sorted   []role  // most, least, top, expensive, cheap
	sized    bool    // one of these stands before a kind: the biggest coins
	sizeOf   bool    // and figures of what is so big are asked for: the volume of the biggest coin
	orderOf  bool    // or of what comes first in the order: the price of the biggest gainer
	by       piece   // the field beside one of these: the most traded coin, whose volume is highest
	span     piece   // the time behind one of these, or behind an order: the biggest loser of the week
	ofThose  bool    // one of these of size stands before what is said of a kind: the smallest coin that rose
	abreast  bool    // two times stand beside each other: today and this week
	rank     float64 // 0 for none
	capped   bool    // first says among how many the row is
	inTop    bool    // or the rows are: in the top ten
	ofMost   bool    // of the ten biggest
	ranked   bool    // a word says that a rank is asked for
	nth      int     // the row that is asked for, in an order other than that of ranks
	loose    int     // a number that nothing beside it says what it is for
	first    int     // how many are asked for, 0 for no number
	bounds   []bound
	even     bool    // what did not move counts too: not down
	all      []role  // summing, counting, averaging
	asides   []piece // words that say nothing by themselves
	quotes   []piece // words for the first figure of a thing
	flags    bool
	trouble  bool // by a word such as problems
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
	money   bool
	by      piece   // the field or the direction that stands beside it, the zero piece for none
	beside  []piece // all fields that stand beside it: output price
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
		if last.role == ofField && p.role == ofField && a.ahead(p.from) == "to" { // the ratio of both
			a.miss(last.text+" to "+p.text, api.MissingNoSuchField)
		}
		switch p.role {
		case grammar:
			many := next.role == ofKind && next.order == nil && next.text != singular(next.text) &&
				(i+2 >= len(list) || list[i+2].role != ofField)
			if many && p.text == "much" && a.ahead(p.from) == "how" { // how much coins are there
				a.all = append(a.all, counting)
			}
			share := slices.Contains([]string{"percentage", "percent", "pct", "how many percent"}, p.text)
			share = share && last.role != ofField // which is in percent
			a.share = a.share || share && p.to < len(a.words) && a.words[p.to].text == "of" && next.role != above && next.role != below
			if p.text == "last" && last.role == naming && next.role == joining { // the last price and how it moved
				p.hits = last.hits
				a.quotes = append(a.quotes, p)
			}
			a.spread = a.spread || p.text == "across" && p.to < len(a.words) && a.words[p.to].text == "all"
		case unknown:
			a.miss(p.text, api.MissingUnknownWord)
		case spanning:
			why := api.MissingUnknownWord
			if !spans(p.text) { // the last week
				why = api.MissingAmbiguous
			}
			a.miss(p.text, why)
		case negating:
			if p.text == "minus" && last.role == next.role && (next.role == naming || next.role == valued) { // Kraken minus Coinbase
				p.role = comparing
				a.asides = append(a.asides, p)
				continue
			}
			negated = true
		case naming:
			a.name(p)
		case ofKind:
			a.kinds, a.kindly = append(a.kinds, p.kind), append(a.kindly, p)
			verb := a.singular && (next.role == most || next.role == least) // which maturity yields the most
			a.plural = a.plural || p.text != singular(p.text) && !verb
			if p.order == nil {
				a.singular = a.singular || p.text == singular(p.text) && p.text != "news"
				if slices.Contains(a.t.kinds[p.kind].Whole, p.text) && !slices.Contains(a.all, summing) {
					a.all = append(a.all, summing)
				}
			} else {
				_, several := a.t.orders[p.text+"s"]
				of := a.t.kinds[p.kind].field(p.order.Field)
				other := a.order != nil && (a.order.Field != p.order.Field || a.order.Least != p.order.Least)
				if other && of != nil && len(of.Words) > 0 { // trending is how pools stand
					a.further = p.order
				}
				a.order, a.singular = cmp.Or(a.order, p.order), a.singular || several
				first := p
				if oneOf(last.text, ofSize) {
					first = last
				}
				a.orderOf = a.orderOf || a.asksOf(list, first, p)
				a.paired = a.paired || next.role == joining
				a.noteSpan(list, i)
			}
		case ofField, rising, falling:
			if comparesTwo(list, i) {
				p.role, p.text = comparing, p.text+" than"
				a.asides = append(a.asides, p)
				continue
			}
			a.fields = append(a.fields, p)
		case valued:
			if negated {
				a.refused, negated = append(a.refused, p), false
			} else {
				a.values = append(a.values, p)
			}
		case timing:
			a.times = append(a.times, p)
			a.abreast = a.abreast || next.role == joining && beside(list, place(list, next), 1).role == timing
			if w := a.ahead(p.from); w == "each" || w == "per" { // the biggest of each year
				a.miss(w+" "+p.text, api.MissingNoSuchField)
			}
		case most, least, top, expensive, cheap:
			a.sorted = append(a.sorted, p.role)
			a.paired = a.paired || next.role == joining
			kind := next
			if kind.role == valued { // the biggest lending protocols
				kind = beside(list, place(list, next), 1)
			}
			a.sized = a.sized || kind.role == ofKind && kind.order == nil
			if words := strings.Fields(next.text); oneOf(p.text, "|most|least|the most|the least|") && next.role == ofKind &&
				next.from == p.to && next.order == nil && len(words) > 1 && next.text == singular(next.text) { // the most stable coin
				a.miss(p.text+" "+words[0], api.MissingUnknownWord)
			}
			first := p
			if last.role == figuring && p.role != top || last.role == ranking {
				first = last
			}
			a.ofThose = a.ofThose || kind.role == ofKind && kind.order == nil && oneOf(p.text, ofSize) && p.role != top &&
				kind.to < len(a.words) && !a.words[kind.to].stop && oneOf(a.words[kind.to].text, "|that|which|to|with|having|")
			if of := beside(list, i, 1); of.role == figuring {
				kind = beside(list, place(list, of), 1)
			}
			a.sizeOf = a.sizeOf || kind.role == ofKind && kind.order == nil && oneOf(p.text, ofSize) &&
				(a.asksOf(list, first, kind) || at(texts(a.words), kind.to) == "and" && oneOf(at(texts(a.words), kind.to+1), "|its|their|"))
			named := func(k piece) bool { return k.kind != next.kind && a.t.kinds[k.kind].measured(next.text) }
			moved := last.role == rising || last.role == falling // what lost most value
			of := beside(list, place(list, next), 1)
			if !moved && (next.role == ofField && next.from == p.to && !moving(of) && (of.role != ofField || of.from == next.to) ||
				next.role == ofKind && next.order == nil && slices.ContainsFunc(a.kindly, named)) {
				a.by = next
				a.by.role = ofField
			} else if last.role == ofField && next.role != ofField && onlyOf(a.words[last.to:p.from], "|is|are|was|were|the|") {
				a.by = last
			}
			a.noteSpan(list, i)
			within := oneOf(a.ahead(p.from), "|in|of|among|amongst|within|inside|from|")
			a.inTop = a.inTop || p.role == top && (within || next.role == figuring && a.states(beside(list, place(list, next), 1)))
			if from := p.from; p.role == most {
				if last.role == figuring {
					from = last.from
				}
				a.ofMost = a.ofMost || oneOf(a.ahead(from), "|in|of|among|amongst|within|inside|from|")
			}
			// the worst of the top 10, the gainers of the top 10 coins: not the top 10 gainers
			if (p.role == top || p.role == most) && next.role == figuring {
				of := beside(list, place(list, next), 1)
				a.sized = a.sized || a.order != nil && (within || of.role != unknown) || of.role == ofKind && of.order == nil
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
			if strings.HasSuffix(p.text, " all") && p.text != "of all" {
				a.spread = true // across all: a sum, where nothing else is asked of all
			} else if !slices.Contains(a.all, p.role) {
				a.all = append(a.all, p.role)
			}
		case flagging:
			a.flags, a.flagKind = true, cmp.Or(a.flagKind, flagOf(p.text))
			a.trouble = a.trouble || troubles().MatchString(p.text)
		case happening:
			a.happened = true
		case joining:
			if p.text == "than" && next.role != naming { // than a week ago
				a.miss(p.text, api.MissingUnknownWord)
			}
		case every:
			if next.role == describing {
				next = beside(list, place(list, next), 1)
			}
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
	if a.order != nil && slices.ContainsFunc(a.sorted, func(r role) bool { return r != top }) {
		of := a.t.kinds[a.kindly[len(a.kindly)-1].kind].field(a.order.Field)
		if of != nil && len(of.Words) == 0 { // trending is how pools stand, where nothing else orders them
			a.order = nil
		}
	}
	moment := func(p piece) bool { return p.when.Span == 0 && !p.when.Since && !p.when.Loose }
	a.andNow(list, moment)
	a.against(list, moment)
	if said := strings.Join(texts(a.words), " "); slices.ContainsFunc(a.times, moment) {
		for _, until := range [...]string{"to now", "until now", "till now", "since then", "from then"} {
			if strings.Contains(said, until) { // the changes of then are of the time before it
				a.miss(until, api.MissingNoSuchSpan)
			}
		}
	}
	total := func(p piece) bool { // of several, what is the total of one
		return strings.HasPrefix(p.text, "total ") && (a.first > 0 || at(texts(a.words), p.to) == "of")
	}
	spread := a.spread && len(a.sorted)+len(a.bounds) == 0 || a.plural && slices.ContainsFunc(a.fields, total)
	if spread && len(a.all)+len(a.subjects) == 0 && a.order == nil {
		a.all = append(a.all, summing)
	}
	if part := func(p piece) bool { return p.role == ofField && slices.Contains(strings.Fields(p.text), "share") }; len(a.subjects) == 1 &&
		len(a.fields) > 1 && slices.ContainsFunc(a.fields, part) {
		a.fields, a.share = slices.DeleteFunc(a.fields, part), true
	}
	for _, p := range a.quotes {
		if k := a.t.kinds[a.t.kindOf[p.hits[0].row]]; len(k.Fields) > 0 {
			p.role, p.text = ofField, k.Fields[0].Name
			a.fields = append(a.fields, p)
		}
	}
	a.lend()
	a.aside()
}

// comparesTwo reports whether the piece i of list says that one of two things is higher than the other, and not that it rose.
func comparesTwo(list []piece, i int) bool {
	than := slices.IndexFunc(list, func(p piece) bool { return p.text == "than" })
	named := func(p piece) bool { return p.role == naming }
	return oneOf(list[i].text, "|higher|lower|") && than > i && beside(list, than, 1).role == naming &&
		slices.ContainsFunc(list[:than], named)
}

// onlyOf reports whether there are words, and each is one of a list.
func onlyOf(words []term, list string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w term) bool { return !oneOf(w.text, list) })
}

// states reports whether the question asks what is true of so many of a kind: did the top 5 coins rise, which top 10 coins are up.
func (a *asking) states(kind piece) bool {
	return kind.role == ofKind && kind.order == nil && (oneOf(a.words[0].text, "|did|do|are|have|were|is|has|") ||
		kind.to < len(a.words) && oneOf(a.words[kind.to].text, "|are|were|have|did|do|fell|rose|lost|gained|dropped|arent|havent|didnt|"))
}

// noteSpan notes the time that stands behind the order i of list, before another figure.
func (a *asking) noteSpan(list []piece, i int) {
	for _, p := range list[i+1:] {
		if p.role == timing && a.span.role == unknown {
			a.span = p
		}
		if p.role == timing || p.role == ofField || p.role == joining {
			return
		}
	}
}

// ofSize are words for how big something is.
const ofSize = "|biggest|largest|smallest|tiniest|greatest|top|"

// asksOf reports whether the question asks for figures of what stands from the piece first to that of a kind, and for no order by them:
// the volume of the biggest coin, is the biggest coin up.
func (a *asking) asksOf(list []piece, first, kind piece) bool {
	if k := a.t.kinds[kind.kind]; k.Own && clockOf(k) != "" ||
		kind.to < len(a.words) && oneOf(a.words[kind.to].text, "|by|with|that|which|who|whose|where|having|in|of|") {
		return false
	}
	figure := beside(list, place(list, first), -1)
	if k := a.t.kinds[kind.kind]; figure.role == ofKind && len(having(k.Fields, func(f Field) bool { return f.means(figure.text) })) > 0 {
		figure.role = ofField // funding, which is a kind too
	}
	switch before := a.ahead(first.from); {
	case oneOf(before, "|of|for|in|"):
		return figure.role == ofField || figure.role == rising || figure.role == falling || figure.role == timing
	default:
		asks := func(p piece) bool {
			return p.from > kind.from && (p.role == ofField || p.role == rising || p.role == falling || p.role == timing)
		}
		return oneOf(before, "|did|is|has|does|was|do|are|have|were|") && slices.ContainsFunc(list, asks)
	}
}

// andNow reads how something was and how it is as what became of it since then: 3 hours ago and now.
func (a *asking) andNow(list []piece, moment func(p piece) bool) {
	now := func(p piece) bool {
		return p.role == timing && p.when.Loose && p.when.Span > 0 ||
			slices.Contains([]role{grammar, ofField}, p.role) &&
				slices.Contains([]string{"now", "right now", "today", "current", "currently"}, p.text)
	}
	for i, p := range list {
		joins := i > 0 && (list[i-1].role == joining || list[i-1].text == "to" || list[i-1].text == "with")
		if !joins && !(i+1 < len(list) && list[i+1].role == joining) || !now(p) {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(a.times), func(t piece) bool { return t.from == p.from })
		if len(rest) == 1 && moment(rest[0]) {
			a.times, a.toNow = rest, true
			a.fields = slices.DeleteFunc(a.fields, func(f piece) bool { return f.from == p.from })
			a.times[0].when.Since = true
			return
		}
	}
	rest := slices.DeleteFunc(slices.Clone(a.times), func(p piece) bool { return p.when.Loose })
	current := len(rest) < len(a.times) || slices.ContainsFunc(a.words, func(w term) bool {
		return oneOf(w.text, "|todays|now|current|currently|present|latest|")
	})
	joins := slices.ContainsFunc(list, func(p piece) bool { return p.role == joining })
	one := max(len(a.subjects), len(a.kinds)) == 1 && len(a.fields) == 0
	if current && joins && one && len(rest) == 1 && moment(rest[0]) { // today's beside that of then
		a.times, a.toNow = rest, true
		a.times[0].when.Since = true
	}
}

// against reads how something is compared with a moment as what became of it since then: against yesterday at noon.
func (a *asking) against(list []piece, moment func(p piece) bool) {
	if len(a.times) != 1 || !moment(a.times[0]) {
		return
	}
	at := place(list, a.times[0])
	compares := func(p piece) bool {
		return p.role == joining && (strings.HasPrefix(p.text, "compared") || oneOf(p.text, "|versus|vs|v|against|")) ||
			p.role == comparing && (strings.HasSuffix(p.text, " to") || strings.HasSuffix(p.text, " against"))
	}
	if compares(beside(list, at, -1)) {
		a.times[0].when.Since, a.toNow = true, true
	}
}

// lend gives the order of one kind to another that is named and has the figure: the best performing category.
func (a *asking) lend() {
	if a.order == nil {
		return
	}
	named := func(p piece) bool { return p.order == nil && a.t.kinds[p.kind].field(a.order.Field) != nil }
	drop := func(p piece) bool { // the most downloaded model, of those that trend
		return p.order == nil && slices.ContainsFunc(a.order.Words, func(w string) bool {
			return strings.HasSuffix(w, " "+singular(p.text)+"s")
		})
	}
	if slices.ContainsFunc(a.kindly, named) {
		drop = func(p piece) bool { return p.order != nil }
	}
	a.kindly = slices.DeleteFunc(a.kindly, drop)
	a.kinds = a.kinds[:0]
	for _, p := range a.kindly {
		a.kinds = append(a.kinds, p.kind)
	}
}

// aside misses the words that say nothing by themselves, where what they go with is not asked for.
func (a *asking) aside() {
	for _, p := range a.asides {
		goes := len(a.fields) > 0 || len(a.kinds) > 0 && p.text != "same" // what was asked of other things, which nobody knows here
		if p.text == "same" && (p.to >= len(a.words) || oneOf(a.words[p.to].text, "|for|as|of|with|on|at|in|but|and|")) {
			goes = false
		}
		if p.text == "same" && len(a.kinds) > 0 && len(a.subjects) == 0 { // coins with the same price
			goes = false
		}
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

// ends reports whether the question asks for both ends of an order, of which it leaves one, and whether it asks for one order at all.
func (a *asking) ends() (both, ok bool) {
	if a.both { // of a kind that was tried before
		return true, a.further == nil
	}
	defer func() { a.both = both }()
	way := func(r role) role { return map[role]role{most: most, expensive: most, least: least, cheap: least}[r] }
	ways := slices.DeleteFunc(slices.Clone(a.sorted), func(r role) bool { return r == top })
	switch {
	case !a.paired:
	case a.order == nil && len(ways) == 2 && way(ways[0]) != way(ways[1]):
		second := slices.Index(a.sorted, ways[1])
		if ways[1] == expensive || ways[1] == cheap { // the highest and lowest priced
			second = slices.Index(a.sorted, ways[0])
		}
		a.sorted = slices.Delete(a.sorted, second, second+1)
		return true, true
	case a.order != nil && a.further == nil && len(ways) == 1 && a.order.Least == (way(ways[0]) == most):
		a.sorted = slices.DeleteFunc(a.sorted, func(r role) bool { return r == ways[0] })
		return true, true
	case a.order != nil && a.further != nil && len(ways) == 0 && a.further.Field == a.order.Field:
		a.further = nil
		return true, true
	}
	return false, a.further == nil
}

// bare reports whether things are named, and nothing that would be asked of them.
func (a *asking) bare() bool {
	return len(a.subjects) > 0 && len(a.fields)+len(a.kinds)+len(a.sorted)+len(a.all) == 0 && a.order == nil && a.rank == 0 &&
		!a.flags && !a.happened
}

// listing reports whether a kind is named, and nothing that would be asked of it.
func (a *asking) listing() bool {
	sorted := len(a.sorted)
	if sorted == 1 && a.sorted[0] == top {
		sorted = 0
	}
	return len(a.kinds) == 1 && len(a.kindly) == 1 && a.kindly[0].order == nil && len(a.subjects)+len(a.fields)+len(a.values)+sorted+
		len(a.all)+len(a.bounds)+len(a.times) == 0 && a.rank == 0 && !a.flags && !a.happened && !a.leaves()
}

// open reports whether an order is asked for of what is not named.
func (a *asking) open() bool { return len(a.sorted) > 0 && len(a.kinds)+len(a.subjects) == 0 }

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
		case w == "last" && i > 1 && words[i-2] == "first": // and all between
			return "first and last"
		case w == "where" && a.placed(i):
			return w
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

// placed reports whether the words from one on ask for the place of something among others, and no figure that says it is asked for.
func (a *asking) placed(from int) bool {
	has := func(list string) bool {
		return slices.ContainsFunc(a.words[from:], func(w term) bool { return oneOf(w.text, list) })
	}
	behind := func(s subject) bool { return s.from > from }
	rank := func(p piece) bool { return oneOf(p.text, "|rank|ranks|ranking|position|place|") }
	return slices.ContainsFunc(a.subjects, behind) && has("|stand|stands|sit|sits|rank|ranks|place|") &&
		has("|among|amongst|by|relative|") && !slices.ContainsFunc(a.fields, rank)
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
	count := before.role == above && strings.HasPrefix(before.text, "more ") || before.text == "at least" || before.text == "at most"
	switch {
	case count && behind.role == ofKind && behind.from == p.to: // more than 5 coins
		a.miss(before.text+" "+p.text, api.MissingAmbiguous)
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
		if compares(to) && p.to != behind.from { // under $1 with volume over a billion
			behind = piece{}
		}
		had := beside(list, place(list, from), -1)
		if had.role == figuring && had.to == from.from && compares(beside(list, place(list, had), -1)) { // over a billion volume under $1
			from = piece{}
		}
		if behind.role == ofField && a.ahead(before.from) == "with" { // cheapest input with at least 1M context
			from = piece{}
		}
		a.bind(op, p, from, behind, before.text+" "+p.text)
		b := &a.bounds[len(a.bounds)-1]
		b.beside = append(run(list, from, -1), run(list, behind, 1)...)
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
	a.bounds = append(a.bounds, bound{op: op, value: p.number, percent: p.percent, money: p.money, by: by, text: text})
}

// run are the fields from p on that stand beside each other in list.
func run(list []piece, p piece, step int) (fields []piece) {
	for p.role == ofField {
		fields = append(fields, p)
		p = beside(list, place(list, p), step)
	}
	return fields
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
	a.ailing()
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

package state

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// Found is what a question found.
type Found struct {
	Read       *api.Read // nil where nothing of it could be read
	Rows       []FoundRow
	Aggregates map[string]api.Aggregate
	Missing    []api.LookupMissing
	Near       []string // the nearest names, where there is no row
}

// Notes is what people are told beside the rows: how the question was read, where that is not plain, and what of it cannot be given.
func (f Found) Notes() (lines []string) {
	r := api.LookupResult{Read: f.Read, Missing: f.Missing, Aggregates: f.Aggregates}
	for _, row := range f.Rows {
		r.Rows = append(r.Rows, api.LookupRow{Match: row.Match})
	}
	return LookupNotes(r)
}

// FoundRow is a row with what a question asks of it.
type FoundRow struct {
	*Row
	Asked []string // fields that the question named
	Match api.Match
	Over  map[string]api.Move
	Past  bool // it is of a state of the past
}

// maxNear is how many names are told where a question finds nothing.
const maxNear = 3

// Read reads a question. kind, unless empty, is the only kind that counts; limit is how many rows of a thing or a kind are asked for.
//
// A question becomes queries. Each of its words has a meaning in them, or none of them is asked: what cannot be given is missing. Of the
// ways to read its words the first is taken that leaves nothing out. Where there is none, and a word is unknown, it may be the beginning
// of a name, words of one, or a name or a word that is nearly written so: the rows that it leads to say so.
func (t *Tables) Read(q, kind string, limit int) Question {
	words, missing := t.thanThing(t.terms(q))
	if missing != nil {
		return Question{Missing: []api.LookupMissing{*missing}}
	}
	if rest, of := t.amountOf(words); of != nil {
		if read := t.readTerms(q, t.inDollars(rest), kind, limit, of); len(read.Parts) > 0 {
			return read
		}
	}
	return t.readTerms(q, t.inDollars(words), kind, limit, nil)
}

// readTerms reads the words of a question, and of of which it asks what it is worth, nil for nothing.
func (t *Tables) readTerms(q string, words []term, kind string, limit int, of *amount) Question {
	if len(words) > maxWords {
		return unread(q)
	}
	for i, w := range words[min(1, len(words)):] { // of which month it is: no change of a month
		if asks := words[i].text; (asks == "which" || asks == "what") && slices.Contains([]string{"month", "quarter", "year"}, w.text) {
			return Question{Missing: []api.LookupMissing{{Word: asks + " " + w.text, Why: api.MissingNoSuchField}}}
		}
	}
	for i, w := range words[min(1, len(words)):] { // a year from now, which no field of a year is
		ahead := w.text == "from" && i+2 < len(words) && oneOf(words[i+2].text, "|now|today|")
		back := slices.ContainsFunc(words[:i+1], func(w term) bool { return w.text == "back" })
		if ahead && !back && spans(singular(words[i].text)+"s") {
			return Question{Missing: []api.LookupMissing{{Word: words[i].text + " from " + words[i+2].text, Why: api.MissingNoSuchMoment}}}
		}
	}
	orders := len(words) > 1 && words[0].text == "rank" && words[1].text != "of" // rank usdc and dai by supply
	if orders && slices.ContainsFunc(words, func(w term) bool { return w.text == "by" }) {
		words = words[1:]
	}
	read := t.read(q, words, kind, limit)
	for _, framed := range [...]func([]term) []term{t.core, t.carried} {
		if read.sure() {
			break
		}
		core := framed(words)
		if len(core) == 0 {
			continue
		}
		if again := t.read(q, core, kind, limit); again.sure() || len(read.Parts) == 0 && len(again.Parts) > 0 {
			read = again
		}
	}
	if of != nil {
		t.asksWorth(&read, words, of, kind, limit)
	}
	said := texts(words)
	read.Empty = t.empty(words, said)
	_, timed := prose.ReadWhen(said)
	read.Asks = slices.ContainsFunc(said, asksSomething)
	for i := 0; len(read.Parts) == 0 && (read.Asks || len(words) <= maxFrame) && !read.Named && i < len(words); i++ {
		list := t.pieces(words, said, i)
		read.Named = len(list) > 0 && (list[0].role == naming || list[0].role == valued)
		read.Kind = read.Kind || len(list) > 0 && list[0].role == ofKind
	}
	leaves := func(w string) bool {
		return t.vocabulary[w] == negating || w == "aside" || w == "excluded" || w == "excl" || w == "ignore"
	}
	if len(read.Parts) == 0 && slices.ContainsFunc(said, leaves) { // of what it is left out, what stands before says
		read.Partial = true
	}
	whole := []string{"sorted", "ordered", "ranked", "limit", "ascending", "descending", "rank"}
	if len(said) > 0 && slices.Contains(whole, said[0]) {
		read.Partial = true
	}
	const few = 4
	first := len(said) > 1 && len(said) <= few && said[len(said)-1] == "first" // worst first
	read.Partial = read.Partial || first || timed == len(said) || slices.ContainsFunc(words, func(w term) bool {
		return w.text == "one" || w.text == "ones" || w.text == "if"
	}) || len(words) > 0 && slices.Contains([]string{"of", "among", "amongst", "out", "within"}, words[0].text) // the top ten
	return read
}

// terms are the words of a question as they are read.
func (t *Tables) terms(q string) []term { return ofTheirs(t.inFull(t.readWords(q))) }

// empty reports whether a few words carry no meaning alone, and go back to nothing.
func (t *Tables) empty(words []term, folded []string) bool {
	const most = 6
	open := func(w string) bool { return asksSomething(w) || refersBack(w) }
	if len(words) == 0 || len(words) > most || slices.ContainsFunc(folded, open) {
		return false
	}
	for i := 0; i < len(words); {
		list := t.pieces(words, folded, i)
		if len(list) == 0 || list[0].role != grammar {
			return false
		}
		i = list[0].to
	}
	return true
}

// asksSomething reports whether a word makes a question of what it stands in.
func asksSomething(w string) bool {
	return slices.Contains([]string{
		"which", "what", "whats", "who", "whos", "whose", "how", "hows", "is", "are", "was", "were", "do", "does", "did", "will",
		"would", "should", "can", "could", "has", "have", "why", "when", "where", "compare", "better", "worse", "between",
	}, w)
}

// sure reports whether the question was read, and by no name that may be another.
func (q Question) sure() bool {
	return len(q.Parts) > 0 && len(q.Missing) == 0 && !slices.ContainsFunc(q.Parts, func(p Part) bool { return !p.Match.Sure() })
}

// maxWords is how many words are read as one question: more than one may have, but for a sentence with commas.
const maxWords = 100

func unread(q string) Question {
	return Question{Missing: []api.LookupMissing{{Word: human.Clip(q, human.Quoted), Why: api.MissingUnknownWord}}}
}

func (t *Tables) read(q string, words []term, kind string, limit int) Question {
	best, read := t.exactly(words, kind, limit)
	if read {
		return best
	}
	if !asksAge(words) {
		if found, ok := t.elsewhere(words, kind, limit); ok {
			return found
		}
	}
	if len(best.Missing) == 0 {
		best = unread(q)
	}
	best.Near = t.near(texts(words))
	return best
}

// asksAge reports whether the age of what is known is asked for, which no text says, whatever words it has.
func asksAge(words []term) bool {
	said := strings.Join(texts(words), " ")
	return slices.ContainsFunc([]string{"how old", "how fresh", "how stale", "how recent", "last updated", "last refreshed"},
		func(phrase string) bool { return strings.Contains(said, phrase) })
}

// elsewhere reads what is not read word by word: by the texts of a kind that is named, by parts of names, or as it is nearly written.
func (t *Tables) elsewhere(words []term, kind string, limit int) (found Question, ok bool) {
	if found, ok = t.anywhere(words, kind, limit, true); ok {
		found.Named = true
		return found, true
	}
	if found, ok = t.byParts(words, kind, limit); ok {
		return found, true
	}
	return t.nearly(words, kind, limit)
}

// inFull are words with what people shorten written out, where the pack does not know it as it is.
func (t *Tables) inFull(words []term) (list []term) {
	folded := texts(words)
	for i, w := range words {
		full := short(w.text)
		if full == "" || len(t.pieces(words, folded, i)) > 0 || t.covered(words, folded, i) {
			list = append(list, w)
			continue
		}
		for text := range strings.FieldsSeq(full) {
			list = append(list, term{text: text, raw: text, slash: w.slash})
		}
	}
	return list
}

// exactly reads words by the names and words that are known. It is not ok where none of the ways to read them leaves nothing out; then
// the question has what is missing in the best one.
func (t *Tables) exactly(words []term, kind string, limit int) (best Question, ok bool) {
	t.readings(words, func(list []piece) bool {
		if t.tears(list) {
			return false
		}
		got := t.ask(list, words, kind, limit, "")
		if len(got.Parts) > 0 {
			if idle := t.idle(list, words, kind, limit, got); idle != "" {
				best = Question{Missing: []api.LookupMissing{{Word: idle, Why: api.MissingAmbiguous}}}
			} else {
				best, ok = got, true
			}
			return true
		}
		if best.Missing == nil || worth(got) < worth(best) {
			best = got
		}
		return false
	})
	return best, ok
}

// tears reports whether a reading takes the words of one figure for two, such as the interest of open interest, or one for a name and a
// figure, the total market cap of stablecoins, or takes what is said of two things for the name of the second: bitcoin and ethereum on
// hyperliquid.
func (t *Tables) tears(list []piece) bool {
	for i := range list[min(1, len(list)):] {
		a, b := list[i], list[i+1]
		if a.role == ofField && b.role == ofField && t.fields[a.text+" "+b.text] {
			return true
		}
		said := strings.Fields(a.text)
		figure := a.role == naming && b.role == ofField && t.fields[said[len(said)-1]+" "+b.text]
		if figure && (i+2 < len(list) && list[i+2].text == "of" || i > 0 && list[i-1].text == "by") {
			return true
		}
		if i == 0 || list[i].role != joining || list[i-1].role != naming || list[i+1].role != naming {
			continue
		}
		for _, at := range [...]string{" on ", " at "} {
			_, place, of := strings.Cut(list[i+1].text, at)
			if of && len(t.values[place]) > 0 && !strings.Contains(list[i-1].text, at) {
				return true
			}
		}
	}
	return false
}

// worth is how much a reading leaves out.
func worth(q Question) (n int) {
	for _, m := range q.Missing {
		n += 2
		if m.Why == api.MissingUnknownWord {
			n++
		}
	}
	return n
}

// ask makes queries of a reading. match is how its names were found, "" for those that are names.
func (t *Tables) ask(list []piece, words []term, kind string, limit int, match api.Match) Question {
	clauses, figures := t.clauses(list)
	if figures == len(clauses) && len(clauses) > 1 {
		if whole := t.askClauses(clauses, words, kind, limit, match); len(whole.Parts) > 0 {
			return whole
		}
	}
	as := t.askClause(list, words, kind, limit, match)
	nameless := func(clause []piece) bool {
		return !slices.ContainsFunc(clause, func(p piece) bool { return p.role == naming })
	}
	if len(as.Parts) == 0 && match == "" && figures > 0 && !slices.ContainsFunc(clauses, nameless) { // a thing, and a figure of another
		if whole := t.askClauses(clauses, words, kind, limit, match); len(whole.Parts) > 0 {
			return whole
		}
	}
	return as
}

// askClauses asks for what each of some clauses says, or for nothing.
func (t *Tables) askClauses(clauses [][]piece, words []term, kind string, limit int, match api.Match) (whole Question) {
	var about []piece // that the last clause with a name named
	timed := func(p piece) bool { return p.role == timing }
	meant := func(p piece) bool { return p.role != grammar }
	lead := slices.IndexFunc(clauses[0], meant)
	for i, clause := range clauses {
		if i > 0 && lead >= 0 && timed(clauses[0][lead]) && !slices.ContainsFunc(clause, timed) { // the hour's best and worst
			clause = slices.Concat(clauses[0][lead:lead+1], clause)
		}
		of := kindOf(clauses[:i])
		named := func(p piece) bool {
			return p.role == naming || p.role == ofKind && p.order == nil && (of == nil || !t.kinds[of.kind].measured(p.text))
		}
		if i > 0 && slices.ContainsFunc(clauses[i-1], compares) && !slices.ContainsFunc(clause, named) &&
			!slices.ContainsFunc(strings.Fields(clauseText(clause, words)), asksSomething) {
			return Question{} // with open interest over a million and negative funding: both of one thing
		}
		if i > 0 && otherEnd(clauses[i-1], clause) {
			clause = slices.Concat(lentTo(nil, clauses[i-1]), clause)
		}
		var got Question
		if names := slices.DeleteFunc(slices.Clone(clause), func(p piece) bool { return p.role != naming }); len(names) > 0 {
			about = names
		} else if of != nil && borrows(clause) {
			clause = slices.Concat([]piece{*of}, lentTo(clause, clauses[i-1]), clause)
			if got = t.askClause(clause, words, kind, limit, match); len(got.Parts) == 0 {
				return Question{}
			}
		} else if len(about) > 0 && OfIt(clauseText(clause, words)) { // and the newest headline about it
			if got = t.askClause(slices.Concat(clause, about), words, kind, limit, match); len(got.Parts) == 0 {
				return Question{}
			}
		} else if t.goesOn(clause) {
			got = t.askClause(slices.Concat(about, clause), words, kind, limit, match)
		}
		if len(got.Parts) == 0 {
			got = t.askClause(clause, words, kind, limit, match)
		}
		if len(got.Parts) == 0 {
			return Question{}
		}
		whole.Parts, whole.Named = append(whole.Parts, got.Parts...), whole.Named || got.Named
	}
	sums := func(clause []piece) bool {
		return slices.ContainsFunc(clause, func(p piece) bool { return p.role == summing || p.role == averaging })
	}
	apart := func(p Part) bool {
		return p.Query.Table != whole.Parts[0].Query.Table || !slices.Equal(p.Query.Agg, whole.Parts[0].Query.Agg)
	}
	against := slices.ContainsFunc(words, func(w term) bool { return oneOf(w.text, "|against|vs|versus|") })
	for i, of := range whole.Parts[:len(whole.Parts)-1] { // the ratio and the volume of btc options: both of these
		if of.keys == nil && of.Query.Order == "" && len(of.Query.Agg)+len(of.Query.Where) == 0 && whole.Parts[i+1].keys != nil &&
			of.Query.Table == whole.Parts[i+1].Query.Table {
			return Question{}
		}
		if against && of.keys == nil && t.kinds[t.place[of.Query.Table]].Own && len(of.Query.Where) == 0 { // against a list
			return Question{}
		}
	}
	if slices.ContainsFunc(clauses, sums) && slices.ContainsFunc(whole.Parts, apart) {
		return Question{} // of things of several kinds there is no sum
	}
	return whole
}

// compares reports whether p compares a figure with another one.
func compares(p piece) bool { return p.role == above || p.role == below }

// borrows reports whether a clause asks for the first of an order, and not of what: and which has the most tvl.
func borrows(clause []piece) bool {
	orders := func(p piece) bool { return p.role == most || p.role == least || p.role == expensive || p.role == cheap }
	about := func(p piece) bool { return p.role == naming || p.role == ofKind || p.role == valued }
	return slices.ContainsFunc(clause, orders) && !slices.ContainsFunc(clause, about)
}

// otherEnd reports whether a clause asks for the other end of the order of the one before, by the word for it alone: the biggest gainer of
// the week and the biggest loser.
func otherEnd(before, clause []piece) bool {
	end := func(clause []piece) *Order {
		i := slices.IndexFunc(clause, func(p piece) bool { return p.role == ofKind && p.order != nil })
		if i < 0 {
			return nil
		}
		return clause[i].order
	}
	one, other := end(before), end(clause)
	figure := func(p piece) bool { return p.role == timing || p.role == ofField }
	return one != nil && other != nil && one.Field == other.Field && one.Least != other.Least && !slices.ContainsFunc(clause, figure)
}

// lentTo are the figure and the span of the clause before next, where next has none of its own: the best seven days, and the worst.
func lentTo(next, before []piece) (lent []piece) {
	figure := func(p piece) bool {
		return p.role == timing || p.role == ofField || p.role == rising || p.role == falling || p.role == ofKind && p.order != nil
	}
	if slices.ContainsFunc(next, figure) {
		return nil
	}
	for _, p := range before {
		if p.order != nil && next != nil {
			p.role, p.text, p.order = ofField, p.order.Field, nil
		}
		if p.role == timing || p.role == ofField {
			lent = append(lent, p)
		}
	}
	return lent
}

// kindOf is the kind that the last of some clauses names, as if one of it was asked for; nil for none.
func kindOf(clauses [][]piece) *piece {
	if len(clauses) == 0 {
		return nil
	}
	last := clauses[len(clauses)-1]
	i := slices.IndexFunc(last, func(p piece) bool { return p.role == ofKind && p.order == nil })
	if i < 0 {
		return nil
	}
	one := last[i]
	one.text = singular(one.text)
	return &one
}

// clauseText is the text of a clause.
func clauseText(clause []piece, words []term) string {
	if len(clause) == 0 {
		return ""
	}
	return strings.Join(texts(words[clause[0].from:clause[len(clause)-1].to]), " ")
}

// itForm is a word for what was named before, behind a preposition.
var itForm = prose.Form(
	`(?i)\b(?:about|mentioning|on|for|of|regarding|concerning|around|with|to|naming|in|from|by) (?:it|them)\b`)

// OfIt reports whether words are of what was named before them, and say so behind a preposition: the newest headline about it.
func OfIt(q string) bool { return itForm().MatchString(q) }

// goesOn reports whether a clause without a name may ask for a further figure of what was named before it: btc price and hourly funding.
func (t *Tables) goesOn(clause []piece) bool {
	return !slices.ContainsFunc(clause, func(p piece) bool {
		switch p.role {
		case grammar, ofField, timing, describing:
			return p.role == ofField && t.soleField(p.text)
		case ofKind:
			return p.order != nil || t.kinds[p.kind].Own || p.text != singular(p.text)
		}
		return true
	})
}

func (t *Tables) askClause(list []piece, words []term, kind string, limit int, match api.Match) Question {
	a := asking{t: t, kind: kind, limit: limit, words: words, match: match}
	a.collect(list)
	parts := a.resolve()
	if len(parts) > 0 && a.asksWhen(parts) {
		a.miss("when", api.MissingNoSuchField)
	}
	a.besideNow(list, parts)
	a.fits(list, parts)
	if len(a.missing) > 0 {
		return Question{Missing: a.missing, Partial: a.partial()}
	}
	return Question{Parts: parts, Partial: a.partial(), Bare: a.bare() && len(a.times) == 0, Named: len(a.subjects)+len(a.values) > 0,
		Listing: a.listing(), Open: a.open()}
}

// asksWhen reports whether the question asks when something is, and rows have no time of their own.
func (a *asking) asksWhen(parts []Part) bool {
	if !slices.ContainsFunc(a.words, func(w term) bool { return w.text == "when" || w.text == "whens" }) {
		return false
	}
	return slices.ContainsFunc(parts, func(p Part) bool {
		place, known := a.t.place[p.Query.Table]
		return known && !slices.ContainsFunc(a.t.kinds[place].Fields, func(f Field) bool {
			return strings.HasSuffix(f.Name, "At") || f.Name == "date" || f.Name == "period"
		})
	})
}

func (a *asking) partial() bool {
	if len(a.missing) > 0 && len(a.subjects) == 0 && a.nowhere() {
		return false
	}
	ambiguous := func(m api.LookupMissing) bool { return m.Why == api.MissingAmbiguous }
	// of all that are named: the total of btc, eth and sol
	figure := func(r role) bool { return r == summing || r == averaging }
	whole := len(a.subjects) == 1 && // the whole market
		oneOf(a.words[max(0, a.subjects[0].from-1)].text, "|whole|entire|overall|")
	if slices.ContainsFunc(a.missing, ambiguous) || len(a.subjects) > 0 && !whole && slices.ContainsFunc(a.all, figure) {
		return true
	}
	left := len(a.others) + len(a.refused) + len(a.without) // and of what it is left out, what stands before says
	qualified := len(a.times)+len(a.sorted)+left > 0 || a.rank > 0 || len(a.bounds) > 0
	if !qualified || a.flags || a.happened || a.order != nil {
		return false
	}
	return len(a.subjects)+len(a.kinds)+len(a.values)+len(a.fields)+len(a.all) == 0
}

// nowhere reports whether a figure is asked for that no kind has, or a word such as yield stands beside a span of years, over which nothing
// is kept: then the question is no part of one about a thing that is named before.
func (a *asking) nowhere() bool {
	years := func(p piece) bool { return p.when.Span >= 365*prose.Day }
	other := func(p piece) bool { return p.role == ofField && !a.t.measured(p.text) }
	return slices.ContainsFunc(a.fields, other) || len(a.values) > 0 && slices.ContainsFunc(a.times, years)
}

// measured reports whether any kind has a figure by a phrase.
func (t *Tables) measured(phrase string) bool {
	return slices.ContainsFunc(t.kinds, func(k Kind) bool { return k.measured(phrase) })
}

// measured reports whether a kind has a figure by a phrase.
func (k Kind) measured(phrase string) bool {
	return slices.ContainsFunc(k.Fields, func(f Field) bool { return f.means(phrase) })
}

// leftOutToo reports whether what is joined to a clause is left out with what it ends with: besides btc and eth.
func leftOutToo(clause []piece) bool {
	i := len(clause) - 1
	for i > 0 && clause[i].role == naming {
		i--
	}
	return i >= 0 && i < len(clause)-1 && clause[i].role == negating
}

// clauses are what stands between words such as and, where each says what it asks about, and how many of them say which figure of it.
func (t *Tables) clauses(list []piece) (clauses [][]piece, figures int) {
	from := 0
	for i := range list {
		if list[i].role == joining && !leftOutToo(list[from:i]) {
			clauses = append(clauses, list[from:i])
			from = i + 1
		}
	}
	clauses = append(clauses, list[from:])
	own := func(p piece) bool {
		return p.role == ofField || p.role == rising || p.role == falling || p.order != nil
	}
	asks, times, venues := false, false, false
	ordered := func(clause []piece) bool {
		return slices.ContainsFunc(clause, func(p piece) bool { return p.order != nil })
	}
	if last := len(clauses) - 1; last > 0 && ordered(clauses[0]) && ordered(clauses[last]) {
		timed := func(clause []piece) bool {
			return slices.ContainsFunc(clause, func(p piece) bool { return p.role == timing })
		}
		if !timed(clauses[0]) && timed(clauses[last]) {
			return nil, 0 // the gainers and losers of this week
		}
	}
	for i, clause := range clauses {
		timed := slices.ContainsFunc(clause, func(p piece) bool { return p.role == timing })
		if asks && !times && timed && !slices.ContainsFunc(clause, own) {
			return nil, 0 // how much have btc and eth lost this week: of both
		}
		placed := slices.ContainsFunc(clause, ofVenue)
		figured := func(p piece) bool { return own(p) || p.role == ofKind }
		if i > 0 && placed && !venues && !slices.ContainsFunc(clause, figured) && slices.ContainsFunc(clauses[0], figured) {
			return nil, 0 // the price of btc and eth on Kraken
		}
		venues = venues || placed
		asks, times = asks || slices.ContainsFunc(clause, own), times || timed
		named := slices.ContainsFunc(clause, func(p piece) bool { return p.role == naming })
		lent := borrows(clause) && kindOf(clauses[:i]) != nil // and which has the least
		about, figure := lent, lent && len(lentTo(clause, clauses[i-1])) > 0
		for _, p := range clause {
			about = about || p.role == naming || p.role == ofKind || p.role == valued || p.role == ofField && t.soleField(p.text)
			figure = figure || own(p) || p.role == timing ||
				p.role == ofKind && (!named || p.order != nil || t.kinds[p.kind].measured(p.text)) // not of btc and eth coins
		}
		if !about || i > 0 && t.listed(clauses[i-1], clause) {
			return nil, 0
		}
		if figure {
			figures++
		}
	}
	return clauses, figures
}

// listed reports whether a clause is one more of the values with which the one before it ends: at Binance, Bybit and Hyperliquid.
func (t *Tables) listed(before, clause []piece) bool {
	said := func(list []piece) []piece {
		return slices.DeleteFunc(slices.Clone(list), func(p piece) bool { return p.role == grammar })
	}
	last, only := said(before), said(clause)
	return len(last) > 0 && last[len(last)-1].role == valued && len(only) == 1 && only[0].role == naming && len(t.values[only[0].text]) > 0
}

// soleField reports whether words ask for a figure of the one row of a kind that is meant without a name.
func (t *Tables) soleField(phrase string) bool {
	sole := false
	for _, k := range t.kinds {
		if len(having(k.Fields, func(f Field) bool { return f.means(phrase) })) > 0 {
			if !k.Sole {
				return false
			}
			sole = true
		}
	}
	return sole
}

// byParts reads words that are unknown as the beginning of a name, or as words of one.
func (t *Tables) byParts(words []term, kind string, limit int) (found Question, ok bool) {
	for _, by := range []struct {
		match api.Match
		rows  func(name string) []int
	}{
		{api.MatchAlias, t.reordered}, {api.MatchPrefix, t.beginning},
		{api.MatchWords, func(name string) []int { return t.matching(strings.Fields(name)) }},
	} {
		strange := false
		t.readings(words, func(list []piece) bool {
			strange = strange || slices.ContainsFunc(list, func(p piece) bool { return p.role == unknown })
			for _, as := range t.renamed(list, by.rows) {
				if got := t.ask(as, words, kind, limit, by.match); len(got.Parts) > 0 {
					found, ok = got, true
					return true
				}
			}
			return false
		})
		if ok {
			return found, true
		}
		if !strange { // there is nothing to find in another way
			break
		}
	}
	return t.anywhere(words, kind, limit, false)
}

// renamed are readings with the words that are unknown, and names and figures beside them, as one name that finds rows.
func (t *Tables) renamed(list []piece, rows func(name string) []int) (readings [][]piece) {
	if !slices.ContainsFunc(list, func(p piece) bool { return p.role == unknown }) {
		return nil
	}
	for _, joins := range []func(p piece) bool{
		func(p piece) bool {
			return p.role == unknown || p.role == naming || p.role == figuring || p.role == valued
		},
		func(p piece) bool { return p.role == unknown || p.role == figuring },
		func(p piece) bool { return p.role == unknown },
	} {
		var name []string
		named := false // beside it: a thing that is named is not one of several that may be meant
		for _, p := range list {
			if joins(p) {
				name = append(name, wordsOf(p.text)...)
			} else {
				named = named || p.role == naming
			}
		}
		if named {
			continue
		}
		text := strings.Join(name, " ")
		var hits []hit
		for _, row := range rows(text) {
			hits = append(hits, hit{row: row})
		}
		if len(hits) > 0 {
			at := slices.IndexFunc(list, joins)
			as := slices.DeleteFunc(slices.Clone(list[at+1:]), joins)
			as = slices.Concat(list[:at], []piece{{role: naming, from: list[at].from, to: list[at].to, text: text, hits: hits}}, as)
			readings = append(readings, as)
		}
	}
	return readings
}

// Answer answers a question at a moment. of has what is asked of now; past has it for a query of a moment or over a span, which has begun.
func (q Question) Answer(now time.Time, pack string, of Asked, past func(q api.RowQuery) (Asked, error)) (f Found, err error) {
	f.Missing, f.Near = q.Missing, q.Near
	for _, p := range q.Parts {
		rq, missed := p.at(now)
		if missed != nil {
			return Found{Missing: []api.LookupMissing{*missed}}, nil
		}
		rq.Pack = pack
		if rq, err = of.Tables.Complete(rq); err != nil {
			return Found{}, err
		}
		asked := of
		if rq.At != "" || rq.Over != "" {
			asked, err = past(rq)
			if failure := (*api.Error)(nil); errors.As(err, &failure) && failure.Reason == api.ReasonSnapshotNotFound {
				return Found{Missing: []api.LookupMissing{{Word: p.word, Why: api.MissingNoSuchMoment, Instead: []string{failure.Hint}}}},
					nil
			}
			if err != nil {
				return Found{}, err
			}
		}
		asked.Query = rq
		got, err := Query(asked)
		if err != nil {
			return Found{}, err
		}
		if p.since != "" && got.Total == 0 && !p.reaches(of.Tables, now) { // what the rows do not reach to is not none
			return Found{Missing: []api.LookupMissing{{Word: p.word, Why: api.MissingNotKept}}}, nil
		}
		if f.Read == nil {
			f.Read = &api.Read{RowQuery: rq}
		} else {
			f.Read.And = append(f.Read.And, rq)
		}
		for _, m := range got.Missing {
			f.Missing = append(f.Missing, api.LookupMissing{Word: m.What, Why: m.Why, Instead: m.Instead})
		}
		f.add(p, got, rq.At != "")
		if len(got.Aggregates) > 0 {
			f.Aggregates = got.Aggregates
		}
	}
	f.newest(of.Tables)
	ones := 0
	for _, p := range q.Parts {
		if p.one {
			ones++
		}
	}
	for _, p := range q.Parts {
		if ones > 1 { // the newest of each of several
			break
		}
		if first := slices.IndexFunc(f.Rows, func(r FoundRow) bool { return r.Kind == p.Query.Table }); p.one && first >= 0 {
			rest := slices.DeleteFunc(slices.Clone(f.Rows[first+1:]), func(r FoundRow) bool { return r.Kind == p.Query.Table })
			f.Rows = append(f.Rows[:first+1], rest...)
		}
	}
	if n := len(q.Parts); n > 0 && q.Parts[n-1].apart && len(f.Rows) == 2 {
		f.difference()
	}
	if slices.ContainsFunc(q.Parts, func(p Part) bool { return p.share }) {
		f.shareOf(of.Tables, q.Parts)
	}
	if q.amount != nil && len(f.Missing) == 0 {
		f.worthOf(of.Tables, q.Parts, *q.amount)
	}
	if len(f.Missing) > 0 {
		f.Rows = slices.DeleteFunc(f.Rows, func(r FoundRow) bool { return r.Match.Sure() })
		if slices.ContainsFunc(q.Parts, func(p Part) bool { return p.Match.Sure() }) {
			f.Aggregates = nil
		}
	}
	return f, nil
}

// shareOf adds what part the figure of the row is of the whole, in percent, and the row that has the whole or how many make it.
func (f *Found) shareOf(t *Tables, parts []Part) {
	if whole := t.wholeOf(parts[0]); len(parts) == 1 && len(f.Rows) == 1 && whole != nil {
		x, is := number(f.Rows[0].Fields.Get(parts[0].Asked[0]))
		if part := math.Round(1e4*x / *whole.Value) / 100; is && part <= 100 {
			f.Aggregates = map[string]api.Aggregate{"sharePct:" + parts[0].Asked[0]: {Value: &part, Rows: whole.Rows, Row: whole.Row}}
			return
		}
	}
	f.Missing = append(f.Missing, api.LookupMissing{Word: "share", Why: api.MissingNoSuchField})
}

// difference adds how far the figures of two rows are apart that the question named.
func (f *Found) difference() {
	for _, name := range f.Rows[0].Asked {
		x, is := number(f.Rows[0].Fields.Get(name))
		y, also := number(f.Rows[1].Fields.Get(name))
		if !is || !also || f.Rows[0].Kind != f.Rows[1].Kind {
			continue
		}
		if f.Aggregates == nil {
			f.Aggregates = make(map[string]api.Aggregate)
		}
		apart := exact(math.Abs(x - y))
		f.Aggregates["difference:"+name] = api.Aggregate{Value: &apart, Rows: 2}
	}
}

// newest puts the rows of a kind that came one after the other in one order, whatever led to each.
func (f *Found) newest(t *Tables) {
	when := func(r FoundRow) time.Time {
		at, _ := r.Fields.Get(clockOf(t.kinds[t.place[r.Kind]])).(time.Time)
		return at
	}
	slices.SortStableFunc(f.Rows, func(a, b FoundRow) int {
		if place, own := t.place[a.Kind]; !own || a.Kind != b.Kind || !t.kinds[place].Own || clockOf(t.kinds[place]) == "" ||
			f.Read.Order != "" {
			return 0
		}
		return when(b).Compare(when(a))
	})
}

// at is the query of p with its time by the clock, or what of it cannot be.
func (p Part) at(now time.Time) (q api.RowQuery, missed *api.LookupMissing) {
	q = p.Query
	if p.when == nil {
		return q, nil
	}
	begin, ok := p.when.Begin(now)
	end := time.Time{}
	if p.since != "" {
		begin, end, ok = p.when.Range(now, p.ahead)
	}
	if !ok {
		return q, &api.LookupMissing{Word: p.word, Why: api.MissingAmbiguous, Instead: []string{"a moment with its time, " +
			"such as 2026-11-22T12:00Z"}}
	}
	switch {
	case p.since != "":
		q.Where = slices.Clone(q.Where)
		if !begin.IsZero() {
			q.Where = append(q.Where, api.Condition{Field: p.since, Op: api.CompareAtLeast, Value: p.clock(begin)})
		}
		if !end.IsZero() {
			q.Where = append(q.Where, api.Condition{Field: p.since, Op: api.CompareLess, Value: p.clock(end)})
		}
	case p.over:
		q.Over = api.FormatSpan(now.Sub(begin).Round(time.Minute))
	default:
		q.At = api.Minute(begin).Written()
	}
	return q, nil
}

// reaches reports whether rows of the table of p lie beyond its time, so that it is known that none is in it.
func (p Part) reaches(t *Tables, now time.Time) bool {
	from, to, _ := p.when.Range(now, p.ahead)
	f, _ := t.table(p.Query.Table).field(p.since)
	return slices.ContainsFunc(t.of(p.Query.Table), func(r Row) bool {
		at, is := f.value(&r).(time.Time)
		return is && (p.ahead && !to.IsZero() && !at.Before(to) || !p.ahead && at.Before(from))
	})
}

// clock writes a moment as the field of p has it.
func (p Part) clock(at time.Time) string {
	if p.since == "date" && p.when.Loose && p.when.Span == prose.Day { // today, and not what was yesterday at this time
		at = at.Add(prose.Day)
	}
	if p.since == "date" || at.Equal(at.Truncate(24*time.Hour)) {
		return at.Format(time.DateOnly)
	}
	return api.Minute(at).Written()
}

// add adds the rows of an answer, as they were named, each once.
func (f *Found) add(p Part, got Queried, past bool) {
	place := func(r QueriedRow) int {
		if i := slices.Index(p.keys, r.Key); i >= 0 {
			return i
		}
		return len(p.keys)
	}
	slices.SortStableFunc(got.Rows, func(a, b QueriedRow) int { return place(a) - place(b) })
	if p.skip > 0 {
		got.Rows = got.Rows[min(p.skip, len(got.Rows)):]
	}
	for _, r := range got.Rows {
		if p.drop && r.Fields.Get(strings.TrimPrefix(p.Query.Order, "-")) == nil {
			continue
		}
		row := FoundRow{Row: r.Row, Match: p.Match, Over: r.Over, Asked: []string{}, Past: past}
		for _, name := range p.Asked {
			if r.Fields.Get(name) != nil {
				row.Asked = append(row.Asked, name)
			}
		}
		had := slices.IndexFunc(f.Rows, func(had FoundRow) bool {
			return had.Kind == r.Kind && had.Key == r.Key && had.Past == past && (!past || had.FetchedAt.Equal(r.FetchedAt))
		})
		if had >= 0 { // what is asked of it in several parts of the question
			known := &f.Rows[had].Asked
			*known = slices.Concat(*known, slices.DeleteFunc(row.Asked, func(name string) bool { return slices.Contains(*known, name) }))
			continue
		}
		if len(p.Asked) > 0 && len(row.Asked) == 0 {
			continue // it has nothing of what is asked
		}
		f.Rows = append(f.Rows, row)
	}
}

// Lookup answers a question from t alone: of the past, and of flags, it has nothing.
func (t *Tables) Lookup(q, kind string, limit int) Found {
	found, err := t.Read(q, kind, limit).Answer(time.Unix(0, 0), "", Asked{Tables: t}, func(api.RowQuery) (Asked, error) {
		return Asked{Tables: t, Past: true, Before: &Pulse{}}, nil
	})
	if err != nil {
		return Found{Missing: []api.LookupMissing{{Word: err.Error()}}}
	}
	return found
}

// naming are the rows whose names have a name in them, written as it is: one that is a word too is none in small letters.
func (t *Tables) naming(name string) []int {
	return slices.DeleteFunc(t.matching(wordsOf(name)), func(i int) bool { return !strings.Contains(t.rows[i].Name, name) })
}

// reordered are the rows that have a name with the same words in another order: meeting of the fed. It is one name of theirs.
func (t *Tables) reordered(name string) (rows []int) {
	words := strings.Fields(name)
	if len(words) < 2 {
		return nil
	}
	for _, h := range t.anyOrder()[inAnyOrder(words)] {
		rows = append(rows, h.row)
	}
	return rows
}

// newAnyOrder are the names of several words, by these in the order of the alphabet and without endings.
func (t *Tables) newAnyOrder() map[string][]hit {
	all := make(map[string][]hit)
	for name, hits := range t.names {
		if words := strings.Fields(name); len(words) > 1 {
			key := inAnyOrder(words)
			all[key] = append(all[key], hits...)
		}
	}
	return all
}

func inAnyOrder(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = inflected(w)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// beginning are the rows that have a name with a beginning.
func (t *Tables) beginning(name string) (rows []int) {
	const least = 3 // letters; fewer begin anything
	if len(name) < least {
		return nil
	}
	at, _ := slices.BinarySearch(t.order, name)
	for ; at < len(t.order) && strings.HasPrefix(t.order[at], name); at++ {
		for _, h := range t.names[t.order[at]] {
			rows = append(rows, h.row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// matching are the rows of any kind whose names have all words.
func (t *Tables) matching(words []string) (rows []int) {
	for i, w := range words {
		if i == 0 {
			rows = slices.Clone(t.words[w])
			continue
		}
		rows = slices.DeleteFunc(rows, func(r int) bool {
			_, has := slices.BinarySearch(t.words[w], r)
			return !has
		})
	}
	return rows
}

// near are the names that are most like the words of a question that found nothing.
func (t *Tables) near(words []string) []string {
	var at [maxTypos + 1][]string // by distance
	for _, w := range words {
		most := min(len(w)/3, maxTypos) // typos in a short word make any other
		if most == 0 || t.vocabulary[w] == grammar || t.fields[w] {
			continue
		}
		for _, known := range t.known {
			d := 1 // a beginning of a name is near too
			if len(w) < 3 || !strings.HasPrefix(known.folded, w) || w == known.folded {
				d = human.Distance(w, known.folded, most)
			}
			if d <= most {
				at[d] = append(at[d], known.name)
			}
		}
	}
	var names []string
	for _, name := range slices.Concat(at[:]...) {
		if !slices.Contains(names, name) && len(names) < maxNear {
			names = append(names, name)
		}
	}
	return names
}

// maxTypos is how many letters of a word may be wrong for a name to be near.
const maxTypos = 3

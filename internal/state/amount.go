package state

import (
	"regexp"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// amount is how much of something there is of which a question asks what it is worth: 2.5 bitcoin, 200 euros, 10 million tokens.
type amount struct {
	of   float64
	unit unit
	text string
	name []string // the words of what it is of
	rows []int    // that these name
}

// unit is what an amount counts.
type unit uint8

const (
	things  unit = iota // such as coins, of which a row has the price
	dollars             // and what the row is a price of is asked for
	tokens              // of which a row has the price of a million
)

const (
	// worthWords are words by which a question may ask what an amount is worth, and noAmount those behind which a number is none.
	worthWords = "|worth|come|comes|dollar|dollars|usd|value|valued|cost|costs|price|priced|convert|converted|conversion|exchange|" +
		"notional|sell|sold|buy|buys|make|makes|much|many|bucks|damage|bill|pay|charge|charges|get|fetch|"
	noAmount = "|top|first|last|past|next|over|above|under|below|than|least|most|hit|hits|reach|reaches|cross|between|and|or|rank|" +
		"number|every|within|at|near|beyond|from|since|to|"
	// deducted are words for what comes off, which nobody knows here, and ofLater those of another worth than that of now.
	deducted = "|fee|fees|tax|taxes|commission|slippage|"
	ofLater  = "|will|gonna|going|tomorrow|next|future|forecast|predict|predicted|expect|expected|eventually|after|minus|less|plus|" +
		"profit|loss|gain|return|apart|average|"

	moneyForm = `(?: (?:in|into|as|to)(?: us| american)? (?:dollars?|usd|bucks|money|cash))`
	yieldForm = `(?:come|comes|amount|amounts|add|adds|work|works|be|worth|make|makes|get|gets|give|gives|fetch|fetches)`
)

var (
	// worthForm is how people ask what an amount is worth that they named before: what does that come to in dollars.
	worthForm = prose.Form(`\b(?:(?:what|whats|how much|how many)(?: us| american)?(?: dollars?| bucks| usd| money)? )?` +
		`(?:(?:is|are|does|do|would|should|could) )?(?:that|it|this|these|those|they|all|the lot)` +
		`(?: (?:amount|pile|bag|lot|stack|sum|all))*(?: (?:would|do|does|are|is))?` +
		`(?: ` + yieldForm + `(?: (?:up|out|me|us|worth))*(?: to| at)?` + moneyForm + `?|` + moneyForm + `)` +
		`(?: (?:today|now|right now|currently))?(?:$| )`)
	convertsTo = prose.Form(`^(?:(?:can|could) you |please )*(?:convert|exchange|change|swap) `)
	moneyValue = prose.Form(`\b(?:dollar|usd|cash|money|monetary) (value|worth|amount|price)\b`)
	bagForm    = prose.Form(`\b(?:bag|stack|pile|position|holding|holdings|stash)\b`)
	// boughtForm is what is left of a question without the dollars that buy something, and howMuchForm how it begins.
	boughtForm = prose.Form(`(?: (?:can|could|would|will|do|does|did|i|we|you|get|gets|buy|buys|for|with|is|are|that|make|be|have|me|in|` +
		`worth|of))+$`)
	howMuchForm = prose.Form(`\bhow (?:many|much) `)
)

// amountOf is the amount of which a question asks what it is worth, nil for none, and the question without it: the price of bitcoin in
// place of what 2.5 bitcoin come to.
func (t *Tables) amountOf(words []term) ([]term, *amount) {
	folded := texts(words)
	if !slices.ContainsFunc(folded, func(w string) bool { return oneOf(w, worthWords) }) {
		return words, nil
	}
	var found *amount
	whole := words
	words = slices.Clone(replaced(words, convertsTo(), ""))
	for i := 0; i < len(words); i++ {
		x, n := t.counted(words, texts(words), i)
		if before := at(texts(words), i-1); n == 0 || x == 1 || oneOf(before, noAmount) ||
			before == "of" && !oneOf(at(texts(words), i-2), "|price|value|cost|worth|conversion|equivalent|charge|") {
			continue
		}
		name := i + n
		for oneOf(at(texts(words), name), "|of|a|an|us|american|whole|") {
			name++
		}
		counts, end, rows := t.unitAt(words, name)
		if end == 0 {
			continue
		}
		of := amount{of: x, unit: counts, text: strings.Join(texts(words[i:end]), " "), name: texts(words[name:end]), rows: rows}
		if found != nil && (found.of != x || !slices.Equal(found.name, of.name)) { // which of both is meant
			return whole, nil
		}
		found = &of
		switch rest := slices.Clone(words[end:]); counts {
		case dollars:
			words = t.dollarsFor(words, i, end)
			found.name = t.perDollar(words)
			return words, found
		case tokens:
			ways := slices.Clone(words[name : end-1])
			if len(ways) > 0 { // what 2 million input tokens cost
				ways = append(ways, worded("price")...)
				rest = slices.DeleteFunc(rest, func(w term) bool { return oneOf(w.text, "|cost|costs|price|") })
			}
			words = slices.Concat(words[:i], ways, rest)
		default:
			for len(rest) > 0 && oneOf(rest[0].text, "|token|tokens|coin|coins|") {
				rest = rest[1:]
			}
			words = slices.Concat(words[:i], words[name:end], rest)
		}
	}
	if found == nil || slices.ContainsFunc(words, func(w term) bool { return oneOf(w.text, deducted) }) {
		return whole, nil
	}
	words = replaced(words, moneyValue(), "price")
	words = replaced(words, bagForm(), "")
	return replaced(words, worthForm(), "what is it worth"), found
}

// asksWorth makes a question that was read one of what an amount is worth.
func (t *Tables) asksWorth(read *Question, words []term, of *amount, kind string, limit int) {
	if !read.sure() {
		if again, ok := t.worthAsked(words, of, kind, limit); ok {
			*read = again
		}
	}
	read.amount = of
	if len(read.Parts) == 1 && len(read.Parts[0].Asked) == 0 {
		p := &read.Parts[0]
		if field := t.kinds[t.place[p.Query.Table]].priced(); field != "" {
			p.Asked = []string{field}
			p.Query.Fields = p.Asked
		}
	}
}

// worthAsked is the price of what an amount is of, where all that a question says around it says nothing that rows could say: that it was
// found in a drawer.
func (t *Tables) worthAsked(words []term, of *amount, kind string, limit int) (read Question, ok bool) {
	folded := texts(words)
	if len(of.name) == 0 || of.unit == tokens || slices.ContainsFunc(folded, func(w string) bool { return oneOf(w, ofLater) }) {
		return read, false
	}
	for i := 0; i+len(of.name) <= len(words); i++ {
		if slices.Equal(folded[i:i+len(of.name)], of.name) {
			words = slices.Concat(words[:i], worded(nameHere), words[i+len(of.name):])
			folded = texts(words)
		}
	}
	from := slices.Index(folded, nameHere) // how many zloty
	to := from
	if asked := formAt(words, worthForm()); asked != nil {
		from, to = asked[0], asked[1]
	} else if of.unit != dollars || from < 0 {
		return read, false
	}
	aside := func(w term) bool { return oneOf(w.text, "|"+nameHere+"|dollar|dollars|usd|") }
	before, behind := slices.DeleteFunc(slices.Clone(words[:from]), aside), slices.DeleteFunc(slices.Clone(words[to:]), aside)
	said := texts(behind)
	f, mute := t.mute(behind, said, t.piecesOf(behind, said), 0, len(behind), true)
	if !mute || t.asksOther(before) || len(f.names)+len(f.venues) > 0 || f.negated || f.ordered || f.kinds || f.fields || f.timed {
		return read, false
	}
	name := strings.Join(of.name, " ")
	if of.unit == things {
		name = "price of " + name
	}
	return t.exactly(worded(name), kind, limit)
}

// asksOther reports whether words before a question name a thing, a venue or a number, or leave something out: it may be of these.
func (t *Tables) asksOther(words []term) bool {
	folded := texts(words)
	other := func(p piece) bool {
		return p.role == naming || ofVenue(p) || p.role == negating || p.role == figuring || p.role == ranking || p.role == least
	}
	for i := range words {
		if list := t.pieces(words, folded, i); len(list) > 0 && other(list[0]) {
			return true
		}
	}
	return false
}

// nameHere stands in words in place of a name.
const nameHere = "thing"

// perDollar is the name in words of what a dollar is in a currency.
func (t *Tables) perDollar(words []term) []string {
	folded := texts(words)
	for i := range words {
		for _, p := range t.pieces(words, folded, i) {
			if p.role == naming && strings.HasSuffix(p.text, " per dollar") {
				return strings.Fields(p.text)
			}
		}
	}
	return nil
}

// dollarsFor is a question without the dollars from a word to another: what is asked is how much of something is had for one.
func (t *Tables) dollarsFor(words []term, from, to int) []term {
	rest := slices.Concat(words[:from], words[to:])
	tried := [][]term{slices.Concat(words[:from], worded("a dollar"), words[to:])}
	for i := range rest[:max(len(rest)-2, 0)] {
		if rest[i].text == "how" && oneOf(rest[i+1].text, "|many|much|") { // yen, or mexican pesos
			for n := i + 3; n <= min(i+4, len(rest)); n++ {
				tried = append(tried, slices.Concat(rest[:n], worded("for a dollar"), rest[n:]))
			}
		}
	}
	for _, as := range tried {
		if got := t.inDollars(as); !slices.Equal(texts(got), texts(as)) {
			return got
		}
	}
	rest = slices.Clone(replaced(replaced(rest, boughtForm(), ""), howMuchForm(), "price of"))
	if n := len(rest); n > 0 && len(t.names[rest[n-1].text]) == 0 {
		rest[n-1].text = singular(rest[n-1].text)
	}
	return rest
}

// worded are the words of a text.
func worded(text string) (words []term) {
	for w := range strings.FieldsSeq(text) {
		words = append(words, term{text: w, raw: w})
	}
	return words
}

// replaced are words with what has a form said otherwise.
func replaced(words []term, form *regexp.Regexp, as string) []term {
	at := formAt(words, form)
	if at == nil {
		return words
	}
	plain := worded(as)
	if len(plain) > 0 {
		plain[0].stop = words[at[0]].stop
	}
	return slices.Concat(words[:at[0]], plain, words[at[1]:])
}

// formAt are the places from and to which words have a form, nil for nowhere.
func formAt(words []term, form *regexp.Regexp) []int {
	said := strings.Join(texts(words), " ")
	m := form.FindStringIndex(said)
	if m == nil {
		return nil
	}
	from := len(strings.Fields(said[:m[0]]))
	return []int{from, from + len(strings.Fields(said[m[0]:m[1]]))}
}

// counted reads a number from the word i on, and how many words it has, 0 for none: 2.5, two hundred, half a, 3 million.
func (t *Tables) counted(words []term, folded []string, i int) (x float64, n int) {
	x, ok := figure(folded[i])
	switch n = 1; {
	case folded[i] == "half":
		x = 0.5
		if oneOf(at(folded, i+1), "|a|an|") {
			n++
		}
	case !ok || words[i].cent || words[i].hash || x <= 0:
		return 0, 0
	case slices.ContainsFunc(t.pieces(words, folded, i), func(p piece) bool { return p.role == naming || p.role == timing }):
		return 0, 0 // the 10 year, 24h
	case x < 10 && at(folded, i+1) == "100": // two hundred
		x *= 100
		n++
	}
	if scale, percent := unitOf(at(folded, i+n)); percent || scale > 0 && scale < 1 {
		return 0, 0
	} else if scale > 1 {
		x *= scale
		n++
	}
	return x, n
}

// unitAt is what an amount before the word i counts, where that ends, 0 where nothing stands there that has a price, and what rows it
// names. It says in words what is one of these: litecoin of litecoins.
func (t *Tables) unitAt(words []term, i int) (of unit, end int, rows []int) {
	folded := texts(words)
	if oneOf(at(folded, i), "|dollar|dollars|usd|bucks|") {
		return dollars, i + 1, nil
	}
	way := i
	for oneOf(at(folded, way), "|input|output|prompt|completion|") {
		way++
	}
	if at(folded, way) == "tokens" {
		return tokens, way + 1, nil
	}
	if i >= len(words) {
		return 0, 0, nil
	}
	priced := func(h hit) bool { return t.kinds[t.kindOf[h.row]].priced() != "" }
	for _, text := range [...]string{folded[i], singular(folded[i])} {
		if words[i].text = text; text != folded[i] {
			words[i].raw = text
		}
		for _, p := range t.pieces(words, texts(words), i) {
			if p.role == naming && slices.ContainsFunc(p.hits, priced) {
				for _, h := range p.hits {
					rows = append(rows, h.row)
				}
				return things, p.to, rows
			}
		}
	}
	words[i].text = folded[i]
	return 0, 0, nil
}

// priced is the field with the price of a thing of the kind, "" for none.
func (k Kind) priced() string {
	for _, f := range k.Fields {
		if f.means("price") && (strings.HasSuffix(f.Name, "Usd") || f.Name == "rate") {
			return f.Name
		}
	}
	return ""
}

// worthOf adds what an amount of what the one row prices is worth, or that this is missing.
func (f *Found) worthOf(t *Tables, parts []Part, of amount) {
	compares := func(c api.Condition) bool { return c.Op != api.CompareEqual }
	its := func(i int) bool { return t.rows[i].Entity == f.Rows[0].Entity }
	ok := len(f.Rows) == 1 && len(parts) == 1 && len(parts[0].Asked) > 0 && !parts[0].over &&
		!slices.ContainsFunc(parts[0].Query.Where, compares) && (of.unit != things || slices.ContainsFunc(of.rows, its))
	for i := 0; ok && i < len(parts[0].Asked); i++ {
		ok = f.worthAt(t.kinds[t.place[f.Rows[0].Kind]], parts[0].Asked[i], of)
	}
	if !ok {
		f.Missing = append(f.Missing, api.LookupMissing{Word: of.text, Why: api.MissingUnknownWord})
	}
}

// worthAt adds what an amount is worth by a field of the one row. It is not ok where that is no price of it.
func (f *Found) worthAt(k Kind, field string, of amount) (ok bool) {
	row := f.Rows[0]
	price, is := number(row.Fields.Get(field))
	sum, value, million := "worth:", of.of*price, strings.HasSuffix(field, "PerMillionUsd")
	switch {
	case !is || price <= 0 || million != (of.unit == tokens) || !million && field != k.priced():
		return false
	case million:
		value /= 1e6
	case field == "rate" && (of.unit == dollars) != strings.HasPrefix(row.Key, "USD"):
		value = of.of / price
	case field != "rate" && of.unit == dollars:
		sum, value = "buys:", of.of/price
	}
	if f.Aggregates == nil {
		f.Aggregates = make(map[string]api.Aggregate)
	}
	value = exact(value)
	f.Aggregates[sum+field] = api.Aggregate{Value: &value, Rows: 1, Of: of.of}
	return true
}

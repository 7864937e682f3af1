package state

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/internal/prose"
)

// term is a word of a question.
type term struct {
	text  string // folded
	raw   string // as it was written
	slash bool   // a slash stands before it
	hash  bool   // a number sign stands before it
	cent  bool   // a sign of percent stands behind it
	stop  bool   // the end of a sentence, or of a part of one, stands before it
}

// piece is some words of a question with what they mean there.
type piece struct {
	role     role
	from, to int
	text     string
	hits     []hit      // of a name
	kind     int        // of ofKind
	order    *Order     // of ofKind, where the words ask for one
	values   []value    // of valued
	when     prose.When // of timing
	number   float64    // of figuring and ranking
	percent  bool       // of figuring
	money    bool       // of figuring, of dollars
}

// value is a text that rows of a kind have in a field, such as a venue.
type value struct {
	kind  int
	field string
	text  string
}

// wholeForm is what stays one word of a question: a date, a moment, a time of the day, a figure with its fraction.
var wholeForm = prose.Form(
	`^(\d{4}-\d\d-\d\d(t\d\d:\d\d(:\d\d(\.\d+)?)?(z|[+-]\d\d:\d\d)?)?|\d{1,2}:\d\d(am|pm|z|utc)?|\d+\.\d+(?:[kmbt]|bn|mn|tn)?)$`)

// belowZero is a figure below zero.
var belowZero = prose.Form(`^[-−]\d+(?:\.\d+)?%?$`)

// figureForm is a number as people write it.
var figureForm = prose.Form(`^(-?\d+(?:\.\d+)?)([kmbt]|bn|mn|tn|k|e\d{1,2})?$`)

// readWords are the words of a question. What people of other languages call the commonest things is said in English.
func (t *Tables) readWords(q string) (words []term) {
	q = endsOwn().ReplaceAllString(strings.ReplaceAll(english(strings.ReplaceAll(q, "’", "'")), "n't", "nt"), "$2 of the $1")
	q = contractions().ReplaceAllString(q, "$1")
	if strings.Contains(q, ",") {
		q = ungrouped(q)
	}
	q = takenOut().ReplaceAllString(stablesToo().ReplaceAllString(q, " "), "excluding $1")
	q = exStables().ReplaceAllString(leftOut().ReplaceAllString(q, "$1 excluding $2 "), "$1 stablecoins")
	q = weekBegan().ReplaceAllString(afloat().ReplaceAllString(q, "$1 in circulation"), "since monday")
	q = plainly(compared.Replace(highLow().ReplaceAllString(q, "high low")))
	q = perMillion().ReplaceAllString(dominanceForm().ReplaceAllString(q, "$1 dominance"), " per million")
	parted, ended := false, false // by a slash that stands alone, by a stop
	for chunk := range strings.FieldsSeq(q) {
		if chunk == "/" {
			parted = true
			continue
		}
		first, stop := len(words), ended
		ended = strings.HasSuffix(strings.TrimRight(chunk, "\"')]”’»"), "-") || strings.ContainsAny(chunk[len(chunk)-1:], "?!.,;:") ||
			strings.HasSuffix(chunk, "–") || strings.HasSuffix(chunk, "—")
		if chunk == "&" || chunk == "+" {
			chunk = "and"
		}
		bare := strings.Trim(chunk, "?!.,;:\"'()[]“”‘’«»¿¡…")
		if whole := fold(strings.TrimSuffix(strings.TrimPrefix(bare, "$"), "%")); wholeForm().MatchString(whole) {
			words = append(words, term{text: whole, raw: bare, cent: strings.HasSuffix(bare, "%"), stop: stop})
			continue
		}
		if below := belowZero().FindString(bare); below != "" {
			words = append(words, term{text: "-" + strings.Trim(below, "-−%"), raw: bare, cent: strings.HasSuffix(bare, "%"), stop: stop})
			continue
		}
		slash, hash := parted, false
		at := 0
		parted = false
		for i, r := range chunk + " " {
			if wordRune(r) {
				continue
			}
			if i > at {
				words = append(words, term{text: fold(chunk[at:i]), raw: chunk[at:i], slash: slash, hash: hash, cent: r == '%'})
			}
			slash, hash = r == '/', r == '#'
			at = i + len(string(r))
		}
		if first < len(words) {
			words[first].stop = stop
		} else {
			ended = ended || stop
		}
	}
	return shares(digits(t.foreign(words)))
}

var (
	leftOut = prose.Form(`(?i)(^|[,;]|\b(?:and|with|but)\b)\s*((?:[\w.-]+ ){0,3}[\w.-]+) ` +
		`(?:excluded|(?:left|put|set) (?:out|aside)|aside|omitted|not (?:included|counted)|(?:doesnt|dont|does not|do not|not) count(?:ing)?)\b`)
	exStables = prose.Form(`(?i)\b(ex|excluding|exclude|without|no|not|non|minus|excl|skip|skipping|ignoring|except)[ -]` +
		`(?:the |any |all )?(?:stables|stable|dollar (?:coins|tokens))\b`)
	takenOut = prose.Form(`(?i)\b(?:leave|leaving|keep|keeping|take|taking) ((?:[\w.-]+ ){0,3}[\w.-]+) (?:out|aside)\b`)
	// All of a kind is what a list is of anyhow.
	stablesToo = prose.Form(`(?i),? ?\b(?:including (?:the )?stable(?:coin)?s|stable(?:coin)?s (?:too|included|also|as well))\b,?`)
	afloat     = prose.Form(`(?i)\b(how (?:much|many)\b[^,;?]*?) out there\b`) // how much of it is out there
	weekBegan  = prose.Form(`(?i)\bsince (?:the )?(?:start|beginning) of (?:the|this) week\b`)
	highLow    = prose.Form(`(?i)\bhi/lo\b`)
	compared   = strings.NewReplacer(">=", " at least ", "≥", " at least ", "<=", " at most ", "≤", " at most ",
		">", " above ", "<", " below ")
	dominanceForm = prose.Form(`(?i)\b(\w+)\.d\b`)                   // BTC.D
	perMillion    = prose.Form(`(?i)(?:^|\s)(?:\$|usd)/m(?:tok)?\b`) // $/M
	shareForm     = prose.Form(`\b` + partForm + ` of (\w+(?: \w+)?) (?:in|of|within) ` + marketForm + `$`)
	ownForm       = prose.Form(`\b(\w+) ` + partForm + ` (?:in|of|within) ` + marketForm + `$`)
	bothForm      = prose.Form(`\b(\w+) and (\w+) ` + partForm + ` (?:in|of|within) ` + marketForm + `$`)
	accountForm   = prose.Form(`\b(?:what|which|how (?:big|large) an?) ` + partForm + ` of ` + marketForm + ` (?:does|do|is) (\w+) ` +
		`(?:(?:currently|now|today) )?(?:account(?:ing)? for|make up|have|hold|represent|constitute)(?: (?:currently|now|today|right now))?$`)
	madeForm = prose.Form(`\b(?:how much|(?:what|which) ` + partForm + `) of ` + marketForm +
		` (?:is|does|comes from|belongs to|goes to|sits in) ?(?:(?:made up of|made of|made up by|accounted for by|attributable to|due to|` +
		`held by|held in|in|make up|from) )?(\w+)\b`)
)

// itsForm is a share of the market that was named before.
var (
	itsForm = prose.Form(`\b(?:how much|(?:what|which) ` + partForm + `) of (?:it|that) (?:is|does|comes from) (\w+)\b`)
	toForm  = prose.Form(`\band (?:how much|(?:what|which) ` + partForm + `) (?:to|is|by|for) (\w+)$`)
)

const (
	partForm   = `(?:share|percentage|portion|proportion|part|slice|chunk|fraction|percent|pct)`
	marketForm = `(?:the )?(?:(?:total|overall|whole|entire|global) )?` +
		`(?:(?:crypto(?:currency)? )?market(?: cap(?:itali[sz]ation)?)?|crypto(?:currency)? cap(?:itali[sz]ation)?)`
)

// shares says what is a share of the whole market by the word for it.
func shares(words []term) []term {
	text := strings.Join(texts(words), " ")
	if !strings.Contains(text, "market") && !strings.Contains(text, "cap") {
		return words
	}
	if strings.Contains(text, "volume") { // of which no share is known
		return words
	}
	said := bothForm().ReplaceAllString(text, "$1 dominance and $2 dominance")
	for _, form := range [...]func() *regexp.Regexp{accountForm, shareForm, ownForm, madeForm, itsForm, toForm} {
		said = form().ReplaceAllString(said, "$1 dominance")
	}
	if said == text {
		return words
	}
	var list []term
	for w := range strings.FieldsSeq(said) {
		list = append(list, term{text: w, raw: w})
	}
	return list
}

// These are how people ask what a dollar is in a currency.
var (
	dollarGets = prose.Form(`\bhow (?:many|much) (\w+ )?(\w+) ` +
		`(?:(?:do|does|can|would|could|will|i|we|you|one|get|gets|receive|buy|have|for|to|per|in|is|are) )*?` +
		oneDollar + `(?: (?:buy|buys|buying|gets?|fetch|fetches|worth|me|would|will|can|bring|brings)\b)*`)
	dollarIs = prose.Form(`\b` + oneDollar + ` (?:(?:is|buys|gets|to|in|i|we|you|one|do|does|can|would|will|receive|get|buy|me) )*?` +
		`how (?:many|much) (\w+ )?(\w+)`)
	dollarAgainst = prose.Form(`\bdollar (?:against|vs|versus|to|in|over) (?:the |a )?(\w+ )?(\w+)`)
	perDollar     = prose.Form(`(\b\w+ )?\b(\w+) ` +
		`(?:per|for a|for one|for 1|to the|to a|to one|against the|vs the|versus the) (?:us |american )?dollar\b`)
)

var ofCountry = prose.Form(`\b(rupees?|pesos?|won|yen|francs?|yuan|krona|kronor|krone|kroner|reais|real|rand|dollars?) ` +
	`(?:of|from) (india|mexico|korea|japan|switzerland|china|sweden|norway|denmark|brazil|canada|australia|singapore)\b`)

// countries are what is of a country, by its name.
func countries() map[string]string {
	return map[string]string{"india": "indian", "mexico": "mexican", "korea": "korean", "japan": "japanese", "switzerland": "swiss",
		"china": "chinese", "sweden": "swedish", "norway": "norwegian", "denmark": "danish", "brazil": "brazilian", "canada": "canadian",
		"australia": "australian", "singapore": "singapore"}
}

const oneDollar = `(?:a|one|1|the|each|every|each of (?:the|those|these|my)) (?:us |american |single )?dollars?(?: american)?`

// ofTheirs are words with what is of a country said by its adjective: the rupees of India.
func ofTheirs(words []term) []term {
	said := strings.Join(texts(words), " ")
	m := ofCountry().FindStringSubmatchIndex(said)
	if m == nil || !strings.Contains(said, "dollar") {
		return words
	}
	at, of := len(strings.Fields(said[:m[0]])), countries()[said[m[4]:m[5]]]
	return slices.Concat(words[:at], []term{{text: of, raw: of, stop: words[at].stop}, words[at]}, words[at+3:])
}

// inDollars says what a dollar is in a currency in the way in which rows are named, where they are: how many yen do I get for a dollar.
func (t *Tables) inDollars(words []term) []term {
	said := strings.Join(texts(words), " ")
	if !strings.Contains(said, "dollar") {
		return words
	}
	for _, form := range [...]func() *regexp.Regexp{dollarGets, dollarIs, dollarAgainst, perDollar} {
		m := form().FindStringSubmatchIndex(said)
		if m == nil {
			continue
		}
		first, second := "", said[m[4]:m[5]]
		if m[2] >= 0 {
			first = strings.TrimSpace(said[m[2]:m[3]])
		}
		for _, currency := range [...][3]string{{"", first + " " + second, ""}, {"", first, second}, {first, second, ""}} {
			called := strings.TrimSpace(currency[1])
			for _, one := range [...]string{called, singular(called), strings.TrimSuffix(called, "or") + "a", // kronor
				strings.TrimSuffix(called, "r")} {
				if name := one + " per dollar"; len(t.names[name]) > 0 {
					named := func(alias string) bool { return slices.Contains(wordsOf(alias), currency[0]) }
					if slices.ContainsFunc(t.rows[t.names[name][0].row].Aliases, named) { // korean, of the south korean won
						currency[0] = ""
					}
					from := len(strings.Fields(said[:m[0]]))
					to := from + len(strings.Fields(said[m[0]:m[1]]))
					list := slices.Clone(words[:from])
					begins := words[from].stop || words[from].text == "how"
					for w := range strings.FieldsSeq(currency[0] + " " + name + " " + currency[2]) {
						list = append(list, term{text: w, raw: w, stop: begins && len(list) == from})
					}
					return append(list, words[to:]...)
				}
			}
		}
	}
	return words
}

// contractions are the endings that stand behind an apostrophe: who's, I'd, isn't. What is somebody's is theirs without it.
var contractions = prose.Form(`(?i)(\w)'(?:s|d|ll|re|ve|m)\b`)

// endsOwn is what the first or last of a kind has: the biggest coin's volume.
var endsOwn = prose.Form(`(?i)\b((?:biggest|largest|smallest|tiniest|top|best|worst) (?:[\w-]+ )?` +
	`(?:coin|token|asset|crypto|protocol|chain|stablecoin|perp|perpetual|exchange|venue|dex|model|hack|pool|category|sector|gainer|loser|mover|story|paper))'s ` +
	`((?:\w+ )?(?:\w+ )?\w+)`)

// texts are the folded words.
func texts(words []term) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return list
}

// figure reads a number: 100000, 100k, 1.5m.
func figure(text string) (x float64, ok bool) {
	m := figureForm().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	if power, ok := strings.CutPrefix(m[2], "e"); ok {
		m[1] += "e" + power
	}
	x, err := strconv.ParseFloat(m[1], 64)
	switch m[2] {
	case "k":
		x *= 1e3
	case "m", "mn":
		x *= 1e6
	case "b", "bn":
		x *= 1e9
	case "t", "tn":
		x *= 1e12
	}
	return x, err == nil
}

// maxPhrase is how many words a phrase has at most, and maxName a name that can be asked for. The title of a headline is one from
// leastTitle words on: fewer may be about anything.
const (
	maxPhrase  = 6
	maxName    = 24
	leastTitle = 3
)

// pieces are what the words from i on may mean, the best first: the longest, and of these what is the least of a name.
func (t *Tables) pieces(words []term, folded []string, i int) (list []piece) {
	if folded[i] == "mean" && i > 0 && oneOf(folded[i-1], "|i|you|we|they|") {
		if i < len(words)-1 {
			return nil // which takes back what was said before
		}
		return []piece{{role: grammar, from: i, to: i + 1, text: folded[i]}}
	}
	if oneOf(folded[i], "|least|most|") && at(folded, i-1) == "at" {
		return nil // which compares, and orders nothing
	}
	add := func(p piece) {
		p.from, p.text = i, strings.Join(folded[i:p.to], " ")
		list = append(list, p)
	}
	if i > 0 && spans(folded[i]+"s", folded[i]) {
		if _, counted := figure(folded[i-1]); counted {
			return []piece{{role: spanning, from: i, to: i + 1, text: folded[i]}} // which is read as a whole, or not at all
		}
	}
	if i > 0 && slices.Contains([]string{"last", "past", "previous"}, folded[i-1]) && spans(folded[i]+"s") {
		return []piece{{role: spanning, from: i, to: i + 1, text: folded[i]}}
	}
	named := func(words []string) bool { return len(t.names[strings.Join(words, " ")]) > 0 }
	if w, n := prose.ReadWhen(folded[i:]); n > 0 && !(n == 1 && spans(folded[i])) && !(folded[i] == "the" && named(folded[i+1:i+n])) &&
		!t.tenor(folded[i:i+n]) {
		add(piece{role: timing, to: i + n, when: w})
	}
	if n, rank := t.rank(words[i:]); n > 0 {
		add(piece{role: ranking, to: i + n, number: rank})
	}
	// with a million tokens: so many, and no figure for each million
	sized := i > 1 && slices.Contains([]string{
		"with", "has", "have", "having", "holds", "takes", "supports", "accepts", "over", "least", "than",
	}, folded[i-2])
	begins := ""
	if first := wordsOf(folded[i]); len(first) > 0 {
		begins = first[0]
	}
	for n := min(max(maxPhrase, t.longest[begins]), len(words)-i); n > 0; n-- {
		phrase := strings.Join(folded[i:i+n], " ")
		if n <= maxPhrase {
			if phrase == "the number" {
				if _, counted := figure(at(folded, i+n)); counted {
					continue // the number two hack stands second
				}
			}
			for _, p := range t.meanings(phrase) {
				if scale, percent := unitOf(folded[i]); sized && p.role == ofField && scale > 1 && !percent {
					continue
				}
				p.to = i + n
				add(p)
			}
		}
		if n > t.longest[begins] {
			continue
		}
		name := strings.Join(wordsOf(phrase), " ")
		hits := t.names[name]
		if one := singular(name); len(hits) == 0 && n > 1 && one != name {
			hits = t.names[one] // 30 years
		}
		if len(hits) == 0 && n >= leastTitle {
			hits = t.titles[name]
		}
		if len(hits) > 0 {
			add(piece{role: naming, to: i + n, hits: hits})
		}
	}
	if scale, percent := unitOf(at(folded, i+1)); scale > 0 && (folded[i] == "a" || folded[i] == "one") {
		add(piece{role: figuring, to: i + 2, number: scale, percent: percent})
	}
	if folded[i] == "half" { // half a billion
		n := 1
		if next := at(folded, i+1); next == "a" || next == "an" {
			n++
		}
		if scale, _ := unitOf(at(folded, i+n)); scale > 1 {
			add(piece{role: figuring, to: i + n + 1, number: scale / 2})
		}
	}
	if x, ok := figure(folded[i]); ok {
		p := piece{role: figuring, to: i + 1, number: x, percent: words[i].cent}
		if scale, percent := unitOf(at(folded, i+1)); scale > 0 {
			p.to, p.number, p.percent = i+2, x*scale, p.percent || percent
		}
		p.money = oneOf(at(folded, p.to-1), "|dollar|dollars|usd|buck|bucks|cent|cents|")
		add(p)
	}
	upper := func(p piece) bool { // it is written as a symbol is
		raw := words[i].raw
		return p.role == naming && p.to == i+1 && len(raw) > 1 && strings.ToUpper(raw) == raw && strings.ToLower(raw) != raw
	}
	shouted := !slices.ContainsFunc(words, func(w term) bool { return strings.ToUpper(w.raw) != w.raw })
	rank := func(p piece) int {
		if !shouted && upper(p) {
			return -1
		}
		if p.role == naming && p.to == i+1 && shortSpan(folded[i]) {
			return int(timing) - 1 // 10y, where something is called so
		}
		return int(p.role)
	}
	slices.SortStableFunc(list, func(a, b piece) int { return cmp.Or(cmp.Compare(b.to, a.to), cmp.Compare(rank(a), rank(b))) })
	return list
}

// tenor reports whether words are the name of something of so many years, of which no time is meant: at the ten-year.
func (t *Tables) tenor(words []string) bool {
	for len(words) > 2 && oneOf(words[0], "|at|on|the|") {
		words = words[1:]
	}
	return len(words) == 2 && words[0] != "1" && singular(words[1]) == "year" && len(t.names[words[0]+" year"]) > 0
}

// unitOf is what a word behind a number multiplies it by, 0 for none, and whether it makes it one of percent.
func unitOf(word string) (scale float64, percent bool) {
	switch word {
	case "thousand", "thousands":
		return 1e3, false
	case "million", "millions", "mn", "mio", "mln":
		return 1e6, false
	case "billion", "billions", "bn", "bln":
		return 1e9, false
	case "trillion", "trillions", "tn":
		return 1e12, false
	case "cents", "cent":
		return 0.01, false
	case "percent", "pct":
		return 1, true
	case "dollar", "dollars", "usd", "buck", "bucks":
		return 1, false
	}
	return 0, false
}

// at is the word at a place, "" before the first and beyond the last.
func at(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i]
}

// shortSpan reports whether a word is a span in its shortest form.
func shortSpan(w string) bool {
	_, n := prose.ReadWhen([]string{w})
	return n == 1 && w[0] >= '0' && w[0] <= '9'
}

// meanings are what a phrase means that is no name.
func (t *Tables) meanings(phrase string) (list []piece) {
	r, known := t.vocabulary[phrase]
	if _, asks := t.asks[phrase]; known && r != unkept && r != ranking && !(asks && (r == rising || r == falling)) {
		list = append(list, piece{role: r})
	}
	for _, name := range [...]string{phrase, singular(phrase)} {
		if kind, asks := t.asks[name]; asks {
			p := piece{role: ofKind, kind: kind}
			if o, ordered := t.orders[name]; ordered {
				p.order = &o
			}
			list = append(list, p)
			break
		}
	}
	if t.fields[phrase] || t.fields[singular(phrase)] && !spans(phrase) || known && r == unkept {
		list = append(list, piece{role: ofField})
	}
	// DEX and DEXes, of the category Dexs; majors, of the group major
	for _, text := range [...]string{phrase, phrase + "s", singular(phrase), singular(phrase) + "s"} {
		if values := t.values[text]; len(values) > 0 {
			list = append(list, piece{role: valued, values: values})
			break
		}
	}
	return list
}

// spans reports whether one of words is of spans that a number stands before: the last 3 days are no figure of a day.
func spans(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"minutes", "mins", "hours", "hrs", "days", "weeks", "months", "quarters", "years"}, w)
	})
}

// singular is a word without the ending of a plural.
func singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return strings.TrimSuffix(word, "ies") + "y"
	case strings.HasSuffix(word, "xes"):
		return strings.TrimSuffix(word, "es")
	case strings.HasSuffix(word, "ss"), word == "news":
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// rank reads a place among rows: rank 10, #10, 10th largest.
func (t *Tables) rank(words []term) (taken int, place float64) {
	ordinal := func(w term) (float64, bool) {
		names := []string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
		if i := slices.Index(names, w.text); i > 1 {
			return float64(i), true
		}
		for _, ending := range [...]string{"st", "nd", "rd", "th"} {
			if digits, cut := strings.CutSuffix(w.text, ending); cut {
				n, err := strconv.Atoi(digits)
				return float64(n), err == nil && n > 0
			}
		}
		return 0, false
	}
	whole := func(w term) (float64, bool) {
		n, err := strconv.Atoi(w.text)
		return float64(n), err == nil && n > 0
	}
	if words[0].hash {
		if n, ok := whole(words[0]); ok {
			return 1, n
		}
	}
	if n, ok := ordinal(words[0]); ok {
		return 1, n
	}
	if len(words) > 1 && words[0].text == "runner" && words[1].text == "up" {
		return 2, 2
	}
	if t.vocabulary[words[0].text] == ranking {
		for i := 1; i < min(3, len(words)); i++ {
			if n, ok := whole(words[i]); ok {
				return i + 1, n
			}
			if _, ok := t.vocabulary[words[i].text]; !ok {
				break
			}
		}
	}
	return 0, 0
}

// maxReadings is how many ways to read a question are tried, and maxRead how many words in all of them: of a question that is longer than
// people ask, fewer are tried, so that none costs more.
const (
	maxReadings = 400
	maxRead     = maxReadings * 12
)

// readings yields the ways to read words, the best first, until use returns true. Each word belongs to one piece. use must not keep list.
func (t *Tables) readings(words []term, use func(list []piece) bool) {
	folded := texts(words)
	at := make([][]piece, len(words))
	for i := range words {
		at[i] = t.pieces(words, folded, i)
		if len(at[i]) == 0 || !slices.ContainsFunc(at[i], func(p piece) bool { return p.to == i+1 }) {
			at[i] = append(at[i], piece{role: unknown, from: i, to: i + 1, text: folded[i]})
		}
	}
	tried, list := 0, make([]piece, 0, len(words))
	var visit func(i int) bool
	visit = func(i int) bool {
		if i == len(words) {
			tried++
			return use(list) || tried >= maxReadings || tried*len(words) >= maxRead
		}
		for _, p := range at[i] {
			list = append(list, p)
			if visit(p.to) {
				return true
			}
			list = list[:len(list)-1]
		}
		return false
	}
	visit(0)
}

package reader

import (
	"regexp"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// clause is what stands between the commas of a question, as each pack reads it.
type clause struct {
	text  string
	reads []state.Question
	lost  bool // no pack reads it, or what is found may be another thing than was meant; of several, one that reads it is enough
}

// clause reads text in the packs that v is asked of.
func (v View) clause(text string) clause {
	c := clause{text: text}
	for _, a := range v.readable() {
		c.reads = append(c.reads, a.edition.Question(text, v.Kinds, v.Limit))
	}
	c.lost = c.is(func(read state.Question) bool {
		return len(read.Missing) > 0 || slices.ContainsFunc(read.Parts, func(p state.Part) bool { return !p.Match.Sure() })
	})
	return c
}

// is reports whether something is true of c in all packs.
func (c clause) is(of func(read state.Question) bool) bool {
	return !slices.ContainsFunc(c.reads, func(read state.Question) bool { return !of(read) })
}

func (c clause) bare() bool    { return c.is(func(read state.Question) bool { return read.Bare }) }
func (c clause) empty() bool   { return c.is(func(read state.Question) bool { return read.Empty }) }
func (c clause) partial() bool { return c.is(func(read state.Question) bool { return read.Partial }) }
func (c clause) listing() bool { return c.is(func(read state.Question) bool { return read.Listing }) }
func (c clause) open() bool    { return c.is(func(read state.Question) bool { return read.Open }) }
func (c clause) asks() bool    { return c.is(func(read state.Question) bool { return read.Asks }) }
func (c clause) named() bool   { return c.is(func(read state.Question) bool { return read.Named }) }

func (c clause) nameless() bool { return c.is(func(read state.Question) bool { return !read.Named }) }

// refers reports whether c speaks of what stands in another clause.
func (c clause) refers() bool {
	return refersForm.MatchString(c.text) || c.is(func(read state.Question) bool {
		return read.Listing && whichForm.MatchString(c.text) || !read.Named && andForm.MatchString(c.text)
	})
}

// half reports whether c has words that are known beside those that are not.
func (c clause) half() bool {
	return c.is(func(read state.Question) bool {
		words := 0
		for _, m := range read.Missing {
			if m.Why != api.MissingUnknownWord {
				return false
			}
			words += len(strings.Fields(m.Word))
		}
		return words > 0 && words < len(strings.Fields(c.text))
	})
}

// questions are those of v. A comma parts them, unless what it parts says nothing by itself and the whole is one: "the price of bitcoin,
// please". What was told before is no question: "that was bitcoin, and what's bnb at"; where what follows goes back to it, the whole is
// one.
func (v View) questions() []string {
	text, back := v.Text, false
	if told := toldBefore.FindString(text); told != "" && len(told) < len(text) {
		rest := text[len(told):]
		first, _, parts := strings.Cut(rest, ",") // and monero, what is that at
		back = goesBack.MatchString(rest) && !(parts && !goesBack.MatchString(first) && v.clause(first).bare())
		if !back && !v.clause(rest).bare() { // and lido's: what of it
			text = rest
		}
	}
	texts := parted(text)
	if len(texts) == 1 {
		return texts
	}
	var list []clause
	for _, text := range texts {
		list = append(list, v.clause(text))
	}
	if kept := slices.DeleteFunc(slices.Clone(list), clause.empty); len(kept) > 0 { // please
		list = kept
	}
	texts = texts[:0]
	for _, c := range list {
		texts = append(texts, c.text)
	}
	whole := strings.Join(texts, ", ")
	open := slices.ContainsFunc(list, func(c clause) bool { // perps, funding below zero
		return c.lost || len(list) == 2 && c.listing()
	})
	if back || belong(list) || open && !v.clause(whole).lost {
		return []string{whole}
	}
	return texts
}

// belong reports whether clauses are one question: some clause is the one and some clause the other of a pair that asks for something
// together. It is then not answered in parts, even where the whole cannot be read either.
func belong(list []clause) bool {
	type test func(i int, c clause) bool
	any := func(int, clause) bool { return true }
	for _, pair := range [...]struct{ one, other test }{
		// first five, of what stands before it
		{func(_ int, c clause) bool { return c.partial() }, any},
		// among the top ten, which fell most; and its volume; the same for ether
		{func(i int, c clause) bool {
			return c.lost && sameForm.MatchString(c.text) || i == 0 && ofForm.MatchString(c.text) ||
				i > 0 && (state.OfIt(c.text) || c.open() && whichForm.MatchString(c.text))
		}, any},
		// the fed funds rate, is the boss leaving
		{func(i int, c clause) bool {
			return i > 0 && c.lost && clauseForm.MatchString(c.text) &&
				c.is(func(read state.Question) bool { return !read.Named && !read.Kind })
		}, func(_ int, c clause) bool { return !c.lost }},
		// solana above bnb by new year, what are the odds
		{func(_ int, c clause) bool { return oddsForm.MatchString(c.text) && c.nameless() },
			func(_ int, c clause) bool { return c.lost && c.named() }},
		// protocols, the biggest
		{func(_ int, c clause) bool { return c.open() }, func(_ int, c clause) bool { return c.listing() }},
		// zec longs must be bleeding, the funding there
		{func(_ int, c clause) bool { return c.lost }, func(_ int, c clause) bool { return !c.lost && c.refers() }},
		// which has the better ratio, the euro or the yen
		{func(_ int, c clause) bool { return c.lost && (c.asks() || c.half()) }, func(_ int, c clause) bool { return c.bare() }},
		// who holds most bitcoin, and the price
		{func(_ int, c clause) bool { return c.lost && c.asks() && c.named() },
			func(_ int, c clause) bool { return !c.lost && c.nameless() }},
	} {
		has := func(is test) bool {
			for i, c := range list {
				if is(i, c) {
					return true
				}
			}
			return false
		}
		if has(pair.one) && has(pair.other) {
			return true
		}
	}
	return false
}

// The forms of what was told before, of what goes back to it, and of what is asked in its words.
var (
	toldBefore = regexp.MustCompile(`(?i)^\s*(?:(?:ok|okay|right|alright|fine|so|great|good|cool|well|yes|yeah|thanks|thank you|perfect)` +
		`[ ,.!]+)*(?:that['’]?s|that was|that is|that (?:settles|covers|answers|does it for|will do for|clears up|explains)|` +
		`(?:thanks|thank you|cheers) for|` +
		`you(?: already| just)? (?:told me|gave|gave me|said|showed me|mentioned|listed)|got (?:the|it|that|this|them))` +
		`\s[^?]+?(?:,|[.;!:](?:\s|$)|\s[-–—]\s)`)
	goesBack = regexp.MustCompile(`(?i)\b(?:it|its|same|that|this|those|these|they|their|them|one|ones|also|too)\b`)
	ofForm   = regexp.MustCompile(`(?i)^\s*(?:for|of|on|about|regarding|concerning|in|as for|among|amongst|within|across|inside)\b`)
	sameForm = regexp.MustCompile(`(?i)\bthe same\b`)
	// These are of what stands in another part.
	andForm    = regexp.MustCompile(`(?i)^\s*and\b`)
	whichForm  = regexp.MustCompile(`(?i)^\s*(?:(?:and|but|or) )?which\b`)
	refersForm = regexp.MustCompile(`(?i)\b(?:it|its|these|those|them|they|their)\b|\b(?:there|that|this)\W*$`)
	oddsForm   = regexp.MustCompile(`(?i)\b(?:odds|chances?|likelihood|likely|probabilit(?:y|ies))\b`)
	// clauseForm is a question of its own.
	clauseForm = regexp.MustCompile(`(?i)^\s*(?:(?:and|or|but|so|then|also) )?` +
		`(?:is|are|was|were|do|does|did|has|have|had|can|will|should|shall|would|could|what|whats|which|who|whos|why|how|hows|when|where|whose)\b`)
)

// parted is text by its commas, but for those that part the thousands of a number, and before what is of the thing just named: and its
// volume.
func parted(text string) (list []string) {
	start := 0
	for i := range len(text) {
		if text[i] == ',' && !thousands(text, i) && !possessive(text[i+1:]) {
			list, start = append(list, text[start:i]), i+1
		}
	}
	return append(list, text[start:])
}

// besides are words between a figure and another one of the same thing.
const besides = " and also as well plus together along alongside with including then what is are whats "

// possessive reports whether a text begins with its or their, behind and.
func possessive(text string) bool {
	words := strings.Fields(strings.ToLower(text[:min(len(text), 40)]))
	for len(words) > 1 && strings.Contains(besides, " "+words[0]+" ") {
		words = words[1:]
	}
	return len(words) > 1 && (words[0] == "its" || words[0] == "their")
}

// thousands reports whether the comma at i stands between a digit and three of them, as in 4,000.
func thousands(text string, i int) bool {
	digit := func(at int) bool { return at >= 0 && at < len(text) && text[at] >= '0' && text[at] <= '9' }
	return digit(i-1) && digit(i+1) && digit(i+2) && digit(i+3) && !digit(i+4)
}

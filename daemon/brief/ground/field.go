package ground

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/prose"
)

// field is what the name of a member says about its value.
type field struct {
	unit   prose.Unit
	words  []string      // what it measures: concepts, or else the words of the name
	over   time.Duration // that it spans, 0 if it does not say
	ago    time.Duration // how long ago it was, 0 for now and past for some time before
	change bool          // it says how far something moved
	rank   bool          // it is a place in an order
	bound  bool          // it is what others are held against
	points bool          // it is told in basis points, which are of a percentage
}

// past is the age of a value of some time before.
const past = time.Duration(-1)

// readField reads the name of a member, as change24hPct.
func readField(name string) field {
	var f field
	tokens := split(name)
	for i, t := range tokens {
		last := i == len(tokens)-1
		switch {
		case last && t == "usd":
			f.unit = prose.USD
		case last && (t == "pct" || t == "percent"):
			f.unit = prose.Percent
		case last && t == "bp":
			f.unit, f.points = prose.Basis, true
		case prose.SpanOf(t) > 0:
			f.over = prose.SpanOf(t)
		case t == "change" || t == "changed" || t == "moved" || t == "move" || t == "delta" || t == "added":
			f.change = true
		case t == "was" || t == "previous" || t == "prior":
			f.ago = past
		case t == "ago" || t == "yesterday":
			f.ago, f.over = max(f.over, prose.Day), 0
		case t == "annual":
			f.over = prose.Year
		case t == "day" || t == "week" || t == "month":
			f.over = map[string]time.Duration{"day": prose.Day, "week": prose.Week, "month": prose.Month}[t]
		case t == "rank" || t == "position":
			f.rank = true
		case t == "threshold" || t == "limit":
			f.bound = true
		default:
			f.words = append(f.words, t)
		}
	}
	if f.ago == past && f.over > 0 {
		f.ago, f.over = f.over, 0
	}
	f.words = meant(f.words)
	return f
}

// readFlag reads what the figure of a flag is, as its kind and its message say.
func readFlag(v *jsonx.Value) (f field) {
	if kind := v.Member("kind"); kind != nil {
		f.words = meant(split(kind.Text()))
		f.change = slices.ContainsFunc(f.words, func(w string) bool { return w == "move" || w == "drop" })
	}
	if message := v.Member("message"); message != nil {
		if periods := prose.Periods(prose.Words(message.Text())); len(periods) == 1 && !periods[0].Ago {
			f.over = periods[0].Length
		}
	}
	return f
}

// meant are words with the concepts that they stand for in their place.
func meant(words []string) (list []string) {
	for i := 0; i < len(words); i++ {
		found, n := conceptAt(words[i:])
		if n == 0 {
			found, n = []string{prose.Stem(words[i])}, 1
		}
		list = append(list, found...)
		i += n - 1
	}
	return list
}

// concepts are those that the words of a member's name or of a text stand for, without repeats.
func concepts(words []string) (list []string) {
	for i := range words {
		found, _ := conceptAt(words[i:])
		for _, c := range found {
			if !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
	}
	return list
}

// split cuts a name in camel case or with underscores into words in lower case. Digits with a letter are one, as 24h.
func split(name string) (list []string) {
	start := 0
	cut := func(i int) {
		if i > start {
			list = append(list, strings.ToLower(name[start:i]))
		}
		start = i
	}
	runes := []rune(name)
	if len(runes) != len(name) { // no name of ours
		return []string{strings.ToLower(name)}
	}
	for i, r := range runes {
		switch {
		case r == '_' || r == '-' || r == ' ':
			cut(i)
			start = i + 1
		case i == 0:
		case unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]), unicode.IsDigit(r) && unicode.IsLetter(runes[i-1]):
			cut(i)
		case unicode.IsUpper(r) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			cut(i)
		}
	}
	cut(len(name))
	return list
}

// conceptAt reads what measure the first of words names, in the vocabulary of members or of prose, and of how many words; nil for none.
// Where a word may mean several it stands for each.
func conceptAt(words []string) (list []string, n int) {
	next := func(i int) string {
		if i < len(words) {
			return prose.Stem(words[i])
		}
		return ""
	}
	w := prose.Stem(words[0])
	if (w == "trading" || w == "traded" || w == "trade") && next(1) == "volume" {
		return []string{"volume"}, 2
	}
	switch w {
	case "open":
		if next(1) == "interest" {
			return []string{"interest"}, 2
		}
	case "oi":
		return []string{"interest"}, 1
	case "market", "total":
		switch n := next(1); {
		case n == "cap", w == "market" && (n == "capitalization" || n == "capitalisation" || n == "value" && words[1] != "values"):
			return []string{"cap"}, 2
		}
		if next(1) == "value" && next(2) == "locked" {
			return []string{"tvl"}, 3
		}
	case "cap", "capitalization", "capitalisation", "mcap", "valuation", "capitalized":
		return []string{"cap"}, 1
	case "worth", "valued":
		if next(1) == "of" {
			return nil, 0 // $2 billion worth of it was traded
		}
		return []string{"cap", "price"}, 1
	case "trading":
		if next(1) == "in" {
			return []string{"volume", "price"}, 1
		}
		return []string{"price"}, 1
	case "trade":
		return []string{"price", "txn"}, 1
	case "price", "priced", "mark", "cost", "costing", "quote", "quoted", "sell", "selling", "fetch", "fetche":
		return []string{"price"}, 1
	case "traded":
		if next(1) == "at" {
			return []string{"price"}, 1
		}
		return []string{"volume", "price"}, 1
	case "changed", "change", "changing":
		switch {
		case next(1) == "hand" && next(2) == "at":
			return []string{"price"}, 3
		case next(1) == "hand":
			return []string{"volume"}, 2
		}
	case "volume", "turnover":
		return []string{"volume"}, 1
	case "tvl", "locked", "deposit", "deposited":
		return []string{"tvl"}, 1
	case "turned", "turn", "turning":
		if next(1) == "over" {
			return []string{"volume"}, 2
		}
	case "hold", "held", "holding", "secure", "secured":
		if next(1) == "at" {
			return []string{"price"}, 2
		}
		return []string{"tvl", "interest", "liquidity", "debt", "supply"}, 1
	case "liquidity":
		return []string{"liquidity"}, 1
	case "in":
		if colour := next(2); next(1) == "the" && (colour == "green" || colour == "red") {
			return []string{map[string]string{"green": "advancing", "red": "declining"}[colour]}, 3
		}
	case "combined":
		if n := next(1); n == "worth" || n == "value" {
			return []string{"cap"}, 2
		}
	case "passed", "flowed":
		if next(1) == "through" {
			return []string{"volume"}, 2
		}
	case "position":
		if words[0] == "positions" && next(1) == "worth" {
			return []string{"interest"}, 2
		}
	case "liked":
		return []string{"like"}, 1
	case "supply", "circulation", "outstanding", "circulating":
		return []string{"supply"}, 1
	case "dominance", "share":
		return []string{"dominance"}, 1
	case "make", "making", "made", "account", "accounting", "accounted":
		if n := next(1); n == "up" || n == "for" {
			return []string{"dominance"}, 2
		}
	case "funding":
		if next(1) == "rate" {
			return []string{w}, 2
		}
		return []string{w}, 1
	case "yield", "spread", "premium", "volatility", "debt", "liquidation", "unemployment":
		return []string{w}, 1
	case "yielding", "yielded":
		return []string{"yield"}, 1
	case "dvol":
		return []string{"volatility"}, 1
	case "rate":
		return []string{"rate"}, 1
	case "high", "peak":
		return []string{"high"}, 1
	case "low", "trough":
		return []string{"low"}, 1
	case "odd", "chance", "probability", "likelihood", "likely", "probable":
		return []string{"odds"}, 1
	case "loss", "exploit", "stolen", "stole", "took", "taken", "drained", "exploited", "hack":
		return []string{"loss"}, 1
	case "peg", "depeg", "pegged":
		return []string{"peg"}, 1
	case "apart", "divergence", "differ":
		return []string{"divergence"}, 1
	case "answer", "output", "completion":
		return []string{"completion"}, 1
	case "input", "prompt":
		return []string{"prompt"}, 1
	case "transaction", "txn":
		return []string{"txn"}, 1
	case "downloaded":
		return []string{"download"}, 1
	case "score", "gas", "like", "point", "comment", "upvote", "download", "magnitude", "depth":
		return []string{w}, 1
	case "gwei":
		return []string{"gas", "gwei"}, 1
	case "fee", "sat":
		return []string{"fee"}, 1
	case "advancing", "advance", "advanced", "advancer", "up", "higher", "rose", "rise", "risen", "rising", "gained", "gain",
		"gaining", "gainer", "climbed", "climbing", "winner":
		return []string{"advancing"}, 1
	case "declining", "decline", "declined", "decliner", "down", "lower", "fell", "fall", "fallen", "falling", "lost", "lose",
		"losing", "loser", "dropped", "dropping", "slipped":
		return []string{"declining"}, 1
	}
	return nil, 0
}

// kindOf says what sort of measure a concept is: an amount, or a share that is told in percent and does not move.
func amount(concept string) bool {
	switch concept {
	case "price", "cap", "volume", "tvl", "liquidity", "supply", "interest", "debt", "loss":
		return true
	}
	return false
}

// level reports whether a concept is told in percent as such.
func level(concept string) bool {
	switch concept {
	case "dominance", "funding", "yield", "rate", "spread", "premium", "volatility", "unemployment", "odds", "peg", "divergence",
		"high", "low":
		return true
	}
	return false
}

// breadth reports whether a concept counts those that go one way.
func breadth(concept string) bool { return concept == "advancing" || concept == "declining" }

// fieldFits reports whether what the sentence says of f names n, or nothing else of x.
func fieldFits(f *assertion, x *row, n *number) bool {
	switch {
	case f.extreme(n), slices.ContainsFunc(f.stems, func(w string) bool { return f.sums(w) && !slices.Contains(n.words, w) }):
		return false
	case f.bound && !n.bound:
		return false
	case n.bound:
		return slices.ContainsFunc(f.stems, func(w string) bool { return w == "threshold" || w == "limit" || w == "bound" })
	case n.rank || f.ranked:
		return n.rank && f.ranked
	case slices.ContainsFunc(n.words, breadth) && f.bareCount() && !f.ofCoins():
		return false
	case f.bareCount() && f.breadth() && !slices.ContainsFunc(n.words, breadth):
		return false
	case n.change && n.unit != prose.Percent && f.totals():
		return false // a sum is not what it changed by
	case f.Unit == prose.Plain && n.unit != prose.Plain && f.noun != "" && f.noun != "dollar":
		return false // a billion of something else
	case n.ago != 0 && len(n.words) == 0:
		return true // of the same field as what is told of now
	case n.change:
		return changeFits(f, x, n)
	case n.unit == prose.Percent && f.beside && f.Sign == 0 && slices.ContainsFunc(n.words, level) && !x.judges:
		return false // what goes up by it is told by another field
	}
	if f.by && n.unit != prose.Percent && !slices.ContainsFunc(n.words, func(w string) bool { return breadth(w) || w == "loss" }) {
		return false // an amount is not what it went up by
	}
	kind := x.kind(n)
	measures := slices.DeleteFunc(slices.Clone(f.measures), func(m string) bool {
		return !kind(m) || x.calls(m) && !slices.Contains(n.words, m)
	})
	other := func(m number) bool { return m.unit == n.unit && !m.change && m.ago == n.ago && f.says(&m) > f.says(n) }
	switch {
	case len(measures) > 0 && (n.unit == prose.Plain || f.named || slices.ContainsFunc(n.words, kind)):
		measured := func(m number) bool {
			return slices.ContainsFunc(m.words, func(w string) bool { return slices.Contains(measures, w) }) ||
				m.unit == prose.Plain && len(f.after) > 0 && slices.Contains(m.words, f.after[0])
		}
		better := func(m number) bool { return measured(m) && other(m) }
		return measured(*n) && !slices.ContainsFunc(x.numbers, better)
	case slices.ContainsFunc(x.numbers, other):
		return false
	}
	if n.unit == prose.Plain && f.bareCount() && f.noun != "" && !slices.Contains(n.words, f.noun) {
		return false
	}
	return f.says(n) > 0 || n.unit == prose.USD && f.of || x.primary(n)
}

// ofCoins reports whether f counts coins, as breadth does, or does not say what it counts.
func (f *assertion) ofCoins() bool {
	return !slices.ContainsFunc(f.after, func(w string) bool {
		switch w {
		case "protocol", "chain", "pool", "stablecoin", "narrative", "category", "sector", "theme", "venue", "exchange", "perpetual",
			"network", "market", "source", "flag", "headline", "model", "paper", "story":
			return true
		}
		return false
	})
}

// extreme reports whether f is told as the highest or the lowest of a time, as in a high of, and n is not.
func (f *assertion) extreme(n *number) bool {
	for i, w := range f.stems[:max(0, len(f.stems)-1)] {
		next := f.stems[i+1]
		if (w == "high" || w == "low" || w == "peak" || w == "trough") && (next == "of" || next == "is" || next == "was") {
			concept, _ := conceptAt([]string{w})
			return !slices.Contains(n.words, concept[0])
		}
	}
	return false
}

// sums reports whether a word makes one figure of several.
func (f *assertion) sums(w string) bool {
	switch w {
	case "average", "mean", "median", "opened":
		return true
	case "combined", "together", "sum":
		return len(f.subjects) > 1
	}
	return false
}

// says is how many words for what n measures stand beside f.
func (f *assertion) says(n *number) (count int) {
	for _, w := range n.words {
		if slices.Contains(f.measures, w) || slices.Contains(f.stems, w) {
			count++
		}
	}
	return count
}

// calls reports whether a word is one of the name of x.
func (x *row) calls(word string) bool {
	return slices.ContainsFunc(x.titles, func(t string) bool {
		return slices.ContainsFunc(prose.Words(t), func(w prose.Word) bool { return prose.Stem(w.Text) == word })
	})
}

// kind tells the concepts that a number of x can be of, by its unit.
func (x *row) kind(n *number) func(concept string) bool {
	switch n.unit {
	case prose.Percent:
		return level
	case prose.Plain:
		counts := func(of func(string) bool) bool {
			return slices.ContainsFunc(x.numbers, func(o number) bool { return slices.ContainsFunc(o.words, of) })
		}
		goes, trades := counts(breadth), counts(func(w string) bool { return w == "txn" })
		return func(m string) bool { return m != "price" && (goes || !breadth(m)) && (trades || m != "txn") }
	}
	return amount
}

// changeFits reports whether f may be how far n says that something moved: what x is measured by, if it does not say of what.
func changeFits(f *assertion, x *row, n *number) bool {
	for _, m := range f.measures {
		switch {
		case !amount(m) && !level(m), m == "loss", slices.Contains(n.words, m):
		case len(n.words) > 0 && !x.judges, !x.measuredBy(m):
			return false
		}
	}
	if !f.moves(n.unit) && f.says(n) == 0 {
		return false // what moved is none that is there, and which way it went is not said
	}
	return len(n.words) == 0 || x.judges || f.says(n) > 0 || x.primary(n)
}

// moves reports whether f is told as a change, one way or either.
func (f *assertion) moves(unit prose.Unit) bool {
	return f.direction != 0 || f.goes && unit == prose.Percent || slices.ContainsFunc(f.stems, func(w string) bool {
		return w == "change" || w == "changed" || w == "move" || w == "moved" || w == "swing"
	})
}

// measuredBy reports whether m is what the changes of x are of: its price, else what stands first.
func (x *row) measuredBy(m string) bool {
	for _, of := range []string{"price", "tvl", "supply", "cap", "interest", "volatility"} {
		if slices.ContainsFunc(x.numbers, func(n number) bool { return !n.change && slices.Contains(n.words, of) }) {
			return of == m
		}
	}
	return !slices.ContainsFunc(x.numbers, func(n number) bool { return !n.change && slices.ContainsFunc(n.words, amount) })
}

// primary reports whether n is what a figure of its unit is of where nothing is said: the price, else what stands first.
func (x *row) primary(n *number) bool {
	var first *number
	for i := range x.numbers {
		m := &x.numbers[i]
		alike := m.unit == n.unit && m.change == n.change && (m.ago != 0) == (n.ago != 0)
		if !alike || m.rank || m.bound || m.unit == prose.Plain && m.over != 0 {
			continue
		}
		if first == nil || slices.Contains(m.words, "price") && !slices.Contains(first.words, "price") {
			first = m
		}
	}
	return first == n || first != nil && n.change && len(first.words) == 0 && len(n.words) == 0
}

// spanFits reports whether n is of the time that the sentence says. Where it says none, a change is of a day.
func spanFits(f *assertion, x *row, n *number) bool {
	over := f.over
	if n.change && over == 0 {
		over = f.ago
	}
	switch {
	case n.change && (f.ended || f.ago == past):
		return false
	case n.ago == past:
		return f.ago != 0 || f.follows
	case n.ago != 0:
		return f.ago == n.ago || f.ago == 0 && f.follows
	case !n.change && f.ago != 0:
		return false
	case n.over == 0:
		return !n.change || x.judges || over <= 0 || over == prose.Day
	case over > 0:
		return over == n.over
	case !n.change || n.over == prose.Day:
		return true
	}
	return !slices.ContainsFunc(x.numbers, func(m number) bool { return m.change && m.over != n.over && slices.Equal(m.words, n.words) })
}

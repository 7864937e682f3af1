package ground

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/prose"
)

// mention is where a sentence says what it is about.
type mention struct {
	start, end int
	text       string
	rows       []*row // that it stands for; none for a name that the state does not have
	name       bool   // it names rows, and not their member
	inText     bool   // it is no name of theirs, but a word that their texts have
	refs       []int  // of the sources, where it names one of them, as a venue
}

// covers reports whether m stands for r or for the row around it.
func (m *mention) covers(r *row) bool {
	for ; r != nil; r = r.within {
		if slices.Contains(m.rows, r) {
			return true
		}
	}
	return false
}

// means reports whether one of the words is the symbol of what m names.
func (m *mention) means(words []string) bool {
	return m.name && slices.ContainsFunc(m.rows, func(r *row) bool { return r.symbol != "" && slices.Contains(words, r.symbol) })
}

// shortened reports whether one of the words is short for the name that m is, as btc is for Bitcoin.
func (m *mention) shortened(words []string) bool {
	name := strings.ToLower(m.text)
	return m.name && slices.ContainsFunc(words, func(w string) bool {
		if len(w) < 3 || len(w) > 4 || w[0] != name[0] {
			return false
		}
		rest := name
		for _, letter := range []byte(w) {
			at := strings.IndexByte(rest, letter)
			if at < 0 {
				return false
			}
			rest = rest[at+1:]
		}
		return true
	})
}

// measured is what stands between a name, even one that is a word too, and its figure.
var measured = regexp.MustCompile(`^(?: \(| at |: | by )[-+$]{0,2}\d`)

// mentions lists what s is about, in order, and the names in it that are written as ordinary words. A longer
// name hides those in it: Wrapped Bitcoin is not Bitcoin.
func (c *checker) mentions(s prose.Sentence, words []prose.Word) (list, maybe []*mention) {
	for _, p := range c.spans {
		if !p.Named || p.Start < s.Start || s.End < p.End || c.index.phrases[p.Phrase].source {
			continue
		}
		start, end := p.Start-s.Start, p.End-s.Start
		special := len(c.text[p.Start:p.End]) > 4 && strings.ContainsAny(c.text[p.Start:p.End], " -.0123456789")
		if !p.Sure && !special && !measured.MatchString(c.text[p.End:min(len(c.text), p.End+8)]) {
			if end-start > 3 { // else an ordinary word
				maybe = append(maybe, &mention{start: start, end: end, rows: []*row{c.index.phrases[p.Phrase].row}})
			}
			continue
		}
		r := c.index.phrases[p.Phrase].row
		at := slices.IndexFunc(list, func(m *mention) bool { return m.start == start && m.end == end })
		if at < 0 {
			list = append(list, &mention{start: start, end: end, name: true})
			at = len(list) - 1
		}
		if !list[at].covers(r) {
			list[at].rows = append(list[at].rows, r)
		}
	}
	hidden := func(start, end int) bool {
		return slices.ContainsFunc(list, func(m *mention) bool {
			return m.name && m.start <= start && end <= m.end && end-start < m.end-m.start
		})
	}
	list = slices.DeleteFunc(slices.Clone(list), func(m *mention) bool { return hidden(m.start, m.end) })
	for _, m := range list {
		c.widen(m, s)
	}
	return c.others(s, words, list), maybe
}

// widen adds the rows about what m names whose names say more: Bitcoin options have the symbol of Bitcoin, and a question may be about it.
func (c *checker) widen(m *mention, s prose.Sentence) {
	said := c.text[s.Start+m.start : s.Start+m.end]
	flags := !slices.ContainsFunc(m.rows, func(r *row) bool { return !r.judges })
	words := prose.Words(strings.ToLower(said))
	for _, r := range c.index.rows {
		same := func(o *row) bool { return o.symbol != "" && o.symbol == r.symbol }
		begins := func(t string) bool {
			return len(t) > len(said) && strings.EqualFold(t[:len(said)], said) && prose.WordEdge(t, len(said))
		}
		there := func(t string) bool { // Bitcoin on Hyperliquid may be the row of Bitcoin that is there
			venue, on := strings.CutPrefix(said, t+" on ")
			return on && r.tells(venue, true)
		}
		handled := func(h string) bool {
			return flags && slices.ContainsFunc(words, func(w prose.Word) bool { return prose.Stem(w.Text) == h })
		}
		switch {
		case m.covers(r):
		case slices.ContainsFunc(m.rows, same) && (strings.EqualFold(said, r.symbol) ||
			slices.ContainsFunc(r.titles, begins) || slices.ContainsFunc(r.titles, there)),
			!r.named() && slices.ContainsFunc(r.handles, handled), r.tells(said, false):
			m.rows = append(m.rows, r)
		}
	}
}

// tells reports whether a title or a message of r, or where short is set any text, has a name as it is written.
func (r *row) tells(name string, short bool) bool {
	return slices.ContainsFunc(r.texts, func(t text) bool {
		at := strings.Index(t.text, name)
		return (short || t.long) && at >= 0 && prose.WordEdge(t.text, at) && prose.WordEdge(t.text, at+len(name))
	})
}

// others adds to the names of a sentence its words for members, and names that the state does not have.
func (c *checker) others(s prose.Sentence, words []prose.Word, list []*mention) []*mention {
	named := slices.Clone(list)
	in := func(w prose.Word) *mention {
		for _, m := range named {
			if m.start <= w.Start && w.End <= m.end {
				return m
			}
		}
		return nil
	}
	for i, w := range words {
		if in(w) != nil {
			continue
		}
		text := make([]string, 0, 3)
		for _, next := range words[i:min(i+3, len(words))] {
			text = append(text, next.Text)
		}
		measure, _ := conceptAt(text)
		stem := prose.Stem(w.Text)
		rows := c.index.handled(stem)
		before := ""
		if i > 0 {
			before = prose.Stem(words[i-1].Text)
		}
		switch {
		case stem == "market" && (measure != nil || len(c.index.handled(before)) > 0): // the stablecoin market is no market beside them
		case len(rows) > 0 && !c.index.listed(before):
			list = append(list, &mention{start: w.Start, end: w.End, rows: rows})
		case !w.Capital || measure != nil || c.index.listed(stem) || ordinary(w.Text, i == 0 || c.opens(s, w)):
		case i == 0 && c.index.measures(stem), w.Text == "near" && i+1 < len(words) && words[i+1].Capital && words[i+1].Text != "protocol":
		default:
			list = c.foreign(s, w, c.publisher(words, i), named, list)
		}
	}
	slices.SortStableFunc(list, func(a, b *mention) int { return a.start - b.start })
	for _, m := range list {
		m.text = c.text[s.Start+m.start : s.Start+m.end]
	}
	return list
}

// opens reports whether a quotation or a clause starts with w.
func (c *checker) opens(s prose.Sentence, w prose.Word) bool {
	before := strings.TrimRight(c.text[s.Start:s.Start+w.Start], " \n\t*_([#")
	r, _ := utf8.DecodeLastRuneInString(before)
	joins := func(word string) bool { return strings.HasSuffix(before, " "+word) }
	return before == "" || strings.ContainsRune(".!?:;“\"", r) || slices.ContainsFunc([]string{"and", "but", "while", "whereas"}, joins)
}

// publisher are the sources whose name the i-th word is of behind a word for where something is: on Hugging Face.
func (c *checker) publisher(words []prose.Word, i int) (refs []int) {
	first := i
	for first > 0 && words[first-1].Capital && first-1 > 0 {
		first--
	}
	if first == 0 || words[first-1].Text != "on" && words[first-1].Text != "at" {
		return nil
	}
	name := ""
	for last := first; last < len(words) && last <= i+1 && words[last].Capital; last++ {
		if name += words[last].Text; last < i {
			continue
		}
		for n, cite := range c.citations {
			if slices.ContainsFunc(prose.Words(cite.SourceID), func(t prose.Word) bool { return t.Text == name }) {
				refs = append(refs, n+1)
			}
		}
	}
	return refs
}

// foreign adds a capital word that is no name of the state, unless it is one that a source or a title has. Beside a name it makes another
// one of it, unless it says where: Bitcoin Cash is not Bitcoin.
func (c *checker) foreign(s prose.Sentence, w prose.Word, where []int, named, list []*mention) []*mention {
	for _, m := range named {
		gap := ""
		switch {
		case m.end <= w.Start:
			gap = c.text[s.Start+m.end : s.Start+w.Start]
		case w.End <= m.start:
			gap = c.text[s.Start+w.End : s.Start+m.start]
		}
		if gap == " " && m.name && w.End-w.Start > 1 && where == nil {
			m.rows, m.start, m.end = nil, min(m.start, w.Start), max(m.end, w.End)
			return list
		}
	}
	said := c.text[s.Start+w.Start : s.Start+w.End]
	m := &mention{start: w.Start, end: w.End, name: true, refs: where}
	for i, cite := range c.citations {
		if where == nil && slices.ContainsFunc(prose.Words(cite.SourceID), func(t prose.Word) bool { return t.Text == w.Text }) {
			m.refs = append(m.refs, i+1)
		}
	}
	if m.refs == nil {
		for _, r := range c.index.rows {
			if r.tells(said, true) || slices.ContainsFunc(r.titles, func(t string) bool { return short(t, w.Text) }) {
				m.rows, m.inText = append(m.rows, r), true
			}
		}
	}
	return append(list, m)
}

// short reports whether w is the beginning of a word of a title, as Fed is of federal.
func short(title, w string) bool {
	return len(w) > 2 && slices.ContainsFunc(prose.Words(title), func(t prose.Word) bool { return strings.HasPrefix(t.Text, w) })
}

// handled lists the rows without a name that a word stands for.
func (x *index) handled(stem string) (rows []*row) {
	for _, r := range x.rows {
		if !r.named() && slices.Contains(r.handles, stem) {
			rows = append(rows, r)
		}
	}
	return rows
}

// measures reports whether a word is one of the name of a member.
func (x *index) measures(stem string) bool {
	for _, f := range x.fields {
		if slices.Contains(f.words, stem) {
			return true
		}
	}
	return false
}

// listed reports whether a word is one for rows of a member.
func (x *index) listed(stem string) bool {
	return slices.ContainsFunc(x.rows, func(r *row) bool { return slices.Contains(r.lists, stem) })
}

// ordinary reports whether a capital word is none of a name: a month, an abbreviation of ours, or, where it opens something, a word that
// sentences start with.
func ordinary(w string, opens bool) bool {
	if _, counts := prose.Count(w); counts {
		return true
	}
	switch w {
	case "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
		"usd", "us", "utc", "crypto", "z", "t", "u", "s", "i", "defi", "etf", "dex", "hn", "gmt", "index", "token", "coin", "network",
		"protocol":
		return true
	}
	if r, _ := utf8.DecodeRuneInString(w); !unicode.IsLetter(r) {
		return true
	}
	if !opens {
		return false
	}
	if prose.Heading(w, "") != 0 {
		return true
	}
	switch w {
	case "the", "a", "an", "in", "of", "on", "at", "by", "for", "from", "with", "while", "also", "only", "both", "all", "among",
		"between", "over", "under", "after", "before", "since", "meanwhile", "today", "yesterday", "here", "there", "this", "that",
		"these", "those", "it", "its", "they", "their", "no", "none", "however", "but", "and", "overall", "elsewhere", "across", "as",
		"per", "during", "more", "most", "some", "each", "every", "other", "still", "now", "then", "next", "not", "up", "down",
		"within", "to", "about", "around", "nearly", "roughly", "so", "if", "when", "where", "who", "what", "whose", "another", "out",
		"off", "last", "first", "second", "third", "daily", "weekly", "did", "does", "is", "was", "yes", "even", "despite", "against",
		"compared", "versus", "outside", "inside", "behind", "ahead", "far", "currently", "right", "just", "roundup", "large",
		"largest", "top", "biggest", "leading", "trending", "recent", "new", "newest", "prediction", "traders", "coins", "tokens",
		"protocols", "pools", "chains", "majors", "gainers", "losers", "sources", "stablecoins", "longs", "shorts", "treasuries",
		"rows", "flags", "news", "headlines", "papers", "models", "funding", "options", "breadth", "be",
		"total", "global", "aggregate", "crypto", "trading", "spot", "market", "markets", "investors", "analysts", "attackers", "hackers",
		"users", "buyers", "sellers", "holders", "winners", "ranked", "valued", "liked",
		"sentiment", "liquidity", "altogether", "smaller", "larger", "altcoins", "fees", "gas", "odds", "losses", "gains":
		return true
	}
	return false
}

// joined reports whether two names stand beside each other in a list.
func joined(between string) bool {
	return slices.Contains([]string{", ", " and ", ", and ", " or ", " & ", "/", " / "}, between)
}

// groupAt is m with the names that are listed directly before it, in order.
func (r *reading) groupAt(m *mention) (group []*mention) {
	group = []*mention{m}
	for {
		first := group[0]
		at := slices.IndexFunc(r.mentions, func(o *mention) bool {
			return o.name && o.end <= first.start && joined(r.text[o.end:first.start])
		})
		if at < 0 {
			return group
		}
		group = append([]*mention{r.mentions[at]}, group...)
	}
}

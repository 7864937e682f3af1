package check

import (
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
)

// mention is where a text names rows.
type mention struct {
	start, end int // bytes of the flat text
	rows       []*state.Row
	symbol     bool
	sure       bool // hardly an ordinary word
	several    bool // the name is of several things
	until      int  // where words behind it end that say which of them is meant: Bitcoin implied volatility
}

// wordy reports whether a symbol is a word of English too, which is a name only beside a figure or with a $ before it.
func wordy(symbol string) bool {
	switch symbol {
	case "ONE", "GAS", "UP", "ID", "NEAR", "LINK", "SAND", "MASK", "OP", "USD", "IP", "AI", "SUN", "CORE", "M", "S", "A", "W", "H", "T",
		"PUMP", "KEY", "FLOW", "TRUMP", "DOG", "CAT", "WIN", "HOT", "JST", "ME", "SUPER", "PEOPLE", "THE", "IN", "ALL", "US", "EU",
		"CEO", "GDP", "ETF", "CPI", "FED", "BASED", "MOVE", "RED", "HOME", "TIME", "REAL", "SAFE", "STABLE", "NIGHT":
		return true
	}
	return len(symbol) < 2
}

// heads reports whether a symbol that is a word hardly heads an amount as that word, in capitals before a colon.
func heads(symbol string) bool {
	return slices.Contains([]string{"NEAR", "LINK", "SAND", "MASK", "PUMP", "FLOW", "TRUMP"}, symbol)
}

// find finds the names in the text, the longest at each place.
func (j *judge) find() (list []*mention) {
	t := j.flat.Text
	words := prose.Words(t)
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	titles := map[int]*mention{} // by where they begin
	for _, q := range prose.Quotations(t, 0) {
		if rows := j.Tables.Titled(t[q[0]:q[1]]); len(rows) > 0 && !j.title {
			titles[q[0]] = &mention{start: q[0], end: q[1], rows: rows, sure: true}
		}
	}
	for i := 0; i < len(words); {
		if m := titles[words[i].Start]; m != nil {
			list = append(list, m)
			for i < len(words) && words[i].Start < m.end {
				i++
			}
			continue
		}
		n, rows, symbol := j.called(texts[i:])
		if lone, most := j.lonely(texts[i:]); most >= n && lone != nil {
			n, rows, symbol = most, []*state.Row{lone}, false
		}
		if phrase := j.Tables.FieldPhrase(texts[i:]); phrase > max(n, 1) { // market cap
			i += phrase
			continue
		}
		hidden := within(j.masked, words[i].Start) || within(j.links, words[i].Start)
		if n == 0 || hidden || n == 1 && strings.Trim(texts[i], "0123456789") == "" {
			i++
			continue
		}
		m := &mention{start: words[i].Start, end: words[i+n-1].End, rows: rows, symbol: symbol}
		last := len(list) - 1
		if again := last >= 0 && list[last].rows[0] == m.rows[0]; again && goesOn(t[list[last].end:m.start], t[m.start:m.end]) {
			list[last].end = m.end // Fear & Greed index
		} else if j.counts(m, t, j.Tables.FieldPhrase(texts[i+n:]) > 1) {
			list = append(list, m)
			if of := j.kind(m, texts[i+n:]); of > 0 {
				m.until = words[i+n+of-1].End
			}
		}
		i += n
	}
	return list
}

// kind leaves m the rows of the kind whose phrase, of several words, words begin with, and is how many these are.
func (j *judge) kind(m *mention, words []string) (n int) {
	said := strings.Join(words[:min(4, len(words))], " ") + " "
	var rows []*state.Row
	for _, r := range m.rows {
		for _, phrase := range j.Tables.KindNamed(r.Kind).Words {
			long := strings.Count(phrase, " ") + 1
			if long < 2 || long < n || !strings.HasPrefix(said, phrase+" ") {
				continue
			}
			if long > n {
				n, rows = long, nil
			}
			rows = append(rows, r)
		}
	}
	if n > 0 {
		m.rows = rows
	}
	return n
}

// called is the longest name that words begin with. A title is none in a title: it tells of what it names.
func (j *judge) called(words []string) (n int, rows []*state.Row, symbol bool) {
	own := func(r *state.Row) bool { return j.Tables.KindNamed(r.Kind).Own }
	for n, rows, symbol = j.Tables.Named(words); j.title && n > 0 && slices.ContainsFunc(rows, own); {
		n, rows, symbol = j.Tables.Named(words[:n-1])
	}
	return n, rows, symbol
}

// lonely is the row that is the only one of its kind, where words ask for that.
func (j *judge) lonely(words []string) (row *state.Row, n int) {
	const most = 4
	for n = min(most, len(words)); n > 0; n-- {
		if row = j.lone[strings.Join(words[:n], " ")]; row != nil {
			return row, n
		}
	}
	return nil, 0
}

// goesOn reports whether a name that is called again goes on with how it is: Chainlink (LINK).
func goesOn(between, again string) bool {
	return strings.Trim(between, " ") == "" || between == " (" && wordy(again)
}

// counts completes m, and reports whether it may be a name at all. measured is set where words for a field follow.
func (j *judge) counts(m *mention, t string, measured bool) bool {
	written := t[m.start:m.end]
	cash := m.start > 0 && t[m.start-1] == '$'
	capital := written != strings.ToLower(written)
	switch {
	case !capital && wordy(strings.ToUpper(written)): // near $2
		return false
	case m.symbol && cash:
		m.sure = true
	case m.symbol && written != strings.ToUpper(written):
		if slices.ContainsFunc(m.rows, func(r *state.Row) bool { return r.Symbol == written }) { // cbBTC
			m.sure = capital && len(written) > 3
			break
		}
		other := slices.DeleteFunc(slices.Clone(m.rows), func(r *state.Row) bool {
			return strings.EqualFold(r.Symbol, written) && !strings.EqualFold(r.Name, written)
		})
		if len(other) == 0 {
			return false
		}
		m.rows, m.sure = other, capital
	case m.symbol:
		headed := heads(written) && strings.HasPrefix(t[m.end:], ": $") // LINK: $15
		m.sure = !wordy(written) || measured || headed                  // LINK open interest
		if !m.sure && !besideFigure(t, m.end) {
			return false
		}
	default:
		rare := capital || strings.Count(written, " ") > 1 || strings.ContainsAny(written, "0123456789")
		m.sure = rare && (len(written) > 3 || strings.EqualFold(written, m.rows[0].Name))
	}
	first := m.rows[0].Entity
	m.several = slices.ContainsFunc(m.rows, func(r *state.Row) bool { return r.Entity != first && !j.Tables.KindNamed(r.Kind).Own })
	named := m.rows
	m.rows = slices.Clone(named)
	for _, r := range named {
		for _, other := range j.Tables.Alike(r) {
			if slices.ContainsFunc(named, func(n *state.Row) bool { return n.Kind == other.Kind }) { // on another venue
				continue
			}
			more := len(written) > len(other.Name) && strings.EqualFold(written[:len(other.Name)+1], other.Name+" ") // Bitcoin fees
			if !slices.Contains(m.rows, other) && !more && !j.Tables.KindNamed(other.Kind).Own {
				m.rows = append(m.rows, other)
			}
		}
	}
	return true
}

// besideFigure reports whether a figure stands close behind position i.
func besideFigure(t string, i int) bool {
	behind := strings.TrimLeft(t[i:min(len(t), i+8)], " (:isat")
	return behind != "" && strings.ContainsAny(behind[:1], "0123456789$+-")
}

// masks are the parts of a text that are no prose: code, and lines that are quoted.
func masks(t string) (list [][2]int) {
	for _, fence := range []string{"```", "`"} {
		for from := 0; ; {
			open := strings.Index(t[from:], fence)
			if open < 0 {
				break
			}
			open += from
			end := strings.Index(t[open+len(fence):], fence)
			if end < 0 {
				break
			}
			end += open + 2*len(fence)
			list, from = append(list, [2]int{open, end}), end
		}
	}
	for at := 0; at < len(t); {
		line, _, _ := strings.Cut(t[at:], "\n")
		if strings.HasPrefix(strings.TrimLeft(line, " "), ">") {
			list = append(list, [2]int{at, at + len(line)})
		}
		at += len(line) + 1
	}
	return list
}

// addresses are where links stand in a text.
func addresses(t string) (list [][2]int) {
	for _, scheme := range []string{"https://", "http://", "www."} {
		for from := 0; ; {
			at := strings.Index(t[from:], scheme)
			if at < 0 {
				break
			}
			at += from
			end := at + strings.IndexAny(t[at:]+" ", " \n\t)>\"")
			list, from = append(list, [2]int{at, end}), end
		}
	}
	return list
}

func within(ranges [][2]int, i int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= i && i < r[1] })
}

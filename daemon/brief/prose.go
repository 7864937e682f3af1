package brief

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/prose"
)

// Bounds of a brief in words. A brief is longer than minWords unless everything that the state has to say is said.
const (
	minWords = 150
	maxWords = 350
)

// rank says how much a sentence matters. Sentences are taken by rank, in order of the text within a rank, each as long as the
// brief stays below the rank's own limit: so a rich state gives no endless brief, and a poor one uses what it has.
type rank int

const (
	vital  rank = iota // what the brief is for
	useful             // the ordinary content
	detail             // what a longer brief has
	spare              // only to reach the least length
)

// limit is how many words a brief may have with a sentence of rank r in it.
func (r rank) limit() int {
	switch r {
	case vital:
		return maxWords
	case useful:
		return 320
	case detail:
		return 300
	}
	return minWords + 50
}

// statement is a sentence that could be told.
type statement struct {
	rank  rank
	text  string
	fixed string // what is in it whatever the state says

	origins []ground.Origin // of its parts, by their place in text
}

// stating is the statement of a sentence with marks.
func stating(r rank, marked, fixed string) statement {
	text, origins := unmarked(marked)
	return statement{r, text, fixed, origins}
}

type paragraph []statement

// add adds a statement unless there is nothing to say.
func (p *paragraph) add(r rank, text string) {
	if text != "" {
		*p = append(*p, stating(r, text, ""))
	}
}

// compose chooses the statements that are told and joins them. One that Check cannot follow, as of a coin that is called 100%, is left out,
// unless what is wrong with it is fixed: that is for the author of the pack to see.
func compose(in Input, paragraphs []paragraph) Draft {
	for {
		draft := choose(paragraphs)
		refused := Check(draft.Text, in)
		left := 0
		for i, p := range paragraphs {
			paragraphs[i] = filter(slices.Clone(p), func(s statement) bool {
				told := prose.Fold(s.text)
				return !slices.ContainsFunc(refused, func(f Finding) bool {
					here := f.Sentence != "" && (strings.Contains(told, f.Sentence) || strings.Contains(f.Sentence, told))
					return here && (f.Excerpt == "" || !strings.Contains(s.fixed, f.Excerpt))
				})
			})
			left += len(p) - len(paragraphs[i])
		}
		if left == 0 {
			return draft
		}
	}
}

// choose chooses the statements that are told and joins them.
func choose(paragraphs []paragraph) (d Draft) {
	told := make([][]bool, len(paragraphs))
	words := 0
	for r := vital; r <= spare; r++ {
		for i, p := range paragraphs {
			if r == vital {
				told[i] = make([]bool, len(p))
			}
			for j, s := range p {
				if n := len(strings.Fields(s.text)); s.rank == r && words+n <= r.limit() {
					told[i][j] = true
					words += n
				}
			}
		}
	}
	for i, p := range paragraphs {
		between := "\n\n"
		for j, s := range p {
			if !told[i][j] {
				continue
			}
			if d.Text != "" {
				d.Text += between
			}
			between = " "
			at := utf8.RuneCountInString(d.Text)
			d.Text += s.text
			for _, o := range s.origins {
				o.Start, o.End = o.Start+at, o.End+at
				d.Origins = append(d.Origins, o)
			}
		}
	}
	return d
}

// cite writes the anchors of a statement, each once and in order, with the space before them.
func cite(refs ...int) string {
	slices.Sort(refs)
	var b strings.Builder
	for _, ref := range slices.Compact(refs) {
		b.WriteString("[" + strconv.Itoa(ref) + "]")
	}
	if b.Len() == 0 {
		return ""
	}
	return " " + b.String()
}

// and joins items: a, b and c.
func and(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// clauses joins whole clauses: a, b, and c.
func clauses(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + ", and " + items[last]
}

// sentenceCase starts s with a capital, for sentences that begin with a word of ours. It may be marked.
func sentenceCase(s string) string {
	mark, rest, marked := strings.Cut(s, originText)
	if !marked || !strings.HasPrefix(s, originOpen) {
		mark, rest = "", s
	} else {
		mark += originText
	}
	r, n := utf8.DecodeRuneInString(rest)
	return mark + strings.ToUpper(string(r)) + rest[n:]
}

// openEnded is a sentence without the signs that end it. It may be marked.
func openEnded(s string) string {
	text, marked := strings.CutSuffix(strings.TrimRight(s, ".!"), originClose)
	if !marked {
		return text
	}
	return strings.TrimRight(text, ".!") + originClose
}

func inWords(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
		"fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"}
	if n < 0 || n >= len(words) {
		return "more than twenty"
	}
	return words[n]
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// flat reports whether a change is too small to be shown.
func flat(change float64) bool { return math.Abs(change) < 0.05 }

// moved writes a change: up 3.8%, down 3.8%, unchanged.
func moved(change float64) string {
	switch {
	case flat(change):
		return "unchanged"
	case change > 9999.5:
		return "up more than a hundredfold"
	case change > 0:
		return "up " + human.PercentInWords(change)
	}
	return "down " + human.PercentInWords(change)
}

// signed writes a change with its sign: +3.8%, −3.8%, 0.0%.
func signed(change float64) string {
	text := human.PercentInWords(change)
	switch {
	case flat(change):
		return text
	case change > 0:
		return "+" + text
	}
	return "\u2212" + text
}

// then adds a change, which a member of p has, to what it is said of, behind a comma; an unknown one adds nothing.
func (p placed) then(member string, change *float64, rest string) string {
	if change == nil {
		return ""
	}
	return ", " + p.says(member, moved(*change)) + rest
}

// aside adds a change, which a member of p has, in parentheses; one that is unknown or too small adds nothing.
func (p placed) aside(member string, change *float64) string {
	if change == nil || flat(*change) {
		return ""
	}
	return " (" + p.says(member, moved(*change)) + ")"
}

package ground

import (
	"regexp"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/prose"
)

var (
	// bounding is a threshold whose figure follows, with a name blotted out between them or not.
	bounding = regexp.MustCompile(`(?i)\b(?:threshold|limit)s?` +
		`(?: (?:of|for|on|at|is|was|stands|set|lies|being|the|index)| _+|[_&’'s:=,])*\W*$`)
	pointed = regexp.MustCompile(`(?i)(?:percentage points?|pp)$`)
	scale   = regexp.MustCompile(`(?i)\bfear *(?:&|and|-|/|or|vs) *greed\b`)
)

// differs reports whether n is a difference of two percentages, which percentage points are said of.
func (n *number) differs() bool {
	return n.points || slices.ContainsFunc(n.words, func(w string) bool {
		return w == "spread" || w == "divergence" || w == "premium" || w == "peg" || n.change && level(w)
	})
}

// mislabels reports whether the sentence calls its figure what the label of x, or the message of a flag, is not.
func (r *reading) mislabels(x *row) bool {
	at := slices.IndexFunc(x.texts, func(t text) bool { return keyOf(t.path) == "label" || x.judges && keyOf(t.path) == "message" })
	if at < 0 {
		return false
	}
	own := prose.Words(scale.ReplaceAllString(x.texts[at].text, ""))
	if !slices.ContainsFunc(own, func(w prose.Word) bool { return mood(w.Text) != "" }) {
		return false
	}
	has := func(word string) bool {
		return slices.ContainsFunc(own, func(w prose.Word) bool { return w.Text == word })
	}
	said := prose.Words(scale.ReplaceAllString(r.text, ""))
	called, right := false, false
	for i, w := range said {
		label := mood(w.Text)
		if label == "" || i > 0 && denies(prose.Stem(said[i-1].Text)) {
			continue
		}
		called = true
		right = right || has(label) && (i == 0 || said[i-1].Text != "extreme" || has("extreme"))
	}
	return called && !right
}

// mood is the label that a word says; "" for none.
func mood(w string) string {
	switch w {
	case "fear", "fearful":
		return "fear"
	case "greed", "greedy":
		return "greed"
	case "neutral":
		return "neutral"
	}
	return ""
}

// beaten reports whether the sentence tells f, which n of x backs, as the first in an order, while a row beside x comes before it.
// Where the sentence names a row, largest may be said of its size, and only words that are of a figure count.
func (c *checker) beaten(r *reading, f *assertion, x *row, n *number) bool {
	at := strings.LastIndexByte(x.path, '[')
	if at < 0 || !strings.HasPrefix(n.path, x.path+".") {
		return false
	}
	way := r.superlative(f, n)
	if way == 0 {
		return false
	}
	grouped := r.groups(x)
	key := n.path[len(x.path):]
	for _, o := range c.index.rows {
		if !strings.HasPrefix(o.path, x.path[:at+1]) || strings.Contains(o.path[at:], ".") || grouped && !slices.Equal(o.lists, x.lists) {
			continue
		}
		for _, m := range o.numbers {
			if m.path == o.path+key && (m.value-n.value)*float64(way) > 0 && !equals(f.Figure, m, o) {
				return true
			}
		}
	}
	return false
}

// groups reports whether the sentence has a word for the group that x is in, and that others in its list are not.
func (r *reading) groups(x *row) bool {
	if len(x.lists) == 0 {
		return false
	}
	_, found := slices.BinarySearch(r.hinting, x.lists[len(x.lists)-1])
	return found
}

// superlative is 1 where f is told as the highest of all, -1 as the lowest and 0 as neither.
func (r *reading) superlative(f *assertion, n *number) int {
	from := 0
	for i := range r.figures {
		if end := r.figures[i].End; end <= f.Start {
			from = max(from, end)
		}
	}
	named := slices.ContainsFunc(f.subjects, func(m *mention) bool { return m.name })
	var words []string
	for _, w := range r.words {
		if w.Start >= from && w.End <= f.Start || from == 0 && w.Start >= f.End && len(r.figures) == 1 {
			words = append(words, w.Text)
		}
	}
	for i, w := range words {
		way := extremeOf(w)
		if way == 0 || i > 0 && slices.Contains([]string{"second", "third", "fourth", "fifth", "next", "among"}, words[i-1]) ||
			i > 1 && words[i-2] == "of" && words[i-1] == "the" || // one of the largest
			i+1 < len(words) && words[i+1] == "other" {
			continue
		}
		if n.change && (f.direction < 0 || n.value < 0) && way > 0 {
			return -1
		}
		if named && (n.change && !slices.ContainsFunc(words[i+1:min(len(words), i+3)], going) || !n.change && sized(w)) {
			continue
		}
		if slices.Contains(n.words, "depth") != (w == "deepest" || w == "shallowest") && (w == "deepest" || w == "shallowest" ||
			slices.Contains(n.words, "depth")) {
			continue
		}
		return way
	}
	return 0
}

// going reports whether a word is for how far something went, or for what went.
func going(w string) bool {
	switch w = prose.Stem(w); w {
	case "performer", "performing", "performance", "mover", "move", "change", "swing", "jump":
		return true
	}
	return prose.Heading(w, "") != 0
}

// sized reports whether a word may be said of the size of what is named, whatever its figure is of.
func sized(w string) bool {
	return w == "largest" || w == "biggest" || w == "greatest" || w == "best" || w == "worst"
}

// extremeOf is which end of an order a word is of; 0 for none.
func extremeOf(w string) int {
	switch w {
	case "strongest", "highest", "largest", "biggest", "greatest", "best", "deepest", "steepest", "sharpest":
		return 1
	case "weakest", "lowest", "smallest", "least", "cheapest", "worst", "shallowest":
		return -1
	}
	return 0
}

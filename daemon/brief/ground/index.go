package ground

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/sdk/api"
)

// unit is what a number counts, as its member's name or a unit member beside it says.
type unit int

const (
	unitPlain unit = iota // not said
	unitUSD
	unitPercent
	unitBasis // only in texts: hundredths of a percent
	unitOther // only in texts: another currency
)

// number is a numeric leaf of a state.
type number struct {
	value float64
	unit  unit
	share bool // a part of one, so that 0.288 may be written 28.8%
}

// row is an object of the state that names its source by ref, with everything in it that has no nearer row.
type row struct {
	refs    []int
	numbers []number
	figures map[string]bool // the figures that its texts contain, as written there
	times   []time.Time
	typed   map[unit]bool // the units that its members declare
	named   bool          // a name tells it from the rows beside it
}

// under reports whether one of the anchors points to r.
func (r *row) under(anchors []int) bool {
	return slices.ContainsFunc(r.refs, func(ref int) bool { return slices.Contains(anchors, ref) })
}

// phrase is a text of the state as a brief may contain it.
type phrase struct {
	text   string
	row    *row
	name   bool // it names its row
	source bool // it names a source
}

// count is how many elements a member has, or how many of them share a group.
type count struct {
	n    int
	rows []*row
}

// index is what a state says, ready to look up. It knows no pack: a value belongs to the nearest object around it that has a
// numeric ref, and to the refs that the object lists in sources.
type index struct {
	rows    []*row
	phrases []phrase
	counts  []count
}

func readIndex(state []byte, citations []api.Citation) (*index, error) {
	d := json.NewDecoder(bytes.NewReader(state))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	x := &index{}
	x.walk(tree, "", &row{typed: map[unit]bool{}, figures: map[string]bool{}}, unitPlain)
	for i, c := range citations {
		r := x.open([]int{i + 1})
		r.named = true
		r.times = append(r.times, c.FetchedAt)
		x.text("sourceId", c.SourceID, r)
	}
	return x, nil
}

func (x *index) open(refs []int) *row {
	r := &row{refs: refs, typed: map[unit]bool{}, figures: map[string]bool{}}
	x.rows = append(x.rows, r)
	return r
}

// walk indexes v, the value of member key, as part of r. declared is the unit that a member beside it declares.
func (x *index) walk(v any, key string, r *row, declared unit) {
	switch v := v.(type) {
	case map[string]any:
		if refs := refsOf(v); refs != nil {
			r = x.open(refs)
		}
		declared = unitOf(fmt.Sprint(v["unit"]))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k != "ref" && k != "sources" {
				x.walk(v[k], k, r, declared)
			}
		}
	case []any:
		x.count(v, r)
		for _, element := range v {
			x.walk(element, key, r, declared)
		}
	case string:
		x.text(key, v, r)
	case json.Number:
		x.number(key, v, r, declared)
	}
}

// refsOf lists the anchors of an object; nil if it names no source.
func refsOf(object map[string]any) []int {
	ref, ok := object["ref"].(json.Number)
	if !ok {
		return nil
	}
	var refs []int
	list, _ := object["sources"].([]any)
	for _, v := range append([]any{ref}, list...) {
		if n, ok := v.(json.Number); ok {
			if i, err := n.Int64(); err == nil && !slices.Contains(refs, int(i)) {
				refs = append(refs, int(i))
			}
		}
	}
	return refs
}

// count notes the length of a list, and of every group of objects in it that have the same text in the same member.
func (x *index) count(list []any, r *row) {
	groups := map[string]*count{}
	all := count{n: len(list)}
	for _, v := range list {
		object, ok := v.(map[string]any)
		if !ok {
			continue
		}
		member := &row{refs: refsOf(object)}
		all.rows = append(all.rows, member)
		for k, v := range object {
			s, ok := v.(string)
			if !ok {
				continue
			}
			g := groups[k+"\x00"+s]
			if g == nil {
				g = &count{}
				groups[k+"\x00"+s] = g
			}
			g.n++
			g.rows = append(g.rows, member)
		}
	}
	if all.rows == nil {
		all.rows = []*row{r}
	}
	x.counts = append(x.counts, all)
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		if g := groups[k]; g.n > 1 {
			x.counts = append(x.counts, *g)
		}
	}
}

func (x *index) text(key, s string, r *row) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		r.times = append(r.times, t)
		return
	}
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		return
	}
	name := slices.Contains([]string{"name", "symbol", "pair", "title", "question", "subject", "id", "sourceId"}, key)
	r.named = r.named || name
	variants := []string{parenthesize(fold.Replace(s)), fold.Replace(Inline(s))}
	for _, v := range slices.Compact(variants) {
		if strings.ContainsFunc(v, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }) {
			x.phrases = append(x.phrases, phrase{v, r, name, key == "sourceId"})
		}
		for _, f := range scanFigures(v) {
			r.figures[f.raw] = true
		}
	}
}

// number indexes a numeric leaf. A number too large for a float is unknown.
func (x *index) number(key string, n json.Number, r *row, declared unit) {
	v, err := n.Float64()
	if err != nil {
		return
	}
	u := unitOf(key)
	if u == unitPlain && (key == "value" || key == "threshold") {
		u = declared
	}
	if u != unitPlain {
		r.typed[u] = true
	}
	share := v >= 0 && v <= 1 && u == unitPlain
	r.numbers = append(r.numbers, number{v, u, share && !strings.Contains(strings.ToLower(key), "score")})
}

// unitOf reads a unit from the end of a member's name or from a unit member.
func unitOf(name string) unit {
	name = strings.ToLower(name)
	switch {
	case strings.HasSuffix(name, "usd"):
		return unitUSD
	case strings.HasSuffix(name, "pct"), strings.HasSuffix(name, "percent"):
		return unitPercent
	}
	return unitPlain
}

// span is where a text contains a phrase.
type span struct {
	start, end int
	phrase     phrase
	sure       bool // hardly an ordinary word that looks like a short name
}

// spans finds every phrase in t as whole words.
func (x *index) spans(t string) []span {
	t = hideBrackets(t)
	lower := strings.ToLower(t)
	var list []span
	for _, p := range x.phrases {
		in, text := t, p.text
		if folded := strings.ToLower(text); p.name && len(folded) == len(text) && len(lower) == len(t) {
			in, text = lower, folded // a name may start a sentence, or be shouted
		}
		for from := 0; from < len(t); {
			at := strings.Index(in[from:], text)
			if at < 0 {
				break
			}
			start := from + at
			end := start + len(p.text)
			if wordEdge(t, start) && wordEdge(t, end) {
				sure := end-start > 1 && t[start:end] != strings.ToLower(t[start:end]) && (end-start > 3 || t[start:end] == p.text)
				list = append(list, span{start, end, p, sure})
			}
			from = end
		}
	}
	return list
}

// wordEdge reports whether no word runs over position i of t.
func wordEdge(t string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(t[:i])
	after, _ := utf8.DecodeRuneInString(t[i:])
	word := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r)) }
	return !word(before) || !word(after)
}

// elsewhere lists the anchors, at most three, whose rows hold what match accepts.
func (x *index) elsewhere(citations []api.Citation, match func(*row) bool) []int {
	var refs []int
	for _, r := range x.rows {
		for _, ref := range r.refs {
			if ref >= 1 && ref <= len(citations) && !slices.Contains(refs, ref) && match(r) {
				refs = append(refs, ref)
			}
		}
	}
	slices.Sort(refs)
	return refs[:min(len(refs), 3)]
}

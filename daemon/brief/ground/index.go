package ground

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// number is a numeric leaf of a state.
type number struct {
	path  string
	value float64
	unit  prose.Unit
	share bool // a part of one, so that 0.288 may be written 28.8%
}

// row is an object of the state that names its source by ref, with everything in it that has no nearer row.
type row struct {
	path    string // of the object, "" for the state itself and for citations
	refs    []int
	numbers []number
	figures map[string]string // paths of the texts that contain a figure, by the figure as it is written there
	times   []moment
	typed   map[prose.Unit]bool // the units that its members declare
	named   bool                // a name tells it from the rows beside it
	judges  bool                // it holds a figure of another row against a threshold
}

type moment struct {
	time.Time
	path string
}

// under reports whether one of the anchors points to r.
func (r *row) under(anchors []int) bool {
	return slices.ContainsFunc(r.refs, func(ref int) bool { return slices.Contains(anchors, ref) })
}

// phrase is a text of the state as a brief may contain it.
type phrase struct {
	path   string
	row    *row
	source bool // it names a source
}

// count is how many elements a member has, or how many of them share a group.
type count struct {
	path string // of the list
	n    int
	rows []*row
}

// index is what a state says, ready to look up. It knows no pack: a value belongs to the nearest object around it that has a
// numeric ref, and to the refs that the object lists in sources.
type index struct {
	rows    []*row
	texts   []prose.Phrase
	phrases []phrase // of texts, in the same order
	counts  []count
}

func readIndex(doc *state.Document, citations []api.Citation) (*index, error) {
	if err := doc.Err(); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	x := &index{}
	x.walk(doc.Root(), place{}, &row{typed: map[prose.Unit]bool{}, figures: map[string]string{}}, prose.Plain)
	for i, c := range citations {
		r := x.open("", []int{i + 1})
		r.named = true
		r.times = append(r.times, moment{Time: c.FetchedAt})
		x.text(place{key: "sourceId"}, c.SourceID, r)
	}
	return x, nil
}

// place is where a value stands in a state: its path and the name of the member that it is, or is an element of.
type place struct{ path, key string }

func (p place) member(name string) place {
	if p.path == "" {
		return place{name, name}
	}
	return place{p.path + "." + name, name}
}

func (p place) element(i int) place { return place{fmt.Sprintf("%s[%d]", p.path, i), p.key} }

func (x *index) open(path string, refs []int) *row {
	r := &row{path: path, refs: refs, typed: map[prose.Unit]bool{}, figures: map[string]string{}}
	x.rows = append(x.rows, r)
	return r
}

// walk indexes v, the value at p, as part of r. declared is the unit that a member beside it declares.
func (x *index) walk(v *jsonx.Value, p place, r *row, declared prose.Unit) {
	switch {
	case v.IsObject():
		if refs := refsOf(v); refs != nil {
			r = x.open(p.path, refs)
		}
		declared = prose.Plain
		if u := v.Member("unit"); u != nil {
			declared = unitOf(u.Text())
		}
		byName := slices.SortedStableFunc(slices.Values(v.Members), func(a, b *jsonx.Value) int { return strings.Compare(a.Name, b.Name) })
		for _, m := range byName {
			if m.Name != "ref" && m.Name != "sources" {
				x.walk(m, p.member(m.Name), r, declared)
			}
		}
	case v.IsArray():
		x.count(v.Members, p.path, r)
		for i, element := range v.Members {
			x.walk(element, p.element(i), r, declared)
		}
	case v.IsString():
		x.text(p, v.Text(), r)
	default:
		x.number(p, v, r, declared)
	}
}

// refsOf lists the anchors of an object; nil if it names no source.
func refsOf(object *jsonx.Value) []int {
	ref := object.Member("ref")
	if ref == nil {
		return nil
	}
	if _, err := strconv.ParseFloat(string(ref.Raw), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil // no number
	}
	named := []*jsonx.Value{ref}
	if list := object.Member("sources"); list != nil && list.IsArray() {
		named = append(named, list.Members...)
	}
	var refs []int
	for _, v := range named {
		if i, err := strconv.ParseInt(string(v.Raw), 10, 64); err == nil && !slices.Contains(refs, int(i)) {
			refs = append(refs, int(i))
		}
	}
	return refs
}

// count notes the length of a list at path, and of every group of objects in it that have the same text in the same member.
func (x *index) count(list []*jsonx.Value, path string, r *row) {
	groups := map[string]*count{}
	all := count{path: path, n: len(list)}
	for i, v := range list {
		if !v.IsObject() {
			continue
		}
		member := &row{path: fmt.Sprintf("%s[%d]", path, i), refs: refsOf(v)}
		all.rows = append(all.rows, member)
		for _, m := range v.Members {
			if !m.IsString() {
				continue
			}
			group := m.Name + "\x00" + m.Text()
			g := groups[group]
			if g == nil {
				g = &count{path: path}
				groups[group] = g
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

func (x *index) text(p place, s string, r *row) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		r.times = append(r.times, moment{t, p.path})
		return
	}
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		return
	}
	name := slices.Contains([]string{"name", "symbol", "pair", "title", "question", "subject", "id", "sourceId"}, p.key)
	r.named = r.named || name
	variants := []string{prose.Parenthesize(prose.Fold(s)), prose.Fold(prose.Inline(s))}
	for _, v := range slices.Compact(variants) {
		if prose.Says(v) {
			x.texts = append(x.texts, prose.Phrase{Text: v, Name: name})
			x.phrases = append(x.phrases, phrase{p.path, r, p.key == "sourceId"})
		}
		for _, f := range prose.Figures(v) {
			r.figures[f.Raw] = p.path
		}
	}
}

// number indexes a leaf that is a number. A number too large for a float is unknown.
func (x *index) number(p place, leaf *jsonx.Value, r *row, declared prose.Unit) {
	v, err := strconv.ParseFloat(string(leaf.Raw), 64)
	if err != nil {
		return // or null, true or false
	}
	u := unitOf(p.key)
	if u == prose.Basis {
		v, u = v/100, prose.Percent
	}
	r.judges = r.judges || p.key == "threshold"
	if u == prose.Plain && (p.key == "value" || p.key == "threshold") {
		u = declared
	}
	if u != prose.Plain {
		r.typed[u] = true
	}
	share := v >= 0 && v <= 1 && u == prose.Plain
	r.numbers = append(r.numbers, number{p.path, v, u, share && !strings.Contains(strings.ToLower(p.key), "score")})
}

// unitOf reads a unit from the end of a member's name or from a unit member.
func unitOf(name string) prose.Unit {
	lower := strings.ToLower(name)
	switch {
	case strings.HasSuffix(lower, "usd"):
		return prose.USD
	case strings.HasSuffix(lower, "pct"), strings.HasSuffix(lower, "percent"):
		return prose.Percent
	case strings.HasSuffix(name, "Bp"):
		return prose.Basis
	}
	return prose.Plain
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

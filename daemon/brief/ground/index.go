package ground

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// number is a numeric leaf of a state.
type number struct {
	field
	path  string
	value float64
	share bool // a part of one, so that 0.288 may be written 28.8%
}

// row is an object of the state that names its source by ref, with everything in it that has no nearer row.
type row struct {
	path    string // of the object, "" for the state itself and for citations
	refs    []int
	within  *row // the one around it
	numbers []number
	texts   []text
	times   []moment
	typed   map[prose.Unit]bool // the units that its members declare
	titles  []string            // names that tell it from the rows beside it
	symbol  string              // in lower case
	handles []string            // words for it where it has no name: those of its member
	lists   []string            // words for it and the rows beside it
	judges  bool                // it holds a figure of another row against a threshold
	flag    field               // what such a figure is
	quotes  bool                // its message quotes a name that reads as an instruction
	source  bool                // it is a citation
}

// named reports whether a name tells r from the rows beside it.
func (r *row) named() bool { return len(r.titles) > 0 }

// text is one of a row, as a brief may contain it.
type text struct {
	path, text string
	long       bool // a title or a message, and no name
}

type moment struct {
	time.Time
	path string
	long bool // it is a month or longer, of which Time is the beginning
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
	long   bool // a title or a message, and no name
	order  bool // it quotes a name that reads as an instruction
}

// list is an array of the state, and the row that it is part of.
type list struct {
	path string
	rows []*jsonx.Value
	row  *row
}

// count is how many elements a member has, or how many of them share a group.
type count struct {
	path string   // of the list
	of   []string // words for what is counted
	n    int
	rows []*row
}

// counts reports whether a word, without its ending, is one for what n counts.
func (n *count) counts(stem string) bool {
	switch stem {
	case "row", "item", "entry", "element":
		return true
	}
	return slices.Contains(n.of, stem)
}

// index is what a state says, ready to look up. It knows no pack: a value belongs to the nearest object around it that has a
// numeric ref, and to the refs that the object lists in sources.
type index struct {
	rows    []*row
	texts   []prose.Phrase
	phrases []phrase // of texts, in the same order
	lists   []list
	counts  []count                // of the lists, once one is asked for
	fields  map[string]field       // by the name of the member
	symbols map[string]bool        // of rows, in lower case
	spans   map[time.Duration]bool // that members have
}

func readIndex(doc *state.Document, citations []api.Citation) (*index, error) {
	if err := doc.Err(); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	x := &index{symbols: map[string]bool{}, spans: map[time.Duration]bool{}, fields: map[string]field{}}
	x.walk(doc.Root(), place{}, &row{typed: map[prose.Unit]bool{}}, prose.Plain)
	for i, c := range citations {
		r := x.open("", []int{i + 1}, nil)
		r.source = true
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

func (x *index) open(path string, refs []int, within *row) *row {
	r := &row{path: path, refs: refs, within: within, typed: map[prose.Unit]bool{}}
	x.rows = append(x.rows, r)
	return r
}

// walk indexes v, the value at p, as part of r. declared is the unit that a member beside it declares.
func (x *index) walk(v *jsonx.Value, p place, r *row, declared prose.Unit) {
	switch {
	case v.IsObject():
		if refs := refsOf(v); refs != nil {
			r = x.open(p.path, refs, r)
			r.called(p, v)
		}
		declared = prose.Plain
		if u := v.Member("unit"); u != nil {
			declared = readField(u.Text()).unit
		}
		for _, m := range v.Members {
			if m.Name != "ref" && m.Name != "sources" {
				x.walk(m, p.member(m.Name), r, declared)
			}
		}
	case v.IsArray():
		x.lists = append(x.lists, list{p.path, v.Members, r})
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

// counts are the length of l, and of every group of objects in it that have the same text in the same member.
func (l list) counts() []count {
	groups := map[string]*count{}
	path := l.path
	all := count{path: path, n: len(l.rows), of: stems(path)}
	for i, v := range l.rows {
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
				g = &count{path: path, of: append(stems(path), stems(m.Text())...)}
				groups[group] = g
			}
			g.n++
			g.rows = append(g.rows, member)
		}
	}
	if all.rows == nil {
		all.rows = []*row{l.row}
	}
	counts := []count{all}
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		if g := groups[k]; g.n > 1 {
			counts = append(counts, *g)
		}
	}
	return counts
}

// stems are the words of a path or of the value of a group, without their endings.
func stems(name string) []string {
	list := split(name[strings.LastIndexByte(name, '.')+1:])
	for i, w := range list {
		list[i] = prose.Stem(w)
	}
	return list
}

func (x *index) text(p place, s string, r *row) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		r.times = append(r.times, moment{Time: t, path: p.path})
		return
	}
	if p.key == "of" {
		if a, ok := human.ParseAbout(s); ok {
			r.times = append(r.times, moment{a.Begin, p.path, a.Long()})
			return
		}
	}
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		return
	}
	long := p.key == "title" || p.key == "question" || p.key == "message"
	name := long && p.key != "message" || slices.Contains([]string{"name", "symbol", "pair", "subject", "id", "sourceId"}, p.key)
	if name && p.key != "sourceId" {
		r.titles = append(r.titles, s)
	}
	if p.key == "symbol" {
		r.symbol = strings.ToLower(s)
		x.symbols[r.symbol] = true
	}
	inline := prose.Fold(prose.Inline(s))
	variants := []string{prose.Parenthesize(prose.Fold(s)), inline}
	if at := strings.LastIndex(inline, " ("); name && at > 0 && strings.HasSuffix(inline, ")") {
		variants = append(variants, inline[:at]) // without what it says aside
	}
	for _, v := range slices.Compact(variants) {
		if prose.Says(v) {
			x.texts = append(x.texts, prose.Phrase{Text: v, Name: name})
			x.phrases = append(x.phrases, phrase{p.path, r, p.key == "sourceId", long, r.quotes && p.key == "message"})
		}
	}
	if p.key != "id" {
		r.texts = append(r.texts, text{p.path, inline, long})
	}
}

// called notes what r, the object v at p, is called beside its names.
func (r *row) called(p place, v *jsonx.Value) {
	words := split(p.key)
	for i, w := range words {
		words[i] = prose.Stem(w)
	}
	if !strings.HasSuffix(p.path, "]") {
		r.handles, r.lists = words, stems(p.path[:max(0, strings.LastIndexByte(p.path, '.'))])
		return
	}
	r.lists = words
	if v.Member("threshold") != nil {
		r.judges, r.flag = true, readFlag(v)
	}
	kind := v.Member("kind")
	r.quotes = kind != nil && kind.Text() == api.FlagSuspiciousName
	if g := v.Member("group"); g != nil && g.IsString() {
		r.lists = append(r.lists, prose.Stem(strings.ToLower(g.Text())))
	}
}

// number indexes a leaf that is a number. A number too large for a float is unknown.
func (x *index) number(p place, leaf *jsonx.Value, r *row, declared prose.Unit) {
	v, err := strconv.ParseFloat(string(leaf.Raw), 64)
	if err != nil {
		return // or null, true or false
	}
	f, known := x.fields[p.key]
	if !known {
		f = readField(p.key)
		x.fields[p.key] = f
	}
	if f.unit == prose.Basis {
		v, f.unit = v/100, prose.Percent
	}
	x.spans[f.over] = true
	if f.unit == prose.Plain && (p.key == "value" || p.key == "threshold") {
		f.unit = declared
	}
	if r.judges && p.key == "value" {
		f.words, f.over, f.change = r.flag.words, r.flag.over, r.flag.change
	}
	if f.unit != prose.Plain {
		r.typed[f.unit] = true
	}
	share := v >= 0 && v <= 1 && f.unit == prose.Plain && !slices.Contains(f.words, "score")
	r.numbers = append(r.numbers, number{f, p.path, v, share})
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

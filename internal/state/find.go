package state

import (
	"slices"
	"strings"
	"unicode"

	"github.com/contextd/contextd/internal/jsonx"
)

// Find are the rows of the state that match most words of q, those that match best first and at most k;
// total is how many there are. Unlike Search it takes each word alone, and the name of any member above or in a row. A row is the
// innermost object around a value that has a name, and where none has one the innermost.
func (d *Document) Find(q string, k int) (rows []*jsonx.Value, total int) {
	root := d.Root()
	f := finder{words: wordsOf(q), at: map[*jsonx.Value]int{}}
	f.walk(root, root, nil)
	best := 0
	for _, r := range f.rows {
		best = max(best, r.matched())
	}
	if best == 0 {
		return nil, 0
	}
	list := slices.DeleteFunc(f.rows, func(r found) bool { return r.matched() < best })
	slices.SortStableFunc(list, func(a, b found) int { return b.score() - a.score() })
	for _, r := range list[:min(len(list), max(k, 0))] {
		rows = append(rows, r.row)
	}
	return rows, len(list)
}

// found is how well each word matches in a row.
type found struct {
	row  *jsonx.Value
	best []match
}

// named is how well a word matches the name of a member. It is less than a word of a value, and more than a part of one.
const named = substring

func (f found) matched() (n int) {
	for _, m := range f.best {
		if m != none {
			n++
		}
	}
	return n
}

// score ranks rows that match as many words.
func (f found) score() (n int) {
	for _, m := range f.best {
		n += int(m)
	}
	return n
}

type finder struct {
	words []string
	rows  []found
	at    map[*jsonx.Value]int // places in rows
}

// walk looks in v, which is in row. names are the words of the names above it.
func (f *finder) walk(v, row *jsonx.Value, names []string) {
	if v.Name != "" {
		names = append(slices.Clip(names), nameWords(v.Name)...)
	}
	if v.IsObject() && (isNamed(v) || !isNamed(row)) {
		row = v
	}
	for _, m := range v.Members {
		f.walk(m, row, names)
	}
	if v.IsLeaf() && string(v.Raw) != "null" {
		f.note(row, wordsOf(v.Text()), names)
	}
}

func (f *finder) note(row *jsonx.Value, value, names []string) {
	for i, w := range f.words {
		m := none
		switch {
		case slices.Contains(value, w):
			m = word
		case slices.Contains(names, w):
			m = named
		default:
			continue
		}
		n, known := f.at[row]
		if !known {
			n = len(f.rows)
			f.at[row] = n
			f.rows = append(f.rows, found{row, make([]match, len(f.words))})
		}
		f.rows[n].best[i] = max(f.rows[n].best[i], m)
	}
}

// isNamed reports whether an object says what it is.
func isNamed(v *jsonx.Value) bool {
	for _, name := range RowNames() {
		if v.Member(name) != nil {
			return true
		}
	}
	return false
}

// RowNames are the members by which a row of a state is called, the best first.
func RowNames() []string {
	return []string{"message", "title", "question", "pair", "name", "symbol", "id"}
}

// nameWords are the words of a member's name, folded, and the name itself: fear, greed and feargreed of fearGreed.
func nameWords(name string) []string {
	var spaced strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
	}
	return append(wordsOf(spaced.String()), fold(name))
}

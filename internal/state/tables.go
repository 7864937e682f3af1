package state

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// Kind is what rows of one kind have in common.
type Kind struct {
	Name   string   `json:"name"`
	Words  []string `json:"words,omitempty"`  // that ask for rows of this kind: news, headlines
	Fields []Field  `json:"fields,omitempty"` // in the order of importance; the first is shown where a question names none
	Orders []Order  `json:"orders,omitempty"` // other than by size
	Size   string   `json:"size,omitempty"`   // the field by which the larger of two rows comes first; "" means none
	Group  string   `json:"group,omitempty"`  // the field that says with which others a row belongs: a category, a network; "" means none
	Totals []string `json:"totals,omitempty"` // kinds whose one row has figures of all rows of this one
	Whole  []string `json:"whole,omitempty"`  // words of Words that mean all of its rows together: defi
	Sole   bool     `json:"sole,omitempty"`   // there is one row, which is meant where its figures are asked for of nothing
	Lacks  []string `json:"lacks,omitempty"`  // kinds whose things its figures leave out
	Own    bool     `json:"own,omitempty"`    // a headline: it answers only where its kind is asked for or nothing else fits
}

// Order is how rows stand where one of the words asks for them.
type Order struct {
	Words []string `json:"words,omitempty"` // such as gainers
	Field string   `json:"field"`           // a number
	Least bool     `json:"least,omitempty"` // the least comes first
	Both  bool     `json:"both,omitempty"`  // what moved most either way is asked for
}

// Field is one that rows of a kind may have.
type Field struct {
	Name   string   `json:"name"`             // with its unit, as priceUsd
	Words  []string `json:"words,omitempty"`  // that ask for it, words or phrases: price, cost, market cap
	Filter bool     `json:"filter,omitempty"` // a text of it leaves out other rows: a venue, a publisher
	Main   bool     `json:"main,omitempty"`   // figures of a row are not of it alone: the largest of its chains
	Counts bool     `json:"counts,omitempty"` // it is how many rows of another kind there are of some sort
}

// Row is one row of a pack's tables.
type Row struct {
	Kind      string     `json:"kind"`
	Key       string     `json:"key"`              // Key is unique among the rows of Kind
	Entity    string     `json:"entity,omitempty"` // of the thing that it speaks of; rows of other kinds about the same thing have it too
	Name      string     `json:"name"`
	Symbol    string     `json:"symbol,omitempty"`
	Aliases   []string   `json:"aliases,omitempty"` // other names, such as the address of a pool
	Fields    api.Fields `json:"fields,omitempty"`
	Ref       int        `json:"ref,omitempty"`
	URL       string     `json:"url,omitempty"`
	Of        string     `json:"of,omitempty"` // see Of
	FetchedAt time.Time  `json:"fetchedAt,omitzero"`
	Stale     bool       `json:"stale,omitempty"` // the last attempt of its source failed
	Echo      bool       `json:"echo,omitempty"`  // it moves with another thing, as a wrapped coin does: it stands in no Order
	Size      float64    `json:"size,omitempty"`  // of the thing; the larger wins among equals
}

// Tables are the rows of a pack at one moment, with an index of their names. They never change.
type Tables struct {
	kinds []Kind
	rows  []Row
	all   []int // places of all rows

	kindOf   []int            // places in kinds, by row
	place    map[string]int   // in kinds, by name
	asks     map[string]int   // kinds, by the folded words that ask for them
	begins   map[string]bool  // the first of the words that ask for a kind
	orders   map[string]Order // by the words that ask for them
	fields   map[string]bool  // words that ask for a field of any kind
	names    map[string][]hit // by the folded name, the best first
	titles   map[string][]hit // of rows of kinds of their own, such as headlines, by folded names
	longest  map[string]int   // how many words a name or title has at most that begins with a word
	order    []string         // the folded names, sorted
	words    map[string][]int // rows, by each folded word of their names
	entities map[string][]int // rows, by the thing that they speak of
	known    []known          // names that a question may have meant

	vocabulary map[string]role         // what words mean in every pack
	languages  map[string]string       // words of other languages, in English
	values     map[string][]value      // texts of rows, by their words
	anyOrder   func() map[string][]hit // names of several words, in any order
	spellings  func() []string         // words of names and of questions that may be written wrong

	tables  func() []table // what can be asked by structure
	encoded sync.Map       // encoded by *Row, for the rows that were asked for
}

// known is a name as it is shown and as it is compared.
type known struct{ name, folded string }

// hit is a row by one of its names. The lower the class, the better the match.
type hit struct {
	row   int
	class class
}

type class uint8

const (
	bySymbol class = iota
	byName         // or key
	byAlias
)

// NewTables indexes rows. Rows of a kind that is not among kinds are left out, and so is the second of the same kind and key.
func NewTables(kinds []Kind, rows []Row) *Tables {
	t := &Tables{
		kinds: kinds, place: make(map[string]int), asks: make(map[string]int), begins: make(map[string]bool),
		orders: make(map[string]Order), fields: make(map[string]bool),
		vocabulary: vocabulary(), languages: foreignWords(), values: make(map[string][]value),
		longest: make(map[string]int), names: make(map[string][]hit), titles: make(map[string][]hit), words: make(map[string][]int),
		entities: make(map[string][]int),
	}
	for i, k := range kinds {
		t.place[k.Name] = i
		for _, w := range k.Words {
			t.asks[w] = i
		}
		for _, o := range k.Orders {
			for _, w := range o.Words {
				t.asks[w], t.orders[w] = i, o
			}
		}
		for _, f := range k.Fields {
			for _, w := range f.Words {
				t.fields[w] = true
			}
			t.fields[fold(f.Name)] = true
		}
	}
	for name := range t.asks {
		first, _, _ := strings.Cut(name, " ")
		t.begins[first] = true
	}
	seen := make(map[string]bool, len(rows))
	for _, r := range rows {
		if _, known := t.place[r.Kind]; !known || seen[r.Kind+"/"+r.Key] {
			continue
		}
		seen[r.Kind+"/"+r.Key] = true
		t.rows = append(t.rows, r)
	}
	slices.SortStableFunc(t.rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(t.place[a.Kind], t.place[b.Kind]), cmp.Compare(b.Size, a.Size), strings.Compare(a.Key, b.Key))
	})
	for i, r := range t.rows {
		t.all, t.kindOf = append(t.all, i), append(t.kindOf, t.place[r.Kind])
		t.index(i, r)
	}
	t.indexUnversioned()
	for name, hits := range t.names {
		slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.row, b.row)) })
		t.order = append(t.order, name)
	}
	slices.Sort(t.order)
	for _, names := range [...]map[string][]hit{t.names, t.titles} {
		for name := range names {
			first, _, _ := strings.Cut(name, " ")
			t.longest[first] = max(t.longest[first], min(strings.Count(name, " ")+1, maxName))
		}
	}
	t.tables = sync.OnceValue(t.newTables)
	t.spellings = sync.OnceValue(t.newSpellings)
	t.anyOrder = sync.OnceValue(t.newAnyOrder)
	return t
}

func (t *Tables) index(i int, r Row) {
	t.entities[r.Entity] = append(t.entities[r.Entity], i)
	own := t.kinds[t.place[r.Kind]].Own
	note := func(name string, c class) {
		if name = strings.Join(wordsOf(name), " "); name == "" || own && c == bySymbol {
			return
		}
		if !slices.ContainsFunc(t.names[name], func(h hit) bool { return h.row == i }) {
			t.names[name] = append(t.names[name], hit{i, c})
		}
	}
	note(r.Symbol, bySymbol)
	if own {
		whole, _, _ := strings.Cut(r.Name, " (") // a year, a format
		for _, name := range slices.Compact([]string{r.Name, whole}) {
			title := strings.Join(wordsOf(name), " ")
			t.titles[title] = append(t.titles[title], hit{i, byName})
		}
	} else {
		note(r.Name, byName)
		for _, name := range [...]string{r.Symbol, r.Name} {
			t.known = append(t.known, known{name, fold(name)})
		}
	}
	note(r.Key, byName)
	for _, alias := range r.Aliases {
		note(alias, byAlias)
	}
	for _, w := range wordsOf(r.Name + " " + r.Symbol + " " + r.Entity) {
		if list := t.words[w]; len(list) == 0 || list[len(list)-1] != i {
			t.words[w] = append(list, i)
		}
	}
	for _, f := range r.Fields {
		if text, is := f.Value.(string); is && t.place[r.Kind] < len(t.kinds) {
			t.indexValue(t.place[r.Kind], f.Name, text)
		}
	}
}

// versionForm is the number of a version at the end of a name: Nova Premier 1.0.
var versionForm = prose.Form(` \d+\.\d+$`)

// indexUnversioned has a name stand for one with the number of a version behind it, where there is but one of them.
func (t *Tables) indexUnversioned() {
	bare := map[string][]int{}
	for i, r := range t.rows {
		if own := t.kinds[t.place[r.Kind]].Own; !own && versionForm().MatchString(r.Name) {
			name := strings.Join(wordsOf(versionForm().ReplaceAllString(r.Name, "")), " ")
			bare[name] = append(bare[name], i)
		}
	}
	for name, rows := range bare {
		if len(rows) == 1 && len(t.names[name]) == 0 && strings.Contains(name, " ") {
			t.names[name] = []hit{{rows[0], byAlias}}
		}
	}
}

// indexValue notes a text of rows by which others are left out: a category, a venue.
func (t *Tables) indexValue(kind int, field, text string) {
	const most = 4 // words of a text that is one of few, and no sentence
	words := wordsOf(text)
	phrase := strings.Join(words, " ")
	if len(words) == 0 || len(words) > most || !strings.ContainsFunc(phrase, func(r rune) bool { return r > '9' }) ||
		!t.kinds[kind].filters(field) {
		return
	}
	v := value{kind, field, text}
	if !slices.Contains(t.values[phrase], v) {
		t.values[phrase] = append(t.values[phrase], v)
	}
}

// filters reports whether rows are left out by a field: their group, or what says where they come from.
func (k Kind) filters(field string) bool {
	if field == k.Group {
		return true
	}
	f := k.field(field)
	return f != nil && f.Filter
}

// Rows are all rows, by kind and size.
func (t *Tables) Rows() []Row { return t.rows }

// Row is the row kind/key, nil if there is none.
func (t *Tables) Row(kind, key string) *Row {
	for _, h := range t.names[strings.Join(wordsOf(key), " ")] {
		if r := &t.rows[h.row]; r.Kind == kind && r.Key == key {
			return r
		}
	}
	return nil
}

// Kinds are the names of the kinds.
func (t *Tables) Kinds() []string {
	list := make([]string, len(t.kinds))
	for i, k := range t.kinds {
		list[i] = k.Name
	}
	return list
}

// wordsOf splits a text into folded words. A number is one word however it is written: 100,000 and 100k.
func wordsOf(text string) []string {
	if strings.Contains(text, ",") {
		text = ungrouped(text)
	}
	words := strings.FieldsFunc(fold(text), func(r rune) bool { return !wordRune(r) })
	for i, w := range words {
		if n := strings.TrimSuffix(w, "k"); n != w && n != "" && strings.Trim(n, "0123456789") == "" {
			words[i] = n + "000"
		}
	}
	return words
}

// grouped are digits that commas part by thousands.
var grouped = prose.Form(`\d(?:,\d{3})+\b`)

// ungrouped is text without the commas that part the thousands of a number.
func ungrouped(text string) string {
	return grouped().ReplaceAllStringFunc(text, func(n string) string { return strings.ReplaceAll(n, ",", "") })
}

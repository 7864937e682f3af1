package state

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Shown says where in the states of a pack rows of one kind stand. What stands nowhere has no past.
type Shown struct {
	Kind    string       `json:"kind"`
	Path    string       `json:"path"`              // of the list of them, or of the only one: top_movers, sentiment.market
	Key     string       `json:"key,omitempty"`     // of the only one; "" for a list, whose rows have ids
	Prefix  string       `json:"prefix,omitempty"`  // of the ids in the list, and not of the keys
	Within  string       `json:"within,omitempty"`  // of a list in each row of the list, whose rows these are; "" means none
	ID      string       `json:"id,omitempty"`      // the member of the rows in the list that is their key; "" means id
	Groups  []string     `json:"groups,omitempty"`  // of the rows in the list that are of this kind; nil means all
	Label   string       `json:"label,omitempty"`   // what the only one is called, or the member of the rows in the list that names them
	Time    string       `json:"time,omitempty"`    // the member that says when news came; "" means that they are none
	Fields  []ShownField `json:"fields,omitempty"`  // their numbers, the most important first; what has none has no past
	Further []string     `json:"further,omitempty"` // further members of theirs, texts and times, that an excerpt has
}

// ShownField is a number of rows.
type ShownField struct {
	Name  string `json:"name"`            // as in lookup
	In    string `json:"in,omitempty"`    // its member in a state; "" means Name
	Share bool   `json:"share,omitempty"` // which is a share of 1 there; a percent is told

	Words []string `json:"words,omitempty"` // that ask for it in a lookup
}

// field is the field of a name, the first for none.
func (s Shown) field(name string) (ShownField, bool) {
	i := slices.IndexFunc(s.Fields, func(f ShownField) bool { return name == "" || f.Name == name || f.In == name })
	if i < 0 {
		return ShownField{}, false
	}
	return s.Fields[i], true
}

// eachShown visits the rows of all kinds in a state that was read, with their keys.
func eachShown(shown []Shown, root *jsonx.Value, visit func(s *Shown, key string, row *jsonx.Value)) {
	for i := range shown {
		if at := root.Find(strings.Split(shown[i].Path, ".")...); at != nil {
			shown[i].eachAt(at, func(key string, row *jsonx.Value) { visit(&shown[i], key, row) })
		}
	}
}

// refOf is the source that a row names, 0 where it names none.
func refOf(row *jsonx.Value) int {
	if ref := (ShownField{Name: "ref"}).value(row); ref != nil {
		return int(*ref)
	}
	return 0
}

// each visits the rows in a state, which is valid, with their keys and as they are written there: most are passed over, and need not be
// parsed.
func (s Shown) each(doc []byte, visit func(key string, row json.RawMessage)) {
	found := jsonx.Find(doc, strings.Split(s.Path, ".")...)
	if s.Key != "" {
		if (&jsonx.Value{Raw: found}).IsObject() {
			visit(s.Key, found)
		}
		return
	}
	row := func(row json.RawMessage) {
		if key, ok := s.keyOf(func(member string) string { return textIn(row, member) }); ok {
			visit(key, row)
		}
	}
	for element := range jsonx.Elements(found) {
		if s.Within == "" {
			row(element)
			continue
		}
		for inner := range jsonx.Elements(jsonx.Find(element, s.Within)) {
			row(inner)
		}
	}
}

// keyOf is the key of a row in a list, by its texts. ok is false for one that is no row of the kind.
func (s Shown) keyOf(text func(member string) string) (key string, ok bool) {
	key, ok = strings.CutPrefix(text(cmp.Or(s.ID, "id")), s.Prefix)
	return key, ok && key != "" && (s.Groups == nil || slices.Contains(s.Groups, text("group")))
}

// textIn is memberText of an object that was not parsed.
func textIn(row json.RawMessage, name string) string {
	if v := (jsonx.Value{Raw: jsonx.Find(row, name)}); v.IsString() {
		return v.Text()
	}
	return ""
}

// eachAt is each where root, which was parsed, is what stands at the path.
func (s Shown) eachAt(root *jsonx.Value, visit func(key string, row *jsonx.Value)) {
	if s.Key != "" {
		if root.IsObject() {
			visit(s.Key, root)
		}
		return
	}
	list := root.Members
	if s.Within != "" {
		list = nil
		for _, row := range root.Members {
			if inner := row.Member(s.Within); inner != nil {
				list = append(list, inner.Members...)
			}
		}
	}
	for _, row := range list {
		if key, ok := s.keyOf(func(member string) string { return memberText(row, member) }); ok {
			visit(key, row)
		}
	}
}

func (s Shown) label(row json.RawMessage) string {
	if s.Key != "" {
		return s.Label
	}
	return textIn(row, s.Label)
}

// memberText is what a member of an object says, "" for what is no string.
func memberText(v *jsonx.Value, name string) string {
	if m := v.Member(name); m != nil && m.IsString() {
		return m.Text()
	}
	return ""
}

// value is the number of row, nil where it is not known.
func (f ShownField) value(row *jsonx.Value) *float64 {
	if m := row.Member(f.member()); m != nil {
		return f.number(m.Raw)
	}
	return nil
}

// valueIn is value of an object that was not parsed.
func (f ShownField) valueIn(row json.RawMessage) *float64 {
	return f.number(jsonx.Find(row, f.member()))
}

// number is the number that is written in a state, nil for anything else.
func (f ShownField) number(raw json.RawMessage) *float64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return nil // null, or no number
	}
	if f.Share {
		n *= 100
		return human.RoundPercent(&n)
	}
	return &n
}

// Series are numbers of rows over states. Make one with NewSeries.
type Series struct {
	places []seriesPlace
	rows   []api.SeriesRow
	last   []*float64 // the values of the last state, by row
}

// seriesPlace is where some of the rows stand.
type seriesPlace struct {
	Shown
	field ShownField
	rows  map[string]int // by their keys
}

// CheckSeries returns the *api.Error for a path or a field that no series of a pack has.
func CheckSeries(shown []Shown, path, field string) error {
	var paths, fields []string
	known := false
	for _, s := range shown {
		if len(s.Fields) == 0 {
			continue
		}
		member, _, _ := strings.Cut(s.Path, ".")
		for _, p := range []string{member, s.Kind + "/…"} {
			if !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
		if !s.holds(path) {
			continue
		}
		known = true
		if _, ok := s.field(field); ok {
			return nil
		}
		for _, f := range s.Fields {
			if !slices.Contains(fields, f.Name) {
				fields = append(fields, f.Name)
			}
		}
	}
	if !known {
		return api.Errorf(api.ReasonInvalidPath, "path is %q, not a member or row with a history", human.Short(path, human.Quoted)).
			WithHint("use a member, for the rows now in it, or a row as kind/key: %s", strings.Join(paths, ", "))
	}
	field, path = human.Short(field, human.Quoted), human.Short(path, human.Quoted)
	return api.Errorf(api.ReasonInvalidField, "field is %q, not a numeric field of %s", field, path).
		WithHint("fields with a history: %s", strings.Join(fields, ", "))
}

// IsFirst reports whether the series of path has the same rows and numbers with a field as without one.
func IsFirst(shown []Shown, path, field string) bool {
	first := false
	for _, s := range shown {
		if len(s.Fields) == 0 || !s.holds(path) {
			continue
		}
		if f, _ := s.field(field); f.Name != s.Fields[0].Name {
			return false
		}
		first = true
	}
	return first
}

// holds reports whether path is of rows that stand here: a row of the kind, or a member that the rows are in.
func (s Shown) holds(path string) bool {
	kind, key, row := strings.Cut(path, "/")
	if row {
		return s.Kind == kind && key != "" && (s.Key == "" || s.Key == key)
	}
	return s.Path == path || strings.HasPrefix(s.Path, path+".")
}

// NewSeries makes the Series of path, which CheckSeries has let pass: of a row, kind/key, or of the rows that are in a member of the newest
// state, at most api.MaxSeriesRows. Without a field it is the most important one of each kind.
func NewSeries(shown []Shown, path, field string, newest *Document) *Series {
	s := new(Series)
	_, key, single := strings.Cut(path, "/")
	for _, here := range shown {
		f, ok := here.field(field)
		if !ok || !here.holds(path) {
			continue
		}
		place := seriesPlace{Shown: here, field: f, rows: make(map[string]int)}
		add := func(key string) {
			if _, twice := place.rows[key]; !twice && len(s.rows) < api.MaxSeriesRows {
				place.rows[key] = len(s.rows)
				s.rows = append(s.rows, api.SeriesRow{Kind: here.Kind, Key: key, Name: key, Field: f.Name})
			}
		}
		if single {
			add(key)
		} else {
			eachShown([]Shown{here}, newest.Root(), func(_ *Shown, key string, _ *jsonx.Value) { add(key) })
		}
		s.places = append(s.places, place)
	}
	s.last = make([]*float64, len(s.rows))
	return s
}

// Add adds the values of a state, which are unknown where doc is empty. States come in the order in which they were made.
func (s *Series) Add(doc []byte) {
	clear(s.last)
	for _, p := range s.places {
		seen := make(map[string]bool, len(p.rows))
		p.each(doc, func(key string, row json.RawMessage) {
			i, wanted := p.rows[key]
			if !wanted || seen[key] {
				return
			}
			seen[key] = true
			s.last[i] = p.field.valueIn(row)
			if name := p.label(row); name != "" {
				s.rows[i].Name = name
			}
		})
	}
	s.Again()
}

// Again adds the values of the last state once more.
func (s *Series) Again() {
	for i := range s.rows {
		s.rows[i].Values = append(s.rows[i].Values, s.last[i])
	}
}

// Rows are the rows with the values that were added.
func (s *Series) Rows() []api.SeriesRow { return s.rows }

// Times are points moments, as far apart from each other as whole milliseconds allow, that end at end and cover span.
func Times(end time.Time, span time.Duration, points int) []time.Time {
	times := make([]time.Time, points)
	for i := range times {
		back := span.Milliseconds() * int64(points-1-i) / int64(points-1)
		times[i] = end.Add(-time.Duration(back) * time.Millisecond)
	}
	return times
}

package api

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a query.
const (
	MaxConditions     = 8
	MaxConditionValue = 200 // characters
	MaxQueryRows      = 100
	DefaultQueryLimit = 10
)

// Tables of every pack beside those of its kinds of rows.
const (
	TableFlags   = "flags"
	TableSources = "sources"
)

// Comparison is how a condition compares.
type Comparison string

// The comparisons.
const (
	CompareEqual     Comparison = "="
	CompareUnequal   Comparison = "!="
	CompareLess      Comparison = "<"
	CompareAtMost    Comparison = "<="
	CompareMore      Comparison = ">"
	CompareAtLeast   Comparison = ">="
	CompareIn        Comparison = "in" // one of the values, which have commas between
	CompareHasWords  Comparison = "~"
	comparisonsInAll            = "=, !=, <, <=, >, >=, in, ~"
)

// Condition is what rows of a query have to meet.
type Condition struct {
	Field string     `json:"field"` // name, symbol, key, group, entity or a field of the table
	Op    Comparison `json:"op"`
	Value string     `json:"value"` // as it was written
}

// conditionForm is a field, a comparison and a value.
var conditionForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*) ?(!=|<=|>=|=|<|>|~| in )(.*)$`)

// ParseCondition reads field op value, such as change24hPct > 5. Its error has the reason invalid_where.
func ParseCondition(text string) (Condition, error) {
	line := oneLine(text)
	m := conditionForm.FindStringSubmatch(line)
	if m == nil {
		return Condition{}, Errorf(ReasonInvalidWhere, "where is %q, not field op value", clip(line)).
			WithHint("write it as symbol = BTC or change24hPct > 5; op is one of %s", comparisonsInAll)
	}
	c := Condition{Field: m[1], Op: Comparison(strings.TrimSpace(m[2])), Value: strings.TrimSpace(m[3])}
	if c.Op == CompareIn {
		c.Value = strings.Join(c.Values(), ",")
	}
	switch n := utf8.RuneCountInString(c.Value); {
	case c.Value == "":
		return Condition{}, Errorf(ReasonInvalidWhere, "where %q has no value", clip(line)).
			WithHint("write it as symbol = BTC or change24hPct > 5")
	case n > MaxConditionValue:
		return Condition{}, Errorf(ReasonInvalidWhere, "the value of %s has %d characters, more than %d", c.Field, n, MaxConditionValue).
			WithHint("compare with a shorter one")
	}
	return c, nil
}

// Values are the values that c compares with: of in, one or more.
func (c Condition) Values() []string {
	if c.Op != CompareIn {
		return []string{c.Value}
	}
	list := strings.Split(strings.TrimSuffix(strings.TrimPrefix(c.Value, "("), ")"), ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return slices.DeleteFunc(list, func(v string) bool { return v == "" })
}

// String is c as ParseCondition reads it, with single spaces.
func (c Condition) String() string {
	if c.Op == CompareIn {
		return c.Field + " in " + strings.Join(c.Values(), ",")
	}
	return c.Field + " " + string(c.Op) + " " + c.Value
}

// RowQuery is a question for rows of a pack by structure.
type RowQuery struct {
	Text   string      `json:"text"` // in a line, for people
	Pack   string      `json:"pack"`
	Table  string      `json:"table"` // a kind of rows, flags or sources
	Where  []Condition `json:"where"` // all of which a row has to meet
	Fields []string    `json:"fields,omitempty"`
	Order  string      `json:"order,omitempty"` // a field, the least first; behind a -, the most first; "" is as the rows stand
	Limit  int         `json:"limit"`
	Agg    []string    `json:"agg,omitempty"`  // count, or sum, avg, min or max of a field, as sum:tvlUsd
	At     string      `json:"at,omitempty"`   // the moment, as Moment.Written writes it; "" is now
	Over   string      `json:"over,omitempty"` // the span before it, as FormatSpan writes it
}

// Written is m with its zone: 2026-11-20T20:05Z or 2026-11-20T20:05:02.340Z.
func (m Moment) Written() string { return strings.TrimSuffix(m.Key(), "Z") + "Z" }

// String is q in a line: assets where symbol = BTC, field priceUsd, at 2026-11-22T12:00Z. What counts anyhow is left out.
func (q RowQuery) String() string {
	var b strings.Builder
	b.WriteString(Plural(q.Table))
	for i, c := range q.Where {
		b.WriteString([]string{" where ", " and "}[min(i, 1)] + c.shown())
	}
	if n := len(q.Fields); n > 0 {
		b.WriteString([]string{", field ", ", fields "}[min(n-1, 1)] + strings.Join(q.Fields, " "))
	}
	if q.Order != "" {
		b.WriteString(", order " + q.Order)
	}
	if q.Limit != 0 && q.Limit != DefaultQueryLimit {
		b.WriteString(", limit " + strconv.Itoa(q.Limit))
	}
	if len(q.Agg) > 0 {
		b.WriteString(", " + strings.Join(q.Agg, " "))
	}
	if q.At != "" {
		b.WriteString(", at " + q.At)
	}
	if q.Over != "" {
		b.WriteString(", over " + q.Over)
	}
	return b.String()
}

// shown is c for people: a value that is not a word stands in quotes.
func (c Condition) shown() string {
	values := c.Values()
	for i, v := range values {
		values[i] = quoted(v)
	}
	if c.Op == CompareIn {
		return c.Field + " in (" + strings.Join(values, ", ") + ")"
	}
	return c.Field + " " + string(c.Op) + " " + values[0]
}

// quoted is a value of a condition in a line: as it is where it cannot be taken for something else there.
func quoted(v string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune(".-_:/", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if v != "" && strings.IndexFunc(v, special) < 0 {
		return v
	}
	return strconv.Quote(v)
}

// Plural is the name of a table as a query names all of its rows: assets, categories.
func Plural(table string) string {
	switch {
	case strings.HasSuffix(table, "s"):
		return table
	case strings.HasSuffix(table, "x"):
		return table + "es"
	case strings.HasSuffix(table, "y"):
		return strings.TrimSuffix(table, "y") + "ies"
	}
	return table + "s"
}

// Move is what became of a number of a row over the span of a query.
type Move struct {
	From      float64  `json:"from"` // at the beginning
	Change    float64  `json:"change"`
	ChangePct *float64 `json:"changePct,omitempty"` // left out where From is 0, and where the field is in percent
}

// QueryRow is a row of an answer of query. Its members are those of lookup.
type QueryRow struct {
	Kind       string          `json:"kind"`
	Key        string          `json:"key"`
	Entity     string          `json:"entity"`
	Name       string          `json:"name"`
	Symbol     string          `json:"symbol,omitempty"`
	Fields     Fields          `json:"fields"`
	Over       map[string]Move `json:"over,omitempty"` // by field, where the query has a span
	Ref        Anchor          `json:"ref"`
	URL        string          `json:"url"`
	Of         string          `json:"of,omitempty"` // as in LookupRow
	FetchedAt  time.Time       `json:"fetchedAt"`
	AgeSeconds int64           `json:"ageSeconds"`
	Stale      bool            `json:"stale"`
}

// Anchor is the number of a source: 3 in an answer about one pack, and markets:3 in one about all.
type Anchor struct {
	Pack string // "" where the answer is about one
	Ref  int
}

// String is a as it stands in brackets.
func (a Anchor) String() string {
	if a.Pack == "" {
		return strconv.Itoa(a.Ref)
	}
	return a.Pack + ":" + strconv.Itoa(a.Ref)
}

// MarshalJSON writes a number, or a text where a has a pack.
func (a Anchor) MarshalJSON() ([]byte, error) {
	if a.Pack == "" {
		return strconv.AppendInt(nil, int64(a.Ref), 10), nil
	}
	return strconv.AppendQuote(nil, a.String()), nil // the id of a pack has nothing that JSON escapes
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Anchor) UnmarshalJSON(text []byte) error {
	pack, ref, _ := strings.Cut(strings.Trim(string(text), `"`), ":")
	if ref == "" {
		pack, ref = "", pack
	}
	n, err := strconv.Atoi(ref)
	if err != nil {
		return fmt.Errorf("read a ref: %w", err)
	}
	*a = Anchor{pack, n}
	return nil
}

// AnchoredCitation is a citation of an answer that may be about several packs.
type AnchoredCitation struct {
	Ref Anchor `json:"ref"`
	Citation
}

// Aggregate is one number of the rows that meet the conditions of a query, however many are listed.
type Aggregate struct {
	Value  *float64   `json:"value"`            // nil where no row has the field
	Rows   int        `json:"rows"`             // that have it
	Row    string     `json:"row,omitempty"`    // of min and max, kind/key of the row that has it
	At     *time.Time `json:"at,omitempty"`     // of min and max over a span, when the state was made that has it
	Of     float64    `json:"of,omitempty"`     // of worth and buys, the amount that a question names
	States int        `json:"states,omitempty"` // of min and max over a span, how many stored states were compared
}

// MissingWhy is why something is not in an answer.
type MissingWhy string

// The reasons.
const (
	MissingNotKept MissingWhy = "not_kept"      // the tables of then had it, or may have; the state of then does not
	MissingNoRows  MissingWhy = "nothing_found" // no row meets the conditions
)

// Missing is something that was asked for and is not in an answer.
type Missing struct {
	What    string     `json:"what"` // a row, as asset/foo; a table, as asset; or a field of one, as protocol.category
	Why     MissingWhy `json:"why"`
	Instead []string   `json:"instead,omitempty"` // what can be asked in its place
}

// QueryResponse answers /v1/query.
type QueryResponse struct {
	Query      RowQuery             `json:"query"` // as it was understood, defaults written out
	Rows       []QueryRow           `json:"rows"`
	Total      int                  `json:"total"` // rows that meet the conditions
	Aggregates map[string]Aggregate `json:"aggregates,omitempty"`
	Missing    []Missing            `json:"missing,omitempty"`
	Citations  []AnchoredCitation   `json:"citations"`
	Freshness  Freshness            `json:"freshness"` // of the oldest state that was read
}

// QueryTables describes what can be queried.
type QueryTables struct {
	Packs []PackTables `json:"packs"`
	Spans QuerySpans   `json:"spans"`
}

// PackTables are the tables of a pack.
type PackTables struct {
	Pack   string        `json:"pack"`
	Tables []TableSchema `json:"tables"`
}

// QuerySpans are the bounds of at and over.
type QuerySpans struct {
	Least  string `json:"least"`  // of over
	Window string `json:"window"` // how far back both reach for this caller
}

// FieldType is what the values of a field are.
type FieldType string

// The types of fields.
const (
	TypeNumber   FieldType = "number"
	TypeText     FieldType = "text"
	TypeTime     FieldType = "time"
	TypeBoolean  FieldType = "boolean"
	TypeSeverity FieldType = "severity" // from notice to critical
)

// TableField describes a field of a table.
type TableField struct {
	Name string    `json:"name"` // with its unit at the end, as priceUsd
	Type FieldType `json:"type"`
	Unit string    `json:"unit,omitempty"` // of a number
	Past bool      `json:"past"`           // states of the past have it
}

// TableSchema describes a table.
type TableSchema struct {
	Table  string       `json:"table"`
	Rows   int          `json:"rows"`
	Group  string       `json:"group,omitempty"` // the field that group stands for
	Order  string       `json:"order,omitempty"` // without another one
	Fields []TableField `json:"fields"`
}

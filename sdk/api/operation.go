package api

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Op is one of the operations on a pack.
type Op string

// Ops returns the operations in the order in which they are declared.
func Ops() []Op {
	var list []Op
	for _, d := range declarations() {
		list = append(list, d.op)
	}
	return list
}

// CountedOps returns the operations that usage, traces and metrics count: all, and the days of watches.
func CountedOps() []Op { return append(Ops(), OpWatch) }

// Operation returns the declaration of o, one without parameters for an unknown operation.
func (o Op) Operation() Operation {
	for _, d := range declarations() {
		if d.op == o {
			declared := d.declare()
			declared.Op = o
			return declared
		}
	}
	return Operation{Op: o, Params: func() []Param { return nil }}
}

// Tools returns the operations that are MCP tools as well.
func Tools() []Op {
	return slices.DeleteFunc(Ops(), func(o Op) bool { return o.Operation().Tool.Title == "" })
}

// Path is the data endpoint of o.
func (o Op) Path() string { return "/v1/" + string(o) }

// OpAt returns the operation of a data endpoint; ok is false for any other path.
func OpAt(path string) (o Op, ok bool) {
	o = Op(strings.TrimPrefix(path, "/v1/"))
	return o, slices.Contains(Ops(), o) && o.Path() == path
}

// PriceMicros is the price of one call of o in micro-USDG (millionths of one USDG); 0 means that o cannot be paid by call.
func (o Op) PriceMicros() int64 { return o.Operation().PriceMicros }

// Operation declares an operation: its parameters, its price, its answer, and what a model reads about its tool. HTTP, MCP, the OpenAPI
// description, the SDK and ctx read it; a parameter or an operation that is declared here is known to all of them.
type Operation struct {
	Op          Op
	PriceMicros int64          // of one call, in micro-USDG; 0 means that it cannot be paid by call
	Params      func() []Param // in the order in which they are listed and checked
	Answer      reflect.Type
	AnyPack     bool // the pack may be PackAll
	Tool        Tool // the zero Tool means that it is no MCP tool
}

// Tool is what a model reads about an operation.
type Tool struct {
	Title, Description string
	Idempotent         bool // the same call has the same answer for ever
}

// Face is a way in which an operation is called.
type Face uint8

// The faces: a request over HTTP, by the SDK and ctx too, and the call of an MCP tool.
const (
	FaceHTTP Face = 1 + iota
	FaceTool
)

// Kind says how the text of a parameter is read.
type Kind uint8

// The kinds of parameters.
const (
	KindText       Kind = iota
	KindWords           // without white space at its ends
	KindNames           // with commas between, in any order
	KindList            // with commas between, in the given order
	KindConditions      // of query, at most Max values
	KindRow             // kind/key
	KindRowKind         // a kind of rows of the pack
	KindRowKinds        // several, with commas between
	KindQuestions       // of lookup, with commas between
	KindDraft           // a text of at most Max bytes, which the body of a request may be
	KindSeverity
	KindSwitch // true or false
	KindWhole  // a whole number from Min to Max
	KindNumber // 0 or more
	KindSpan   // a duration of Least or more, such as 24h
	KindTime   // a minute in UTC, or a date-time
	KindSince  // that, or a span before now, such as -20m
	KindToken  // an API key
)

// Param declares a parameter of an operation. A field that does not apply to its kind is zero.
type Param struct {
	Name     string
	Kind     Kind
	Only     Face // 0 means every face
	Required bool
	Verbatim bool // 03 and 3 are two requests to a payment

	Min, Max int           // of a whole number; a Max of 0 means no bound
	Least    time.Duration // of a span
	Default  string        // what counts without it; "" means nothing

	Reason  Reason // of a value that cannot be read
	Hint    string // what to do then
	Missing string // what is said where it is empty, and may not be; "" means that it may
	Fault   string // what is said of a value that cannot be read, in place of what its kind says
	Huge    string // what is said of a whole number that is too large for an int

	Doc       string // one line for people
	ToolDoc   string // one line for a model; "" means that the tool takes it and does not tell of it
	Example   string
	Pattern   string // of its text over HTTP, if that is bound
	Component string // its name where several operations share it in the OpenAPI description

	field func(q *Query) any // where its value goes; nil means that it has no effect
}

// On reports whether p is a parameter on face.
func (p Param) On(face Face) bool { return p.Only == 0 || p.Only == face }

// Type is the JSON type of p's value.
func (p Param) Type() string {
	switch p.Kind {
	case KindConditions:
		return "array"
	case KindSwitch:
		return "boolean"
	case KindWhole:
		return "integer"
	case KindNumber:
		return "number"
	}
	return "string"
}

// ParamsOn returns the parameters of o on face.
func (o Operation) ParamsOn(face Face) []Param {
	return slices.DeleteFunc(o.Params(), func(p Param) bool { return !p.On(face) })
}

// Param returns the parameter of a name on face, the zero Param if there is none.
func (o Operation) Param(face Face, name string) Param {
	for _, p := range o.Params() {
		if p.Name == name && p.On(face) {
			return p
		}
	}
	return Param{}
}

// Names returns the names of params.
func Names(params []Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

// Parse reads the parameters of op on face, every one checked. Others are ignored. Which packs, members and kinds of rows there are it does
// not know.
func Parse(op Op, face Face, values url.Values) (Query, error) {
	q := Query{Op: op}
	var spelled url.Values
	for _, p := range op.Operation().Params() {
		if !p.On(face) {
			continue
		}
		text, given := values.Get(p.Name), values.Has(p.Name)
		if p.Kind == KindConditions {
			text = strings.Join(values[p.Name], "\n")
		}
		if !given && !p.Required {
			text = p.Default
		}
		if err := p.read(&q, text, given); err != nil {
			return q, err
		}
		if given && p.spelled(&q, text) {
			if spelled == nil {
				spelled = url.Values{}
			}
			spelled.Set(p.Name, text)
		}
	}
	q.spelled = spelled.Encode()
	return q, nil
}

// Canonical returns what q comes down to: its parameters, encoded and sorted by name, without those that say what counts anyhow. It is the
// same however q was written, and it is what a payment for q is bound to.
func (q Query) Canonical() string {
	values, _ := url.ParseQuery(q.spelled) // it was encoded
	for _, p := range q.Op.Operation().Params() {
		if p.field == nil || values.Has(p.Name) {
			continue
		}
		if text := p.text(&q); text != p.Default {
			values.Set(p.Name, text)
			if p.Kind == KindConditions {
				values[p.Name] = strings.Split(text, "\n")
			}
		}
	}
	return values.Encode()
}

// spelled reports whether text, as which p was read into q, counts as it is spelled.
func (p Param) spelled(q *Query, text string) bool {
	if p.field == nil {
		return p.Kind != KindToken
	}
	read := p.text(q)
	return p.Verbatim && read != text && read != p.Default
}

func (p Param) text(q *Query) string {
	switch v := p.field(q).(type) {
	case *string:
		return *v
	case *bool:
		if *v {
			return "true"
		}
	case *int:
		if *v != 0 { // which none can be
			return strconv.Itoa(*v)
		}
		return p.Default
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *time.Duration:
		if *v != 0 {
			return FormatSpan(*v)
		}
		return p.Default
	case *Moment:
		return v.Canonical()
	case *time.Time:
		if !v.IsZero() {
			return v.Format(time.RFC3339Nano)
		}
	case *Severity:
		return string(*v)
	}
	return ""
}

// read reads text, which is the default of p if it was not given, into q.
func (p Param) read(q *Query, text string, given bool) error {
	if p.Kind == KindToken && !strings.HasPrefix(text, "cv_") {
		return p.fault(text)
	}
	if p.field == nil {
		return nil
	}
	if p.Kind == KindWords || p.Kind == KindRow || p.Kind == KindSince {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		switch needed := given || p.Required && !q.Describe; {
		case needed && p.Missing != "":
			return p.fault(text)
		case !needed, !slices.Contains([]Kind{KindWhole, KindNumber, KindSpan, KindSeverity}, p.Kind):
			return nil
		}
	}
	ok := true
	switch v := p.field(q).(type) {
	case *string:
		return p.readText(v, text)
	case *bool:
		*v = text == "true" || text == "1"
		ok = *v || text == "false" || text == "0"
	case *int:
		var err error
		*v, err = strconv.Atoi(text)
		ok = err == nil && *v >= p.Min && (p.Max == 0 || *v <= p.Max)
	case *float64:
		n, err := strconv.ParseFloat(text, 64)
		if ok = err == nil && n >= 0 && !math.IsInf(n, 0); ok && n > 0 { // there is a -0
			*v = n
		}
	case *time.Duration:
		var err error
		*v, err = ParseSpan(text)
		ok = err == nil && *v >= p.Least
	case *Severity:
		*v = Severity(text)
		ok = v.Rank() > 0
	case *time.Time:
		var m Moment
		m, ok = parseMoment(text)
		*v = m.At
	case *Moment:
		if ago, span := ParseAgo(text); p.Kind == KindSince && span && ago > 0 {
			v.Ago = ago
			break
		}
		*v, ok = parseMoment(text)
	}
	if !ok {
		return p.fault(text)
	}
	return nil
}

// readText reads text, which is not empty, into v.
func (p Param) readText(v *string, text string) error {
	switch *v = text; p.Kind {
	case KindNames:
		*v = Listed(text)
	case KindRowKinds:
		*v = Listed(strings.ToLower(text))
	case KindList:
		*v = strings.Join(distinct(text), ",")
	case KindRow:
		if kind, key, _ := strings.Cut(text, "/"); kind == "" || key == "" {
			return p.fault(text)
		}
	case KindDraft:
		if strings.TrimSpace(text) == "" {
			return p.fault("")
		}
		if len(text) > p.Max {
			return Errorf(p.Reason, "%s has %d bytes, more than %d", p.Name, len(text), p.Max).WithHint("%s", p.Hint)
		}
	case KindQuestions:
		var err error
		*v, err = p.readQuestions(text)
		return err
	case KindConditions:
		var err error
		*v, err = p.readConditions(text)
		return err
	}
	return nil
}

// readQuestions returns the questions in text with single spaces, and commas between.
func (p Param) readQuestions(text string) (string, error) {
	var questions []string
	for question := range strings.SplitSeq(text, ",") {
		if question = strings.Join(strings.Fields(question), " "); question == "" {
			continue
		}
		if n := utf8.RuneCountInString(question); n > MaxLookupQuery {
			return "", Errorf(p.Reason, "the question %q has %d characters, more than %d", clip(question), n, MaxLookupQuery).
				WithHint("%s", p.Hint)
		}
		questions = append(questions, question)
	}
	switch n := len(questions); {
	case n == 0:
		return "", p.fault("")
	case n > MaxQuestions:
		return "", Errorf(p.Reason, "%s has %d questions, more than %d", p.Name, n, MaxQuestions).WithHint("ask in several calls")
	}
	return strings.Join(questions, ","), nil
}

// readConditions returns the conditions in the lines of text as they are written, sorted, a line each.
func (p Param) readConditions(text string) (string, error) {
	var list []string
	for line := range strings.Lines(text) {
		c, err := ParseCondition(line)
		if err != nil {
			return "", err
		}
		list = append(list, c.String())
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > p.Max {
		return "", Errorf(p.Reason, "there are %d conditions, more than %d", len(list), p.Max).
			WithHint("op in compares with several values at once: symbol in BTC,ETH")
	}
	return strings.Join(list, "\n"), nil
}

// distinct are the names in a text with commas between, each once.
func distinct(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Listed are the names in a text with commas between, sorted and each once.
func Listed(text string) string {
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// fault is the answer to text, which p cannot be.
func (p Param) fault(text string) *Error {
	message := p.Fault
	if message == "" {
		given, kind := clip(text), ""
		switch p.Kind {
		case KindSwitch:
			kind = "not true or false"
		case KindWhole:
			kind = fmt.Sprintf("not a whole number from %d to %d", p.Min, p.Max)
			if _, err := strconv.Atoi(text); p.Huge != "" && errors.Is(err, strconv.ErrRange) && text[0] != '-' {
				kind = p.Huge
			} else if p.Max == 0 {
				kind = fmt.Sprintf("not a whole number of %d or more", p.Min)
			}
		case KindNumber:
			given, kind = clip(oneLine(text)), "not a number of 0 or more"
		case KindSpan:
			kind = "not a duration of " + FormatSpan(p.Least) + " or more"
		case KindTime:
			given, kind = clip(oneLine(text)), "not a date-time from 1970 to 9999"
		case KindSince:
			given, kind = clip(oneLine(text)), "not a time in the past"
		case KindRow:
			kind = "not kind/key"
		}
		message = fmt.Sprintf("%s is %q, %s", p.Name, given, kind)
	}
	if text == "" && p.Missing != "" {
		message = p.Name + " is " + p.Missing
	}
	return Errorf(p.Reason, "%s", message).WithHint("%s", p.Hint)
}

// oneLine is text, which may be hostile, on one line and without what cannot be seen.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

// clip shortens text to what a message quotes of it.
func clip(text string) string {
	const most = 40
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:most-1])) + "…"
}

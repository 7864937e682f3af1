package manifest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
)

// Types of fields.
const (
	typePrice    = "price"
	typeUSD      = "usd"
	typePercent  = "percent"
	typePercent4 = "percent4"
	typeNumber   = "number"
	typeCount    = "count"
	typeText     = "text"
	typeTime     = "time"
	typeDate     = "date"
	typeBool     = "bool"
)

func fieldTypes() []string {
	return []string{typePrice, typeUSD, typePercent, typePercent4, typeNumber, typeCount, typeText, typeTime, typeDate, typeBool}
}

// Longest texts of a row, in runes.
const (
	capKey  = 96
	capName = 160
	capText = 200
)

// mostAliases is how many other names a row has.
const mostAliases = 8

// rowMembers are what jq may give of a row beside its fields.
func rowMembers() []string {
	return []string{"key", "name", "symbol", "entity", "group", "url", "of", "aliases"}
}

// number reports whether values of f are numbers.
func (f Field) number() bool {
	return slices.Contains([]string{typePrice, typeUSD, typePercent, typePercent4, typeNumber, typeCount}, f.Type)
}

// derived is a field as rows have it: one that is declared, or what is known of how it changed.
type derived struct {
	name, wire string
	kind       string
	number     bool
}

// derived are f itself and what is told of its changes.
func (f Field) derived() []derived {
	list := []derived{{f.Name, wireName(f.Name, f.Type), f.Type, f.number()}}
	for _, span := range f.Change {
		name := f.Name + "_change_" + spanName(span)
		list = append(list, derived{name, wireName(name, typePercent), typePercent, true})
	}
	if f.Changed > 0 {
		list = append(list, derived{f.Name + "_was", wireName(f.Name+"_was", f.Type), f.Type, true},
			derived{f.Name + "_changed_at", wireName(f.Name+"_changed_at", typeTime), typeTime, false})
	}
	return list
}

// spanName writes a span as names have it: 1h, 24h, 90m.
func spanName(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

// wireName is what a field is called on the wire: open_interest of type usd is openInterestUsd.
func wireName(name, kind string) string {
	var b strings.Builder
	for i, word := range strings.Split(name, "_") {
		if i > 0 && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	suffix := map[string]string{typePrice: "Usd", typeUSD: "Usd", typePercent: "Pct", typePercent4: "Pct", typeTime: "At"}[kind]
	return strings.TrimSuffix(b.String(), suffix) + suffix
}

// field is the declared field of a name, nil if there is none.
func (s *Source) field(name string) *Field {
	i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Fields[i]
}

// all are the fields that rows of s may have.
func (s *Source) all() (list []derived) {
	for _, f := range s.Fields {
		list = append(list, f.derived()...)
	}
	return list
}

// derived is the field of a name, nil if there is none.
func (s *Source) derived(name string) *derived {
	all := s.all()
	i := slices.IndexFunc(all, func(d derived) bool { return d.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func (s *Source) names() (list []string) {
	for _, d := range s.all() {
		list = append(list, d.name)
	}
	return list
}

// firstNumber is the name of the first field that is a number, "" if there is none.
func (s *Source) firstNumber() string {
	for _, f := range s.Fields {
		if f.number() {
			return f.Name
		}
	}
	return ""
}

func (s *Source) valueOf(f Flag) string {
	if f.Value != "" {
		return f.Value
	}
	return s.firstNumber()
}

// places are those of templates that are no fields.
func places() []string { return []string{"name", "symbol", "key", "of"} }

// template reads a text with places for the fields of rows.
func (s *Source) template(text string) (human.Template, error) {
	return human.ParseTemplate(text, func(name string) (string, error) {
		if slices.Contains(places(), name) {
			return name, nil
		}
		if d := s.derived(name); d != nil {
			return d.wire, nil
		}
		if near := human.Nearest(name, s.names()); near != "" {
			return "", fmt.Errorf("{%s}: %s has no such field; did you mean {%s}?", name, s.ID, near)
		}
		return "", fmt.Errorf("{%s}: %s has no such field; there are {name}, {symbol}, {key}, {of}, {%s}", name, s.ID,
			strings.Join(s.names(), "}, {"))
	})
}

// texts are the members of a row that are no fields, but its aliases.
func texts() []string { return []string{"key", "name", "symbol", "entity", "group", "url", "of"} }

// prune leaves of what jq gave what clean reads, as values of JSON: nil, bool, string, json.Number, and texts for aliases. size is about
// what it takes. What is no object is nil.
func (s *Source) prune(raw any) (row any, size int) {
	object, is := raw.(map[string]any)
	if !is {
		return nil, 1
	}
	kept := make(map[string]any)
	keep := func(name string) {
		if v := scalar(object[name]); v != nil {
			kept[name] = v
			size += len(name) + 16
			if text, is := v.(string); is {
				size += len(text)
			}
		}
	}
	for _, name := range texts() {
		keep(name)
	}
	for i := range s.Fields {
		keep(s.Fields[i].Name)
	}
	aliases, _ := object["aliases"].([]any)
	var names []any
	for _, a := range aliases[:min(len(aliases), mostAliases)] {
		if text, is := a.(string); is {
			names = append(names, strings.ToValidUTF8(text, "\uFFFD"))
			size += len(text) + 16
		}
	}
	if names != nil {
		kept["aliases"] = names
	}
	return kept, size
}

// scalar is a text, a number or a truth that jq gave, else nil. A number is as JSON has it.
func scalar(raw any) any {
	switch v := raw.(type) {
	case bool, json.Number:
		return v
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case int, float64, *big.Int:
		if text, err := gojq.Marshal(v); err == nil && string(text) != "null" {
			return json.Number(text)
		}
	}
	return nil
}

// clean makes a row of what jq gave. It is not ok if it has no key.
func (s *Source) clean(raw any) (row source.DeclaredRow, ok bool) {
	object, is := raw.(map[string]any)
	if !is {
		return row, false
	}
	text := func(name string, limit int) string {
		switch v := object[name].(type) {
		case string:
			return human.Label(v, limit)
		case nil, bool, []any, map[string]any:
			return ""
		default:
			return human.Label(fmt.Sprint(v), limit)
		}
	}
	row = source.DeclaredRow{
		Key: text("key", capKey), Name: text("name", capName), Symbol: text("symbol", 24), Entity: text("entity", capKey),
		Group: text("group", 40),
	}
	if row.Key == "" {
		return row, false
	}
	if row.Name == "" {
		row.Name = row.Key
	}
	if link, is := object["url"].(string); is {
		row.URL = source.CleanLink(link)
	}
	row.Of = about(object["of"])
	aliases, _ := object["aliases"].([]any)
	for _, a := range aliases[:min(len(aliases), mostAliases)] {
		if name, is := a.(string); is && human.Label(name, capKey) != "" {
			row.Aliases = append(row.Aliases, human.Label(name, capKey))
		}
	}
	for _, f := range s.Fields {
		if v, known := f.clean(object[f.Name]); known {
			v.Name = wireName(f.Name, f.Type)
			row.Values = append(row.Values, v)
		}
	}
	return row, true
}

// about is what the figures of a row are about: a day, a month, a quarter or a year as human.ParseAbout has it, or a time in any form of
// moment; "" for what is none of these.
func about(raw any) string {
	if text, is := raw.(string); is {
		if a, ok := human.ParseAbout(strings.TrimSpace(text)); ok && a.Begin.Year() >= firstYear && a.Begin.Year() <= lastYear {
			return a.String()
		}
	}
	if at := moment(raw); at != nil {
		return human.AboutTime(*at).String()
	}
	return ""
}

// clean makes a value of what jq gave for f. It is not known if it does not fit.
func (f Field) clean(raw any) (v source.Value, known bool) {
	if raw == nil {
		return v, false
	}
	switch f.Type {
	case typeText:
		text, is := raw.(string)
		v.Text = human.Label(text, capText)
		return v, is && v.Text != ""
	case typeBool:
		truth, is := raw.(bool)
		v.Truth = &truth
		return v, is
	case typeTime, typeDate:
		v.Time, v.Date = moment(raw), f.Type == typeDate
		if v.Date && v.Time != nil {
			day := v.Time.Truncate(24 * time.Hour)
			v.Time = &day
		}
		return v, v.Time != nil
	}
	x := source.ParseNumber(raw)
	v.Number = f.round(x)
	return v, v.Number != nil
}

// round rounds a number as the type of f says; nil stays nil.
func (f Field) round(x *float64) *float64 {
	if x == nil {
		return nil
	}
	switch f.Type {
	case typeUSD, typeCount:
		whole := human.Round(*x, 0)
		return &whole
	case typePercent:
		return human.RoundPercent(x)
	case typePercent4:
		four := human.Round(*x, 4)
		return &four
	}
	return human.RoundPrice(x)
}

// Years that a source can mean.
const (
	firstYear = 1900
	lastYear  = 2200
)

// moment reads a time: RFC 3339, a date, or seconds or milliseconds since 1970. What is none is nil.
func moment(raw any) *time.Time {
	var t time.Time
	if text, is := raw.(string); is {
		for _, layout := range []string{
			time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly, time.RFC1123Z, time.RFC1123,
		} {
			at, err := time.Parse(layout, strings.TrimSpace(text))
			if err == nil {
				t = at
				break
			}
		}
	}
	if t.IsZero() {
		x := source.ParseNumber(raw)
		switch {
		case x == nil:
			return nil
		case *x >= 1e11 || *x <= -1e11:
			t = time.UnixMilli(int64(*x))
		default:
			t = time.Unix(int64(*x), 0)
		}
	}
	t = t.UTC().Truncate(time.Millisecond)
	if t.Year() < firstYear || t.Year() > lastYear {
		return nil
	}
	return &t
}

// forJQ is a row as selections and conditions see it: by the names of the manifest.
func (s *Source) forJQ(r *source.DeclaredRow) map[string]any {
	object := map[string]any{"key": r.Key, "name": r.Name, "symbol": r.Symbol, "group": r.Group}
	for _, d := range s.all() {
		switch v := r.Value(d.wire); {
		case v == nil:
			object[d.name] = nil
		case v.Number != nil:
			object[d.name] = *v.Number
		case v.Truth != nil:
			object[d.name] = *v.Truth
		case v.Time != nil && v.Date:
			object[d.name] = v.Time.Format(time.DateOnly)
		case v.Time != nil:
			object[d.name] = v.Time.Format(time.RFC3339)
		default:
			object[d.name] = v.Text
		}
	}
	return object
}

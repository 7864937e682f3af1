package human

import (
	"fmt"
	"math"
	"strings"
)

// Template is a text with places for the fields of a row, such as "{name} pays {fundingPct} an hour". A place may say how a number stands
// there: {changePct|move} is up 3.1%, {changePct|abs} 3.1%, {fundingPct|plain} 3.1% where {fundingPct} is +3.1%. It never changes.
type Template struct{ parts []templatePart }

// templatePart is text, or a place where field is set.
type templatePart struct{ text, field, form string }

// ParseTemplate reads a template. resolve gives the name of the field that a place means, or says that there is none.
func ParseTemplate(text string, resolve func(name string) (field string, err error)) (Template, error) {
	var t Template
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		if before != "" {
			t.parts = append(t.parts, templatePart{text: before})
		}
		if !found {
			break
		}
		place, after, closed := strings.Cut(rest, "}")
		if !closed {
			return Template{}, fmt.Errorf("%q has a { without }", text)
		}
		name, form, _ := strings.Cut(place, "|")
		switch form {
		case "", "move", "abs", "plain":
		default:
			return Template{}, fmt.Errorf("{%s}: a number is written as move, abs or plain", place)
		}
		field, err := resolve(strings.TrimSpace(name))
		if err != nil {
			return Template{}, err
		}
		t.parts = append(t.parts, templatePart{field: field, form: form})
		text = after
	}
	return t, nil
}

// Fields are those that t has places for.
func (t Template) Fields() (names []string) {
	for _, p := range t.parts {
		if p.field != "" {
			names = append(names, p.field)
		}
	}
	return names
}

// Fill writes the values of a row at their places. It is not ok if one of them is not known, which get tells by nil; missing stands
// there. Of an empty text the space before it goes, too.
func (t Template) Fill(missing string, get func(field string) any) (text string, ok bool) {
	return t.FillMarked(missing, get, func(_, text string) string { return text })
}

// FillMarked is Fill with what mark makes of each value as it is written.
func (t Template) FillMarked(missing string, get func(field string) any, mark func(field, text string) string) (text string, ok bool) {
	var b strings.Builder
	ok = true
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.field == "" {
			continue
		}
		value := get(p.field)
		if value == nil {
			ok = false
			b.WriteString(missing)
			continue
		}
		text := p.write(value)
		if text == "" { // there is nothing to say
			said := strings.TrimSuffix(b.String(), " ")
			b.Reset()
			b.WriteString(said)
		}
		b.WriteString(mark(p.field, text))
	}
	return b.String(), ok
}

func (p templatePart) write(value any) string {
	x, isNumber := numeric(value)
	switch {
	case !isNumber || p.form == "":
		return Value(p.field, value)
	case p.form == "move" && x == 0:
		return "unchanged"
	case p.form == "move" && x > 0:
		return "up " + unsigned(Value(p.field, x))
	case p.form == "move":
		return "down " + unsigned(Value(p.field, -x))
	case p.form == "abs":
		return unsigned(Value(p.field, math.Abs(x)))
	}
	return unsigned(Value(p.field, x))
}

// unsigned takes the plus sign off.
func unsigned(text string) string { return strings.TrimPrefix(text, "+") }

package state

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// test is a condition that a row has to meet.
type test struct {
	field
	op     api.Comparison
	values []operand
}

// operand is a value that a condition compares with, as the type of its field has it.
type operand struct {
	value any
	until time.Time // of a minute or a day, when it is over
	words []string
}

// meets reports whether r meets t. A row without the field meets nothing.
func (t test) meets(r *Row) bool {
	v := t.value(r)
	if v == nil {
		return false
	}
	if t.op == api.CompareHasWords {
		has := wordsOf(textOf(v))
		return !slices.ContainsFunc(t.values[0].words, func(w string) bool { return !slices.Contains(has, w) })
	}
	within := func(o operand) int {
		order := t.compare(v, o.value)
		if at, is := v.(time.Time); is && order > 0 && at.Before(o.until) {
			return 0
		}
		return order
	}
	order := within(t.values[0])
	switch t.op {
	case api.CompareEqual:
		return order == 0
	case api.CompareUnequal:
		return order != 0
	case api.CompareLess:
		return order < 0
	case api.CompareAtMost:
		return order <= 0
	case api.CompareMore:
		return order > 0
	case api.CompareAtLeast:
		return order >= 0
	case api.CompareIn:
		return slices.ContainsFunc(t.values, func(o operand) bool { return within(o) == 0 })
	}
	return false
}

// compile makes c a test of rows of at. Its error is an *api.Error of reason invalid_where.
func (at table) compile(c api.Condition) (test, error) {
	f, ok := at.field(c.Field)
	t := test{field: f, op: c.Op}
	fault := func(format string, args ...any) (test, error) {
		return t, api.Errorf(api.ReasonInvalidWhere, format, args...).WithHint("fields of %s: %s", api.Plural(at.name), at.names(anyField))
	}
	allowed := comparisons(f.Type)
	switch {
	case !ok:
		return fault("%s have no field %q", api.Plural(at.name), human.Short(c.Field, human.Quoted))
	case !slices.Contains(allowed, c.Op):
		return fault("%s is a %s, which %s does not compare; use one of %s", f.Name, f.Type, c.Op, api.List(allowed))
	}
	for _, text := range c.Values() {
		o, expected := operandOf(f.Type, text)
		if expected != "" {
			return fault("%s is compared with %q, not %s", f.Name, human.Short(text, human.Quoted), expected)
		}
		t.values = append(t.values, o)
	}
	if len(t.values) == 0 || c.Op == api.CompareHasWords && len(t.values[0].words) == 0 {
		return fault("%s is compared with nothing", f.Name)
	}
	return t, nil
}

// comparisons are those that fields of a type have.
func comparisons(of api.FieldType) []api.Comparison {
	list := []api.Comparison{api.CompareEqual, api.CompareUnequal, api.CompareIn}
	switch of {
	case api.TypeText:
		return append(list, api.CompareHasWords)
	case api.TypeBoolean:
		return list
	}
	return append(list, api.CompareLess, api.CompareAtMost, api.CompareMore, api.CompareAtLeast)
}

// operandOf reads a value that a field of a type is compared with, or says what was expected.
func operandOf(of api.FieldType, text string) (o operand, expected string) {
	switch of {
	case api.TypeNumber:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || strings.ContainsAny(text, "xX_") {
			return o, "a number"
		}
		o.value = n
	case api.TypeTime:
		if day, err := time.Parse(time.DateOnly, text); err == nil {
			return operand{value: day, until: day.AddDate(0, 0, 1)}, ""
		}
		m, err := api.ParseMoment(text)
		if err != nil {
			return o, "a date or a date-time"
		}
		o = operand{value: m.At, until: m.End()}
	case api.TypeBoolean:
		o.value = text == "true"
		if text != "true" && text != "false" {
			return o, "true or false"
		}
	case api.TypeSeverity:
		o.value = strings.ToLower(text)
		if severity(o.value).Rank() == 0 {
			return o, "one of " + api.List(api.Severities())
		}
	default:
		o.value, o.words = fold(text), wordsOf(text)
	}
	return o, ""
}

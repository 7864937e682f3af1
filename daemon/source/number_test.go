package source_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// parse decodes a number, or fails the test.
func parse(t *testing.T, text string) source.Number {
	t.Helper()
	var n source.Number
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		`1.5`: 1.5, `"1.5"`: 1.5, `-0`: 0, `1E9`: 1e9, `"$1,234"`: 1234, `"-1.84%"`: -1.84, `" 7 "`: 7, `"-$3"`: -3, `"1e6"`: 1e6,
		`"0.00000000007821066970851871"`: 7.821066970851871e-11, `"1,821,000,000,000"`: 1.821e12, `1e-400`: 0, `"+5"`: 5,
	} {
		if v := parse(t, text).Value(); v == nil || *v != want {
			t.Errorf("%s is %v, want %v", text, v, want)
		}
	}
	for _, text := range []string{
		`null`, `""`, `"N/A"`, `"—"`, `"unknown"`, `false`, `[1]`, `{}`, `"NaN"`, `"Inf"`, `"0x10"`, `"0x1p4"`, `"1_000"`, `"1-2"`, `"e"`, `"1e400"`, `"$"`, `"%"`,
	} {
		if v := parse(t, text).Value(); v != nil {
			t.Errorf("%s is %v, want unknown", text, *v)
		}
	}
	var n source.Number
	if err := json.Unmarshal([]byte(`1e400`), &n); err == nil {
		t.Error("1e400 was taken")
	}
	if err := n.UnmarshalJSON([]byte(`"\x"`)); err == nil {
		t.Error("a broken text was taken")
	}
}

func TestNumberIsResetByNull(t *testing.T) {
	t.Parallel()
	n := parse(t, `1`)
	if err := json.Unmarshal([]byte(`null`), &n); err != nil || n.Value() != nil {
		t.Errorf("%v, %v", n.Value(), err)
	}
}

func TestNumberInBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text                             string
		amount, percent, price, i, wilds bool
	}{
		{`5`, true, true, true, true, false},
		{`0`, true, true, false, true, false},
		{`-5`, false, true, false, false, false},
		{`100001`, true, false, true, true, true},
		{`-100001`, false, false, false, false, true},
		{`100000`, true, true, true, true, false},
		{`1e12`, true, false, true, false, true},
		{`1.1e12`, true, false, false, false, true},
		{`1.1e18`, false, false, false, false, true},
		{`null`, false, false, false, false, false},
	} {
		n := parse(t, tt.text)
		_, price := n.Price()
		got := []bool{n.Amount() != nil, n.Percent() != nil, price, n.Int() != nil, n.Wild()}
		want := []bool{tt.amount, tt.percent, tt.price, tt.i, tt.wilds}
		for i, name := range []string{"amount", "percent", "price", "int", "wild"} {
			if got[i] != want[i] {
				t.Errorf("%s: %s %v, want %v", tt.text, name, got[i], want[i])
			}
		}
	}
	if i := parse(t, `"41.9"`).Int(); i == nil || *i != 41 {
		t.Errorf("int %v, want 41", i)
	}
}

func TestNumberAsTime(t *testing.T) {
	t.Parallel()
	if at := parse(t, `"1795132800"`).Time(); at == nil || !at.Equal(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)) || at.Location() != time.UTC {
		t.Errorf("time %v", at)
	}
	for _, text := range []string{`null`, `0`, `-1`, `1e300`, `"soon"`} {
		if at := parse(t, text).Time(); at != nil {
			t.Errorf("%s is %v, want unknown", text, at)
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	points := []source.Sample{
		{At: at.Add(-7*day - 11*time.Hour), Value: 50}, {At: at.Add(-2 * day), Value: 0}, {At: at.Add(-day), Value: 80}, {At: at, Value: 100},
	}
	for before, want := range map[time.Duration]float64{day: 25, 7 * day: 100} {
		if got := source.ChangeSince(points, before); got == nil || *got != want {
			t.Errorf("over %v: %v, want %v", before, got, want)
		}
	}
	for _, before := range []time.Duration{2 * day, 3 * day, 30 * day} { // from zero, a gap, before the first
		if got := source.ChangeSince(points, before); got != nil {
			t.Errorf("over %v: %v, want unknown", before, *got)
		}
	}
	if source.ChangeSince(nil, day) != nil {
		t.Error("no points, yet a change")
	}
}

func TestNotAfter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	if got := source.ClampTime(at.Add(time.Second), at); got != at {
		t.Errorf("%v", got)
	}
	if got := source.ClampTime(at.Add(-time.Second), at); got != at.Add(-time.Second) {
		t.Errorf("%v", got)
	}
}

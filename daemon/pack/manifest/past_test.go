package manifest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/long"
)

// past is a source of one row whose number x tells of its past, at a clock that the test sets.
type past struct {
	t         *testing.T
	now       time.Time
	body      string
	connector source.Connector
	fetcher   *source.Fetcher
	last      source.Doc
}

func newPast(t *testing.T, field string) *past {
	t.Helper()
	text := strings.Replace(mapping(`.[] | {key: "a", x: ., y: 1}`, `.`), "fields: {x: number}", "fields: {x: "+field+", y: number}, "+
		"every: 5m", 1)
	m, err := manifest.Read([]byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := m.Make(e)
	if err != nil {
		t.Fatal(err)
	}
	p := &past{t: t, connector: made.Sources[0].Connector}
	p.fetcher = source.NewFetcher(source.Config{
		Now: func() time.Time { return p.now }, Transport: answers(func(*http.Request) string { return p.body }),
		Shift: func(string) time.Duration { return 0 }, // for no limits of hosts
	})
	return p
}

// began is when the clock of a past begins.
func began() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

// at fetches a value some minutes after the beginning, stores what came as a restart of the daemon would find it, and returns what the row
// tells of x beside itself.
func (p *past) at(minutes float64, value string) string {
	p.t.Helper()
	p.now, p.body = began().Add(time.Duration(minutes*60)*time.Second), "["+value+"]"
	out := p.fetcher.Fetch(p.t.Context(), p.connector, p.last)
	if out.Err != nil {
		p.t.Fatal(out.Err)
	}
	text, err := json.Marshal(out.Doc)
	if err != nil {
		p.t.Fatal(err)
	}
	stored := new(source.RowsDoc)
	if err := json.Unmarshal(text, stored); err != nil {
		p.t.Fatal(err)
	}
	if again, err := json.Marshal(stored); !bytes.Equal(again, text) || err != nil {
		p.t.Errorf("stored as\n%s\nread as\n%s\n%v", text, again, err)
	}
	p.last = stored
	var told []string
	for _, v := range stored.Rows[0].Values {
		switch {
		case v.Name == "x" || v.Name == "xPct" || v.Name == "y":
		case v.Time != nil:
			told = append(told, fmt.Sprintf("%s=%g", v.Name, v.Time.Sub(began()).Minutes()))
		default:
			told = append(told, fmt.Sprintf("%s=%g", v.Name, *v.Number))
		}
	}
	return strings.Join(told, " ")
}

// TestChange has both sides of every bound of a change over a span and of one that was seen.
func TestChange(t *testing.T) {
	t.Parallel()
	type step struct {
		at          float64 // minutes
		value, want string
	}
	steady := func(from, to, every float64, value, want string) (list []step) {
		for at := from; at <= to; at += every {
			list = append(list, step{at, value, want})
		}
		return list
	}
	all := func(lists ...[]step) (list []step) {
		for _, l := range lists {
			list = append(list, l...)
		}
		return list
	}
	for name, c := range map[string]struct {
		field string
		steps []step
	}{
		"not before the span is over": {"{type: number, change: [1h]}", all(steady(0, 55, 5, "100", ""),
			[]step{{59.9, "110", ""}, {60, "110", "xChange1hPct=10"}, {65, "90", "xChange1hPct=-10"}})},
		"against the value of then, not of the beginning": {"{type: number, change: [1h]}", all(steady(0, 30, 5, "100", ""), steady(35,
			55, 5, "200", ""),
			[]step{{60, "200", "xChange1hPct=100"}, {75, "200", "xChange1hPct=100"}, {90, "200", "xChange1hPct=100"},
				{94.9, "200", "xChange1hPct=100"}, {95, "200", "xChange1hPct=0"}, {100, "50", "xChange1hPct=-75"}})},
		"a gap of three intervals is none": {"{type: number, change: [1h]}", []step{
			{0, "100", ""}, {15, "100", ""}, {30, "100", ""}, {45, "100", ""}, {60, "150", "xChange1hPct=50"}}},
		"after a longer one all begins again": {"{type: number, change: [1h]}", all([]step{{0, "100", ""}, {15, "100", ""}, {30, "100", ""},
			{45.1, "150", ""}}, steady(60, 105, 15, "150", ""), []step{{105.2, "150", "xChange1hPct=0"}})},
		"a clock that is set back": {"{type: number, change: [1h]}", all(steady(0, 60, 15, "100", "*"), []step{{30, "150", ""}},
			steady(45, 75, 15, "150", ""), []step{{90, "150", "xChange1hPct=0"}})},
		"a value that was not known": {"{type: number, change: [1h]}", all(steady(0, 45, 15, "100", ""), []step{{60, "null", ""}, {75,
			"100", ""}, {90, "200", ""}, {105, "200", ""}, {120, "200", ""}, {135, "200", "xChange1hPct=100"}})},
		"below zero": {"{type: number, change: [1h]}", all(steady(0, 45, 15, "-50", ""), []step{{60, "-25",
			"xChange1hPct=50"}, {75, "50", "xChange1hPct=200"}})},
		"from zero": {"{type: number, change: [1h]}", all(steady(0, 60, 15, "0", ""), []step{{75, "5", ""}})},
		"to zero": {"{type: number, change: [1h]}", all(steady(0, 45, 15, "4", ""), []step{{60, "0",
			"xChange1hPct=-100"}})},
		"beyond reason": {"{type: number, change: [1h]}", all(steady(0, 45, 15, "1", ""), []step{{60, "1001",
			"xChange1hPct=100000"}, {75, "1001.01", ""}})},
		"beyond numbers": {"{type: number, change: [1h]}", all(steady(0, 45, 15, "1e-300", ""), []step{{60, "1e18", ""}})},
		"two spans": {"{type: number, change: [30m, 1h]}", all(steady(0, 15, 15, "100", ""), []step{{30, "200", "xChange30mPct=100"},
			{45, "200", "xChange30mPct=100"}, {60, "400", "xChange30mPct=100 xChange1hPct=300"}})},

		"no change": {"{type: number, changed: 1h}", steady(0, 120, 15, "5", "")},
		"a change": {"{type: number, changed: 1h}", []step{{0, "5", ""}, {15, "6", "xWas=5 xChangedAt=15"}, {30, "6",
			"xWas=5 xChangedAt=15"}, {45, "6", "xWas=5 xChangedAt=15"}, {60, "6", "xWas=5 xChangedAt=15"}, {74.9, "6",
			"xWas=5 xChangedAt=15"}, {75, "6", ""}}},
		"the last": {"{type: number, change: [24h], changed: 24h}", []step{{0, "5", ""}, {5, "6", "xWas=5 xChangedAt=5"}, {10, "7",
			"xWas=6 xChangedAt=10"}, {15, "8", "xWas=7 xChangedAt=15"}, {20, "9", "xWas=8 xChangedAt=20"}}},
		"and back": {"{type: number, changed: 24h}", []step{{0, "5", ""}, {5, "6", "xWas=5 xChangedAt=5"}, {10, "5",
			"xWas=6 xChangedAt=10"}, {15, "5", "xWas=6 xChangedAt=10"}}},
		"over a gap": {"{type: number, changed: 24h}", []step{{0, "5", ""}, {600, "6", "xWas=5 xChangedAt=600"}, {1200, "6",
			"xWas=5 xChangedAt=600"}}},
		"set back": {"{type: number, changed: 24h}", []step{{0, "5", ""}, {60, "6", "xWas=5 xChangedAt=60"}, {30, "6",
			"xWas=5 xChangedAt=30"}, {20, "7", "xWas=5 xChangedAt=20"}, {-10, "8", ""}}},
		"below round": {"{type: percent, changed: 1h}", []step{{0, "5.001", ""}, {5, "5.004", ""}, {10, "5.006",
			"xWasPct=5 xChangedAt=10"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPast(t, c.field)
			for _, s := range c.steps {
				got := p.at(s.at, s.value)
				if s.want != "*" && got != s.want {
					t.Errorf("after %g minutes %s tells %q, want %q", s.at, s.value, got, s.want)
				}
			}
		})
	}
}

// TestPastStaysSmall: a number that moves at every answer is remembered by few values, and its change is still right.
func TestPastStaysSmall(t *testing.T) {
	long.Test(t)
	t.Parallel()
	p := newPast(t, "{type: number, change: [1h, 24h], changed: 7d}")
	value := func(minute float64) float64 { return 1000 + minute }
	most := 0
	for minute := 0.0; minute <= 20*24*60; minute += 5 {
		told := p.at(minute, fmt.Sprint(value(minute)))
		most = max(most, len(p.last.(*source.RowsDoc).Past["a/x"]))
		if minute < 24*60 {
			continue
		}
		var hour, day, was, at float64
		if _, err := fmt.Sscanf(told, "xChange1hPct=%g xChange24hPct=%g xWas=%g xChangedAt=%g", &hour, &day, &was, &at); err != nil {
			t.Fatal(told, err)
		}
		since := func(ago float64) float64 { return (value(minute)/value(minute-ago) - 1) * 100 }
		if math.Abs(hour-since(60)) > 0.0051 || day < since(24*60)-0.0051 || day > since(25*60) || was != value(minute-5) || at != minute {
			t.Fatalf("after %g minutes: %s, want %g and %g", minute, told, since(60), since(24*60))
		}
	}
	if most > 50 {
		t.Errorf("%d values are kept", most)
	}
}

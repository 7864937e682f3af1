package state_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// plainShown says where the states of tests show rows: {"rows":[{"group":kind,"id":key,field:figure,"ref":1}]}, and news in the rows of
// themes.
func plainShown() []state.Shown {
	fields := []state.ShownField{{Name: "usd"}, {Name: "eur"}, {Name: "oddsPct"}}
	return []state.Shown{
		{Kind: "a", Path: "rows", Groups: []string{"a"}, Label: "id", Fields: fields},
		{Kind: "b", Path: "rows", Groups: []string{"b"}, Label: "id", Fields: fields},
		{Kind: "headline", Path: "themes", Within: "headlines", ID: "url", Label: "title", Time: "publishedAt"},
	}
}

// compared is what Compare says of two states a minute apart, with citations of five sources.
func compared(from, to string, ask state.Ask) api.ChangesResponse {
	at := time.Date(2026, 11, 20, 20, 0, 0, 1e6, time.UTC)
	pulse := func(after time.Duration, text string) state.Pulse {
		p := state.Pulse{Pack: "crypto", GeneratedAt: at.Add(after), State: []byte(text)}
		for i := range 5 {
			p.Citations = append(p.Citations, api.Citation{Ref: i + 1, SourceID: fmt.Sprintf("s%d", i+1),
				URL: fmt.Sprintf("https://s%d.test/", i+1)})
		}
		return p
	}
	return state.Compare(pulse(0, from), pulse(time.Minute, to), plainShown(), nil, ask)
}

// TestCompareKeptNews: headlines that no state shows are news where the tables keep them and they came between the states, once each.
func TestCompareKeptNews(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 20, 0, 0, 1e6, time.UTC)
	headline := func(key string, after time.Duration) state.Row {
		when := at.Add(after)
		return state.Row{Kind: "headline", Key: key, Name: "Of " + key, URL: key, Ref: 2, Fields: api.Fields{{Name: "publishedAt", Value: when}}}
	}
	tables := state.NewTables([]state.Kind{{Name: "headline", Fields: []state.Field{{Name: "publishedAt"}}}}, []state.Row{
		headline("before", 0), headline("kept", 20*time.Second), headline("shown", 30*time.Second), headline("last", time.Minute), headline("later", 61*time.Second),
	})
	shows := `{"themes":[{"headlines":[{"url":"shown","title":"Of shown","publishedAt":"2026-11-20T20:00:30.001Z","ref":2}]}]}`
	pulse := func(after time.Duration, text string) state.Pulse {
		return state.Pulse{Pack: "crypto", GeneratedAt: at.Add(after), State: []byte(text), Citations: []api.Citation{{Ref: 1}, {Ref: 2, URL: "https://two.test/"}}}
	}
	for kinds, want := range map[string]string{"": "last shown kept", "headline": "last shown kept", "a": ""} {
		ask := state.Ask{}
		if kinds != "" {
			ask.Kinds = []string{kinds}
		}
		r := state.Compare(pulse(0, `{"themes":[]}`), pulse(time.Minute, shows), plainShown(), tables, ask)
		var got []string
		for _, h := range r.Headlines {
			got = append(got, h.Key)
		}
		if strings.Join(got, " ") != want || (len(r.Citations) == 1) != (want != "") {
			t.Errorf("kinds %q: %q with %d citations, want %q", kinds, got, len(r.Citations), want)
		}
	}
}

// row writes a row as plainShown has it.
func row(kind, key, field string, v float64, ref int) string {
	return fmt.Sprintf(`{"group":%q,"id":%q,%q:%v,"ref":%d}`, kind, key, field, v, ref)
}

func rowsState(rows ...string) string { return `{"rows":[` + strings.Join(rows, ",") + `]}` }

// TestCompareRows: both sides of what counts as a move, the order, and what is left out.
func TestCompareRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to []string
		ask      state.Ask
		want     string
	}{
		"none": {[]string{row("a", "x", "usd", 1, 1)}, []string{row("a", "x", "usd", 1, 1)}, state.Ask{}, ""},
		"by size": {[]string{row("a", "x", "usd", 100, 1), row("a", "y", "usd", 100, 1)}, []string{row("a", "x", "usd", 101, 1),
			row("a", "y", "usd", 98, 1)}, state.Ask{}, "a/y usd 100>98 -2, a/x usd 100>101 1"},
		"least, met": {[]string{row("a", "x", "usd", 100, 1)}, []string{row("a", "x", "usd", 100.5, 1)}, state.Ask{Min: 0.5},
			"a/x usd 100>100.5 0.5"},
		"least, missed": {[]string{row("a", "x", "usd", 100, 1)}, []string{row("a", "x", "usd", 100.49, 1)}, state.Ask{Min: 0.5}, ""},
		"least, down": {[]string{row("a", "x", "usd", 100, 1)}, []string{row("a", "x", "usd", 99.5, 1)}, state.Ask{Min: 0.5},
			"a/x usd 100>99.5 -0.5"},
		"points": {[]string{row("a", "x", "oddsPct", 1, 1)}, []string{row("a", "x", "oddsPct", 2, 1)}, state.Ask{Min: 1},
			"a/x oddsPct 1>2"},
		"points missed": {[]string{row("a", "x", "oddsPct", 1, 1)}, []string{row("a", "x", "oddsPct", 1.99, 1)}, state.Ask{Min: 1}, ""},
		"from nothing": {[]string{row("a", "x", "usd", 0, 1), row("a", "y", "usd", 1, 1)}, []string{row("a", "x", "usd", 5, 1), row("a",
			"y", "usd", 3, 1)}, state.Ask{Min: 50}, "a/x usd 0>5, a/y usd 1>3 200"},
		"to nothing":    {[]string{row("a", "x", "usd", 4, 1)}, []string{row("a", "x", "usd", 0, 1)}, state.Ask{}, "a/x usd 4>0 -100"},
		"below zero":    {[]string{row("a", "x", "usd", -4, 1)}, []string{row("a", "x", "usd", -2, 1)}, state.Ask{}, "a/x usd -4>-2 50"},
		"came and went": {[]string{row("a", "x", "usd", 4, 1)}, []string{row("a", "y", "usd", 5, 1)}, state.Ask{}, ""},
		"other field":   {[]string{row("a", "x", "usd", 4, 1)}, []string{row("a", "x", "eur", 5, 1)}, state.Ask{}, ""},
		"other kind":    {[]string{row("a", "x", "usd", 4, 1)}, []string{row("b", "x", "usd", 5, 1)}, state.Ask{}, ""},
		"kinds": {[]string{row("a", "x", "usd", 4, 1), row("b", "x", "usd", 4, 1)}, []string{row("a", "x", "usd", 5, 1), row("b",
			"x", "usd", 5, 1)}, state.Ask{Kinds: []string{"b", "c"}}, "b/x usd 4>5 25"},
		"huge": {[]string{row("a", "x", "usd", 1e-300, 1)}, []string{row("a", "x", "usd", 1e300, 1)}, state.Ask{},
			"a/x usd 1e-300>1e+300"},
	} {
		answer := compared(rowsState(c.from...), rowsState(c.to...), c.ask)
		got := make([]string, len(answer.Rows))
		for i, r := range answer.Rows {
			got[i] = fmt.Sprintf("%s/%s %s %v>%v", r.Kind, r.Key, r.Field, r.From, r.To)
			if r.ChangePct != nil {
				got[i] += fmt.Sprintf(" %v", *r.ChangePct)
			}
			if r.Entity != r.Kind+"/"+r.Key || r.URL != "https://s1.test/" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), c.want)
		}
		if cited := len(answer.Citations) == 1; cited != (c.want != "") || !answer.Clear {
			t.Errorf("%s: %d citations, clear %v", name, len(answer.Citations), answer.Clear)
		}
	}
}

// TestCompareCuts tells the fifty rows that moved most, and cites no others.
func TestCompareCuts(t *testing.T) {
	t.Parallel()
	var from, to []string
	for i := range api.MaxChangedRows + 1 {
		ref := 2
		if i == 0 {
			ref = 3
		}
		from, to = append(from, row("a", fmt.Sprint(i), "usd", 100, ref)), append(to, row("a", fmt.Sprint(i), "usd", 101+float64(i), ref))
	}
	answer := compared(rowsState(from...), rowsState(to...), state.Ask{})
	if n := len(answer.Rows); n != api.MaxChangedRows || answer.Rows[0].Key != "50" || answer.Rows[n-1].Key != "1" ||
		len(answer.Citations) != 1 {
		t.Errorf("%d rows, %d citations: %+v", n, len(answer.Citations), answer.Rows)
	}
}

// TestCompareHeadlines tells those that are new, the newest first, by kinds and never by size.
func TestCompareHeadlines(t *testing.T) {
	t.Parallel()
	news := func(key, at string) string {
		return fmt.Sprintf(`{"url":%q,"title":"T","publishedAt":"2026-11-20T%sZ","ref":4}`, key, at)
	}
	from := `{"themes":[{"headlines":[` + news("old", "19:00:00") + `]}]}`
	to := `{"themes":[{"headlines":[` + news("a", "19:30:00") + "," + news("old", "19:00:00") + `]},{"id":"x"},{"headlines":[` + news("b",
		"19:45:00") + "," +
		news("a", "19:30:00") + `]}]}`
	for kinds, want := range map[string]string{"": "b a", "headline": "b a", "asset": ""} {
		ask := state.Ask{Min: 50}
		if kinds != "" {
			ask.Kinds = []string{kinds}
		}
		var got []string
		for _, h := range compared(from, to, ask).Headlines {
			got = append(got, h.Key)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", kinds, got, want)
		}
	}
}

// TestCompareFlags: what becomes of a flag, on both sides of each bound.
func TestCompareFlags(t *testing.T) {
	t.Parallel()
	flag := func(id, severity, unit string, value float64) string {
		return fmt.Sprintf(`{"id":%q,"kind":"k","severity":%q,"subject":"S","value":%v,"unit":%q,"since":"2026-11-20T19:00:00Z","message":"m","ref":2}`, id, severity, value, unit)
	}
	up := flag("x", "warning", "usd", 100)
	for name, c := range map[string]struct{ from, to, want string }{
		"nothing":        {up, up, ""},
		"appeared":       {"", up, "appeared warning from "},
		"ended":          {up, "", "ended warning from warning"},
		"graver":         {up, flag("x", "critical", "usd", 90), "rose critical from warning"},
		"milder":         {up, flag("x", "notice", "usd", 200), "fell notice from warning"},
		"a quarter more": {up, flag("x", "warning", "usd", 125), "rose warning from warning"},
		"not quite":      {up, flag("x", "warning", "usd", 124.9), ""},
		"a quarter less": {flag("x", "warning", "usd", 125), up, "fell warning from warning"},
		"not quite less": {flag("x", "warning", "usd", 124.9), up, ""},
		"below zero":     {flag("x", "warning", "pct", -20), flag("x", "warning", "pct", -25), "rose warning from warning"},
		"of nothing":     {flag("x", "warning", "pct", 0), flag("x", "warning", "pct", 0), ""},
		"counted":        {flag("x", "warning", "seconds", 100), flag("x", "warning", "seconds", 900), ""},
		"index":          {flag("x", "notice", "index", 24), flag("x", "notice", "index", 10), ""},
		"without an id":  {flag("", "notice", "usd", 1), flag("", "critical", "usd", 1), "rose critical from notice"},
		"another": {flag("y", "notice", "usd", 1), flag("x", "critical", "usd", 1),
			"appeared critical from ; ended notice from notice"},
		"the gravest first": {"", flag("y", "notice", "usd", 1) + "," + flag("x", "critical", "usd", 1),
			"appeared critical from ; appeared notice from "},
		"of unknown severity": {flag("x", "odd", "usd", 1), flag("x", "notice", "usd", 1), "rose notice from odd"},
	} {
		answer := compared(`{"flags":[`+c.from+`]}`, `{"flags":[`+c.to+`]}`, state.Ask{Min: 99, Kinds: []string{"none"}})
		var got []string
		clear := true
		for _, f := range answer.Flags {
			got = append(got, fmt.Sprintf("%s %s from %s", f.Change, f.Severity, f.Was))
			clear = clear && f.Change != api.FlagAppeared && f.Change != api.FlagRose
			if ended := f.Change == api.FlagEnded; (f.EndedAt != nil) != ended || ended && !f.EndedAt.Equal(answer.To) {
				t.Errorf("%s: ended at %v", name, f.EndedAt)
			}
		}
		if strings.Join(got, "; ") != c.want || answer.Clear != clear {
			t.Errorf("%s: %s, want %s; clear %v", name, strings.Join(got, "; "), c.want, answer.Clear)
		}
	}
	more := `{"flags":[{"id":"x","entity":"bitcoin","eventAt":"2026-11-19T00:00:00Z","severity":"notice","ref":9}]}`
	if f := compared(`{}`, more, state.Ask{}).Flags; len(f) != 1 || f[0].Entity != "bitcoin" || f[0].EventAt == nil {
		t.Errorf("%+v", f)
	}
}

// TestCompareEnded: one that is remembered ended when it is said to have, also where neither state has it, but not where it ended before.
func TestCompareEnded(t *testing.T) {
	t.Parallel()
	from := state.Pulse{GeneratedAt: time.Date(2026, 11, 20, 20, 0, 0, 1e6, time.UTC),
		State: []byte(`{"flags":[{"id":"stood","severity":"notice"}]}`)}
	to := state.Pulse{GeneratedAt: from.GeneratedAt.Add(time.Hour), State: []byte(`{"flags":[{"id":"back","severity":"notice"}]}`)}
	for _, e := range []struct {
		id           string
		since, ended time.Duration
	}{
		{"stood", -time.Hour, time.Minute}, {"between", time.Minute, 2 * time.Minute}, {"back", time.Minute, 2 * time.Minute},
		{"before", -2 * time.Minute, 0}, {"in an older gap", -time.Minute, time.Minute},
	} {
		to.Ended = append(to.Ended, state.Ended{
			Flag:    api.Flag{ID: e.id, Severity: api.SeverityWarning, Since: from.GeneratedAt.Add(e.since)},
			EndedAt: from.GeneratedAt.Add(e.ended),
		})
	}
	to.Ended[0].Worst = &api.Flag{ID: "stood", Severity: api.SeverityCritical} // before the span, for all we know
	to.Ended[1].Worst = &api.Flag{ID: "between", Severity: api.SeverityCritical, Since: to.Ended[1].Since}
	var got []string
	answer := state.Compare(from, to, plainShown(), nil, state.Ask{})
	if answer.Clear {
		t.Error("all is clear although a flag came and went")
	}
	for _, f := range answer.Flags {
		line := fmt.Sprintf("%s %s %s", f.ID, f.Change, f.Severity)
		if state.Passed(f) {
			line += fmt.Sprint(" passed ", f.Since.Sub(from.GeneratedAt))
		}
		if f.EndedAt != nil {
			line += " " + f.EndedAt.Sub(from.GeneratedAt).String()
		}
		got = append(got, line)
	}
	want := "back appeared notice, between ended critical passed 1m0s 2m0s, in an older gap ended warning passed -1m0s 1m0s, " +
		"stood ended notice 1m0s"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}

// TestCompareSources tells those that do not answer, or did not.
func TestCompareSources(t *testing.T) {
	t.Parallel()
	states := func(list string) string {
		var parts []string
		for i, s := range strings.Fields(list) {
			if s != "-" {
				parts = append(parts, fmt.Sprintf(`{"ref":%d,"id":"s%d","status":%q}`, i+1, i+1, s))
			}
		}
		return `{"source_status":[` + strings.Join(parts, ",") + `]}`
	}
	for name, c := range map[string]struct {
		from, to, want string
		answered       int
	}{
		"all well":  {"ok ok", "ok ok", "", 2},
		"failed":    {"ok ok", "ok error", "s2 ok>failed", 1},
		"late":      {"ok ok", "stale ok", "s1 ok>stale", 1},
		"recovered": {"stale error", "ok ok", "s1 stale>ok s2 failed>ok", 2},
		"still":     {"ok error", "ok error", "s2 failed>failed", 1},
		"new":       {"ok -", "ok error", "s2 ok>failed", 1},
		"gone":      {"ok error", "ok -", "", 1},
	} {
		answer := compared(states(c.from), states(c.to), state.Ask{})
		var got []string
		for _, s := range answer.Sources {
			got = append(got, fmt.Sprintf("%s %s>%s", s.ID, s.From, s.To))
		}
		asked := len(strings.Fields(strings.ReplaceAll(c.to, "-", "")))
		if strings.Join(got, " ") != c.want || answer.SourcesAnswered != c.answered || answer.SourcesAsked != asked ||
			answer.Clear != (c.answered == asked) ||
			len(answer.Citations) != len(answer.Sources) {
			t.Errorf("%s: %v, want %s; %+v", name, got, c.want, answer)
		}
	}
}

// FuzzCompare: of two arbitrary states there is an answer that can be written, cites what it tells, is in order, and says nothing of a
// state
// and itself.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(rowsState(row("a", "x", "usd", 1, 1))), []byte(rowsState(row("a", "x", "usd", 2, 1))), 0.5)
	f.Add([]byte(`{"themes":[{"headlines":[{"url":"u","publishedAt":"9999-12-31T23:59:59-10:00"}]},1]}`),
		[]byte(`{"rows":{"id":"x"},"themes":[[]]}`), 0.0)
	f.Add([]byte(`{"flags":[{"id":"x","severity":"notice","since":"9999-12-31T23:59:59-10:00"}]}`),
		[]byte(`{"flags":1,"source_status":[{"id":"s","status":"error"}]}`), 0.0)
	f.Add([]byte(`{"rows":[{"group":"a","id":"x","usd":-1e308}]}`), []byte(`{"rows":[{"group":"a","id":"x","usd":1e308}]}`), 0.0)
	f.Fuzz(func(t *testing.T, from, to []byte, least float64) {
		ask := state.Ask{Min: least}
		answer := compared(string(from), string(to), ask)
		if _, err := json.Marshal(answer); err != nil {
			t.Fatal(err)
		}
		cited := func(ref int) bool {
			return ref < 1 || ref > 5 || slices.ContainsFunc(answer.Citations, func(c api.Citation) bool { return c.Ref == ref })
		}
		for i, r := range answer.Rows {
			if r.From == r.To || !cited(r.Ref) || r.ChangePct != nil && (*r.ChangePct < least && *r.ChangePct > -least) ||
				i >= api.MaxChangedRows {
				t.Errorf("row %+v", r)
			}
		}
		for _, f := range answer.Flags {
			if !cited(f.Ref) || (f.Was == "") && f.Change != api.FlagAppeared && len(from) == 0 {
				t.Errorf("flag %+v", f)
			}
		}
		if same := compared(string(to), string(to), state.Ask{}); len(same.Rows)+len(same.Flags)+len(same.Headlines) > 0 {
			t.Errorf("%q differs from itself: %+v", to, same)
		}
	})
}

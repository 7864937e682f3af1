package tui_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// paneLine is the line of a view at whose left edge a box has a row that begins so, as far as the box goes; "" where there is none.
func paneLine(v, prefix string) string {
	for line := range strings.Lines(v) {
		if cells := strings.Split(line, "│"); len(cells) > 1 && strings.HasPrefix(strings.TrimLeft(cells[1], " ▌"), prefix+" ") {
			return cells[1]
		}
	}
	return ""
}

// TestAgeIsNeverALie walks a daemon through outages. At every step the view tells the age of each price as it is, without colours.
func TestAgeIsNeverALie(t *testing.T) {
	t.Parallel()
	w := daemontest.NewWalk(t)
	c := client(t, w.URL(), w.Key(t, api.TierPro))
	w.Outages(func(step string) {
		t.Helper()
		fresh, err := c.Fresh(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var s api.CryptoState
		if err := json.Unmarshal(fresh.State, &s); err != nil {
			t.Fatal(err)
		}
		ui := start(t, 200, 120, func(cfg *tui.Config) {
			cfg.Stream, cfg.Service, cfg.Account, cfg.Now = tui.Subscribe(c), c, nil, w.Clock.Now
		})
		ui.shows("BTC")
		ui.shows("Sources")
		ui.shows("[1] coingecko-markets")
		v, want := ui.view(), w.Truth()
		header, _, _ := strings.Cut(v, "\n")
		says := " " + human.Age(time.Duration(want.AgeSeconds)*time.Second)
		if want.DataAgeSeconds > want.AgeSeconds {
			says += ", data " + human.Age(time.Duration(want.DataAgeSeconds)*time.Second)
		}
		if !strings.Contains(header, says+" ") || strings.Contains(header, "STALE") != (want.DataAgeSeconds > api.MaxFreshAge) {
			t.Errorf("%s: the header does not say %q: %s", step, says, header)
		}
		check := func(what, prefix string, ref int) {
			t.Helper()
			line, told := paneLine(v, prefix), ""
			age, late := w.Late(ref)
			if late {
				told = human.Stale(age)
			}
			if line == "" || !strings.Contains(line, told) || (told == "") == strings.Contains(line, "STALE") {
				t.Errorf("%s: %s is marked %q by %q", step, what, told, line)
			}
		}
		for _, m := range s.TopMovers {
			check(m.ID, m.Symbol, m.Ref)
		}
		for _, r := range s.ProtocolTVL[:3] {
			check(r.ID, r.Name, r.Ref)
		}
	})
}

// late is a session with a state of which all sources but two failed a quarter of an hour ago.
func late(t *testing.T) (s *session.Session, fine []int) {
	t.Helper()
	s, fine = known(t), []int{5, 11}
	var doc map[string]any
	if err := json.Unmarshal(s.State, &doc); err != nil {
		t.Fatal(err)
	}
	for _, row := range doc["source_status"].([]any) {
		row := row.(map[string]any)
		ref := int(row["ref"].(float64))
		row["fetchedAt"], row["failures"], row["status"], row["intervalSeconds"] = s.Now.Add(-14*time.Minute-2*time.Second), 3, "stale", 300
		if slices.Contains(fine, ref) {
			row["fetchedAt"], row["failures"], row["status"] = s.Now, 0, "ok"
		}
	}
	flags := doc["flags"].([]any)
	warning := maps.Clone(flags[0].(map[string]any))
	warning["kind"], warning["ref"] = api.FlagSourceStale, 1
	doc["flags"] = append(flags, warning)
	state, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	s.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{State: state, TS: s.Now.Add(time.Millisecond)}})
	return s, fine
}

// TestLateRows: every row of a source that is overdue says so, at every width, and no number is cut for it. A warning about a source is no
// data of it.
func TestLateRows(t *testing.T) {
	t.Parallel()
	s, fine := late(t)
	th := view.NewTheme(view.Plain, view.NoColor, false)
	for _, m := range tui.Members(s) {
		for _, width := range []int{27, 47, 60, 111, 200} {
			table := tui.NewTable(m, s, th, width)
			before := known(t)
			before.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{State: before.State, TS: before.Now.Add(time.Millisecond)}})
			usual := tui.NewTable(m, before, th, width)
			for i, r := range table.Rows[:len(usual.Rows)] {
				want, row := !slices.Contains(fine, r.Ref), table.Draw(th, i)
				if strings.HasSuffix(row, " STALE 14m") != want || (r.Late != "") != want || !want && strings.Contains(row, "STALE") {
					t.Errorf("%s[%d] of [%d] in %d columns: %q", m, i, r.Ref, width, row)
				}
				if got := view.Width(row); width >= 47 && got > width {
					t.Errorf("%s[%d] has %d of %d columns", m, i, got, width)
				}
				cells := view.Width(strings.TrimSuffix(row, " STALE 14m"))
				if heads := view.Width(view.Header(th, table.Columns)); width >= 47 && m != tui.Flags && cells+1 != heads {
					t.Errorf("%s[%d] in %d columns: cells take %d and their headings %d", m, i, width, cells, heads-1)
				}
				if price := strings.Fields(row); m == movers && (strings.Contains(row, "…") || len(price) < 2 || strings.Contains(price[1], "~")) {
					t.Errorf("a number is cut: %q", row)
				}
			}
		}
	}
	warning := tui.NewTable(tui.Flags, s, th, 200)
	if last := len(warning.Rows) - 1; strings.Contains(warning.Draw(th, last), "STALE") || s.Flags[last].Kind != api.FlagSourceStale {
		t.Errorf("a warning: %q", warning.Draw(th, last))
	}
	s.Recorded, s.Now = true, s.Now.AddDate(0, 0, 1)
	if row := tui.NewTable(movers, s, th, 60).Rows[0]; row.Late != "STALE 14m" {
		t.Errorf("of a recording: %q", row.Late)
	}
}

// TestLateSources: the sources of a brief and that of the row at the cursor say so too.
func TestLateSources(t *testing.T) {
	t.Parallel()
	s, _ := late(t)
	d := live(t, 120, 40)
	d.fake.events <- sdk.Event{Type: api.EventDelta, State: api.StreamState{Pack: api.PackCrypto, State: s.State, TS: began()}}
	d.shows("STALE 14m")
	line := func(begins string) string {
		for line := range strings.Lines(d.view()) {
			if _, rest, ok := strings.Cut(line, begins); ok {
				return rest
			}
		}
		return ""
	}
	if got := line("[1] coingecko-markets     "); !strings.Contains(got, "20:05 STALE 1m ") { // that of the brief, which is younger here
		t.Errorf("the source of the brief: %q", got)
	}
	d.press("enter")
	if got := line("source      [1] coingecko-markets"); !strings.HasPrefix(got, " STALE 14m ") {
		t.Errorf("the source of the row: %q in\n%s", got, d.view())
	}
	d.press("esc", "2")
	if got := line("[10] alternativeme-fng    "); !strings.Contains(got, "16:06 STALE 4h00m") {
		t.Errorf("on the screen of the brief: %q in\n%s", got, d.view())
	}
}

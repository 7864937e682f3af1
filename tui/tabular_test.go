package tui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// perps is the state of a pack that no code knows.
func perps(t testing.TB) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("../client/testdata/perps_state.json")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text)
}

// livePerps is the program with that pack, connected and with all that comes at the start.
func livePerps(t testing.TB, width, height int, changes ...func(*tui.Config)) *program {
	t.Helper()
	d := start(t, 120, 40, append(changes, func(c *tui.Config) { c.Pack = "perps" })...)
	d.fake.mu.Lock()
	d.fake.past = pasts(t, perps(t), map[string]string{"funding": "fundingPct"})
	d.fake.mu.Unlock()
	d.fake.events <- sdk.Connection{Connected: true, Demo: true}
	d.fake.events <- delta(perps(t), 42*time.Second)
	d.shows("+0.0825%")
	d.shows("84,201 cr")
	d.trends()
	d.apply(tea.WindowSizeMsg{Width: width, Height: height})
	return d
}

// TestGoldenTables compares every screen that shows something of the state of a pack that no code knows.
func TestGoldenTables(t *testing.T) {
	t.Parallel()
	for _, size := range sizes() {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			d := livePerps(t, size[0], size[1])
			golden(t, fmt.Sprintf("perps-live-%dx%d", size[0], size[1]), d.view(), size[0], size[1])
			d.press("5")
			fills(t, "sources", d.view(), size[0], size[1])
			if size == [2]int{80, 24} {
				same(t, "perps-sources-80x24", d.view())
			}
		})
	}
	d := livePerps(t, 80, 24, func(c *tui.Config) { c.ASCII = true })
	golden(t, "perps-ascii", d.view(), 80, 24)
}

// knownPerps is a session with that state.
func knownPerps(t *testing.T) *session.Session {
	t.Helper()
	s := session.New("perps", began(), 0)
	s.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{State: perps(t), TS: began()}})
	return s
}

// TestTabularRows: each row has what can be copied, cited and found of it, at every width, and what is late says so.
func TestTabularRows(t *testing.T) {
	t.Parallel()
	s := knownPerps(t)
	th := view.NewTheme(view.Dark, view.Colors256, false)
	if got := fmt.Sprint(tui.Members(s)); got != "[funding predicted_funding volatility notices liquidations flags]" {
		t.Errorf("the members are %s", got)
	}
	for _, m := range tui.Members(s) {
		for width := range 130 {
			table := tui.NewTable(m, s, th, width)
			for i, r := range table.Rows {
				if r.Path == "" || r.Label == "" || r.Value == "" || r.Ref == 0 || len(r.Facts()) == 0 || !strings.HasPrefix(r.Main, string(m)) {
					t.Errorf("%s[%d]: %+v", m, i, r)
				}
				line := table.Draw(th, i)
				if got := view.Width(line); width >= 24 && got > width-1 {
					t.Errorf("%s[%d] in %d columns has %d: %q", m, i, width, got, line)
				}
				if late := m == "predicted_funding"; (r.Late == "STALE 13m") != late || width > 30 && strings.Contains(line, "STALE") != late {
					t.Errorf("%s[%d] is late %q: %q", m, i, r.Late, line)
				}
			}
		}
	}
	r := tui.NewTable("funding", s, th, 80).Rows[0]
	if r.Main != "funding[0].fundingPct" || r.Value != "0.0825" || fmt.Sprint(r.Facts()) != "[[name Meridian] [funding +0.0825%] [open interest $41.2M] [open interest 1h +3.10%] [mark $0.0418]]" {
		t.Errorf("%+v", r)
	}
	r = tui.NewTable("notices", s, th, 80).Rows[1]
	if r.Main != "notices[1].name" || r.URL != "https://deribit.example/n2" || fmt.Sprint(r.Facts()[1]) != "[published Nov 18 09:00]" {
		t.Errorf("%+v", r)
	}
	if empty := tui.NewTable("funding", session.New("perps", began(), 0), th, 60); len(empty.Rows) != 0 {
		t.Error("rows without a state")
	}
}

// TestTabularKeys: rows are sorted by the columns of numbers, found, opened, copied and followed as those of any pack.
func TestTabularKeys(t *testing.T) {
	t.Parallel()
	d := livePerps(t, 120, 40)
	d.press("s")
	d.shows("sorted: funding")
	d.press("s")
	d.shows("sorted: open interest")
	_, table, _ := strings.Cut(d.view(), "OPEN INTEREST")
	if row := first(table, "Bitcoin", "Meridian"); row != "Bitcoin" {
		t.Errorf("%s comes first:\n%s", row, d.view())
	}
	d.press("/", "zcash", "enter")
	d.press("enter")
	d.shows("open interest 1h +24.80%")
	d.press("esc", "/", "ctrl+u", "enter")
	d.fake.events <- sdk.Event{Type: api.EventDelta, State: api.StreamState{Pack: "perps", TS: began(),
		State: json.RawMessage(strings.Replace(string(perps(t)), `"fundingPct":0.0825`, `"fundingPct":0.0925`, 1))}}
	d.shows("▲")
	d.press("P", "crypto", "enter")
	d.shows("Waiting for the first state of pack crypto")
}

// TestPacksInPalette: the packs of the service can be chosen by the beginning of their names, and any other can be typed.
func TestPacksInPalette(t *testing.T) {
	t.Parallel()
	listed := func(c *tui.Config) {
		c.Packs = func(context.Context) []string { return []string{"ai", "crypto", "perps"} }
	}
	for typed, want := range map[string]string{"pack pe": "perps", "pack a": "ai", "pack other": "other", "perps": "perps", "pack NAME": "NAME"} {
		d := start(t, 120, 40, listed)
		d.press("5", ":", "pack")
		d.shows("pack crypto")
		d.press("ctrl+u", typed, "enter")
		d.shows("ctx  " + want)
	}
}

// first is which of words comes first in a text.
func first(text string, words ...string) (found string) {
	at := len(text)
	for _, w := range words {
		if i := strings.Index(text, w); i >= 0 && i < at {
			at, found = i, w
		}
	}
	return found
}

// TestTabularTrend: the past of a table of a pack that no code knows is the curve of its rows.
func TestTabularTrend(t *testing.T) {
	t.Parallel()
	d := livePerps(t, 120, 40)
	d.shows("[24h]")
	d.shows("TREND 24h")
	d.fake.events <- sdk.Connection{Connected: true}
	d.until("a question, where calls are charged", func(v string) bool {
		d.press("H")
		return strings.Contains(v, "Load the trends of all 3 tables? It costs 3 credits.")
	})
	d.press("n")
	golden(t, "perps-trend-120x40", d.view(), 120, 40)
}

// TestTabularShapes: whatever members there are, every size is filled and nothing is lost.
func TestTabularShapes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"flags alone":   `{"flags":[{"id":"f","kind":"k","severity":"warning","message":"the flag","ref":1}],"source_status":[{"ref":1,"id":"s","status":"ok"}]}`,
		"one member":    `{"a":[{"id":"x","ref":1}],"flags":[{"id":"f","kind":"k","severity":"warning","message":"the flag","ref":1}]}`,
		"two members":   `{"a":[{"id":"x","nUsd":1,"ref":1}],"health":[],"flags":[{"id":"f","kind":"k","severity":"warning","message":"the flag","ref":1}]}`,
		"seven members": `{"a":[],"b":[],"brief":[],"tree":[],"sentiment":[{"id":"x","n":1,"ref":1}],"detail":[],"activity":[],"flags":[{"id":"f","kind":"k","message":"the flag","ref":1}]}`,
	} {
		d := start(t, 120, 40, func(c *tui.Config) { c.Pack, c.Account = "other", nil })
		d.fake.events <- sdk.Connection{Connected: true}
		d.fake.events <- delta([]byte(text), time.Minute)
		d.shows("the flag")
		for _, size := range [][2]int{{60, 16}, {79, 24}, {80, 20}, {80, 24}, {100, 30}, {120, 34}, {120, 40}, {200, 60}} {
			d.apply(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			seen := ""
			for range 12 {
				lines := strings.Split(d.view(), "\n")
				if len(lines) != size[1] {
					t.Errorf("%s at %v: %d lines", name, size, len(lines))
				}
				for i, line := range lines {
					if got := view.Width(line); got != size[0] {
						t.Errorf("%s at %v: line %d has %d columns: %q", name, size, i+1, got, line)
					}
				}
				seen += d.view()
				d.press("tab")
			}
			for _, title := range []string{"Flags", "the flag", "Brief", "Health"} {
				if !strings.Contains(seen, title) {
					t.Errorf("%s at %v never shows %q:\n%s", name, size, title, d.view())
				}
			}
		}
	}
}

// TestTabularAbout: a row whose figures are older than their poll says what they are about, in its line and among what is known of it.
func TestTabularAbout(t *testing.T) {
	t.Parallel()
	s := session.New("markets", began(), 0)
	s.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{TS: began(), State: []byte(`{"volatility":[
		{"id":"VIX","name":"VIX","level":23.26,"date":"2026-11-19","ref":1,"of":"2026-11-19"},{"id":"VXN","name":"VXN","level":25,"ref":1}],
		"yields":[{"id":"10y","name":"10-year Treasury","yieldPct":3.97,"spreadBp":12,"ref":1,"of":"2026-11-19"}],
		"flags":[],"source_status":[{"ref":1,"id":"a","status":"ok"}]}`)}})
	th := view.NewTheme(view.Plain, view.NoColor, false)
	for _, width := range []int{30, 47, 60, 111, 200} {
		table := tui.NewTable("volatility", s, th, width)
		for i, want := range []bool{true, false} {
			if line := table.Draw(th, i); strings.Contains(line, "2026-11-19") != want || view.Width(line) > width {
				t.Errorf("in %d columns: %q", width, line)
			}
		}
	}
	for width, want := range map[int]bool{28: false, 31: false, 40: false, 48: true} { // of two figures neither goes for the date
		yields := tui.NewTable("yields", s, th, width)
		if line := yields.Draw(th, 0); strings.Contains(line, "of 2026-11-19") != want || !strings.Contains(line, "3.97%") ||
			!strings.Contains(line, "12 bp") {
			t.Errorf("in %d columns: %q", width, line)
		}
	}
}

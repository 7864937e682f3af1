package tui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// env is what the screen is given, with a state of a pack.
func env(t *testing.T, pack string, state json.RawMessage) *tui.Env {
	t.Helper()
	now := time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC)
	th := view.NewTheme(view.Plain, view.NoColor, false)
	e := &tui.Env{Ctx: t.Context(), Session: session.New(pack, now, 0), Theme: &th, Charts: &tui.Charts{}, Keys: view.DefaultKeymap()}
	e.Session.Connection(sdk.Connection{Connected: true}, session.Problem{})
	if state != nil {
		e.Session.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{Pack: pack, State: state, TS: now}})
	}
	return e
}

// crypto is the state that ctx is tested with too.
func crypto(t *testing.T) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("../client/testdata/crypto_state.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func press(s *tui.Live, text string) tea.Cmd {
	kinds := map[string]tea.KeyType{"tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "enter": tea.KeyEnter, "esc": tea.KeyEsc}
	if kind, ok := kinds[text]; ok {
		return s.Update(tea.KeyMsg{Type: kind})
	}
	return s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)})
}

// TestFillsEverySize draws states of every kind, hostile ones among them, in every size: each line is exactly as wide as it should be.
func TestFillsEverySize(t *testing.T) {
	t.Parallel()
	wider, higher := 7, 5
	if !long.On() {
		wider, higher = 17, 11
	}
	wide := strings.NewReplacer("Bitcoin", "漢字漢字漢字漢字漢字", "BTC", `\u001b[2J漢字漢字漢字漢字`, "Lido", "é\\u0301\\u202e").Replace(string(crypto(t)))
	for name, e := range map[string]*tui.Env{
		"waiting": env(t, api.PackCrypto, nil),
		"crypto":  env(t, api.PackCrypto, crypto(t)),
		"hostile": env(t, api.PackCrypto, json.RawMessage(wide)),
		"empty":   env(t, api.PackCrypto, json.RawMessage(`{"top_movers":[],"source_status":[{"id":"x","status":"error"}],"sentiment":{}}`)),
		"nulls":   env(t, api.PackCrypto, json.RawMessage(`{"top_movers":[{"id":"x"}],"protocol_tvl":[{}],"trending_pools":[{}],"narratives":[{}],"flags":[{}],"source_status":[{}],"sentiment":{"fearGreed":{},"market":{},"breadth":{},"stablecoins":{},"fees":{},"predictions":[{}]}}`)),
		"other":   env(t, "ai", json.RawMessage(`{"a":{"b":["`+strings.Repeat("漢", 200)+`"]}}`)),
		"scalar":  env(t, "ai", json.RawMessage(`7`)),
	} {
		s := tui.NewLive(e)
		for width := 60; width <= 210; width += wider {
			for height := 12; height <= 60; height += higher {
				for range 4 {
					lines := s.View(width, height)
					if len(lines) != height {
						t.Fatalf("%s at %dx%d: %d lines", name, width, height, len(lines))
					}
					for i, line := range lines {
						if got := ansi.StringWidth(line); got != width {
							t.Fatalf("%s at %dx%d, line %d: %d columns: %q", name, width, height, i, got, line)
						}
					}
					press(s, "tab")
					press(s, "j")
					press(s, "enter")
				}
			}
		}
	}
}

// TestPanes goes through all panes in both directions, in little room and in much.
func TestPanes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ width, height, panes int }{{60, 12, 8}, {80, 20, 7}, {110, 28, 7}, {120, 36, 7}} {
		s := tui.NewLive(env(t, api.PackCrypto, crypto(t)))
		first := strings.Join(s.View(test.width, test.height), "\n")
		seen := map[string]bool{}
		for range test.panes {
			seen[strings.Join(s.View(test.width, test.height), "\n")] = true
			press(s, "tab")
		}
		if test.height == 12 && len(seen) != test.panes {
			t.Errorf("%dx%d: %d views of %d panes", test.width, test.height, len(seen), test.panes)
		}
		for range test.panes {
			press(s, "shift+tab")
		}
		if got := strings.Join(s.View(test.width, test.height), "\n"); got != first {
			t.Errorf("%dx%d: after a round\n%s\nnot\n%s", test.width, test.height, got, first)
		}
	}
}

// TestSortAndFilter orders and filters the movers.
func TestSortAndFilter(t *testing.T) {
	t.Parallel()
	s := tui.NewLive(env(t, api.PackCrypto, crypto(t)))
	firstRow := func() string { return strings.Fields(s.View(80, 20)[2])[0] }
	for _, want := range []string{"│▌BTC", "│▌BTC", "│▌ZEC", "│▌ZEC", "│▌ZEC", "│▌BTC", "│▌BTC", "│▌BTC"} {
		if got := firstRow(); got != want {
			t.Errorf("first is %s, want %s", got, want)
		}
		press(s, "s")
	}
	press(s, "/")
	if !s.Typing() {
		t.Fatal("/ does not begin a filter")
	}
	press(s, "loser")
	press(s, "enter")
	if got := firstRow(); got != "│▌ENA" { // they are still by the hour
		t.Errorf("of the losers the first is %s", got)
	}
	press(s, "/")
	press(s, "x")
	press(s, "enter")
	if v := strings.Join(s.View(80, 20), "\n"); !strings.Contains(v, "nothing matches the filter") {
		t.Errorf("filter loserx:\n%s", v)
	}
	press(s, "esc")
	if got := firstRow(); got != "│▌ZEC" && got != "│▌BTC" {
		t.Errorf("without a filter the first is %s", got)
	}
}

// TestBindingsDoSomething checks that what the footer offers is in the map of keys, in every pane.
func TestBindingsDoSomething(t *testing.T) {
	t.Parallel()
	s := tui.NewLive(env(t, api.PackCrypto, crypto(t)))
	s.View(60, 12)
	for range 8 {
		if len(s.Bindings()) == 0 {
			t.Error("a pane without keys")
		}
		for _, b := range s.Bindings() {
			if b.Help().Key == "" || b.Help().Desc == "" {
				t.Errorf("a key without words: %v", b)
			}
		}
		press(s, "tab")
	}
}

// TestRowKeys checks what the keys of a row ask of the program.
func TestRowKeys(t *testing.T) {
	t.Parallel()
	e := env(t, api.PackCrypto, crypto(t))
	e.Session.Brief = &api.BriefResponse{Citations: []api.Citation{{Ref: 1, SourceID: "one", URL: "https://one.example"}, {Ref: 4, SourceID: "four", URL: "https://four.example"}}}
	s := tui.NewLive(e)
	s.View(120, 36)
	for key, want := range map[string]string{
		"y": "{91442.9 BTC 91442.9}", "Y": "{top_movers[0].priceUsd top_movers[0].priceUsd}", "o": "{https://one.example}",
		"c": "{- [one](https://one.example), fetched 0001-01-01 00:00 UTC the citation of one}",
	} {
		if got := fmt.Sprint(press(s, key)()); got != want {
			t.Errorf("%s asks %s, want %s", key, got, want)
		}
	}
	for range 3 { // to the narratives, whose first headline has an address of its own
		press(s, "tab")
	}
	if got, ok := press(s, "o")().(tui.OpenMsg); !ok || !strings.HasPrefix(got.URL, "https://") || got.URL == "https://four.example" {
		t.Errorf("o on a narrative opens %v", got)
	}
}

// TestChartColour: a chart has the colour of what it draws, not of the last day's figure beside it.
func TestChartColour(t *testing.T) {
	t.Parallel()
	for price, style := range map[string]view.Style{"91500.1": view.NewTheme(view.Dark, view.Colors256, false).Good,
		"91400.1": view.NewTheme(view.Dark, view.Colors256, false).Bad} {
		d := start(t, 120, 40, func(c *tui.Config) { c.Theme, c.Depth = view.Dark, view.Colors256 })
		d.fake.events <- sdk.Connection{Connected: true}
		d.fake.events <- delta(state(t), 42*time.Second)
		d.fake.events <- delta([]byte(strings.Replace(string(state(t)), `"priceUsd":91442.9`, `"priceUsd":`+price, 1)), 12*time.Second)
		d.until("a curve to now", func(v string) bool { return strings.Contains(ansi.Strip(v), "● now") })
		if v := d.view(); !strings.Contains(v, style.On(view.NewTheme(view.Dark, view.Colors256, false).Bold.On("●"))) {
			t.Errorf("%s: the end of the curve has another colour:\n%q", price, v)
		}
	}
}

// TestLayoutFills: at 200x60 what waited behind other tables has a place of its own while there is room for it.
func TestLayoutFills(t *testing.T) {
	t.Parallel()
	doc := `{"flags":[],"source_status":[{"ref":1,"id":"s","status":"ok"}]`
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"} {
		doc += `,"` + name + `":[{"id":"` + name + `-row","nUsd":1,"ref":1},{"id":"x","nUsd":2,"ref":1}]`
	}
	s := tui.NewLive(env(t, "other", json.RawMessage(doc+"}")))
	seen := strings.Join(s.View(200, 56), "\n")
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"} {
		if !strings.Contains(seen, name+"-row") {
			t.Errorf("%s is not on the screen:\n%s", name, seen)
		}
	}
}

// TestNotice: what the surroundings have to say stands in the footer until something else is told, and nowhere where there is nothing.
func TestNotice(t *testing.T) {
	t.Parallel()
	const newer = "this service runs v1.3.0, newer than ctx v1.2.0"
	said := ""
	d := live(t, 120, 40, func(c *tui.Config) { c.Notice = func() string { return said } })
	d.hides("this service runs")
	said = newer
	d.press("2")
	d.shows(newer)
}

// TestNothingSpent: before anything answered, nothing is said of what was spent.
func TestNothingSpent(t *testing.T) {
	t.Parallel()
	d := start(t, 120, 40, func(c *tui.Config) { c.Account = nil })
	d.fake.events <- sdk.Connection{Err: errors.New("no route to host")}
	d.shows("no route to host")
	d.hides("cr spent")
	d.hides("0 credits here")
}

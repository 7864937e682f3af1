package tui_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/view"
)

// fills checks that a view fills the terminal exactly.
func fills(t *testing.T, name, view string, width, height int) {
	t.Helper()
	lines := strings.Split(view, "\n")
	if len(lines) != height {
		t.Errorf("%s: %d lines, want %d", name, len(lines), height)
	}
	for i, line := range lines {
		if got := ansi.StringWidth(line); got != width {
			t.Errorf("%s: line %d has %d columns, want %d: %q", name, i+1, got, width, line)
		}
	}
}

// golden compares a view with the file of a name, and checks that it fills the terminal exactly.
func golden(t *testing.T, name, view string, width, height int) {
	t.Helper()
	fills(t, name, view, width, height)
	same(t, name, view)
}

// same compares text with the file of a name.
func same(t *testing.T, name, view string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	if updating() {
		if err := os.WriteFile(file, []byte(view+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if view+"\n" != string(want) {
		t.Errorf("%s differs; go test ./tui -update rewrites it. It is\n%s\nnot\n%s", name, view, want)
	}
}

// eachScreen goes to every screen as a user does, and calls seen with what it shows.
func eachScreen(d *program, seen func(screen, view string)) {
	d.fake.snapshot = func(at time.Time) (*api.StateResponse, error) {
		return &api.StateResponse{State: moved(d.t), Freshness: api.Freshness{GeneratedAt: at.Add(43 * time.Second), AgeSeconds: 17}}, nil
	}
	ready := map[string][]string{"Lookup": {"bitcoin, ada", "enter"}, "History": {"enter"}}
	text := map[string]string{"Lookup": "2 answers", "History": "Past: Fri 2026-11-20 20:05 UTC", "Keys": "my-agent", "Credits": "2026-11-19"}
	for i, name := range view.ScreenNames() {
		d.press(fmt.Sprint(i + 1))
		d.press(ready[name]...)
		if text[name] != "" {
			d.shows(text[name])
		}
		seen(strings.ToLower(name), d.view())
	}
}

// sizes are the sizes of terminals. Goldens hold every screen at the two middle ones, and at the others those alone that lay themselves out
// anew there.
func sizes() [][2]int { return [][2]int{{60, 16}, {80, 24}, {120, 40}, {200, 60}} }

// TestGolden compares the screens with how they were found good: their footers in one file for each size, so that a
// word there changes no more.
func TestGolden(t *testing.T) {
	t.Parallel()
	for i, size := range sizes() {
		width, height := size[0], size[1]
		t.Run(fmt.Sprintf("%dx%d", width, height), func(t *testing.T) {
			t.Parallel()
			var footers strings.Builder
			eachScreen(live(t, width, height), func(screen, shown string) {
				fills(t, screen, shown, width, height)
				last := strings.LastIndex(shown, "\n")
				fmt.Fprintln(&footers, screen+":"+shown[last+1:])
				if i == 1 || i == 2 || screen == "live" {
					same(t, fmt.Sprintf("%s-%dx%d", screen, width, height), shown[:last])
				}
			})
			same(t, fmt.Sprintf("footers-%dx%d", width, height), strings.TrimSuffix(footers.String(), "\n"))
		})
	}
}

// TestGoldenMarks does so for how things are marked: without colour, in ASCII, and on dark and light terminals.
func TestGoldenMarks(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*tui.Config){
		"nocolor": func(c *tui.Config) { c.Theme, c.Depth = view.Dark, view.NoColor },
		"ascii":   func(c *tui.Config) { c.ASCII = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := live(t, 80, 24, change)
			eachScreen(d, func(screen, view string) {
				fills(t, screen, view, 80, 24)
				if slices.Contains([]string{"live", "sources", "credits"}, screen) { // marks, states and gauges
					same(t, screen+"-"+name, view)
				}
				if name == "ascii" && strings.ContainsFunc(view, func(r rune) bool { return r > '~' }) {
					t.Errorf("%s has more than ASCII:\n%s", screen, view)
				}
				if name == "nocolor" && strings.Contains(view, "\x1b[3") || strings.Contains(view, "\x1b[9") {
					t.Errorf("%s has colours:\n%q", screen, view)
				}
			})
		})
	}
}

// TestGoldenMoments compares what is shown in special moments.
func TestGoldenMoments(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(d *program){
		"changed": func(d *program) {
			d.fake.events <- delta(moved(t), 2*time.Second)
			d.shows("91,500.10")
		},
		"lost": func(d *program) {
			d.fake.events <- sdk.Connection{Err: errors.New("the service ended the stream"), Wait: 4 * time.Second, Reconnects: 1}
			d.shows("RETRY 4s")
		},
		"revoked": func(d *program) {
			d.fake.events <- &api.Error{Code: api.CodeAuthInvalid, Reason: api.ReasonKeyRevoked, Status: 401, Message: "key cv_test_ab12cd34 was revoked", RequestID: "6f1c0000-0000-4000-8000-000000000000"}
			d.shows("OFFLINE")
		},
		"stale": func(d *program) {
			d.clock.pass(10 * time.Second)
			d.fake.events <- sdk.Event{Type: api.EventPulse, State: api.StreamState{Pack: api.PackCrypto, State: state(d.t), TS: began().Add(-42 * time.Second)}}
			d.clock.pass(5 * time.Minute)
			d.fake.events <- sdk.Event{Type: api.EventPulse, State: api.StreamState{Pack: api.PackCrypto, State: state(d.t), TS: began().Add(-42 * time.Second)}}
			d.shows("STALE")
		},
		"help":    func(d *program) { d.press("?") },
		"palette": func(d *program) { d.press(":", "theme") },
		"detail":  func(d *program) { d.press("enter") },
		"revoke": func(d *program) {
			d.press("6")
			d.shows("my-agent")
			d.press("x")
			d.shows("Type my-agent")
		},
		"issued": func(d *program) {
			d.press("6")
			d.shows("my-agent")
			d.press("n", "robot", "enter")
			d.shows("shown this once")
			d.shows("robot             pro")
		},
		"packs": func(d *program) {
			d.press("7")
			d.shows("2026-11-19")
			d.press("b", "j")
		},
		"purchase": func(d *program) { buy(d) },
		"code": func(d *program) {
			buy(d)
			d.press("Q")
		},
		"bought": func(d *program) {
			buy(d)
			d.fake.deposits <- settled(api.DepositVerified)
			d.shows("10,000 credits are yours")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := live(t, 80, 24)
			act(d)
			golden(t, "moment-"+name, d.view(), 80, 24)
		})
	}
}

// buy begins a purchase.
func buy(d *program) {
	d.t.Helper()
	d.press("7")
	d.shows("2026-11-19")
	d.press("b", "j", "enter")
	d.shows("waiting for the transfer")
}

// TestGoldenPurchase compares a purchase where there is room for its code.
func TestGoldenPurchase(t *testing.T) {
	t.Parallel()
	d := live(t, 120, 40)
	buy(d)
	golden(t, "purchase-120x40", d.view(), 120, 40)
	d.apply(tea.WindowSizeMsg{Width: 60, Height: 16})
	golden(t, "purchase-60x16", d.view(), 60, 16)
}

// TestGoldenTree compares how a state of another pack is shown.
func TestGoldenTree(t *testing.T) {
	t.Parallel()
	d := start(t, 120, 40, func(c *tui.Config) { c.Pack, c.Account = "markets", nil })
	d.fake.events <- sdk.Connection{Connected: true}
	d.fake.events <- delta([]byte(`{"fx":[{"pair":"EUR/USD","rate":1.0712345678901234567},{"pair":"USD/JPY","rate":null}],"note":"a: \u001b[31mb\u202e","open":true,"none":[]}`), time.Minute)
	d.shows("EUR/USD")
	d.shows("Bitcoin trades at")
	golden(t, "tree-120x40", d.view(), 120, 40)
	d.press("/", "rate", "enter")
	d.apply(tea.WindowSizeMsg{Width: 60, Height: 16})
	golden(t, "tree-filtered-60x16", d.view(), 60, 16)
}

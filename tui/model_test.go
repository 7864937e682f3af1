package tui_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/view"
)

// top is the first line of the view.
func (d *program) top() string {
	line, _, _ := strings.Cut(d.view(), "\n")
	return line
}

// TestStatusIsHonest walks through the states of the connection: each is told when it is so, and only then.
func TestStatusIsHonest(t *testing.T) {
	t.Parallel()
	d := start(t, 100, 30)
	if !strings.Contains(d.top(), "◐ CONNECTING") {
		t.Errorf("at the start: %s", d.top())
	}
	d.fake.events <- sdk.Connection{Err: errors.New("no route"), Wait: 4 * time.Second}
	d.shows("◐ RETRY 4s")
	d.shows("no route")
	d.clock.pass(1500 * time.Millisecond)
	d.apply(tea.WindowSizeMsg{Width: 100, Height: 30})
	if !strings.Contains(d.top(), "RETRY 3s") {
		t.Errorf("after 1.5 s: %s", d.top())
	}
	d.clock.pass(5 * time.Second)
	d.apply(tea.WindowSizeMsg{Width: 100, Height: 30})
	if !strings.Contains(d.top(), "RETRY now") {
		t.Errorf("when the time has come: %s", d.top())
	}
	d.fake.events <- sdk.Connection{Connected: true, Reconnects: 1}
	d.fake.events <- delta(state(t), 0)
	d.shows("● LIVE 0:00")
	d.clock.pass(19 * time.Second)
	d.apply(tea.WindowSizeMsg{Width: 100, Height: 30})
	if !strings.Contains(d.top(), "● LIVE 0:19") {
		t.Errorf("a pulse is due: %s", d.top())
	}
	d.clock.pass(3 * time.Second)
	d.apply(tea.WindowSizeMsg{Width: 100, Height: 30})
	if !strings.Contains(d.top(), "◐ QUIET 0:22") {
		t.Errorf("a pulse is overdue: %s", d.top())
	}
	d.fake.events <- &api.Error{Status: 401, Reason: api.ReasonKeyRevoked, Message: "revoked", RequestID: "r-1"}
	d.shows("○ OFFLINE")
	d.press("!")
	d.shows("request r-1")
	d.press("esc", "esc")
	d.hides("✗ revoked")
	d.press("r")
	d.shows("◐ CONNECTING")
	d.fake.events <- sdk.Connection{Connected: true, Reconnects: 0}
	d.fake.events <- delta(moved(t), 0)
	d.shows("● LIVE")
	if got := d.fake.calls("subscribe"); got != 2 {
		t.Errorf("subscribed %d times, want 2: at the start and after r", got)
	}
}

// TestPause checks that a pause holds the newest state back and that it is there at once afterwards.
func TestPause(t *testing.T) {
	t.Parallel()
	d := live(t, 120, 40)
	d.press("p")
	d.shows("‖ PAUSED")
	d.fake.events <- delta(moved(t), 2*time.Second)
	d.shows("a newer state waits")
	if strings.Contains(d.view(), "91,500.10") {
		t.Error("the state moved during the pause")
	}
	d.press("p")
	d.shows("91,500.10")
	d.shows("● LIVE")
}

// TestOtherKeys gives every action another key, and checks that those do it, that the usual ones do nothing, and that no hint names one.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	changes := map[string][]string{"next-pane": {"f2"}, "page-down": {"f3"}, "page-up": {"f4"}}
	for _, a := range view.Actions() {
		if len(a.Keys[0]) == 1 {
			changes[a.Name] = []string{"alt+" + a.Keys[0]}
		}
	}
	keys, err := view.NewKeymap(changes)
	if err != nil {
		t.Fatal(err)
	}
	for name, account := range map[string]bool{"signed in": true, "signed out": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, 120, 40, func(c *tui.Config) {
				if c.Keys = &keys; !account {
					c.Account = nil
				}
			})
			withOtherKeys(d)
		})
	}
}

// usualHint is a hint that names a usual key.
var usualHint = regexp.MustCompile(`(^|[^+\w])([a-zA-Z0-9!?:@/]|\^.|tab) (asks|tries|goes|copies|loads|makes|quits|closes|compares|opens|steps?|scroll|all|more|help|quit|source|cite|copy|filter|sort|pause|pane)\b|with [a-z],|tab:`)

// withOtherKeys goes to every screen with alt and the usual key.
func withOtherKeys(d *program) {
	d.t.Helper()
	d.fake.snapshot = func(at time.Time) (*api.StateResponse, error) {
		return &api.StateResponse{State: moved(d.t), Freshness: api.Freshness{GeneratedAt: at.Add(43 * time.Second), AgeSeconds: 17}}, nil
	}
	alt := func(r rune) { d.apply(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: true}) }
	clean := func(where string) {
		d.t.Helper()
		for _, size := range [][2]int{{120, 40}, {60, 16}} {
			d.apply(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			if found := usualHint.FindString(d.view()); found != "" {
				d.t.Errorf("%s: %q in\n%s", where, found, d.view())
			}
		}
		d.apply(tea.WindowSizeMsg{Width: 120, Height: 40})
	}
	d.fake.events <- sdk.Connection{Connected: true}
	d.fake.events <- delta(state(d.t), 42*time.Second)
	d.shows("Movers")
	d.shows("Bitcoin trades at")
	d.press("p", "q", "?", "@", "5")
	if strings.Contains(d.view(), "PAUSED") || d.quit || !strings.Contains(d.view(), "Movers") {
		d.t.Errorf("usual keys do something:\n%s", d.view())
	}
	alt('p')
	d.shows("‖ PAUSED")
	d.shows("alt+p goes on")
	alt('p')
	for i, name := range view.ScreenNames() {
		alt(rune('1' + i))
		d.shows("[alt+" + string(rune('1'+i)) + " " + name + "]")
		clean(name)
		switch name {
		case "Lookup":
			d.press("bitcoin", "enter")
			d.shows("1 answer")
			alt('s')
			d.press("bitcoin")
			d.shows("of 5 matches")
			d.press("esc")
		case "History":
			d.press("enter")
			d.shows("PAST 20:05")
			alt('d')
			d.shows("differences from now")
		}
		clean(name)
	}
	alt('1')
	alt('?')
	d.shows("any key closes")
	clean("help")
	d.press("esc")
	d.clock.pass(time.Minute) // what was told last gives way
	d.fake.events <- sdk.Connection{Err: &sdk.TransportError{Err: syscall.ECONNREFUSED}, Wait: time.Second}
	d.shows("alt+r tries again")
	alt('q')
	d.until("end", func(string) bool { return d.quit })
}

// TestFlash checks that a change is marked without colour, for three seconds.
func TestFlash(t *testing.T) {
	t.Parallel()
	d := live(t, 120, 40)
	d.fake.events <- delta(moved(t), 2*time.Second)
	d.shows("▲ $91,500.10")
	d.shows("▼    $147.90")
	d.shows("#1: 2 values changed")
	d.clock.pass(3 * time.Second)
	d.apply(tea.WindowSizeMsg{Width: 120, Height: 40})
	if strings.Contains(d.view(), "▲ $91,500.10") {
		t.Error("the mark is still there after three seconds")
	}
}

// TestSizes checks that a terminal that is too small says so and loses nothing, and that one without a size is a usual one.
func TestSizes(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24)
	d.press("j", "j")
	before := d.view()
	d.apply(tea.WindowSizeMsg{Width: 54, Height: 12})
	if v := d.view(); !strings.Contains(v, "terminal 54x12, need 60x16") || strings.Contains(v, "BTC") {
		t.Errorf("small:\n%s", v)
	}
	for _, size := range [][2]int{{60, 16}, {61, 17}, {99, 20}, {100, 33}, {119, 34}, {300, 100}} {
		d.apply(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for _, screen := range "12345678" {
			d.press(string(screen))
			d.shows("[" + string(screen) + " ")
			if got := strings.Count(d.view(), "\n") + 1; got != size[1] {
				t.Errorf("%v, screen %c: %d lines", size, screen, got)
			}
		}
		d.press("1")
		d.shows("[1 Live]")
	}
	d.apply(tea.WindowSizeMsg{})
	if v := d.view(); v != before {
		t.Errorf("without a size:\n%s\nnot\n%s", v, before)
	}
}

// TestMouse clicks tabs and rows, and turns the wheel.
func TestMouse(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24)
	click := func(x, y int) {
		d.apply(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	}
	click(3, 7)
	d.shows("▌SOL")
	d.apply(tea.MouseMsg{X: 3, Y: 7, Button: tea.MouseButtonWheelDown})
	d.shows("▌ZEC")
	click(60, 6)
	d.shows("tab: 1 of 3")
	d.press("y")
	d.shows("copied BTC share")
	click(strings.Index("[1 Live]*1  2 Brief  3 Lookup  4 History", "3 L"), 1)
	d.shows("[3 Lookup]")
	d.press("esc", "1", "m")
	d.shows("the mouse selects text")
	click(79, 1)
	d.press("?")
	d.shows("1 of 2")
	d.press("x")
	d.shows("any key closes")
	click(10, 10)
	d.hides("any key closes")
}

// TestKeysEverywhere checks the keys that work on every screen.
func TestKeysEverywhere(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24, func(c *tui.Config) { c.Theme, c.Depth = view.Dark, view.Colors256 })
	dark := d.view()
	d.press("t")
	if d.view() == dark {
		t.Error("t changes nothing")
	}
	d.shows("theme light")
	d.press(":", "mono")
	d.shows("theme mono")
	d.press("enter")
	if v := d.view(); strings.Contains(v, "38;5") {
		t.Error("mono has colours")
	}
	d.press(":", "nonsense")
	d.shows("no such command")
	d.press("enter", "esc", "?")
	d.shows("1 of 2")
	d.press("x")
	d.shows("any key closes")
	d.press("x")
	d.hides("any key closes")
	d.press("!")
	d.shows("no error so far")
	d.clock.pass(4 * time.Second)
	d.apply(tea.WindowSizeMsg{Width: 80, Height: 24})
	if strings.Contains(d.view(), "no error so far") {
		t.Error("a line is still there after four seconds")
	}
	d.press("q")
	d.until("end", func(string) bool { return d.quit })
}

// TestQuitsAtOnce checks ctrl+c where letters are typed.
func TestQuitsAtOnce(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"3", "q"}, {"6", "n", "q"}, {":", "q"}, {"/", "q"}, {"6", "x"}} {
		d := live(t, 80, 24)
		if keys[0] == "6" {
			d.press("6")
			d.shows("my-agent")
		}
		d.press(keys...)
		if d.quit {
			t.Errorf("%v quits", keys)
		}
		d.press("ctrl+c")
		d.until("end", func(string) bool { return d.quit })
	}
}

// TestOtherPack switches to a pack of another shape, and nothing of the one before is left.
func TestOtherPack(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24)
	d.press("P")
	d.shows(":pack _")
	d.press("esc")
	d.over("markets")
	d.fake.events <- sdk.Connection{Connected: true}
	d.fake.events <- delta([]byte(`{"fx":[{"pair":"EUR/USD","rate":1.07}]}`), time.Second)
	d.shows("EUR/USD")
	d.press("j", "l", "j", "j", "y")
	d.shows("copied fx[0].rate")
	d.press("Y")
	if strings.Contains(d.view(), "BTC") {
		t.Errorf("the pack before is still there:\n%s", d.view())
	}
}

// TestOtherProfile goes over to another profile: only to one that can be had, and while a purchase waits not without a question.
func TestOtherProfile(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24)
	d.press("@")
	d.shows("there is no other profile")

	var asked, closed []string
	wrong := errors.New("the key is locked away")
	hold := make(chan struct{}, 10)
	d = live(t, 80, 24, func(c *tui.Config) {
		c.Profile, c.Profiles = "prod", []string{"at-home", "home", "home-of-others-with-a-long-name", "prod"}
		c.Switch = func(profile string) (tui.Config, error) {
			asked = append(asked, profile)
			<-hold
			return tui.Config{Close: func() { closed = append(closed, profile) }}, wrong
		}
	})
	d.press("@")
	d.shows("profile home-of-others-wi")
	d.shows("shown now")
	d.press("ho", "enter")
	d.shows("going over to home")
	d.press("q", "@", "5") // nothing begins until it is clear
	if d.quit || !strings.Contains(d.view(), "[1 Live]") {
		t.Errorf("keys do something on the way:\n%s", d.view())
	}
	hold <- struct{}{}
	d.shows("the key is locked away")

	wrong = nil
	d.press("esc")
	buy(d)
	d.press("1", "@", "home", "enter")
	d.shows("Go over while a purchase waits?")
	d.press("n", "@", "prod", "enter", "@", "home", "enter", "y")
	d.shows("going over to home")
	d.fake.deposits <- settled(api.DepositVerified) // which ends the purchase that was asked about
	d.shows("10,000 credits are yours")
	hold <- struct{}{}
	d.shows("something came that you should see first")
	d.press("@", "home", "enter")
	hold <- struct{}{}
	d.until("end", func(string) bool { return d.quit })
	if !slices.Equal(asked, []string{"home", "home", "home"}) || !slices.Equal(closed, []string{"home"}) {
		t.Errorf("asked for %q, closed %q", asked, closed)
	}
}

// TestCopies checks what reaches the terminal when something is copied.
func TestCopies(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24)
	for key, want := range map[string]string{"y": "91442.9", "Y": "top_movers[0].priceUsd", "c": "- [coingecko-markets](https://www.coingecko.com/), fetched 2026-11-20 20:05 UTC"} {
		d.press(key)
		d.shows("(OSC 52)")
		d.clock.pass(5 * time.Second) // until it is not shown any more
		if got := d.out.take(); got != "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(want))+"\x07" {
			t.Errorf("%s writes %q, want %q in base64", key, got, want)
		}
	}
}

// TestOpens checks that web addresses are opened and nothing else.
func TestOpens(t *testing.T) {
	t.Parallel()
	d := live(t, 120, 40, func(c *tui.Config) {
		note := c.Browse
		c.Browse = func(ctx context.Context, url string) error {
			if ctx.Done() != nil {
				t.Error("the browser would end with the screen")
			}
			return note(ctx, url)
		}
	})
	d.press("o")
	d.shows("opening https://www.coingecko.com/")
	d.until("browser", func(string) bool { return d.fake.calls("browse https://www.coingecko.com/") == 1 })
	d.press("5", "j", "o")
	d.shows("not opened, it is no web address: javascript:alert(1)")
	if n := d.fake.calls("browse"); n != 1 {
		t.Errorf("opened %d addresses", n)
	}
	d.press("j", "o")
	d.shows("the sources are not known")
}

// TestHostileText checks that what the service says cannot command the terminal.
func TestHostileText(t *testing.T) {
	t.Parallel()
	const hostile = `\u001b]0;owned\u0007\u001b[31m\u202e\u009b2J\u0000`
	bad := strings.NewReplacer(`"Bitcoin"`, `"Bit`+hostile+`coin"`, `"BTC"`, `"B`+hostile+`TC"`, `"id":"coingecko-markets"`, `"id":"`+hostile+`"`).Replace(string(state(t)))
	for _, width := range []int{60, 120, 200} {
		d := live(t, width, 50)
		d.fake.mu.Lock()
		hostileBrief := *d.fake.brief
		hostileBrief.Brief = "hostile \x1b[31m text \u202e [1]"
		d.fake.brief = &hostileBrief
		d.fake.mu.Unlock()
		d.press("b")
		d.fake.events <- delta([]byte(bad), time.Second)
		d.shows("#1: ")
		d.fake.events <- sdk.Event{Type: api.EventError, Message: "failed \x1b[2J\u009b"}
		eachScreen(d, func(screen, _ string) {
			if v := d.view(); strings.ContainsAny(v, "\x1b\x07\x00\u202e\u009b") {
				t.Errorf("%s at %d columns lets it through: %q", screen, width, v)
			}
		})
	}
}

// TestSaveAndReplay saves the stream and shows what was saved.
func TestSaveAndReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := live(t, 120, 40, func(c *tui.Config) { c.SaveDir = dir })
	d.fake.events <- delta(moved(t), time.Second)
	d.fake.events <- sdk.Event{Type: api.EventError, Message: "a source failed"}
	d.shows("a source failed")
	d.press("S")
	d.shows("saved 3 events")
	files, err := filepath.Glob(filepath.Join(dir, "ctx-crypto-20261120-200600.ndjson"))
	if err != nil || len(files) != 1 {
		t.Fatalf("saved %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	d.press("S")
	d.shows("save: open")

	again := start(t, 120, 40, ofFile(files[0]))
	again.shows("RECORDING")
	again.shows("91,500.10")
	again.shows("a source failed")
	again.shows("the recording is at its end")
	again.press("b", "H", "3")
	again.shows("[3 Lookup]")
	again.press("abc", "enter")
	again.shows("a recording has no service to ask")
	again.press("s", "abc")
	again.shows("a recording has no service to search")
}

// TestBrokenRecording checks what is said of a file that is none.
func TestBrokenRecording(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.ndjson")
	if err := os.WriteFile(file, []byte("{\"pack\":\"crypto\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "line 1 of the recording is no event", file + ".gone": "no such file"} {
		d := start(t, 120, 40, ofFile(path))
		d.shows(want)
	}
}

// TestReadOnly checks that no key is made or revoked.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24, func(c *tui.Config) { c.ReadOnly = true })
	d.press("6")
	d.shows("my-agent")
	for _, key := range []string{"n", "x"} {
		d.press(key)
		d.shows("started with --read-only")
		d.clock.pass(5 * time.Second)
	}
}

// TestNoAccess: a pack that the key may not read is no broken connection, and there is a way on.
func TestNoAccess(t *testing.T) {
	t.Parallel()
	d := start(t, 120, 40)
	d.fake.events <- &api.Error{Code: api.CodePackNotSubscribed, Reason: api.ReasonPackAccessDenied, Status: 403, Message: "pack \"markets\" needs credits"}
	d.shows("○ NO ACCESS")
	d.shows("P shows another pack, 7 buys credits")
	d.hides("OFFLINE")
	d.press("esc")
	d.over("perps")
	d.fake.events <- sdk.Connection{Connected: true}
	d.shows("● LIVE")
}

// TestSignedInMeanwhile: who signs in elsewhere goes on here, on the same stream and with the same key.
func TestSignedInMeanwhile(t *testing.T) {
	t.Parallel()
	for screen, loaded := range map[string]string{"6": "my-agent", "7": "84,201 credits"} {
		again, closed := 0, 0
		d := live(t, 80, 24, func(c *tui.Config) {
			account := c.Account
			c.Account = nil
			c.Again = func() (tui.Config, error) {
				in := *c
				in.Close = func() { closed++ }
				switch again++; again {
				case 1:
					return tui.Config{}, errors.New("the settings cannot be read")
				case 3:
					in.Account = account
				}
				return in, nil
			}
		})
		streams := d.fake.calls("subscribe")
		d.press(screen)
		d.shows("R looks whether you have signed in elsewhere since.")
		d.press("R")
		d.shows("the settings cannot be read")
		d.press("esc", "R")
		d.shows("nobody has signed in yet")
		d.press("R")
		d.shows(loaded)
		if closed != 1 || d.fake.calls("subscribe") != streams || d.quit {
			t.Errorf("closed %d, asked %q", closed, d.fake.asked)
		}
	}
}

// TestNotSignedIn checks that the screens of the account say how to sign in.
func TestNotSignedIn(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24, func(c *tui.Config) { c.Account = nil })
	for _, screen := range []string{"6", "7"} {
		d.press(screen, "n", "x", "R")
		if v := d.view(); !strings.Contains(v, "ctx login --email you@example.com") || strings.Contains(v, "my-agent") {
			t.Errorf("screen %s:\n%s", screen, v)
		}
	}
}

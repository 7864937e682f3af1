package tui_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
)

// client is a client of a daemon that does not wait long.
func client(t *testing.T, address, key string) *sdk.Client {
	t.Helper()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(address), sdk.WithAPIKey(sdk.NewKey(key)), sdk.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// against starts the program before a real daemon, with an owner who is signed in.
func against(t *testing.T, d *daemontest.Daemon) *program {
	t.Helper()
	c := client(t, d.URL(), d.Key(t, api.TierPro))
	console := c.Console("")
	if _, err := console.SendLink(t.Context(), "me@example.com"); err != nil {
		t.Fatal(err)
	}
	if _, err := console.ByLink(t.Context(), d.MailedToken(t, "me@example.com")); err != nil {
		t.Fatal(err)
	}
	return start(t, 120, 40, func(cfg *tui.Config) {
		cfg.Stream, cfg.Service, cfg.Account, cfg.Now, cfg.KeyID = tui.Subscribe(c), c, console, d.Clock.Now, c.Key().KeyID()
	})
}

// TestDaemon uses a real daemon as a user does: watch, search, step back, make and revoke a key.
func TestDaemon(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	ui := against(t, d)
	ui.shows("● LIVE")
	ui.shows("DEMO DATA")
	ui.shows("BTC")
	ui.shows("coingecko-markets")
	d.Clock.Advance(2 * time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	ui.shows("#1: ")
	ui.press("3", "ada, nonesuch", "enter")
	ui.shows("Cardano (ADA)")
	ui.shows("not known")
	ui.press("s", "bitcoin")
	ui.shows(`matches for "bitcoin"`)
	ui.shows("199 of 200 left")
	ui.press("enter", "4", "enter")
	ui.shows("PAST")
	ui.press("d")
	ui.shows("differences from now")
	ui.press("6")
	ui.shows("No key yet")
	ui.press("n", "robot", "enter")
	ui.shows("shown this once")
	ui.press("esc")
	ui.shows("✓ active")
	ui.press("x")
	ui.shows("Type robot to agree")
	ui.press("robo", "enter")
	ui.shows("that is not robot")
	ui.press("t", "enter")
	ui.shows("✗ revoked 2026-11-20")
	ui.press("7")
	ui.shows("0 credits")
	ui.press("8")
	ui.shows("revoked key cv_test_")
}

// TestDaemonRestarts stops the daemon under the UI, which says so and keeps what it has, and starts it again.
func TestDaemonRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.Start(t, func(c *daemon.Config) { c.DataDir = dir })
	address, clock := strings.TrimPrefix(d.URL(), "http://"), d.Clock
	ui := against(t, d)
	ui.shows("● LIVE")
	ui.shows("BTC")
	d.Stop(t)
	ui.shows("◐ RETRY")
	ui.press("8") // below the table there may be the end of a call that was under way
	ui.shows("no connection: nothing answers at the address")
	ui.press("1")
	if v := ui.view(); !strings.Contains(v, "BTC") {
		t.Errorf("what was known is gone:\n%s", v)
	}
	clock.Advance(time.Minute)
	daemontest.Start(t, func(c *daemon.Config) { c.DataDir, c.Listen, c.Now = dir, address, clock.Now })
	ui.shows("● LIVE")
	ui.shows("connection lost")
	ui.press("8")
	ui.shows("connected again")
}

// TestDaemonRevokesKey revokes the key that the UI works with: it says so at once and tries no more.
func TestDaemonRevokesKey(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := d.Key(t, api.TierPro)
	c := client(t, d.URL(), key)
	ui := start(t, 120, 40, func(cfg *tui.Config) {
		cfg.Stream, cfg.Service, cfg.Account, cfg.Now = tui.Subscribe(c), c, nil, d.Clock.Now
	})
	ui.shows("● LIVE")
	if _, err := d.Keys().Revoke(t.Context(), key[:api.KeyIDLength]); err != nil {
		t.Fatal(err)
	}
	ui.shows("○ OFFLINE")
	ui.shows("revoked")
}

// untitled is a program that names no window. bubbletea writes a title while its renderer writes, which the compressor that teatest puts
// before the terminal is not made for.
type untitled struct{ tea.Model }

func (u untitled) Init() tea.Cmd { return withoutTitle(u.Model.Init()) }

func (u untitled) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m, cmd := u.Model.Update(msg)
	return untitled{m}, withoutTitle(cmd)
}

func withoutTitle(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = withoutTitle(batch[i])
			}
		}
		if fmt.Sprintf("%T", msg) == "tea.setWindowTitleMsg" {
			return nil
		}
		return msg
	}
}

// TestProgram runs the whole program, its renderer and its end, before a daemon.
func TestProgram(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	c := client(t, d.URL(), d.Key(t, api.TierPro))
	m := tui.New(t.Context(), tui.Config{Stream: tui.Subscribe(c), Service: c, Pack: api.PackCrypto, Now: d.Clock.Now, Env: func(string) string { return "" }, Out: os.Stderr})
	p := teatest.NewTestModel(t, untitled{m}, teatest.WithInitialTermSize(80, 24))
	holds := func(text string) {
		teatest.WaitFor(t, p.Output(), func(out []byte) bool { return strings.Contains(string(out), text) }, teatest.WithDuration(2*time.Minute))
	}
	holds("LIVE")
	p.Type("4")
	holds("Enter loads the newest minute that is over")
	p.Send(tea.WindowSizeMsg{Width: 59, Height: 10})
	holds("need 60x16")
	p.Type("q")
	p.WaitFinished(t, teatest.WithFinalTimeout(2*time.Minute))
}

package tui_test

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/view"
)

// door signs in who has the code, and who has a wallet.
type door struct {
	*fake
	wallet bool
}

const code = "SECRETSECRETSECRET"

func (d door) SendLink(_ context.Context, email string) (time.Time, error) {
	return began().Add(15 * time.Minute), d.note("mail %s", email)
}

func (d door) ByLink(_ context.Context, given string) error {
	if err := d.note("link %s", given); err != nil || given == code {
		return err
	}
	return &api.Error{Status: 401, Reason: api.ReasonInvalidSignIn, Message: "that link is not known"}
}

func (d door) HasWallet() bool { return d.wallet }

func (d door) ByWallet(_ context.Context, passphrase string) error {
	return d.note("wallet %s", passphrase)
}

// signedOut is the program with a key, before anybody has signed in.
func signedOut(t *testing.T, changes ...func(*tui.Config)) *program {
	t.Helper()
	return live(t, 80, 24, append([]func(*tui.Config){func(c *tui.Config) {
		account := c.Account
		by := door{account.(*fake), true}
		c.Account, c.SignIn = nil, by
		c.Again = func() (tui.Config, error) {
			in := *c
			if by.calls("link "+code)+by.calls("wallet") > 0 {
				in.Account = account
			}
			return in, nil
		}
	}}, changes...)...)
}

// TestSignIn signs in by mail on both screens: they load, the stream stays open, and the code is neither shown nor logged.
func TestSignIn(t *testing.T) {
	t.Parallel()
	for screen, loaded := range map[string]string{"6": "my-agent", "7": "84,201 credits"} {
		d := signedOut(t)
		streams := d.fake.calls("subscribe")
		d.press(screen)
		if screen == "6" {
			golden(t, "signin-80x24", d.view(), 80, 24)
		}
		d.press("enter", "q", "esc", "enter", "ctrl+u", "me@example.com")
		d.shows("Mail address: me@example.com")
		d.press("enter")
		d.shows("A link was mailed to me@example.com. It works once, until 20:21:00.")
		d.press("wrong", "enter")
		d.shows("✗ that link is not known")
		d.apply(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(code), Paste: true})
		if v := d.view(); strings.Contains(v, "SECRET") || !strings.Contains(v, strings.Repeat("•", len(code))) {
			t.Errorf("the code is shown, or not how long it is:\n%s", v)
		}
		if screen == "6" {
			golden(t, "signin-code-80x24", d.view(), 80, 24)
		}
		d.press("enter")
		d.shows(loaded)
		d.hides("that link is not known")
		d.press("8")
		d.shows("signed in")
		if v := d.view(); strings.Contains(v, "SECRET") {
			t.Errorf("the code is logged:\n%s", v)
		}
		if d.fake.calls("subscribe") != streams || d.quit {
			t.Error("the stream was opened again")
		}
	}
}

// TestSignInByWallet, and back without it.
func TestSignInByWallet(t *testing.T) {
	t.Parallel()
	d := signedOut(t, func(c *tui.Config) { c.Theme, c.Depth = view.Dark, view.NoColor })
	d.press("7", "w", "correct")
	d.shows("Passphrase: •••••••")
	d.press("esc", "w", "horse", "enter")
	d.shows("84,201 credits")
	if d.fake.calls("wallet horse") != 1 || d.fake.calls("wallet") != 1 {
		t.Errorf("asked %q", d.fake.asked)
	}
}

// TestSessionEnds: who is not signed in any more signs in again in the same place.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24, func(c *tui.Config) { c.SignIn = door{c.Account.(*fake), false} })
	d.fake.mu.Lock()
	d.fake.fail = &api.Error{Status: 401, Reason: api.ReasonInvalidSession, Message: "the session has ended"}
	d.fake.mu.Unlock()
	d.press("6")
	d.shows("you are not signed in any more - esc, and 6 signs in again")
	d.shows("enter signs in by mail")
	d.hides("w signs in with your wallet")
}

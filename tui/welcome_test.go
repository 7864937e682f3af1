package tui_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
)

// TestNoKey: where there is no key nothing is sent before the user has said how to go on, and what they paste is not shown.
func TestNoKey(t *testing.T) {
	t.Parallel()
	const pasted = "cv_test_ab12cd34SECRETSECRETSECRETSECRET"
	var used []string
	wrong := errors.New("that is no key")
	d := start(t, 80, 24, func(c *tui.Config) {
		c.UseKey = func(key string) (tui.Config, error) {
			used = append(used, key)
			return tui.Config{}, wrong
		}
	})
	if batch, ok := d.model.Init()().(tea.BatchMsg); !ok || len(batch) != 2 {
		t.Errorf("the program begins with %d commands, want the clock and the title", len(batch))
	}
	golden(t, "welcome-80x24", d.view(), 80, 24)
	d.press("1")
	d.shows("ctx login --email you@example.com")
	d.press("esc", "3")
	d.shows("contextd demo")
	d.press("esc", "r", "b", "H", "P", "x", "2")
	d.shows("Key: _")
	d.apply(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(pasted), Paste: true})
	d.shows("Key: cv_test_ab12cd34••••")
	if v := d.view(); strings.Contains(v, "SECRET") || d.quit {
		t.Errorf("the secret part is shown:\n%s", v)
	}
	golden(t, "welcome-pasted-80x24", d.view(), 80, 24)
	d.press("enter")
	d.shows("✗ that is no key")
	wrong = nil
	d.press("enter")
	d.until("end", func(string) bool { return d.quit })
	if len(used) != 2 || used[0] != pasted || used[1] != pasted {
		t.Errorf("used %q", used)
	}
	if n := d.fake.calls(""); n != 0 {
		t.Errorf("sent before there was a key: %q", d.fake.asked)
	}
	d = start(t, 60, 16, func(c *tui.Config) { c.UseKey = func(string) (tui.Config, error) { return tui.Config{}, nil } })
	d.press("j", "j", "k", "enter", "q", "esc", "t", "q")
	d.until("end", func(string) bool { return d.quit })
}

// stateless is the refusal of a service that has no state yet.
func stateless(why ...string) *api.Error {
	e := &api.Error{Status: 503, Code: api.CodeUpstreamError, Reason: api.ReasonStateUnavailable, Message: "pack crypto has no state yet",
		RequestID: "r-7", RetryAfter: 5 * time.Second}
	for i := range why {
		s := api.SourceStatus{Ref: i + 1, ID: "source-" + string(rune('a'+i)), Status: api.SourceError, Error: &why[i]}
		if why[i] == "" {
			s.Error, s.Status = nil, api.SourceOK
		}
		e.SourceStatus = append(e.SourceStatus, s)
	}
	return e
}

// TestNoState: before the first state both screens say why there is none, as the service does.
func TestNoState(t *testing.T) {
	t.Parallel()
	d := start(t, 80, 24)
	d.press("5")
	d.shows("the service has not said")
	d.press("1")
	d.fake.events <- sdk.Connection{Err: stateless("network: host not found", "network: host not found"), Wait: 5 * time.Second}
	d.shows("2 sources: network: host not found")
	d.shows("Is there a network where the service runs?")
	d.press("5")
	d.shows("source-a")
	d.shows("last error: network: host not found")
	d.press("1")
	d.fake.events <- sdk.Connection{Err: stateless("network: host not found", "status 403", "", "network: host not found"), Wait: 5 * time.Second}
	d.shows("source-b: status 403")
	d.hides("Is there a network")
	golden(t, "nostate-80x24", d.view(), 80, 24)
	if n := d.fake.calls("brief") + d.fake.calls("series"); n != 0 {
		t.Errorf("asked %q before there was a state", d.fake.asked)
	}
	d.fake.events <- sdk.Connection{Connected: true, Reconnects: 1}
	d.fake.events <- delta(state(t), 42*time.Second)
	d.shows("91,442.90")
	d.press("5")
	d.hides("source-a")
}

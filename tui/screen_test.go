package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// screenEnv is what a screen is given before anything has come.
func screenEnv(t *testing.T) *tui.Env {
	t.Helper()
	th := view.NewTheme(view.Plain, view.NoColor, false)
	return &tui.Env{Ctx: t.Context(), Session: session.New(api.PackCrypto, noon(), 2), Theme: &th, Charts: &tui.Charts{}, Keys: view.DefaultKeymap()}
}

// brief has two sources that it cites and one that it does not.
func brief() *api.BriefResponse {
	return &api.BriefResponse{Brief: "# Head\n\nOne [10] and two [2], but [99].", Citations: []api.Citation{
		{Ref: 10, SourceID: "ten", URL: "https://ten.example/with/a/long/path"}, {Ref: 1, SourceID: "one"}, {Ref: 2, SourceID: "two\x1b[31m", URL: "https://two.example"}}}
}

// all are the screens of the package.
func all(e *tui.Env) map[string]tui.Screen {
	return map[string]tui.Screen{"brief": tui.NewBrief(e), "search": tui.NewSearch(e), "lookup": tui.NewLookup(e), "history": tui.NewHistory(e), "sources": tui.NewSources(e), "log": tui.NewLog(e)}
}

// TestFillEverySize draws every screen in every size, before anything has come and after.
func TestFillEverySize(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		e := screenEnv(t)
		if known {
			e.Session.Brief = brief()
			e.Session.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{TS: noon(), State: json.RawMessage(
				`{"top_movers":[],"source_status":[{"ref":10,"id":"漢字漢字漢字漢字漢字漢字漢字","status":"stale","error":"x\u001b[2J"},{"ref":2,"id":"two","status":"ok","fetchedAt":"2026-11-20T11:00:00Z"}]}`)}})
		}
		for name, s := range all(e) {
			s.Enter()
			for width := 60; width < 210; width += 11 {
				for height := 12; height < 60; height += 7 {
					lines := s.View(width, height)
					if len(lines) != height {
						t.Fatalf("%s at %dx%d: %d lines", name, width, height, len(lines))
					}
					for _, line := range lines {
						if got := ansi.StringWidth(line); got != width || strings.ContainsRune(line, '\x1b') {
							t.Fatalf("%s at %dx%d: %d columns: %q", name, width, height, got, line)
						}
					}
				}
			}
		}
	}
}

// TestKeysBeforeAnything presses every key on every screen before anything has come: nothing panics and nothing is paid.
func TestKeysBeforeAnything(t *testing.T) {
	t.Parallel()
	for name, s := range all(screenEnv(t)) {
		for r := ' '; r <= '~'; r++ {
			s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
			s.View(80, 20)
		}
		for _, k := range []tea.KeyType{tea.KeyEsc, tea.KeyEnter, tea.KeyTab, tea.KeyUp, tea.KeyDown, tea.KeyPgUp, tea.KeyPgDown, tea.KeyHome, tea.KeyEnd, tea.KeyEsc} {
			s.Update(tea.KeyMsg{Type: k})
		}
		s.Update(tui.ClickMsg{X: 5, Y: 5})
		s.Update(tui.WheelMsg{Rows: 3})
		s.Update(tui.SwitchedMsg{})
		if v := s.View(80, 20); len(v) != 20 {
			t.Errorf("%s: %d lines", name, len(v))
		}
	}
}

func TestCited(t *testing.T) {
	t.Parallel()
	var got []string
	for _, c := range tui.Cited(brief()) {
		got = append(got, c.SourceID[:3])
	}
	if fmt.Sprint(got) != "[two ten]" || tui.Cited(nil) != nil {
		t.Errorf("cited %v, want two and ten", got)
	}
	th := view.NewTheme(view.Mono, view.NoColor, false)
	prose := strings.Join(tui.Prose(th, brief().Brief, 20), "\n")
	if want := "# Head\n\nOne \x1b[1m[10]\x1b[0m and two\n\x1b[1m[2]\x1b[0m, but \x1b[1m[99]\x1b[0m."; prose != want {
		t.Errorf("prose %q, want %q", prose, want)
	}
}

// TestBrief opens and copies the source at the cursor.
func TestBrief(t *testing.T) {
	t.Parallel()
	e := screenEnv(t)
	s := tui.NewBrief(e)
	e.Session.Brief = brief()
	press := func(k string) any {
		cmd := s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
		if cmd == nil {
			return nil
		}
		return cmd()
	}
	s.View(80, 20)
	if got := press("o"); got != (tui.OpenMsg{URL: "https://two.example"}) {
		t.Errorf("o on the first: %v", got)
	}
	press("j")
	if got := press("o"); got != (tui.OpenMsg{URL: "https://ten.example/with/a/long/path"}) {
		t.Errorf("o on the second: %v", got)
	}
	if got, ok := press("c").(tui.CopyMsg); !ok || !strings.HasPrefix(got.Text, "- [ten](https://ten.example") {
		t.Errorf("c: %v", got)
	}
	y := 0
	for i, line := range s.View(80, 20) {
		if strings.Contains(line, "two.example") {
			y = i
		}
	}
	s.Update(tui.ClickMsg{X: 3, Y: y})
	if got := press("o"); got != (tui.OpenMsg{URL: "https://two.example"}) {
		t.Errorf("o after a click on the first: %v", got)
	}
}

func TestSourcesOfOtherPacks(t *testing.T) {
	t.Parallel()
	e := screenEnv(t)
	s := tui.NewSources(e)
	e.Session.Brief = brief()
	e.Session.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{TS: noon(), State: json.RawMessage(`{"fx":[]}`)}})
	if v := strings.Join(s.View(120, 20), "\n"); !strings.Contains(v, "[10] ten") || !strings.Contains(v, "https://ten.example") {
		t.Errorf("from the citations:\n%s", v)
	}
	if got := s.Update(tea.KeyMsg{Type: tea.KeyEnter})(); got != (tui.OpenMsg{URL: "https://ten.example/with/a/long/path"}) {
		t.Errorf("enter: %v", got)
	}
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	th := view.NewTheme(view.Plain, view.NoColor, false)
	got := tui.Overlay(th, view.Blank(30, 9), 30, "T", []string{"one", "a line that is longer than there is room for"})
	if text := strings.Join(got, "\n"); len(got) != 9 || !strings.Contains(text, "│ one ") || !strings.Contains(text, "room for") {
		t.Errorf("overlay:\n%s", text)
	}
	for _, line := range got {
		if ansi.StringWidth(line) != 30 {
			t.Errorf("%q", line)
		}
	}
}

func TestScalar(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{`"a\nb"`: "a\nb", `1.50`: "1.50", `null`: "null", ``: "", `{"a":1}`: `{"a":1}`} {
		if got := tui.Scalar(json.RawMessage(doc)); got != want {
			t.Errorf("%s is %q, want %q", doc, got, want)
		}
	}
	if got := tui.Scalar(json.RawMessage(`[` + strings.Repeat("1,", 5000) + `1]`)); len(got) > 200 {
		t.Errorf("%d bytes of a long value", len(got))
	}
}

// dialed is what a connection to a service fails with when the system says errno.
func dialed(errno syscall.Errno) error {
	return &sdk.TransportError{Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err        error
		what, next string
	}{
		"nothing":  {nil, "no connection", ""},
		"refused":  {&sdk.TransportError{Err: syscall.ECONNREFUSED}, "nothing answers", "is it running"},
		"closed":   {dialed(syscall.ECONNRESET), "nothing answers", "is it running"},
		"lost":     {&sdk.TransportError{Err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}}, "broke off", "r tries"},
		"ended":    {&sdk.TransportError{Err: io.EOF}, "broke off", "r tries"},
		"timeout":  {&sdk.TransportError{Err: context.DeadlineExceeded}, "did not answer in time", "r tries again"},
		"hostile":  {&sdk.TransportError{Err: errors.New("a\x1b[31mb")}, "ab", "r tries again"},
		"other":    {errors.New("odd"), "odd", ""},
		"browser":  {&tui.Unopened{URL: "https://example.org"}, "no browser opened https://example.org", "y copies it"},
		"no key":   {&api.Error{Status: 402, Reason: api.ReasonPaymentRequired, Message: "pay"}, "a key is needed", "ctx keys create"},
		"revoked":  {&api.Error{Status: 401, Reason: api.ReasonKeyRevoked, Message: "revoked"}, "revoked", "ctx keys create"},
		"session":  {&api.Error{Status: 401, Reason: api.ReasonInvalidSession}, "not signed in", "ctx login"},
		"quota":    {&api.Error{Status: 429, Reason: api.ReasonQuotaExhausted, Message: "used up", RetryAfter: 90 * time.Second}, "used up", "try again in 1m30s"},
		"no words": {&api.Error{Status: 500}, "status 500", ""},
	} {
		p := tui.Explain(view.DefaultKeymap(), test.err)
		if !strings.Contains(p.What, test.what) || !strings.Contains(p.Next, test.next) || strings.ContainsRune(p.String(), '\x1b') {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

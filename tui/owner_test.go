package tui_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// errDown is why the account does not answer.
var errDown = errors.New("down")

// account answers with what it holds, or fails.
type account struct {
	keys []api.APIKeyRow
	days []api.UsageRow
	rail string // of one purchase
	err  error
}

func (a *account) Keys(context.Context, ...sdk.CallOption) ([]api.APIKeyRow, error) {
	return a.keys, a.err
}

func (a *account) CreateKey(_ context.Context, name string, _ api.TraceConsent, _ ...sdk.CallOption) (*api.IssuedKey, error) {
	return &api.IssuedKey{Key: "cv_test_" + strings.Repeat("S", 32), KeyID: "cv_test_SSSSSSSS", Name: name}, a.err
}

func (a *account) RevokeKey(context.Context, string, ...sdk.CallOption) (*api.RevokeResponse, error) {
	return &api.RevokeResponse{OK: true}, a.err
}

func (a *account) Balance(context.Context, string, ...sdk.CallOption) (*api.CreditBalanceResponse, error) {
	return &api.CreditBalanceResponse{Balance: 12345, KeyCount: 2, RecentDeposits: []api.Deposit{
		{Status: api.DepositPending, Rail: api.NetworkL2}, {Status: api.DepositVerified, Rail: a.rail}}}, a.err
}

func (a *account) Usage(context.Context, int, ...sdk.CallOption) (*api.UsageResponse, error) {
	return &api.UsageResponse{Days: a.days}, a.err
}

// ownerEnv is what the screens are given.
func ownerEnv(t *testing.T, a tui.Account) *tui.Env {
	t.Helper()
	th := view.NewTheme(view.Plain, view.NoColor, false)
	return &tui.Env{Ctx: t.Context(), Session: session.New(api.PackCrypto, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), 0), Theme: &th, Charts: &tui.Charts{},
		Keys: view.DefaultKeymap(), Account: a, KeyID: "cv_test_00000001"}
}

// settle runs a command and all that follows from it, and returns what was asked of the program.
func settle(s tui.Screen, cmd tea.Cmd) (asked []tea.Msg) {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case nil:
		return nil
	case tea.BatchMsg:
		for _, c := range msg {
			asked = append(asked, settle(s, c)...)
		}
		return asked
	case tui.FailMsg, tui.NoticeMsg, tui.CopyMsg, tui.ConfirmMsg, tui.BalanceMsg:
		return []tea.Msg{msg}
	default:
		return settle(s, s.Update(msg))
	}
}

func ownerPress(s tui.Screen, text string) []tea.Msg {
	kinds := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc}
	if kind, ok := kinds[text]; ok {
		return settle(s, s.Update(tea.KeyMsg{Type: kind}))
	}
	return settle(s, s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)}))
}

func shown(s tui.Screen) string { return strings.Join(s.View(100, 24), "\n") }

// TestKeyIsShownOnce makes a key: it is on the screen until it is sent away, and nowhere afterwards.
func TestKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	e := ownerEnv(t, &account{})
	s := tui.NewKeys(e)
	settle(s, s.Enter())
	ownerPress(s, "n")
	ownerPress(s, "enter") // without a name nothing is made
	ownerPress(s, "robot")
	ownerPress(s, "enter")
	secret := strings.Repeat("S", 32)
	if !strings.Contains(shown(s), secret) || !s.Typing() {
		t.Fatalf("the new key is not shown:\n%s", shown(s))
	}
	ownerPress(s, "q")
	if got := ownerPress(s, "y"); len(got) != 1 || got[0].(tui.CopyMsg).Text != "cv_test_"+secret || got[0].(tui.CopyMsg).What != "the new key" {
		t.Errorf("y copies %v", got)
	}
	ownerPress(s, "esc")
	if strings.Contains(shown(s), secret) || s.Typing() {
		t.Error("the key is still there")
	}
	for _, entry := range e.Session.Log.Entries() {
		if strings.Contains(entry.Text, secret) {
			t.Errorf("the log has the key: %s", entry.Text)
		}
	}
}

// TestRevokeAsks checks that the question names the key, and what has to be typed.
func TestRevokeAsks(t *testing.T) {
	t.Parallel()
	a := &account{keys: []api.APIKeyRow{{KeyID: "cv_test_00000001", Name: "evil\x1b[2J name"}, {KeyID: "cv_test_00000002"}}}
	s := tui.NewKeys(ownerEnv(t, a))
	settle(s, s.Enter())
	for _, test := range []struct{ typed, line string }{{"evil name", "This is the key that this screen works with."}, {"cv_test_00000002", "Last used: never"}} {
		got := ownerPress(s, "x")
		if len(got) != 1 {
			t.Fatalf("x asks %v", got)
		}
		c := got[0].(tui.ConfirmMsg)
		if c.Typed != test.typed || !strings.Contains(strings.Join(c.Lines, "\n"), test.line) || strings.ContainsRune(c.Question, '\x1b') {
			t.Errorf("asks %+v, want %s to be typed", c, test.typed)
		}
		if told := settle(s, c.Yes); len(told) != 1 || told[0].(tui.NoticeMsg).Text[:7] != "revoked" {
			t.Errorf("after yes: %v", told)
		}
		ownerPress(s, "j")
	}
}

// TestCredits checks the numbers and the bars.
func TestCredits(t *testing.T) {
	t.Parallel()
	a := &account{days: []api.UsageRow{{Day: "2026-11-18", Op: api.OpFresh, Calls: 50}, {Day: "2026-11-20", Op: api.OpBrief, Calls: 60}, {Day: "2026-11-20", Op: api.OpFresh, Calls: 40}}}
	e := ownerEnv(t, a)
	s := tui.NewCredits(e)
	if got := settle(s, s.Enter()); len(got) != 1 || got[0].(tui.BalanceMsg).Credits != 12345 {
		t.Errorf("tells the program %v", got)
	}
	for _, want := range []string{"12,345 credits", "on 2 active keys", "waiting for payment: 1 purchase", "team    1,000,000  600 -40%",
		"▌2026-11-20      100 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓ fresh 40, brief 60", " 2026-11-18       50 ▓▓▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░░░ fresh 50"} {
		if !strings.Contains(shown(s), want) {
			t.Errorf("lacks %q:\n%s", want, shown(s))
		}
	}
	for rail, want := range map[string]bool{"": false, api.NetworkL2: false, "base": true} {
		a.rail = rail
		s := tui.NewCredits(e)
		settle(s, s.Enter())
		if text := strings.Join(s.View(120, 30), "\n"); strings.Contains(text, "RAIL") != want || strings.Contains(text, " base ") != want ||
			!strings.Contains(text, "Purchases") {
			t.Errorf("on the rail %q:\n%s", rail, text)
		}
	}
	if got := ownerPress(s, "y"); fmt.Sprint(got) != "[{12345 the balance}]" {
		t.Errorf("y: %v", got)
	}
	e.Session.Foreign = true
	if !strings.Contains(shown(s), "another account's key is in use") {
		t.Errorf("does not say that the key is of another account:\n%s", shown(s))
	}
}

// TestEverySizeAndFailure draws the screens in every size: signed in and not, before and after a failure.
func TestEverySizeAndFailure(t *testing.T) {
	t.Parallel()
	many := &account{}
	for i := range 40 {
		many.keys = append(many.keys, api.APIKeyRow{KeyID: fmt.Sprintf("cv_test_%08d", i), Name: strings.Repeat("漢", i), Tier: api.TierEnterprise})
		many.days = append(many.days, api.UsageRow{Day: fmt.Sprintf("2026-10-%02d", i), Op: api.OpSearch, Calls: int64(i * i * i * i)})
	}
	for name, a := range map[string]tui.Account{"nobody": nil, "down": &account{err: errDown}, "empty": &account{}, "many": many} {
		e := ownerEnv(t, a)
		for _, s := range []tui.Screen{tui.NewKeys(e), tui.NewCredits(e)} {
			told := settle(s, s.Enter())
			failed := slices.ContainsFunc(told, func(msg tea.Msg) bool { _, ok := msg.(tui.FailMsg); return ok })
			if failed != (name == "down") {
				t.Errorf("%s: told %v", name, told)
			}
			for width := 60; width < 200; width += 13 {
				for height := 12; height < 60; height += 9 {
					lines := s.View(width, height)
					if len(lines) != height {
						t.Fatalf("%s at %dx%d: %d lines", name, width, height, len(lines))
					}
					for _, line := range lines {
						if got := ansi.StringWidth(line); got != width {
							t.Fatalf("%s at %dx%d: %d columns: %q", name, width, height, got, line)
						}
					}
				}
			}
			for r := ' '; r <= '~'; r++ {
				s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
				s.View(80, 20)
			}
			s.Update(tui.ClickMsg{Y: 4})
			s.Update(tui.WheelMsg{Rows: 1})
		}
	}
}

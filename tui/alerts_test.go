package tui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
)

// priced is the state of the crypto pack with another price of BTC.
func priced(t testing.TB, usd string) []byte {
	t.Helper()
	return []byte(strings.Replace(string(state(t)), `"priceUsd":91442.9`, `"priceUsd":`+usd, 1))
}

// alertOf opens the form of an alert of the row at the cursor, and presses keys in it.
func alertOf(d *program, keys ...string) {
	d.t.Helper()
	d.press("a")
	d.shows("─ Watch ─")
	d.press(keys...)
}

// TestAlert: a key on a row asks for a bound; the alert is told when it begins to hold, once, by a line, by the news and by the terminal.
func TestAlert(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24, func(c *tui.Config) { c.Notify = true })
	d.press("a")
	d.shows("─ Watch ─")
	golden(t, "alert-80x24", d.view(), 80, 24)
	d.press("ninety", "enter")
	d.shows("that is no number")
	d.press("esc")
	alertOf(d, "91,500", "enter")
	d.shows("watching for BTC price > $91,500.00")
	d.out.take()
	at := 40 * time.Second
	next := func(usd string) {
		t.Helper()
		at -= time.Second
		d.fake.events <- delta(priced(t, usd), at)
		d.until("the state", func(string) bool { return len(d.fake.events) == 0 })
		d.apply(tui.Second())
	}
	told := func() string { return d.out.take() }
	next("91499")
	d.shows("#1: ")
	if got := told(); got != "" {
		t.Errorf("told before it holds: %q", got)
	}
	next("91501")
	d.shows("watch: Bitcoin priceUsd is $91,501.00: > 91500")
	var got string
	d.until("a notification", func(string) bool { got += told(); return got != "" })
	if got != "\x1b]9;ctx crypto: watch: Bitcoin priceUsd is $91,501.00: > 91500\x1b\\\a" {
		t.Errorf("the terminal is told %q", got)
	}
	d.fake.events <- sdk.Event{Type: api.EventPulse, State: delta(priced(t, "91501"), at).State} // as is
	next("91502")
	d.shows("#3: ")
	next("91400")
	d.shows("#4: ")
	next("91503")
	d.shows("$91,503.00: > 91500")
	d.press("8")
	d.shows("watch: Bitcoin priceUsd is $91,501.00")
	if n := strings.Count(d.view(), "20:06:00 !       watch: Bitcoin"); n != 2 {
		t.Errorf("%d watches in the log, want the two edges:\n%s", n, d.view())
	}
	d.press("1", ":", "end watch", "enter")
	next("91400")
	next("91504")
	d.shows("#7: ")
	d.press("8")
	if n := strings.Count(d.view(), "20:06:00 !       watch: Bitcoin"); n != 2 {
		t.Errorf("a watch that was ended tells:\n%s", d.view())
	}
	if n := d.fake.calls("watch"); n != 0 {
		t.Errorf("%d watches at the service", n)
	}
}

// TestAlertHolds: one that holds already says so, and another figure, below its bound, is one too.
func TestAlertHolds(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24)
	alertOf(d, "tab", "down", "99", "enter")
	d.shows("BTC 1h < +99.00% holds now; it is told when it begins again")
	d.press("f", "a")
	d.shows("this row has no number to watch")
	d.press("4", "enter")
	d.fake.snapshot = func(at time.Time) (*api.StateResponse, error) {
		return &api.StateResponse{State: moved(t), Freshness: api.Freshness{GeneratedAt: at}}, nil
	}
	d.press("a")
	d.shows("n goes back to now first")
}

// TestAlertAtTheService: it is made after a question that says what it costs, and not where nothing may be bought.
func TestAlertAtTheService(t *testing.T) {
	t.Parallel()
	d := live(t, 120, 40)
	ask := func() {
		alertOf(d, "90000", "ctrl+s")
	}
	ask()
	d.shows("Have the service watch for BTC price > $90,000.00, 1 credit a day?")
	d.press("n")
	d.shows("nothing was done")
	ask()
	d.shows("Have the service watch")
	d.press("y")
	d.shows("the service watches; ctx watch events wch_1 --follow shows what it tells")
	want := `watch condition.met {"field":"priceUsd","key":"bitcoin","member":"top_movers","op":">","pack":"crypto","value":90000}`
	if n := d.fake.calls(want); n != 1 || d.fake.calls("watch") != 1 {
		t.Errorf("the service was asked %q", d.fake.asked)
	}
	d = live(t, 120, 40, func(c *tui.Config) { c.ReadOnly = true })
	ask()
	d.shows("ctx ui runs with --read-only")
}

// TestCriticalRings: a critical flag that goes up rings; one that stands, one that is less grave, and where it is switched off do not.
func TestCriticalRings(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		d := start(t, 120, 40, func(c *tui.Config) {
			c.Notify, c.Env = on, func(name string) string { return map[string]string{"TMUX": "/tmp/tmux"}[name] }
		})
		calm := strings.ReplaceAll(string(state(t)), `"severity":"critical"`, `"severity":"warning"`)
		d.fake.events <- sdk.Connection{Connected: true}
		d.fake.events <- delta(state(t), 42*time.Second)
		d.shows("91,442.90")
		d.fake.events <- delta([]byte(calm), 41*time.Second)
		d.shows("#1: ")
		if got := d.out.take(); got != "" {
			t.Errorf("told of what stands: %q", got)
		}
		d.fake.events <- delta(state(t), 40*time.Second)
		d.shows("critical: Driftwood Lend")
		d.shows("#2: ")
		got := ""
		d.until("a ring", func(string) bool { got += d.out.take(); return got != "" || !on })
		if on != strings.HasPrefix(got, "\x1bPtmux;\x1b\x1b]9;ctx crypto: critical: Driftwood Lend") || on != strings.HasSuffix(got, "\x1b\x1b\\\x1b\\\a") {
			t.Errorf("on %t: %q", on, got)
		}
	}
}

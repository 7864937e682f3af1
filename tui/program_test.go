package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
)

// besidePerps is live with perps at the right.
func besidePerps(t testing.TB, changes ...func(*tui.Config)) *program {
	t.Helper()
	d := live(t, 200, 60, changes...)
	d.beside()
	return d
}

// beside has perps stand at the right.
func (d *program) beside() {
	d.t.Helper()
	d.fake.expect("perps")
	d.press("B", "perps", "enter")
	d.feedPerps()
}

// feedPerps has the stream at the right connect and bring its first state.
func (d *program) feedPerps() {
	d.t.Helper()
	d.until("stream of perps", func(string) bool { return d.fake.calls("subscribe perps") > 0 })
	d.fake.beside["perps"] <- sdk.Connection{Connected: true, Demo: true}
	d.fake.beside["perps"] <- sdk.Event{Type: api.EventDelta, State: api.StreamState{Pack: "perps", TS: began(), State: perps(d.t)}}
	d.shows("kPEPE")
}

// front is the pack that has the focus, by the heading of its side.
func (d *program) front() string {
	heading := strings.Split(d.view(), "\n")[2]
	_, after, _ := strings.Cut(heading, "[")
	name, _, _ := strings.Cut(after, "]")
	return name
}

// TestTwoPacks: a second pack stands at the right for a stream and no more, each side has its own panes, and keys and clicks go to that in
// front.
func TestTwoPacks(t *testing.T) {
	t.Parallel()
	d := besidePerps(t)
	d.clock.pass(10 * time.Second)
	d.apply(tui.Second())
	golden(t, "two-200x60", d.view(), 200, 60)
	if n := len(d.fake.asked) - d.fake.calls("keys") - d.fake.calls("balance") - d.fake.calls("series crypto"); n != 2 {
		t.Errorf("more than two streams were asked for: %q", d.fake.asked)
	}
	if got := d.front(); got != "crypto" {
		t.Errorf("%q is in front at first", got)
	}
	at := func() (left, right string) {
		for _, line := range strings.Split(d.view(), "\n")[3:] {
			left, right = left+ansi.Cut(line, 0, 100), right+ansi.Cut(line, 100, 200)
		}
		return left, right
	}
	left, right := at()
	d.press("j")
	if l, r := at(); l == left || r != right {
		t.Error("a key moves what it should not, or not what it should")
	}
	left, _ = at()
	d.press("Wjjs")
	d.shows("sorted: ")
	if l, r := at(); d.front() != "perps" || r == right || l[:1500] == left[:1500] {
		t.Error("the keys after W are not for the right side, or the left one still looks in focus")
	}
	d.apply(tea.MouseMsg{X: 10, Y: 7, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	if d.press("y"); d.front() != "crypto" {
		t.Error("a click does not give the focus")
	}
	d.shows("copied ETH")
	d.press("W", "W", "W", "tab", "enter")
	d.shows("esc back")
	if !strings.Contains(d.view(), "1h [24h] 7d 30d, esc back") || d.front() != "perps" {
		t.Errorf("a row of the right side does not open there:\n%s", d.view())
	}
	d.press("esc", "2")
	if lines := strings.Split(d.view(), "\n"); !strings.Contains(lines[0], "perps +crypto") || !strings.Contains(lines[1], "[2 Brief]") {
		t.Errorf("another screen is not that of the pack in front: %q", lines[:2])
	}
	d.press("W")
	if lines := strings.Split(d.view(), "\n"); !strings.Contains(lines[0], "crypto +perps") || !strings.Contains(lines[1], "[2 Brief]") {
		t.Errorf("the same screen of the other pack is not shown: %q", lines[:2])
	}
	d.press("1", "P", "perps", "enter")
	if d.front() != "perps" || d.fake.calls("subscribe") != 2 {
		t.Error("going over to what stands beside opens another stream")
	}
}

// TestTwoPacksInLittleRoom: where they do not fit one is shown, and why; both streams go on.
func TestTwoPacksInLittleRoom(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24)
	d.press("B")
	d.shows("two packs side by side need 160 columns, this terminal has 80")
	d.press("W")
	d.shows("B shows a second pack")

	d = besidePerps(t, func(c *tui.Config) {
		c.Packs = func(context.Context) []string { return []string{"ai", "crypto", "perps"} }
	})
	d.apply(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.shows("crypto +perps ▸ai   ●")
	d.apply(tea.WindowSizeMsg{Width: 80, Height: 24})
	golden(t, "two-80x24", d.view(), 80, 24)
	d.press("W")
	if header, _, _ := strings.Cut(d.view(), "\n"); !strings.Contains(header, "perps +crypto") {
		t.Errorf("W shows %q", header)
	}
	d.apply(tea.WindowSizeMsg{Width: 160, Height: 30})
	fills(t, "160x30", d.view(), 160, 30)
	d.fake.events <- delta(moved(t), 0)
	d.shows("91,500.10")
	if d.fake.calls("subscribe") != 2 {
		t.Errorf("calls: %q", d.fake.asked)
	}
}

// TestTwoPacksEnd: the key ends the stream of the side without the focus; what befalls that side before is told in front.
func TestTwoPacksEnd(t *testing.T) {
	t.Parallel()
	d := besidePerps(t)
	d.press("W")
	d.fake.events <- errors.New("the service is gone")
	d.shows("✗ the service is gone")
	if d.press("esc"); !strings.Contains(strings.Split(d.view(), "\n")[2], "crypto  ○ OFFLINE") {
		t.Errorf("the heading is %q", strings.Split(d.view(), "\n")[2])
	}
	d.press("B")
	d.shows("crypto is shown no more")
	if v := d.view(); !strings.Contains(v, "kPEPE") || strings.Contains(v, "Value locked") {
		t.Errorf("not perps alone:\n%s", v)
	}
	d.fake.expect("ai")
	d.press("B", "ai", "enter")
	d.until("stream of ai", func(string) bool { return d.fake.calls("subscribe ai") == 1 })
	d.press("W", "B")
	d.shows("Waiting for the first state of pack ai")
	d.until("the end of its stream", func(string) bool { return d.fake.calls("left perps") == 1 })
	d.until("the end of perps", func(string) bool {
		select {
		case d.fake.beside["perps"] <- sdk.Event{Type: api.EventDelta, State: api.StreamState{Pack: "perps", TS: began(), State: perps(d.t)}}:
		default:
		}
		return !strings.Contains(d.view(), "kPEPE") && d.front() == ""
	})
}

// TestTwoPacksCritical: a critical flag of the side without the focus rings, and is told in front by its pack.
func TestTwoPacksCritical(t *testing.T) {
	t.Parallel()
	d := besidePerps(t, func(c *tui.Config) { c.Notify = true })
	grave := strings.Replace(string(perps(t)), `"severity":"warning"`, `"severity":"critical"`, 1)
	d.fake.beside["perps"] <- sdk.Event{Type: api.EventDelta,
		State: api.StreamState{Pack: "perps", TS: began().Add(time.Second), State: json.RawMessage(grave)}}
	d.shows("perps: critical: Meridian")
	got := ""
	d.until("a ring", func(string) bool { got += d.out.take(); return got != "" })
	if !strings.HasPrefix(got, "\x1b]9;ctx perps: critical: Meridian") {
		t.Errorf("the ring is %q", got)
	}
}

// TestTwoPacksPurchase: no side goes while a purchase waits for its payment.
func TestTwoPacksPurchase(t *testing.T) {
	t.Parallel()
	d := besidePerps(t)
	buy(d)
	d.press("1", "W", "B")
	d.shows("both packs stay until it ends")
	if d.press("q"); !strings.Contains(d.view(), "Quit while a purchase waits?") {
		t.Errorf("the other side quits without a question:\n%s", d.view())
	}
}

// TestTwoPacksSaved: what stood at the right stands there again, once there is room.
func TestTwoPacksSaved(t *testing.T) {
	t.Parallel()
	d := besidePerps(t)
	d.press("W", "s", "t")
	text, err := json.Marshal(d.model.Saved())
	if err != nil {
		t.Fatal(err)
	}
	kept := tui.ReadSaved(text)
	if kept.Beside != "perps" || kept.Packs["perps"].Sorts == nil {
		t.Errorf("kept %s", text)
	}
	next := start(t, 80, 24, func(c *tui.Config) { c.Saved = kept })
	next.fake.expect("perps")
	next.shows("two packs side by side need 160 columns")
	if again := next.model.Saved(); again.Beside != "perps" {
		t.Errorf("a narrow terminal forgets what stood beside: %+v", again)
	}
	next.apply(tea.WindowSizeMsg{Width: 200, Height: 60})
	next.feedPerps()
	next.shows("by ")
	same := start(t, 200, 60, func(c *tui.Config) { c.Saved, c.Pack = kept, "perps" })
	same.shows("Waiting for the first state of pack perps")
	if same.front() != "" || same.fake.calls("subscribe") > 1 {
		t.Errorf("a pack stands beside itself:\n%s", same.view())
	}
}

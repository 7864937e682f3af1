package tui_test

import (
	"errors"
	"fmt"
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

// TestSearchIsSparing checks that a search is made when typing rests, never twice for the same, and not beyond the limit.
func TestSearchIsSparing(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30, func(c *tui.Config) { c.SearchCap = 3 })
	d.press("3", "esc", "s", "b")
	d.press("i", "t", "c", "o", "i", "n")
	d.shows(`matches for "bitcoin"`)
	if n := d.fake.calls("search"); n != 1 {
		t.Errorf("%d searches for one word typed at once: %q", n, d.fake.asked)
	}
	d.shows("2 of 3 left")
	d.press("s")
	d.shows(`matches for "bitcoins"`)
	d.press("backspace", "enter")
	d.shows(`matches for "bitcoin"`)
	if n := d.fake.calls("search"); n != 2 {
		t.Errorf("%d searches, a repeated one is one of them", n)
	}
	d.fake.events <- delta(moved(t), time.Second)
	d.shows("#1: 2")
	d.press("/", "x", "backspace", "enter")
	d.shows("0 of 3 left")
	d.press("/", "more", "enter")
	d.shows("the limit of 3 searches for this session is reached")
	d.press("j", "j", "y")
	d.shows("copied trending_pools[3].pair")
	d.press("Y")
	d.shows("copied the path")
	if n := d.fake.calls("search"); n != 3 {
		t.Errorf("%d searches, want 3", n)
	}
}

// TestLettersBeginAQuery: also one that shows a screen elsewhere; a digit shows one here too.
func TestLettersBeginAQuery(t *testing.T) {
	t.Parallel()
	keys, err := view.NewKeymap(map[string][]string{"screen-live": {"b", "1"}, "brief": {"F"}, "buy": {"x"}, "revoke": {"X"}})
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, 100, 30, func(c *tui.Config) { c.Keys = &keys })
	d.press("3", "bitcoin", "enter")
	d.shows("1 answer")
	d = start(t, 100, 30, func(c *tui.Config) { c.Keys = &keys })
	d.press("3", "1")
	d.shows("[b Live]")
}

// TestSearchFails checks that a failure stays until it is sent away, and costs nothing.
func TestSearchFails(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30)
	d.fake.mu.Lock()
	d.fake.fail = &api.Error{Status: 429, Reason: api.ReasonQuotaExhausted, Message: "100 calls a day are used up", RetryAfter: 3 * time.Hour, RequestID: "r-9"}
	d.fake.mu.Unlock()
	d.press("3", "esc", "s", "bit", "enter")
	d.shows("✗ 100 calls a day are used up - try again in 3h00m (request r-9)")
	d.clock.pass(time.Minute)
	d.shows("✗ 100 calls")
	if v := d.view(); !strings.Contains(v, "200 of 200 left") {
		t.Errorf("a refused search was counted:\n%s", v)
	}
	d.press("esc")
	d.hides("✗ 100 calls")
}

// TestNothingIsSaidOfCosts where calls are not charged: the trends come by themselves, and no screen names a credit.
func TestNothingIsSaidOfCosts(t *testing.T) {
	t.Parallel()
	d := start(t, 120, 40)
	d.fake.mu.Lock()
	d.fake.past = cryptoPasts(t)
	d.fake.mu.Unlock()
	d.fake.events <- sdk.Connection{Connected: true, Unmetered: true}
	d.fake.events <- delta(state(t), 42*time.Second)
	d.shows("91,442.90")
	d.shows("[24h]")
	d.until("trends of all members", func(string) bool { return d.fake.calls("series crypto") == 5 })
	d.until("trends again, once those have come", func(v string) bool {
		if strings.Contains(v, "Load the trends") {
			t.Fatal("a question is asked")
		}
		d.press("H")
		return d.fake.calls("series crypto") == 10
	})
	for _, screen := range []string{"1", "2", "3", "8"} {
		d.press("esc", screen)
		d.hides("1 credit")
		d.hides("cr spent")
		d.hides("84,201 cr")
	}
}

// TestHistoryIsSparing checks that steps are asked for when they rest, and that a minute that was seen is not asked for again.
func TestHistoryIsSparing(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30)
	d.fake.snapshot = func(at time.Time) (*api.StateResponse, error) {
		if at.Before(began().Add(-30 * time.Minute)) {
			return nil, &api.Error{Status: 404, Reason: api.ReasonSnapshotNotFound, Message: "no state of crypto then"}
		}
		price := fmt.Sprintf(`"priceUsd":%d`, 90_000+at.Minute())
		return &api.StateResponse{State: []byte(strings.Replace(string(state(t)), `"priceUsd":91442.9`, price, 1)), Freshness: api.Freshness{GeneratedAt: at}}, nil
	}
	d.press("4")
	if n := d.fake.calls("snapshot"); n != 0 {
		t.Fatalf("%d snapshots before any key", n)
	}
	d.press("[", "[", "[", "[")
	d.shows("Past: Fri 2026-11-20 20:02 UTC")
	d.shows("PAST 20:02")
	d.shows("$90,002.00")
	if n := d.fake.calls("snapshot crypto 2026-11-20T20:02:00Z"); n != 1 || d.fake.calls("snapshot") != 1 {
		t.Errorf("asked %q", d.fake.asked)
	}
	d.press("]")
	d.shows("$90,003.00")
	d.press("[")
	d.shows("$90,002.00")
	d.press("d")
	d.shows(" $90,002.00 → $91,442.90")
	d.press("d")
	d.shows("1 changed from 20:02 to 20:03")
	d.shows("▲ $90,002.00 → $90,003.00")
	d.press("y")
	d.shows("copied top_movers[0].priceUsd")
	d.press("/", "sol", "enter")
	d.shows("No change matches")
	d.press("/", "esc", "d")
	d.shows("$90,002.00")
	if n := d.fake.calls("snapshot"); n != 2 {
		t.Errorf("%d snapshots, want 2", n)
	}
	for range 3 {
		d.press("]")
	}
	d.shows("$90,005.00")
	d.press("]")
	d.shows("that is the newest minute that is over")
	d.press("{")
	d.shows("✗ no state of crypto then")
	if v := d.view(); !strings.Contains(v, "PAST 20:05") || !strings.Contains(v, "$90,005.00") {
		t.Errorf("what was shown is gone:\n%s", v)
	}
	d.press("esc", "H")
	d.shows("n goes back to now first")
	d.press("n")
	d.shows("● LIVE")
	d.press("(")
	d.until("a day back from now", func(string) bool { return d.fake.calls("snapshot crypto 2026-11-19T20:05:00Z") == 1 })
}

// TestPastOfStates: a step back goes before the state that is shown, one on as far as two states are apart, and clicks do as keys. The panes
// are those of then, with its flags.
func TestPastOfStates(t *testing.T) {
	t.Parallel()
	d := live(t, 120, 40)
	d.fake.snapshot = func(at time.Time) (*api.StateResponse, error) {
		made := at.Truncate(5 * time.Minute)
		price := fmt.Sprintf(`"priceUsd":%d`, 80_000+made.Minute())
		text := strings.Replace(string(state(t)), `"priceUsd":91442.9`, price, 1)
		return &api.StateResponse{State: []byte(strings.Replace(text, "Driftwood Lend", "Earlier Lend", -1)), Freshness: api.Freshness{GeneratedAt: made}}, nil
	}
	d.press("[")
	d.shows("Past: Fri 2026-11-20 20:05 UTC")
	d.press("[")
	d.shows("Past: Fri 2026-11-20 20:04 UTC")
	d.shows("$80,000.00")
	d.press("[")
	d.shows("Past: Fri 2026-11-20 19:59 UTC")
	d.shows("Earlier Lend")
	d.press("]")
	d.shows("Past: Fri 2026-11-20 20:04 UTC")
	click := func(word string) {
		line := strings.Split(ansi.Strip(d.view()), "\n")[4]
		x := view.Width(line[:strings.Index(line, word)])
		d.apply(tea.MouseMsg{X: x, Y: 4, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	}
	click("hour back")
	d.shows("Past: Fri 2026-11-20 19:04 UTC")
	d.press("tab", "j")
	click("differences")
	d.shows("from now")
	click("live")
	d.shows("● LIVE")
	d.hides("Earlier Lend")
}

// TestTrends: where calls are charged, trends come when the user agrees to their price, and stay when the pack is left.
func TestTrends(t *testing.T) {
	t.Parallel()
	d := start(t, 120, 40)
	d.fake.mu.Lock()
	d.fake.past = cryptoPasts(t)
	d.fake.mu.Unlock()
	d.fake.events <- sdk.Connection{Connected: true}
	d.fake.events <- delta(state(t), 42*time.Second)
	d.shows("91,442.90")
	d.shows("H loads the past (5 credits).")
	d.press("H")
	d.shows("It costs 5 credits.")
	d.press("n")
	d.shows("nothing was done")
	if n := d.fake.calls("series"); n != 0 {
		t.Errorf("%d series without consent", n)
	}
	d.press("H")
	d.shows("It costs 5 credits.")
	d.press("y")
	d.until("trends of all members", func(string) bool { return d.fake.calls("series crypto") == 5 })
	d.shows("TREND 24h")
	d.fake.events <- sdk.Connection{Err: errors.New("gone"), Wait: time.Second}
	d.shows("RETRY")
	d.fake.events <- sdk.Connection{Connected: true, Reconnects: 1}
	d.shows("● LIVE")
	d.over("perps")
	d.over("crypto")
	d.fake.events <- sdk.Connection{Connected: true}
	d.fake.events <- delta(state(t), 42*time.Second)
	d.shows("TREND 24h")
	if n := d.fake.calls("series"); n != 5 {
		t.Errorf("%d series after a break and another pack, want no more", n)
	}
}

// TestLookingCostsAStream: over packs, panes, rows and screens, on a demo too, nothing is called but the streams.
func TestLookingCostsAStream(t *testing.T) {
	t.Parallel()
	for _, at := range []sdk.Connection{{}, {Demo: true}} {
		at.Connected = true
		d := start(t, 120, 40, func(c *tui.Config) { c.Watchlist = []string{"btc", "ada"} })
		for i, pack := range []string{"crypto", "markets", "perps", "crypto"} {
			if i > 0 {
				d.over(pack)
			}
			doc := perps(t)
			if pack == "crypto" {
				doc = state(t)
			}
			d.fake.events <- at
			d.fake.events <- delta(doc, 42*time.Second)
			d.shows("Brief 17:06")
			for range 8 {
				d.press("tab", "j", "enter", "esc", "G")
			}
			for _, screen := range []string{"2", "3", "esc", "4", "5", "6", "7", "8", "1"} {
				d.press(screen)
			}
			d.fake.events <- delta(doc, 20*time.Second)
			d.shows("#1: ")
			d.clock.pass(2 * time.Minute)
			d.fake.events <- delta(doc, 5*time.Second)
			d.shows("#2: ")
		}
		if n := d.fake.calls("subscribe"); n != 4 {
			t.Errorf("%d streams for 4 packs", n)
		}
		for _, op := range []string{"brief", "series", "lookup", "snapshot", "search"} {
			if n := d.fake.calls(op); n != 0 {
				t.Errorf("%d calls of %s: %q", n, op, d.fake.asked)
			}
		}
	}
}

// TestYoungService: one that knows too little of a day is asked for the last hour, minute by minute.
func TestYoungService(t *testing.T) {
	t.Parallel()
	d := start(t, 120, 40)
	young := cryptoPasts(t)["top_movers"]
	for i := range young.Rows {
		clear(young.Rows[i].Values[:len(young.Times)-20])
	}
	d.fake.mu.Lock()
	d.fake.past = map[string]*api.SeriesResponse{"top_movers": young}
	d.fake.mu.Unlock()
	d.fake.events <- sdk.Connection{Connected: true, Unmetered: true}
	d.fake.events <- delta(state(t), 42*time.Second)
	d.until("the last hour", func(string) bool { return d.fake.calls("series crypto top_movers 1h0m0s") == 1 })
	d.shows("TREND 10h")
}

// TestBriefComesInTheStream: each state has its brief beside it, a later one that was asked for stays, and a paused screen keeps its own.
func TestBriefComesInTheStream(t *testing.T) {
	t.Parallel()
	d := start(t, 120, 40)
	d.fake.events <- sdk.Connection{Connected: true}
	d.fake.events <- delta(state(t), 42*time.Second)
	d.shows("Brief 17:06, 3h00m old")
	brief := func(text string, at time.Duration) {
		now, event := began().Add(at), delta(state(t), 42*time.Second)
		event.Type, event.State.Brief, event.State.BriefAt = api.EventPulse, text, &now
		d.fake.events <- event
	}
	brief("Written later of the same state [1].", -41*time.Second)
	d.shows("Written later of the same state")
	d.shows("of this state")
	now, own := began(), *d.fake.brief
	own.Brief, own.BriefAt = "One of my own [1].", &now
	d.fake.mu.Lock()
	d.fake.brief = &own
	d.fake.mu.Unlock()
	d.press("b")
	d.hides("Written later")
	d.press("8")
	d.shows("1 credit for brief")
	d.press("1")
	brief("Written before [1].", -time.Second)
	d.fake.events <- sdk.Event{Type: api.EventError, Message: "read"}
	d.shows("says: read")
	d.shows("One of my own")
	d.press("p")
	brief("Written after [1].", time.Second)
	d.shows("One of my own")
	d.press("p")
	d.shows("Written after")
	if n := d.fake.calls("brief"); n != 1 {
		t.Errorf("%d briefs were paid for, want the one that was asked for", n)
	}
}

// TestKeysFail checks that a failure on the screens of the account is told there, and can be tried again.
func TestKeysFail(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30)
	fail := func(err error) {
		d.fake.mu.Lock()
		defer d.fake.mu.Unlock()
		d.fake.fail = err
	}
	fail(&api.Error{Status: 401, Reason: api.ReasonInvalidSession, Message: "the session has ended"})
	d.press("6")
	d.shows("you are not signed in any more - quit, then: ctx login")
	d.press("esc")
	d.shows("The keys could not be loaded; R tries again.")
	d.press("7")
	d.shows("The credits could not be loaded; R tries again.")
	d.shows("✗ you are not signed in")
	d.press("esc")
	fail(nil)
	d.press("R")
	d.shows("84,201 credits")
	d.press("6", "R")
	d.shows("my-agent")
	fail(errors.New("broken"))
	d.press("n", "robot", "enter")
	d.shows("✗ broken")
	d.press("esc", "j", "x")
	d.shows("that key is revoked already")
	d.press("g", "x")
	d.shows("Type my-agent")
	d.press("esc")
	d.shows("nothing was done")
	d.press("/", "laptop", "enter")
	d.hides("my-agent")
	if d.fake.calls("revoke") != 0 {
		t.Error("a key was revoked without consent")
	}
}

// TestPurchase buys credits: what is asked of whom and when, and what can be done while the payment is awaited.
func TestPurchase(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30)
	d.press("7")
	d.shows("2026-11-19")
	d.press("b", "esc")
	if n := d.fake.calls("buy"); n != 0 {
		t.Errorf("%d purchases before one was chosen", n)
	}
	buy(d)
	if n := d.fake.calls("buy hobby cv_test_ab12cd34"); n != 1 {
		t.Errorf("asked %q", d.fake.asked)
	}
	d.shows("30:00 left")
	d.clock.pass(90 * time.Second)
	d.shows("28:30 left")
	d.press("y")
	d.shows("copied the link for a wallet")
	d.press("b")
	d.shows("a purchase waits already")
	d.press("v", "0x12", "enter")
	d.shows("a hash is 0x and 64 digits")
	hash := "0x" + strings.Repeat("12", 32)
	d.press("ctrl+u", hash, "enter")
	d.shows("does not show that payment yet")
	if n := d.fake.calls("look dep_1 " + hash); n != 1 {
		t.Errorf("asked %q", d.fake.asked)
	}
	d.press("q")
	d.shows("Quit while a purchase waits?")
	d.press("n")
	if d.quit {
		t.Error("quit without consent")
	}
	d.press("w")
	d.shows("Pay 8.000317 USDG from your wallet?")
	d.press("n")
	if n := d.fake.calls("pay"); n != 0 {
		t.Error("paid without consent")
	}
	d.hides("Pay 8.000317 USDG from your wallet?")
	d.press("w")
	d.shows("Pay 8.000317 USDG from your wallet?")
	d.press("y")
	d.shows("✓ 10,000 credits are yours")
	d.fake.deposits <- settled(api.DepositVerified) // the same, found by waiting
	d.shows(hash)
	if n := d.fake.calls("pay 8.000317"); n != 1 {
		t.Errorf("paid %d times", n)
	}
	d.press("esc")
	d.shows("Calls by day")
	d.press("8")
	if n := strings.Count(d.view(), "10,000 credits are yours"); n != 1 {
		t.Errorf("told %d times of the end", n)
	}
	d.press("q")
	d.until("quit", func(string) bool { return d.quit })
}

// TestPurchaseIsCancelled after one question: it is shown no more, another can begin, and only what was sent already is told.
func TestPurchaseIsCancelled(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30)
	buy(d)
	d.press("X")
	d.shows("Cancel the purchase of 10,000 credits?")
	d.press("n")
	d.shows("waiting for the transfer")
	d.press("X")
	d.shows("What was sent already still counts until the deadline.")
	d.press("y")
	d.shows("cancelled: do not send its amount any more")
	d.shows("Calls by day")
	d.press("b")
	d.shows("Which package?")
	d.press("esc")
	d.fake.deposits <- settled(api.DepositVerified)
	d.shows("10,000 credits are yours")
	d.press("q")
	d.until("quit", func(string) bool { return d.quit })
}

// TestPurchaseNamesTheNetwork as the command line does, and that of a demo as its page does; the time that is left falls each second.
func TestPurchaseNamesTheNetwork(t *testing.T) {
	t.Parallel()
	d := start(t, 120, 40)
	d.fake.events <- sdk.Connection{Connected: true}
	d.fake.events <- delta(state(t), 42*time.Second)
	d.shows("91,442.90")
	buy(d)
	d.shows("network  Robinhood Chain testnet, chain 46630")
	d.shows("until    2026-11-20 20:36:00 UTC")
	d.clock.pass(time.Second)
	d.shows("29:59 left")
	d.clock.pass(time.Second)
	d.shows("29:58 left")
}

// TestPurchaseByNonce: no link and no code is offered that could not carry the nonce, and the service's reason is shown.
func TestPurchaseByNonce(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30)
	d.fake.named = true
	buy(d)
	d.shows("a plain transfer pays for nothing")
	d.press("y")
	d.shows("there is no link")
	d.press("v", "0x"+strings.Repeat("12", 32), "enter")
	d.shows("it does not carry the nonce")
}

// TestPurchaseEndsWhileAsked: what was paid from elsewhere while the user was asked is not paid from the wallet too.
func TestPurchaseEndsWhileAsked(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30)
	d.press("7")
	d.shows("2026-11-19")
	buy(d)
	d.press("w")
	d.shows("Pay 8.000317 USDG from your wallet?")
	d.fake.deposits <- settled(api.DepositVerified)
	d.shows("10,000 credits are yours")
	d.press("y")
	d.shows("nothing was paid: the purchase has come to its end already")
	if n := d.fake.calls("pay"); n != 0 {
		t.Errorf("paid %d times", n)
	}
}

// TestPurchaseFails checks what is said when none can be begun, when nothing arrives, and that no wallet and --read-only are told.
func TestPurchaseFails(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30, func(c *tui.Config) { c.Pay = nil })
	d.press("7")
	d.shows("2026-11-19")
	d.fake.mu.Lock()
	d.fake.fail = &api.Error{Status: 503, Reason: api.ReasonChainUnavailable, Message: "the chain does not answer"}
	d.fake.mu.Unlock()
	d.press("b", "enter")
	d.shows("✗ the chain does not answer")
	d.press("esc")
	d.fake.mu.Lock()
	d.fake.fail = nil
	d.fake.mu.Unlock()
	buy(d)
	d.press("w")
	d.shows("no wallet of ctx is configured")
	d.clock.pass(31 * time.Minute)
	d.shows("a transfer within it still counts")
	d.fake.deposits <- settled(api.DepositExpired)
	d.shows("nothing arrived until 2026-11-20 20:36:00 UTC")
	d.shows("dep_1")

	careful := live(t, 100, 30, func(c *tui.Config) { c.ReadOnly = true })
	careful.press("7")
	careful.shows("2026-11-19")
	careful.press("b")
	careful.shows("started with --read-only")
	if n := careful.fake.calls("buy"); n != 0 {
		t.Error("bought although read-only")
	}
}

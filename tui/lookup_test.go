package tui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/tui"
)

// TestLookup asks by name: one call for all questions, when enter is pressed; what is found can be copied, cited and opened.
func TestLookup(t *testing.T) {
	t.Parallel()
	d := live(t, 100, 30)
	d.press("3", "btc price, ada")
	d.shows("btc price, ada_")
	if n := d.fake.calls("lookup"); n != 0 {
		t.Errorf("%d lookups while it is typed", n)
	}
	d.press("enter")
	d.shows("Bitcoin (BTC)")
	d.shows("not known; near: near, nearer")
	if n := d.fake.calls("lookup crypto btc price,ada"); n != 1 || d.fake.calls("lookup") != 1 {
		t.Errorf("asked %q", d.fake.asked)
	}
	for key, want := range map[string]string{"y": "copied Bitcoin 91442.9", "Y": "copied its name for programs", "c": "copied the citation of coingecko-markets",
		"o": "opening https://www.coingecko.com/en/coins/bitcoin"} {
		d.press(key)
		d.shows(want)
	}
	d.press("j", "y", "o", "c") // of what is not known
	d.press("s")
	d.shows("[3 Lookup]")
	d.press("sol")
	d.shows(`matches for "sol"`)
	d.press("esc", "s")
	d.shows("Bitcoin (BTC)")
}

// TestWatchlistOfAPack: what the pack does not have is not shown, and where it has nothing there is no list.
func TestWatchlistOfAPack(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"btc", "ada"}, {"ada", "sol"}} {
		d := start(t, 80, 24, func(c *tui.Config) { c.Watchlist = names })
		d.fake.events <- sdk.Connection{Connected: true, Unmetered: true}
		d.fake.events <- delta(state(t), 42*time.Second)
		d.shows("91,442.90")
		d.press("8")
		d.until("the watchlist", func(string) bool { return d.fake.calls("lookup") == 1 })
		d.press("1", "tab")
		if names[0] == "btc" {
			d.shows("Bitcoin (BTC)")
		} else {
			d.hides("Watchlist")
		}
		if v := d.view(); strings.Contains(v, "not known") {
			t.Errorf("%q:\n%s", names, v)
		}
	}
}

// TestWatchlist: its names are asked for at once where that costs no money, once a minute at most; else when a key says so.
func TestWatchlist(t *testing.T) {
	t.Parallel()
	for _, unmetered := range []bool{true, false} {
		d := start(t, 80, 24, func(c *tui.Config) { c.Watchlist = []string{"btc", "ada"} })
		d.fake.events <- sdk.Connection{Connected: true, Unmetered: unmetered}
		d.fake.events <- delta(state(t), 42*time.Second)
		d.shows("91,442.90")
		d.press("tab")
		if !unmetered {
			d.shows("R asks for it (1 credit).")
			if n := d.fake.calls("lookup"); n != 0 {
				t.Errorf("%d lookups were paid for unasked", n)
			}
			d.press("R")
		}
		d.shows("Bitcoin (BTC)")
		if unmetered {
			d.until("all that is asked for at the start", func(string) bool { return d.fake.calls("series") == 5 })
			d.shows("Brief 17:06")
			golden(t, "watchlist-80x24", d.view(), 80, 24)
		}
		d.fake.events <- delta(moved(t), 20*time.Second)
		d.shows("#1: ")
		d.clock.pass(61 * time.Second)
		if n := d.fake.calls("lookup crypto btc,ada"); n != 1 {
			t.Errorf("unmetered %v: %d lookups within a minute", unmetered, n)
		}
		d.fake.events <- delta(state(t), 10*time.Second)
		want := 1
		if unmetered {
			want = 2
		}
		d.shows("#2: ")
		d.until("the watchlist", func(string) bool { return d.fake.calls("lookup crypto btc,ada") == want })
	}
}

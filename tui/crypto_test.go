package tui_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

const movers tui.Member = "top_movers"

// known is a session with the state that ctx is tested with too.
func known(t *testing.T) *session.Session {
	t.Helper()
	state, err := os.ReadFile("../client/testdata/crypto_state.json")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC)
	s := session.New(api.PackCrypto, now, 0)
	s.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{State: state, TS: now}})
	return s
}

// TestRows checks the rows of every member: each has what can be copied, cited and found of it, and its path leads to its value.
func TestRows(t *testing.T) {
	t.Parallel()
	s := known(t)
	th := view.NewTheme(view.Dark, view.Colors256, false)
	for _, m := range tui.Members(s) {
		for _, width := range []int{20, 27, 47, 60, 111, 200} {
			table := tui.NewTable(m, s, th, width)
			if len(table.Rows) == 0 || tui.Title(s, m) == "" {
				t.Fatalf("%s has no rows", m)
			}
			for i, r := range table.Rows {
				if r.Path == "" || r.Main == "" || r.Label == "" || r.Value == "" || r.Ref == 0 || len(r.Facts()) == 0 || !strings.HasPrefix(r.Main, string(m)) {
					t.Errorf("%s[%d]: %+v", m, i, r)
				}
				if got := ansi.StringWidth(table.Draw(th, i)); width >= 40 && got > width-1 {
					t.Errorf("%s[%d] in %d columns has %d", m, i, width, got)
				}
			}
		}
	}
}

// TestValues checks that what is copied is what stands in the state, digit by digit.
func TestValues(t *testing.T) {
	t.Parallel()
	s := known(t)
	th := view.NewTheme(view.Plain, view.NoColor, false)
	for m, want := range map[tui.Member][3]string{
		movers:         {"BTC", "top_movers[0].priceUsd", "91442.9"},
		"protocol_tvl": {"Aave V3", "protocol_tvl[0].tvlUsd", "31266924252"},
		"sentiment":    {"Fear & Greed", "sentiment.fearGreed.value", "24"},
	} {
		r := tui.NewTable(m, s, th, 80).Rows[0]
		if r.Label != want[0] || r.Main != want[1] || r.Value != want[2] {
			t.Errorf("%s: %s %s %s, want %v", m, r.Label, r.Main, r.Value, want)
		}
	}
}

// TestSortsUnknownLast checks that what is not known never leads.
func TestSortsUnknownLast(t *testing.T) {
	t.Parallel()
	s := known(t)
	th := view.NewTheme(view.Plain, view.NoColor, false)
	orders := tui.NewTable(movers, s, th, 80).Sorts
	for by := 1; by < len(orders); by++ {
		table := tui.NewTable(movers, s, th, 80)
		table.Sort(by)
		if first := table.Rows[0].Label; first == "XRP" {
			t.Errorf("by %s the first is XRP, whose hour is not known", orders[by])
		}
	}
	table := tui.NewTable(movers, s, th, 80)
	table.Sort(slices.Index(orders, "1h"))
	if last := table.Rows[len(table.Rows)-1].Label; last != "XRP" {
		t.Errorf("by the hour the last is %s, want XRP", last)
	}
	narrow := tui.NewTable(movers, s, th, 30)
	narrow.Sort(slices.Index(orders, "7d"))
	if first := narrow.Rows[0].Label; first != "ZEC" {
		t.Errorf("by a week, which a narrow pane does not show, the first is %s, want ZEC", first)
	}
	table.Sort(0)
	table.Sort(99)
	flags := tui.NewTable(tui.Flags, s, th, 80)
	flags.Sort(2)
}

// TestMarks checks that signs tell what colours tell.
func TestMarks(t *testing.T) {
	t.Parallel()
	th := view.NewTheme(view.Plain, view.NoColor, false)
	seen := map[string]bool{}
	for _, severity := range []api.Severity{api.SeverityCritical, api.SeverityWarning, api.SeverityNotice} {
		seen[tui.Severity(th, severity)] = true
	}
	if len(seen) != 3 {
		t.Errorf("the severities look the same: %v", seen)
	}
	s := known(t)
	later := s.Now.Add(time.Second)
	var c map[string]any
	if err := json.Unmarshal(s.State, &c); err != nil {
		t.Fatal(err)
	}
	mover := c["top_movers"].([]any)[0].(map[string]any)
	mover["priceUsd"], mover["change24hPct"] = 90000.0, nil
	state, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Event(sdk.Event{Type: api.EventDelta, State: api.StreamState{State: state, TS: later}})
	table := tui.NewTable(movers, s, th, 60)
	if row := table.Draw(th, 0); !strings.Contains(row, "▼ $90,000.00") || !strings.Contains(row, "⠉") {
		t.Errorf("a fall is %q", row)
	}
	table.Filter("zcash")
	if len(table.Rows) != 1 || table.Rows[0].Label != "ZEC" {
		t.Errorf("filter zcash: %d rows", len(table.Rows))
	}
	if empty := tui.NewTable(movers, session.New("ai", later, 0), th, 60); len(empty.Rows) != 0 {
		t.Error("rows without a state")
	}
}

package tui_test

import (
	"encoding/json"
	"testing"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
)

// TestSaved: what is chosen of the screen is as it was at the next start, of each pack its own, and asks for nothing that is charged.
func TestSaved(t *testing.T) {
	t.Parallel()
	d := spanned(t, sdk.Connection{Demo: true})
	d.press("V", "z", "s", "tab")
	d.shows("TVL")
	d.over("perps")
	d.fake.events <- sdk.Connection{Connected: true, Demo: true}
	d.fake.events <- delta(perps(t), 0)
	d.shows("Meridian")
	d.press("s")
	d.shows("sorted: ")
	text, err := json.Marshal(d.model.Saved())
	if err != nil {
		t.Fatal(err)
	}
	kept := tui.ReadSaved(text)
	next := start(t, 120, 40, func(c *tui.Config) { c.Saved = kept })
	next.fake.events <- sdk.Connection{Connected: true}
	next.fake.events <- delta(state(t), 0)
	next.shows("1h 24h [7d] 30d")
	next.shows("by price")
	next.press("y")
	next.shows("copied Aave V3")
	again, err := json.Marshal(next.model.Saved())
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(text) {
		t.Errorf("kept %s, then %s", text, again)
	}
	if n := next.fake.calls("series"); n != 0 {
		t.Errorf("%d series at the start", n)
	}
}

// TestSavedBroken: what cannot be, or is of another version, is as usual.
func TestSavedBroken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `[]`, `{"span":"9d","drawing":"pie","packs":{"crypto":{"seen":["(no)"],"sorts":{"top_movers":99,"narratives":-1}}}}`} {
		d := start(t, 120, 40, func(c *tui.Config) { c.Saved = tui.ReadSaved([]byte(text)) })
		d.fake.events <- sdk.Connection{Connected: true}
		d.fake.events <- delta(state(t), 0)
		d.shows("1h [24h] 7d 30d")
		d.press("s", "y")
		d.shows("copied ")
		if k := d.model.Saved(); k.Drawing != "" || k.Span != "" || len(k.Packs[api.PackCrypto].Sorts) > 1 {
			t.Errorf("%s: kept %+v", text, k)
		}
	}
}

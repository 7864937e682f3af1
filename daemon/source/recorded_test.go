package source_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
)

// rowsOf is how many rows every tick of a source has in the recording.
func rowsOf(id string) int {
	switch id {
	case "coingecko-markets":
		return 100
	case "coingecko-trending":
		return 15
	case "coingecko-categories":
		return 41
	case "defillama-protocols":
		return 165 // of 200: the others are of excluded categories
	case "defillama-chains":
		return 40
	case "defillama-stablecoins":
		return 26
	case "geckoterminal-trending":
		return 20
	case "alternativeme-fng":
		return 8
	case "polymarket-crypto":
		return 8
	case "kraken-ticker":
		return 11
	case "coinbase-exchange":
		return 5
	case "coingecko-global", "mempool-fees", "blockscout-gas":
		return 1
	}
	return -1 // grows from tick to tick
}

func TestRecording(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 2, 3, 4, 5, 6, 0, time.UTC)
	clock := func() time.Time { return now }
	r := replay.New(clock)
	f := source.NewFetcher(source.Config{Transport: r, Now: clock, Shift: r.Shift})
	last := make(map[string]source.Doc)
	for tick := 1; tick <= 4; tick++ { // the fourth is the first again
		for _, c := range connectors() {
			out := f.Fetch(t.Context(), c, last[c.ID])
			if out.Class != source.ClassOK || out.Err != nil || out.Dropped != 0 || out.Doc == nil {
				t.Fatalf("tick %d, %s: %s, %v, %d dropped", tick, c.ID, out.Class, out.Err, out.Dropped)
			}
			rows, want := out.Doc.Len(), rowsOf(c.ID)
			if want < 0 && rows < 10 || want >= 0 && rows != want || rows > source.MaxRows {
				t.Errorf("tick %d, %s: %d rows, want %d", tick, c.ID, rows, want)
			}
			checkValues(t, fmt.Sprintf("tick %d, %s", tick, c.ID), reflect.ValueOf(out.Doc), now)
			last[c.ID] = out.Doc
		}
		r.Advance()
	}
}

// checkValues checks that no number is out of reason, no text is unclean and no time lies far from now.
func checkValues(t *testing.T, where string, v reflect.Value, now time.Time) {
	t.Helper()
	switch x := v.Interface().(type) {
	case time.Time:
		switch {
		case strings.HasSuffix(where, ".NextUpdate"):
			now = now.Add(24 * time.Hour)
		case strings.HasSuffix(where, ".EndsAt"): // of a bet
			now = now.AddDate(1, 0, 0)
		}
		if x.After(now) || x.Location() != time.UTC || x.Year() < 2021 {
			t.Errorf("%s: time %v", where, x)
		}
		return
	case float64:
		if math.IsNaN(x) || math.Abs(x) > 1e14 {
			t.Errorf("%s: number %v", where, x)
		}
	case string:
		if x == "" || strings.TrimSpace(x) != x || strings.ContainsAny(x, "\n\t\x1b[]") {
			t.Errorf("%s: text %q", where, x)
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			checkValues(t, where, v.Elem(), now)
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkValues(t, fmt.Sprintf("%s[%d]", where, i), v.Index(i), now)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !mayLack(name) || !v.Field(i).IsZero() {
				checkValues(t, where+"."+name, v.Field(i), now)
			}
		}
	}
}

// mayLack reports whether a row need not have a text.
func mayLack(field string) bool {
	return field == "Category" || field == "CoinID" || field == "LlamaID"
}

func TestRecordedChainsHaveHistories(t *testing.T) {
	t.Parallel()
	for i, c := range recordedDoc(t, source.DefiLlamaChains()).(*source.ChainsDoc).Chains {
		if known := c.Change7d != nil; known != (i < 6) || c.Change1d != nil {
			t.Errorf("%d, %s: changes known: %v", i, c.Name, known)
		}
	}
}

func TestDocsSurviveStorage(t *testing.T) {
	t.Parallel()
	for _, c := range connectors() {
		doc := recordedDoc(t, c)
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		stored := c.New()
		if err := json.Unmarshal(data, stored); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		if !reflect.DeepEqual(stored, doc) {
			t.Errorf("%s: stored and read again:\n%+v\nwant\n%+v", c.ID, stored, doc)
		}
	}
}

func TestScheduleOfSources(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, c := range connectors() {
		if c.Interval < 5*time.Minute || c.Interval > c.StaleAfter {
			t.Errorf("%s: interval %v, stale after %v", c.ID, c.Interval, c.StaleAfter)
		}
		if seen[c.ID] {
			t.Errorf("%s appears twice", c.ID)
		}
		seen[c.ID] = true
		if doc := c.New(); doc.Len() > 1 {
			t.Errorf("%s: a new Doc has %d rows", c.ID, doc.Len())
		}
	}
}

func TestShiftMovesEveryTime(t *testing.T) {
	t.Parallel()
	by := 3 * 24 * time.Hour
	for _, c := range connectors() {
		before, after := recordedDoc(t, c), recordedDoc(t, c)
		after.Shift(by)
		moved := 0
		compareTimes(reflect.ValueOf(before), reflect.ValueOf(after), func(a, b time.Time) {
			moved++
			if b.Sub(a) != by {
				t.Errorf("%s: %v moved to %v", c.ID, a, b)
			}
		})
		if want := hasTimes(c.ID); (moved > 0) != want {
			t.Errorf("%s: %d times moved, want some: %v", c.ID, moved, want)
		}
	}
	var unknown source.MarketsDoc
	if unknown.Shift(by); !unknown.AsOf.IsZero() {
		t.Error("an unknown time must stay unknown")
	}
}

func hasTimes(id string) bool {
	switch id {
	case "coingecko-markets", "coingecko-global", "defillama-hacks", "geckoterminal-trending", "alternativeme-fng",
		"news-coindesk", "news-cointelegraph", "news-decrypt", "polymarket-crypto", "blockscout-gas":
		return true
	}
	return false
}

// compareTimes calls pair for every time that is in a and in b, but not for our own.
func compareTimes(a, b reflect.Value, pair func(a, b time.Time)) {
	if x, ok := a.Interface().(time.Time); ok {
		pair(x, b.Interface().(time.Time))
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			compareTimes(a.Elem(), b.Elem(), pair)
		}
	case reflect.Slice:
		for i := range a.Len() {
			compareTimes(a.Index(i), b.Index(i), pair)
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if name := a.Type().Field(i).Name; name != "HistoryAt" && name != "Hours" {
				compareTimes(a.Field(i), b.Field(i), pair)
			}
		}
	}
}

func TestReplayedHacksKeepTheirDays(t *testing.T) {
	t.Parallel()
	for _, hour := range []int{0, 7, 8, 20, 23} {
		now := time.Date(2027, 2, 3, hour, 4, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		r := replay.New(clock)
		f := source.NewFetcher(source.Config{Transport: r, Now: clock, Shift: r.Shift})
		for range 3 {
			hacks := f.Fetch(t.Context(), source.DefiLlamaHacks(), nil).Doc.(*source.HacksDoc).Hacks
			for _, h := range hacks {
				if h.Date != h.Date.Truncate(24*time.Hour) {
					t.Fatalf("hour %d: %s on %v, want a midnight", hour, h.Name, h.Date)
				}
				if h.Name == "Poly Network" && h.Date.Format(time.DateOnly) != "2021-10-24" { // 2021-08-10, 75 days later
					t.Errorf("hour %d, tick %d: %s on %v", hour, r.Tick(), h.Name, h.Date)
				}
			}
			r.Advance()
		}
	}
}

package replay_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source/replay"
)

// recordedPage is a page of a pack beside crypto, as its manifest lists it.
type recordedPage struct {
	Tick                              int
	SourceID, Method, URL, Body, File string
}

// otherPages are those of the first tick.
func otherPages(t *testing.T) (pages []recordedPage) {
	t.Helper()
	for _, pack := range []string{"perps", "markets", "ai"} {
		var m struct{ Entries []recordedPage }
		text, err := os.ReadFile(filepath.Join("recorded", pack+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Entries {
			if p.Tick == 1 {
				pages = append(pages, p)
			}
		}
	}
	return pages
}

// TestLivingMovesAllPacks: what is told more than once a day moves from state to state, in documents that stay well formed, and the same
// seed says the same of the same time. An incident shows in what it is about.
func TestLivingMovesAllPacks(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	rests := map[string]bool{ // told once a day or less often
		"bls-indicators": true, "bls-calendar": true, "fed-calendar": true, "bea-calendar": true, "fiscaldata-debt": true,
		"treasury-yields": true, "frankfurter-fx": true, "cboe-vix": true, "arxiv": true,
		"ollama-releases": true, "vllm-releases": true, "transformers-releases": true,
		"anthropic-status": true,
	}
	var now time.Time
	var lives [2]*replay.Living
	for i := range lives {
		now = start
		l, err := replay.NewLiving(replay.LivingConfig{Seed: 1, Past: 24 * time.Hour, Every: 15 * time.Second, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		lives[i] = l
	}
	told := map[string]map[time.Duration]string{}
	for _, at := range []time.Duration{-24 * time.Hour, 0, 6 * time.Hour, 6*time.Hour + 10*time.Minute, 6*time.Hour + 94*time.Minute + 30*time.Second} {
		now = start.Add(at)
		for _, l := range lives {
			l.Advance()
		}
		for _, p := range otherPages(t) {
			said := livingSays(t, lives[0], p, now)
			if again := livingSays(t, lives[1], p, now); again != said {
				t.Errorf("%s says another thing of the same time", p.SourceID)
			}
			wellFormed(t, p, said)
			if told[p.SourceID] == nil {
				told[p.SourceID] = map[time.Duration]string{}
			}
			told[p.SourceID][at] = said
		}
	}
	for id, by := range told {
		if moved := by[-24*time.Hour] != by[0]; moved == rests[id] && id != "openai-status" {
			t.Errorf("%s moved: %t", id, moved)
		}
	}
	if calm, worst := told["openai-status"][6*time.Hour], told["openai-status"][6*time.Hour+94*time.Minute+30*time.Second]; !strings.Contains(calm, `"none"`) ||
		!strings.Contains(worst, "major_outage") {
		t.Error("the incident does not show on the status page, or does not pass")
	}
}

// TestFixings: what is fixed on business days bears their dates and no others, of the last one that is over, and what is said of a day is
// never another thing later.
func TestFixings(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 3, 23, 30, 0, 0, time.UTC) // a Wednesday
	now := start
	clock := func() time.Time { return now }
	l, err := replay.NewLiving(replay.LivingConfig{Seed: 1, Past: 24 * time.Hour, Every: 15 * time.Second, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	unread := regexp.MustCompile(`.*BC_1_5MONTH.*`) // the newest recorded day has none
	rows := map[string]struct {
		re     *regexp.Regexp // a date and what is said of it
		layout string
		late   time.Duration // after midnight of its day
		other  bool          // each day has values of its own
	}{
		"treasury-yields": {regexp.MustCompile(`(?s)DateTime">([\d-]{10})T(.*?)</m:prop`), time.DateOnly, 22 * time.Hour, true},
		"frankfurter-fx":  {regexp.MustCompile(`"([\d-]{10})": \{(.*?)\}`), time.DateOnly, 15 * time.Hour, true},
		"cboe-vix":        {regexp.MustCompile(`(?m)^([\d/]{10}),(.*)$`), "01/02/2006", 22 * time.Hour, true},
		"nyfed-rates":     {regexp.MustCompile(`"effectiveDate": "([\d-]{10})", "type": "SOFRAI"(.*?)\}`), time.DateOnly, 12 * time.Hour, false},
		"fiscaldata-debt": {regexp.MustCompile(`"record_date": "([\d-]{10})"(.*?)\}`), time.DateOnly, 44 * time.Hour, false},
	}
	for _, p := range otherPages(t) {
		of, fixed := rows[p.SourceID]
		if !fixed {
			continue
		}
		delete(rows, p.SourceID)
		shift := l.Shift(p.SourceID).Round(24 * time.Hour)
		said := map[time.Time]string{}
		for now = start; now.Before(start.AddDate(0, 0, 8)); now = now.Add(3 * time.Hour) {
			var newest time.Time
			text := unread.ReplaceAllString(livingSays(t, l, p, now), "")
			for _, g := range of.re.FindAllStringSubmatch(text, -1) {
				date, err := time.Parse(of.layout, g[1])
				if err != nil {
					t.Fatal(err)
				}
				day := date.Add(shift)
				if w := day.Weekday(); w == time.Saturday || w == time.Sunday {
					t.Fatalf("%s says at %s what was fixed on %s", p.SourceID, now, day)
				}
				if before, known := said[day]; of.other && known && before != g[2] {
					t.Fatalf("%s says at %s of %s %s, and before %s", p.SourceID, now, day, g[2], before)
				}
				said[day] = g[2]
				if day.After(newest) {
					newest = day
				}
			}
			last := now.Add(-of.late).Truncate(24 * time.Hour)
			for last.Weekday() == time.Saturday || last.Weekday() == time.Sunday {
				last = last.AddDate(0, 0, -1)
			}
			if !newest.Equal(last) {
				t.Errorf("%s says at %s what was fixed on %s, not on %s", p.SourceID, now, newest, last)
			}
		}
		if a, b := said[time.Date(2027, 3, 4, 0, 0, 0, 0, time.UTC)], said[time.Date(2027, 3, 5, 0, 0, 0, 0, time.UTC)]; of.other && a == b {
			t.Errorf("%s says the same of two days: %s", p.SourceID, a)
		}
	}
	if len(rows) > 0 {
		t.Errorf("nothing was asked of %v", rows)
	}
}

// livingSays is what a Living answers for a page, with the times that its URL has then.
func livingSays(t *testing.T, l *replay.Living, p recordedPage, now time.Time) string {
	t.Helper()
	up := now.Add(-l.Shift(p.SourceID))
	address := strings.ReplaceAll(p.URL, "2026-11-10", up.AddDate(0, 0, -10).Format(time.DateOnly))
	req, err := http.NewRequest(p.Method, address, strings.NewReader(p.Body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := l.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", address, resp.StatusCode, err)
	}
	return string(text)
}

// wellFormed reports a payload that is none of its kind.
func wellFormed(t *testing.T, p recordedPage, said string) {
	t.Helper()
	switch filepath.Ext(p.File) {
	case ".json":
		if !json.Valid([]byte(strings.TrimPrefix(said, "\ufeff"))) {
			t.Errorf("%s is no JSON: %.200s", p.SourceID, said)
		}
	case ".xml", ".atom":
		d := xml.NewDecoder(strings.NewReader(strings.ToValidUTF8(said, "?")))
		d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
		for {
			_, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s is no XML: %v", p.SourceID, err)
			}
		}
	}
}

// TestLivingGoesOn: what stops and begins again with its file tells the same as if it had never stopped, and after a night has moved by the
// steps of one.
func TestLivingGoesOn(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "market.gob")
	begin := func() *replay.Living {
		t.Helper()
		l, err := replay.NewLiving(replay.LivingConfig{
			Seed: 1, Past: 24 * time.Hour, Every: 15 * time.Second, Path: path, Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	pages := append(otherPages(t), recordedPage{Method: http.MethodGet, URL: marketsPage},
		recordedPage{Method: http.MethodGet, URL: poolsPage}, recordedPage{Method: http.MethodGet, URL: coindeskPage})
	coin := func(l *replay.Living, id string) (price, hour float64) {
		t.Helper()
		said := livingSays(t, l, recordedPage{Method: http.MethodGet, URL: marketsPage}, now)
		var coins []struct {
			ID    string  `json:"id"`
			Price float64 `json:"current_price"`
			Hour  float64 `json:"price_change_percentage_1h_in_currency"`
		}
		if err := json.Unmarshal([]byte(said), &coins); err != nil {
			t.Fatal(err)
		}
		for _, c := range coins {
			if c.ID == id {
				return c.Price, c.Hour
			}
		}
		t.Fatalf("no %s", id)
		return 0, 0
	}
	before := begin()
	for range 40 { // past the first incident, in the course of which it stops
		now = now.Add(15 * time.Second)
		before.Advance()
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	after := begin()
	for range 2 {
		for _, p := range pages {
			if livingSays(t, after, p, now) != livingSays(t, before, p, now) {
				t.Errorf("%s %s is told otherwise after a stop", p.Method, p.URL)
			}
		}
		now = now.Add(15 * time.Second)
		before.Advance()
		after.Advance()
	}
	if err := after.Close(); err != nil {
		t.Fatal(err)
	}
	price, _ := coin(after, "ethereum")
	now = now.Add(8 * time.Hour)
	morning := begin()
	if moved, hour := coin(morning, "ethereum"); moved == price || math.Abs(moved/price-1) > 0.1 || math.Abs(hour) > 3 {
		t.Errorf("after a night Ethereum stands at %g, from %g, with %g%% in an hour", moved, price, hour)
	}
	for name, spoil := range map[string]func(){
		"after a year":    func() { now = now.AddDate(1, 0, 0) },
		"before its time": func() { now = now.AddDate(-2, 0, 0) },
		"spoiled": func() {
			if err := os.WriteFile(path, []byte("none"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		spoil()
		if began, _ := coin(begin(), "ethereum"); began != 3184 {
			t.Errorf("%s a market begins with Ethereum at %g", name, began)
		}
	}
}

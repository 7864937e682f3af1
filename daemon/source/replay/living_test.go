package replay_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"path/filepath"
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
		"nyfed-rates": true, "bls-indicators": true, "bls-calendar": true, "fed-calendar": true, "bea-calendar": true, "fiscaldata-debt": true,
		"arxiv": true, "ollama-releases": true, "vllm-releases": true, "transformers-releases": true, "anthropic-status": true,
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

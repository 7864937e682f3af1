package source_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
)

// listener passes requests on and keeps their URLs.
type listener struct {
	next http.RoundTripper
	mu   sync.Mutex // guards urls
	urls []string
}

func (l *listener) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.urls = append(l.urls, req.URL.String())
	l.mu.Unlock()
	return l.next.RoundTrip(req)
}

// pulse fetches every source at once, as the pipeline does.
func pulse(t *testing.T, f *source.Fetcher, last map[string]source.Doc) map[string]source.Outcome {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	outcomes := make(map[string]source.Outcome)
	for _, c := range connectors() {
		group.Go(func() {
			out := f.Fetch(t.Context(), c, last[c.ID])
			mu.Lock()
			defer mu.Unlock()
			outcomes[c.ID] = out
		})
	}
	group.Wait()
	return outcomes
}

func TestWholePulseIsWithinTheLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &listener{next: replay.New(atRecording)}
		f := source.NewFetcher(source.Config{Transport: l, Now: atRecording})
		begin := time.Now()
		for id, out := range pulse(t, f, nil) {
			if out.Err != nil {
				t.Errorf("%s: %v", id, out.Err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("a pulse waited %v for the limits", took)
		}
		if want := 16 + 6 + 5 + 2; len(l.urls) != want { // one document each, six histories, five products, two nodes
			t.Errorf("%d requests, want %d", len(l.urls), want)
		}
	})
}

func TestWhatIsNeverAskedFor(t *testing.T) {
	t.Parallel()
	const key = "CG-secret"
	l := &listener{next: replay.New(atRecording)}
	f := source.NewFetcher(source.Config{Transport: l, Now: atRecording, CoinGecko: source.CoinGecko{Key: key}, Shift: func(string) time.Duration { return 0 }})
	pulse(t, f, nil)
	slices.Sort(l.urls)
	if unique := len(slices.Compact(slices.Clone(l.urls))); unique != len(l.urls) {
		t.Errorf("%d requests for %d documents", len(l.urls), unique)
	}
	for _, u := range l.urls {
		if !strings.HasPrefix(u, "https://") {
			t.Errorf("%s is not https", u)
		}
		for _, never := range []string{"/stablecoin/", "/lite/protocols2", "binance", key, "api_key"} {
			if strings.Contains(u, never) {
				t.Errorf("%s asks for %s", u, never)
			}
		}
	}
}

func TestLastDocIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := replay.New(atRecording)
	later := func() time.Time { return recordedAt.Add(25 * time.Hour) } // the histories are due, and every time is shifted
	f := source.NewFetcher(source.Config{Transport: r, Now: later, Shift: func(string) time.Duration { return 25 * time.Hour }})
	last, before := make(map[string]source.Doc), make(map[string]string)
	for _, c := range connectors() {
		last[c.ID] = recordedDoc(t, c)
		before[c.ID] = string(mustMarshal(t, c.ID, last[c.ID]))
	}
	for _, broken := range []bool{false, true} {
		if r.Advance(); broken {
			r.Break("", nil)
		}
		for id, out := range pulse(t, f, last) {
			if (out.Err != nil) != broken {
				t.Errorf("%s, broken %v: %v", id, broken, out.Err)
			}
			if after := string(mustMarshal(t, id, last[id])); after != before[id] {
				t.Errorf("%s, broken %v: the last Doc was changed", id, broken)
			}
		}
	}
}

func TestFailuresCarryOver(t *testing.T) {
	t.Parallel()
	for _, c := range failureCases(t) {
		if !c.Expect.CarryOver {
			continue
		}
		body, err := os.ReadFile(filepath.Join("replay", c.File))
		if err != nil {
			t.Fatal(err)
		}
		connector := connectorFor(t, c.SourceID)
		transport := roundTrip(func(req *http.Request) (*http.Response, error) {
			resp := respond(req, c.Status, string(body))
			for name, value := range c.Headers {
				resp.Header.Set(name, value)
			}
			return resp, nil
		})
		out := fetch(t, transport, connector, recordedDoc(t, connector))
		if out.Doc != nil || out.Err == nil || out.NotModified {
			t.Errorf("%s: %+v", c.File, out)
		}
	}
}

func TestStoredDocsOfAnOlderProgram(t *testing.T) {
	t.Parallel()
	for _, c := range connectors() { // a field that went or came must not make a stored Doc useless
		doc := c.New()
		if err := json.Unmarshal([]byte(`{"NoSuchField":[1,2],"AsOf":"2026-11-20T20:00:00Z"}`), doc); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
		doc.Shift(time.Hour)
	}
}

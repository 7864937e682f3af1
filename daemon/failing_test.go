package daemon_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// ground is the only source of the pack that the handbook shows.
type ground struct{ down atomic.Bool }

// RoundTrip answers with two quakes, or refuses.
func (g *ground) RoundTrip(r *http.Request) (*http.Response, error) {
	const quakes = `{"type":"FeatureCollection","features":[
		{"id":"us1","properties":{"mag":4.6,"place":"10 km N of Nowhere","time":1795204800000,"url":"https://earthquake.usgs.gov/x/us1"},"geometry":{"coordinates":[1,2,10.5]}},
		{"id":"us2","properties":{"mag":6.3,"place":"off the coast","time":1795204800000,"url":"https://earthquake.usgs.gov/x/us2"},"geometry":{"coordinates":[1,2,10.5]}}]}`
	status, body := http.StatusOK, quakes
	if g.down.Load() || !strings.Contains(r.URL.Host, "usgs") {
		status, body = http.StatusServiceUnavailable, ""
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// quakes is the pack that the handbook shows.
func quakes(t *testing.T) daemon.Pack {
	t.Helper()
	text := ""
	for _, topic := range handbook.Topics() {
		if topic.Name == "packs" {
			text = regexp.MustCompile("(?s)\n```yaml manifest\n(.*?)```").FindStringSubmatch(topic.Text)[1]
		}
	}
	m, err := manifest.Read([]byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	p, w, err := m.Make(e)
	if err != nil {
		t.Fatal(err)
	}
	return daemon.Pack{Pack: p, Writer: w}
}

// TestOnlySourceFails: when the only source of a pack fails, its state keeps its bytes, and every face says beside it that it is stale, from
// the first failure on; the flag comes with the second, and lookup leaves the rows out once they are too old.
func TestOnlySourceFails(t *testing.T) {
	t.Parallel()
	hook, g := newHook(t), &ground{}
	clock := daemontest.NewClock()
	d := daemontest.Open(t, func(c *daemon.Config) {
		c.Recording, c.Transport, c.Now, c.Page = nil, g, clock.Now, "public"
		c.Packs = []daemon.Pack{{Pack: pack.Crypto()}, quakes(t)}
		c.Alerts = []operate.Alert{{Name: "ops", Pack: "quakes", Hook: alert.Hook{URL: hook.URL, Secret: []byte(alertSecret)}, Ended: true,
			Kinds: []string{api.FlagSourceStale, api.FlagSourceError}}}
	})
	d.Clock = clock
	refresh := func(fails bool) {
		t.Helper()
		if err := d.Refresh(t.Context(), "quakes"); (err != nil) != fails {
			t.Fatalf("refresh: %v", err)
		}
	}
	refresh(false)
	d.Run(t)
	key := d.Key(t, api.TierTeam)
	d.Grant(t, key, 1000)
	c, user := client(t, d, key), newPerson(t, clock, d.URL(), key)
	user.now = clock.Now
	first, err := c.Fresh(t.Context(), "quakes")
	if err != nil || first.Freshness.Sources != nil {
		t.Fatalf("%+v, %v", first.Freshness, err)
	}
	stream := c.Subscribe(sdk.SubscribeRequest{Pack: "quakes", Repeats: true})
	t.Cleanup(stream.Close)
	says := func(face, text, yes, no string) {
		t.Helper()
		if !strings.Contains(text, yes) || no != "" && strings.Contains(text, no) {
			t.Errorf("%s says no %q, or %q:\n%.1500s", face, yes, no, text)
		}
	}
	faces := func() map[string]string {
		t.Helper()
		overview, _ := user.does(t, 0, "fresh", "quakes", "-o", "text")
		found, _ := user.does(t, 0, "lookup", "--pack", "quakes", "nowhere", "-o", "text")
		return map[string]string{
			"ctx state": overview, "ctx ask": found, "page": page(t, d.URL()+"/packs/quakes"),
			"MCP fresh":  mcpCall(t, d, key, "tools/call", `{"name":"context.fresh","arguments":{"pack":"quakes"}}`),
			"MCP lookup": mcpCall(t, d, key, "tools/call", `{"name":"context.lookup","arguments":{"pack":"quakes","q":"nowhere"}}`),
		}
	}
	for face, text := range faces() {
		says(face, text, "Nowhere", "STALE")
	}
	g.down.Store(true)
	clock.Advance(5 * time.Minute)
	refresh(true)
	fresh, err := c.Fresh(t.Context(), "quakes")
	if err != nil || string(fresh.State) != string(first.State) || len(fresh.Freshness.Sources) != 1 || fresh.Freshness.Flags != nil {
		t.Fatalf("after a failure: %+v, %v", fresh.Freshness, err)
	}
	if s := fresh.Freshness.Sources[0]; s.ID != "usgs-day" || s.Status != api.SourceStale || s.Failures != 1 || s.Since == nil {
		t.Errorf("the source is %+v", s)
	}
	for face, text := range faces() {
		switch face {
		case "ctx state":
			says(face, text, "0 of 1 ok", "1 of 1")
		case "page":
			says(face, text, "0 of 1 sources", "1 of 1")
		}
		says(face, strings.ToUpper(text), "STALE", "")
	}
	clock.Advance(5 * time.Minute)
	refresh(true)
	const flag = "is stale: 2 attempts failed in a row"
	for e, err := range stream.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == api.EventError {
			continue
		}
		f := e.State.Freshness
		if string(e.State.State) != string(first.State) || f == nil || len(f.Sources) != 1 || len(f.Flags) != 1 || f.Flags[0].Kind != api.FlagSourceStale {
			t.Errorf("the next pulse says %+v", f)
		}
		break
	}
	for face, text := range faces() {
		if face != "ctx ask" && face != "MCP lookup" {
			says(face, text, "2 attempts failed", "")
		}
	}
	until(t, "the operator is notified", func() bool {
		events, _ := hook.taken()
		return len(events) == 1 && events[0].Kind == api.FlagSourceStale && strings.HasSuffix(events[0].Message, flag)
	})
	if out, _ := user.does(t, 0, "watch", "quakes", "--flag", api.FlagSourceStale, "--count", "1"); !strings.Contains(out, flag) {
		t.Errorf("ctx watch: %s", out)
	}
	clock.Advance(6 * time.Hour)
	refresh(true)
	if found, err := c.Lookup(t.Context(), sdk.LookupRequest{Pack: "quakes", Questions: []string{"nowhere"}}); err != nil || len(found.Results[0].Rows) > 0 ||
		found.Freshness.Sources[0].Status != api.SourceError {
		t.Errorf("rows that are too old: %+v, %v", found, err)
	}
	g.down.Store(false)
	clock.Advance(6*time.Hour + 1234567)
	refresh(false)
	if found, err := c.Lookup(t.Context(), sdk.LookupRequest{Pack: "quakes", Questions: []string{"nowhere"}}); err != nil ||
		!found.Results[0].Rows[0].FetchedAt.Equal(found.Citations[0].FetchedAt) {
		t.Errorf("a row and its citation are of two times: %+v, %v", found, err)
	}
	until(t, "the page, which is made beside the refresh, dates the rows", func() bool {
		text := page(t, d.URL()+"/packs/quakes")
		return strings.Contains(text, ">2026-11-20 20:00:00Z</time>") && !strings.Contains(text, ">20:00:00Z</time>")
	})
	if fresh, err := c.Fresh(t.Context(), "quakes"); err != nil || fresh.Freshness.Sources != nil {
		t.Errorf("once it answers: %+v, %v", fresh.Freshness, err)
	}
	until(t, "the operator is notified of the end", func() bool {
		events, _ := hook.taken()
		return len(events) >= 2 && events[len(events)-1].Change == "ended"
	})
}

// page is what a browser gets.
func page(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

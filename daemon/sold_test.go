package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// soldMark stands in every text that a source says which may not be sold.
const soldMark = "Qzmarked"

// unsoldHosts are those of the sources that may not be sold.
func unsoldHosts(packs []daemon.Pack) map[string]bool {
	hosts := map[string]bool{}
	for _, p := range packs {
		for _, s := range p.Sources {
			for _, a := range s.Asks {
				hosts[a.Host()] = hosts[a.Host()] || !s.Use.Sellable()
			}
		}
	}
	return hosts
}

// markedTape is a recording in which all that says what may not be sold is marked, and that notes who is asked.
type markedTape struct {
	*replay.Recording
	hosts map[string]bool
	asked func(host string)
}

// said are texts in answers: names, titles, questions.
var said = regexp.MustCompile(`("(?:name|title|question|symbol|groupItemTitle|category)" ?: ?"|<title>(?:<!\[CDATA\[)?)([^"<\]]+)`)

func (m markedTape) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := m.Recording.RoundTrip(r)
	m.asked(r.URL.Host)
	if err != nil || !m.hosts[r.URL.Host] {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	body = said.ReplaceAll(body, []byte("${1}${2} "+soldMark))
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, nil
}

// shippedUnder are the four packs of the program under terms.
func shippedUnder(t *testing.T, terms pack.Terms) []daemon.Pack {
	t.Helper()
	list := []daemon.Pack{{Pack: pack.Crypto().Under(terms)}}
	for _, id := range manifest.Shipped() {
		text, _ := manifest.ShippedText(id)
		m, err := manifest.Read(text, true)
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
		list = append(list, daemon.Pack{Pack: p.Under(terms), Writer: w})
	}
	return list
}

// seller is a daemon with the four packs, to be looked at through all that it serves.
type seller struct {
	*testing.T
	d     *daemontest.Daemon
	packs []daemon.Pack
	key   string
}

func (s *seller) do(method, path, body string) string {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.d.URL()+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "/packs/") || path == "/" || path == "/account" {
		r.Header.Set("Accept", "text/html")
		r.Header.Del("Authorization") // of this machine
	}
	res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(r)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	return fmt.Sprint(res.StatusCode, " ", res.Header, " ", string(text))
}

func (s *seller) state(id string) json.RawMessage {
	s.Helper()
	_, body, _ := strings.Cut(s.do(http.MethodGet, "/v1/fresh?pack="+id, ""), "] ")
	var told struct{ State json.RawMessage }
	if err := json.Unmarshal([]byte(body[strings.IndexByte(body, '{'):]), &told); err != nil || told.State == nil {
		s.Fatalf("state of %s: %v in %.300s", id, err, body)
	}
	return told.State
}

func (s *seller) refresh() {
	s.Helper()
	for _, p := range s.packs {
		if err := s.d.Refresh(s.Context(), p.ID); err != nil {
			s.Fatal(err)
		}
	}
}

// firstFrames are what a stream begins with, until one has a mark in it.
func (s *seller) firstFrames(path, mark string) string {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.d.URL()+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	var text []byte
	for part := make([]byte, 64<<10); !bytes.Contains(text, []byte(mark)) || !bytes.HasSuffix(text, []byte("\n\n")); {
		n, err := res.Body.Read(part)
		if text = append(text, part[:n]...); err != nil {
			break
		}
	}
	return string(text)
}

// all is every answer that s gives to a caller with a key of the highest tier, by what was asked. Of what was there at then it asks too.
func (s *seller) all(then time.Time, words []string) map[string]string {
	s.Helper()
	said := map[string]string{}
	get := func(path string, query ...string) {
		v := url.Values{}
		for i := 0; i < len(query); i += 2 {
			v.Add(query[i], query[i+1])
		}
		if len(v) > 0 {
			path += "?" + v.Encode()
		}
		said[path] = s.do(http.MethodGet, path, "")
	}
	for _, path := range []string{"/", "/account", "/docs", "/api/packs", "/api/openapi", "/openapi.json", "/llms.txt",
		"/.well-known/x402", "/.well-known/x402.json"} {
		get(path)
	}
	at := then.UTC().Format(time.RFC3339Nano)
	for _, p := range s.packs {
		get("/packs/" + p.ID)
		get("/packs/"+p.ID, "q", words[0])
		get("/log/" + p.ID + "/checkpoint")
		get("/log/"+p.ID+"/at", "time", at)
		for seq := range 4 {
			get(fmt.Sprintf("/log/%s/leaf/%d", p.ID, seq))
		}
		get("/v1/fresh", "pack", p.ID)
		get("/v1/brief", "pack", p.ID, "claims", "true")
		get("/v1/snapshot", "pack", p.ID, "at", at)
		get("/v1/snapshot", "pack", p.ID, "at", then.Add(time.Minute).UTC().Format("2006-01-02T15:04Z"))
		get("/v1/changes", "pack", p.ID, "since", at)
		get("/v1/history", "pack", p.ID, "member", "source_status", "from",
			then.Add(-time.Minute).UTC().Format(time.RFC3339), "every", "5m")
		for _, w := range words {
			get("/v1/search", "pack", p.ID, "q", w)
			get("/v1/lookup", "pack", p.ID, "q", w, "limit", "10")
			get("/v1/lookup", "pack", p.ID, "q", w+" 5m ago")
		}
		for i, src := range p.Sources {
			get("/v1/cite", "pack", p.ID, "ref", fmt.Sprint(i+1))
			get("/v1/cite", "pack", p.ID, "ref", fmt.Sprint(i+1), "at", at)
			get("/v1/query", "pack", p.ID, "table", "sources", "where", "name = "+src.ID)
		}
		for _, m := range p.Members {
			get("/v1/series", "pack", p.ID, "path", m.Name, "span", "24h")
			get("/v1/history", "pack", p.ID, "member", m.Name, "from",
				then.Add(-time.Minute).UTC().Format(time.RFC3339), "every", "5m")
		}
		for _, kind := range append(slices.Clone(p.Kinds), "flags", "headlines", "sources") {
			for _, more := range [][]string{nil, {"at", at}, {"over", "1h"}} {
				get("/v1/query", append([]string{"pack", p.ID, "table", kind, "limit", "100"}, more...)...)
			}
		}
		said["subscribe "+p.ID] = s.firstFrames("/v1/subscribe?pack="+p.ID+"&token="+s.key, "source_status")
		said["events "+p.ID] = s.firstFrames("/packs/"+p.ID+"/events", "data: ")
		tools := []string{
			`{"name":"context.fresh","arguments":{"pack":%q}}`, `{"name":"context.brief","arguments":{"pack":%q}}`,
			`{"name":"context.search","arguments":{"pack":%q,"q":"` + words[0] + `"}}`,
			`{"name":"context.lookup","arguments":{"pack":%q,"q":"` + words[0] + `"}}`,
			`{"name":"context.snapshot","arguments":{"pack":%q,"at":"` + at + `"}}`,
			`{"name":"context.changes","arguments":{"pack":%q,"since":"` + at + `"}}`,
			`{"name":"context.query","arguments":{"pack":%q,"table":"` + p.Kinds[0] + `","limit":100}}`,
			`{"name":"context.cite","arguments":{"pack":%q,"ref":1}}`,
		}
		for _, call := range tools {
			call = fmt.Sprintf(call, p.ID)
			said["MCP "+call] = mcpCall(s.T, s.d, s.key, "tools/call", call)
		}
		for _, uri := range []string{"context://packs/" + p.ID + "/state", "context://packs/" + p.ID + "/brief",
			"context://tables/" + p.ID} {
			said["MCP "+uri] = mcpCall(s.T, s.d, s.key, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
		}
	}
	said["MCP tools"] = mcpCall(s.T, s.d, s.key, "tools/list", "{}")
	said["MCP resources"] = mcpCall(s.T, s.d, s.key, "resources/list", "{}")
	get("/v1/lookup", "pack", "*", "q", words[0])
	said["credits"] = s.do(http.MethodPost, "/v1/credits?pack=starter", "")
	return said
}

// figures are the numbers and texts of rows in a state, by the source that the row is of. Short ones may be anybody's.
func figures(t *testing.T, p daemon.Pack, state []byte, into map[string]map[string]bool) {
	t.Helper()
	var walk func(v any, ref int)
	walk = func(v any, ref int) {
		switch v := v.(type) {
		case map[string]any:
			if own, is := v["ref"].(json.Number); is {
				n, _ := own.Int64()
				ref = int(n)
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if name != "source_status" && name != "of" && name != "since" && name != "flags" {
					walk(v[name], ref)
				}
			}
		case []any:
			for _, e := range v {
				walk(e, ref)
			}
		case json.Number:
			if text := v.String(); digits(text) >= 4 && ref > 0 {
				into[p.Sources[ref-1].ID][text] = true
			}
		case string:
			if ref > 0 && strings.Contains(v, soldMark) {
				into[p.Sources[ref-1].ID][soldMark] = true
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(state))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sources {
		if into[s.ID] == nil {
			into[s.ID] = map[string]bool{}
		}
	}
	walk(doc, 0)
}

// short reports whether a figure has so few digits that another may be the same.
func short(figure string) bool { return digits(figure) < 6 && figure != soldMark }

func digits(figure string) int { return len(strings.Trim(strings.ReplaceAll(figure, ".", ""), "-0")) }

// tells is where a figure stands in text as a number or word of its own, -1 if it does not.
func tells(text, figure string) int {
	digit := func(b byte) bool { return b >= '0' && b <= '9' || b == '.' || b >= 'a' && b <= 'f' || b == '-' }
	for at := 0; ; {
		i := strings.Index(text[at:], figure)
		if i < 0 {
			return -1
		}
		from, to := at+i, at+i+len(figure)
		if figure == soldMark || (from == 0 || !digit(text[from-1])) && (to == len(text) || !digit(text[to])) {
			return from
		}
		at = to
	}
}

// TestNothingUnsoldIsServed runs a daemon on marked sources, has it sell clean by a reload and by a restart, and looks at all it serves.
func TestNothingUnsoldIsServed(t *testing.T) {
	t.Parallel()
	long.Test(t)
	open := shippedUnder(t, pack.Terms{})
	clean := func() []daemon.Pack { return shippedUnder(t, pack.Terms{Clean: true}) }
	hosts := unsoldHosts(open)
	var mu sync.Mutex // guards asked
	asked := map[string]bool{}
	ask := func(host string) {
		mu.Lock()
		defer mu.Unlock()
		asked[host] = true
	}
	tape := func(c *daemon.Config) { c.Recording = markedTape{c.Recording.(*replay.Recording), hosts, ask} }
	dir := t.TempDir()
	begin := func(packs []daemon.Pack, clock *daemontest.Clock) *seller {
		d := daemontest.Open(t, daemontest.WithPages, tape, func(c *daemon.Config) {
			c.DataDir, c.Packs = dir, packs
			if clock != nil {
				c.Now = clock.Now
			}
		})
		if clock != nil {
			d.Clock = clock
		}
		s := &seller{t, d, packs, d.Key(t, api.TierTeam)}
		d.Grant(t, s.key, 100000)
		d.Run(t)
		return s
	}
	s := begin(open, nil)
	s.refresh()
	s.d.Clock.Advance(5*time.Minute + 300*time.Millisecond)
	s.refresh()
	then := s.d.Clock.Now()
	s.d.Clock.Advance(5 * time.Minute)
	s.refresh()

	of := map[string]map[string]bool{}
	for _, p := range open {
		figures(t, p, s.state(p.ID), of)
	}
	unsold, sold := map[string]string{}, map[string]bool{}
	for _, p := range open {
		for _, src := range p.Sources {
			for text := range of[src.ID] {
				if src.Use.Sellable() {
					sold[text] = true
				} else {
					unsold[text] = src.ID
				}
			}
		}
	}
	ours := s.do(http.MethodGet, "/docs", "") + s.do(http.MethodGet, "/api/openapi", "") // with examples that are invented
	maps.DeleteFunc(unsold, func(text, _ string) bool { return sold[text] || tells(ours, text) >= 0 })
	maps.DeleteFunc(unsold, func(text, id string) bool { // anybody may have that, and there is a better one
		told := slices.Collect(maps.Keys(of[id]))
		return short(text) && slices.ContainsFunc(told, func(t string) bool { return unsold[t] != "" && !short(t) })
	})
	for id, figures := range of { // or the test could not fail for it
		silent := []string{"coingecko-trending", "defillama-hacks", "blockscout-gas"}
		if len(figures) == 0 && unsoldID(open, id) && !slices.Contains(silent, id) {
			t.Errorf("no figure of %s is shown", id)
		}
	}
	words := []string{"bitcoin", "zcash", "vix", "btc volatility", "headlines"}
	seen := func(said map[string]string) (found []string) {
		for what, text := range said {
			if status, _, _ := strings.Cut(text, " "); status == "500" {
				t.Errorf("%s: %.200s", what, text)
			}
			for figure, id := range unsold {
				if i := tells(text, figure); i >= 0 {
					around := text[max(0, i-60):min(len(text), i+60)]
					found = append(found, fmt.Sprintf("%s tells %q of %s: …%s…", what, figure, id, around))
				}
			}
		}
		slices.Sort(found)
		return found
	}
	whole := strings.Join(seen(s.all(then, words)), "\n")
	for _, way := range []string{"/packs/crypto tells", "/packs/crypto?q=bitcoin", "/v1/fresh?", "/v1/brief?",
		"/v1/snapshot?", "/v1/changes?",
		"/v1/history?",
		"/v1/search?", "/v1/lookup?", "/v1/cite?", "/v1/query?at=", "/v1/query?", "/v1/series?", "subscribe crypto", "subscribe perps",
		"events crypto",
		`MCP {"name":"context.fresh"`, `MCP {"name":"context.brief"`, `MCP {"name":"context.lookup"`, `MCP {"name":"context.snapshot"`,
		`MCP {"name":"context.query"`, `MCP {"name":"context.search"`, "MCP context://packs/markets/state",
		"MCP context://packs/crypto/brief",
	} { // or the test could not fail for it
		if !strings.HasPrefix(whole, way) && !strings.Contains(whole, "\n"+way) {
			t.Errorf("served as a whole, %s tells no figure", way)
		}
	}
	logged := s.do(http.MethodGet, "/log/crypto/leaf/1", "")

	check := func(when string, switched time.Time) {
		t.Helper()
		mu.Lock()
		clear(asked)
		mu.Unlock()
		for _, path := range []string{"/packs/", "/v1/fresh?pack=", "/v1/brief?pack="} { // before anything new is known
			for _, p := range s.packs {
				if found := seen(map[string]string{path: s.do(http.MethodGet, path+p.ID, "")}); len(found) > 0 {
					t.Errorf("%s: %s", when, found[0])
				}
			}
		}
		s.d.Clock.Advance(5 * time.Minute)
		s.refresh()
		s.d.Clock.Advance(time.Minute)
		if found := seen(s.all(then, words)); len(found) > 0 {
			t.Errorf("%s, %d answers tell what may not be sold:\n%s", when, len(found), strings.Join(found[:min(len(found), 12)], "\n"))
		}
		mu.Lock()
		for host, is := range hosts {
			if is && asked[host] {
				t.Errorf("%s, %s is asked", when, host)
			}
		}
		mu.Unlock()
		for _, p := range s.packs {
			text := s.do(http.MethodGet, "/v1/snapshot?pack="+p.ID+"&at="+url.QueryEscape(then.UTC().Format(time.RFC3339Nano)), "")
			whole := !slices.ContainsFunc(p.Sources, func(s pack.Source) bool { return !s.Use.Sellable() })
			_, earliest, _ := strings.Cut(text, "the earliest minute for this caller is ")
			if !whole && (!strings.HasPrefix(text, "404") || !strings.Contains(text, "may not sell") ||
				earliest < switched.UTC().Format("2006-01-02T15:04")) {
				t.Errorf("%s, a snapshot of %s from before: %s", when, p.ID, text[strings.LastIndex(text, "] "):])
			}
		}
		if now := s.do(http.MethodGet, "/log/crypto/leaf/1", ""); leaf(now) != leaf(logged) {
			t.Errorf("%s, the log says %s, and said %s", when, now, logged)
		}
	}
	s.d.Clock.Advance(2 * time.Minute)
	next := s.d.Config.Reloadable
	next.Packs = clean()
	if err := s.d.Apply(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	s.packs = next.Packs
	switched := s.d.Clock.Now()
	check("after a reload", switched)

	next.Packs = shippedUnder(t, pack.Terms{}) // and back: what is logged is whole
	if err := s.d.Apply(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	s.packs = next.Packs
	s.d.Clock.Advance(5 * time.Minute)
	s.refresh()
	past := "/v1/snapshot?pack=crypto&at=" + url.QueryEscape(then.UTC().Format(time.RFC3339Nano))
	if text := s.do(http.MethodGet, past, ""); !strings.HasPrefix(text, "200") {
		t.Errorf("switched off again: %.300s", text)
	}
	clock := s.d.Clock
	s.d.Stop(t)
	clock.Advance(time.Minute)
	s = begin(clean(), clock)
	check("after a restart", switched)
}

// leaf is what a log is asked for; the hashes beside it change as it grows.
func leaf(text string) string {
	_, text, _ = strings.Cut(text, `{"leaf":"`)
	text, _, _ = strings.Cut(text, `","`)
	return text
}

func unsoldID(packs []daemon.Pack, id string) bool {
	for _, p := range packs {
		for _, s := range p.Sources {
			if s.ID == id {
				return !s.Use.Sellable()
			}
		}
	}
	return false
}

// TestSoldPacksRead looks at the states, briefs and tables that are left of the four packs: all members are there, the brief says something
// and every source that is not served says why.
func TestSoldPacksRead(t *testing.T) {
	t.Parallel()
	packs := shippedUnder(t, pack.Terms{Clean: true})
	d := daemontest.Open(t, daemontest.WithPages, func(c *daemon.Config) { c.Packs = packs })
	s := &seller{t, d, packs, d.Key(t, api.TierTeam)}
	d.Grant(t, s.key, 1000)
	d.Run(t)
	s.refresh()
	for _, p := range packs {
		state := s.state(p.ID)
		_, said, _ := strings.Cut(s.do(http.MethodGet, "/v1/brief?pack="+p.ID, ""), `{"brief":"`)
		said, _, _ = strings.Cut(said, `","`)
		t.Logf("%s: %d bytes\n%s", p.ID, len(state), strings.ReplaceAll(said, `\n`, "\n"))
		if !regexp.MustCompile(`\[\d+\]`).MatchString(said) {
			t.Errorf("brief of %s: %q", p.ID, said)
		}
		var row []api.SourceStatus
		if err := json.Unmarshal(jsonx.Find(state, "source_status"), &row); err != nil {
			t.Fatal(err)
		}
		for i, src := range p.Sources {
			why := ""
			if row[i].Error != nil {
				why = *row[i].Error
			}
			if want := src.Withheld; why != want && src.ID != "openrouter-models" || row[i].Ref != i+1 {
				t.Errorf("%s of %s: %q, want %q", src.ID, p.ID, why, want)
			}
		}
	}
	var crypto api.CryptoState
	if err := json.Unmarshal(s.state(api.PackCrypto), &crypto); err != nil {
		t.Fatal(err)
	}
	if b := s.do(http.MethodGet, "/v1/brief", ""); !strings.Contains(b, "Not served here, by the terms") ||
		strings.Contains(b, "No usable data") ||
		strings.Contains(b, "This brief is without") {
		t.Errorf("brief of crypto: %s", b)
	}
	if len(crypto.TopMovers) == 0 || crypto.TopMovers[0].Ref != 1 || crypto.Sentiment.FearGreed == nil || crypto.ProtocolTVL == nil {
		t.Errorf("crypto: %+v", crypto)
	}
}

// TestUnsoldIsTold: while calls are charged, the log and the account's page on this machine name what may not be sold.
func TestUnsoldIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		metered bool
		terms   pack.Terms
		want    bool
	}{
		{"charged", true, pack.Terms{}, true},
		{"not charged", false, pack.Terms{}, false},
		{"clean", true, pack.Terms{Clean: true}, false},
	} {
		var log testbed.Log
		d := daemontest.Open(t, daemontest.WithPages, func(cfg *daemon.Config) {
			cfg.Transport, cfg.Recording = cfg.Recording, nil
			cfg.Metered, cfg.Logger = c.metered, log.Logger()
			cfg.Packs = []daemon.Pack{{Pack: pack.Crypto().Under(c.terms)}}
		})
		d.Run(t)
		s := &seller{t, d, nil, d.Key(t, api.TierTeam)}
		page := s.do(http.MethodGet, "/account", "")
		if got := strings.Contains(page, "<code>coingecko-markets</code>"); got != c.want || !strings.HasPrefix(page, "200") {
			t.Errorf("%s, the page names it: %v; %.200s", c.what, got, page)
		}
		until(t, "the daemon listens", func() bool { return strings.Contains(log.String(), "listening") })
		if got := strings.Contains(log.String(), "may not be sold"); got != c.want {
			t.Errorf("%s, the log names it: %v", c.what, got)
		}
	}
}

// TestBriefOfAnUnsoldState: a brief of a state that is not served is not either, whatever state is the newest.
func TestBriefOfAnUnsoldState(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	h, err := history.Open(t.Context(), t.TempDir(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	if _, err := h.OpenPack(t.Context(), "crypto", at); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"coingecko-markets", "mempool-fees"} {
		p := state.Pulse{Pack: "crypto", Version: 2, GeneratedAt: at.Add(time.Duration(i) * time.Minute),
			State: fmt.Appendf(nil, `{"source_status":[{"id":%q,"fetchedAt":"2026-11-20T20:00:00Z"}]}`, id)}
		b := state.Brief{}
		if i == 0 {
			b = state.Brief{Text: "Marked.", At: p.GeneratedAt, Of: p.GeneratedAt, Writer: "model"}
		}
		if _, err := h.SavePulse(t.Context(), p, b, nil); err != nil {
			t.Fatal(err)
		}
	}
	for clean, want := range map[bool]string{true: "", false: "Marked."} {
		served := daemon.Served(h, pack.Crypto().Under(pack.Terms{Clean: clean}))
		saved, err := served.OpenPack(t.Context(), "crypto", at)
		if err != nil || saved.Pulse == nil || saved.Brief.Text != want {
			t.Errorf("clean %v: %+v, %v", clean, saved, err)
		}
		news, err := served.Newer(t.Context(), "crypto", state.Mark{State: at.Add(-time.Minute)})
		if err != nil || len(news.Pulses) != map[bool]int{true: 1, false: 2}[clean] ||
			news.Withheld.Equal(at) != clean || news.Brief.Text != want {
			t.Errorf("clean %v: %+v, %v", clean, news, err)
		}
	}
}

// TestNoticesAreTold: what the New York Fed and the ECB prescribe is told with each answer that has data of theirs, and once in a history.
func TestNoticesAreTold(t *testing.T) {
	t.Parallel()
	packs := shippedUnder(t, pack.Terms{Service: "example.org"})
	d := daemontest.Open(t, func(c *daemon.Config) { c.Packs = packs })
	s := &seller{t, d, packs, d.Key(t, api.TierTeam)}
	d.Grant(t, s.key, 1000)
	d.Run(t)
	s.refresh()
	from := d.Clock.Now()
	d.Clock.Advance(5 * time.Minute)
	s.refresh()
	d.Clock.Advance(time.Minute)
	notices := []string{
		"The New York Fed is not responsible for publication of this data by example.org,", "by DTCC Solutions LLC",
		"may be obtained free of charge through https://www.ecb.europa.eu. Source: ECB, modified by example.org,",
	}
	told := func(text string) (n int) {
		for _, notice := range notices {
			n += strings.Count(text, notice)
		}
		return n
	}
	of := func(path string) string { return s.do(http.MethodGet, "/v1/"+path+"&pack=markets", "") }
	for path, want := range map[string]int{
		"fresh?": 3, "brief?": 3, "search?q=usd": 3, "snapshot?at=" + url.QueryEscape(from.UTC().Format(time.RFC3339Nano)): 3,
		"series?path=fx": 3, "history?member=rates&every=5m&from=" + from.Add(time.Second).UTC().Format(time.RFC3339): 3,
		"lookup?q=sofr": 2, "query?table=fx": 1, "cite?ref=2": 2, "cite?ref=3": 1, "cite?ref=1": 0,
	} {
		if text := of(path); told(text) != want || !strings.HasPrefix(text, "200") {
			t.Errorf("%s: %d told, want %d: %.300s", path, told(text), want, text)
		}
	}
	lines := of("history?member=rates&every=5m&from=" + from.Add(time.Second).UTC().Format(time.RFC3339))
	if strings.Count(lines, `"generatedAt"`) != 2 {
		t.Errorf("history: %.300s", lines)
	}
	if text := s.do(http.MethodGet, "/v1/search?q=bitcoin&pack=crypto", ""); strings.Contains(text, `"notices"`) {
		t.Errorf("crypto prescribes none: %.300s", text)
	}
	call := `{"name":"context.search","arguments":{"pack":"markets","q":"usd"}}`
	if text := mcpCall(t, d, s.key, "tools/call", call); told(text) < 3 || !strings.Contains(text, "Notice: ") {
		t.Errorf("search over MCP: %.500s", text)
	}
}

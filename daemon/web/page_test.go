package web_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// asBrowser asks as browsers do.
func asBrowser(r *http.Request) {
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
}

// noPast is a history without anything in it.
type noPast struct{}

func (noPast) PulseBefore(context.Context, string, time.Time) (state.Pulse, error) {
	return state.Pulse{}, state.ErrNoPulse
}

func (noPast) Earliest(context.Context, string) (time.Time, error) {
	return time.Time{}, state.ErrNoPulse
}

func (noPast) Past(_ context.Context, _ string, times iter.Seq[time.Time]) iter.Seq2[state.Pulse, error] {
	return func(yield func(state.Pulse, error) bool) {
		for range times {
			if !yield(state.Pulse{}, nil) {
				return
			}
		}
	}
}

// pages are the pages of two packs whose clock stands.
type pages struct {
	*web.Page
	feed *feed.Feed
	now  time.Time
}

// newPages makes pages in a mode.
func newPages(t testing.TB, mode web.PageMode) *pages {
	t.Helper()
	p := &pages{feed: feed.New(api.PackCrypto, "ai"), now: time.Date(2026, 11, 20, 20, 0, 44, 0, time.UTC)}
	now := func() time.Time { return p.now }
	crypto := pack.Crypto()
	public, err := url.Parse("https://context.example.org")
	if err != nil {
		t.Fatal(err)
	}
	console, err := web.NewConsole(web.ConsoleConfig{PublicURL: public, Hosts: web.OriginCheck{PublicURL: public}, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, s := range crypto.Sources {
		names[s.ID] = s.Name
	}
	p.Page = web.NewPage(web.PageConfig{
		Mode: mode, Streams: p.feed, Console: console, Now: now,
		Sheets: reader.New(reader.Config{
			Packs: []reader.Pack{{ID: api.PackCrypto, Names: names, Shown: crypto.Shown}, {ID: "ai"}}, Feed: p.feed, History: noPast{}, Now: now,
		}),
		Packs: func() []api.PackInfo { return []api.PackInfo{{ID: api.PackCrypto, Title: "Crypto"}, {ID: "ai"}} },
	})
	t.Cleanup(p.End)
	return p
}

// publish publishes a recorded state of the crypto pack, changed by pairs of texts.
func (p *pages) publish(t testing.TB, at time.Time, pairs ...string) { p.tell(t, 1, at, pairs...) }

// tell publishes the recorded state of a tick, changed by pairs of texts.
func (p *pages) tell(t testing.TB, tick int, at time.Time, pairs ...string) {
	t.Helper()
	doc, err := os.ReadFile(fmt.Sprintf("../pack/testdata/tick%d.golden.json", tick))
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, doc); err != nil {
		t.Fatal(err)
	}
	pulse := state.Pulse{Pack: api.PackCrypto, Version: 1, GeneratedAt: at, State: []byte(strings.NewReplacer(pairs...).Replace(compact.String())),
		Proof: api.Proof{Log: "contextd/0123456789abcdef/crypto", Seq: 41, Leaf: strings.Repeat("a", 64)}}
	for i, s := range pack.Crypto().Sources {
		pulse.Citations = append(pulse.Citations, api.Citation{Ref: i + 1, SourceID: s.ID, URL: s.PublicURL, FetchedAt: at})
	}
	text := "Bitcoin trades at $91,240 [1] <b>now</b>.\n\nFees are 3 sat/vB [16]."
	told := state.Narration{Brief: state.Brief{Text: text, At: at, Of: at}}
	if err := p.feed.Publish(pulse, told, nil); err != nil {
		t.Fatal(err)
	}
}

// get asks for path from remote, as a browser under the name host.
func (p *pages) get(t testing.TB, path, remote, host string, changes ...change) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr, r.Host = remote, host
	asBrowser(r)
	for _, c := range changes {
		c(r)
	}
	w := httptest.NewRecorder()
	front := web.Discovery{PublicURL: &url.URL{Scheme: "https", Host: "context.example.org"}, Packs: func() []api.PackInfo { return nil }}
	web.NewAt(web.Config{Reader: script{}, Gate: script{}, More: p.Routes(front.Front)}, func(*web.Server) web.Routes {
		return web.Routes{"/": {}}
	}).ServeHTTP(w, r)
	return w
}

const pageAt = "127.0.0.1:8402"

// TestPageVisibility: on pages that are for owners, the state is shown to this machine alone, and nothing that passed a proxy is of this
// machine; public pages show it to everybody, and where there are none nobody finds any.
func TestPageVisibility(t *testing.T) {
	t.Parallel()
	const here, there = "127.0.0.1:5000", "192.0.2.7:5000"
	for _, c := range []struct {
		mode         web.PageMode
		remote, host string
		header       string // with its value after a colon
		status       int
		sees         bool
	}{
		{"", here, pageAt, "", 200, true},
		{web.PageOn, here, "localhost:8402", "", 200, true},
		{web.PageOn, here, "localhost", "", 200, true},
		{web.PageOn, "127.8.9.1:1", "127.0.0.1", "", 200, true},
		{web.PageOn, "[::1]:5000", "[::1]:8402", "", 200, true},
		{web.PageOn, "[::ffff:127.0.0.1]:5000", pageAt, "", 200, true},
		{web.PageOn, here, "context.example.org", "", 200, false},
		{web.PageOn, here, "192.0.2.1:8402", "", 200, false},
		{web.PageOn, here, "10.0.0.1", "", 200, false},
		{web.PageOn, here, "evil.example", "", 403, false},
		{web.PageOn, here, "localhost.evil.example", "", 403, false},
		{web.PageOn, there, "context.example.org", "", 200, false},
		{web.PageOn, there, pageAt, "", 200, false},
		{web.PageOn, there, "localhost", "", 200, false},
		{web.PageOn, "@", "localhost", "", 200, false}, // a Unix socket: a proxy
		{web.PageOn, here, pageAt, "Forwarded:for=192.0.2.1", 200, false},
		{web.PageOn, here, pageAt, "Forwarded:", 200, false},
		{web.PageOn, here, pageAt, "Via:1.1 proxy", 200, false},
		{web.PageOn, here, pageAt, "X-Forwarded-For:127.0.0.1", 200, false},
		{web.PageOn, here, pageAt, "X-Forwarded-Host:localhost", 200, false},
		{web.PageOn, here, pageAt, "X-Forwarded-Proto:http", 200, false},
		{web.PageOn, here, pageAt, "X-Forwarded-Whatever:1", 200, false},
		{web.PageOn, here, pageAt, "X-Real-Ip:127.0.0.1", 200, true}, // not one of the headers that count
		{web.PagePublic, there, "context.example.org", "", 200, true},
		{web.PagePublic, here, pageAt, "Via:1.1 proxy", 200, true},
		{web.PagePublic, there, "evil.example", "", 403, false},
		{web.PageOff, here, pageAt, "", 404, false},
		{web.PageOff, here, "localhost", "", 404, false},
	} {
		p := newPages(t, c.mode)
		p.publish(t, p.now.Add(-42*time.Second))
		for _, path := range []string{"/", "/packs/crypto"} {
			got := p.get(t, path, c.remote, c.host, func(r *http.Request) {
				if name, value, ok := strings.Cut(c.header, ":"); ok {
					r.Header.Set(name, value)
				}
			})
			body := got.Body.String()
			if c.mode == web.PageOff && path == "/" {
				if got.Code != 200 || got.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
					t.Errorf("without pages the front is %d, %s", got.Code, got.Header().Get("Content-Type"))
				}
				continue
			}
			sees, prices := strings.Contains(body, "91,240"), strings.Contains(body, "Prices of calls")
			if got.Code != c.status || sees != c.sees || prices != (c.status == 200 && !c.sees) {
				t.Errorf("%s %q from %s at %s with %q: %d, state %v, prices %v", path, c.mode, c.remote, c.host, c.header, got.Code, sees, prices)
			}
		}
	}
}

// TestPricesForClients: who may not see the state reads what a client of @x402 needs to pay, where standard x402 is taken.
func TestPricesForClients(t *testing.T) {
	t.Parallel()
	paid := newSettlingMarket(t, daemontest.WithPages).d
	for _, d := range []*daemontest.Daemon{paid, daemontest.Start(t, daemontest.WithPages)} {
		a := get(t, d.URL()+"/packs/crypto", asBrowser, with("Via", "1.1 proxy"))
		told := strings.Contains(string(a.Body), `spendControls: {&#34;allowedAssets&#34;:[{&#34;network&#34;:&#34;eip155:46630&#34;`)
		if !strings.Contains(string(a.Body), "Prices of calls") || told != (d == paid) {
			t.Errorf("sells %v: %d %s", d == paid, a.Status, a.Body)
		}
	}
}

// TestPageNegotiation: pages are for whoever names text/html; others are told at the front what this is, and elsewhere that there is
// nothing.
func TestPageNegotiation(t *testing.T) {
	t.Parallel()
	p := newPages(t, web.PagePublic)
	p.publish(t, p.now)
	for accept, page := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/*": false, "text/plain": false, "text/html;q=0": false, "text/html; q=0.0, */*": false,
		"text/html": true, "TEXT/HTML": true, "text/html;q=0.1": true, "application/json, text/html;charset=utf-8;q=0.5": true,
	} {
		for _, path := range []string{"/", "/packs/crypto"} {
			got := p.get(t, path, "192.0.2.7:1", "context.example.org", with("Accept", accept))
			html := strings.HasPrefix(got.Header().Get("Content-Type"), "text/html")
			code, says := 404, `"not_found"`
			if path == "/" {
				code, says = 200, "https://context.example.org/llms.txt"
			}
			if html != page || !html && (got.Code != code || !strings.Contains(got.Body.String(), says)) {
				t.Errorf("%s for %q: %d %s", path, accept, got.Code, got.Header().Get("Content-Type"))
			}
			if !strings.Contains(strings.Join(got.Header().Values("Vary"), ","), "Accept") {
				t.Errorf("%s for %q varies by %q", path, accept, got.Header().Values("Vary"))
			}
		}
	}
}

// TestPageIsWhole: what is on the page, that third parties cannot put anything there, and its rules of security.
func TestPageIsWhole(t *testing.T) {
	t.Parallel()
	p := newPages(t, web.PagePublic)
	p.publish(t, p.now.Add(-42*time.Second), `"name":"Zcash"`, `"name":"<script>alert(1)</script>"`, `"url":"https://www.coindesk.com`, `"url":"javascript:alert`)
	got := p.get(t, "/", "192.0.2.7:1", "context.example.org")
	body := got.Body.String()
	for _, want := range []string{
		"<title>· notice: ", "crypto 42s old · contextd</title>", `<progress max="300" value="42"`, "18 of 18 sources", ">log entry 41<", `href="log/crypto/checkpoint"`, `aria-current="page"`,
		`<a class="fig" href="#s1">$91,240<span class="tip">Bitcoin: `, `<a class="rf" href="#s16" aria-label="source 16">16</a>`, "&lt;b&gt;now",
		`<td class="n dn">-1.84%</td>`, "&lt;script&gt;alert(1)", `id="s18"`, `<th scope="row">`, `<caption`, "Fear &amp; Greed",
		`id="ask"`, `action="./#ask"`, // answers are where the eyes are, below flags of any height
		"\u00a0<a class=\"rf\" href=\"#s", "&nbsp;<a class=\"rf\"", // no line begins with an anchor
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, not := range []string{"<script>alert", `href="javascript:`, "http-equiv", " style=", "onclick", "ZgotmplZ"} {
		if strings.Contains(body, not) {
			t.Errorf("the page has %q", not)
		}
	}
	policy := got.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q has no %s", policy, want)
		}
	}
	ids := map[string]bool{}
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" && ids[a.Val] {
				t.Errorf("two elements have the id %s", a.Val)
			}
			ids[a.Val] = ids[a.Val] || a.Key == "id"
		}
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" && strings.HasPrefix(a.Val, "#") && !ids[a.Val[1:]] {
				t.Errorf("a link leads to %s, which is not there", a.Val)
			}
		}
	}
	if len(ids) < 80 {
		t.Errorf("the page has %d ids: its rows are not there", len(ids))
	}
}

// TestPageOfManyFlags: on a day with many flags prices come before them, three lines of them stand open and all others fold behind a line
// that counts them; what is critical comes first.
func TestPageOfManyFlags(t *testing.T) {
	t.Parallel()
	var raised []string
	for i := range 20 {
		kind, severity := api.FlagFastMove, api.SeverityNotice
		switch {
		case i >= 17:
			kind, severity = fmt.Sprintf("kind_%d", i), api.SeverityWarning
		case i >= 15:
			kind, severity = api.FlagDepeg, api.SeverityCritical
		}
		raised = append(raised, fmt.Sprintf(`{"id":"f%d","kind":%q,"severity":%q,"subject":"Coin %d","value":%d,"threshold":8,"unit":"pct",`+
			`"since":"2026-11-20T19:00:00Z","message":"Coin %d is flagged","ref":1}`, i, kind, severity, i, 9+i, i))
	}
	p := newPages(t, web.PagePublic)
	p.publish(t, p.now, `"flags":[`, `"flags":[`+strings.Join(raised, ",")+`,`)
	body := p.get(t, "/", "192.0.2.7:1", "context.example.org").Body.String()
	order := []string{
		`class="tile"`, "$91,240.00", `<div id="flags">`, "Coin 15 is flagged", "Coin 16 is flagged", "Coin 17 is flagged",
		`id="more-flags"><summary>4 more: 2 warnings, 2 notices</summary>`, "15 coins are up 9.0% to 23.0% within an hour: Coin 0, Coin 1, Coin 2 and 12 more</span></summary>",
		"Coin 14 is flagged", `id="ask"`,
	}
	for at, i := 0, 0; i < len(order); i++ {
		n := strings.Index(body[at:], order[i])
		if n < 0 {
			t.Fatalf("after %q there is no %q", order[:i], order[i])
		}
		at += n
	}
	if !strings.Contains(body, "<title>✗ critical: Coin 15 is flagged") {
		t.Error("the title does not tell the worst")
	}
}

// TestPageIcon: browsers find a picture of the service, whoever may see its pages.
func TestPageIcon(t *testing.T) {
	t.Parallel()
	for _, mode := range []web.PageMode{web.PageOff, web.PageOn} {
		got := newPages(t, mode).get(t, "/favicon.ico", "192.0.2.7:1", "context.example.org")
		if got.Code != 200 || got.Header().Get("Content-Type") != "image/x-icon" || !bytes.HasPrefix(got.Body.Bytes(), []byte{0, 0, 1, 0}) {
			t.Errorf("with pages %s: %d %v", mode, got.Code, got.Header())
		}
	}
}

// TestPageIsKept: the page of a state is made once and compressed once, small, and its age goes on.
func TestPageIsKept(t *testing.T) {
	t.Parallel()
	p := newPages(t, web.PagePublic)
	p.publish(t, p.now)
	first := p.get(t, "/", "192.0.2.7:1", "context.example.org", with("Accept-Encoding", "gzip"))
	p.now = p.now.Add(90 * time.Second)
	later := p.get(t, "/", "192.0.2.7:1", "context.example.org", with("Accept-Encoding", "gzip"))
	for age, got := range map[string]*httptest.ResponseRecorder{"0s": first, "1m30s": later} {
		if n := got.Body.Len(); n > 40<<10 {
			t.Errorf("the page takes %d bytes", n)
		}
		zip, err := gzip.NewReader(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(zip)
		if err != nil || !strings.Contains(string(text), "crypto "+age+" old") || !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
			t.Errorf("%v: no age %s", err, age)
		}
	}
}

// TestPagesAreLight: all scripts and styles of all pages together are small on the way.
func TestPagesAreLight(t *testing.T) {
	t.Parallel()
	const bound = 60 << 10
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	for _, pattern := range []string{"*.js", "*.css"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %q, %v", pattern, files, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := zip.Write(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := zip.Close(); err != nil || zipped.Len() > bound {
		t.Errorf("%v: scripts and styles take %d bytes, at most %d", err, zipped.Len(), bound)
	}
	t.Logf("scripts and styles take %d bytes", zipped.Len())
}

// TestPageAsks: what is asked on a page is answered on it, 30 times a minute for a client or a site.
func TestPageAsks(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	asked := 0
	from := func(r *http.Request) {
		asked++
		asBrowser(r)
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("2001:db8:1:%x::1", asked))
	}
	for q, want := range map[string]string{
		"ADA price": "Cardano", "tether supply": "Tether", "zolanna": "Nearest names", "solanna": "by spelling", "which coin is ranked 3": "read: assets where rank = 3", "937": "trending_pools[0].ageHours", "zzzqqq": "There is no match",
	} {
		if got := get(t, d.URL()+"/?q="+url.QueryEscape(q), from); got.Status != 200 || !bytes.Contains(got.Body, []byte(want)) {
			t.Errorf("%q: %d, no %q", q, got.Status, want)
		}
	}
	for range 25 {
		get(t, d.URL()+"/?q=btc", from)
	}
	if got := get(t, d.URL()+"/?q=btc", from); !bytes.Contains(got.Body, []byte("too many requests")) || !bytes.Contains(got.Body, []byte("91,240")) {
		t.Errorf("the 31st question is answered: %d", got.Status)
	}
}

// sends makes a request one that sends a text in the form of a page.
func sends(text string) change {
	return func(r *http.Request) {
		body := url.Values{"text": {text}}.Encode()
		r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
}

// TestPageChecks: a text that is sent to a page is marked there, as it was written and never as HTML, within the bounds of questions.
func TestPageChecks(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	from := func(r *http.Request) {
		asBrowser(r)
		r.Header.Set("X-Forwarded-For", "2001:db8:1:1::1")
	}
	const hostile = "Bitcoin trades at $12.\r\nEthereum is at $3,200<script>alert(1)</script> \"><img src=x>.\nUp 2\u202e% it may hit \x1b[31m$5."
	got := get(t, d.URL()+"/", from, sends(hostile))
	_, box, _ := strings.Cut(string(got.Body), `id="check"`)
	box, _, _ = strings.Cut(box, "</section>")
	for _, want := range []string{
		`<a class="ck refuted" id="m1" href="#f1"><span aria-hidden="true">✗</span> $12<span class="sr"> (refuted)</span></a>.` + "\nEthereum",
		`<li id="f1"><a href="#m1">$12</a> <b>✗ refuted</b>. Bitcoin price was $91,240`, `href="?row=asset%2Fbitcoin#row"`, `href="#s1"`,
		"&lt;script&gt;alert(1)&lt;/script&gt; &#34;&gt;&lt;img src=x&gt;", "U&#43;202E <b>? unknown</b>: character", "1 refuted",
		"href=\"https://www.coingecko.com/en/coins/bitcoin\"",
	} {
		if !strings.Contains(box, want) {
			t.Errorf("no %q: %d %s", want, got.Status, box)
		}
	}
	for _, bad := range []string{"<script", "<img", "\u202e", "\x1b", "\r"} {
		if strings.Contains(box, bad) {
			t.Errorf("the page has %q: %s", bad, box)
		}
	}
	if got := get(t, d.URL()+"/?row=asset/bitcoin", from); !bytes.Contains(got.Body, []byte(`data-row="asset/bitcoin"`)) {
		t.Errorf("the row of a mark is not there: %d", got.Status)
	}
	for text, want := range map[string]string{
		"": "text is missing or empty", strings.Repeat("x", api.MaxCheckBytes+1): "more than 16384", "Bitcoin \xff": "not UTF-8",
		strings.Repeat("x", api.MaxBodyBytes): "more than 16384", strings.Repeat("1 ", api.MaxCheckFigures+1): "more than 300 numbers",
	} {
		if got := get(t, d.URL()+"/packs/crypto", from, sends(text)); got.Status != 200 || !bytes.Contains(got.Body, []byte(want)) {
			t.Errorf("%.20q: %d, no %q", text, got.Status, want)
		}
	}
	judged := func(changes ...change) bool {
		return bytes.Contains(get(t, d.URL()+"/", append([]change{from, sends("Bitcoin trades at $12.")}, changes...)...).Body, []byte("1 refuted"))
	}
	if judged(with("Sec-Fetch-Site", "cross-site")) || !judged(with("Sec-Fetch-Site", "same-origin")) {
		t.Error("pages of others send texts, or our own do not")
	}
	if got := get(t, d.URL()+"/?text=Bitcoin+trades+at+$12.", from); bytes.Contains(got.Body, []byte(`class="ck `)) {
		t.Error("a text in an address is judged")
	}
	for range 30 {
		judged()
	}
	if judged() {
		t.Error("a client sends more than 30 texts a minute")
	}
	owners := daemontest.Start(t, daemontest.WithPages)
	if got := get(t, owners.URL()+"/", asBrowser, with("Via", "1.1 proxy"), sends("Bitcoin trades at $12.")); bytes.Contains(got.Body, []byte(`class="ck `)) {
		t.Errorf("a stranger to a page for owners has a text judged: %d", got.Status)
	}
}

// TestPageOfOwners: who is signed in sees the packs that their keys may read.
func TestPageOfOwners(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, daemontest.WithPages)
	u := newUser(t, d)
	proxied := func(path string) answer {
		return get(t, d.URL()+path, asBrowser, with("Via", "1.1 proxy"), with("Cookie", api.SessionCookie+"="+u.secret))
	}
	sees := func(path string) bool {
		got := proxied(path)
		if got.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Status, got.Body)
		}
		return bytes.Contains(got.Body, []byte(`id="t0"`))
	}
	if sees("/") {
		t.Error("a stranger sees the state")
	}
	if status := followed(t, d.URL()+"/packs/crypto/events", with("Via", "1.1 proxy")); status != http.StatusUnauthorized {
		t.Errorf("a stranger follows the page: %d", status)
	}
	u.signIn("owner@example.org")
	if !sees("/") || !sees("/packs/crypto") {
		t.Error("an owner does not see the crypto pack")
	}
	u.into(u.call(http.MethodDelete, api.PathAuthSession, nil), http.StatusNoContent, nil)
	if sees("/") {
		t.Error("who signed out still sees the state")
	}
	if got := proxied("/packs/nope"); got.Status != http.StatusNotFound || !bytes.Contains(got.Body, []byte("not served here")) {
		t.Errorf("an unknown pack: %d", got.Status)
	}
}

// follow opens the events of a page. Each event that comes is sent.
func follow(t *testing.T, d *daemontest.Daemon, query string, changes ...change) (events <-chan pageEvent, end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL()+"/packs/crypto/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		c(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("events: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	list, done := make(chan pageEvent, 10), make(chan struct{})
	go func() {
		defer close(done)
		defer close(list)
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var e pageEvent
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Errorf("%v: %s", err, data)
				}
				list <- e
			}
		}
	}()
	end = func() { stop(); _ = res.Body.Close(); <-done }
	t.Cleanup(end)
	return list, end
}

// next is the event that comes next.
func next(t *testing.T, events <-chan pageEvent) pageEvent {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(2 * time.Minute):
		t.Fatal("no event comes")
		return pageEvent{}
	}
}

// pageEvent is what changed.
type pageEvent struct {
	V     int64
	Parts [][2]string
	Cells [][4]any
}

// has reports whether e has all of a part.
func (e pageEvent) has(part string) bool {
	for _, p := range e.Parts {
		if p[0] == part {
			return true
		}
	}
	return false
}

// TestPageEvents: a page that missed nothing gets the cells that changed, one that did all of it, and none is sent twice.
func TestPageEvents(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	version := versionOf(t, d)
	events, _ := follow(t, d, "?v="+strconv.FormatInt(version, 10))
	missed, _ := follow(t, d, "?v=1")
	if e := next(t, missed); e.V != version || !e.has("t0") || !e.has("t1") || !e.has("sources") || !e.has("live") {
		t.Errorf("who missed a version gets %d with %d parts", e.V, len(e.Parts))
	}
	d.Recording.Advance()
	d.Clock.Advance(5 * time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	e := next(t, events)
	if e.V != version+1 || len(e.Cells) == 0 || !e.has("live") {
		t.Errorf("after version %d came %d with %d cells, %d parts", version, e.V, len(e.Cells), len(e.Parts))
	}
	again, end := follow(t, d, "?v=1", with("Last-Event-ID", strconv.FormatInt(version, 10)))
	if got := next(t, again); got.V != e.V || len(got.Cells) != len(e.Cells) {
		t.Errorf("who comes back gets version %d with %d cells, want %d with %d", got.V, len(got.Cells), e.V, len(e.Cells))
	}
	end()
	page := string(get(t, d.URL()+"/", asBrowser).Body)
	for _, cell := range e.Cells {
		if id, text := cell[0].(string), cell[2].(string); !strings.Contains(page, `id="`+id+`"`) || !strings.Contains(page, text) {
			t.Errorf("the page has no row %s with %s", id, text)
		}
	}
}

// versionOf is the version of the page of d.
func versionOf(t *testing.T, d *daemontest.Daemon) int64 {
	t.Helper()
	_, after, _ := strings.Cut(string(get(t, d.URL()+"/", asBrowser).Body), `data-version="`)
	text, _, _ := strings.Cut(after, `"`)
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// TestPageEventBounds: a client may follow five pages, and gives a place back by leaving; other sites' scripts may follow none.
func TestPageEventBounds(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	var ends []func()
	for range 5 {
		_, end := follow(t, d, "")
		ends = append(ends, end)
	}
	if status := followed(t, d.URL()+"/packs/crypto/events"); status != http.StatusTooManyRequests {
		t.Errorf("the sixth stream: %d", status)
	}
	ends[0]()
	if got := call(t, http.MethodHead, d.URL()+"/packs/crypto/events"); got.Status != http.StatusOK {
		t.Errorf("HEAD: %d", got.Status)
	}
	for end := time.Now().Add(2 * time.Minute); followed(t, d.URL()+"/packs/crypto/events") != http.StatusOK; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) { // the daemon has to notice that one has left
			t.Fatal("no place is given back")
		}
	}
	for site, status := range map[string]int{"cross-site": 403, "same-site": 403} {
		if got := followed(t, d.URL()+"/packs/crypto/events", with("Sec-Fetch-Site", site)); got != status {
			t.Errorf("from %s: %d", site, got)
		}
	}
	if got := followed(t, d.URL()+"/packs/nope/events"); got != http.StatusNotFound {
		t.Errorf("of an unknown pack: %d", got)
	}
}

// followed is the status with which a stream opens, which is closed again.
func followed(t *testing.T, url string, changes ...change) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		c(req)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// TestAccountPage: the page of the account is the same for everybody, has nothing of the owner in it, and may be framed by nobody. Codes of
// transfers are drawn for owners alone, and of transfers alone.
func TestAccountPage(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, daemontest.WithPages)
	u := newUser(t, d)
	stranger := get(t, d.URL()+"/account", asBrowser)
	u.refused(u.call(http.MethodGet, "/account/qr?text=ethereum:0x1", nil), api.ReasonMissingSession)
	u.signIn("owner@example.org")
	own := get(t, d.URL()+"/account", asBrowser, with("Cookie", api.SessionCookie+"="+u.secret))
	if stranger.Status != http.StatusOK || !bytes.Equal(stranger.Body, own.Body) || bytes.Contains(own.Body, []byte("owner@")) || bytes.Contains(own.Body, []byte(`id="rail"`)) {
		t.Errorf("the account's page: %d", stranger.Status)
	}
	policy := own.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "img-src 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q has no %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || own.Header.Get("X-Frame-Options") != "DENY" || own.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the headers are %v", own.Header)
	}
	if got := get(t, d.URL()+"/account"); got.Status != http.StatusNotFound {
		t.Errorf("for no browser: %d", got.Status)
	}
	if got := get(t, d.URL()+"/account", asBrowser, func(r *http.Request) { r.Host = "evil.example" }); got.Status != http.StatusForbidden {
		t.Errorf("under another's name: %d", got.Status)
	}
	got := u.call(http.MethodGet, "/account/qr?text=ethereum:0x1", nil)
	if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "image/svg+xml" || !bytes.HasPrefix(got.Body, []byte("<svg")) {
		t.Errorf("a code: %d %s", got.Status, got.Body)
	}
	for _, text := range []string{"", "javascript:alert(1)", "https://example.org", "ethereum:" + strings.Repeat("0", 400)} {
		u.refused(u.call(http.MethodGet, "/account/qr?text="+url.QueryEscape(text), nil), api.ReasonInvalidRequest)
	}
}

// TestPageWithoutAState: who may see the page is told why there is nothing on it, not to sign in, and gets it by itself; others are told
// nothing of the sources.
func TestPageWithoutAState(t *testing.T) {
	t.Parallel()
	d := daemontest.Open(t, daemontest.WithPages)
	d.Recording.Break("", nil)
	d.Run(t)
	_ = d.Refresh(t.Context(), api.PackCrypto) // nothing answers
	for _, here := range []bool{true, false} {
		got := get(t, d.URL()+"/", asBrowser, func(r *http.Request) {
			if !here {
				r.Header.Set("Via", "1.1 proxy")
			}
		})
		body := string(got.Body)
		if here != (got.Status == http.StatusServiceUnavailable) || here != (got.Header.Get("Refresh") == "10") ||
			here != strings.Contains(body, "18 sources: ") || here == strings.Contains(body, "Sign in</h2>") || !strings.Contains(body, `class="health error"`) {
			t.Errorf("here %v: %d %v %s", here, got.Status, got.Header, body)
		}
	}
}

// TestAccountBehindTheLink: the page of a used link leads to the account, where there is one.
func TestAccountBehindTheLink(t *testing.T) {
	t.Parallel()
	for mode, leads := range map[web.PageMode]bool{web.PageOn: true, web.PageOff: false} {
		d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = mode })
		u := newUser(t, d)
		u.into(u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: "owner@example.org"}), http.StatusAccepted, nil)
		got := u.post(url.Values{"token": {d.MailedToken(t, "owner@example.org")}})
		if got.Status != http.StatusOK || bytes.Contains(got.Body, []byte(`href="/account"`)) != leads {
			t.Errorf("with pages %s: %d %s", mode, got.Status, got.Body)
		}
		if got := get(t, d.URL()+"/account", asBrowser); (got.Status == http.StatusOK) != leads {
			t.Errorf("the account with pages %s: %d", mode, got.Status)
		}
	}
}

// TestPagesOfASite is both sides of how many pages an address and a site of IPv6 may have open.
func TestPagesOfASite(t *testing.T) {
	t.Parallel()
	var rooms web.Rooms
	var last func()
	for n := range 50 {
		leave, err := rooms.Take(fmt.Sprintf("2001:db8:0:%x::/64", n/5), "2001:db8::/48")
		if err != nil {
			t.Fatalf("page %d: %v", n+1, err)
		}
		last = leave
	}
	for _, c := range []struct{ network, site, whose string }{
		{"2001:db8:0:5::/64", "2001:db8::/48", "from your address"}, {"2001:db8:0:a::/64", "2001:db8::/48", "from your network"},
		{"2001:db8:1:a::/64", "2001:db8:1::/48", ""},
	} {
		if _, err := rooms.Take(c.network, c.site); (err == nil) != (c.whose == "") ||
			err != nil && !strings.Contains(err.Error(), c.whose) {
			t.Errorf("%s: %v, want %q", c.network, err, c.whose)
		}
	}
	last()
	if _, err := rooms.Take("2001:db8:0:a::/64", "2001:db8::/48"); err != nil {
		t.Errorf("when one has left: %v", err)
	}
}

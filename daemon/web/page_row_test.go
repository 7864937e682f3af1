package web_test

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// TestRowView: a row opens on its page and for its script: figures, flags, headlines, citation and proof, beside those of another row; what
// a third party named it does nothing there.
func TestRowView(t *testing.T) {
	t.Parallel()
	p := newPages(t, web.PagePublic)
	p.publish(t, p.now, `"name":"Zcash"`, `"name":"<script>alert(1)</script>"`)
	const fragment = "/packs/crypto/row"
	get := func(path string) string {
		t.Helper()
		got := p.get(t, path, "192.0.2.7:1", "context.example.org")
		if got.Code != http.StatusOK || got.Header().Get("X-Robots-Tag") != "noindex" {
			t.Fatalf("%s: %d %v", path, got.Code, got.Header())
		}
		return got.Body.String()
	}
	for _, path := range []string{"/", fragment} {
		body := get(path + "?row=asset/bitcoin&with=asset/ethereum&span=1h")
		for _, want := range []string{
			`id="row"`, `data-row="asset/bitcoin"`, "<b>BTC Bitcoin</b>", `<th scope="row">price</th><td class="n ">$91,240.00</td><td class="n ">$3,184.00</td>`,
			`<th scope="row">rank</th>`, `value="asset/ethereum" selected`, `row=asset%2Fbitcoin&amp;span=24h&amp;with=asset%2Fethereum#row`,
			`aria-current="true">1h</a>`, "CoinGecko Markets", "<blockquote>Bitcoin (BTC) $91,240.00", "log/crypto/leaf/41", strings.Repeat("a", 64),
			"log/crypto/row?key=bitcoin&amp;kind=asset", "ctx verify --at 2026-11-20T20:00 --pack crypto",
		} {
			if want = strings.Replace(want, "20:00 ", "20:00:44.000Z ", 1); !strings.Contains(body, want) {
				t.Errorf("%s has no %q", path, want)
			}
		}
		if strings.Contains(body, ">7d</a>") {
			t.Errorf("%s: a visitor is offered more than a day", path)
		}
	}
	if body := get(fragment + "?row=asset/zcash"); !strings.Contains(body, "&lt;script&gt;alert") || strings.Contains(body, "<script>alert") {
		t.Errorf("a hostile name is %s", body)
	}
	if body := get("/?row=asset/none"); !strings.Contains(body, "no such row") || !strings.Contains(body, "91,240") {
		t.Error("an unknown row takes the page with it")
	}
	if body := get(fragment + "?row=asset/bitcoin"); strings.Contains(body, `class="c1"`) || !strings.Contains(body, `href="../log/`) {
		t.Error("a row alone is compared")
	}
	if body := get(fragment + "?row=asset/bitcoin&front=1"); !strings.Contains(body, `href="log/crypto/leaf/41"`) {
		t.Error("the front page is another place")
	}
	if got := p.get(t, fragment+"?row=asset/bitcoin", "192.0.2.8:1", "context.example.org", with("Sec-Fetch-Site", "cross-site")); got.Code != http.StatusForbidden {
		t.Errorf("for another site: %d", got.Code)
	}
	if got := p.get(t, fragment, "192.0.2.8:1", "context.example.org"); got.Code != http.StatusNotFound {
		t.Errorf("no row: %d", got.Code)
	}
	if got := newPages(t, web.PageOn).get(t, fragment+"?row=asset/bitcoin", "192.0.2.8:1", "context.example.org"); got.Code != http.StatusUnauthorized {
		t.Errorf("for a stranger: %d", got.Code)
	}
}

// TestIDsOfRows: no element of a page has the id of another, though outsiders choose the keys of rows: these two share a hash of 32 bits
// (FNV-1a).
func TestIDsOfRows(t *testing.T) {
	t.Parallel()
	p := newPages(t, web.PagePublic)
	p.publish(t, p.now, `"id":"bitcoin"`, `"id":"diopsmnd"`, `"id":"ethereum"`, `"id":"hrngxiew"`)
	body := p.get(t, "/", "192.0.2.7:1", "context.example.org").Body.String()
	for _, key := range []string{"diopsmnd", "hrngxiew"} {
		if !strings.Contains(body, "asset%2F"+key) {
			t.Fatalf("the row %s is missing", key)
		}
	}
	seen := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(body, -1) {
		if seen[id[1]] {
			t.Errorf("two elements have the id %s", id[1])
		}
		seen[id[1]] = true
	}
}

// TestRowsOfAVisitor is both sides of how many rows a visitor may look at in a minute; this machine has no bound and longer charts.
func TestRowsOfAVisitor(t *testing.T) {
	t.Parallel()
	p := newPages(t, web.PagePublic)
	p.publish(t, p.now)
	for i := range 31 {
		got := p.get(t, "/packs/crypto/row?row=asset/bitcoin", fmt.Sprintf("192.0.2.7:%d", i), "context.example.org")
		if want := map[bool]int{true: 200, false: 429}[i < 30]; got.Code != want || want == 429 && got.Header().Get("Retry-After") == "" {
			t.Fatalf("look %d: %d %s", i+1, got.Code, got.Body)
		}
	}
	if got := p.get(t, "/?row=asset/bitcoin", "192.0.2.7:1", "context.example.org"); got.Code != http.StatusTooManyRequests {
		t.Errorf("the page of a row: %d", got.Code)
	}
	if got := p.get(t, "/", "192.0.2.7:1", "context.example.org"); got.Code != http.StatusOK || got.Header().Get("X-Robots-Tag") != "" {
		t.Errorf("the page alone: %d", got.Code)
	}
	for i := range 40 {
		got := p.get(t, "/packs/crypto/row?row=asset/bitcoin", "127.0.0.1:1", pageAt)
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), ">30d</a>") {
			t.Fatalf("look %d of this machine: %d", i+1, got.Code)
		}
	}
}

// TestRowCourse: a chart is of the states that there are, read once for all, and tells its range in words.
func TestRowCourse(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	for range 3 {
		d.Recording.Advance()
		d.Clock.Advance(5 * time.Minute)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	one := string(get(t, d.URL()+"/packs/crypto/row?row=asset/bitcoin&span=1h").Body)
	if !strings.Contains(one, `aria-label="Bitcoin over 1h: low $9`) || !strings.Contains(one, `<polyline class="c0"`) {
		t.Errorf("the chart is %s", one)
	}
	two := string(get(t, d.URL()+"/packs/crypto/row?row=asset/bitcoin&with=asset/ethereum&span=1h").Body)
	if !strings.Contains(two, `Bitcoin and Ethereum over 1h: lowest change `) || !strings.Contains(two, `<polyline class="c1"`) || !strings.Contains(two, "0%") {
		t.Errorf("the charts are %s", two)
	}
}

// TestRowCourseEnds: a chart that was read minutes ago ends with the figure that stands beside it.
func TestRowCourseEnds(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	price := regexp.MustCompile(`price</th><td class="n ">\$([0-9.,]+)<`)
	chart := regexp.MustCompile(`: low \$([0-9.,]+), high \$([0-9.,]+)".* 600,([0-9.]+)"/>`)
	number := func(text string) float64 {
		n, _ := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		return n
	}
	last, judged := "", 0
	for range 3 {
		d.Recording.Advance()
		d.Clock.Advance(time.Minute)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
		var body string
		for before := last; last == before; last = price.FindStringSubmatch(body)[1] { // the page follows the state
			body = string(get(t, d.URL()+"/packs/crypto/row?row=asset/bitcoin&span=24h").Body)
		}
		if got := chart.FindStringSubmatch(body); got != nil && got[1] != got[2] { // one state has no course
			low, high, end := number(got[1]), number(got[2]), number(got[3])
			if want := 6 + (high-number(last))/(high-low)*148; math.Abs(end-want) > 0.1 {
				t.Errorf("beside %s the chart from %s to %s ends at %g, not at %.1f", last, got[1], got[2], end, want)
			}
			judged++
		}
	}
	if judged == 0 {
		t.Error("no chart of a price that moved")
	}
}

// TestPastPage: the page of a past minute is that state with its proof, kept apart from what is new; it goes as far back as its reader may
// look, visitors a day.
func TestPastPage(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	first := d.Clock.Now()
	page := func(query string) (int, string) {
		got := get(t, d.URL()+"/"+query, asBrowser, with("X-Forwarded-For", "192.0.2.7"))
		if got.Header.Get("X-Robots-Tag") != "noindex" && got.Status == 200 {
			t.Errorf("%s may be indexed", query)
		}
		return got.Status, string(got.Body)
	}
	d.Recording.Advance()
	d.Clock.Advance(10 * time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	key := api.Minute(first.Add(time.Minute)).Key()
	status, body := page("?at=" + key)
	for _, want := range []string{
		`data-at="` + key + `"`, "As of ", "91,240", "Leaf <code>", "log entry 0", `<meta name="robots" content="noindex">`,
		"ctx verify --at " + key + " --pack crypto", `href="?at=` + strings.ReplaceAll(key, ":", "%3A") + `&amp;row=asset%2Fbitcoin#row"`, ">Now</a>",
	} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d, no %q", status, want)
		}
	}
	if strings.Contains(body, `id="live"`) || strings.Contains(body, `id="brief"`) {
		t.Error("the past is live")
	}
	if _, again := page("?at=9m"); !strings.Contains(again, `data-at="`+api.Minute(d.Clock.Now().Add(-9*time.Minute)).Key()+`"`) {
		t.Error("a span before now has no link")
	}
	if _, row := page("?at=" + key + "&row=asset/bitcoin"); !strings.Contains(row, `id="row"`) || strings.Contains(row, `class="chart"`) ||
		!strings.Contains(row, `name="at" value="`+key+`"`) {
		t.Error("a row of the past has no view, or a chart of now")
	}
	judged := string(get(t, d.URL()+"/?at="+key, asBrowser, with("X-Forwarded-For", "192.0.2.7"), sends("Bitcoin trades at $91,240.")).Body)
	for _, want := range []string{
		"1 verified, 0 refuted, 0 stale, 0 unknown</b>, by the state of " + first.UTC().Format("2006-01-02 15:04:05") + "Z",
		`action="./?at=` + url.QueryEscape(key) + `#check"`, `href="?at=` + url.QueryEscape(key) + `&amp;row=asset%2Fbitcoin#row">row`,
	} {
		if !strings.Contains(judged, want) {
			_, box, _ := strings.Cut(judged, `id="check"`)
			t.Errorf("a text is judged without %q: %s", want, box[:min(len(box), 1500)])
		}
	}
	d.Clock.Advance(24*time.Hour + time.Minute)
	for query, says := range map[string]string{
		"?at=" + key: "beyond the window", "?at=" + api.Minute(d.Clock.Now()).Key(): "not over yet", "?at=soon": "soon",
	} {
		if status, body := page(query); status != http.StatusNotFound && status != http.StatusBadRequest || !strings.Contains(body, says) {
			t.Errorf("%s: %d, not %q", query, status, says)
		}
	}
	if here := get(t, d.URL()+"/?at="+key, asBrowser); here.Status != http.StatusOK {
		t.Errorf("this machine, a day later: %d", here.Status)
	}
}

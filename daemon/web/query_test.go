package web_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// parsed makes calls and returns what each was understood as.
type parsed struct {
	url     string
	queries chan api.Query
}

func newParsed(t *testing.T) parsed {
	t.Helper()
	p := parsed{queries: make(chan api.Query, 1)}
	s := script{ready: func(q api.Query) error { p.queries <- q; return nil }}
	p.url = play(t, s)
	return p
}

// ask returns the query that a call was understood as, or the reason of the refusal, with its status where that is not 400.
func (p parsed) ask(t *testing.T, method, path string, changes ...change) (api.Query, string) {
	t.Helper()
	a := call(t, method, p.url+path, changes...)
	if a.Status == http.StatusOK {
		return <-p.queries, ""
	}
	reason := string(refusal(t, a, method).Error.Reason)
	if a.Status != http.StatusBadRequest {
		reason = fmt.Sprint(a.Status, " ", reason)
	}
	return api.Query{}, reason
}

// read is q as it was read, without how it was spelled.
func read(q api.Query) (bare api.Query) {
	from, to := reflect.ValueOf(q), reflect.ValueOf(&bare).Elem()
	for i := range from.NumField() {
		if to.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return bare
}

// search is the query of a search in the default pack.
func search(text string, k int) api.Query {
	return api.Query{Op: api.OpSearch, Pack: "crypto", Text: text, Limit: k}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	p := newParsed(t)
	fresh := api.Query{Op: api.OpFresh, Pack: "crypto"}
	long := strings.Repeat("日本語 ", 20_000) + "x" // 200 KB, three times as much when escaped
	for query, want := range map[string]api.Query{
		"fresh":                                    fresh,
		"fresh?":                                   fresh,
		"fresh?pack=crypto":                        fresh,
		"fresh?p%61ck=c%72ypto":                    fresh,
		"fresh?pack=ai":                            {Op: api.OpFresh, Pack: "ai"},
		"fresh?pack=":                              {Op: api.OpFresh},
		"fresh?pack":                               {Op: api.OpFresh},
		"fresh?pack=+crypto":                       {Op: api.OpFresh, Pack: " crypto"},
		"fresh?Pack=ai&PACK=x":                     fresh,
		"fresh?query=anything":                     fresh,
		"fresh?x=1&x=2&token=cv_&&=":               fresh,
		"fresh?k=99&k=98&ref=-1&at=&q=&ref=":       fresh, // parameters of others
		"brief?query=1&query=2":                    {Op: api.OpBrief, Pack: "crypto"},
		"brief?pack=markets":                       {Op: api.OpBrief, Pack: "markets"},
		"search?q=btc":                             search("btc", 10),
		"search?q=btc&k=1":                         search("btc", 1),
		"search?q=btc&k=50":                        search("btc", 50),
		"search?q=btc&k=%2B7":                      search("btc", 7),
		"search?q=btc&k=007":                       search("btc", 7),
		"search?k=2&q=%20%09b+t%20c%0A":            search("b t c", 2),
		"search?q=%E3%80%80%C2%A0%CE%A3%E2%80%8D":  search("Σ\u200d", 10),
		"search?q=%00":                             search("\x00", 10),
		"search?q=%ff":                             search("\xff", 10),
		"search?q=a%3Bb%26c":                       search("a;b&c", 10),
		"search?q==":                               search("=", 10),
		"search?q=" + url.QueryEscape(long):        search(long, 10),
		"cite?ref=1":                               {Op: api.OpCite, Pack: "crypto", Ref: 1},
		"cite?ref=%2B50&pack=ai":                   {Op: api.OpCite, Pack: "ai", Ref: 50},
		"cite?ref=01":                              {Op: api.OpCite, Pack: "crypto", Ref: 1},
		"cite?ref=9223372036854775807":             {Op: api.OpCite, Pack: "crypto", Ref: math.MaxInt},
		"cite?ref=000000000000000000000000000003":  {Op: api.OpCite, Pack: "crypto", Ref: 3},
		"snapshot?at=2026-11-20T20:05&k=1&k=2&q=x": {Op: api.OpSnapshot, Pack: "crypto", At: api.Minute(time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC))},
		"snapshot?at=2026-11-20T20:05Z":            {Op: api.OpSnapshot, Pack: "crypto", At: api.Minute(time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC))},
		"snapshot?at=2026-11-20T21:05%2B01:00":     {Op: api.OpSnapshot, Pack: "crypto", At: api.Minute(time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC))},
		"snapshot?at=2026-11-20T20:05:02.34Z":      {Op: api.OpSnapshot, Pack: "crypto", At: api.Moment{At: time.Date(2026, 11, 20, 20, 5, 2, 340e6, time.UTC), Exact: true}},
	} {
		if got, reason := p.ask(t, http.MethodGet, "/v1/"+query); read(got) != want || reason != "" {
			t.Errorf("%.80s: got %.200v %s, want %.200v", query, got, reason, want)
		}
	}
}

func TestParametersRefused(t *testing.T) {
	t.Parallel()
	p := newParsed(t)
	check := func(want string, format string, values ...string) {
		t.Helper()
		for _, v := range values {
			path := fmt.Sprintf(format, v)
			if got, reason := p.ask(t, http.MethodGet, path); reason != want {
				t.Errorf("%.80s: understood as %v, reason %q, want %q", path, got, reason, want)
			}
		}
	}
	check("invalid_request", "/v1/fresh?%s", "pack=%zz", "pack=%", "x=%2", "%f", "a;b", "x=1;pack=ai", "pack=ai&pack=crypto",
		"pack=crypto&p%61ck=crypto", "pack&pack=", "query=1&query=2", strings.Repeat("&", 10_001))
	check("invalid_request", "/v1/brief?%s", "pack=a&pack=a")
	check("invalid_request", "/v1/search?%s", "q=a&q=a", "q=a&k=1&k=1", "q=a;b", "q=%a")
	check("invalid_request", "/v1/snapshot?%s", "at=2026-11-20T20:05&at=2026-11-20T20:05")
	check("invalid_request", "/v1/cite?%s", "ref=1&ref=1", "ref=1&pack=crypto&pack=crypto")
	check("invalid_q", "/v1/search?%s", "", "q", "q=", "q=+", "q=%09%0D%0A", "q=%E3%80%80%C2%A0", "Q=a", "k=3")
	numbers := []string{"", "0", "-1", "-0", "1e1", "1.0", "+1", "%201", "1%20", "0x1", "1_0", "1,0", "%D9%A1", "%EF%BC%91", "ten", "NaN",
		"%00", "-99999999999999999999", "'1'", "null"}
	check("invalid_k", "/v1/search?q=a&k=%s", append(numbers, "51", "99999999999999999999", "2147483649", "4294967297")...)
	check("invalid_ref", "/v1/cite?ref=%s", append(numbers, "9223372036854775808", "99999999999999999999", strings.Repeat("9", 1000))...)
	check("invalid_ref", "/v1/cite%s", "", "?Ref=1", "?pack=crypto")
}

func TestParameterAt(t *testing.T) {
	t.Parallel()
	p := newParsed(t)
	for at, want := range map[string]string{
		"2026-11-20T20:05":                      "2026-11-20T20:05:00Z",
		"2026-11-20t20%3A05":                    "2026-11-20T20:05:00Z",
		"2026-11-20T20:05:00Z":                  "2026-11-20T20:05:00Z",
		"2026-11-20T20:05:59.999999999Z":        "2026-11-20T20:05:59.999Z",
		"2026-11-20t20:05:59z":                  "2026-11-20T20:05:59Z",
		"2026-11-20T20:05:00-00:00":             "2026-11-20T20:05:00Z",
		"2026-11-20T20:05:00%2B05:30":           "2026-11-20T14:35:00Z",
		"2026-11-20T20:05:00-08:00":             "2026-11-21T04:05:00Z",
		"2024-02-29T23:59":                      "2024-02-29T23:59:00Z",
		"1970-01-01T00:00":                      "1970-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z":                  "9999-12-31T23:59:59Z",
		"2026-11-20T20:05Z":                     "2026-11-20T20:05:00Z",
		"2026-11-20T20:05:00":                   "2026-11-20T20:05:00Z",
		"2026-11-20T20:05:00Z&at%20=yesterday&": "2026-11-20T20:05:00Z",
	} {
		got, reason := p.ask(t, http.MethodGet, "/v1/snapshot?at="+at)
		if got.At.At.Format(time.RFC3339Nano) != want || got.At.At.Location() != time.UTC {
			t.Errorf("%s: got %v %s, want %s", at, got.At, reason, want)
		}
	}
	for _, at := range []string{
		"", "2026", "2026-11-20", "2026-11-20T20", "20:05", "2026-11-20+20:05",
		"2026-11-20T20:05:00+05:30", "2026-11-20T20:05:00%2B0530", "2026-11-20T20:05:00+Z", "+2026-11-20T20:05", "2026-11-20T20:05%0A",
		"1763669100", "now", "-5m", "2026-13-01T00:00", "2026-02-29T00:00", "2026-11-20T24:00", "2026-11-20T20:60", "2026-11-20T20:05:60Z",
		"2026-11-20T2:05:000Z", "1969-12-31T23:59", "1970-01-01T00:00:00%2B00:01", "10000-01-01T00:00:00Z",
		"9999-12-31T23:59:59-00:01", "%EF%BC%92026-11-20T20:05", "null", strings.Repeat("2", 10_000),
	} {
		if got, reason := p.ask(t, http.MethodGet, "/v1/snapshot?at="+at); reason != "invalid_at" {
			t.Errorf("%.60s: understood as %v, reason %q", at, got.At, reason)
		}
	}
}

// TestMessagesQuoteLittle sends values that are far too long and wants them back shortened.
func TestMessagesQuoteLittle(t *testing.T) {
	t.Parallel()
	p := newParsed(t)
	long := strings.Repeat("ß", 20_000)
	for _, path := range []string{"/v1/search?q=a&k=", "/v1/cite?ref=", "/v1/snapshot?at="} {
		a := get(t, p.url+path+url.QueryEscape(long))
		if message := refusal(t, a, http.MethodGet).Error.Message; len(message) > 500 || !strings.Contains(message, "ßß") {
			t.Errorf("%s: message of %d bytes: %.100s", path, len(message), message)
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	seen := make(chan gate.Credentials, 1)
	s := script{admit: func(c gate.Credentials) (gate.Caller, error) { seen <- c; return gate.Caller{}, errors.New("no") }}
	server, _ := serve(t, web.Config{Reader: s, Gate: s})
	const key = "cv_test_0123456789"
	for _, c := range []struct {
		values []string
		want   gate.Credentials
	}{
		{nil, gate.Credentials{}},
		{[]string{"Bearer " + key}, gate.Credentials{HasBearer: true, Bearer: key}},
		{[]string{"bearer " + key}, gate.Credentials{HasBearer: true, Bearer: key}},
		{[]string{"BEARER   " + key + "  "}, gate.Credentials{HasBearer: true, Bearer: key}},
		{[]string{"Bearer"}, gate.Credentials{HasBearer: true}},
		{[]string{"Bearer "}, gate.Credentials{HasBearer: true}},
		{[]string{""}, gate.Credentials{HasBearer: true}},
		{[]string{key}, gate.Credentials{HasBearer: true}},
		{[]string{"Basic " + key}, gate.Credentials{HasBearer: true}},
		{[]string{"Bearer:" + key}, gate.Credentials{HasBearer: true}},
		{[]string{"Bearer\t" + key}, gate.Credentials{HasBearer: true}},
		{[]string{"Bearer cv_test_ 0123 456789"}, gate.Credentials{HasBearer: true, Bearer: "cv_test_ 0123 456789"}},
		{[]string{"Bearer " + key, "Bearer " + key}, gate.Credentials{HasBearer: true}},
		{[]string{"Basic x", "Bearer " + key}, gate.Credentials{HasBearer: true}},
		{[]string{"Bearer " + key, ""}, gate.Credentials{HasBearer: true}},
	} {
		var changes []change
		if c.values != nil {
			changes = append(changes, with("Authorization", c.values...))
		}
		// A key anywhere else is none.
		get(t, server.URL+"/v1/fresh?token="+key+"&key="+key, append(changes, with("X-Api-Key", key), with("Cookie", "key="+key))...)
		got := <-seen
		if got.Subject = (x402.Subject{}); got != c.want { // what is asked for is no credential
			t.Errorf("%q: got %+v, want %+v", c.values, got, c.want)
		}
	}
}

// TestTextInBody: the body of a check is JSON, or with text/plain the text itself, of at most so many bytes.
func TestTextInBody(t *testing.T) {
	t.Parallel()
	p := newParsed(t)
	whole := strings.Repeat("x", api.MaxCheckBytes)
	for _, c := range []struct{ path, kind, body, want, reason string }{
		{"?all=true", "text/plain", "BTC: $5", "BTC: $5", ""}, {"?all=true", "text/plain; charset=utf-8", " {\"text\":1}\n", " {\"text\":1}\n", ""},
		{"?all=true", "application/json", `{"text":"BTC: $5"}`, "BTC: $5", ""}, {"", "", `{"text":"BTC: $5","all":true}`, "BTC: $5", ""},
		{"?all=true", "text/plain", whole, whole, ""}, {"?all=true", "text/plain", whole + "x", "", "invalid_text"},
		{"?all=true", "text/plain", "", "", "invalid_text"}, {"?all=true", "text/plain", " \n", "", "invalid_text"},
		{"?all=true&text=a", "text/plain", "b", "", "invalid_request"}, {"?all=true", "application/json", "BTC: $5", "", "invalid_request"},
	} {
		q, reason := p.ask(t, http.MethodPost, api.OpCheck.Path()+c.path, sending(c.body), with("Content-Type", c.kind))
		if q.Text != c.want || reason != c.reason || reason == "" && !q.All {
			t.Errorf("%.40q as %q: %.40q %s, want %.40q %s", c.body, c.kind, q.Text, reason, c.want, c.reason)
		}
	}
}

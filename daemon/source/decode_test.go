package source_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/source"
)

// decoded is what Decode makes of a body, as JSON, or its failure.
func decoded(t testing.TB, format source.Format, layout source.CSV, body []byte) string {
	v, err := source.Decode(format, layout, body)
	if err != nil {
		if v != nil {
			t.Errorf("%s: both a value and %v", format, err)
		}
		checkFailure(t, format, err)
		return err.Error()
	}
	checkValue(t, format, v)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Errorf("%s: %v", format, err)
	}
	return strings.TrimSpace(b.String())
}

// checkFailure checks that a failure is one, and that its text can be shown.
func checkFailure(t testing.TB, format source.Format, err error) {
	class, _ := source.Judged(err)
	switch class {
	case source.ClassEmpty, source.ClassBadContent, source.ClassRateLimited, source.ClassAuth:
	default:
		t.Errorf("%s: class %s of %v", format, class, err)
	}
	text := err.Error()
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > 120 || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%s: error %q", format, text)
	}
}

// checkValue checks that a value is of the types of JSON.
func checkValue(t testing.TB, format source.Format, v any) {
	switch v := v.(type) {
	case nil, bool, json.Number:
	case string:
		if format != source.FormatRSS && format != source.FormatAtom && !utf8.ValidString(v) {
			t.Errorf("%s: text %q", format, v)
		}
	case []any:
		for _, e := range v {
			checkValue(t, format, e)
		}
	case map[string]any:
		for _, e := range v {
			checkValue(t, format, e)
		}
	default:
		t.Errorf("%s: a value of type %T", format, v)
	}
}

// TestDecode has the shapes and the failures of every format.
func TestDecode(t *testing.T) {
	t.Parallel()
	const none = "empty: the answer has no content"
	for _, c := range []struct {
		format     source.Format
		body, want string
		layout     source.CSV
	}{
		{format: "json", body: "\uFEFF {\"a\":[1,2.50,1e400,null,true,\"é\"]} ", want: `{"a":[1,2.50,1e400,null,true,"é"]}`},
		{format: "json", body: "", want: none},
		{format: "json", body: " \r\n\t", want: none},
		{format: "json", body: "null", want: "empty: the answer is null"},
		{format: "json", body: "[]", want: "empty: the answer has no rows"},
		{format: "json", body: "{}", want: "empty: the answer is an empty object"},
		{format: "json", body: "[1] [2]", want: "bad_content: data after the end of the JSON"},
		{format: "json", body: "[1", want: "bad_content: the JSON is cut off"},
		{format: "json", body: "[NaN]", want: "bad_content: malformed JSON"},
		{format: "json", body: strings.Repeat("[", 20000), want: "bad_content: malformed JSON"},
		{format: "json", body: "5", want: "bad_content: text where JSON was expected"},
		{format: "json", body: "Too Many Requests", want: "rate_limited: the answer is a text about limits"},
		{format: "json", body: "<html>", want: "bad_content: HTML where JSON was expected"},
		{format: "json", body: `{"error":"quota exceeded"}`, want: "rate_limited: the answer is an error about limits"},
		{format: "json", body: `{"status":{"error_code":1001}}`, want: "auth: HTTP 200 with error code 1001"},

		{format: "ndjson", body: "{\"a\":1}\n\n[2]\r\n3\nnull\n\"x\"\ntrue", want: `[{"a":1},[2],3,null,"x",true]`},
		{format: "ndjson", body: "\n", want: none},
		{format: "ndjson", body: "{\"a\":1}\n{\"a\":", want: "bad_content: the JSON is cut off"},
		{format: "ndjson", body: "{\"a\":1}\nquota", want: "bad_content: malformed JSON"},
		{format: "ndjson", body: "too many requests", want: "rate_limited: the answer is a text about limits"},
		{format: "ndjson", body: "not found", want: "bad_content: text where JSON was expected"},
		{format: "ndjson", body: "<html>", want: "bad_content: HTML where JSON was expected"},

		{format: "csv", body: "\uFEFFa, b\n1,2\n\n\"x,y\",\"z\"\"\"\nshort\n1,2,3\n", want: `[{"a":"1","b":"2"},{"a":"x,y","b":"z\""}]`},
		{format: "csv", body: "note\r\n\r\na;b\r\n1;2\r\n", layout: source.CSV{Comma: ";", Skip: 2}, want: `[{"a":"1","b":"2"}]`},
		{format: "csv", body: "1\t2", layout: source.CSV{Comma: "\t", Header: []string{"a", "b"}}, want: `[{"a":"1","b":"2"}]`},
		{format: "csv", body: "1", layout: source.CSV{Header: []string{"a"}}, want: `[{"a":"1"}]`},
		{format: "csv", body: "a,b\n\xff,\x00", want: `[{"a":"` + "\uFFFD" + `","b":"\u0000"}]`},
		{format: "csv", body: "a,b\n", want: "empty: the answer has no rows"},
		{format: "csv", body: "one line", layout: source.CSV{Skip: 3}, want: none},
		{format: "csv", body: "1,2", layout: source.CSV{Header: []string{"a", "b", "c"}}, want: "empty: the answer has no rows"},
		{format: "csv", body: "Exceeded the daily hits limit", want: "rate_limited: the answer is a text about limits"},
		{format: "csv", body: "No data", want: "bad_content: text where CSV was expected"},
		{format: "csv", body: "<!DOCTYPE html>", want: "bad_content: HTML where CSV was expected"},
		{format: "csv", body: `{"error":"limit"}`, want: "rate_limited: the answer is a text about limits"},
		{format: "csv", body: "a,b\n\"1,2", want: `[{"a":"1,2"}]`, layout: source.CSV{Comma: ";", Header: []string{"a"}, Skip: 1}},
		{format: "csv", body: " ", want: none},

		{format: "rss", body: `<rss version="2.0"><channel><item><title>A &lt;b&gt;c&lt;/b&gt;</title><link>javascript:x</link><guid>1</guid>` +
			`<pubDate>Fri, 20 Nov 2026 21:00:00 +0100</pubDate><category>x</category><description>d</description></item></channel></rss>`,
			want: `[{"at":"2026-11-20T20:00:00Z","categories":["x"],"id":"1","text":"d","title":"A c","url":""}]`},
		{format: "rss", body: `<rss version="2.0"><channel><title>t</title></channel></rss>`, want: "empty: the feed has no items"},
		{format: "atom", body: `<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>A</title><id>i</id><updated>2026-11-20T20:00:00Z</updated>` +
			`<link href="https://example.org/1"/><author><name>N</name></author></entry></feed>`,
			want: `[{"at":"2026-11-20T20:00:00Z","author":"N","categories":[],"id":"i","title":"A","url":"https://example.org/1"}]`},
		{format: "atom", body: "<html></html>", want: "bad_content: not a feed, or a broken one"},
		{format: "rss", body: "quota", want: "rate_limited: the answer is a text about limits"},
		{format: "rss", body: "", want: none},

		{format: "xml", body: `<?xml version="1.0"?><!-- c --><a:r xmlns:a="u" xmlns="v" a:n="1"><x>1</x><x/><y z="2"> t </y>u</a:r>`,
			want: `{"r":{"#text":"u","@n":"1","x":["1",""],"y":{"#text":"t","@z":"2"}}}`},
		{format: "xml", body: "<a><![CDATA[<b>]]>&amp;</a>", want: `{"a":"<b>&"}`},
		{format: "xml", body: "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe9</a>", want: `{"a":"é"}`},
		{format: "xml", body: "<?xml version=\"1.0\" encoding=\"nothing\"?><a/>", want: "bad_content: malformed XML"},
		{format: "xml", body: "<a>\xe9</a>", want: "bad_content: malformed XML"},
		{format: "xml", body: "<a>&b;</a>", want: "bad_content: malformed XML"},
		{format: "xml", body: "<a><b></a>", want: "bad_content: malformed XML"},
		{format: "xml", body: "<a><b>", want: "bad_content: malformed XML"},
		{format: "xml", body: strings.Repeat("<a>", 32) + strings.Repeat("</a>", 32), want: strings.Repeat(`{"a":`, 32) + `""` + strings.Repeat("}", 32)},
		{format: "xml", body: strings.Repeat("<a>", 33), want: "bad_content: XML deeper than 32 elements"},
		{format: "xml", body: "<!-- nothing -->", want: "empty: the answer has no element"},
		{format: "xml", body: "<HTML></HTML>", want: "bad_content: HTML where XML was expected"},
		{format: "xml", body: `{"a":1}`, want: "bad_content: text where XML was expected"},

		{format: "text", body: "\uFEFFBEGIN:\xff\n", want: `"BEGIN:` + "\uFFFD" + `\n"`},
		{format: "text", body: " \n", want: none},
		{format: "text", body: " <!doctype HTML>", want: "bad_content: HTML where text was expected"},
	} {
		if got := decoded(t, c.format, c.layout, []byte(c.body)); got != c.want {
			t.Errorf("%s of %.60q:\n%.300s\nwant\n%.300s", c.format, c.body, got, c.want)
		}
	}
}

// TestDecodeFailures has every payload of the failures in the format that its source has: what the body alone tells is the class that is
// expected, but for what only the status, an expectation or the rows can tell.
func TestDecodeFailures(t *testing.T) {
	t.Parallel()
	good := map[string]bool{ // for the status, expect or rows to refuse
		"200_fng_metadata_error.json": true, "429_retry_after_absurd.json": false, "451_region_blocked.json": true,
		"empty_data_array.json": true, "object_instead_of_array.json": true, "frozen_upstream.json": true,
	}
	for _, c := range failureCases(t) {
		body, err := os.ReadFile(filepath.Join("replay", c.File))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(c.File)
		format := map[string]source.Format{".csv": "csv", ".xml": "rss"}[filepath.Ext(name)]
		if format == "" {
			format = "json"
		}
		_, err = source.Decode(format, source.CSV{}, body)
		class, _ := source.Judged(err)
		fine := c.Expect.Class == source.ClassOK || c.Expect.Class == source.ClassPartial || good[name]
		switch {
		case fine && err != nil || !fine && err == nil:
			t.Errorf("%s as %s: %v", name, format, err)
		case !fine && c.Status == 200 && class != c.Expect.Class:
			t.Errorf("%s as %s: %v, want class %s", name, format, err, c.Expect.Class)
		}
		for _, f := range source.Formats() {
			if first, again := decoded(t, f, source.CSV{}, body), decoded(t, f, source.CSV{}, body); first != again {
				t.Errorf("%s as %s: %s, and then %s", name, f, first, again)
			}
		}
	}
}

// TestBombsStaySmall: entities are not expanded.
func TestBombsStaySmall(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("replay/failures/xml_entity_bomb.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range source.Formats() {
		if got := decoded(t, f, source.CSV{}, body); len(got) > 2*len(body) {
			t.Errorf("%s: %d bytes of %d", f, len(got), len(body))
		}
	}
}

func FuzzDecode(f *testing.F) {
	seeds(f, func(data []byte) {
		for i := range source.Formats() {
			f.Add(byte(i), "", data)
		}
	}, ".json", ".html", ".txt", ".csv", ".xml", ".atom", ".ics")
	f.Add(byte(2), ";", []byte("a;b\n1;2"))
	f.Fuzz(func(t *testing.T, format byte, comma string, data []byte) {
		formats := source.Formats()
		decoded(t, formats[int(format)%len(formats)], source.CSV{Comma: comma}, data)
	})
}

// TestExpandURL has the times that a URL may hold, and what is none.
func TestExpandURL(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 30, 59, 999e6, time.FixedZone("", -3600)) // 01:30 in UTC
	for url, want := range map[string]string{
		"https://a/{date}":                         "https://a/2026-01-01",
		"https://a/{date-1d}/{date-2h}/{date-90m}": "https://a/2025-12-31/2025-12-31/2026-01-01",
		"{month} {month-1d} {month-31d}":           "202601 202512 202512",
		"{year} {year-1d} {year-366d}":             "2026 2025 2024",
		"{unix} {unix_ms}":                         "1767231000 1767231000000",
		"{unix-1m}{unix_ms-24h}":                   "17672309401767144600000",
		"{unix-0d}":                                "1767231000",
		"nothing":                                  "nothing",
		"{key}{DATE}{date+1d}{date-1w}{date-d}":    "{key}{DATE}{date+1d}{date-1w}{date-d}",
		"{{date}}":                                 "{2026-01-01}",
	} {
		if got := source.ExpandURL(url, at); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	if a, b := source.ExpandURL("{unix_ms}", at.Truncate(time.Minute)), source.ExpandURL("{unix_ms}", at); a != b {
		t.Errorf("within a minute %s and %s", a, b)
	}
	for url, want := range map[string]string{
		"https://a/{date}/{unix_ms-24h}": "", "": "", "{month}}": "", "{key}": "{key}", "{date}{dates}": "{dates}", "{date-1w}": "{date-1w}",
		"{date-99999d}": "{date-99999d}", "{": "{}", "{date": "{date}", "{ date }": "{ date }", "{unix_ms-00024h}": "{unix_ms-00024h}",
	} {
		if got := source.UnknownMoment(url); got != want {
			t.Errorf("unknown in %q: %q, want %q", url, got, want)
		}
	}
	if got := fmt.Sprint(source.ExpandURL("{date-9999d}", at)); got != "1998-08-17" {
		t.Errorf("long ago is %s", got)
	}
}

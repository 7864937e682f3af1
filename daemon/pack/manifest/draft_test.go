package manifest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
)

// TestDraft: what is guessed of an answer passes Read, and its rows have keys and values.
func TestDraft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ answer, want string }{
		"array": {`[{"id":1,"name":"A","price":"1.5","marketCap":3e9,"change24h":-1.2,"active":true,"updatedAt":"2026-11-20T20:00:00Z"},
			{"id":2,"name":"B","price":"2.5","marketCap":4e9,"change24h":null,"active":false,"updatedAt":"2026-11-20T20:00:00Z"}]`,
			"1 A: priceUsd marketCapUsd change24hPct updatedAt active"},
		"deep": {`{"status":{"ok":1},"data":{"list":[{"symbol":"X","stats":{"usd":5,"pct":"1"}},` +
			`{"symbol":"Y","stats":{"usd":6,"pct":"2"}}]}}`, "X X: statsUsd statsPct"},
		"by keys": {`{"bitcoin":{"usd":90000.5,"usd_24h_change":1.5},"ethereum":{"usd":3000,"usd_24h_change":2}}`,
			"bitcoin bitcoin: priceUsd usd24hChangePct"},
		"one": {`{"fastestFee":3,"hourFee":1}`, "my-pack my-pack: fastestFee hourFee"},
		"wrapped": {`{"type":"FeatureCollection","metadata":{"count":2},"features":[
			{"type":"Feature","id":"us1","properties":{"mag":4.5,"place":"5 km N of Nowhere","time":1795204800000,"url":"https://example.org/us1"},
			 "geometry":{"type":"Point","coordinates":[1,2,3]}},
			{"type":"Feature","id":"us2","properties":{"mag":2.6,"place":"Elsewhere","time":1795204900000,"url":"https://example.org/us2"},
			 "geometry":{"type":"Point","coordinates":[1,2,3]}}]}`, "us1 5 km N of Nowhere: mag timeAt"},
		"odd names": {`[{"a b":"k1","24h %":1.5,"key":{"x":2},"ref":7},{"a b":"k2","24h %":2,"key":{"x":3},"ref":8}]`,
			"k1 k1: n24h keyX refOfRow"},
		"no key": {`[{"v":1,"w":1},{"v":1,"w":2.5}]`, "eyJ2IjoxLCJ3IjoxfQ== eyJ2IjoxLCJ3IjoxfQ==: w v"},
		"feed": {`<?xml version="1.0"?><rss version="2.0"><channel><title>t</title><item><title>One</title><link>https://example.org/1</link>` +
			`<pubDate>Fri, 20 Nov 2026 19:00:00 GMT</pubDate></item></channel></rss>`, "https://example.org/1 One: publishedAt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := manifest.Draft("my-pack", "https://api.example.org/v1/x?a='b'", []byte(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			doc := fetched(t, text, tt.answer)
			row := doc.Rows[0]
			var fields []string
			for _, v := range row.Values {
				fields = append(fields, v.Name)
			}
			if got := row.Key + " " + row.Name + ": " + strings.Join(fields, " "); got != tt.want {
				t.Errorf("%s\nwant %s\n%s", got, tt.want, text)
			}
		})
	}
	for _, answer := range []string{"", "hello", `[1,2,3]`, `"x"`, "<html></html>", `{"a":[]}`} {
		if text, err := manifest.Draft("my-pack", "https://example.org/", []byte(answer)); err == nil {
			t.Errorf("%q makes a manifest:\n%s", answer, text)
		}
	}
}

// fetched is what the only source of a manifest makes of an answer.
func fetched(t *testing.T, text []byte, answer string) *source.RowsDoc {
	t.Helper()
	m, err := manifest.Read(text, false)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := m.Make(e)
	if err != nil {
		t.Fatal(err)
	}
	f := source.NewFetcher(source.Config{Transport: answers(func(*http.Request) string { return answer })})
	out := f.Fetch(t.Context(), p.Sources[0].Connector, nil)
	if out.Err != nil {
		t.Fatalf("%v\n%s", out.Err, text)
	}
	return out.Doc.(*source.RowsDoc)
}

// TestDraftAlone: without an answer there is an example to change by hand.
func TestDraftAlone(t *testing.T) {
	t.Parallel()
	text, err := manifest.Draft("my-pack", manifest.Example, nil)
	if err != nil || !strings.Contains(string(text), "\npack: my-pack\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestDropped: every reason for which something of a row is left out is told, with a row that it is true of.
func TestDropped(t *testing.T) {
	t.Parallel()
	m, err := manifest.Read([]byte(perps), false)
	if err != nil {
		t.Fatal(err)
	}
	got := m.Dropped("hyperliquid-contexts", []any{
		"text", map[string]any{"funding": 1}, map[string]any{"key": "A", "mark": 1.0}, map[string]any{"key": "A", "mark": 1.0},
		map[string]any{"key": "B"}, map[string]any{"key": "C", "mark": 2.0, "funding": "n/a", "fundng": 3}, map[string]any{"mark": 1},
	})
	want := []string{
		"row 1 is no object", "row 2, as 1 others, has no key", "row 4 (A) has the key of row 3",
		"row 5 (B) has no field with a value that fits",
		`row 6 (C) has a value of funding that is no percent4: "n/a"`, "row 6 (C) has fundng, which is no field; did you mean funding?",
		"no row has open_interest",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

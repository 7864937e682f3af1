package manifest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
)

type answers func(*http.Request) string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(a(r)))), Request: r}, nil
}

// TestFromAnswerToState follows an answer through a manifest: rows, state, flags, brief and tables.
func TestFromAnswerToState(t *testing.T) {
	t.Parallel()
	m, err := manifest.Read([]byte(perps), false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	p, writer, err := m.Make(e)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	f := source.NewFetcher(source.Config{Now: func() time.Time { return now },
		Transport: answers(func(*http.Request) string { return contexts })})
	out := f.Fetch(t.Context(), p.Sources[0].Connector, nil)
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	in := pack.Input{Readings: map[string]pack.Reading{p.Sources[0].ID: {Doc: out.Doc, FetchedAt: now}}, Now: now}
	state, err := p.Compact(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"funding":[{"id":"XRP","name":"XRP","symbol":"XRP","fundingPct":-1.25,"openInterestUsd":14606,"markUsd":2.123,"ref":1},` +
		`{"id":"ETH","name":"ETH","symbol":"ETH","fundingPct":0.125,"openInterestUsd":21329187,"markUsd":3100.12,"ref":1},` +
		`{"id":"BTC","name":"BTC","symbol":"BTC","fundingPct":0.0013,"openInterestUsd":62618095,"markUsd":91000.1,"ref":1}],` +
		`"flags":[{"id":"funding_extreme:XRP","kind":"funding_extreme","severity":"critical","subject":"XRP","value":-1.25,"threshold":0.05,` +
		`"unit":"pct","since":"2026-11-20T20:00:00Z","message":"XRP pays -1.25% an hour","entity":"perp/XRP","ref":1},` +
		`{"id":"funding_extreme:ETH","kind":"funding_extreme","severity":"warning","subject":"ETH","value":0.125,"threshold":0.05,` +
		`"unit":"pct","since":"2026-11-20T20:00:00Z","message":"ETH pays +0.125% an hour","entity":"perp/ETH","ref":1}],` +
		`"source_status":[{"ref":1,"id":"hyperliquid-contexts","status":"ok","fetchedAt":"2026-11-20T20:00:00Z","items":3,"failures":0,` +
		`"intervalSeconds":300,"staleAfterSeconds":900,"error":null}]}`
	if string(state) != want {
		t.Errorf("state:\n%s\nwant\n%s", state, want)
	}
	cites := p.Citations(read(state), p.Status(in), now)
	draft, err := writer.Write(t.Context(), brief.Input{Pack: p.ID, State: read(state), Citations: cites})
	const told = "XRP pays -1.25% an hour [1]. ETH pays +0.125% an hour [1].\n\n" +
		"Longs pay most on ETH, +0.125% an hour and BTC, +0.0013% an hour [1]. Open interest is largest in BTC, at $62.6M [1]."
	if draft.Text != told || err != nil {
		t.Errorf("brief:\n%s\n%v", draft.Text, err)
	}
	if wrong := ground.Check(draft.Text, read(state), cites); len(wrong) > 0 {
		t.Error(wrong)
	}
	found := p.Tables(in).Lookup("btc oi", "", 1)
	if len(found.Rows) != 1 || found.Rows[0].Key != "BTC" || found.Rows[0].URL != "https://app.hyperliquid.xyz/trade/BTC" {
		t.Errorf("btc oi: %+v", found)
	}
}

// TestNewestOfNews: of news, the newest are kept wherever they stand in an answer; of other rows, the first.
func TestNewestOfNews(t *testing.T) {
	t.Parallel()
	const news = "limits: {rows: 2}\npack: mine\nversion: 1\ntitle: Mine\nmembers: {all: {from: one}}\nsources:\n" +
		"  - {id: one, name: One, licence: public, kind: story, public_url: 'https://example.org/', " +
		"request: {url: 'https://example.org/one'}, fields: {seen: time}, rows: '.[]', time: seen}\n"
	for text, want := range map[string]string{news: "[c b]", strings.Replace(news, ", time: seen", "", 1): "[a b]"} {
		m, err := manifest.Read([]byte(text), false)
		if err != nil {
			t.Fatal(err)
		}
		e, err := manifest.NewLocal(m)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := m.Make(e)
		if err != nil {
			t.Fatal(err)
		}
		f := source.NewFetcher(source.Config{Transport: answers(func(*http.Request) string {
			return `[{"key":"a","seen":1795000000},{"key":"b","seen":1795000001},{"key":"c","seen":1795000002}]`
		})})
		out := f.Fetch(t.Context(), p.Sources[0].Connector, nil)
		if out.Err != nil {
			t.Fatal(out.Err)
		}
		var keys []string
		for _, r := range out.Doc.(*source.RowsDoc).Rows {
			keys = append(keys, r.Key)
		}
		if got := fmt.Sprint(keys); got != want {
			t.Errorf("kept %s, want %s", got, want)
		}
	}
}

// perps is a small manifest, and contexts an answer to its only source.
const (
	perps = `pack: my-perps
version: 1
title: Perpetual futures
kinds:
  perp: {words: [perpetual], order: open_interest}
sources:
  - id: hyperliquid-contexts
    name: Hyperliquid
    public_url: https://app.hyperliquid.xyz/
    licence: public API, with attribution
    request: {method: POST, url: https://api.hyperliquid.xyz/info, json: {type: metaAndAssetCtxs}}
    expect: 'type=="array" and (.[0].universe|length) > 1'
    rows: >-
      [.[0].universe, .[1]] | transpose[] | select(.[0].isDelisted|not) | {key: .[0].name, symbol: .[0].name,
      funding: (.[1].funding|tonumber*100), open_interest: ((.[1].openInterest|tonumber)*(.[1].markPx|tonumber)), mark: .[1].markPx}
    kind: perp
    link: 'https://app.hyperliquid.xyz/trade/{key}'
    fields:
      funding: percent4
      open_interest: {type: usd, words: [oi], change: [1h]}
      mark: price
members:
  funding: {from: hyperliquid-contexts, select: 'sort_by(-(.funding|fabs))[:12]'}
flags:
  - kind: funding_extreme
    over: hyperliquid-contexts
    when: '(.funding|fabs) > 0.05'
    clear: '(.funding|fabs) < 0.03'
    critical: '(.funding|fabs) > 0.2'
    threshold: 0.05
    message: '{name} pays {funding} an hour'
brief:
  - {over: funding, by: funding, above: 0, rows: 3, say: 'Longs pay most on {list}.', item: '{name}, {funding} an hour'}
  - {over: funding, by: open_interest, say: 'Open interest is largest in {name}, at {open_interest}.'}
`
	contexts = `[{"universe":[{"name":"BTC"},{"name":"ETH"},{"name":"XRP"},{"name":"OLD","isDelisted":true}]},[
{"funding":"0.0000125","openInterest":"688.11","markPx":"91000.123"},{"funding":"0.00125","openInterest":"6880.11","markPx":"3100.123"},
{"funding":"-0.0125","openInterest":"6880.11","markPx":"2.123"},{"funding":"0","openInterest":"0","markPx":"1"}]]`
)

// TestAsksForWhatChanged: an answer that has not changed is not sent again, but where what is made of it depends on when.
func TestAsksForWhatChanged(t *testing.T) {
	t.Parallel()
	for part, again := range map[string]bool{
		"when: '.mark > 1'":                            false,
		"when: '.mark > 1 and .now != 2 and $known'":   false,
		"when: '.mark > 1 and now > 2'":                true,
		"when: '.mark > 1'\n    clear: '(now|todate)'": true,
	} {
		part = strings.ReplaceAll(part, "$known", "({known: 1} as {$known} | $known)")
		m, err := manifest.Read([]byte(strings.Replace(plain, "when: '.mark > 1'", part, 1)), false)
		if err != nil {
			t.Fatal(err)
		}
		e, err := manifest.NewLocal(m)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := m.Make(e)
		if err != nil {
			t.Fatal(err)
		}
		known := ""
		f := source.NewFetcher(source.Config{Transport: tagged(func(r *http.Request) { known = r.Header.Get("If-None-Match") })})
		first := f.Fetch(t.Context(), p.Sources[0].Connector, nil)
		if first.Err != nil {
			t.Fatal(first.Err)
		}
		f.Fetch(t.Context(), p.Sources[0].Connector, first.Doc)
		if again != (known == "") {
			t.Errorf("%s: asked again with If-None-Match %q", part, known)
		}
	}
}

// tagged answers with a version of the same rows.
type tagged func(*http.Request)

func (f tagged) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	answer := io.NopCloser(strings.NewReader(`[{"name":"A","mark":2}]`))
	return &http.Response{StatusCode: 200, Header: http.Header{"Etag": {`"1"`}}, Body: answer, Request: r}, nil
}

const plain = `pack: my-marks
version: 1
title: Marks
sources:
  - id: marks
    name: Marks
    public_url: https://example.org/
    licence: public
    request: {url: 'https://example.org/marks.json'}
    rows: '.[] | {key: .name, mark}'
    kind: mark
    fields: {mark: price}
  - id: others
    name: Others
    public_url: https://example.org/
    licence: public
    request: {url: 'https://example.org/others.json'}
    rows: '.[] | {key: .name, seen: now}'
    kind: other
    fields: {seen: number}
members:
  marks: {from: marks, rows: 3}
flags:
  - kind: high
    over: marks
    when: '.mark > 1'
    message: '{name} is at {mark}'
  - kind: late
    over: others
    when: 'now > .seen'
    message: '{name} was seen at {seen}'
`

// read is a state parsed.
func read(text []byte) *state.Document { return state.Read(text) }

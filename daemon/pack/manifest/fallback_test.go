package manifest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Answers of those who stand in, in the forms that they have.
const (
	fredYields = `observation_date,DGS1MO,DGS3MO,DGS6MO,DGS1,DGS2,DGS3,DGS5,DGS7,DGS10,DGS20,DGS30
2026-11-17,3.90,3.88,3.80,3.70,3.55,3.56,3.65,3.80,4.00,4.60,4.62
2026-11-18,3.91,3.89,3.81,3.71,3.56,3.57,3.66,3.81,4.05,4.61,4.63
2026-11-19,.,.,.,.,.,.,.,.,.,.,.
`
	ecbRates = `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
<gesmes:subject>Reference rates</gesmes:subject><gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
<Cube><Cube time="2026-11-20"><Cube currency="USD" rate="1.25"/><Cube currency="JPY" rate="200"/><Cube currency="GBP" rate="0.8"/></Cube>
<Cube time="2026-11-19"><Cube currency="USD" rate="1.20"/><Cube currency="JPY" rate="180"/><Cube currency="GBP" rate="0.8"/></Cube></Cube>
</gesmes:Envelope>`
	beaCalendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" +
		"BEGIN:VEVENT\r\nDTSTART;TZID=America/New_York:20261125T083000\r\nSUMMARY:Personal Income and Outlays\\, October 2026\r\nEND:VEVENT\r\n" +
		"BEGIN:VEVENT\r\nDTSTART:20261222T133000Z\r\nSUMMARY:Personal Income and Outlays\\, November 2026\r\nEND:VEVENT\r\n" +
		"BEGIN:VEVENT\r\nDTSTART;TZID=America/New_York:20261126T083000\r\n" +
		"SUMMARY:Gross Domestic Product\\, 3rd Quarter 2026 (Second Estimate)\r\nEND:VEVENT\r\n" +
		"BEGIN:VEVENT\r\nDTSTART;TZID=America/New_York:20261203T083000\r\n" +
		"SUMMARY:U.S. International Trade in Goods and Services\\, October 2026\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	arxivQuery = `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>q</title>
<entry><id>http://arxiv.org/abs/2611.00001v1</id><title>One</title><published>2026-11-20T10:00:00Z</published>
<link href="https://arxiv.org/abs/2611.00001v1" rel="alternate" type="text/html"/></entry>
<entry><id>http://arxiv.org/abs/2611.00002v1</id><title>Two</title><published>2026-11-20T09:00:00Z</published>
<link href="https://arxiv.org/abs/2611.00002v1" rel="alternate" type="text/html"/></entry>
<entry><id>http://arxiv.org/abs/2611.00003v1</id><title>Three</title><published>2026-11-20T08:00:00Z</published>
<link href="https://arxiv.org/abs/2611.00003v1" rel="alternate" type="text/html"/></entry></feed>`
)

// liteLLM is a file of prices with n models of the router beside one of another provider.
func liteLLM(n int) string {
	var b strings.Builder
	b.WriteString(`{"sample_spec":{"litellm_provider":"one of …"},"gpt-5":{"litellm_provider":"openai","input_cost_per_token":1e-6}`)
	for i := range n {
		b.WriteString(`,"openrouter/acme/m` + string(rune('a'+i/26)) + string(rune('a'+i%26)) +
			`":{"litellm_provider":"openrouter","input_cost_per_token":1.5e-06,"output_cost_per_token":6e-06,"max_input_tokens":128000,` +
			`"max_output_tokens":8192,"mode":"chat"}`)
	}
	return b.String() + "}"
}

// TestStandIns: each of those who stand in for a source of the program is read as the source is.
func TestStandIns(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	all := map[string]source.Connector{}
	for _, c := range allSources(t, source.CoinGecko{}) {
		all[c.ID] = c
	}
	for id, want := range map[string]struct {
		host, body, via, key string
		values               map[string]float64
		due                  time.Time
	}{
		"treasury-yields": {host: "fred.stlouisfed.org", body: fredYields, via: "FRED", key: "10y",
			values: map[string]float64{"yieldPct": 4.05, "movedBp": 5}},
		"frankfurter-fx": {host: "www.ecb.europa.eu", body: ecbRates, via: "ECB", key: "USDJPY",
			values: map[string]float64{"rate": 160}},
		"bea-calendar": {host: "www.bea.gov", body: beaCalendar, via: "BEA calendar subscription", key: "2026-11-25-personal-income-and-outlays",
			values: map[string]float64{"importance": 3}, due: time.Date(2026, 11, 25, 13, 30, 0, 0, time.UTC)},
		"openrouter-models": {host: "raw.githubusercontent.com", body: liteLLM(45), via: "LiteLLM", key: "acme/maa",
			values: map[string]float64{"promptPerMillionUsd": 1.5, "completionPerMillionUsd": 6, "contextTokens": 128000}},
		"arxiv": {host: "export.arxiv.org", body: arxivQuery, via: "arXiv API", key: "2611.00001"},
	} {
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := &http.Response{StatusCode: 403, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}
			if r.URL.Host == want.host {
				resp.StatusCode, resp.Body = 200, io.NopCloser(strings.NewReader(want.body))
			}
			return resp, nil
		})
		f := source.NewFetcher(source.Config{Transport: transport, Now: func() time.Time { return now }})
		out := f.Fetch(t.Context(), all[id], nil)
		doc, is := out.Doc.(*source.RowsDoc)
		if !is || out.Via != want.via {
			t.Errorf("%s: %v via %q (%v)", id, out.Doc, out.Via, out.Err)
			continue
		}
		row := doc.Row(want.key)
		if row == nil {
			t.Errorf("%s: no row %s in %+v", id, want.key, doc.Rows)
			continue
		}
		for name, x := range want.values {
			if v := row.Value(name); v == nil || v.Number == nil || *v.Number != x {
				t.Errorf("%s: %s is not %v in %+v", id, name, x, row)
			}
		}
		if v := row.Value("dueAt"); !want.due.IsZero() && (v == nil || v.Time == nil || !v.Time.Equal(want.due)) {
			t.Errorf("%s: due %+v, want %v", id, v, want.due)
		}
	}
}

// TestQuiet: on a day without papers the feed is empty, and the papers before stay.
func TestQuiet(t *testing.T) {
	t.Parallel()
	body := strings.ReplaceAll(arxivQuery, "v1\"", "\"")
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: 403, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}
		if r.URL.Host == "rss.arxiv.org" {
			resp.StatusCode, resp.Body = 200, io.NopCloser(strings.NewReader(body))
		}
		return resp, nil
	})
	f := source.NewFetcher(source.Config{Transport: transport})
	for _, c := range allSources(t, source.CoinGecko{}) {
		if c.ID != "arxiv" {
			continue
		}
		first := f.Fetch(t.Context(), c, nil)
		if first.Doc == nil || first.Via != "" {
			t.Fatalf("%+v", first)
		}
		body = `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>cs.AI updates on arXiv.org</title></feed>`
		if out := f.Fetch(t.Context(), c, first.Doc); !out.NotModified || out.Err != nil {
			t.Errorf("without papers: %+v", out)
		}
		if out := f.Fetch(t.Context(), c, nil); out.Class != source.ClassEmpty || out.NotModified {
			t.Errorf("without papers at the start: %+v", out)
		}
	}
}

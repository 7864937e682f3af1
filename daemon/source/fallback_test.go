package source_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// withFallback is a declared source at own.example with one that stands in at other.example. Each has a row by the name of its answer.
func withFallback() source.Connector {
	decode := func(_ context.Context, a source.Answer, _ *source.RowsDoc) (*source.RowsDoc, int, error) {
		if len(a.Body) == 0 {
			return nil, 0, source.Refuse(source.ClassEmpty, "nothing")
		}
		return &source.RowsDoc{Rows: []source.DeclaredRow{{Key: string(a.Body)}}}, 0, nil
	}
	return source.Declared{
		ID: "one", URL: "https://own.example/", Interval: time.Hour, StaleAfter: 3 * time.Hour, Decode: decode,
		Fallbacks: []source.DeclaredFallback{{Via: "Other", Declared: source.Declared{URL: "https://other.example/", Decode: decode}}},
	}.Connector()
}

// TestFallback: who stands in is asked where the source fails, and says so. The source itself is asked again after its pause, and answers
// alone once it is back.
func TestFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		status := map[string]int{"own.example": 403, "other.example": 200}
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Host)
			return respond(r, status[r.URL.Host], r.URL.Host), nil
		})
		f := source.NewFetcher(source.Config{Transport: transport})
		var last source.Doc
		step := func(what, want, via string) {
			t.Helper()
			asked = nil
			out := f.Fetch(t.Context(), withFallback(), last)
			if got := strings.Join(asked, " "); got != want || out.Via != via {
				t.Errorf("%s: asked %q, via %q, %v; want %q, via %q", what, got, out.Via, out.Err, want, via)
			}
			if via != "" && (out.Doc == nil || out.Err != nil || out.Own == nil) {
				t.Errorf("%s: %+v", what, out)
			}
			if out.Doc != nil {
				last = out.Doc
			}
			if want := time.Now().Truncate(time.Millisecond); !out.At.Equal(want) {
				t.Errorf("%s: at %s, want %s", what, out.At, want)
			}
		}
		time.Sleep(123456 * time.Nanosecond)
		step("own fails", "own.example other.example", "Other")
		time.Sleep(4*time.Minute + 29*time.Second)
		step("own is left alone", "other.example", "Other")
		time.Sleep(time.Second)
		step("own is asked again", "own.example other.example", "Other")
		time.Sleep(9 * time.Minute)
		step("own is left alone for longer", "other.example", "Other")
		status["own.example"] = 200
		time.Sleep(time.Hour)
		step("own is back", "own.example", "")
		status["own.example"], status["other.example"] = 500, 500
		asked = nil
		out := f.Fetch(t.Context(), withFallback(), last)
		if out.Doc != nil || out.Err == nil || out.Class != source.ClassUpstream || out.Via != "" {
			t.Errorf("both fail: %+v", out)
		}
		if out := f.Fetch(t.Context(), withFallback(), last); out.Class != source.ClassUpstream || out.RetryAfter == 0 {
			t.Errorf("both fail, own is left alone: %+v", out)
		}
	})
}

// TestFallbackIsNotConfirmed: a source that is back is read whatever its version, or it would confirm what another said.
func TestFallbackIsNotConfirmed(t *testing.T) {
	t.Parallel()
	down, confirmed := false, 0
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		switch {
		case r.URL.Host == "other.example":
			return respond(r, 200, "other"), nil
		case down:
			return respond(r, 403, ""), nil
		case r.Header.Get("If-None-Match") == `"1"`:
			confirmed++
			return respond(r, 304, ""), nil
		}
		return respond(r, 200, "own", "ETag", `"1"`), nil
	})
	now := recordedAt
	f := source.NewFetcher(source.Config{Transport: transport, Now: func() time.Time { return now }})
	c := withFallback()
	own := f.Fetch(t.Context(), c, nil)
	if again := f.Fetch(t.Context(), c, own.Doc); !again.NotModified || confirmed != 1 {
		t.Fatalf("not confirmed: %+v", again)
	}
	f.Forget(c)
	if out := f.Fetch(t.Context(), c, own.Doc); out.Doc == nil || confirmed != 1 {
		t.Errorf("another source at the address: %+v, confirmed %d times", out, confirmed)
	}
	down = true
	other := f.Fetch(t.Context(), c, own.Doc)
	down, now = false, now.Add(time.Hour)
	if back := f.Fetch(t.Context(), c, other.Doc); back.Doc == nil || back.Via != "" || confirmed != 1 {
		t.Errorf("back: %+v, confirmed %d times", back, confirmed)
	}
}

// history is what a node says of a base fee in gwei, with tips of 0.01, 0.1 and 1.
func history(gwei float64) string {
	block := `["0x989680","0x5f5e100","0x3b9aca00"]`
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"oldestBlock":"0x1","baseFeePerGas":["0x1","0x%x"],"reward":[%s,%s,%s]}}`,
		uint64(gwei*1e9), block, block, block)
}

// TestGasOfNodes: two nodes that agree are believed, the third decides where they do not, and Blockscout answers where no two do.
func TestGasOfNodes(t *testing.T) {
	t.Parallel()
	const refused = `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"too many requests"}}`
	const stats = `{"gas_prices":{"slow":7,"average":8,"fast":9}}`
	for name, tt := range map[string]struct {
		said    [3]string
		asked   int
		average float64
		via     string
	}{
		"agree":                     {[3]string{history(1), history(1.2), ""}, 2, 1.1, ""},
		"the first is off":          {[3]string{history(5), history(1), history(1.1)}, 3, 1.1, ""},
		"the second refuses":        {[3]string{history(1), refused, history(1)}, 3, 1.1, ""},
		"a page":                    {[3]string{"<html>", history(1), history(1)}, 3, 1.1, ""},
		"all differ":                {[3]string{history(1), history(2), history(4)}, 4, 8, "Blockscout"},
		"one answers":               {[3]string{refused, refused, history(1)}, 4, 8, "Blockscout"},
		"none answers":              {[3]string{"", "", ""}, 4, 8, "Blockscout"},
		"beyond what could be paid": {[3]string{history(2e6), history(2e6), history(2e6)}, 4, 8, "Blockscout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			transport := roundTrip(func(r *http.Request) (*http.Response, error) {
				asked++
				if r.Method == http.MethodGet {
					return respond(r, 200, stats), nil
				}
				return respond(r, 200, tt.said[asked-1]), nil
			})
			f := source.NewFetcher(source.Config{Transport: transport, Now: atRecording})
			out := f.Fetch(t.Context(), source.BlockscoutGas(), nil)
			if out.Doc == nil {
				t.Fatal(out.Err)
			}
			doc := out.Doc.(*source.GasDoc)
			if asked != tt.asked || number(doc.Average) != tt.average || out.Via != tt.via {
				t.Errorf("asked %d, %v gwei via %q; want %d, %v via %q", asked, number(doc.Average), out.Via, tt.asked, tt.average, tt.via)
			}
		})
	}
}

// TestPredictionsOfBothShapes: a page of events, and the list that upstream gave before.
func TestPredictionsOfBothShapes(t *testing.T) {
	t.Parallel()
	const event = `{"slug":"a","markets":[{"id":"1","question":"Q?","outcomes":"[\"Yes\",\"No\"]","outcomePrices":"[\"0.4\",\"0.6\"]"}]}`
	for body, class := range map[string]source.Class{
		"[" + event + "]": source.ClassOK,
		`{"events":[` + event + `],"next_cursor":"x"}`: source.ClassOK,
		"\uFEFF " + `{"events":[` + event + `]}`:       source.ClassOK,
		`{"events":[],"next_cursor":""}`:               source.ClassEmpty,
		"[]":                                           source.ClassEmpty,
		"{}":                                           source.ClassEmpty,
		"":                                             source.ClassEmpty,
		"<html>":                                       source.ClassBadContent,
	} {
		out := fetch(t, answer(t, body), source.Polymarket(), nil)
		if out.Class != class || class == source.ClassOK && out.Doc.Len() != 1 {
			t.Errorf("%s: %s, %v", body, out.Class, out.Err)
		}
	}
}

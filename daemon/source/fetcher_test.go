package source_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
)

const oneFee = `{"fastestFee":3,"halfHourFee":2,"hourFee":1,"economyFee":1,"minimumFee":1}`

// respond makes an answer without a server, for tests that run in a bubble of virtual time.
func respond(req *http.Request, status int, body string, header ...string) *http.Response {
	rec := httptest.NewRecorder()
	for i := 0; i < len(header); i += 2 {
		rec.Header().Set(header[i], header[i+1])
	}
	rec.WriteHeader(status)
	_, _ = rec.WriteString(body)
	resp := rec.Result()
	resp.Request = req
	return resp
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	var asked []string
	transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("If-None-Match"))
		w.Header().Set("ETag", `W/"1"`)
		if r.Header.Get("If-None-Match") == `W/"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, oneFee)
	})
	f := source.NewFetcher(source.Config{Transport: transport})
	first := f.Fetch(t.Context(), source.MempoolFees(), nil)
	if first.Doc == nil || first.NotModified {
		t.Fatalf("first: %+v", first)
	}
	second := f.Fetch(t.Context(), source.MempoolFees(), first.Doc)
	if !second.NotModified || second.Doc != nil || second.Class != source.ClassOK || second.Err != nil {
		t.Errorf("second: %+v", second)
	}
	if third := f.Fetch(t.Context(), source.MempoolFees(), nil); third.Doc == nil {
		t.Errorf("without a last Doc nothing can be confirmed: %+v", third)
	}
	if fmt.Sprint(asked) != `[ W/"1" ]` {
		t.Errorf("conditions %q", asked)
	}
}

func TestRejectedAnswerIsNeverConfirmed(t *testing.T) {
	t.Parallel()
	rows := `[{"name":"A","tvl":3},{"name":"B","tvl":2},{"name":"C","tvl":1}]`
	transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"short"` {
			t.Error("asked for a change of an answer that was rejected")
		}
		w.Header().Set("ETag", `"short"`)
		_, _ = io.WriteString(w, `[{"id":1,"name":"A","symbol":"A"}]`)
	})
	last := fetch(t, answer(t, rows), source.DefiLlamaChains(), nil).Doc
	f := source.NewFetcher(source.Config{Transport: transport})
	for range 2 {
		if out := f.Fetch(t.Context(), source.CoinGeckoCategories(), last); out.Doc != nil {
			t.Fatalf("accepted %+v", out)
		}
	}
}

func TestFrozenUpstreamIsNotConfirmed(t *testing.T) {
	t.Parallel()
	last := &source.MarketsDoc{Coins: []source.Coin{{ID: "bitcoin", Price: 1}}, AsOf: recordedAt.Add(-5 * time.Minute)}
	now := recordedAt
	row := `[{"id":"bitcoin","current_price":1,"last_updated":"2026-11-20T19:55:00Z"}]`
	transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, row)
	})
	f := source.NewFetcher(source.Config{Transport: transport, Now: func() time.Time { return now }})
	for _, tt := range []struct {
		age  time.Duration
		want source.Class
	}{{0, source.ClassOK}, {10 * time.Minute, source.ClassOK}, {10*time.Minute + time.Second, source.ClassStale}} {
		now = recordedAt.Add(tt.age)
		if out := f.Fetch(t.Context(), source.CoinGeckoMarkets(), last); out.Class != tt.want {
			t.Errorf("after %v: %s, %v, want %s", tt.age, out.Class, out.Err, tt.want)
		}
	}
}

// TestUpstreamThatSaysTheSameIsFrozen: prices of an exchange that do not move for over 15 minutes are not those of now. Where nothing may
// happen for hours, as with fees, the same answer is a good one.
func TestUpstreamThatSaysTheSameIsFrozen(t *testing.T) {
	t.Parallel()
	now, price := recordedAt, 91_000
	transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "Ticker"):
			_, _ = fmt.Fprintf(w, `{"error":[],"result":{"XXBTZUSD":{"c":["%d","1"]}}}`, price)
		case strings.Contains(r.URL.Path, "stats"):
			_, _ = fmt.Fprintf(w, `{"open":"90000","last":"%d"}`, price)
		case strings.Contains(r.URL.Path, "trending_pools"):
			_, _ = fmt.Fprintf(w, `{"data":[{"id":"eth_1","attributes":{"name":"A / B","base_token_price_usd":"%d"}}]}`, price)
		default:
			_, _ = io.WriteString(w, `{"fastestFee":1}`)
		}
	})
	for connector, freezes := range map[string]bool{"kraken": true, "coinbase": true, "pools": true, "fees": false} {
		c := map[string]source.Connector{
			"kraken": source.Kraken(), "coinbase": source.CoinbaseExchange(), "pools": source.GeckoTerminalTrending(), "fees": source.MempoolFees(),
		}[connector]
		noWait := func(string) time.Duration { return 0 } // for the limit of the host, which real time counts
		f := source.NewFetcher(source.Config{Transport: transport, Now: func() time.Time { return now }, Shift: noWait})
		var last source.Doc
		price = 91_000
		for _, tt := range []struct {
			at    time.Duration
			moves int
			want  source.Class
		}{
			{0, 0, source.ClassOK}, {15 * time.Minute, 0, source.ClassOK}, {15*time.Minute + time.Second, 0, source.ClassStale},
			{20 * time.Minute, 0, source.ClassStale}, {21 * time.Minute, 1, source.ClassOK}, {36 * time.Minute, 0, source.ClassOK},
			{37 * time.Minute, 0, source.ClassStale},
		} {
			now, price = recordedAt.Add(tt.at), price+tt.moves
			out := f.Fetch(t.Context(), c, last)
			want := tt.want
			if !freezes {
				want = source.ClassOK
			}
			if out.Class != want {
				t.Errorf("%s after %v: %s, %v, want %s", connector, tt.at, out.Class, out.Err, want)
			}
			if out.Doc != nil {
				last = out.Doc
			}
		}
	}
}

func TestTooFewRows(t *testing.T) {
	t.Parallel()
	last := recordedDoc(t, source.DefiLlamaChains())
	list := func(n int) string {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"name":"chain %d","tvl":%d}`, i, i+1)
		}
		return "[" + strings.Join(rows, ",") + "]"
	}
	if out := fetch(t, answer(t, list(19)), source.DefiLlamaChains(), last); out.Class != source.ClassBadContent || out.Doc != nil {
		t.Errorf("19 rows after 40: %+v", out)
	} else if want := "bad_content: 19 rows where the last answer had 40"; out.Err.Error() != want {
		t.Errorf("error %q, want %q", out.Err, want)
	}
	if out := fetch(t, answer(t, list(20)), source.DefiLlamaChains(), last); out.Class != source.ClassOK {
		t.Errorf("20 rows after 40: %s, %v", out.Class, out.Err)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	down := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	status := func(code int, header ...string) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) { return respond(r, code, "{}", header...), nil }
	}
	good := func(r *http.Request) (*http.Response, error) { return respond(r, 200, oneFee), nil }
	for _, tt := range []struct {
		name    string
		answers []func(*http.Request) (*http.Response, error)
		class   source.Class
		asked   int
	}{
		{"network once", []func(*http.Request) (*http.Response, error){down, good}, source.ClassOK, 2},
		{"network twice", []func(*http.Request) (*http.Response, error){down, down, good}, source.ClassNetwork, 2},
		{"5xx once", []func(*http.Request) (*http.Response, error){status(502), good}, source.ClassOK, 2},
		{"5xx that asks to wait", []func(*http.Request) (*http.Response, error){status(503, "Retry-After", "7"), good}, source.ClassUpstream, 1},
		{"429", []func(*http.Request) (*http.Response, error){status(429), good}, source.ClassRateLimited, 1},
		{"404", []func(*http.Request) (*http.Response, error){status(404), good}, source.ClassNotFound, 1},
		{"bad content", []func(*http.Request) (*http.Response, error){status(200), good}, source.ClassEmpty, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				transport := roundTrip(func(r *http.Request) (*http.Response, error) {
					asked++
					return tt.answers[asked-1](r)
				})
				begin := time.Now()
				out := source.NewFetcher(source.Config{Transport: transport}).Fetch(t.Context(), source.MempoolFees(), nil)
				if out.Class != tt.class || asked != tt.asked {
					t.Errorf("%s after %d requests (%v), want %s after %d", out.Class, asked, out.Err, tt.class, tt.asked)
				}
				if out.Latency != time.Since(begin) || (out.Latency > 0) != (asked > 1) {
					t.Errorf("latency %v of %v", out.Latency, time.Since(begin))
				}
			})
		})
	}
}

func TestCancelledAttemptIsNotRetried(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		asked++
		cancel()
		return nil, r.Context().Err()
	})
	out := source.NewFetcher(source.Config{Transport: transport}).Fetch(ctx, source.MempoolFees(), nil)
	if out.Class != source.ClassNetwork || out.Err.Error() != "network: cancelled" || asked != 1 {
		t.Errorf("%s, %v after %d requests", out.Class, out.Err, asked)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		begin := time.Now()
		out := source.NewFetcher(source.Config{Transport: transport, Timeout: 3 * time.Second}).Fetch(t.Context(), source.Kraken(), nil)
		if out.Err == nil || out.Err.Error() != "network: no answer in time" {
			t.Errorf("error %v", out.Err)
		}
		if took := time.Since(begin); took != 6500*time.Millisecond || asked != 2 {
			t.Errorf("took %v with %d requests, want two of 3 s with a pause", took, asked)
		}
	})
}

func TestHeadersOfARequest(t *testing.T) {
	t.Parallel()
	var header http.Header
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		header = r.Header
		return respond(r, 200, oneFee), nil
	})
	source.NewFetcher(source.Config{Transport: transport}).Fetch(t.Context(), source.MempoolFees(), nil)
	if ua := header.Get("User-Agent"); !strings.Contains(ua, "contextd") || !strings.Contains(ua, "+https://") {
		t.Errorf("user agent %q lacks the name or a contact", ua)
	}
	cfg := source.Config{Transport: transport, UserAgent: "mine (+https://example.org)", CoinGecko: source.CoinGecko{Key: "k"}}
	source.NewFetcher(cfg).Fetch(t.Context(), source.MempoolFees(), nil)
	if header.Get("User-Agent") != cfg.UserAgent || header.Get("Accept-Encoding") != "gzip" || header.Get("x-cg-demo-api-key") != "" {
		t.Errorf("header %v", header)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	feed := `<rss version="2.0"><channel><item><title>A</title><link>https://a.example/</link></item></channel></rss>`
	for _, tt := range []struct {
		name, location string
		class          source.Class
	}{
		{"followed", "https://www.coindesk.com/moved", source.ClassOK},
		{"relative", "/moved", source.ClassOK},
		{"endless", "/arc/outboundfeeds/rss?outputType=xml", source.ClassBadContent},
		{"file", "file:///etc/passwd", source.ClassBadContent},
		{"weaker", "http://www.coindesk.com/moved", source.ClassBadContent},
		{"gopher", "gopher://example.org/1", source.ClassBadContent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.URL.Path == "/moved" {
					_, _ = io.WriteString(w, feed)
					return
				}
				w.Header().Set("Location", tt.location)
				w.WriteHeader(http.StatusMovedPermanently)
			})
			out := fetch(t, transport, source.NewsCoinDesk(), nil)
			if out.Class != tt.class || asked > 6 {
				t.Errorf("%s, %v after %d requests, want %s", out.Class, out.Err, asked, tt.class)
			}
		})
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	row := `{"slug":"p%d","tvl":30000000,"description":"` + strings.Repeat("x", 1<<20) + `"}`
	list := func(megabytes int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zipped, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			_, _ = io.WriteString(zipped, "[")
			for i := range megabytes {
				_, _ = fmt.Fprintf(zipped, row+",", i)
			}
			_, _ = io.WriteString(zipped, `{"slug":"last","tvl":1}]`)
			_ = zipped.Close()
		}
	}
	for _, tt := range []struct {
		connector source.Connector
		megabytes int
		class     source.Class
	}{
		{source.DefiLlamaProtocols(), 6, source.ClassOK}, // more than the others may have
		{source.DefiLlamaProtocols(), 33, source.ClassBadContent},
		{source.DefiLlamaHacks(), 5, source.ClassBadContent},
	} {
		out := fetch(t, serve(t, list(tt.megabytes)), tt.connector, nil)
		if out.Class != tt.class {
			t.Errorf("%s with %d MB: %s, %v", tt.connector.ID, tt.megabytes, out.Class, out.Err)
		}
		if tt.class == source.ClassBadContent && out.Err.Error() != "bad_content: the answer is larger than allowed" {
			t.Errorf("error %v", out.Err)
		}
	}
}

func TestReplayIsNotLimited(t *testing.T) {
	t.Parallel()
	r := replay.New(atRecording)
	f := source.NewFetcher(source.Config{Transport: r, Now: atRecording, Shift: r.Shift})
	for range 20 {
		if out := f.Fetch(t.Context(), source.CoinGeckoGlobal(), nil); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	r.Break("", nil)
	for _, c := range connectors() {
		out := f.Fetch(t.Context(), c, nil)
		if out.Class != source.ClassNetwork || out.Err.Error() != "network: connection refused" {
			t.Errorf("%s: %s, %v", c.ID, out.Class, out.Err)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	const m, h = time.Minute, time.Hour
	for _, tt := range []struct {
		failures       int
		interval, want time.Duration
	}{
		{-1, 5 * m, 0}, {0, 5 * m, 0}, {1, 5 * m, 5 * m}, {2, 5 * m, 10 * m}, {3, 5 * m, 20 * m}, {4, 5 * m, 40 * m}, {5, 5 * m, 40 * m},
		{1000, 5 * m, 40 * m}, {5, 40 * m, 40 * m}, {5, h, h}, {4, 6 * h, 40 * m}, {5, 6 * h, 80 * m}, {7, 6 * h, 320 * m}, {8, 6 * h, 6 * h},
		{1000, 6 * h, 6 * h},
	} {
		if got := source.Backoff(tt.failures, tt.interval); got != tt.want {
			t.Errorf("after %d failures, every %v: %v, want %v", tt.failures, tt.interval, got, tt.want)
		}
	}
}

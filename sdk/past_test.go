package sdk_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TestSeries sends what is asked, and nothing of what is left out.
func TestSeries(t *testing.T) {
	t.Parallel()
	var asked string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		answer(w, 200, `{"path":"asset/bitcoin","span":"2d","times":["2026-11-20T20:05:00Z"],"rows":[{"kind":"asset","key":"bitcoin","name":"Bitcoin","field":"priceUsd","values":[null,1.5]}],"freshness":{"generatedAt":"2026-11-20T20:05:00.000Z","ageSeconds":42}}`)
	})
	r, err := c.Series(t.Context(), sdk.SeriesRequest{Pack: "ai", Path: "asset/bitcoin", Field: "priceUsd", Points: 2, Span: 48 * time.Hour})
	if err != nil || asked != "/v1/series?field=priceUsd&pack=ai&path=asset%2Fbitcoin&points=2&span=2d" || r.Rows[0].Values[0] != nil || *r.Rows[0].Values[1] != 1.5 {
		t.Errorf("%s: %+v, %v", asked, r, err)
	}
	if _, err := c.Series(t.Context(), sdk.SeriesRequest{Path: "flags"}); err != nil || asked != "/v1/series?path=flags" {
		t.Errorf("%s, %v", asked, err)
	}
}

// lines makes a call of history and returns the values of its lines.
func lines(t *testing.T, c *sdk.Client, opts ...sdk.CallOption) (values []string, err error) {
	t.Helper()
	from := time.Date(2026, 11, 20, 20, 5, 0, 0, time.FixedZone("", 3600))
	for line, err := range c.History(t.Context(), sdk.HistoryRequest{Member: "coin", From: from, To: from.Add(time.Hour), Every: time.Hour}, opts...) {
		if err != nil {
			return values, err
		}
		values = append(values, string(line.Value))
	}
	return values, nil
}

// line is a line of history.
func line(n int) string {
	return fmt.Sprintf(`{"generatedAt":"2026-11-20T20:%02d:00Z","value":{"n":%d,"html":"<&>"}}`+"\n", n, n)
}

// TestHistory yields each line as it came, and tells the HTTP side of the answer.
func TestHistory(t *testing.T) {
	t.Parallel()
	var asked, accepts string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked, accepts = r.URL.String(), r.Header.Get("Accept")
		w.Header().Set(api.HeaderCreditsLeft, "7")
		_, _ = io.WriteString(w, line(1)+line(2))
	})
	var meta sdk.Response
	values, err := lines(t, c, sdk.WithResponse(&meta))
	if err != nil || strings.Join(values, " ") != `{"n":1,"html":"<&>"} {"n":2,"html":"<&>"}` {
		t.Errorf("%v, %v", values, err)
	}
	if asked != "/v1/history?every=1h&from=2026-11-20T19%3A05%3A00Z&member=coin&to=2026-11-20T20%3A05%3A00Z" || !strings.HasPrefix(accepts, "application/x-ndjson") {
		t.Errorf("%s, Accept %s", asked, accepts)
	}
	if left := meta.Left(); left.Credits == nil || *left.Credits != 7 {
		t.Errorf("%+v", meta)
	}
	for range c.History(t.Context(), sdk.HistoryRequest{Member: "coin"}) { // who stops in the middle leaves nothing behind
		break
	}
}

// TestHistoryBreaksOff: what came is whole, what is missing is told, and nothing is asked for twice.
func TestHistoryBreaksOff(t *testing.T) {
	t.Parallel()
	for what, rest := range map[string]string{"between lines": "", "in a line": line(3)[:20]} {
		calls := 0
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			calls++
			_, _ = io.WriteString(w, line(1)+line(2)+rest)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		values, err := lines(t, c)
		var lost *sdk.TransportError
		if len(values) != 2 || !errors.As(err, &lost) || !errors.Is(err, io.ErrUnexpectedEOF) || calls != 1 {
			t.Errorf("%s: %v, %v after %d calls", what, values, err, calls)
		}
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, line(1)+line(2)[:20]) })
	if values, err := lines(t, c); len(values) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an end within a line: %v, %v", values, err)
	}
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, line(1)+"{\n") })
	if values, err := lines(t, c); len(values) != 1 || err == nil {
		t.Errorf("a line that is none: %v, %v", values, err)
	}
}

// TestHistoryIsRefused: refusals are as of every call, and what passes is tried again.
func TestHistoryIsRefused(t *testing.T) {
	t.Parallel()
	calls := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch calls++; calls {
		case 1:
			answer(w, 503, `{"error":{"code":"UPSTREAM_ERROR","reason":"state_unavailable","message":"none","requestId":"r"}}`)
		case 2:
			_, _ = io.WriteString(w, line(1))
		default:
			answer(w, 402, `{"error":{"code":"PAYMENT_REQUIRED","reason":"insufficient_credits","message":"the call costs 2 credits, and 1 are left","requestId":"r"}}`)
		}
	})
	if values, err := lines(t, c); err != nil || len(values) != 1 {
		t.Errorf("%v, %v", values, err)
	}
	if values, err := lines(t, c); len(values) != 0 || !errors.Is(err, &api.Error{Reason: api.ReasonInsufficient}) || calls != 3 {
		t.Errorf("%v, %v after %d calls", values, err, calls)
	}
}

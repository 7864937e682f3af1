package web_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// aged is a daemon with three states of crypto, five minutes apart, whose clock stands a second behind the last.
func aged(t testing.TB) *daemontest.Daemon {
	t.Helper()
	d := daemontest.Start(t)
	for range 2 {
		d.Clock.Advance(5 * time.Minute)
		d.Recording.Advance()
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	d.Clock.Advance(time.Second)
	return d
}

// balance is how many credits key has.
func balance(t testing.TB, d *daemontest.Daemon, key string) int64 {
	t.Helper()
	have, err := d.Credits().Balance(t.Context(), account.OperatorID, key[:api.KeyIDLength])
	if err != nil {
		t.Fatal(err)
	}
	return have.Balance
}

// TestSeries asks for what three states say.
func TestSeries(t *testing.T) {
	t.Parallel()
	d := aged(t)
	key := bearer(d.Key(t, api.TierFree))
	var prices []string
	lines := get(t, d.URL()+"/v1/history?member=top_movers&from="+d.Clock.Now().Add(-time.Hour).Format(time.RFC3339), key)
	for line := range strings.Lines(string(lines.Body)) {
		var movers struct{ Value []api.Mover }
		if err := json.Unmarshal([]byte(line), &movers); err != nil {
			t.Fatal(err)
		}
		prices = append(prices, fmt.Sprint(*movers.Value[0].PriceUSD))
	}
	a := get(t, d.URL()+"/v1/series?path=asset/bitcoin&points=13&span=1h", key)
	r := decode[api.SeriesResponse](t, a)
	var values []string
	for _, v := range r.Rows[0].Values {
		if v != nil {
			values = append(values, fmt.Sprint(*v))
		}
	}
	if len(r.Times) != 13 || len(r.Rows) != 1 || r.Rows[0].Name != "Bitcoin" || r.Rows[0].Field != "priceUsd" || len(prices) != 3 || !slices.Equal(values, prices) {
		t.Errorf("%s; the states have %v", a.Body, prices)
	}
	if a.Header.Get("Cache-Control") != "private, no-cache" || a.Header.Get("Content-Type") != "application/json" || a.Header.Get(api.HeaderFreeLeft) != "98" {
		t.Errorf("%v", a.Header)
	}
	for path, want := range map[string]int{"top_movers": 21, "protocol_tvl": 24, "trending_pools": 12, "sentiment": 9} {
		r := decode[api.SeriesResponse](t, get(t, d.URL()+"/v1/series?path="+path, key))
		if len(r.Rows) != want || len(r.Times) != api.SeriesPointsDefault || r.Span != "24h" || r.Path != path {
			t.Errorf("%s has %d rows at %d times over %s", path, len(r.Rows), len(r.Times), r.Span)
		}
	}
	if a := get(t, d.URL()+"/v1/series?path=asset/nothing", key); a.Status != http.StatusOK || a.Header.Get(api.HeaderFreeLeft) != "93" ||
		decode[api.SeriesResponse](t, a).Rows[0].Values[0] != nil {
		t.Errorf("of what was in no state: %d %v", a.Status, a.Header)
	}
}

// TestSeriesIsSold: a payer gets the answer once for the money and again for nothing, and defaults written out are the same request.
func TestSeriesIsSold(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	path := "/v1/series?path=asset/bitcoin&points=2"
	p := m.pay(m.quote(path))
	m.paid(path+"&span=24h&pack=crypto", p, false)
	m.paid("/v1/series?points=02&span=1440m&path=asset%2Fbitcoin", p, true)
	m.paid(path+"&field=priceUsd", p, true)
	if failure := refusal(t, get(t, m.d.URL()+path+"&field=change24hPct", proving(p)), http.MethodGet); failure.Error.Reason != api.ReasonAlreadyUsed {
		t.Errorf("another field is %+v", failure)
	}
	if failure := refusal(t, get(t, m.d.URL()+path+"&span=25h"), http.MethodGet); failure.Error.Reason != api.ReasonSnapshotNotFound || failure.Payment != nil {
		t.Errorf("a span beyond the window is quoted: %+v", failure)
	}
}

// TestHistory: lines of past states, coded or not, for a credit a started day, and for a look at the headers nothing.
func TestHistory(t *testing.T) {
	t.Parallel()
	d := aged(t)
	key := d.Key(t, api.TierPro)
	d.Grant(t, key, 10)
	path := d.URL() + "/v1/history?member=sentiment.fearGreed&from=" + d.Clock.Now().Add(-25*time.Hour).Format(time.RFC3339)
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		a := call(t, method, path, bearer(key))
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/x-ndjson" || a.Header.Get("Cache-Control") != "private, no-cache" {
			t.Fatalf("%s: %d %v %s", method, a.Status, a.Header, a.Body)
		}
		if method == http.MethodHead {
			if len(a.Body) > 0 || balance(t, d, key) != 10 {
				t.Errorf("HEAD: %s, %d credits left", a.Body, balance(t, d, key))
			}
			continue
		}
		if n := strings.Count(string(a.Body), "\n"); n != 3 || a.Header.Get(api.HeaderCreditsLeft) != "8" || balance(t, d, key) != 8 {
			t.Errorf("%d lines, %s credits left, in the books %d", n, a.Header.Get(api.HeaderCreditsLeft), balance(t, d, key))
		}
		zipped := call(t, method, path, bearer(key), with("Accept-Encoding", "gzip"))
		zip, err := gzip.NewReader(strings.NewReader(string(zipped.Body)))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(zip); err != nil || string(text) != string(a.Body) || zipped.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("coded: %s, %v", text, err)
		}
	}
	fewer := get(t, path+"&every=1h&to="+d.Clock.Now().Add(-time.Hour).Format(time.RFC3339), bearer(key))
	if fewer.Status != http.StatusNotFound || balance(t, d, key) != 6 {
		t.Errorf("of a time without a state: %d %s, %d credits left", fewer.Status, fewer.Body, balance(t, d, key))
	}
}

// TestHistoryIsForKeys: nobody else is answered, whatever they send.
func TestHistoryIsForKeys(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	path := m.d.URL() + "/v1/history?member=flags&from=" + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for what, c := range map[string][]change{
		"nothing": nil, "a proof": {with(api.HeaderPayment, "e30=")}, "what is no proof": {with(api.HeaderPayment, "?")}, "two": {with(api.HeaderPayment, "?", "?")},
	} {
		a := get(t, path, c...)
		if e := refusal(t, a, http.MethodGet); a.Status != http.StatusUnauthorized || e.Error.Code != api.CodeAuthMissing || e.Error.Reason != api.ReasonMissingToken || e.Payment != nil {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
	}
}

// TestHistoryIsChargedWhole: where credits or free calls do not reach, nothing is taken and no line is sent.
func TestHistoryIsChargedWhole(t *testing.T) {
	t.Parallel()
	d := aged(t)
	rich, poor := d.Key(t, api.TierPro), d.Key(t, api.TierPro)
	path := func(days int) string {
		return d.URL() + "/v1/history?member=top_movers&from=" + d.Clock.Now().Add(-time.Duration(days)*24*time.Hour).Format(time.RFC3339)
	}
	lines := func(a answer) bool {
		return a.Status == http.StatusOK && strings.HasPrefix(string(a.Body), `{"generatedAt":"`)
	}
	for _, c := range []struct{ days, left int }{{30, 70}, {30, 40}, {30, 10}} {
		if a := get(t, path(c.days), bearer(poor)); !lines(a) || a.Header.Get(api.HeaderFreeLeft) != fmt.Sprint(c.left) {
			t.Errorf("%d days: %d, %s free calls left", c.days, a.Status, a.Header.Get(api.HeaderFreeLeft))
		}
	}
	if a := get(t, path(11), bearer(poor)); a.Status != http.StatusTooManyRequests || refusal(t, a, http.MethodGet).Error.Reason != api.ReasonQuotaExhausted ||
		a.Header.Get("Retry-After") != "86400" {
		t.Errorf("one free call too many: %d %s", a.Status, a.Body)
	}
	if a := get(t, path(10), bearer(poor)); !lines(a) || a.Header.Get(api.HeaderFreeLeft) != "0" {
		t.Errorf("the last free calls: %d %s", a.Status, a.Body)
	}
	d.Grant(t, rich, 7)
	if a := get(t, path(8), bearer(rich)); a.Status != http.StatusPaymentRequired || refusal(t, a, http.MethodGet).Payment != nil ||
		refusal(t, a, http.MethodGet).Error.Reason != api.ReasonInsufficient || balance(t, d, rich) != 7 {
		t.Errorf("one credit too many: %d %s, %d left", a.Status, a.Body, balance(t, d, rich))
	}
	if a := get(t, path(7), bearer(rich)); !lines(a) || balance(t, d, rich) != 0 {
		t.Errorf("the last credits: %d, %d left", a.Status, balance(t, d, rich))
	}
}

// brokenPast is a history in which three states are found and then none.
type brokenPast struct {
	reader.History
	fails error
}

func (b brokenPast) Past(ctx context.Context, _ string, times iter.Seq[time.Time]) iter.Seq2[state.Pulse, error] {
	return func(yield func(state.Pulse, error) bool) {
		n := 0
		for at := range times {
			if n++; n > 3 {
				yield(state.Pulse{}, b.fails)
				return
			}
			if !yield(state.Pulse{GeneratedAt: at, State: []byte(`{"coin":"` + strings.Repeat("x", 8<<10) + `"}`)}, ctx.Err()) {
				return
			}
		}
	}
}

// TestHistoryBreaksOff: an answer that cannot be given whole ends as none that is whole does.
func TestHistoryBreaksOff(t *testing.T) {
	t.Parallel()
	clock := daemontest.NewClock()
	f := feed.New(api.PackCrypto)
	if err := f.Publish(state.Pulse{Pack: api.PackCrypto, GeneratedAt: clock.Now(), State: []byte(`{"coin":"bitcoin"}`)}, state.Narration{}, nil); err != nil {
		t.Fatal(err)
	}
	past := brokenPast{fails: errors.New("disk on fire")}
	read := reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto}}, Feed: f, History: past, Now: clock.Now})
	for what, coding := range map[string]string{"plain": "identity", "coded": "gzip"} {
		server, log := serve(t, web.Config{Reader: read, Gate: script{admit: func(gate.Credentials) (gate.Caller, error) {
			return gate.Caller{Snapshot: 24 * time.Hour}, nil
		}}, Now: clock.Now})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			server.URL+"/v1/history?member=coin&from="+clock.Now().Add(-time.Hour).Format(time.RFC3339), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", coding)
		res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: an answer of %d bytes ends with %v", what, len(text), err)
		}
		_ = res.Body.Close()
		if !strings.Contains(log.String(), "disk on fire") {
			t.Errorf("%s: the log says %s", what, log.String())
		}
	}
}

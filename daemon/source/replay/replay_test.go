package replay_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source/replay"
)

const fees = "https://mempool.space/api/v1/fees/recommended"

func clock() time.Time { return time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC) }

// get returns the status and the body of a GET, or its error.
func get(t *testing.T, r *replay.Recording, url string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(body)) != resp.ContentLength {
		t.Errorf("content length %d, body %d", resp.ContentLength, len(body))
	}
	return resp.StatusCode, string(body), nil
}

func TestRoundTripFindsURLsHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	r := replay.New(clock)
	for _, tt := range []struct {
		url    string
		status int
	}{
		{fees, 200},
		{"https://stablecoins.llama.fi/stablecoins?includePrices=true", 200},
		{"https://api.llama.fi/v2/historicalChainTvl/Ethereum", 200},
		{"https://api.llama.fi/v2/historicalChainTvl/%45thereum", 200},
		{"https://api.geckoterminal.com/api/v2/networks/trending_pools?page=1&duration=24h&include=base_token,quote_token,dex,network", 200},
		{"https://api.geckoterminal.com/api/v2/networks/trending_pools?include=base_token%2Cquote_token%2Cdex%2Cnetwork&duration=24h&page=1", 200},
		{"https://api.geckoterminal.com/api/v2/networks/trending_pools?page=2", 404},
		{"https://mempool.space/api/v1/fees/other", 404},
		{"https://other.example/api/v1/fees/recommended", 404},
	} {
		status, _, err := get(t, r, tt.url)
		if err != nil || status != tt.status {
			t.Errorf("%s: status %d, %v, want %d", tt.url, status, err, tt.status)
		}
	}
}

func TestRoundTripKeepsHeaders(t *testing.T) {
	t.Parallel()
	req, _ := http.NewRequest(http.MethodGet, "https://api.llama.fi/protocols", nil)
	resp, err := replay.New(clock).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || resp.Header.Get("ETag") == "" {
		t.Errorf("header %v lacks the type or the ETag", resp.Header)
	}
}

func TestAdvanceLoops(t *testing.T) {
	t.Parallel()
	r := replay.New(clock)
	const markets = "https://api.coingecko.com/api/v3/coins/markets?vs_currency=usd&order=market_cap_desc&per_page=100&page=1" +
		"&price_change_percentage=1h,24h,7d&sparkline=false"
	var bodies []string
	for _, want := range []int{1, 2, 3, 1} {
		if r.Tick() != want {
			t.Fatalf("tick %d, want %d", r.Tick(), want)
		}
		_, body, err := get(t, r, markets)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
		r.Advance()
	}
	if bodies[0] == bodies[1] || bodies[1] == bodies[2] || bodies[0] != bodies[3] {
		t.Error("ticks must differ, and come back")
	}
}

func TestShiftIsTheAgeOfTheTick(t *testing.T) {
	t.Parallel()
	r := replay.New(clock)
	want := clock().Sub(time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC))
	if got := r.Shift(""); got != want {
		t.Errorf("shift %v, want %v", got, want)
	}
	r.Advance()
	if got := r.Shift(""); got != want-5*time.Minute {
		t.Errorf("shift of the second tick %v, want %v", got, want-5*time.Minute)
	}
	if age := replay.New(nil).Shift(""); age == 0 {
		t.Error("without a clock there is no shift")
	}
}

func TestBreakAndMend(t *testing.T) {
	t.Parallel()
	r := replay.New(clock)
	busy := func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody, Request: req}, nil
	}
	r.Break("mempool.space", busy)
	if status, _, err := get(t, r, fees); err != nil || status != http.StatusTooManyRequests {
		t.Errorf("broken host: %d, %v", status, err)
	}
	if status, _, err := get(t, r, "https://decrypt.co/feed"); err != nil || status != http.StatusOK {
		t.Errorf("another host: %d, %v", status, err)
	}
	r.Break("", nil)
	if _, _, err := get(t, r, "https://decrypt.co/feed"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("network down: %v", err)
	}
	if status, _, err := get(t, r, fees); err != nil || status != http.StatusTooManyRequests {
		t.Errorf("a host's own answer must win: %d, %v", status, err)
	}
	r.Mend()
	if status, _, err := get(t, r, fees); err != nil || status != http.StatusOK {
		t.Errorf("mended: %d, %v", status, err)
	}
}

func TestRoundTripEndsWithItsContext(t *testing.T) {
	t.Parallel()
	req, _ := http.NewRequest(http.MethodGet, fees, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := replay.New(clock).RoundTrip(req.WithContext(ctx)); err == nil {
		t.Error("answered a request that was cancelled")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r := replay.New(clock)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			r.Advance()
			r.Break("decrypt.co", nil)
			if status, _, err := get(t, r, fees); err != nil || status != http.StatusOK {
				t.Errorf("%d, %v", status, err)
			}
			r.Mend()
			_ = r.Shift("")
		})
	}
	group.Wait()
	if r.Tick() != 3 {
		t.Errorf("tick %d after 8 steps, want 3", r.Tick())
	}
}

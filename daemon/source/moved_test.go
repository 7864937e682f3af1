package source_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// TestMovedAddress: each source of ours asks at the address that the operator gives in place of its own, and the rest where it did.
func TestMovedAddress(t *testing.T) {
	t.Parallel()
	for _, c := range connectors() {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			own, to := c.Asks[0], "https://moved.example.org/a?b=c"
			if strings.Contains(own.URL, "{product}") {
				to = "https://moved.example.org/{product}/now"
			}
			moved, err := c.At(to)
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			asked := map[string][]string{}
			for _, c := range []source.Connector{c, moved} {
				c.Fallbacks = nil
				transport := roundTrip(func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					defer mu.Unlock()
					asked[c.Moved] = append(asked[c.Moved], r.URL.String())
					if id, address := source.Asker(r.Context()); id != c.ID || address == "" || strings.Contains(address, "moved.example") {
						t.Errorf("%s is asked at %s, told as %q of %q", c.ID, r.URL, address, id)
					}
					return nil, fmt.Errorf("down")
				})
				noPause := func(string) time.Duration { return 0 }
				f := source.NewFetcher(source.Config{Transport: transport, Now: atRecording, Shift: noPause})
				f.Fetch(t.Context(), c, nil)
			}
			want := make([]string, len(asked[""]))
			for i, url := range asked[""] {
				want[i] = url
				if url == own.URL {
					want[i] = to
				}
				if before, after, found := strings.Cut(own.URL, "{product}"); found {
					product := strings.TrimSuffix(strings.TrimPrefix(url, before), after)
					want[i] = "https://moved.example.org/" + product + "/now"
				}
			}
			if got := asked[to]; !slices.Equal(got, want) || slices.Equal(want, asked[""]) {
				t.Errorf("asked at %q, want %q", got, want)
			}
		})
	}
}

func TestAddressesToMoveTo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of       source.Connector
		url, err string
	}{
		{source.FearGreed(), "https://a.example/", ""},
		{source.FearGreed(), "http://a.example", ""},
		{source.FearGreed(), "https://a.example/{date-1d}", ""},
		{source.FearGreed(), "ftp://a.example/", "is no address such as https://api.alternative.me/fng/"},
		{source.FearGreed(), "a.example", "is no address"},
		{source.FearGreed(), "https://me:secret@a.example/", "is no address"},
		{source.FearGreed(), "https://a.example/{product}", "must hold"},
		{source.CoinbaseExchange(), "https://a.example/", "must hold {product}"},
		{source.CoinbaseExchange(), "https://a.example/{product}", ""},
		{source.CoinbaseExchange(), "https://{product}.example/", "is no address"},
		{source.CoinbaseExchange(), "https://a.example/{product}/{product}", "must hold {product}"},
		{source.Connector{ID: "none"}, "https://a.example/", "none asks at no address"},
	} {
		_, err := tt.of.At(tt.url)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s at %s: %v, want %q", tt.of.ID, tt.url, err, tt.err)
		}
	}
}

// TestMovedIsGuarded: an address of the operator's is under the guard of declared sources, and gets no key of another host.
func TestMovedIsGuarded(t *testing.T) {
	t.Parallel()
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("X-Key"))
		fmt.Fprint(w, `{"fast":1}`)
	}))
	defer server.Close()
	fees, err := source.MempoolFees().At(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	out := source.NewFetcher(source.Config{Now: atRecording}).Fetch(t.Context(), fees, nil)
	if out.Class != source.ClassForbidden || len(keys) > 0 {
		t.Errorf("a private address was asked: %v, %d requests", out.Err, len(keys))
	}

	d := declaredAt("http://declared.example/")
	d.KeyHeader, d.Key = "X-Key", func() (string, error) { return "secret", nil }
	for _, tt := range []struct{ declared, key string }{{"http://declared.example/", ""}, {server.URL + "/old", "secret"}} {
		d.URL = tt.declared
		c, err := d.Connector().At(server.URL + "/new")
		if err != nil {
			t.Fatal(err)
		}
		f := source.NewFetcher(source.Config{Now: atRecording, PrivateHosts: []string{"127.0.0.1"}})
		if out := f.Fetch(t.Context(), c, nil); out.Err != nil || keys[len(keys)-1] != tt.key {
			t.Errorf("declared at %s: key %q, want %q; %v", tt.declared, keys[len(keys)-1], tt.key, out.Err)
		}
	}
}

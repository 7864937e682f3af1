package source_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
)

// recordedAt is when the first tick and the failures were recorded.
var recordedAt = time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)

func atRecording() time.Time { return recordedAt }

// connectors are all connectors, in the order of the crypto pack.
func connectors() []source.Connector {
	return []source.Connector{
		source.CoinGeckoMarkets(), source.CoinGeckoTrending(), source.CoinGeckoGlobal(), source.CoinGeckoCategories(),
		source.DefiLlamaProtocols(), source.DefiLlamaChains(), source.DefiLlamaStablecoins(), source.DefiLlamaHacks(),
		source.GeckoTerminalTrending(), source.FearGreed(),
		source.NewsCoinDesk(), source.NewsCointelegraph(), source.NewsDecrypt(),
		source.Polymarket(), source.Kraken(), source.MempoolFees(), source.CoinbaseExchange(),
		source.BlockscoutGas(),
	}
}

// toServer is a RoundTripper that sends every request to one server, whatever its host.
type toServer struct{ url *url.URL }

func (s toServer) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Header.Set("X-Asked-Host", req.URL.Host)
	out.URL.Scheme, out.URL.Host = s.url.Scheme, s.url.Host
	resp, err := http.DefaultTransport.RoundTrip(out)
	if resp != nil {
		resp.Request = req // so that a redirect is resolved against the address that was asked
	}
	return resp, err
}

// serve returns a RoundTripper to a server that answers with handler.
func serve(t *testing.T, handler http.HandlerFunc) http.RoundTripper {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return toServer{u}
}

// roundTrip is a RoundTripper that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// fetch makes one attempt with a new Fetcher on the day of the recording. It has more time than the daemon gives, for machines under load.
func fetch(t *testing.T, transport http.RoundTripper, c source.Connector, last source.Doc) source.Outcome {
	t.Helper()
	f := source.NewFetcher(source.Config{Transport: transport, Now: atRecording, Timeout: 2 * time.Minute})
	return f.Fetch(t.Context(), c, last)
}

// answer serves one body with HTTP 200.
func answer(t *testing.T, body string) http.RoundTripper {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
}

// recordedDoc fetches c from the first tick of the recording.
func recordedDoc(t *testing.T, c source.Connector) source.Doc {
	t.Helper()
	r := replay.New(atRecording)
	f := source.NewFetcher(source.Config{Transport: r, Now: atRecording, Shift: r.Shift})
	out := f.Fetch(context.WithoutCancel(t.Context()), c, nil)
	if out.Err != nil {
		t.Fatalf("%s: %v", c.ID, out.Err)
	}
	return out.Doc
}

func number(x *float64) float64 {
	if x == nil {
		return -12345 // no test expects it
	}
	return *x
}

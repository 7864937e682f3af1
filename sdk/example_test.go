package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// service stands for a daemon, with one answer for each operation.
func service() *httptest.Server {
	freshness := `"freshness":{"generatedAt":"2026-11-20T20:05:00.000Z","ageSeconds":42}`
	state := `{"top_movers":[{"symbol":"BTC","change24hPct":-1.62},{"symbol":"ETH","change24hPct":null}],"sentiment":{"fearGreed":{"value":24,"label":"Extreme Fear"}}}`
	answers := map[string]string{
		api.PathFresh:    `{"state":` + state + `,"brief":"BTC fell 1.62% [1].","citations":[],` + freshness + `}`,
		api.PathBrief:    `{"brief":"BTC fell 1.62% [1].","citations":[{"ref":1,"sourceId":"coingecko-markets","url":"https://www.coingecko.com/"}],` + freshness + `}`,
		api.PathSearch:   `{"matches":[{"path":"top_movers[0].symbol","value":"BTC","score":1}],"total":1,` + freshness + `}`,
		api.PathSnapshot: `{"state":` + state + `,"brief":"","citations":[],` + freshness + `}`,
		api.PathChanges: `{"flags":[{"change":"appeared","severity":"critical","message":"X: $31.0M loss reported","ref":8}],` +
			`"rows":[{"name":"Zcash","field":"priceUsd","from":418.6,"to":429.484,"changePct":2.6}],"to":"2026-11-20T20:05:00.123Z",` + freshness + `}`,
		api.PathCite: `{"citation":{"ref":1,"sourceId":"coingecko-markets"},"source":{"id":"coingecko-markets","name":"CoinGecko Markets","publicUrl":"https://www.coingecko.com/"},` + freshness + `}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderDataMode, api.DataModeDemo)
		switch text, ok := answers[r.URL.Path]; {
		case r.Header.Get("Authorization") == "":
			answer(w, 402, `{"error":{"code":"PAYMENT_REQUIRED","reason":"payment_required","message":"pay or send a key","requestId":"r-1"},"payment":{"amount":"0.001","asset":"USDG"}}`)
		case r.URL.Query().Get("pack") == "poetry":
			answer(w, 404, `{"error":{"code":"PACK_NOT_FOUND","reason":"pack_not_found","message":"no pack poetry","requestId":"r-2"}}`)
		case ok:
			answer(w, 200, text)
		default:
			answer(w, 200, `{"status":"ok"}`)
		}
	}))
}

// dial makes a client of the example service.
func dial(srv *httptest.Server) *sdk.Client {
	c, err := sdk.New(sdk.WithBaseURL(srv.URL), sdk.WithAPIKey(sdk.NewKey(secret)), sdk.WithHTTPClient(srv.Client()))
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func Example() {
	srv := service()
	defer srv.Close()
	// Without options, New takes CTX_BASE_URL and CTX_API_KEY.
	c, err := sdk.New(sdk.WithBaseURL(srv.URL), sdk.WithAPIKey(sdk.NewKey(secret)), sdk.WithHTTPClient(srv.Client()))
	if err != nil {
		log.Fatal(err)
	}
	brief, err := c.Brief(context.Background(), api.PackCrypto)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(brief.Brief)
	for _, cited := range brief.Citations {
		fmt.Printf("[%d] %s\n", cited.Ref, cited.URL)
	}
	// Output:
	// BTC fell 1.62% [1].
	// [1] https://www.coingecko.com/
}

func ExampleClient_Fresh() {
	srv := service()
	defer srv.Close()
	fresh, err := dial(srv).Fresh(context.Background(), api.PackCrypto)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fresh.Freshness.AgeSeconds, fresh.Freshness.Stale(fresh.Freshness.GeneratedAt.Add(42*time.Second)))
	// Output: 42 false
}

func ExampleClient_Search() {
	srv := service()
	defer srv.Close()
	found, err := dial(srv).Search(context.Background(), sdk.SearchRequest{Query: "btc", K: 5})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found.Matches {
		fmt.Println(m.Path, string(m.Value), m.Score)
	}
	// Output: top_movers[0].symbol "BTC" 1
}

func ExampleClient_Changes() {
	srv := service()
	defer srv.Close()
	changes, err := dial(srv).Changes(context.Background(), sdk.ChangesRequest{Ago: 20 * time.Minute, Min: 0.5})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range changes.Flags {
		fmt.Println(f.Change, f.Severity, f.Message)
	}
	for _, r := range changes.Rows {
		fmt.Println(r.Name, r.Field, r.From, r.To)
	}
	next := sdk.ChangesRequest{Since: changes.To} // nothing is missed in between
	fmt.Println(next.Since.Format(time.RFC3339Nano))
	// Output:
	// appeared critical X: $31.0M loss reported
	// Zcash priceUsd 418.6 429.484
	// 2026-11-20T20:05:00.123Z
}

func ExampleClient_Snapshot() {
	srv := service()
	defer srv.Close()
	then := time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)
	snapshot, err := dial(srv).Snapshot(context.Background(), api.PackCrypto, then)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(snapshot.Freshness.GeneratedAt)
	// Output: 2026-11-20 20:05:00 +0000 UTC
}

func ExampleClient_Cite() {
	srv := service()
	defer srv.Close()
	cited, err := dial(srv).Cite(context.Background(), api.PackCrypto, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cited.Source.Name, cited.Source.PublicURL)
	// Output: CoinGecko Markets https://www.coingecko.com/
}

func ExampleClient_Do() {
	srv := service()
	defer srv.Close()
	resp, err := dial(srv).Do(context.Background(), sdk.Request{Path: api.PathHealth})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, string(resp.Body))
	// Output: 200 {"status":"ok"}
}

func ExampleDecodeState() {
	srv := service()
	defer srv.Close()
	fresh, err := dial(srv).Fresh(context.Background(), api.PackCrypto)
	if err != nil {
		log.Fatal(err)
	}
	var state api.CryptoState
	if err := sdk.DecodeState(fresh.State, &state); err != nil {
		log.Fatal(err)
	}
	for _, m := range state.TopMovers {
		if m.Change24hPct == nil { // unknown is nil, never 0
			fmt.Println(m.Symbol, "unknown")
			continue
		}
		fmt.Printf("%s %+.2f%%\n", m.Symbol, *m.Change24hPct)
	}
	// Output:
	// BTC -1.62%
	// ETH unknown
}

func ExampleWithResponse() {
	srv := service()
	defer srv.Close()
	var meta sdk.Response
	if _, err := dial(srv).Brief(context.Background(), "", sdk.WithResponse(&meta)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(meta.Status, meta.RequestID, meta.Demo())
	// Output: 200 6f1c0000-0000-4000-8000-000000000000 true
}

// A sentinel tells one failure from the others.
func Example_sentinels() {
	srv := service()
	defer srv.Close()
	_, err := dial(srv).Fresh(context.Background(), "poetry")
	fmt.Println(errors.Is(err, sdk.ErrPackNotFound), errors.Is(err, sdk.ErrKeyRevoked))
	// Output: true false
}

// An *sdk.Error says all that the service said, here the price of a call without a key.
func Example_errors() {
	srv := service()
	defer srv.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(srv.URL), sdk.WithHTTPClient(srv.Client()))
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Fresh(context.Background(), "")
	if e := (*sdk.Error)(nil); errors.As(err, &e) {
		fmt.Println(e.Status, e.Reason, e.Payment.Amount, e.Payment.Asset, e.RequestID)
	}
	// Output: 402 payment_required 0.001 USDG r-1
}

func ExampleKey() {
	key := sdk.NewKey("cv_test_ab12cd34SECRETSECRETSECRETSECRET")
	fmt.Println(key)
	fmt.Printf("%q %s\n", key, key.KeyID())
	// Output:
	// cv_test_ab12…
	// "cv_test_ab12…" cv_test_ab12cd34
}

// prepaid is a Payer that has one transfer to show. *wallet.Payer of sdk/wallet makes them.
type prepaid struct{ hash string }

func (p prepaid) Pay(_ context.Context, q sdk.Quote) (sdk.Payment, error) {
	fmt.Println("paying", q.Amount, q.Asset, "for", q.Request)
	return sdk.TransferPayment(api.PaymentProof{Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: p.hash}), nil
}

func (p prepaid) Conclude(_ context.Context, _ sdk.Payment, o sdk.Outcome) error {
	fmt.Println("refused:", o.Refused)
	return nil
}

// Any HTTP client pays for single requests with a PayTransport; WithPayer has the calls of a Client do the same.
func ExamplePayTransport() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(api.HeaderPayment) == "" {
			answer(w, 402, `{"error":{"code":"PAYMENT_REQUIRED","message":"pay"},"payment":{"amount":"0.001","asset":"USDG"}}`)
			return
		}
		answer(w, 200, `{"total":1}`)
	}))
	defer srv.Close()
	client := &http.Client{Transport: &sdk.PayTransport{Payer: prepaid{"0xab"}, Service: srv.URL}}
	resp, err := client.Get(srv.URL + "/v1/search?q=btc")
	if err != nil {
		log.Fatal(err) // with *sdk.PaidError in it if the answer got lost behind a payment
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// paying 0.001 USDG for GET /v1/search?q=btc
	// refused: <nil>
	// 200 OK
}

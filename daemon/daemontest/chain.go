package daemontest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Chain starts a chain that ends with the test. Its clock is the wall clock, as that of every chain, so a daemon on it takes that too; its
// blocks are up to half a minute ahead of it, for tests that would wait for the next second.
func Chain(t testing.TB) *devchain.Chain {
	t.Helper()
	c, err := devchain.Open(t.Context(), devchain.Config{Listen: "127.0.0.1:0", Ahead: 30 * time.Second})
	if err != nil {
		t.Fatalf("open chain: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// On has a daemon pay on a chain, by the wall clock and without much patience.
func On(c *devchain.Chain) func(*daemon.Config) {
	return func(cfg *daemon.Config) {
		cfg.ChainID = devchain.ChainID
		cfg.Chain = &daemon.Chain{Rail: x402.Rail{RPCURL: c.URL(), Token: c.Token(), Treasury: c.Treasury()}, Wait: 300 * time.Millisecond}
		cfg.Now = time.Now
	}
}

// Pay asks a service on c for url, pays as the quote asks for, and returns what the header of a payment says then.
func Pay(t testing.TB, c *devchain.Chain, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("ask for a quote: %v", err)
	}
	defer res.Body.Close()
	var told api.ErrorBody
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil || told.Payment == nil {
		t.Fatalf("%s quotes nothing: %d, %v", url, res.StatusCode, err)
	}
	amount, err := usdg.ParseAmount(told.Payment.Amount)
	if err != nil {
		t.Fatal(err)
	}
	nonce, err := hex.DecodeString(strings.TrimPrefix(told.Payment.Nonce, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := c.Transfer(t.Context(), c.Wallet(), told.Payment.Recipient, int64(amount), nonce)
	if err != nil {
		t.Fatalf("pay: %v", err)
	}
	proof, err := json.Marshal(api.PaymentProof{
		Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: "0x" + hex.EncodeToString(hash[:]), Payer: c.Wallet().Address,
	})
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(proof)
}

package web_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// counted is a daemon on a chain whose node counts what it is asked for transactions.
type counted struct {
	*shop
	calls atomic.Int64
}

func newCounted(t *testing.T) *counted {
	t.Helper()
	s := &counted{shop: &shop{t: t, chain: daemontest.Chain(t)}}
	node, err := url.Parse(s.chain.URL())
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(node)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.calls.Add(int64(bytes.Count(ask, []byte("eth_getTransaction"))))
		r.Body = io.NopCloser(bytes.NewReader(ask))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s.d = daemontest.Start(t, free, daemontest.On(s.chain), func(c *daemon.Config) {
		c.Chain.RPCURL, c.Chain.Wait = front.URL, 3*time.Second
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	s.scan()
	return s
}

// present asks for fresh with a proof, as a client of an address of its own.
func (s *counted) present(hash string, client int) (status int, reason api.Reason, retry string) {
	s.t.Helper()
	proof := fmt.Sprintf(`{"scheme":"x402","network":"l2chain","txHash":%q,"payer":%q}`, hash, s.chain.Wallet().Address)
	a := call(s.t, http.MethodGet, s.d.URL()+api.PathFresh, with(api.HeaderPayment, base64.StdEncoding.EncodeToString([]byte(proof))),
		with("X-Forwarded-For", fmt.Sprintf("10.0.%d.%d", client>>8, client&255)))
	var body api.ErrorBody
	if a.Status != http.StatusOK && json.Unmarshal(a.Body, &body) == nil && body.Error != nil {
		reason = body.Error.Reason
	}
	return a.Status, reason, a.Header.Get(api.HeaderRetryAfter)
}

// TestBogusProofs: a crowd that presents hashes that name nothing, one hash many times and many hashes, costs the node little and the honest
// nothing: who has paid is answered at once, and whose transaction is not there yet is told to come again with it.
func TestBogusProofs(t *testing.T) {
	t.Parallel()
	s := newCounted(t)
	u, _ := s.owner("verifies@example.org")
	i := u.buy(api.CreditStarter)
	bogus := func(n int) string { return fmt.Sprintf("0x%064x", n) }
	var quote api.ErrorBody
	if err := json.Unmarshal(call(t, http.MethodGet, s.d.URL()+api.PathFresh).Body, &quote); err != nil {
		t.Fatal(err)
	}
	nonce, err := hex.DecodeString(strings.TrimPrefix(quote.Payment.Nonce, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	paid, err := s.chain.Transfer(t.Context(), s.chain.Wallet(), s.chain.Treasury(), 1_000, nonce)
	if err != nil {
		t.Fatal(err)
	}
	measure := func(what string, crowd func(all *sync.WaitGroup), most int64, perSecond ...int64) {
		t.Helper()
		s.calls.Store(0)
		var all sync.WaitGroup
		begin := time.Now()
		crowd(&all)
		all.Wait()
		took := time.Since(begin)
		t.Logf("%s: %d calls of the node, %s", what, s.calls.Load(), took.Round(time.Millisecond))
		for _, n := range perSecond {
			most += int64(float64(n) * took.Seconds())
		}
		if got := s.calls.Load(); got > most {
			t.Errorf("%s: the node was called %d times, at most %d are enough", what, got, most)
		}
	}
	pending := func(hash string, client int) {
		if status, reason, retry := s.present(hash, client); status != http.StatusServiceUnavailable || retry == "" ||
			reason != api.ReasonPaymentPending && reason != api.ReasonChainUnavailable {
			t.Errorf("%s is answered with %d %s, Retry-After %q", hash, status, reason, retry)
		}
	}
	measure("one hash once", func(*sync.WaitGroup) { pending(bogus(1), 0) }, 6)
	measure("one hash 40 times", func(all *sync.WaitGroup) {
		for n := range 40 {
			all.Go(func() { pending(bogus(2), n) })
		}
	}, 6)
	measure("verified 20 times", func(*sync.WaitGroup) {
		for range 20 {
			var d api.Deposit
			u.into(u.call(http.MethodPost, api.PathCredits+"/"+i.ID+"/verify", api.VerifyDepositRequest{TxHash: bogus(3)}), http.StatusOK, &d)
		}
	}, 2)
	measure("300 hashes and an honest payer", func(all *sync.WaitGroup) {
		for n := range 300 {
			all.Go(func() { pending(bogus(1000+n), n) })
		}
		all.Go(func() {
			for range 30 { // at worst it is told to come again
				if status, reason, _ := s.present("0x"+hex.EncodeToString(paid[:]), 999); status == http.StatusOK {
					return
				} else if reason != api.ReasonChainUnavailable {
					t.Errorf("who has paid is answered with %d %s", status, reason)
				}
				<-time.After(time.Second)
			}
			t.Error("who has paid is not answered")
		})
	}, 2*(100+32)+20+3, 2*50+5) // what the bucket holds, looks under way, repeated looks and the honest one, and what comes in a second
}

package client_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

const purseKey = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d" // of a development chain, known to everybody

// ctxPay runs ctx pay with args in a home, and returns what it has written and what its failure means.
func ctxPay(t *testing.T, home string, args ...string) (stdout, stderr string, f *cli.Failure) {
	t.Helper()
	env := map[string]string{"CTX_BASE_URL": "http://127.0.0.1:1", "HOME": home, "CTX_WALLET_PRIVATE_KEY": purseKey, "CTX_API_KEY": "cv_test_ab12cd34SECRETab12cd34SECRETab12"}
	var out, told bytes.Buffer
	a := client.New(cli.System{In: strings.NewReader(""), Out: &out, Err: &told, Now: time.Now,
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }})
	c := client.NewPay(a)
	a.Flags.Bind(c.PersistentFlags())
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	a.Close()
	return out.String(), told.String(), a.Failure(err)
}

// offer says how a service of somebody else is paid: so much USDC on Base.
func offer(w http.ResponseWriter, amount int) {
	base := wallet.Assets()["usdc-base"]
	text := fmt.Sprintf(`{"x402Version":2,"error":"pay","accepts":[{"scheme":"exact","network":%q,"amount":"%d","asset":%q,
		"payTo":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","maxTimeoutSeconds":60}]}`, base.Network(), amount, base.Token)
	w.Header().Set(api.HeaderRequired, base64.StdEncoding.EncodeToString([]byte(text)))
	w.WriteHeader(http.StatusPaymentRequired)
}

// TestPayAnswers: what a service answers, to a request and to a payment, and what ctx pay makes of it: its exit code, what it tells, how
// often it has paid. Nothing that it tells or sends elsewhere pays.
func TestPayAnswers(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL+"/next")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	asks := func(amount int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { offer(w, amount) }
	}
	for name, c := range map[string]struct {
		asked, paid http.HandlerFunc
		exit        int // 0 is answered
		told, hint  string
		payments    int32
	}{
		"free":           {says(200, "it"), nil, 0, "", "", 0},
		"paid":           {asks(5), says(200, "it"), 0, "the service gives no receipt", "", 1},
		"over the bound": {asks(10_001), nil, 11, "the bound per call is 0.01", "ctx pay policy show", 0},
		"redirect":       {says(307, ""), nil, 1, "which is not followed", "ctx pay http://127.0.0.1:", 0},
		"redirect, paid": {asks(5), says(307, ""), 13, "which is not followed", "same authorization", 1},
		"version 1":      {says(402, `{"x402Version":1,"accepts":[]}`), nil, 5, "version 1 of x402", "nothing was paid", 0},
		"402 alone":      {says(402, ""), nil, 5, "not by x402, version 2", "nothing was paid", 0},
		"not found":      {says(404, ""), nil, 7, "404", "", 0},
		"always 402":     {asks(5), asks(5), 13, "refuses that", "ctx pay policy allow http://127.0.0.1:", 1},
		"asks more":      {asks(5), asks(6), 13, "it now wants 6", "ctx pay policy allow", 1},
		"fails":          {asks(5), says(500, ""), 13, "not answered", "same authorization", 1},
		"fails once it is settled": {asks(5), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(api.HeaderSettlement, base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"success":true,"transaction":"0x%064d"}`, 17)))
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "\x1b[2Jsold out")
		}, 13, "settled by transaction 0x" + fmt.Sprintf("%064d", 17) + ", and not answered: ", "same authorization", 1},
		"fails to settle": {asks(5), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(api.HeaderSettlement, base64.StdEncoding.EncodeToString([]byte(`{"success":false,"errorReason":"unexpected_settle_error"}`)))
			offer(w, 5)
		}, 12, "unexpected_settle_error", "ctx pay policy allow", 1},
		"says a word of the standard": {asks(5), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(api.HeaderSettlement, base64.StdEncoding.EncodeToString([]byte(
				`{"success":false,"errorReason":"invalid_exact_evm_payload_authorization_valid_before"}`)))
			offer(w, 5)
		}, 12, "the authorization holds no longer, or not for long enough (invalid_exact_evm_", "ctx pay policy allow", 1},
		"is a context service": {asks(5), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(api.HeaderSettlement, base64.StdEncoding.EncodeToString([]byte(
				`{"success":false,"errorReason":"invalid_transaction_state"}`)))
			w.WriteHeader(402)
			_, _ = io.WriteString(w, `{"error":{"code":"PAYMENT_INVALID","reason":"already_used","message":"it was handed out"}}`)
		}, 12, "already_used: it was handed out", "ctx pay policy allow", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var payments atomic.Int32
			var payment atomic.Value
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					t.Error("the key was sent")
				}
				if signature := r.Header.Get(api.HeaderSignature); signature != "" {
					payments.Add(1)
					payment.Store(signature)
					c.paid(w, r)
					return
				}
				c.asked(w, r)
			}))
			t.Cleanup(s.Close)
			stdout, stderr, f := ctxPay(t, t.TempDir(), s.URL+"/x", "--max-usd", "0.01")
			if f == nil {
				f = &cli.Failure{Err: fmt.Errorf("%s", stderr)}
			}
			if f.Exit != c.exit || !strings.Contains(f.Error(), c.told) || !strings.Contains(f.Hint+hintOf(f), c.hint) || payments.Load() != c.payments {
				t.Errorf("exit %d: %v; %s %s; %d payments", f.Exit, f, f.Hint, hintOf(f), payments.Load())
			}
			if name == "fails once it is settled" && (!strings.Contains(f.Error(), "sold out") || strings.Contains(f.Error(), "\x1b")) {
				t.Errorf("what the service says is not shown as it should be: %q", f)
			}
			if c.exit == 0 && stdout != "it" {
				t.Errorf("the body is %q", stdout)
			}
			signature, _ := payment.Load().(string)
			if all := stdout + stderr + f.Error() + f.Hint; strings.Contains(all, purseKey[2:]) || signature != "" && strings.Contains(all, signature[:40]) {
				t.Errorf("a secret is told: %s", all)
			}
		})
	}
	t.Cleanup(func() {
		if n := elsewhere.Load(); n != 0 {
			t.Errorf("%d requests went elsewhere", n)
		}
	})
}

// TestPaySignsIn: ctx pay --sign-in signs in for the service that it asks, shows the answer, and pays nothing, whatever that answers.
func TestPaySignsIn(t *testing.T) {
	t.Parallel()
	var says atomic.Value // the domain that is to be signed
	var paid, signed atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(api.HeaderSignature) != "" || r.Header.Get(api.HeaderPayment) != "" {
			paid.Add(1)
		}
		if r.Header.Get(api.HeaderSignIn) != "" {
			signed.Add(1)
			if text, err := base64.StdEncoding.DecodeString(r.Header.Get(api.HeaderSignIn)); err == nil && bytes.Contains(text, []byte(`"n1"`)) {
				_, _ = io.WriteString(w, "it")
				return
			}
		}
		at, nonce := says.Load().(string), r.URL.Query().Get("nonce")
		text := fmt.Sprintf(`{"x402Version":2,"error":"pay","accepts":[{"scheme":"exact","network":"eip155:8453","amount":"5"}],"extensions":{
			"sign-in-with-x":{"info":{"domain":%q,"uri":"http://%s","version":"1","nonce":%q,"issuedAt":"2026-11-28T00:00:00.000Z",
			"statement":"Get it again."},"supportedChains":[{"chainId":"solana:x","type":"ed25519"},{"chainId":"eip155:8453","type":"eip191"}],
			"schema":{}}}}`, at, at, nonce)
		w.Header().Set(api.HeaderRequired, base64.StdEncoding.EncodeToString([]byte(text)))
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	for name, one := range map[string]struct {
		nonce, domain, out string
		signed             int64
	}{"known": {"n1", host, "it", 1}, "unknown": {"n2", host, "", 1}, "of another": {"n1", "evil.example", "", 0}} {
		says.Store(one.domain)
		before := signed.Load()
		out, told, f := ctxPay(t, t.TempDir(), "--sign-in", s.URL+"/it?nonce="+one.nonce)
		if out != one.out || (f == nil) != (one.out != "") || signed.Load()-before != one.signed {
			t.Errorf("%s: %q, %q, %v, signed in %d times", name, out, told, f, signed.Load()-before)
		}
	}
	if paid.Load() > 0 {
		t.Errorf("it has paid %d times", paid.Load())
	}
}

// TestDryRun: what costs nothing is told without a line of a price that is not there, and as JSON is a price of nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	amount := 0 // that is asked; 0 asks nothing
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if amount != 0 {
			offer(w, amount)
		}
	}))
	t.Cleanup(s.Close)
	request := func(args ...string) (stdout, stderr string) {
		stdout, stderr, f := ctxPay(t, t.TempDir(), append([]string{s.URL + "/x", "--dry-run"}, args...)...)
		if f != nil {
			t.Errorf("%v: %v", args, f)
		}
		return stdout, stderr
	}
	if out, told := request("-o", "text"); out != "" || told != "it costs nothing\n" {
		t.Errorf("free: %q, %q", out, told)
	}
	if out, _ := request("--json", "request,amount"); out != `{"request":"GET /x","amount":"0"}`+"\n" {
		t.Errorf("free, as JSON: %q", out)
	}
	amount = 5
	if out, _ := request("-o", "text"); !strings.Contains(out, "price  0.000005 USDC") {
		t.Errorf("what costs something: %q", out)
	}
	amount = -1
	if out, _ := request("-o", "text"); strings.Contains(out, "price") || !strings.Contains(out, "would not pay it") || strings.Count(out, "\n") != 2 {
		t.Errorf("what the wallet cannot pay: %q", out)
	}
}

// hintOf is the hint of an error of the service.
func hintOf(f *cli.Failure) string {
	return api.AsError(f.Err).Hint
}

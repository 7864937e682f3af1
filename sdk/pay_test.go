package sdk_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// journal is a Payer without a chain, which keeps book as one with a journal does.
type journal struct {
	refuses error // why it pays nothing

	mu      sync.Mutex        // guards what follows
	live    map[string]string // hashes, by request
	made    int               // transfers
	asked   []string          // requests, in order
	forms   []string          // their canonical forms
	refused []error           // of the outcomes
}

// Pay returns the payment of the request that is not settled, or makes one.
func (j *journal) Pay(_ context.Context, q sdk.Quote) (sdk.Payment, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked, j.forms = append(j.asked, q.Request), append(j.forms, q.Canonical)
	if j.refuses != nil {
		return sdk.Payment{}, j.refuses
	}
	if j.live == nil {
		j.live = map[string]string{}
	}
	if j.live[q.Request] == "" {
		j.made++
		j.live[q.Request] = fmt.Sprintf("0x%02d", j.made)
	}
	return sdk.TransferPayment(api.PaymentProof{TxHash: j.live[q.Request]}), nil
}

// Conclude ends a payment.
func (j *journal) Conclude(_ context.Context, p sdk.Payment, o sdk.Outcome) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if o.Unanswered != nil {
		return nil
	}
	j.refused = append(j.refused, o.Refused)
	for request, hash := range j.live {
		if hash == p.ID {
			delete(j.live, request)
		}
	}
	return nil
}

// shop is a service that wants to be paid, answers the n-th request with a proof as the n-th of replies says, and all after with 200.
func shop(t *testing.T, replies ...func(http.ResponseWriter)) (url string, proofs *[]string) {
	t.Helper()
	var mu sync.Mutex
	var shown []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		proof := r.Header.Get(api.HeaderPayment)
		if proof == "" {
			answer(w, 402, `{"payment":{"amount":"0.001","asset":"USDG"}}`)
			return
		}
		shown = append(shown, proof)
		if n := len(shown); n <= len(replies) {
			replies[n-1](w)
			return
		}
		body, _ := io.ReadAll(r.Body)
		answer(w, 200, `{"brief":"`+string(body)+`"}`)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, &shown
}

// says answers with a status and nothing else.
func says(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// lost breaks the connection in the middle of an answer.
func lost(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	w.WriteHeader(200)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// TestPayTransport pays once for what is answered, whatever comes in between, and says of what is not that it was paid.
func TestPayTransport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply func(http.ResponseWriter)
		spent bool // the service has refused the payment
	}{
		"failure":       {says(500), false},
		"lost":          {lost, false},
		"redirect":      {says(307, "Location", "/elsewhere"), false},
		"not found":     {says(404), false},
		"not seen yet":  {says(503), false},
		"another quote": {func(w http.ResponseWriter) { answer(w, 402, `{"payment":{"amount":"9"}}`) }, true},
		"no answer":     {func(w http.ResponseWriter) { answer(w, 200, `no`) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, shown := shop(t, c.reply)
			j := &journal{}
			client := &http.Client{Transport: &sdk.PayTransport{Payer: j, Service: url, Answered: func(_ *http.Request, body []byte) error {
				if string(body) == "no" {
					return errors.New("that is no answer")
				}
				return nil
			}}}
			_, err := client.Post(url+"/v1/cite?ref=1", "application/json", strings.NewReader("body"))
			var paid *sdk.PaidError
			if !errors.As(err, &paid) || paid.Payment.ID != "0x01" {
				t.Fatalf("the first time: %v", err)
			}
			if c.spent != (len(j.refused) == 1) {
				t.Errorf("settled with %v", j.refused)
			}
			resp, err := client.Post(url+"/v1/cite?ref=1", "application/json", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			if string(text) != `{"brief":"body"}` || resp.Request.Header.Get(api.HeaderPayment) == "" || len(*shown) != 2 {
				t.Errorf("the second time: %s for %v, %d proofs", text, resp.Request.Header, len(*shown))
			}
			if (j.made == 2) != c.spent || len(j.live) != 0 || j.asked[0] != "POST /v1/cite?ref=1" {
				t.Errorf("%d transfers, open %v, asked for %q", j.made, j.live, j.asked)
			}
		})
	}
}

// TestPayTransportPasses what it cannot or may not pay for.
func TestPayTransportPasses(t *testing.T) {
	t.Parallel()
	url, _ := shop(t)
	j := &journal{}
	for name, c := range map[string]struct {
		transport *sdk.PayTransport
		body      io.Reader
	}{
		"nobody pays":        {&sdk.PayTransport{Service: url}, nil},
		"another service":    {&sdk.PayTransport{Payer: j, Service: url + "0"}, nil},
		"read once":          {&sdk.PayTransport{Payer: j, Service: url}, io.MultiReader(strings.NewReader("x"))},
		"beside the service": {&sdk.PayTransport{Payer: j, Service: url + "/v"}, nil},
	} {
		resp, err := (&http.Client{Transport: c.transport}).Post(url+"/v1/cite", "application/json", c.body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if resp.Body.Close(); resp.StatusCode != 402 {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	if len(j.asked) != 0 {
		t.Errorf("asked for %q", j.asked)
	}
}

// TestForeignHeaderPasses: a header of a payment is no transfer's where the transport makes none, or where it names no transaction.
func TestForeignHeaderPasses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schemes []sdk.Scheme
		header  string
	}{
		"exact alone":    {[]sdk.Scheme{sdk.Exact{}}, `{"txHash":"0x01"}`},
		"no transaction": {nil, `{"paid":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, shown := shop(t, says(503))
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/fresh", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set(api.HeaderPayment, base64.StdEncoding.EncodeToString([]byte(c.header)))
			transport := &sdk.PayTransport{Payer: &journal{}, Service: url, Schemes: c.schemes, Patience: 2}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatalf("in place of the answer: %v", err)
			}
			if resp.Body.Close(); resp.StatusCode != http.StatusServiceUnavailable || len(*shown) != 1 {
				t.Errorf("answered %s after %d requests", resp.Status, len(*shown))
			}
		})
	}
}

// TestPatienceIsOfTheScheme: for a transfer, which is on chain, any wait is worth it; an authorization can be shown later.
func TestPatienceIsOfTheScheme(t *testing.T) {
	t.Parallel()
	for scheme, waits := range map[string]bool{api.SchemeX402: true, api.SchemeExact: false} {
		synctest.Test(t, func(t *testing.T) {
			resp := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{api.HeaderRetryAfter: {"31"}}}
			began := time.Now()
			again := sdk.Passes(t.Context(), sdk.Payment{Scheme: scheme}, resp)
			if again != waits || (time.Since(began) == 31*time.Second) != waits {
				t.Errorf("%s: again %t after %s", scheme, again, time.Since(began))
			}
		})
	}
}

// TestPatience shows a proof again while the service does not see the payment, as often as it is told to.
func TestPatience(t *testing.T) {
	t.Parallel()
	for patience, answered := range map[int]bool{1: false, 2: true} {
		url, shown := shop(t, says(503), says(503))
		j := &journal{}
		client := &http.Client{Transport: &sdk.PayTransport{Payer: j, Service: url, Patience: patience}}
		resp, err := client.Get(url + "/v1/fresh")
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != answered || len(*shown) != patience+1 || len(j.asked) != 1 {
			t.Errorf("patience %d: %v after %d proofs, asked for %q", patience, err, len(*shown), j.asked)
		}
	}
}

// TestPaidRetries has a call that was paid for sent again with the same proof, and its failure come with what the service said.
func TestPaidRetries(t *testing.T) {
	t.Parallel()
	url, shown := shop(t, says(502), lost)
	j := &journal{}
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(url), sdk.WithPayer(j))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Brief(t.Context(), ""); err != nil || len(*shown) != 3 || len(j.forms) != 1 || j.forms[0] != "brief?" || j.made != 1 || len(j.live) != 0 {
		t.Errorf("%v after %d proofs, asked for %q", err, len(*shown), j.asked)
	}
	for name, c := range map[string]struct {
		payer  *journal
		status int
		says   string
	}{
		"paid":   {&journal{}, 500, "paid with 0x01, not answered: "},
		"unpaid": {&journal{refuses: errors.New("too dear")}, 402, "pay 0.001 USDG: too dear"},
	} {
		url, _ := shop(t, says(500))
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(url), sdk.WithPayer(c.payer))
		if err != nil {
			t.Fatal(err)
		}
		var meta sdk.Response
		_, err = client.Brief(t.Context(), "", sdk.WithResponse(&meta))
		if err == nil || !strings.Contains(err.Error(), c.says) || meta.Status != c.status || meta.Attempts != 1 {
			t.Errorf("%s: %v, %+v", name, err, meta)
		}
	}
}

// TestPaidTimeout has an HTTP client that gives up say that the call was paid for.
func TestPaidTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get(api.HeaderPayment) != "" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			w := httptest.NewRecorder()
			answer(w, http.StatusPaymentRequired, `{"payment":{"amount":"0.001","asset":"USDG"}}`)
			return w.Result(), nil
		})
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithPayer(&journal{}), sdk.WithRetries(0),
			sdk.WithHTTPClient(&http.Client{Timeout: 3 * time.Second, Transport: hangs}))
		if err != nil {
			t.Fatal(err)
		}
		var paid *sdk.PaidError
		var late *sdk.TransportError
		if _, err := client.Brief(t.Context(), ""); !errors.As(err, &paid) || !errors.As(err, &late) || !late.Timeout() {
			t.Error(err)
		}
	})
}

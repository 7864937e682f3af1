package wallet_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// hostile is a service that offers and answers whatever its dice say.
type hostile struct {
	mu       sync.Mutex
	dice     *rand.Rand
	shown    []shown
	answered map[string]bool // nonces
}

// shown is an authorization as it was sent to a hostile service.
type shown struct {
	request, flow string
	sale          sale
}

// offer is a way to be paid, and says in how far it is one to fall for.
func (h *hostile) offer() accepted {
	pick := func(of ...any) any { return of[h.dice.IntN(len(of))] }
	extra := map[string]any{"name": "USD Coin", "version": "2"}
	if flow := pick(nil, nil, "authorization", "upfront", "escrow", 7, ""); flow != nil {
		extra[pick("paymentFlow", "paymentFlow", "PAYMENTFLOW").(string)] = flow
	}
	a := usdc(pick("5", "5", "9", "10000", "10001", "1000000000", "-1").(string), "extra", extra, "payTo",
		pick(payTo, payTo, payTo, "0x"+strings.Repeat("ab", 20)), "maxTimeoutSeconds", pick(60, 0, 100_000))
	a["scheme"] = pick("exact", "exact", "exact", "upto", "batch-settlement")
	return a
}

func (h *hostile) ask(w http.ResponseWriter) {
	text, _ := json.Marshal(map[string]any{"x402Version": 2, "error": "pay", "accepts": []accepted{h.offer(), h.offer()},
		"extensions": map[string]any{"payment-identifier": map[string]any{"info": map[string]any{"id": "theirs", "required": true}},
			"payTo": payTo, "sign-in-with-x": map[string]any{"info": map[string]any{"nonce": strconv.Itoa(h.dice.Int())}}}})
	w.Header().Set(api.HeaderRequired, base64.StdEncoding.EncodeToString(text))
	w.WriteHeader(http.StatusPaymentRequired)
}

// ServeHTTP answers, or does not.
func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	header := r.Header.Get(api.HeaderSignature)
	if header == "" {
		h.ask(w)
		return
	}
	one := shown{request: r.URL.Path}
	text, _ := base64.StdEncoding.DecodeString(header)
	_ = json.Unmarshal(text, &one.sale)
	var accept struct{ Extra map[string]any }
	_ = json.Unmarshal(one.sale.Accepted, &accept)
	for name, value := range accept.Extra {
		if strings.EqualFold(name, "paymentFlow") {
			one.flow = fmt.Sprint(value)
		}
	}
	h.shown = append(h.shown, one)
	if h.dice.IntN(2) == 0 {
		words := []string{"", "pending", "extension_echo_mismatch", "invalid_transaction_state", "insufficient_funds"}
		tell(w, h.dice.IntN(3) == 0, words[h.dice.IntN(len(words))])
	}
	w.Header().Set("Retry-After", "0")
	switch h.dice.IntN(8) {
	case 0, 1:
		h.answered[one.sale.Payload.Authorization["nonce"]] = true
		_, _ = io.WriteString(w, "sold")
	case 2, 3:
		h.ask(w)
	case 4:
		w.Header().Set("Location", "http://elsewhere.test/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case 5:
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader([]int{500, 503, 429, 409, 404}[h.dice.IntN(5)])
	}
}

// since is what was shown to it after the first n.
func (h *hostile) since(n int) []shown {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shown[n:]
}

// TestHostileService: whatever a service offers and answers, it is paid for a request once while that payment holds or its answer is out,
// never more than a call may cost, nowhere but where it was paid first, in no flow but the known, and not beyond the bound of a day. The
// user allows it again and again.
func TestHostileService(t *testing.T) {
	t.Parallel()
	all := 0
	for seed := range uint64(12) {
		h := &hostile{dice: rand.New(rand.NewPCG(seed, 402)), answered: map[string]bool{}}
		s := httptest.NewServer(h)
		p := newSpender(t)
		p.cfg = func(c *wallet.Config) { c.Policy.PerDay = 20_000 }
		dice := rand.New(rand.NewPCG(402, seed))
		until := map[string]int64{} // the end of the last authorization for a request that was not answered
		nonces := map[string]string{}
		recipient, total := "", 0
		for range 60 {
			path := fmt.Sprint("/", dice.IntN(4))
			before := len(h.since(0))
			_, _ = p.post(&seller{Server: s}, path, "")
			for _, one := range h.since(before) {
				a := one.sale.Payload.Authorization
				value, _ := strconv.Atoi(a["value"])
				ends, _ := strconv.ParseInt(a["validBefore"], 10, 64)
				if recipient == "" {
					recipient = a["to"]
				}
				if value <= 0 || value > 10_000 || a["to"] != recipient || one.flow != "" && one.flow != "authorization" ||
					ends > p.now.Unix()+900 && nonces[path] != a["nonce"] {
					t.Errorf("seed %d: %s was sent %v in the flow %q", seed, path, a, one.flow)
				}
				if last := nonces[path]; last != a["nonce"] {
					if last != "" && !h.answered[last] && p.now.Unix() <= until[path] {
						t.Errorf("seed %d: %s was paid with %s while %s held", seed, path, a["nonce"], last)
					}
					total += value
				}
				nonces[path], until[path] = a["nonce"], ends
			}
			if dice.IntN(3) == 0 {
				if _, err := wallet.AllowService(t.Context(), p.dir, s.URL); err != nil {
					t.Fatal(err)
				}
			}
			p.now = p.now.Add(time.Duration(dice.IntN(40)) * time.Second)
		}
		s.Close()
		if total > 20_000 {
			t.Errorf("seed %d: it was paid %d in an hour", seed, total)
		}
		all += len(nonces)
	}
	if all < 12 {
		t.Errorf("%d requests were paid for in all: this shows nothing", all)
	}
}

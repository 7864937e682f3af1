package chain_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
)

// facilitator settles what it is sent with the key of an account, and says what it is told to.
type facilitator struct {
	t      *testing.T
	sender *chain.Sender
	url    string

	mu    sync.Mutex
	say   map[string]string // by path, in place of the truth
	asked []string
}

// fakes has it answer a path with what it is given; "" is the truth.
func (f *facilitator) fakes(path, answer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.say[path] = answer
}

// newFacilitator starts one.
func newFacilitator(t *testing.T, c *devchain.Chain, client *chain.Client) *facilitator {
	t.Helper()
	f := &facilitator{t: t, sender: sender(t, client, c.Gas()), say: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		path := strings.TrimPrefix(r.URL.Path, "/v2/"+secret)
		f.mu.Lock()
		answer := f.say[path]
		f.asked = append(f.asked, r.Method+" "+path)
		f.mu.Unlock()
		switch {
		case answer == "hang":
			<-r.Context().Done()
		case answer == "500":
			http.Error(w, "{}", http.StatusInternalServerError)
		case answer != "":
			_, _ = io.WriteString(w, answer)
		case path == "/supported":
			fmt.Fprintf(w, `{"kinds":[{"x402Version":1,"scheme":"exact","network":"base"},{"x402Version":2,"scheme":"exact","network":"eip155:%d"}],"extensions":[]}`, devchain.ChainID)
		case path == "/verify":
			_, _ = io.WriteString(w, `{"isValid":true,"payer":"`+c.Wallet().Address+`"}`)
		default:
			hash, err := f.settle(r, body)
			if err != nil {
				fmt.Fprintf(w, `{"success":false,"errorReason":%q}`, err.Error())
				return
			}
			fmt.Fprintf(w, `{"success":true,"transaction":"0x%x","network":"eip155:%d"}`, hash, devchain.ChainID)
		}
	}))
	t.Cleanup(server.Close)
	f.url = server.URL + "/v2/" + secret
	return f
}

// settle settles what it is sent, by what that says alone.
func (f *facilitator) settle(r *http.Request, body []byte) (hash [32]byte, err error) {
	var sent struct {
		X402Version    int
		PaymentPayload struct {
			X402Version int
			Accepted    map[string]any
			Payload     struct {
				Signature     string
				Authorization struct{ From, To, Value, ValidAfter, ValidBefore, Nonce string }
			}
		}
		PaymentRequirements map[string]any
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return hash, err
	}
	if sent.X402Version != 2 || sent.PaymentPayload.X402Version != 2 || fmt.Sprint(sent.PaymentRequirements) != fmt.Sprint(sent.PaymentPayload.Accepted) {
		f.t.Errorf("it is sent %s", body)
	}
	raw, err := json.Marshal(sent.PaymentPayload)
	if err != nil {
		return hash, err
	}
	e, err := x402.ParseExact(raw)
	if err != nil {
		return hash, err
	}
	gas, err := f.sender.Simulate(r.Context(), e.Authorization)
	if err != nil {
		return hash, err
	}
	tx, err := f.sender.Prepare(r.Context(), e.Authorization, gas, 0, nil)
	if err != nil {
		return hash, err
	}
	if err := f.sender.Send(r.Context(), tx.Raw); err != nil {
		return hash, err
	}
	_, err = f.sender.Settled(r.Context(), tx.Hash, 20*time.Second)
	return tx.Hash, err
}

// TestFacilitator has a facilitator settle, and finds what it has done on the chain.
func TestFacilitator(t *testing.T) {
	t.Parallel()
	c, _, client := open(t)
	there := newFacilitator(t, c, client)
	f, err := chain.NewFacilitator(client, there.url)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a := allow(t, c, c.Wallet(), 1_000, 1)
	if _, err := f.Simulate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	tx, err := f.Prepare(t.Context(), a, 0, 0, nil)
	if err != nil || tx.Sender != f.Address() || strings.Contains(tx.Sender, secret) {
		t.Fatalf("%+v, %v", tx, err)
	}
	if again, err := f.Prepare(t.Context(), a, 0, 0, nil); err != nil || again.Hash != tx.Hash {
		t.Errorf("prepared again it is another request, %v", err)
	}
	if err := f.Send(t.Context(), tx.Raw); err != nil {
		t.Fatal(err)
	}
	hash, err := f.Fate(t.Context(), a.Key(), tx.Block, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Settled(t.Context(), hash, 0)
	if err != nil || !p.Succeeded || len(p.Transfers) != 1 || !p.Transfers[0].Authorized {
		t.Errorf("%s has %+v, %v", hex.EncodeToString(hash[:]), p, err)
	}
	if err := f.Send(t.Context(), tx.Raw); err == nil {
		t.Error("sent again it is settled again")
	}
	if got := strings.Join(there.asked, ", "); got != "GET /supported, POST /verify, POST /settle, POST /settle" {
		t.Errorf("it was asked %s", got)
	}
	if _, err := f.Simulate(t.Context(), a); !errors.Is(err, x402.ErrUsed) {
		t.Errorf("once it is used: %v", err)
	}
}

// TestFacilitatorFails has a facilitator refuse, fail, hang and talk nonsense: each is told apart, and the secret in its URL is in none.
func TestFacilitatorFails(t *testing.T) {
	t.Parallel()
	c, _, client := open(t)
	there := newFacilitator(t, c, client)
	f, err := chain.NewFacilitator(client, there.url)
	if err != nil {
		t.Fatal(err)
	}
	a := allow(t, c, c.Wallet(), 1_000, 1)
	tx, err := f.Prepare(t.Context(), a, 0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		path, answer string
		want         error // nil means another than those
	}{
		{"/supported", `{"kinds":[{"x402Version":1,"scheme":"exact","network":"eip155:46630"}]}`, x402.ErrUnserved},
		{"/supported", `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:1"}]}`, x402.ErrUnserved},
		{"/supported", `{"kinds":[{"x402Version":2,"scheme":"upto","network":"eip155:46630"}]}`, x402.ErrUnserved},
		{"/supported", "500", x402.ErrUnserved}, {"/supported", "<html>", x402.ErrUnserved}, {"/supported", "[]", x402.ErrUnserved},
		{"/verify", `{"isValid":false,"invalidReason":"insufficient_funds"}`, x402.ErrReverts},
		{"/verify", `{"error":"unauthorized"}`, nil}, {"/verify", "500", nil}, {"/verify", "<html>", nil},
		{"/settle", `{"success":false,"errorReason":"invalid_payload"}`, nil}, {"/settle", "500", nil}, {"/settle", "ok", nil},
		{"/supported", "hang", x402.ErrUnserved}, {"/verify", "hang", nil}, {"/settle", "hang", nil},
		{"/settle", strings.Repeat(" ", 70<<10) + `{"success":true}`, nil},
	} {
		there.fakes(one.path, one.answer)
		ctx, cancel := t.Context(), func() {}
		if one.answer == "hang" {
			ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
		}
		var err error
		switch one.path {
		case "/supported":
			_, err = f.Ready(ctx)
		case "/verify":
			_, err = f.Simulate(ctx, a)
		default:
			err = f.Send(ctx, tx.Raw)
		}
		cancel()
		if err == nil || one.want != nil && !errors.Is(err, one.want) || one.want == nil && errors.Is(err, x402.ErrReverts) {
			t.Errorf("%s says %.80s: %v, want %v", one.path, one.answer, err, one.want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the secret: %v", err)
		}
		there.fakes(one.path, "")
	}
	if _, err := f.Fate(t.Context(), a.Key(), 0, 0); !errors.Is(err, x402.ErrUnused) {
		t.Errorf("it was settled all the same: %v", err)
	}
	for _, at := range []string{"", "facilitator.example.org", "ftp://" + secret, "https://"} {
		if _, err := chain.NewFacilitator(client, at); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", at, err)
		}
	}
}

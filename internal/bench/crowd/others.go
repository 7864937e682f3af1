package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// others are clients that are not honest. All of them together keep to one pace.
type others struct {
	demo   demo
	counts counts
	acts   []act
	rogues []*rogue
	open   sync.WaitGroup // requests whose answers are awaited beside the acts that follow
}

// act is something that a rogue does.
type act struct {
	name string
	do   func(ctx context.Context, r *rogue) error
}

// mostRogues is how many clients share the pace at most, each from an address of its own.
const mostRogues = 240

// rogue is one of them, with what it has got so far. Only its own goroutine uses it.
type rogue struct {
	http    *http.Client
	console *sdk.Console // nil until it signs in
	key     string       // empty until it makes one
}

// newOthers makes clients that do the acts in turn.
func newOthers(cfg config, acts func(*others) []act) *others {
	o := &others{demo: cfg.demo}
	pace := rate.NewLimiter(rate.Limit(cfg.rate), 10)
	for i := range min(mostRogues, int(cfg.time.Seconds()*float64(cfg.rate)/20)) { // so that each comes to all acts
		o.rogues = append(o.rogues, &rogue{http: newHTTP(host(1, i), pace)})
	}
	o.acts = acts(o)
	return o
}

// harmless are clients that ask whether the daemon lives.
func harmless(cfg config) *others {
	return newOthers(cfg, func(o *others) []act {
		return []act{{"live?", func(ctx context.Context, r *rogue) error {
			return ask(ctx, r.http, http.MethodGet, o.demo.BaseURL+api.PathHealth, nil)
		}}}
	})
}

// hostile is the crowd.
func hostile(cfg config) *others {
	return newOthers(cfg, func(o *others) []act {
		return []act{
			{"throw-away owner", o.owner}, {"key", o.makeKey}, {"free call", o.call}, {"deposit", o.deposit}, {"MCP session", o.session},
			{"stream", o.stream}, {"challenge", o.challenge}, {"bogus proof", o.proof}, {"long address", o.longAddress}, {"mail", o.mail},
		}
	})
}

// play acts until ctx is done, each rogue in turn.
func (o *others) play(ctx context.Context) {
	var all sync.WaitGroup
	for i, r := range o.rogues {
		all.Go(func() {
			for turn := i; ctx.Err() == nil; turn++ {
				act := o.acts[turn%len(o.acts)]
				began := time.Now()
				if err := act.do(ctx, r); !errors.Is(err, errLacks) && !errors.Is(err, errWaits) {
					o.add(ctx, act.name, began, err)
				}
			}
		})
	}
	all.Wait()
	o.open.Wait()
	for _, r := range o.rogues {
		r.http.CloseIdleConnections()
	}
}

// add counts an act, unless it failed because the time was over.
func (o *others) add(ctx context.Context, name string, began time.Time, err error) {
	if err == nil || ctx.Err() == nil {
		o.counts.add(name, began, err)
	}
}

// What an act says that is not counted, or not yet.
var (
	errLacks = errors.New("the rogue lacks what that needs")
	errWaits = errors.New("the answer is awaited beside what comes next")
)

// owner signs in with a wallet that nobody has seen before.
func (o *others) owner(ctx context.Context, r *rogue) error {
	w, err := wallet.New()
	if err != nil {
		return err
	}
	c, err := newClient(o.demo, r.http)
	if err != nil {
		return err
	}
	console := c.Console("")
	if _, err := console.ByWallet(ctx, w, ""); err != nil {
		return err
	}
	r.console, r.key = console, ""
	return nil
}

// makeKey makes a key.
func (o *others) makeKey(ctx context.Context, r *rogue) error {
	if r.console == nil {
		return errLacks
	}
	issued, err := r.console.CreateKey(ctx, "crowd", "")
	if err == nil {
		r.key = issued.Key
	}
	return err
}

// call makes a free call.
func (o *others) call(ctx context.Context, r *rogue) error {
	if r.key == "" {
		return errLacks
	}
	return ask(ctx, r.http, http.MethodGet, o.demo.BaseURL+api.PathCite+"?ref=1", nil, "Authorization", "Bearer "+r.key)
}

// deposit opens a deposit that is never paid.
func (o *others) deposit(ctx context.Context, r *rogue) error {
	if r.key == "" {
		return errLacks
	}
	_, err := r.console.Buy(ctx, api.CreditStarter, "")
	return err
}

// session opens a session of MCP and leaves it open.
func (o *others) session(ctx context.Context, r *rogue) error {
	if r.key == "" {
		return errLacks
	}
	return ask(ctx, r.http, http.MethodPost, o.demo.BaseURL+api.PathMCP, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"crowd","version":"1"}}}`),
		"Authorization", "Bearer "+r.key, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
}

// stream opens a stream and reads it until the end.
func (o *others) stream(ctx context.Context, r *rogue) error {
	if r.key == "" {
		return errLacks
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.demo.BaseURL+api.PathSubscribe+"?token="+r.key, nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: r.http.Transport}).Do(req) // without a timeout
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("status %d", res.StatusCode), res.Body.Close())
	}
	o.open.Go(func() {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	})
	return nil
}

// challenge asks for a message to sign and leaves it at that.
func (o *others) challenge(ctx context.Context, r *rogue) error {
	return o.post(ctx, r, api.PathAuthWallet, api.WalletSignInRequest{Address: "0x" + random(20)})
}

// longAddress asks for a mail to an address of 64 KiB.
func (o *others) longAddress(ctx context.Context, r *rogue) error {
	local := bytes.Repeat([]byte("a"), 64<<10-64)
	return o.post(ctx, r, api.PathAuthEmail, api.EmailSignInRequest{Email: random(8) + string(local) + "@example.org"})
}

// mail asks for a mail to somebody else.
func (o *others) mail(ctx context.Context, r *rogue) error {
	return o.post(ctx, r, api.PathAuthEmail, api.EmailSignInRequest{Email: random(8) + "@example.org"})
}

// post sends JSON.
func (o *others) post(ctx context.Context, r *rogue, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return ask(ctx, r.http, http.MethodPost, o.demo.BaseURL+path, text, "Content-Type", "application/json")
}

// proof presents a payment that nobody made. A daemon may look for it for a while, which does not keep a rogue.
func (o *others) proof(ctx context.Context, r *rogue) error {
	text, err := json.Marshal(api.PaymentProof{
		Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: "0x" + random(32), Payer: "0x" + random(20),
	})
	if err != nil {
		return err
	}
	o.open.Go(func() {
		began := time.Now()
		err := ask(ctx, r.http, http.MethodGet, o.demo.BaseURL+api.PathCite+"?ref=1", nil,
			api.HeaderPayment, base64.StdEncoding.EncodeToString(text))
		o.add(ctx, "bogus proof", began, err)
	})
	return errWaits
}

// random is n random bytes in hexadecimal.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

var _ x402.Sender = (*Facilitator)(nil)

// Facilitator has a service of x402 settle authorizations, which pays the gas. Nothing that it says is believed: whether an authorization
// would settle is simulated on the chain, and whether it has is read there. What it refuses is not settled by it, and that is all. Make one
// with NewFacilitator; it is safe for concurrent use.
//
// What Sender signs and broadcasts is, here, the request that the facilitator is sent: the bytes are written down before, and can be sent
// again.
type Facilitator struct {
	*Client
	url  *url.URL
	http *http.Client

	mu    sync.Mutex // guards asked
	asked time.Time  // when it last said that it settles here; zero once it has failed since
}

// Bounds of a Facilitator.
const (
	supportedLasts = 5 * time.Minute
	facilitates    = 10 * time.Second // one answer
	maxFacilitated = 64 << 10         // bytes of one
)

// NewFacilitator makes a Facilitator at a URL, which may hold a secret: it is in no error.
func NewFacilitator(c *Client, at string) (*Facilitator, error) {
	u, err := ParseFacilitator(at)
	if err != nil {
		return nil, err
	}
	return &Facilitator{Client: c, url: u, http: &http.Client{
		Timeout:       facilitates,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// ParseFacilitator reads where a facilitator is. The URL may hold a secret, and is in no error.
func ParseFacilitator(at string) (*url.URL, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the URL of the facilitator is not like https://facilitator.example.org")
	}
	return u, nil
}

// Address is the host of the facilitator.
func (f *Facilitator) Address() string { return f.url.Host }

// Ready reports x402.ErrUnserved where the facilitator does not say that it settles on this chain.
func (f *Facilitator) Ready(ctx context.Context) (x402.Funds, error) {
	f.mu.Lock()
	since := f.cfg.Now().Sub(f.asked)
	fresh := !f.asked.IsZero() && since >= 0 && since < supportedLasts
	f.mu.Unlock()
	if fresh {
		return x402.Funds{}, nil
	}
	var told struct {
		Kinds []struct {
			X402Version     int
			Scheme, Network string
		}
	}
	if err := f.ask(ctx, http.MethodGet, "supported", nil, &told); err != nil {
		return x402.Funds{}, fmt.Errorf("%w: %w", x402.ErrUnserved, err)
	}
	for _, kind := range told.Kinds {
		if kind.X402Version == api.X402Version && kind.Scheme == api.SchemeExact && kind.Network == f.network() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.asked = f.cfg.Now()
			return x402.Funds{}, nil
		}
	}
	return x402.Funds{}, fmt.Errorf("%w: %s does not settle %s of x402 version %d on %s", x402.ErrUnserved, f.url.Host, api.SchemeExact,
		api.X402Version, f.network())
}

func (f *Facilitator) network() string { return "eip155:" + strconv.FormatInt(f.cfg.ChainID, 10) }

// Simulate is that of Sender, and asks the facilitator too: it fails with x402.ErrReverts where that refuses.
func (f *Facilitator) Simulate(ctx context.Context, a x402.Authorization) (gas uint64, err error) {
	if gas, err = f.simulate(ctx, f.treasury, a); err != nil {
		return 0, err
	}
	raw, err := f.request(a)
	if err != nil {
		return 0, err
	}
	var told struct {
		IsValid       bool
		InvalidReason string
	}
	if err := f.ask(ctx, http.MethodPost, "verify", raw, &told); err != nil {
		return 0, err
	}
	switch {
	case !told.IsValid && told.InvalidReason == "": // which is no refusal of the payment
		return 0, fmt.Errorf("ask facilitator at %s: it says neither that a payment is valid nor why not", f.url.Host)
	case !told.IsValid:
		return 0, fmt.Errorf("%w: the facilitator says %.100q", x402.ErrReverts, told.InvalidReason)
	}
	return gas, nil
}

// Prepare makes the request by which the facilitator settles a, as it is sent by Send.
func (f *Facilitator) Prepare(ctx context.Context, a x402.Authorization, _, _ uint64, _ []byte) (signed x402.SignedTx, err error) {
	head, err := f.Head(ctx)
	if err != nil {
		return signed, err
	}
	raw, err := f.request(a)
	return x402.SignedTx{Raw: raw, Hash: crypto.Keccak256Hash(raw), Sender: f.Address(), Block: head.Number, At: f.cfg.Now()}, err
}

// Send sends it, however often. An error says why it is not known to settle, nothing says that it has.
func (f *Facilitator) Send(ctx context.Context, raw []byte) error {
	var told api.StandardReceipt
	err := f.ask(ctx, http.MethodPost, "settle", raw, &told)
	if err == nil && !told.Success {
		err = fmt.Errorf("the facilitator at %s has not settled: %.100q", f.url.Host, told.ErrorReason)
	}
	return err
}

// request is what the facilitator is asked, about a.
func (f *Facilitator) request(a x402.Authorization) ([]byte, error) {
	type payload struct {
		Signature     string            `json:"signature"`
		Authorization map[string]string `json:"authorization"`
	}
	type payment struct {
		X402Version int                `json:"x402Version"`
		Accepted    api.StandardAccept `json:"accepted"`
		Payload     payload            `json:"payload"`
	}
	const seconds = 120 // for which it is offered
	terms := api.StandardAccept{
		Scheme: api.SchemeExact, Network: f.network(), Amount: strconv.FormatUint(a.Value, 10), Asset: f.token.Hex(),
		PayTo: f.treasury.Hex(), MaxTimeoutSeconds: seconds,
		Extra: api.StandardExtra{Name: f.cfg.Domain.Name, Version: f.cfg.Domain.Version, AssetTransferMethod: "eip3009"},
	}
	return json.Marshal(struct {
		X402Version  int                `json:"x402Version"`
		Payment      payment            `json:"paymentPayload"`
		Requirements api.StandardAccept `json:"paymentRequirements"`
	}{api.X402Version, payment{api.X402Version, terms, payload{hexutil.Encode(a.Signature[:]), map[string]string{
		"from": common.HexToAddress(a.From).Hex(), "to": common.HexToAddress(a.To).Hex(), "value": strconv.FormatUint(a.Value, 10),
		"validAfter": strconv.FormatInt(a.ValidAfter, 10), "validBefore": strconv.FormatInt(a.ValidBefore, 10),
		"nonce": hexutil.Encode(a.Nonce[:]),
	}}}, terms})
}

// ask asks the facilitator. Its refusals have a body too, with a status that its makers chose. After a failure, Ready believes nothing that
// it has said before.
func (f *Facilitator) ask(ctx context.Context, method, path string, body []byte, answer any) error {
	fail := func(why error) error {
		f.mu.Lock()
		f.asked = time.Time{}
		f.mu.Unlock()
		if address := new(url.Error); errors.As(why, &address) {
			why = address.Err // without the URL
		}
		return fmt.Errorf("ask facilitator at %s: %w", f.url.Host, why)
	}
	req, err := http.NewRequestWithContext(ctx, method, f.url.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return fail(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := f.http.Do(req)
	if err != nil {
		return fail(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxFacilitated))
	switch refused := res.StatusCode >= http.StatusInternalServerError || res.StatusCode/100 == 3; {
	case err != nil:
		return fail(err)
	case refused:
		return fail(fmt.Errorf("status %d", res.StatusCode))
	case json.Unmarshal(text, answer) != nil:
		return fail(fmt.Errorf("status %d, and no JSON object of x402: %.60q", res.StatusCode, strings.TrimSpace(string(text))))
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	mcp "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// honest are clients that were there before the crowd: an owner with a wallet and credits, and agents with a key.
type honest struct {
	demo    demo
	counts  counts
	owner   *wallet.Key // signs in
	console *sdk.Console
	payer   *wallet.Payer // for deposits and calls
	clients atomic.Int64  // that were made, each of which has an address of its own
}

// newHonest signs the owner in, for whom a key is made.
func newHonest(ctx context.Context, cfg config) (*honest, error) {
	h := &honest{demo: cfg.demo}
	var err error
	if h.owner, err = wallet.New(); err != nil {
		return nil, err
	}
	if h.console, err = h.signIn(ctx); err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	if _, err := h.console.CreateKey(ctx, "honest", ""); err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	key, err := wallet.ParseKey(cfg.demo.Wallet.PrivateKey)
	if err != nil {
		return nil, err
	}
	h.payer, err = wallet.NewPayer(ctx, wallet.Config{
		Key: key, RPCURL: cfg.demo.Chain.RPCURL, ChainID: cfg.demo.Chain.ChainID, Token: cfg.demo.Chain.Token, Dir: cfg.dir,
		Policy: wallet.Policy{PerDay: 1_000_000_000, PerMonth: 1_000_000_000},
	})
	if err != nil {
		return nil, fmt.Errorf("open wallet: %w", err)
	}
	return h, nil
}

// play acts until ctx is done.
func (h *honest) play(ctx context.Context) {
	key := sdk.WithAPIKey(sdk.NewKey(h.demo.APIKey))
	var all sync.WaitGroup
	do := func(name string, pause time.Duration, act func(context.Context) error) {
		all.Go(func() { every(ctx, &h.counts, name, pause, act) })
	}
	for range 2 {
		caller := h.client(key)
		do("call with a key", 50*time.Millisecond, func(ctx context.Context) error {
			_, err := caller.Cite(ctx, "", 1)
			return err
		})
	}
	do("sign in", time.Second, func(ctx context.Context) error {
		_, err := h.signIn(ctx)
		return err
	})
	do("look at the console", 200*time.Millisecond, func(ctx context.Context) error {
		_, err := h.console.Balance(ctx, "")
		return err
	})
	do("buy", 3*time.Second, h.buy)
	paying := h.client(sdk.WithPayer(h.payer))
	do("pay for a call", 2*time.Second, func(ctx context.Context) error {
		_, err := paying.Cite(ctx, "", 1)
		return err
	})
	do("open a stream", time.Second, func(ctx context.Context) error { return h.stream(ctx, key) })
	do("MCP session and tool", time.Second, h.tool)
	all.Wait()
}

// http makes an HTTP client at an address of its own.
func (h *honest) http() *http.Client { return newHTTP(host(2, int(h.clients.Add(1))), nil) }

// client makes a client at an address of its own.
func (h *honest) client(options ...sdk.Option) *sdk.Client {
	c, err := newClient(h.demo, h.http(), options...)
	if err != nil {
		panic(err) // the address of the demo was good before
	}
	return c
}

// signIn signs the owner in, from an address that was not used before.
func (h *honest) signIn(ctx context.Context) (*sdk.Console, error) {
	console := h.client().Console("")
	_, err := console.ByWallet(ctx, h.owner, "")
	return console, err
}

// buy buys credits.
func (h *honest) buy(ctx context.Context) error {
	intent, err := h.console.Buy(ctx, api.CreditStarter, "")
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	d, err := h.console.PayDeposit(ctx, intent, h.payer)
	if err == nil && d.Status != api.DepositVerified {
		err = fmt.Errorf("the deposit is %s", d.Status)
	}
	return err
}

// stream opens a stream and reads its first state.
func (h *honest) stream(ctx context.Context, key sdk.Option) error {
	for event, err := range h.client(key).Subscribe(sdk.SubscribeRequest{Repeats: true}).Events(ctx) {
		if err != nil {
			return err
		}
		if event.Type == api.EventPulse || event.Type == api.EventDelta {
			return nil
		}
	}
	return errors.New("the stream ended without a state")
}

// tool opens a session of MCP, calls a tool in it and closes it.
func (h *honest) tool(ctx context.Context) error {
	client := h.http()
	defer client.CloseIdleConnections()
	withKey := &oauth2.Transport{Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: h.demo.APIKey}), Base: client.Transport}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "honest", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: h.demo.BaseURL + api.PathMCP, HTTPClient: &http.Client{Transport: withKey},
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "context.cite", Arguments: map[string]any{"ref": 1}})
	if err == nil && result.IsError {
		err = errors.New("the tool failed")
	}
	return errors.Join(err, session.Close())
}

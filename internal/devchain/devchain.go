//go:build !nodevchain

package devchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

// Chain is a running chain. Make one with Open; it is safe for concurrent use.
type Chain struct {
	keys   keys
	ledger *ledger
	sealer *sealer
	server *rpc.Server
	http   *http.Server
	url    string
	client *ethclient.Client
	token  common.Address
	usdg   *TestUSDG

	closed   sync.Once
	closeErr error
}

// Open starts a chain and, if it is new, puts the token on it and fills its wallet.
func Open(ctx context.Context, cfg Config) (*Chain, error) {
	k, err := loadKeys(cfg.Dir)
	if err != nil {
		return nil, err
	}
	c := &Chain{keys: k, usdg: NewTestUSDG()}
	if err := c.start(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("start chain: %w", err), c.Close())
	}
	if err := c.found(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("put token on chain: %w", err), c.Close())
	}
	return c, nil
}

// start opens the ledger and answers for it. What it made is in c, also when it fails.
func (c *Chain) start(ctx context.Context, cfg Config) (err error) {
	if c.ledger, err = openLedger(cfg.Dir, genesisOf(c.keys, cmp.Or(cfg.ChainID, ChainID))); err != nil {
		return err
	}
	if c.server, err = newServer(c.ledger); err != nil {
		return err
	}
	if err := c.listen(ctx, cfg.Listen); err != nil {
		return fmt.Errorf("listen on %q: %w", cfg.Listen, err)
	}
	c.client = ethclient.NewClient(rpc.DialInProc(c.server))
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	c.sealer = startSealer(context.WithoutCancel(ctx), c.ledger, now, cfg.Ahead)
	return nil
}

func (c *Chain) listen(ctx context.Context, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	limits := rpc.DefaultHTTPTimeouts
	c.http = &http.Server{
		Handler: knownHosts(c.server), ReadTimeout: limits.ReadTimeout, ReadHeaderTimeout: limits.ReadHeaderTimeout,
		WriteTimeout: limits.WriteTimeout, IdleTimeout: limits.IdleTimeout,
	}
	c.url = "http://" + listener.Addr().String()
	go func() { _ = c.http.Serve(listener) }()
	return nil
}

// knownHosts lets a page in a browser that has another name resolve to this machine ask nothing.
func knownHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "" && net.ParseIP(host) == nil && !strings.EqualFold(host, "localhost") {
			http.Error(w, "invalid host specified", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Close stops the chain. What was confirmed is there when it is opened again. Closing a nil Chain does nothing.
func (c *Chain) Close() error {
	if c == nil {
		return nil
	}
	c.closed.Do(func() { c.closeErr = c.stop() })
	return c.closeErr
}

// stop ends what start began, in the opposite order.
func (c *Chain) stop() error {
	if c.sealer != nil {
		c.sealer.stop()
	}
	if c.client != nil {
		c.client.Close()
	}
	var err error
	if c.http != nil {
		err = c.http.Close()
	}
	if c.server != nil {
		c.server.Stop()
	}
	if c.ledger != nil {
		err = errors.Join(err, c.ledger.close())
	}
	return err
}

// ID is the id of the chain.
func (c *Chain) ID() int64 { return c.ledger.id() }

// URL is where the chain answers JSON-RPC.
func (c *Chain) URL() string { return c.url }

// Genesis is the hash of the first block, which tells one chain from another.
func (c *Chain) Genesis() string { return c.ledger.chain.Genesis().Hash().Hex() }

// Token is the address of the USDG test token.
func (c *Chain) Token() string { return c.token.Hex() }

// Treasury is the address of an account that is meant to be paid to.
func (c *Chain) Treasury() string { return c.keys.treasury.account().Address }

// Wallet is the account that has money to pay with: ether and USDG.
func (c *Chain) Wallet() Account { return c.keys.wallet.account() }

// Gas is an account that has ether and nothing else, to settle with what others allow.
func (c *Chain) Gas() Account { return c.keys.gas().account() }

// keyFile is the name of the file with the keys, in the directory of the chain.
func keyFile(dir string) string { return filepath.Join(dir, "accounts.json") }

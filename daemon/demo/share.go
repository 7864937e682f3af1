package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/internal/devchain"
)

// The secrets under which the nodes of a demo on PostgreSQL share its chain and its key. The chain comes first, with the node that hosts
// it; the key when that node has made the history.
const (
	secretChain = "demo.chain"
	secretKey   = "demo.key"
)

// firstWait is how long a node waits for the first one of its demo.
const firstWait = 2 * time.Minute

// Money is the chain of a demo, in this process or another.
type Money struct {
	Chain  *Chain            `json:"chain,omitempty"` // absent where the program was built without one, as the others
	Wallet *devchain.Account `json:"wallet,omitempty"`
	Gas    *devchain.Account `json:"gas,omitempty"`

	hosted *devchain.Chain // in this process
	shared bool            // with other nodes
}

// moneyOf is that of a chain that this process hosts, nil for none.
func moneyOf(c *devchain.Chain) *Money {
	if c == nil {
		return &Money{}
	}
	wallet, gas := c.Wallet(), c.Gas()
	return &Money{
		Chain:  &Chain{RPCURL: c.URL(), ChainID: devchain.ChainID, Token: c.Token(), Treasury: c.Treasury()},
		Wallet: &wallet, Gas: &gas, hosted: c,
	}
}

// chainDir is the name, in the data directory, of the directory of a demo's chain.
const chainDir = "chain"

// openChain starts the chain of a demo, nil in a program without one: calls are paid with keys alone then.
func openChain(ctx context.Context, dir, listen string) (*devchain.Chain, error) {
	c, err := devchain.Open(ctx, devchain.Config{Dir: filepath.Join(dir, chainDir), Listen: listen})
	if errors.Is(err, devchain.ErrLeftOut) {
		return nil, nil
	}
	return c, err
}

func findChain(ctx context.Context, cfg Config) (*Money, error) {
	if cfg.StoreURL != "" {
		return shareChain(ctx, cfg)
	}
	c, err := openChain(ctx, cfg.DataDir, cfg.ChainListen)
	return moneyOf(c), err
}

// shareChain finds the chain of a demo on PostgreSQL. The first node makes it and hosts it, also when it is started again; all others reach
// it where that one listens, and wait here until it has made the history.
func shareChain(ctx context.Context, cfg Config) (m *Money, err error) {
	s, err := store.Open(ctx, cfg.StoreURL, cfg.Now())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var mine *Money
	begin := func(listen string) error {
		c, err := openChain(ctx, cfg.DataDir, listen)
		mine = moneyOf(c)
		return err
	}
	text, err := s.Secret(ctx, secretChain, func() ([]byte, error) {
		if err := begin(cfg.ChainListen); err != nil {
			return nil, err
		}
		return json.Marshal(mine)
	})
	if err != nil {
		return nil, errors.Join(err, mine.Close())
	}
	m = &Money{shared: true}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, errors.Join(fmt.Errorf("read chain of the demo: %w", err), mine.Close())
	}
	if mine != nil && mine.same(m) {
		m.hosted = mine.hosted
		return m, nil
	}
	if mine != nil { // another node was first
		if err := errors.Join(mine.Close(), os.RemoveAll(filepath.Join(cfg.DataDir, chainDir))); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(filepath.Join(cfg.DataDir, chainDir)); err == nil && m.Chain != nil {
		at, err := url.Parse(m.Chain.RPCURL)
		if err == nil {
			err = begin(at.Host) // where the others look for it
		}
		if err != nil || !mine.same(m) {
			return nil, errors.Join(fmt.Errorf("the chain in %s is not that of the demo in the database: give another --data-dir",
				cfg.DataDir), err, mine.Close())
		}
		m.hosted = mine.hosted
		return m, nil
	}
	return m, awaitFirst(ctx, s)
}

// errNotFirst says that the first node of a demo has not made its history.
var errNotFirst = errors.New("the first node of this demo has not made its history\n  try: start it again, with its data directory")

// awaitFirst waits until the first node has made what all have.
func awaitFirst(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	for {
		_, err := s.Secret(ctx, secretKey, func() ([]byte, error) { return nil, errNotFirst })
		if !errors.Is(err, errNotFirst) {
			return err
		}
		select {
		case <-ctx.Done():
			return errNotFirst
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// same reports whether two are the same chain.
func (m *Money) same(other *Money) bool {
	if m == nil || m.Chain == nil || other.Chain == nil {
		return m != nil && m.Chain == other.Chain
	}
	return m.Chain.Treasury == other.Chain.Treasury
}

// Close ends the chain, if it is in this process.
func (m *Money) Close() error {
	if m == nil {
		return nil
	}
	return m.hosted.Close()
}

// first reports whether this node makes what all nodes of the demo have.
func (m *Money) first() bool { return !m.shared || m.hosted != nil || m.Chain == nil }

package daemon

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
	secretDemoChain = "demo.chain"
	secretDemoKey   = "demo.key"
)

// demoWait is how long a node waits for the first one of its demo.
const demoWait = 2 * time.Minute

// demoMoney is the chain of a demo, in this process or another.
type demoMoney struct {
	Chain  *DemoChain        `json:"chain,omitempty"` // absent where the program was built without one, as the others
	Wallet *devchain.Account `json:"wallet,omitempty"`
	Gas    *devchain.Account `json:"gas,omitempty"`

	hosted *devchain.Chain // in this process
	shared bool            // with other nodes
}

// moneyOf is that of a chain that this process hosts, nil for none.
func moneyOf(c *devchain.Chain) *demoMoney {
	if c == nil {
		return &demoMoney{}
	}
	wallet, gas := c.Wallet(), c.Gas()
	return &demoMoney{
		Chain:  &DemoChain{RPCURL: c.URL(), ChainID: devchain.ChainID, Token: c.Token(), Treasury: c.Treasury()},
		Wallet: &wallet, Gas: &gas, hosted: c,
	}
}

// pays has cfg take payments on the chain.
func (m *demoMoney) pays(cfg *Config) {
	if m.Chain == nil {
		return
	}
	cfg.ChainID, cfg.Chain = m.Chain.ChainID, &Chain{
		RPCURL: m.Chain.RPCURL, Token: m.Chain.Token, Treasury: m.Chain.Treasury, SettleKey: m.Gas.PrivateKey,
		TokenName: devchain.TokenName, TokenVersion: devchain.TokenVersion,
	}
}

// shareChain finds the chain of a demo on PostgreSQL. The first node makes it and hosts it, also when it is started again; all others reach
// it where that one listens, and wait here until it has made the history.
func shareChain(ctx context.Context, cfg Config, listen string) (m *demoMoney, err error) {
	s, err := store.Open(ctx, cfg.StoreURL, cfg.Now())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var mine *demoMoney
	begin := func(listen string) error {
		c, err := openDemoChain(ctx, cfg.DataDir, listen)
		mine = moneyOf(c)
		return err
	}
	text, err := s.Secret(ctx, secretDemoChain, func() ([]byte, error) {
		if err := begin(listen); err != nil {
			return nil, err
		}
		return json.Marshal(mine)
	})
	if err != nil {
		return nil, errors.Join(err, mine.close())
	}
	m = &demoMoney{shared: true}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, errors.Join(fmt.Errorf("read chain of the demo: %w", err), mine.close())
	}
	if mine != nil && mine.same(m) {
		m.hosted = mine.hosted
		return m, nil
	}
	if mine != nil { // another node was first
		if err := errors.Join(mine.close(), os.RemoveAll(filepath.Join(cfg.DataDir, chainDir))); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(filepath.Join(cfg.DataDir, chainDir)); err == nil && m.Chain != nil {
		at, err := url.Parse(m.Chain.RPCURL)
		if err == nil {
			err = begin(at.Host) // where the others look for it
		}
		if err != nil || !mine.same(m) {
			return nil, errors.Join(fmt.Errorf("the chain in %s is not that of the demo in the database: give another --data-dir",
				cfg.DataDir), err, mine.close())
		}
		m.hosted = mine.hosted
		return m, nil
	}
	return m, awaitDemo(ctx, s)
}

// errNoDemo says that the first node of a demo has not made its history.
var errNoDemo = errors.New("the first node of this demo has not made its history\n  try: start it again, with its data directory")

// awaitDemo waits until the first node has made what all have.
func awaitDemo(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	for {
		_, err := s.Secret(ctx, secretDemoKey, func() ([]byte, error) { return nil, errNoDemo })
		if !errors.Is(err, errNoDemo) {
			return err
		}
		select {
		case <-ctx.Done():
			return errNoDemo
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// same reports whether two are the same chain.
func (m *demoMoney) same(other *demoMoney) bool {
	if m == nil || m.Chain == nil || other.Chain == nil {
		return m != nil && m.Chain == other.Chain
	}
	return m.Chain.Treasury == other.Chain.Treasury
}

// close ends the chain, if it is in this process.
func (m *demoMoney) close() error {
	if m == nil {
		return nil
	}
	return m.hosted.Close()
}

// first reports whether this node makes what all nodes of the demo have.
func (m *demoMoney) first() bool { return !m.shared || m.hosted != nil || m.Chain == nil }

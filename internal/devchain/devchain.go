//go:build !nodevchain

package devchain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/contextd/contextd/internal/devchain/token"
)

const (
	name     = "devchain" // of the node, and of the directory in that of a chain
	gasLimit = 30_000_000
	cacheMB  = 16 // of each of the node's caches
)

// Chain is a running chain. Make one with Open; it is safe for concurrent use.
type Chain struct {
	keys   keys
	node   *node.Node
	eth    *eth.Ethereum
	client *ethclient.Client
	miner  *miner
	token  common.Address
	usdg   *token.TestUSDG
}

// Open starts a chain and, if it is new, puts the token on it and fills its wallet.
func Open(ctx context.Context, cfg Config) (*Chain, error) {
	k, err := loadKeys(cfg.Dir)
	if err != nil {
		return nil, err
	}
	c := &Chain{keys: k, usdg: token.NewTestUSDG()}
	if err := c.start(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("start chain: %w", err), c.Close())
	}
	if err := c.found(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("put token on chain: %w", err), c.Close())
	}
	return c, nil
}

// start assembles the node. What it made is in c, also when it fails.
func (c *Chain) start(cfg Config) error {
	host, portText, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", cfg.Listen, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", cfg.Listen, err)
	}
	nc := node.DefaultConfig
	nc.Name, nc.DataDir = name, cfg.Dir
	// With Pebble, a block can be seen, and be gone after a kill, until it is synced. LevelDB has handed to the system whatever can be seen.
	if nc.DBEngine = rawdb.DBLeveldb; rawdb.PreexistingDatabase(filepath.Join(cfg.Dir, name, "chaindata")) != "" {
		nc.DBEngine = "" // the one that is there
	}
	nc.P2P = p2p.Config{NoDiscovery: true, NoDial: true} // and no address to listen on
	nc.IPCPath, nc.UseLightweightKDF = "", true
	nc.HTTPHost, nc.HTTPPort, nc.HTTPModules = host, port, []string{"eth", "net", "web3"}
	nc.HTTPVirtualHosts = []string{"localhost"}
	if c.node, err = node.New(&nc); err != nil {
		return err
	}
	if c.eth, err = eth.New(c.node, ethConfig(c.keys)); err != nil {
		return err
	}
	c.node.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(filters.NewFilterSystem(c.eth.APIBackend, filters.Config{}))}})
	// Its own API would seal several blocks a second, each a second later than the one before.
	sim, err := catalyst.NewSimulatedBeacon(0, common.Address{}, c.eth)
	if err != nil {
		return err
	}
	if err := c.node.Start(); err != nil {
		return err
	}
	c.eth.SetSynced()
	c.client = ethclient.NewClient(c.node.Attach())
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	c.miner = startMiner(c.eth, sim, now)
	return nil
}

// ethConfig is the configuration of a chain whose accounts are those of k.
func ethConfig(k keys) *ethconfig.Config {
	chain := *params.AllDevChainProtocolChanges // shared by all who use it
	chain.ChainID = big.NewInt(ChainID)
	chain.OsakaTime, chain.BogotaTime = nil, nil // of which the second prices gas as no chain of today does
	rich := new(big.Int).Mul(big.NewInt(1_000), big.NewInt(params.Ether))
	alloc := core.SystemContractAllocs()
	maps.Copy(alloc, types.GenesisAlloc{
		k.owner.address(): {Balance: rich}, k.wallet.address(): {Balance: rich},
	})
	ec := ethconfig.Defaults
	ec.NetworkId, ec.SyncMode = ChainID, ethconfig.FullSync
	ec.Genesis = &core.Genesis{
		Config: &chain, GasLimit: gasLimit, BaseFee: big.NewInt(params.InitialBaseFee), Difficulty: new(big.Int), Alloc: alloc,
	}
	ec.TxPool.NoLocals, ec.TxPool.Journal, ec.LogNoHistory = true, "", true
	ec.Miner.GasCeil, ec.Miner.GasPrice = gasLimit, big.NewInt(1)
	ec.StateScheme, ec.NoPruning = rawdb.HashScheme, true // with a sync after each block, all that survives kill -9
	ec.DatabaseCache, ec.TrieCleanCache, ec.TrieDirtyCache, ec.SnapshotCache, ec.DatabaseHandles = cacheMB, cacheMB, cacheMB, 0, 64
	return &ec
}

// Close stops the chain. What was confirmed is there when it is opened again. Closing a nil Chain does nothing.
func (c *Chain) Close() error {
	if c == nil {
		return nil
	}
	if c.miner != nil {
		c.miner.stop()
	}
	if c.client != nil {
		c.client.Close()
	}
	if c.node == nil {
		return nil
	}
	return c.node.Close()
}

// URL is where the chain answers JSON-RPC.
func (c *Chain) URL() string { return c.node.HTTPEndpoint() }

// Genesis is the hash of the first block, which tells one chain from another.
func (c *Chain) Genesis() string { return c.eth.BlockChain().Genesis().Hash().Hex() }

// Token is the address of the USDG test token.
func (c *Chain) Token() string { return c.token.Hex() }

// Treasury is the address of an account that is meant to be paid to.
func (c *Chain) Treasury() string { return c.keys.treasury.account().Address }

// Wallet is the account that has money to pay with: ether and USDG.
func (c *Chain) Wallet() Account { return c.keys.wallet.account() }

// keyFile is the name of the file with the keys, in the directory of the chain.
func keyFile(dir string) string { return filepath.Join(dir, "accounts.json") }

//go:build !nodevchain

package devchain

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/txpool/legacypool"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/leveldb"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/miner"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

const (
	gasLimit = 30_000_000
	cacheMB  = 16 // of each of the caches
)

// ledger is the blocks and the transactions that wait for one. Its exported methods are those that go-ethereum's miner and gas price oracle
// ask for.
type ledger struct {
	db      ethdb.Database
	chain   *core.BlockChain
	pool    *txpool.TxPool
	builder *miner.Miner
	sealed  atomic.Uint64 // the newest block that the chain's head and the pool have followed
}

// openLedger opens the ledger in dir, or with "" a new one in memory.
func openLedger(dir string, genesis *core.Genesis) (*ledger, error) {
	l := &ledger{}
	if err := l.open(dir, genesis); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// open opens what l is made of. What it opened is in l, also when it fails.
func (l *ledger) open(dir string, genesis *core.Genesis) (err error) {
	if l.db, err = openDatabase(dir); err != nil {
		return err
	}
	engine := beacon.New(ethash.NewFaker())
	// With a sync after each block, an archive of hashed nodes is all there after kill -9.
	cfg := core.DefaultConfig().WithArchive(true).WithStateScheme(rawdb.HashScheme)
	cfg.TrieCleanLimit, cfg.TrieDirtyLimit, cfg.SnapshotLimit = 2*cacheMB, 0, 0
	if l.chain, err = core.NewBlockChain(l.db, genesis, engine, cfg); err != nil {
		return err
	}
	poolConfig := legacypool.DefaultConfig
	poolConfig.NoLocals = true
	poolConfig.Journal = ""
	l.pool, err = txpool.New(poolConfig.PriceLimit, l.chain, []txpool.SubPool{legacypool.New(poolConfig, l.chain)})
	if err != nil {
		return err
	}
	l.builder = miner.New(l, miner.Config{GasCeil: gasLimit, GasPrice: big.NewInt(1), Recommit: miner.DefaultConfig.Recommit}, engine)
	l.finalize(l.chain.CurrentBlock())
	l.sealed.Store(l.chain.CurrentBlock().Number.Uint64())
	return nil
}

// openDatabase opens the database of the chain in dir. It is LevelDB, which has handed to the system whatever can be seen: with Pebble, a
// block can be seen, and be gone after a kill, until it is synced.
func openDatabase(dir string) (ethdb.Database, error) {
	if dir == "" {
		return rawdb.Open(memorydb.New(), rawdb.OpenOptions{})
	}
	const handles = 64
	dir = filepath.Join(dir, "devchain", "chaindata")
	if rawdb.PreexistingDatabase(dir) == rawdb.DBPebble {
		return nil, fmt.Errorf("%s is of an old version and cannot be read: remove it", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	store, err := leveldb.New(dir, cacheMB, handles, "", false)
	if err != nil {
		return nil, err
	}
	db, err := rawdb.Open(store, rawdb.OpenOptions{Ancient: filepath.Join(dir, "ancient")})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return db, nil
}

func (l *ledger) id() int64 { return l.chain.Config().ChainID.Int64() }

// genesisOf is the first block of a chain whose accounts are those of k.
func genesisOf(k keys, id int64) *core.Genesis {
	chain := *params.AllDevChainProtocolChanges // shared by all who use it
	chain.ChainID = big.NewInt(id)
	chain.OsakaTime = nil // of which the second prices gas as no chain of today does
	chain.BogotaTime = nil
	rich := new(big.Int).Mul(big.NewInt(1_000), big.NewInt(params.Ether))
	alloc := core.SystemContractAllocs()
	maps.Copy(alloc, types.GenesisAlloc{
		k.owner.address(): {Balance: rich}, k.wallet.address(): {Balance: rich},
	})
	return &core.Genesis{
		Config: &chain, GasLimit: gasLimit, BaseFee: big.NewInt(params.InitialBaseFee), Difficulty: new(big.Int), Alloc: alloc,
	}
}

// seal makes a block of what waits, with the given time, and puts it on disk.
func (l *ledger) seal(ctx context.Context, at uint64) error {
	args := &miner.BuildPayloadArgs{
		Parent: l.chain.CurrentBlock().Hash(), Timestamp: at, Withdrawals: types.Withdrawals{}, BeaconRoot: new(common.Hash),
	}
	if _, err := rand.Read(args.Random[:]); err != nil {
		return err
	}
	payload, err := l.builder.BuildPayload(ctx, args, false)
	if err != nil {
		return err
	}
	payload.ResolveFull()
	block, _, _, _ := payload.FullBlockAndReceipts()
	if _, err := l.chain.InsertBlockWithoutSetHead(ctx, block, false); err != nil {
		return err
	}
	if _, err := l.chain.SetCanonical(block); err != nil {
		return err
	}
	l.finalize(block.Header())
	err = errors.Join(l.db.SyncKeyValue(), l.pool.Sync()) // or the pool would offer for a while what is in the block
	l.sealed.Store(block.NumberU64())
	return err
}

// finalize makes head safe, and final what is so far back as it would be elsewhere.
func (l *ledger) finalize(head *types.Header) {
	const epoch = 32 // blocks
	l.chain.SetFinalized(l.chain.GetHeaderByNumber(head.Number.Uint64() / epoch * epoch))
	l.chain.SetSafe(head)
}

func (l *ledger) close() error {
	var errs []error
	if l.pool != nil {
		errs = append(errs, l.pool.Close())
	}
	if l.chain != nil {
		l.chain.Stop()
	}
	if l.db != nil {
		errs = append(errs, l.db.Close())
	}
	return errors.Join(errs...)
}

// BlockChain is the chain.
func (l *ledger) BlockChain() *core.BlockChain { return l.chain }

// TxPool is what waits for a block.
func (l *ledger) TxPool() *txpool.TxPool { return l.pool }

// ChainConfig is the rules of the chain.
func (l *ledger) ChainConfig() *params.ChainConfig { return l.chain.Config() }

// Pending is the block that would come next.
func (l *ledger) Pending() (*types.Block, types.Receipts, *state.StateDB) { return l.builder.Pending() }

// SubscribeChainHeadEvent sends every new block to ch.
func (l *ledger) SubscribeChainHeadEvent(ch chan<- core.ChainHeadEvent) event.Subscription {
	return l.chain.SubscribeChainHeadEvent(ch)
}

// GetReceipts is the receipts of a block.
func (l *ledger) GetReceipts(_ context.Context, hash common.Hash) (types.Receipts, error) {
	return l.chain.GetReceiptsByHash(hash), nil
}

// HeaderByNumber is the header of the block with a number or a tag, nil where there is none.
func (l *ledger) HeaderByNumber(_ context.Context, number rpc.BlockNumber) (*types.Header, error) {
	switch number {
	case rpc.PendingBlockNumber:
		block, _, _ := l.Pending()
		if block == nil {
			return nil, errors.New("pending block is not available")
		}
		return block.Header(), nil
	case rpc.LatestBlockNumber:
		return l.chain.CurrentBlock(), nil
	case rpc.SafeBlockNumber:
		return l.chain.CurrentSafeBlock(), nil
	case rpc.FinalizedBlockNumber:
		return l.chain.CurrentFinalBlock(), nil
	case rpc.EarliestBlockNumber:
		number = 0
	}
	return l.chain.GetHeaderByNumber(uint64(number)), nil
}

// BlockByNumber is the block with a number or a tag, nil where there is none.
func (l *ledger) BlockByNumber(ctx context.Context, number rpc.BlockNumber) (*types.Block, error) {
	if number == rpc.PendingBlockNumber {
		block, _, _ := l.Pending()
		return block, nil
	}
	header, err := l.HeaderByNumber(ctx, number)
	if header == nil {
		return nil, err
	}
	return l.chain.GetBlock(header.Hash(), header.Number.Uint64()), nil
}

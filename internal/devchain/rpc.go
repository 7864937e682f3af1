//go:build !nodevchain

package devchain

import (
	"context"
	"errors"
	"math/big"
	"runtime"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/gasprice"
	"github.com/ethereum/go-ethereum/rpc"
)

// newServer makes the server of JSON-RPC of a ledger. go-ethereum's own methods are internal to it but for those of a whole node, which
// brings storage engines and a network along; these are the ones that wallets and client libraries use, with the same answers.
func newServer(l *ledger) (*rpc.Server, error) {
	const batchItems, batchBytes = 1000, 25_000_000
	server := rpc.NewServer()
	server.SetBatchLimits(batchItems, batchBytes)
	prices := gasprice.NewOracle(l, gasprice.Config{
		Blocks: 20, Percentile: 60, MaxHeaderHistory: 1024, MaxBlockHistory: 1024,
		MaxPrice: gasprice.DefaultMaxPrice, IgnorePrice: gasprice.DefaultIgnorePrice,
	}, big.NewInt(1))
	return server, errors.Join(
		server.RegisterName("eth", &ethAPI{l, prices}), server.RegisterName("net", netAPI{l}), server.RegisterName("web3", web3API{}),
	)
}

type netAPI struct{ ledger *ledger }

// Version is the id of the network.
func (a netAPI) Version() string { return strconv.FormatInt(a.ledger.id(), 10) }

type web3API struct{}

// ClientVersion names the program.
func (web3API) ClientVersion() string {
	return "devchain/" + runtime.GOOS + "-" + runtime.GOARCH + "/" + runtime.Version()
}

type ethAPI struct {
	ledger *ledger
	prices *gasprice.Oracle
}

// ChainId is the id of the chain.
func (a *ethAPI) ChainId() hexutil.Uint64 { return hexutil.Uint64(a.ledger.id()) }

// BlockNumber is the number of the newest block.
func (a *ethAPI) BlockNumber() hexutil.Uint64 {
	return hexutil.Uint64(a.ledger.chain.CurrentBlock().Number.Uint64())
}

// Syncing says that the chain waits for no other.
func (a *ethAPI) Syncing() bool { return false }

// Accounts is the accounts that the chain signs for: none.
func (a *ethAPI) Accounts() []common.Address { return []common.Address{} }

// MaxPriorityFeePerGas is a tip that a transaction does well to offer.
func (a *ethAPI) MaxPriorityFeePerGas(ctx context.Context) (*hexutil.Big, error) {
	tip, err := a.prices.SuggestTipCap(ctx)
	return (*hexutil.Big)(tip), err
}

// GasPrice is a price that a transaction without a tip does well to offer.
func (a *ethAPI) GasPrice(ctx context.Context) (*hexutil.Big, error) {
	tip, err := a.prices.SuggestTipCap(ctx)
	if err != nil {
		return nil, err
	}
	return (*hexutil.Big)(tip.Add(tip, a.ledger.chain.CurrentBlock().BaseFee)), nil
}

// FeeHistory is what gas did cost in the blocks up to last.
func (a *ethAPI) FeeHistory(ctx context.Context, n math.HexOrDecimal64, last rpc.BlockNumber, percentiles []float64) (object, error) {
	oldest, rewards, base, used, blobBase, blobUsed, err := a.prices.FeeHistory(ctx, uint64(n), last, percentiles)
	if err != nil {
		return nil, err
	}
	prices := func(list []*big.Int) []*hexutil.Big {
		return each(list, func(n *big.Int) *hexutil.Big { return (*hexutil.Big)(n) })
	}
	return object{
		"oldestBlock": (*hexutil.Big)(oldest), "reward": each(rewards, prices), "baseFeePerGas": prices(base), "gasUsedRatio": used,
		"baseFeePerBlobGas": prices(blobBase), "blobGasUsedRatio": blobUsed,
	}, nil
}

func each[T, U any](list []T, of func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = of(v)
	}
	return out
}

// header is the header of a block, by default of the newest one.
func (a *ethAPI) header(ctx context.Context, at *rpc.BlockNumberOrHash) (header *types.Header, err error) {
	switch {
	case at != nil && at.BlockHash != nil:
		header = a.ledger.chain.GetHeaderByHash(*at.BlockHash)
	case at != nil && at.BlockNumber != nil:
		header, err = a.ledger.HeaderByNumber(ctx, *at.BlockNumber)
	default:
		header = a.ledger.chain.CurrentBlock()
	}
	if header == nil && err == nil {
		err = errors.New("header not found")
	}
	return header, err
}

// isPending says whether what would come next is asked for.
func isPending(at *rpc.BlockNumberOrHash) bool {
	return at != nil && at.BlockNumber != nil && *at.BlockNumber == rpc.PendingBlockNumber
}

// state is the state after a block, by default after the newest one.
func (a *ethAPI) state(ctx context.Context, at *rpc.BlockNumberOrHash) (*state.StateDB, *types.Header, error) {
	if isPending(at) {
		block, _, db := a.ledger.Pending()
		if block == nil {
			return nil, nil, errors.New("pending state is not available")
		}
		return db, block.Header(), nil
	}
	header, err := a.header(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	db, err := a.ledger.chain.StateAt(header.Root, header.Number, header.Time)
	return db, header, err
}

// read reads from the state after a block.
func read[T any](ctx context.Context, a *ethAPI, at *rpc.BlockNumberOrHash, get func(*state.StateDB) T) (value T, err error) {
	db, _, err := a.state(ctx, at)
	if err != nil {
		return value, err
	}
	value = get(db)
	return value, db.Error()
}

// GetBalance is the ether of an account, in wei.
func (a *ethAPI) GetBalance(ctx context.Context, who common.Address, at *rpc.BlockNumberOrHash) (*hexutil.Big, error) {
	return read(ctx, a, at, func(db *state.StateDB) *hexutil.Big { return (*hexutil.Big)(db.GetBalance(who).ToBig()) })
}

// GetCode is the code of a contract.
func (a *ethAPI) GetCode(ctx context.Context, who common.Address, at *rpc.BlockNumberOrHash) (hexutil.Bytes, error) {
	return read(ctx, a, at, func(db *state.StateDB) hexutil.Bytes { return db.GetCode(who) })
}

// GetStorageAt is a word of a contract's storage.
func (a *ethAPI) GetStorageAt(ctx context.Context, who common.Address, key string, at *rpc.BlockNumberOrHash) (common.Hash, error) {
	return read(ctx, a, at, func(db *state.StateDB) common.Hash { return db.GetState(who, common.HexToHash(key)) })
}

// GetTransactionCount is the nonce of an account's next transaction.
func (a *ethAPI) GetTransactionCount(ctx context.Context, who common.Address, at *rpc.BlockNumberOrHash) (hexutil.Uint64, error) {
	if isPending(at) {
		return hexutil.Uint64(a.ledger.pool.PoolNonce(who)), nil
	}
	return read(ctx, a, at, func(db *state.StateDB) hexutil.Uint64 { return hexutil.Uint64(db.GetNonce(who)) })
}

//go:build !nodevchain

package devchain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/gasestimator"
	"github.com/ethereum/go-ethereum/rpc"
)

const (
	maxCallGas  = 50_000_000
	maxCallTime = 5 * time.Second
)

// callArgs is a transaction that is only tried.
type callArgs struct {
	From              common.Address
	To                *common.Address
	Gas               hexutil.Uint64
	Data, Input       hexutil.Bytes // the second is the newer name, and goes before
	AccessList        types.AccessList
	AuthorizationList []types.SetCodeAuthorization

	Value, GasPrice, MaxFeePerGas, MaxPriorityFeePerGas *hexutil.Big
}

// message is the transaction as go-ethereum tries it after a block.
func (c callArgs) message(base *big.Int) (*core.Message, error) {
	if c.GasPrice != nil {
		if c.MaxFeePerGas != nil || c.MaxPriorityFeePerGas != nil {
			return nil, errors.New("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
		}
		c.MaxFeePerGas = c.GasPrice
		c.MaxPriorityFeePerGas = c.GasPrice
	}
	for _, n := range []**hexutil.Big{&c.MaxFeePerGas, &c.MaxPriorityFeePerGas, &c.Value} {
		if *n == nil {
			*n = new(hexutil.Big)
		}
	}
	m := &core.Message{
		From: c.From, To: c.To, GasLimit: min(uint64(c.Gas), maxCallGas), Data: c.Data,
		AccessList: c.AccessList, SetCodeAuthorizations: c.AuthorizationList,
	}
	if c.Input != nil {
		m.Data = c.Input
	}
	m.Value, _ = c.Value.ToUint256()
	m.GasFeeCap, _ = c.MaxFeePerGas.ToUint256()
	m.GasTipCap, _ = c.MaxPriorityFeePerGas.ToUint256()
	m.GasPrice, _ = (*hexutil.Big)(paid(c.MaxFeePerGas.ToInt(), c.MaxPriorityFeePerGas.ToInt(), base)).ToUint256()
	return m.SkipNonceCheck().SkipEOACheck().SkipGasLimitCapCheck(), nil
}

// Call is what a contract answers.
func (a *ethAPI) Call(ctx context.Context, args callArgs, at *rpc.BlockNumberOrHash) (hexutil.Bytes, error) {
	db, header, err := a.state(ctx, at)
	if err != nil {
		return nil, err
	}
	m, err := args.message(header.BaseFee)
	if err != nil {
		return nil, err
	}
	if m.GasLimit == 0 {
		m.GasLimit = maxCallGas
	}
	block := core.NewEVMBlockContext(header, a.ledger.chain, nil)
	if m.GasPrice.Sign() == 0 {
		block.BaseFee = new(big.Int) // or it would not be paid
	}
	evm := vm.NewEVM(block, db, a.ledger.ChainConfig(), vm.Config{NoBaseFee: true})
	defer evm.Release()
	ctx, cancel := context.WithTimeout(ctx, maxCallTime)
	defer cancel()
	defer context.AfterFunc(ctx, evm.Cancel)()
	result, err := core.ApplyMessage(evm, m.SkipExecutionGasCapCheck(), core.NewGasPool(maxCallGas))
	switch {
	case db.Error() != nil:
		return nil, db.Error()
	case evm.Cancelled():
		return nil, fmt.Errorf("execution aborted (timeout = %v)", maxCallTime)
	case err != nil:
		return nil, fmt.Errorf("err: %w (supplied gas %d)", err, m.GasLimit)
	case errors.Is(result.Err, vm.ErrExecutionReverted):
		return nil, newRevertError(result.Revert())
	}
	return result.Return(), result.Err
}

// EstimateGas is how much gas a transaction takes.
func (a *ethAPI) EstimateGas(ctx context.Context, args callArgs, at *rpc.BlockNumberOrHash) (hexutil.Uint64, error) {
	db, header, err := a.state(ctx, at)
	if err != nil {
		return 0, err
	}
	m, err := args.message(header.BaseFee)
	if err != nil {
		return 0, err
	}
	gas, reverted, err := gasestimator.Estimate(ctx, m, &gasestimator.Options{
		Config: a.ledger.ChainConfig(), Chain: a.ledger.chain, Header: header, State: db, ErrorRatio: 0.015,
	}, maxCallGas)
	if errors.Is(err, vm.ErrExecutionReverted) {
		err = newRevertError(reverted)
	}
	return hexutil.Uint64(gas), err
}

// revertError says why a contract refuses, in words and as the contract does.
type revertError struct {
	error
	data []byte
}

// newRevertError is the error of a contract that refuses with data.
func newRevertError(data []byte) *revertError {
	err := vm.ErrExecutionReverted
	if reason, unpackErr := abi.UnpackRevert(data); unpackErr == nil {
		err = fmt.Errorf("%w: %v", err, reason)
	}
	return &revertError{err, data}
}

// ErrorCode is what JSON-RPC calls the error.
func (e *revertError) ErrorCode() int { return 3 }

// ErrorData is what the contract said.
func (e *revertError) ErrorData() any { return hexutil.Encode(e.data) }

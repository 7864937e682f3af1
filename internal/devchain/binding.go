//go:build !nodevchain

// Code generated via abigen V2 - DO NOT EDIT.
// This file is a generated binding and any manual changes will be lost.

package devchain

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Reference imports to suppress errors if they are not otherwise used.
var (
	_ = bytes.Equal
	_ = errors.New
	_ = big.NewInt
	_ = common.Big1
	_ = types.BloomLookup
	_ = abi.ConvertType
)

// TestUSDGMetaData contains all meta data concerning the TestUSDG contract.
var TestUSDGMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"Approval\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"Transfer\",\"type\":\"event\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"name\":\"allowance\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"approve\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"name\":\"balanceOf\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"claim\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"decimals\",\"outputs\":[{\"internalType\":\"uint8\",\"name\":\"\",\"type\":\"uint8\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"name\":\"frozen\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"mint\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"name\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"owner\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"paused\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"who\",\"type\":\"address\"},{\"internalType\":\"bool\",\"name\":\"stop\",\"type\":\"bool\"}],\"name\":\"setFrozen\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bool\",\"name\":\"stop\",\"type\":\"bool\"}],\"name\":\"setPaused\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"symbol\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"totalSupply\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transfer\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transferFrom\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "TestUSDG",
	Bin: "0x60a0604052348015600f57600080fd5b50336080526080516109a561004b60003960008181610204015281816103600152818161047501528181610555015261058a01526109a56000f3fe608060405234801561001057600080fd5b50600436106101005760003560e01c806370a0823111610097578063aad3ec9611610066578063aad3ec9614610274578063ac869cd814610287578063d05166501461029a578063dd62ed3e146102bd57600080fd5b806370a08231146101df5780638da5cb5b146101ff57806395d89b411461023e578063a9059cbb1461026157600080fd5b806323b872dd116100d357806323b872dd14610192578063313ce567146101a557806340c10f19146101bf5780635c975abb146101d257600080fd5b806306fdde0314610105578063095ea7b31461014357806316c38b3c1461016657806318160ddd1461017b575b600080fd5b61012d6040518060400160405280600981526020016854657374205553444760b81b81525081565b60405161013a91906107c6565b60405180910390f35b610156610151366004610830565b6102e8565b604051901515815260200161013a565b61017961017436600461086a565b610355565b005b61018460005481565b60405190815260200161013a565b6101566101a036600461088c565b6103b9565b6101ad600681565b60405160ff909116815260200161013a565b6101796101cd366004610830565b61046a565b6001546101569060ff1681565b6101846101ed3660046108c9565b60026020526000908152604090205481565b6102267f000000000000000000000000000000000000000000000000000000000000000081565b6040516001600160a01b03909116815260200161013a565b61012d604051806040016040528060048152602001635553444760e01b81525081565b61015661026f366004610830565b61053a565b610179610282366004610830565b610550565b6101796102953660046108e4565b61057f565b6101566102a83660046108c9565b60046020526000908152604090205460ff1681565b6101846102cb366004610917565b600360209081526000928352604080842090915290825290205481565b3360008181526003602090815260408083206001600160a01b038716808552925280832085905551919290917f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925906103439086815260200190565b60405180910390a35060015b92915050565b336001600160a01b037f000000000000000000000000000000000000000000000000000000000000000016146103a65760405162461bcd60e51b815260040161039d90610941565b60405180910390fd5b6001805460ff1916911515919091179055565b6001600160a01b0383166000908152600360209081526040808320338452909152812054828110156104265760405162461bcd60e51b8152602060048201526016602482015275696e73756666696369656e7420616c6c6f77616e636560501b604482015260640161039d565b610430838261097f565b6001600160a01b038616600090815260036020908152604080832033845290915290205561045f8585856105f2565b506001949350505050565b336001600160a01b037f000000000000000000000000000000000000000000000000000000000000000016146104b25760405162461bcd60e51b815260040161039d90610941565b806000808282546104c39190610992565b90915550506001600160a01b038216600090815260026020526040812080548392906104f0908490610992565b90915550506040518181526001600160a01b038316906000907fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef9060200160405180910390a35050565b60006105473384846105f2565b50600192915050565b61057b7f000000000000000000000000000000000000000000000000000000000000000083836105f2565b5050565b336001600160a01b037f000000000000000000000000000000000000000000000000000000000000000016146105c75760405162461bcd60e51b815260040161039d90610941565b6001600160a01b03919091166000908152600460205260409020805460ff1916911515919091179055565b60015460ff161561062e5760405162461bcd60e51b81526020600482015260066024820152651c185d5cd95960d21b604482015260640161039d565b6001600160a01b03831660009081526004602052604090205460ff1615801561067057506001600160a01b03821660009081526004602052604090205460ff16155b6106ad5760405162461bcd60e51b815260206004820152600e60248201526d30b2323932b9b990333937bd32b760911b604482015260640161039d565b6001600160a01b0382166106f85760405162461bcd60e51b81526020600482015260126024820152717472616e7366657220746f206e6f626f647960701b604482015260640161039d565b6001600160a01b038316600090815260026020526040902054818110156107585760405162461bcd60e51b8152602060048201526014602482015273696e73756666696369656e742062616c616e636560601b604482015260640161039d565b6001600160a01b0380851660008181526002602052604080822086860390559286168082529083902080548601905591517fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef906107b89086815260200190565b60405180910390a350505050565b602081526000825180602084015260005b818110156107f457602081860181015160408684010152016107d7565b506000604082850101526040601f19601f83011684010191505092915050565b80356001600160a01b038116811461082b57600080fd5b919050565b6000806040838503121561084357600080fd5b61084c83610814565b946020939093013593505050565b8035801515811461082b57600080fd5b60006020828403121561087c57600080fd5b6108858261085a565b9392505050565b6000806000606084860312156108a157600080fd5b6108aa84610814565b92506108b860208501610814565b929592945050506040919091013590565b6000602082840312156108db57600080fd5b61088582610814565b600080604083850312156108f757600080fd5b61090083610814565b915061090e6020840161085a565b90509250929050565b6000806040838503121561092a57600080fd5b61093383610814565b915061090e60208401610814565b6020808252600e908201526d37b7363c903a34329037bbb732b960911b604082015260600190565b634e487b7160e01b600052601160045260246000fd5b8181038181111561034f5761034f610969565b8082018082111561034f5761034f61096956",
}

// TestUSDG is an auto generated Go binding around an Ethereum contract.
type TestUSDG struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *TestUSDG) GetABI() abi.ABI {
	return c.abi
}

// NewTestUSDG creates a new instance of TestUSDG.
func NewTestUSDG() *TestUSDG {
	parsed, err := TestUSDGMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &TestUSDG{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *TestUSDG) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackAllowance is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdd62ed3e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function allowance(address , address ) view returns(uint256)
func (testUSDG *TestUSDG) PackAllowance(arg0 common.Address, arg1 common.Address) []byte {
	enc, err := testUSDG.abi.Pack("allowance", arg0, arg1)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAllowance is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdd62ed3e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function allowance(address , address ) view returns(uint256)
func (testUSDG *TestUSDG) TryPackAllowance(arg0 common.Address, arg1 common.Address) ([]byte, error) {
	return testUSDG.abi.Pack("allowance", arg0, arg1)
}

// UnpackAllowance is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xdd62ed3e.
//
// Solidity: function allowance(address , address ) view returns(uint256)
func (testUSDG *TestUSDG) UnpackAllowance(data []byte) (*big.Int, error) {
	out, err := testUSDG.abi.Unpack("allowance", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackApprove is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x095ea7b3.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDG *TestUSDG) PackApprove(spender common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("approve", spender, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackApprove is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x095ea7b3.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDG *TestUSDG) TryPackApprove(spender common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("approve", spender, value)
}

// UnpackApprove is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x095ea7b3.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDG *TestUSDG) UnpackApprove(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("approve", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function balanceOf(address ) view returns(uint256)
func (testUSDG *TestUSDG) PackBalanceOf(arg0 common.Address) []byte {
	enc, err := testUSDG.abi.Pack("balanceOf", arg0)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function balanceOf(address ) view returns(uint256)
func (testUSDG *TestUSDG) TryPackBalanceOf(arg0 common.Address) ([]byte, error) {
	return testUSDG.abi.Pack("balanceOf", arg0)
}

// UnpackBalanceOf is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x70a08231.
//
// Solidity: function balanceOf(address ) view returns(uint256)
func (testUSDG *TestUSDG) UnpackBalanceOf(data []byte) (*big.Int, error) {
	out, err := testUSDG.abi.Unpack("balanceOf", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackClaim is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xaad3ec96.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function claim(address to, uint256 value) returns()
func (testUSDG *TestUSDG) PackClaim(to common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("claim", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackClaim is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xaad3ec96.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function claim(address to, uint256 value) returns()
func (testUSDG *TestUSDG) TryPackClaim(to common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("claim", to, value)
}

// PackDecimals is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x313ce567.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function decimals() view returns(uint8)
func (testUSDG *TestUSDG) PackDecimals() []byte {
	enc, err := testUSDG.abi.Pack("decimals")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDecimals is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x313ce567.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function decimals() view returns(uint8)
func (testUSDG *TestUSDG) TryPackDecimals() ([]byte, error) {
	return testUSDG.abi.Pack("decimals")
}

// UnpackDecimals is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x313ce567.
//
// Solidity: function decimals() view returns(uint8)
func (testUSDG *TestUSDG) UnpackDecimals(data []byte) (uint8, error) {
	out, err := testUSDG.abi.Unpack("decimals", data)
	if err != nil {
		return *new(uint8), err
	}
	out0 := *abi.ConvertType(out[0], new(uint8)).(*uint8)
	return out0, nil
}

// PackFrozen is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd0516650.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function frozen(address ) view returns(bool)
func (testUSDG *TestUSDG) PackFrozen(arg0 common.Address) []byte {
	enc, err := testUSDG.abi.Pack("frozen", arg0)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackFrozen is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd0516650.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function frozen(address ) view returns(bool)
func (testUSDG *TestUSDG) TryPackFrozen(arg0 common.Address) ([]byte, error) {
	return testUSDG.abi.Pack("frozen", arg0)
}

// UnpackFrozen is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xd0516650.
//
// Solidity: function frozen(address ) view returns(bool)
func (testUSDG *TestUSDG) UnpackFrozen(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("frozen", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function mint(address to, uint256 value) returns()
func (testUSDG *TestUSDG) PackMint(to common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("mint", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function mint(address to, uint256 value) returns()
func (testUSDG *TestUSDG) TryPackMint(to common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("mint", to, value)
}

// PackName is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x06fdde03.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function name() view returns(string)
func (testUSDG *TestUSDG) PackName() []byte {
	enc, err := testUSDG.abi.Pack("name")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackName is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x06fdde03.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function name() view returns(string)
func (testUSDG *TestUSDG) TryPackName() ([]byte, error) {
	return testUSDG.abi.Pack("name")
}

// UnpackName is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x06fdde03.
//
// Solidity: function name() view returns(string)
func (testUSDG *TestUSDG) UnpackName(data []byte) (string, error) {
	out, err := testUSDG.abi.Unpack("name", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8da5cb5b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function owner() view returns(address)
func (testUSDG *TestUSDG) PackOwner() []byte {
	enc, err := testUSDG.abi.Pack("owner")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8da5cb5b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function owner() view returns(address)
func (testUSDG *TestUSDG) TryPackOwner() ([]byte, error) {
	return testUSDG.abi.Pack("owner")
}

// UnpackOwner is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x8da5cb5b.
//
// Solidity: function owner() view returns(address)
func (testUSDG *TestUSDG) UnpackOwner(data []byte) (common.Address, error) {
	out, err := testUSDG.abi.Unpack("owner", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5c975abb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function paused() view returns(bool)
func (testUSDG *TestUSDG) PackPaused() []byte {
	enc, err := testUSDG.abi.Pack("paused")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5c975abb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function paused() view returns(bool)
func (testUSDG *TestUSDG) TryPackPaused() ([]byte, error) {
	return testUSDG.abi.Pack("paused")
}

// UnpackPaused is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x5c975abb.
//
// Solidity: function paused() view returns(bool)
func (testUSDG *TestUSDG) UnpackPaused(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("paused", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackSetFrozen is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xac869cd8.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function setFrozen(address who, bool stop) returns()
func (testUSDG *TestUSDG) PackSetFrozen(who common.Address, stop bool) []byte {
	enc, err := testUSDG.abi.Pack("setFrozen", who, stop)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSetFrozen is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xac869cd8.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function setFrozen(address who, bool stop) returns()
func (testUSDG *TestUSDG) TryPackSetFrozen(who common.Address, stop bool) ([]byte, error) {
	return testUSDG.abi.Pack("setFrozen", who, stop)
}

// PackSetPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x16c38b3c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function setPaused(bool stop) returns()
func (testUSDG *TestUSDG) PackSetPaused(stop bool) []byte {
	enc, err := testUSDG.abi.Pack("setPaused", stop)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSetPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x16c38b3c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function setPaused(bool stop) returns()
func (testUSDG *TestUSDG) TryPackSetPaused(stop bool) ([]byte, error) {
	return testUSDG.abi.Pack("setPaused", stop)
}

// PackSymbol is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x95d89b41.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function symbol() view returns(string)
func (testUSDG *TestUSDG) PackSymbol() []byte {
	enc, err := testUSDG.abi.Pack("symbol")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSymbol is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x95d89b41.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function symbol() view returns(string)
func (testUSDG *TestUSDG) TryPackSymbol() ([]byte, error) {
	return testUSDG.abi.Pack("symbol")
}

// UnpackSymbol is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x95d89b41.
//
// Solidity: function symbol() view returns(string)
func (testUSDG *TestUSDG) UnpackSymbol(data []byte) (string, error) {
	out, err := testUSDG.abi.Unpack("symbol", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackTotalSupply is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x18160ddd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDG *TestUSDG) PackTotalSupply() []byte {
	enc, err := testUSDG.abi.Pack("totalSupply")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTotalSupply is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x18160ddd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDG *TestUSDG) TryPackTotalSupply() ([]byte, error) {
	return testUSDG.abi.Pack("totalSupply")
}

// UnpackTotalSupply is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x18160ddd.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDG *TestUSDG) UnpackTotalSupply(data []byte) (*big.Int, error) {
	out, err := testUSDG.abi.Unpack("totalSupply", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) PackTransfer(to common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("transfer", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) TryPackTransfer(to common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("transfer", to, value)
}

// UnpackTransfer is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa9059cbb.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) UnpackTransfer(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("transfer", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) PackTransferFrom(from common.Address, to common.Address, value *big.Int) []byte {
	enc, err := testUSDG.abi.Pack("transferFrom", from, to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) TryPackTransferFrom(from common.Address, to common.Address, value *big.Int) ([]byte, error) {
	return testUSDG.abi.Pack("transferFrom", from, to, value)
}

// UnpackTransferFrom is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x23b872dd.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDG *TestUSDG) UnpackTransferFrom(data []byte) (bool, error) {
	out, err := testUSDG.abi.Unpack("transferFrom", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// TestUSDGApproval represents a Approval event raised by the TestUSDG contract.
type TestUSDGApproval struct {
	Owner   common.Address
	Spender common.Address
	Value   *big.Int
	Raw     *types.Log // Blockchain specific contextual infos
}

const TestUSDGApprovalEventName = "Approval"

// ContractEventName returns the user-defined event name.
func (TestUSDGApproval) ContractEventName() string {
	return TestUSDGApprovalEventName
}

// UnpackApprovalEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Approval(address indexed owner, address indexed spender, uint256 value)
func (testUSDG *TestUSDG) UnpackApprovalEvent(log *types.Log) (*TestUSDGApproval, error) {
	event := "Approval"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDG.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDGApproval)
	if len(log.Data) > 0 {
		if err := testUSDG.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDG.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestUSDGTransfer represents a Transfer event raised by the TestUSDG contract.
type TestUSDGTransfer struct {
	From  common.Address
	To    common.Address
	Value *big.Int
	Raw   *types.Log // Blockchain specific contextual infos
}

const TestUSDGTransferEventName = "Transfer"

// ContractEventName returns the user-defined event name.
func (TestUSDGTransfer) ContractEventName() string {
	return TestUSDGTransferEventName
}

// UnpackTransferEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Transfer(address indexed from, address indexed to, uint256 value)
func (testUSDG *TestUSDG) UnpackTransferEvent(log *types.Log) (*TestUSDGTransfer, error) {
	event := "Transfer"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDG.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDGTransfer)
	if len(log.Data) > 0 {
		if err := testUSDG.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDG.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

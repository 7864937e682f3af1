// Package devchain is an embedded Ethereum chain with a USDG test token, for contextd demo and for tests.
//
// It is go-ethereum's blocks, transaction pool and virtual machine, with JSON-RPC methods of its own. Blocks are sealed when there is
// something to put into them, at most one a second, so that the chain's clock is ahead of the wall clock by Config.Ahead at most. Its only
// open port is that of JSON-RPC over HTTP. With a directory, what a receipt was given for survives kill -9. The keys in that directory are
// for test money: nothing here is to be trusted with any other.
//
// The token is TestUSDG.sol. compile.mjs makes TestUSDG.abi.json and TestUSDG.bin of it, and abigen makes binding.go of these. After a
// change of the token, run in this directory:
//
//	npm install --no-save solc@0.8.37 && node compile.mjs && go generate
//
// The build tag nodevchain leaves the chain out of a program, which makes it some 30 MB smaller; Open then fails.
package devchain

//go:generate -command abigen go run github.com/ethereum/go-ethereum/cmd/abigen@v1.17.10
//go:generate abigen --v2 --abi TestUSDG.abi.json --bin TestUSDG.bin --pkg devchain --type TestUSDG --out binding.go
//go:generate sed -i "1s|^|//go:build !nodevchain\\n\\n|" binding.go

import (
	"errors"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// ChainID is the id of a chain of this package, that of the test chain, unless it is opened with another.
const ChainID = api.ChainIDTest

// ErrLeftOut is what Open fails with in a program that was built without the chain.
var ErrLeftOut = errors.New("this program was built without the embedded chain (build tag nodevchain)")

// TokenName and TokenVersion are those that signatures for the token are made with, by EIP-712.
const (
	TokenName    = "Global Dollar"
	TokenVersion = "1"
)

// Config says how a chain runs.
type Config struct {
	Dir    string // where it is kept; "" keeps it in memory
	Listen string // address of JSON-RPC, on a loopback address; port 0 takes a free one

	ChainID int64            // 0 means the constant ChainID
	Now     func() time.Time // nil means time.Now
	Ahead   time.Duration    // by how much the time of a block may be ahead of Now, so that it need not wait for the next second
}

// Account is an account on the chain with the key to it.
type Account struct {
	Address    string `json:"address"`    // in the spelling of EIP-55
	PrivateKey string `json:"privateKey"` // 0x and 64 hexadecimal digits
}

// Authorization is what an account allows by EIP-3009: its holder can have the token move the value. Times are seconds since 1970.
type Authorization struct {
	To            string
	Value         uint64
	After, Before int64
	Nonce         [32]byte
}

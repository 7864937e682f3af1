// Package token is the Go form of the USDG test token: its calldata, its answers, its logs and the code that makes it.
//
// binding.go is generated of TestUSDG.abi.json and TestUSDG.bin, which compile.mjs makes of TestUSDG.sol. After a change of that, run in
// this directory:
//
//	npm install --no-save solc@0.8.37 && node compile.mjs && go generate
package token

//go:generate go run github.com/ethereum/go-ethereum/cmd/abigen@v1.17.10 --v2 --abi TestUSDG.abi.json --bin TestUSDG.bin --pkg token --type TestUSDG --out binding.go

package wallet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Asset is a token for payments by authorization (EIP-3009): a dollar with six decimals. Name and Version are those of its signing domain.
// They are built in or come from the user, never from the service: the signing domain decides which contract accepts the signature.
type Asset struct {
	Symbol  string
	ChainID int64
	Token   string // address
	Name    string
	Version string
}

// Assets are those that are known by name.
func Assets() map[string]Asset {
	const global = "Global Dollar"
	return map[string]Asset{
		"usdg":      {"USDG", api.ChainIDMain, "0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168", global, "1"},
		"usdg-test": {"USDG", api.ChainIDTest, "0x7E955252E15c84f5768B83c41a71F9eba181802F", global, "1"},
		"usdc-base": {"USDC", baseChainID, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2"},
	}
}

const baseChainID = 8453

// AssetAt returns the asset at an address of a chain: a known one or, on the user's word, USDG.
func AssetAt(chainID int64, token string) Asset {
	known := Assets()
	for _, a := range known {
		if a.is(chainID, token) {
			return a
		}
	}
	return Asset{api.AssetUSDG, chainID, token, known["usdg"].Name, known["usdg"].Version}
}

// is reports whether a is the token at an address of a chain.
func (a Asset) is(chainID int64, token string) bool {
	return a.ChainID == chainID && isAddress(token) && common.HexToAddress(token) == common.HexToAddress(a.Token)
}

// ParseAsset reads an asset: the name of a known one, or eip155:CHAIN/ADDRESS/NAME/VERSION with the signing domain.
func ParseAsset(text string) (Asset, error) {
	if a, ok := Assets()[text]; ok {
		return a, nil
	}
	const parts = 4
	p := strings.Split(text, "/")
	if len(p) != parts || p[2] == "" || p[3] == "" {
		return Asset{}, fmt.Errorf("%q is none of usdg, usdg-test, usdc-base and not eip155:CHAIN/ADDRESS/NAME/VERSION", text)
	}
	chain, ok := chainOf(p[0])
	if !ok || !isAddress(p[1]) {
		return Asset{}, fmt.Errorf("%q does not begin with eip155:CHAIN/ADDRESS", text)
	}
	return Asset{p[2], chain, common.HexToAddress(p[1]).Hex(), p[2], p[3]}, nil
}

// chainOf is the chain of a network as CAIP-2 writes it.
func chainOf(network string) (id int64, ok bool) {
	text, ok := strings.CutPrefix(network, "eip155:")
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil && id > 0 && strconv.FormatInt(id, 10) == text
}

// isAddress reports whether text is an address with 0x.
func isAddress(text string) bool {
	return strings.HasPrefix(text, "0x") && common.IsHexAddress(text)
}

// Network returns the chain of a in CAIP-2.
func (a Asset) Network() string { return "eip155:" + strconv.FormatInt(a.ChainID, 10) }

// authorization is what is signed, by EIP-3009.
type authorization struct {
	From, To string // addresses
	Value    usdg.Amount
	Before   int64 // seconds since 1970; it holds from the beginning of time
	Nonce    [32]byte
}

// digest is what a key signs so that the token of a moves what is authorized, by EIP-712.
func (a Asset) digest(m authorization) []byte {
	hash := func(text string) []byte { return crypto.Keccak256([]byte(text)) }
	domain := crypto.Keccak256(hash("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
		hash(a.Name), hash(a.Version), word(a.ChainID), addressWord(a.Token))
	kind := "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
	message := crypto.Keccak256(hash(kind),
		addressWord(m.From), addressWord(m.To), word(int64(m.Value)), word(0), word(m.Before), m.Nonce[:])
	return crypto.Keccak256([]byte("\x19\x01"), domain, message)
}

func (k *Key) authorize(a Asset, m authorization) ([]byte, error) {
	signature, err := crypto.Sign(a.digest(m), k.secret)
	if err != nil {
		return nil, errors.New("sign authorization: the key cannot sign")
	}
	signature[crypto.RecoveryIDOffset] += 27 // as wallets spell it
	return signature, nil
}

func word(n int64) []byte {
	w := make([]byte, common.HashLength)
	binary.BigEndian.PutUint64(w[common.HashLength-8:], uint64(n))
	return w
}

func addressWord(text string) []byte {
	a := common.HexToAddress(text)
	return common.LeftPadBytes(a[:], common.HashLength)
}

package chain

import (
	"encoding/binary"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/daemon/x402"
)

// Domain tells signatures for one token on one chain from all others, by EIP-712.
type Domain struct {
	Name, Version string // of the token's contract
	ChainID       int64
	Token         string // address
}

func (c *Client) domain() Domain {
	return Domain{Name: c.cfg.Domain.Name, Version: c.cfg.Domain.Version, ChainID: c.cfg.ChainID, Token: c.cfg.Token}
}

// SignerOf is the address whose key has signed a for the token of c; see Domain.SignerOf.
func (c *Client) SignerOf(a x402.Authorization) (string, error) { return c.domain().SignerOf(a) }

// SignerOf is the address, in the spelling of EIP-55, whose key has signed a. The second signature that everybody can make of one, with the
// high s, is refused.
func (d Domain) SignerOf(a x402.Authorization) (string, error) {
	sig := a.Signature
	if sig[crypto.RecoveryIDOffset] >= 27 {
		sig[crypto.RecoveryIDOffset] -= 27 // wallets add 27, the curve does not
	}
	r, s := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:64])
	if !crypto.ValidateSignatureValues(sig[crypto.RecoveryIDOffset], r, s, true) {
		return "", errors.New("the signature is not a canonical one")
	}
	key, err := crypto.SigToPub(d.digest(a), sig[:])
	if err != nil {
		return "", errors.New("no key has made the signature")
	}
	return crypto.PubkeyToAddress(*key).Hex(), nil
}

func (d Domain) digest(a x402.Authorization) []byte {
	separator := crypto.Keccak256(
		crypto.Keccak256([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")),
		crypto.Keccak256([]byte(d.Name)), crypto.Keccak256([]byte(d.Version)), number(uint64(d.ChainID)), address(d.Token),
	)
	message := crypto.Keccak256(append(crypto.Keccak256([]byte("TransferWithAuthorization(address from,address to,uint256 value,"+
		"uint256 validAfter,uint256 validBefore,bytes32 nonce)")), parameters(a)...))
	return crypto.Keccak256([]byte("\x19\x01"), separator, message)
}

func parameters(a x402.Authorization) (words []byte) {
	for _, word := range [][]byte{
		address(a.From), address(a.To), number(a.Value), number(uint64(a.ValidAfter)), number(uint64(a.ValidBefore)), a.Nonce[:],
	} {
		words = append(words, word...)
	}
	return words
}

// settlement is the calldata by which the token moves what a allows.
func settlement(a x402.Authorization) []byte {
	v := a.Signature[crypto.RecoveryIDOffset]
	if v < 27 {
		v += 27
	}
	data := append(selector("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"),
		parameters(a)...)
	data = append(data, number(uint64(v))...)
	return append(data, a.Signature[:64]...)
}

func selector(function string) []byte { return crypto.Keccak256([]byte(function))[:4] }

// number is n as a word, address an address.
func number(n uint64) []byte {
	word := make([]byte, common.HashLength)
	binary.BigEndian.PutUint64(word[common.HashLength-8:], n)
	return word
}

func address(text string) []byte {
	a := common.HexToAddress(text)
	return common.LeftPadBytes(a[:], common.HashLength)
}

func useTopic() common.Hash {
	return crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))
}

func cancelTopic() common.Hash {
	return crypto.Keccak256Hash([]byte("AuthorizationCanceled(address,bytes32)"))
}

// isUse reports whether a log says that an authorization was used, its topics whose and with which nonce.
func isUse(l rawLog) bool {
	const topics = 3
	return !l.Removed && len(l.Topics) == topics && l.Topics[0] == useTopic()
}

package chain

import (
	"errors"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// Checksum returns address in the spelling of EIP-55. It takes 0x and 40 hexadecimal digits in one case, or in mixed case with
// the right checksum; the error says what is wrong with others.
func Checksum(address string) (string, error) {
	if !strings.HasPrefix(address, "0x") || !common.IsHexAddress(address) {
		return "", errors.New("it is not 0x and 40 hexadecimal digits")
	}
	spelled := common.HexToAddress(address).Hex()
	digits := address[2:]
	if digits != strings.ToLower(digits) && digits != strings.ToUpper(digits) && address != spelled {
		return "", errors.New("its checksum is wrong, so a character of it may be")
	}
	return spelled, nil
}

// Recover returns the address, in the spelling of EIP-55, whose key has signed text by EIP-191 (personal_sign). signature is 0x and
// 65 bytes in hexadecimal. The second signature that everybody can make of one, with the high s, is refused.
func Recover(text, signature string) (string, error) {
	sig, err := hexutil.Decode(signature)
	if err != nil || len(sig) != crypto.SignatureLength {
		return "", errors.New("the signature is not 0x and 65 bytes in hexadecimal")
	}
	if sig[64] >= 27 {
		sig[64] -= 27 // wallets add 27, the curve does not
	}
	r, s := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:64])
	if !crypto.ValidateSignatureValues(sig[64], r, s, true) {
		return "", errors.New("the signature is not a canonical one")
	}
	key, err := crypto.SigToPub(accounts.TextHash([]byte(text)), sig)
	if err != nil {
		return "", errors.New("no key has made the signature")
	}
	return crypto.PubkeyToAddress(*key).Hex(), nil
}

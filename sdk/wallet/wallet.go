// Package wallet opens local wallets, signs with them and pays for calls from them.
//
// A wallet is a keystore file of version 3, as geth, cast and most others write them. Its key is decrypted in memory and leaves
// it only as signatures: nothing here prints a key or a passphrase or puts one into an error. Of the sdk, this package alone carries
// chain code.
//
// # One payment
//
// A Payer must pay once for a request, though it may be killed at any moment and the chain cannot be asked to undo anything. So it
// signs a transaction, writes it to the journal, and only then sends it: sending the same transaction again pays nothing more. Say
// that https://api.example.com answers GET /v1/fresh with 402 and a quote of 0.001 USDG, which holds until 20:10:00.
//
//  1. Pay locks the address, so that no other process pays from it, and looks in the journal for a live payment of that service
//     for "GET /v1/fresh". There is none.
//  2. It locks the journal, as wallets share the bounds of Policy, and judges the quote: 1,000 micro-USDG are the published
//     price of the call, and with what was paid before within the day and the month. The recipient is the one that the service was
//     paid at before; at the first payment it is written down.
//  3. It asks the chain for balances, fee and the next nonce, 17, and signs a transfer whose calldata ends in the nonce of the quote.
//  4. The transaction, its hash 0xab… and the state "signed" are on disk, in a file of their own, before anybody else knows of them.
//  5. It sends the transaction and asks for its receipt until there is one. In a block, the payment is "mined".
//  6. The SDK shows the proof, 0xab…, with the same request. When the answer was read whole it calls Settled: "answered".
//
// A kill before 4 leaves nothing that could pay. After it, whoever asks for the same request finds the payment at 1, in Pay or in
// Resume, and goes on where it stood:
//
//   - Killed between 4 and 5, it is not known whether the transaction was sent. The chain is asked for a receipt; if it has none the
//     same bytes are sent, which is the same payment. After 20:10:00 it would pay for nothing: a transaction that the node does not
//     know and whose nonce 17 is still free is "dropped", and the new quote is paid instead. If the nonce is taken and the node does not
//     know the hash, nothing is concluded: the payment stays and the caller is told which file it is.
//   - Killed between 5 and 6, the receipt is there and the proof is shown.
//   - Killed after the answer and before Settled, the next call for the same request shows the same proof. The service answers it as
//     it did before, or, if that was too long ago, refuses it as used: then the payment is "refused".
//
// A transfer that the token refuses is "reverted", a proof that the service refuses for good is "refused". After that nothing more is
// paid to the service, by any process, until AllowService is called for it: who takes money and refuses it would take more. Only what
// is "signed" or "mined" is live; all other states are ends. A purchase of credits is bounded by consent instead of Policy, and is paid
// once for good: whoever asks again gets the proof there is.
package wallet

import (
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/sdk"
)

var _ sdk.Signer = (*Key)(nil)

// Errors that programs tell apart.
var (
	ErrNoWallet   = errors.New("there is no such wallet")
	ErrPassphrase = errors.New("the passphrase is wrong")
)

// File is a keystore file that was not opened yet.
type File struct {
	Path    string
	Address string // in the spelling of EIP-55
}

// Find returns the keystore file that name means: a path, or the name or address of a file in one of the directories, the first that
// has it.
func Find(name string, dirs ...string) (File, error) {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return read(name)
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return File{}, fmt.Errorf("look for wallet: %w", err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") { // what a crash has left of a file that was being written
				continue
			}
			f, err := read(filepath.Join(dir, e.Name()))
			if err == nil && (e.Name() == name || strings.EqualFold(f.Address, name)) {
				return f, nil
			}
		}
	}
	return File{}, fmt.Errorf("%w: %q", ErrNoWallet, name)
}

// maxFile bounds a keystore file, which has some 500 bytes.
const maxFile = 64 << 10

// read reads what a keystore file says of itself in the clear.
func read(path string) (File, error) {
	text, err := readFile(path)
	if err != nil {
		return File{}, err
	}
	address, err := head(text)
	if err != nil {
		return File{}, fmt.Errorf("%s is %w", path, err)
	}
	return File{path, address}, nil
}

// head is the address that the text of a keystore file says, "" where it says none, as cast's.
func head(text []byte) (address string, err error) {
	var said struct {
		Address string `json:"address"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &said); err != nil || said.Version != 3 {
		return "", errors.New("not a keystore file of version 3")
	}
	if !common.IsHexAddress(said.Address) {
		return "", nil
	}
	return common.HexToAddress(said.Address).Hex(), nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read wallet: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("read wallet: %s is not a keystore file", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read wallet: %w", err)
	}
	return text, nil
}

// Key is the key of a wallet that was opened.
type Key struct {
	secret  *ecdsa.PrivateKey
	address string
}

// Open decrypts the key, which takes a second or two, and as much as a quarter of a gigabyte, by design of such files.
func (f File) Open(passphrase string) (*Key, error) {
	text, err := readFile(f.Path)
	if err != nil {
		return nil, err
	}
	k, err := decrypt(text, passphrase)
	if err != nil {
		return nil, fmt.Errorf("open wallet %s: %w", f.Path, err)
	}
	if f.Address != "" && f.Address != k.address {
		return nil, fmt.Errorf("open wallet %s: it says it is %s, but has the key of %s", f.Path, f.Address, k.address)
	}
	return k, nil
}

// decrypt is the key in the text of a keystore file.
func decrypt(text []byte, passphrase string) (*Key, error) {
	key, err := keystore.DecryptKey(text, passphrase)
	if errors.Is(err, keystore.ErrDecrypt) {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, err
	}
	return &Key{key.PrivateKey, key.Address.Hex()}, nil
}

// ParseKey reads a key from its hexadecimal text, with 0x or without. The error does not repeat it.
func ParseKey(text string) (*Key, error) {
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(strings.TrimSpace(text), "0x"))
	if err != nil {
		return nil, errors.New("the text is not a private key of 32 bytes in hexadecimal")
	}
	return &Key{secret, crypto.PubkeyToAddress(secret.PublicKey).Hex()}, nil
}

// Address is the address of the wallet in the spelling of EIP-55.
func (k *Key) Address() string { return k.address }

// String is the address. It keeps the key from whatever prints k.
func (k *Key) String() string { return k.address }

// GoString is the address too.
func (k *Key) GoString() string { return k.address }

// SignMessage signs text by EIP-191 (personal_sign) and returns 0x and 65 bytes in hexadecimal.
func (k *Key) SignMessage(text string) (string, error) {
	signature, err := crypto.Sign(accounts.TextHash([]byte(text)), k.secret)
	if err != nil {
		return "", fmt.Errorf("sign message: %w", err)
	}
	signature[crypto.RecoveryIDOffset] += 27 // as wallets spell it
	return hexutil.Encode(signature), nil
}

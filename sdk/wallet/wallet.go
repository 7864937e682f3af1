// Package wallet opens local wallets, signs with them and pays for calls.
//
// A wallet is a keystore file of version 3, the format of geth, cast and most other tools. Its key is decrypted in memory and used only for
// signatures: the package never prints a key or a passphrase or puts one into an error. Only this package of the SDK depends on chain code.
//
// # One payment
//
// A Payer must pay once for a request, although its process may be killed at any moment and a transfer cannot be undone. It signs a
// transaction, writes it to the journal, and then sends it: sending the same transaction again pays nothing more. Example:
// https://api.example.com answers GET /v1/fresh with 402 and a quote of 0.001 USDG, valid until 20:10:00.
//
//  1. Pay locks the address, so that no other process pays from it, and looks in the journal for a live payment of that service
//     for "GET /v1/fresh". There is none.
//  2. It locks the journal, since wallets share the bounds of Policy, and checks the quote: 1,000 micro-USDG are the published
//     price of the call, and fit the bounds of the day and the month with what was paid before. The recipient is the recorded one
//     of the service; the first payment records it.
//  3. It asks the chain for balances, fee and the next nonce, 17, and signs a transfer whose calldata ends in the nonce of the quote.
//  4. The transaction, its hash 0xab… and the state "signed" are on disk, in a separate file, before anyone else knows of them.
//  5. It sends the transaction and asks for its receipt until there is one. In a block, the payment is "mined".
//  6. The SDK sends the proof, 0xab…, with the same request. After reading the whole answer it calls Conclude: "answered".
//
// A kill before 4 leaves nothing that could pay. After 4, the next Pay or Resume for the same request finds the payment at 1 and continues
// it:
//
//   - Killed between 4 and 5: the transaction may or may not have been sent. Without a receipt on the chain the same bytes are sent
//     again, which is the same payment. After 20:10:00 it would pay for nothing: a transaction that the node does not know and whose
//     nonce 17 is still free is "dropped", and the new quote is paid instead. If the nonce is taken and the node does not know the
//     hash, the payment stays as it is and the error names its file.
//   - Killed between 5 and 6: the receipt exists, and the proof is sent.
//   - Killed after the answer and before Conclude: the next call for the same request sends the same proof. The service repeats its
//     answer or, if that is too old, refuses the proof as used: then the payment is "refused".
//
// A payment by standard x402 goes the same way with an authorization in place of the transaction: 3 and 5 fall away, as the service
// settles it, and no address is locked. Until a minute after its end the same request sends the same authorization; then it is shown once
// more, in case its answer is given again, and is "lapsed" if the service refuses it. With a node of its chain, one that was not settled is
// "dropped" and counts no more against the bounds. A request that one scheme pays for is not paid by the other.
//
// A transfer that the token refuses is "reverted", a proof that the service refuses for good is "refused". After a refusal nothing more is
// paid to the service, by any process, until AllowService. Only "signed" and "mined" payments are live; all other states are final. A
// purchase of credits is bounded by consent instead of Policy, and is paid once for good: later calls return the existing proof.
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

// Sentinel errors, for errors.Is.
var (
	ErrNoWallet   = errors.New("there is no such wallet")
	ErrPassphrase = errors.New("the passphrase is wrong")
)

// File is an unopened keystore file.
type File struct {
	Path    string
	Address string // in the spelling of EIP-55
}

// Find returns the keystore file for a path, or the first in the directories with that name or address.
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

// Key is the key of an opened wallet.
type Key struct {
	secret  *ecdsa.PrivateKey
	address string
}

// Open decrypts the key. By design of keystore files this takes a second or two and up to 256 MB of memory.
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

// ParseKey reads a key from hexadecimal text, with or without 0x. The error does not repeat it.
func ParseKey(text string) (*Key, error) {
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(strings.TrimSpace(text), "0x"))
	if err != nil {
		return nil, errors.New("the text is not a private key of 32 bytes in hexadecimal")
	}
	return &Key{secret, crypto.PubkeyToAddress(secret.PublicKey).Hex()}, nil
}

// Address returns the address of the wallet with the checksum of EIP-55.
func (k *Key) Address() string { return k.address }

// String returns the address, so that printing k does not reveal the key.
func (k *Key) String() string { return k.address }

// GoString returns the address.
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

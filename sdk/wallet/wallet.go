// Package wallet opens local wallets and signs with them.
//
// A wallet is a keystore file of version 3, as geth, cast and most others write them. Its key is decrypted in memory and leaves
// it only as signatures: nothing here prints a key or a passphrase or puts one into an error. Of the sdk, this package alone carries
// chain code.
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
	var head struct {
		Address string `json:"address"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Version != 3 {
		return File{}, fmt.Errorf("%s is not a keystore file of version 3", path)
	}
	f := File{Path: path}
	if common.IsHexAddress(head.Address) { // cast leaves it out
		f.Address = common.HexToAddress(head.Address).Hex()
	}
	return f, nil
}

// readFile reads a file of a sensible size.
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
	key, err := keystore.DecryptKey(text, passphrase)
	if errors.Is(err, keystore.ErrDecrypt) {
		return nil, fmt.Errorf("open wallet %s: %w", f.Path, ErrPassphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("open wallet %s: %w", f.Path, err)
	}
	address := key.Address.Hex()
	if f.Address != "" && f.Address != address {
		return nil, fmt.Errorf("open wallet %s: it says it is %s, but has the key of %s", f.Path, f.Address, address)
	}
	return &Key{key.PrivateKey, address}, nil
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

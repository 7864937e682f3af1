package wallet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"

	"github.com/contextd/contextd/internal/usdg"
)

// New makes a key. It exists nowhere but in memory until Save.
func New() (*Key, error) {
	secret, err := crypto.GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return &Key{secret, crypto.PubkeyToAddress(secret.PublicKey).Hex()}, nil
}

// Save writes the key to a new keystore file of the given name in dir, encrypted with the passphrase, which takes a few seconds by design.
// Both are for the user alone. A file that is there is never written over.
func (k *Key) Save(dir, name, passphrase string) (File, error) {
	if name == "" || filepath.Base(name) != name {
		return File{}, fmt.Errorf("%q is not a name for a wallet", name)
	}
	if passphrase == "" {
		return File{}, errors.New("a wallet needs a passphrase")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return File{}, fmt.Errorf("make keystore: %w", err)
	}
	f := File{Path: filepath.Join(dir, name), Address: k.address}
	file, err := os.OpenFile(f.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return File{}, fmt.Errorf("save wallet: %w", err)
	}
	text, err := keystore.EncryptKey(&keystore.Key{Id: uuid.New(), Address: crypto.PubkeyToAddress(k.secret.PublicKey), PrivateKey: k.secret}, passphrase,
		keystore.StandardScryptN, keystore.StandardScryptP)
	if err == nil {
		_, err = file.Write(append(text, '\n'))
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return File{}, errors.Join(fmt.Errorf("save wallet: %w", err), os.Remove(f.Path)) // it holds no whole key
	}
	return f, nil
}

// List returns the keystore files in the directories.
func List(dirs ...string) ([]File, error) {
	var list []File
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list wallets: %w", err)
		}
		for _, e := range entries {
			if f, err := read(filepath.Join(dir, e.Name())); err == nil { // else it is something else
				list = append(list, f)
			}
		}
	}
	return list, nil
}

// Payment is one that a Payer has made, or begun.
type Payment struct {
	At        time.Time   `json:"at"`
	Service   string      `json:"service"`
	Request   string      `json:"request"`
	Amount    usdg.Amount `json:"amountMicros"`
	Recipient string      `json:"recipient"`
	Payer     string      `json:"payer"`
	TxHash    string      `json:"txHash"`
	State     State       `json:"state"`
	Note      string      `json:"note,omitempty"`
}

// Payments returns what the journal in dir, the Dir of a Config, has, oldest first.
func Payments(dir string) ([]Payment, error) {
	all, err := journal{filepath.Join(dir, journalDir)}.all()
	var list []Payment
	for _, e := range all {
		list = append(list, Payment{e.At, e.Service, e.Request, e.Amount, e.Recipient, e.Payer, e.TxHash, e.State, e.Note})
	}
	return list, err
}

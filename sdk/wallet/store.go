package wallet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"

	"github.com/contextd/contextd/internal/atomicfile"
)

// New makes a key, which exists only in memory until Save.
func New() (*Key, error) {
	secret, err := crypto.GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return &Key{secret, crypto.PubkeyToAddress(secret.PublicKey).Hex()}, nil
}

// Reveal returns the private key, 0x and 64 hexadecimal digits. It gives full control of the wallet.
func (k *Key) Reveal() string { return hexutil.Encode(crypto.FromECDSA(k.secret)) }

// cost is how dear it is to try a passphrase, by the parameters of scrypt.
type cost struct{ n, p int }

func (k *Key) seal(passphrase string, c cost) ([]byte, error) {
	if passphrase == "" {
		return nil, errors.New("a wallet needs a passphrase")
	}
	key := &keystore.Key{Id: uuid.New(), Address: crypto.PubkeyToAddress(k.secret.PublicKey), PrivateKey: k.secret}
	text, err := keystore.EncryptKey(key, passphrase, c.n, c.p)
	return append(text, '\n'), err
}

// Save writes the key to a new keystore file of the given name in dir, encrypted with the passphrase, which takes a few seconds by design.
// File and directory are private to the user. It never overwrites a file.
func (k *Key) Save(dir, name, passphrase string) (File, error) {
	return create(dir, name, k.address, func() ([]byte, error) {
		return k.seal(passphrase, cost{keystore.StandardScryptN, keystore.StandardScryptP})
	})
}

// Import writes the text of a keystore file of another program to a new file of the given name in dir, as Save does. The passphrase must
// open it and stays the same. Import adds the address if the text has none, as that of cast.
func Import(dir, name string, text []byte, passphrase string) (File, error) {
	k, err := decrypt(text, passphrase)
	if err != nil {
		return File{}, fmt.Errorf("import wallet: %w", err)
	}
	if said, err := head(text); err != nil || said != "" && said != k.address {
		return File{}, errors.Join(errors.New("import wallet: the file says another address than that of its key"), err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return File{}, fmt.Errorf("import wallet: %w", err)
	}
	return create(dir, name, k.address, func() ([]byte, error) {
		members["address"], _ = json.Marshal(strings.ToLower(k.address[2:])) // a text can always be written
		return json.Marshal(members)
	})
}

// create writes a new keystore file for the user alone, whose text is made once it is known that there is none of that name.
func create(dir, name, address string, text func() ([]byte, error)) (File, error) {
	if name == "" || filepath.Base(name) != name || strings.HasPrefix(name, ".") {
		return File{}, fmt.Errorf("%q is not a valid name for a wallet", name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return File{}, fmt.Errorf("make keystore: %w", err)
	}
	f := File{Path: filepath.Join(dir, name), Address: address}
	err := atomicfile.File{Path: f.Path, New: true}.Write(func(w io.Writer) error {
		sealed, err := text()
		if err != nil {
			return err
		}
		_, err = w.Write(sealed)
		return err
	})
	if err != nil {
		return File{}, fmt.Errorf("save wallet: %w", err)
	}
	return f, nil
}

// addressDir is the name of the directory of known addresses in the directory of a Config.
const addressDir = "addresses"

// addressFile is where the address of f is remembered in dir, by what f holds.
func (f File) addressFile(dir string) (string, error) {
	text, err := f.Text()
	sum := sha256.Sum256(text)
	return filepath.Join(dir, addressDir, hex.EncodeToString(sum[:])), err
}

// Known returns f with its address, also if only Remember, with the same dir, knows it.
func (f File) Known(dir string) File {
	if f.Address != "" {
		return f
	}
	if path, err := f.addressFile(dir); err == nil {
		if text, err := os.ReadFile(path); err == nil && common.IsHexAddress(string(text)) {
			f.Address = common.HexToAddress(string(text)).Hex()
		}
	}
	return f
}

// Remember records in dir, the Dir of a Config, the address of an opened file that does not state it.
func (f File) Remember(dir string, k *Key) error {
	path, err := f.addressFile(dir)
	if err != nil {
		return err
	}
	if err := replace(path, []byte(k.address)); err != nil {
		return fmt.Errorf("remember address of wallet: %w", err)
	}
	return nil
}

// Text returns the encrypted keystore file.
func (f File) Text() ([]byte, error) { return readFile(f.Path) }

// ChangePassphrase encrypts the key of the file again, which takes a few seconds by design. After a wrong passphrase or any other failure
// the file is unchanged: the new file replaces it only after it was written and opened once.
func (f File) ChangePassphrase(from, to string) error {
	return f.changePassphrase(from, to, cost{keystore.StandardScryptN, keystore.StandardScryptP})
}

func (f File) changePassphrase(from, to string, c cost) error {
	path, err := filepath.EvalSymlinks(f.Path) // a link stays one
	if err != nil {
		return fmt.Errorf("change passphrase: %w", err)
	}
	k, err := f.Open(from)
	if err != nil {
		return err
	}
	text, err := k.seal(to, c)
	if err != nil {
		return fmt.Errorf("change passphrase: %w", err)
	}
	check := func(fresh *os.File) error {
		again, err := File{Path: fresh.Name(), Address: k.address}.Open(to)
		if err == nil && !again.secret.Equal(k.secret) {
			err = errors.New("another key came back")
		}
		return err
	}
	return atomicfile.File{Path: path, Check: check}.Write(func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// ErrUnfinished reports unfinished payments of a wallet.
var ErrUnfinished = errors.New("a payment of the wallet has not come to an end")

// Delete removes the file for good. It fails with ErrUnfinished if the journal in dir, the Dir of a Config, has an unfinished payment of
// its address. The file must state its address.
func (f File) Delete(ctx context.Context, dir string) error {
	if f.Address == "" {
		return fmt.Errorf("delete wallet: %s does not say its address", f.Path)
	}
	j := journal{filepath.Join(dir, journalDir)}
	unlock, err := j.lock(ctx, f.Address)
	if err != nil {
		return err
	}
	defer unlock()
	past, err := j.all()
	if err != nil {
		return err
	}
	for _, e := range past {
		if e.live() && e.Payer == f.Address {
			return fmt.Errorf("%w: %s for %s, %s", ErrUnfinished, e.Amount, e.Request, e.payment().By())
		}
	}
	if err := os.Remove(f.Path); err != nil {
		return fmt.Errorf("delete wallet: %w", err)
	}
	return nil
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
			if f, err := read(filepath.Join(dir, e.Name())); err == nil && !strings.HasPrefix(e.Name(), ".") { // else it is something else
				list = append(list, f)
			}
		}
	}
	return list, nil
}

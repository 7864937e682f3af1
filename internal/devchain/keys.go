//go:build !nodevchain

package devchain

import (
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/internal/atomicfile"
)

type key struct{ secret *ecdsa.PrivateKey }

// keys are the accounts of a chain: who owns the token, who pays, who is paid.
type keys struct{ owner, wallet, treasury key }

func (k key) address() common.Address { return crypto.PubkeyToAddress(k.secret.PublicKey) }

func (k key) account() Account {
	return Account{Address: k.address().Hex(), PrivateKey: hexutil.Encode(crypto.FromECDSA(k.secret))}
}

// gas is the account that settles. It follows from the owner's, for the sake of chains that are older than it.
func (k keys) gas() key {
	secret, err := crypto.ToECDSA(crypto.Keccak256(crypto.FromECDSA(k.owner.secret), []byte("gas")))
	if err != nil { // which is as likely as to guess a key
		return k.owner
	}
	return key{secret}
}

// keyTexts are keys as they lie in their file.
type keyTexts struct {
	Owner    string `json:"owner"`
	Wallet   string `json:"wallet"`
	Treasury string `json:"treasury"`
}

// loadKeys reads the keys of the chain in dir, and makes them where there are none. With "" they are new every time.
func loadKeys(dir string) (keys, error) {
	if dir == "" {
		k, _, err := newKeys()
		return k, err
	}
	text, err := os.ReadFile(keyFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return writeKeys(dir)
	}
	if err != nil {
		return keys{}, fmt.Errorf("read keys of chain: %w", err)
	}
	var t keyTexts
	if err := json.Unmarshal(text, &t); err != nil {
		return keys{}, fmt.Errorf("read keys of chain: %s is not JSON", keyFile(dir))
	}
	var k keys
	for _, one := range []struct {
		into *key
		text string
	}{{&k.owner, t.Owner}, {&k.wallet, t.Wallet}, {&k.treasury, t.Treasury}} {
		raw, err := hexutil.Decode(one.text)
		if err == nil {
			one.into.secret, err = crypto.ToECDSA(raw)
		}
		if err != nil {
			return keys{}, fmt.Errorf("read keys of chain: %s holds what is no key", keyFile(dir))
		}
	}
	return k, nil
}

func newKeys() (k keys, t keyTexts, err error) {
	for _, one := range []struct {
		into *key
		text *string
	}{{&k.owner, &t.Owner}, {&k.wallet, &t.Wallet}, {&k.treasury, &t.Treasury}} {
		if one.into.secret, err = crypto.GenerateKey(); err != nil {
			return k, t, fmt.Errorf("make key: %w", err)
		}
		*one.text = one.into.account().PrivateKey
	}
	return k, t, nil
}

// writeKeys makes keys and keeps them in dir, before the chain that depends on them is there.
func writeKeys(dir string) (keys, error) {
	k, t, err := newKeys()
	if err != nil {
		return keys{}, err
	}
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return keys{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return keys{}, fmt.Errorf("make directory of chain: %w", err)
	}
	if err := atomicfile.Write(keyFile(dir), append(text, '\n'), 0o600); err != nil {
		return keys{}, fmt.Errorf("write keys of chain: %w", err)
	}
	return k, nil
}

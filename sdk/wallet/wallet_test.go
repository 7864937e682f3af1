package wallet_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"

	"github.com/contextd/contextd/sdk/wallet"
)

const passphrase = "correct horse"

// write writes a keystore file of a new key, with a derivation that is quick, and returns the address.
func write(t *testing.T, path string) string {
	t.Helper()
	secret, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key := &keystore.Key{Id: uuid.New(), Address: crypto.PubkeyToAddress(secret.PublicKey), PrivateKey: secret}
	text, err := keystore.EncryptKey(key, passphrase, 1<<4, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return key.Address.Hex()
}

func TestFindAndSign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "main")
	address := write(t, path)
	write(t, filepath.Join(dir, "other"))
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no wallet"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, "main", address, strings.ToLower(address)} {
		f, err := wallet.Find(name, filepath.Join(dir, "none"), dir)
		if err != nil || f.Path != path || f.Address != address {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	f, err := wallet.Find("main", dir)
	if err != nil {
		t.Fatal(err)
	}
	key, err := f.Open(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	const text = "Sign in\nto contextd"
	signature, err := key.SignMessage(text)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hexutil.Decode(signature)
	if err != nil || len(raw) != 65 || raw[64] < 27 {
		t.Fatalf("the signature is %s", signature)
	}
	raw[64] -= 27
	signer, err := crypto.SigToPub(accounts.TextHash([]byte(text)), raw)
	if err != nil || crypto.PubkeyToAddress(*signer).Hex() != address || key.Address() != address {
		t.Errorf("signed by another key than %s, %v", address, err)
	}
	for _, shown := range []string{fmt.Sprint(key), fmt.Sprintf("%v %+v %#v", key, key, key)} {
		if strings.Trim(strings.ReplaceAll(shown, address, ""), " ") != "" {
			t.Errorf("the key shows itself as %s", shown)
		}
	}
}

func TestWhatIsNoWallet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "main")
	address := write(t, path)
	if _, err := wallet.Find("nobody", dir); !errors.Is(err, wallet.ErrNoWallet) {
		t.Errorf("a wallet that is not there: %v", err)
	}
	f, err := wallet.Find(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Open("wrong " + passphrase)
	if !errors.Is(err, wallet.ErrPassphrase) || strings.Contains(err.Error(), passphrase) {
		t.Errorf("a wrong passphrase: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lie := strings.Replace(string(text), strings.ToLower(address[2:]), strings.Repeat("1", 40), 1)
	for name, content := range map[string]string{"lie": lie, "empty": "", "v1": `{"version":1}`, "large": `{"version":3,"x":"` + strings.Repeat("x", 70_000) + `"}`} {
		bad := filepath.Join(dir, name)
		if err := os.WriteFile(bad, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := wallet.Find(bad)
		if err == nil {
			_, err = f.Open(passphrase)
		}
		if err == nil {
			t.Errorf("%s is taken for a wallet", name)
		}
	}
}

package translog

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/contextd/contextd/sdk/api"
)

// KeyFile is the name, in the data directory, of the file with the key that signs the checkpoints of its logs. It can sign another
// history in the name of the service. It is made once: clients remember its public half.
const KeyFile = "log.key"

// Key signs checkpoints. One key signs those of all logs of a data directory, for each under the name of the log.
type Key struct{ private ed25519.PrivateKey }

// NewKey makes the key of a seed of 32 bytes.
func NewKey(seed []byte) (Key, error) {
	if len(seed) != ed25519.SeedSize {
		return Key{}, fmt.Errorf("a key of logs has %d bytes, not %d", len(seed), ed25519.SeedSize)
	}
	return Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// ParseKey reads the key of the text of a key file: its seed in hexadecimal, in one line.
func ParseKey(text []byte) (Key, error) {
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return Key{}, errors.New("a key of logs is one line of hexadecimal") // without the key
	}
	return NewKey(seed)
}

// Public is the public key in base64.
func (k Key) Public() string {
	return base64.StdEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
}

// Verifier is the key that verifies the checkpoints of the log of an origin, as golang.org/x/mod/sumdb/note writes it.
func (k Key) Verifier(origin string) (string, error) { return Verifier(origin, k.Public()) }

// Verifier is that of a public key in base64.
func Verifier(origin, public string) (string, error) {
	key, err := base64.StdEncoding.DecodeString(public)
	if err != nil {
		return "", errors.New("the public key of a log is not base64")
	}
	return note.NewEd25519VerifierKey(origin, key)
}

// Sign is the checkpoint of a head: a signed note, as C2SP tlog-checkpoint has it. The same head gives the same bytes.
func (k Key) Sign(head api.LogHead) ([]byte, error) {
	return k.note(head.Origin, fmt.Sprintf("%s\n%d\n%s\n", head.Origin, head.Size, head.Root))
}

// note signs a text in the name of a log.
func (k Key) note(origin, text string) ([]byte, error) {
	verifier, err := k.Verifier(origin)
	if err != nil {
		return nil, err
	}
	hash := verifier[len(origin)+1 : len(origin)+9]
	const ed25519Alg = 1
	seed := base64.StdEncoding.EncodeToString(append([]byte{ed25519Alg}, k.private.Seed()...))
	signer, err := note.NewSigner(strings.Join([]string{"PRIVATE", "KEY", origin, hash, seed}, "+"))
	if err != nil {
		return nil, errors.New("make signer of a log: its name or key is not one") // without the key
	}
	return note.Sign(&note.Note{Text: text}, signer)
}

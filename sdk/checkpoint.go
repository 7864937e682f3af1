package sdk

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/sdk/api"
)

// Checkpoint is a signed log of one size.
type Checkpoint struct {
	api.LogHead
	Text      string        // the signed note, to the byte
	Key       string        // that its signature was checked with
	Witnesses []Cosignature // of the witnesses whose keys were given
	Unknown   int           // signatures of other keys, which were not checked

	text string // that is signed
	root tlog.Hash
}

// Cosignature is the statement of a witness that it saw one history of a log up to a checkpoint.
type Cosignature struct {
	Name string    `json:"name"` // of the witness
	Key  string    `json:"key"`
	At   time.Time `json:"at"`
}

// OpenCheckpoint reads a checkpoint (C2SP tlog-checkpoint) and verifies its signatures: that of the log with key, which is required, and
// those of the given witnesses. An invalid signature, and a signature in another than its canonical encoding, is an error.
func OpenCheckpoint(text, key string, witnesses ...string) (*Checkpoint, error) {
	log, err := logVerifier(key)
	if err != nil {
		return nil, err
	}
	known := []note.Verifier{log}
	keys := map[uint32]string{}
	seen := map[uint32]*cosigner{}
	for _, w := range witnesses {
		c, err := parseWitness(w)
		if err != nil {
			return nil, err
		}
		if seen[c.hash] == nil {
			known, keys[c.hash], seen[c.hash] = append(known, c), w, c
		}
	}
	signed, err := note.Open([]byte(text), note.VerifierList(known...))
	if err != nil {
		return nil, unproven("the checkpoint is not signed by the log's key: %w", err)
	}
	c := &Checkpoint{Text: text, text: signed.Text, Key: key, Unknown: len(signed.UnverifiedSigs)}
	if c.LogHead, c.root, err = parseHead(signed.Text); err != nil {
		return nil, err
	}
	if c.Origin != log.Name() {
		return nil, unproven("the checkpoint is of the log %q and the key of %q", c.Origin, log.Name())
	}
	if err := asMade(signed, text); err != nil {
		return nil, err
	}
	signedByLog := false
	for _, s := range signed.Sigs {
		if w := seen[s.Hash]; w != nil && w.name == s.Name {
			c.Witnesses = append(c.Witnesses, Cosignature{Name: s.Name, Key: keys[s.Hash], At: cosignedAt(s)})
			continue
		}
		signedByLog = true
	}
	if !signedByLog {
		return nil, unproven("the checkpoint is not signed by the log's key")
	}
	return c, nil
}

// asMade checks that the signatures of a note are written as they were made, each once.
func asMade(signed *note.Note, text string) error {
	all := slices.Concat(signed.Sigs, signed.UnverifiedSigs)
	if strings.Count(text[len(signed.Text):], "\n")-1 != len(all) {
		return unproven("the checkpoint has a signature twice")
	}
	for _, s := range all {
		if raw, err := base64.StdEncoding.DecodeString(s.Base64); err != nil || base64.StdEncoding.EncodeToString(raw) != s.Base64 {
			return unproven("a signature of the checkpoint is not written as it was made")
		}
	}
	return nil
}

// ParseLogKey reads the verifier key of a log and returns the origin of the log.
func ParseLogKey(key string) (origin string, err error) {
	v, err := logVerifier(key)
	if err != nil {
		return "", err
	}
	return v.Name(), nil
}

func logVerifier(key string) (note.Verifier, error) {
	v, err := note.NewVerifier(key)
	if err != nil {
		return nil, unproven("the key of the log: %w", err)
	}
	if !writtenAs(key, v.Name(), v.KeyHash()) {
		return nil, unproven("the key of the log is not written as it was made")
	}
	return v, nil
}

// writtenAs reports whether a verifier key is in its one canonical form.
func writtenAs(key, name string, hash uint32) bool {
	rest, ok := strings.CutPrefix(key, fmt.Sprintf("%s+%08x+", name, hash))
	raw, err := base64.StdEncoding.DecodeString(rest)
	return ok && err == nil && base64.StdEncoding.EncodeToString(raw) == rest
}

// parseHead reads the text of a checkpoint: origin, size and root, a line each, then lines that only the log knows.
func parseHead(text string) (api.LogHead, tlog.Hash, error) {
	lines := strings.Split(text, "\n") // the last is empty
	if len(lines) < 4 || lines[0] == "" {
		return api.LogHead{}, tlog.Hash{}, unproven("the checkpoint has not the three lines origin, size and root")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return api.LogHead{}, tlog.Hash{}, unproven("the size in the checkpoint is not a number")
	}
	root, err := parseHash(lines[2])
	if err != nil {
		return api.LogHead{}, tlog.Hash{}, err
	}
	return api.LogHead{Origin: lines[0], Size: size, Root: lines[2]}, root, nil
}

// parseHash reads a hash in base64 as it is written, in no other way.
func parseHash(text string) (tlog.Hash, error) {
	h, err := tlog.ParseHash(text)
	if err != nil || h.String() != text {
		return tlog.Hash{}, unproven("a hash is not 32 bytes in base64")
	}
	return h, nil
}

// Types of keys of signed notes.
const algCosignature = 0x04 // cosignature/v1 with Ed25519

// cosigner verifies, and with a private key makes, signatures of cosignature/v1.
type cosigner struct {
	name    string
	hash    uint32
	public  ed25519.PublicKey
	private ed25519.PrivateKey // nil where it only verifies
}

func newCosigner(name string, public ed25519.PublicKey, private ed25519.PrivateKey) *cosigner {
	sum := sha256.Sum256([]byte(name + "\n" + string(append([]byte{algCosignature}, public...))))
	return &cosigner{name, binary.BigEndian.Uint32(sum[:]), public, private}
}

func parseWitness(key string) (*cosigner, error) {
	name, rest, _ := strings.Cut(key, "+")
	_, text, _ := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != algCosignature || !plainKeyName(name) {
		return nil, fmt.Errorf("%q is not the key of a witness, as ctx verify witness key tells it", key)
	}
	c := newCosigner(name, raw[1:], nil)
	if !writtenAs(key, name, c.hash) {
		return nil, fmt.Errorf("%q is not the key of a witness: it was changed on its way", key)
	}
	return c, nil
}

// plainKeyName reports whether a key can be called name.
func plainKeyName(name string) bool {
	return name != "" && len(name) <= 200 && printable(name) && !strings.ContainsAny(name, " +")
}

// ParseWitnessKey reads the verifier key of a witness and returns the name of the witness.
func ParseWitnessKey(key string) (name string, err error) {
	c, err := parseWitness(key)
	if err != nil {
		return "", err
	}
	return c.name, nil
}

// Name, KeyHash and Verify make it a note.Verifier.
func (c *cosigner) Name() string { return c.name }

// KeyHash tells its key from others of the name.
func (c *cosigner) KeyHash() uint32 { return c.hash }

// Verify checks a signature: the time in it, then the signature of that and of the text of the checkpoint.
func (c *cosigner) Verify(text, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(sig)
	return at < 1<<40 && ed25519.Verify(c.public, cosigned(text, at), sig[8:])
}

// hashBytes are the hash of the key, as a signature begins.
func (c *cosigner) hashBytes() []byte { return binary.BigEndian.AppendUint32(nil, c.hash) }

func (c *cosigner) key() string {
	return fmt.Sprintf("%s+%08x+%s", c.name, c.hash, base64.StdEncoding.EncodeToString(append([]byte{algCosignature}, c.public...)))
}

// line is a line of a signed note: its signature of the text of a checkpoint.
func (c *cosigner) line(text string, at time.Time) string {
	stamp := uint64(max(at.Unix(), 0))
	raw := binary.BigEndian.AppendUint64(c.hashBytes(), stamp)
	raw = append(raw, ed25519.Sign(c.private, cosigned([]byte(text), stamp))...)
	return "— " + c.name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

func cosigned(text []byte, at uint64) []byte {
	return append(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", at), text...)
}

func cosignedAt(s note.Signature) time.Time {
	raw, err := base64.StdEncoding.DecodeString(s.Base64)
	if err != nil || len(raw) < 12 {
		return time.Time{}
	}
	return time.Unix(int64(binary.BigEndian.Uint64(raw[4:])), 0).UTC()
}

// ErrUnproven reports a proof that fails. Every verification error wraps it.
var ErrUnproven = errors.New("not proven")

// unproven makes an error of ErrUnproven.
func unproven(format string, args ...any) error {
	return &ProofError{Reason: ProofInvalid, Err: fmt.Errorf(format, args...)}
}

package sdk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/sdk/api"
)

// ProofReason is the reason of a ProofError.
type ProofReason string

// Reasons of a ProofError.
const (
	ProofInvalid  ProofReason = "proof_invalid"     // a proof, signature or hash does not hold
	ProofForked   ProofReason = "log_forked"        // there are two histories
	ProofShrunk   ProofReason = "log_shrunk"        // leaves of the log are missing
	ProofReplaced ProofReason = "log_replaced"      // another log took its place
	ProofRestored ProofReason = "log_restored"      // another log took its place, and says that a backup was restored
	ProofOtherKey ProofReason = "log_key_changed"   // the log is signed by another key
	ProofAlone    ProofReason = "witnesses_missing" // fewer witnesses than were asked for
)

// ProofError reports a failed proof, or a log that changed against a known checkpoint.
type ProofError struct {
	Reason ProofReason
	Err    error
	Known  *Checkpoint // the known checkpoint; nil if there is none
	Now    *Checkpoint // the current checkpoint, with Known the evidence; nil if the check did not get there
}

// Error returns the failure in words.
func (e *ProofError) Error() string { return e.Err.Error() }

// Unwrap returns ErrUnproven and the cause.
func (e *ProofError) Unwrap() []error { return []error{ErrUnproven, e.Err} }

// Proven is a verified leaf of a log.
type Proven struct {
	Entry      api.LogEntry // as verified
	Leaf       api.LogLeaf
	Hash       string // of the leaf, in hex, as a Proof names it
	Checkpoint *Checkpoint
}

// maxProof is the most hashes that a proof can have.
const maxProof = 63

// VerifyEntry verifies that a leaf is in the log that signed the checkpoint. An empty key means the key in the entry: then the proof shows
// only that the holder of that key published the leaf, and the caller must check the key. Witnesses are as for OpenCheckpoint.
func VerifyEntry(entry api.LogEntry, key string, witnesses ...string) (*Proven, error) {
	if key == "" {
		key = entry.Key
	}
	if key != entry.Key {
		return nil, &ProofError{Reason: ProofOtherKey, Err: fmt.Errorf("it is signed by the key %s, not by %s", entry.Key, key)}
	}
	c, err := OpenCheckpoint(entry.Checkpoint, key, witnesses...)
	if err != nil {
		return nil, err
	}
	p := &Proven{Entry: entry, Checkpoint: c}
	if p.Leaf, err = parseLeaf(entry.Leaf); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(c.Origin, "/"+p.Leaf.Pack) {
		return nil, unproven("the leaf is of pack %q and the log is %s", p.Leaf.Pack, c.Origin)
	}
	if p.Leaf.Seq >= c.Size {
		return nil, unproven("leaf %d is not in a log of %d", p.Leaf.Seq, c.Size)
	}
	hashes, err := parseProof(entry.Proof)
	if err != nil {
		return nil, err
	}
	hash := tlog.RecordHash([]byte(entry.Leaf))
	if err := tlog.CheckRecord(hashes, c.Size, c.root, p.Leaf.Seq, hash); err != nil {
		return nil, unproven("leaf %d is not in the log: %w", p.Leaf.Seq, err)
	}
	p.Hash = hex.EncodeToString(hash[:])
	return p, nil
}

// VerifyRow verifies that a row is one of those that the service had when it published the state of a leaf, and all that VerifyEntry
// verifies.
func VerifyRow(entry api.LogRowEntry, key string, witnesses ...string) (row api.LogRow, p *Proven, err error) {
	if p, err = VerifyEntry(entry.LogEntry, key, witnesses...); err != nil {
		return row, nil, err
	}
	root, err := hex.DecodeString(p.Leaf.Tables)
	if err != nil || len(root) != tlog.HashSize {
		return row, nil, unproven("leaf %d has no hash of rows: leaves of earlier versions tell of none", p.Leaf.Seq)
	}
	hashes, err := parseProof(entry.RowProof)
	if err != nil {
		return row, nil, err
	}
	if err := tlog.CheckRecord(hashes, entry.Rows, tlog.Hash(root), entry.Place, tlog.RecordHash([]byte(entry.Row))); err != nil {
		return row, nil, unproven("the row is not among those of leaf %d: %w", p.Leaf.Seq, err)
	}
	if err := json.Unmarshal([]byte(entry.Row), &row); err != nil {
		return row, nil, unproven("the row is not JSON: %w", err)
	}
	return row, p, nil
}

func parseLeaf(text string) (leaf api.LogLeaf, err error) {
	if err := json.Unmarshal([]byte(text), &leaf); err != nil {
		return leaf, unproven("the leaf is not JSON: %w", err)
	}
	if leaf.V != 1 || leaf.Seq < 0 || leaf.Pack == "" {
		return leaf, unproven("the leaf is of version %d, and 1 is known", leaf.V)
	}
	return leaf, nil
}

func parseProof(texts []string) ([]tlog.Hash, error) {
	if len(texts) > maxProof {
		return nil, unproven("a proof of %d hashes is longer than any log's", len(texts))
	}
	hashes := make([]tlog.Hash, len(texts))
	for i, text := range texts {
		var err error
		if hashes[i], err = parseHash(text); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// IsOfState verifies that p proves a state: the bytes of the member state of an answer.
func (p *Proven) IsOfState(state []byte) error {
	return p.is("state", p.Leaf.State, state)
}

// IsOfBrief verifies that p proves the text of a brief.
func (p *Proven) IsOfBrief(text string) error {
	return p.is("brief", p.Leaf.Brief, []byte(text))
}

// IsOfCheck verifies that the log signed what a text was judged against, for the state of p.
func (p *Proven) IsOfCheck(basis api.CheckBasis) error {
	key, err := logVerifier(p.Checkpoint.Key)
	if err != nil {
		return err
	}
	signed, err := note.Open([]byte(basis.Note), note.VerifierList(key))
	switch {
	case err != nil:
		return unproven("what the text was judged against is not signed by the log's key: %w", err)
	case signed.Text != api.CheckNote(p.Checkpoint.Origin, p.Hash, basis.Text):
		return unproven("what the text was judged against is not what the log signed for leaf %d", p.Leaf.Seq)
	}
	return asMade(signed, basis.Note)
}

// is compares the hash of what was said with that in the leaf.
func (p *Proven) is(what, want string, said []byte) error {
	sum := sha256.Sum256(said)
	switch got := hex.EncodeToString(sum[:]); {
	case want == "":
		return unproven("leaf %d is not of a %s", p.Leaf.Seq, what)
	case got != want:
		return unproven("the %s is not the one that was said: its hash is %s… and leaf %d has %s…", what, got[:12], p.Leaf.Seq,
			want[:min(12, len(want))])
	}
	return nil
}

// NeedWitnesses verifies that a checkpoint has the signatures of at least n of the given witnesses.
func (c *Checkpoint) NeedWitnesses(n int) error {
	if len(c.Witnesses) >= n {
		return nil
	}
	return &ProofError{Reason: ProofAlone, Now: c,
		Err: fmt.Errorf("%d of the witnesses whose keys were given signed the checkpoint, and %d are asked for", len(c.Witnesses), n)}
}

// asProof is err as a ProofError, nil if it is none.
func asProof(err error) *ProofError {
	p, _ := errors.AsType[*ProofError](err)
	return p
}

package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Bundle is a state with the proof that a service published it, for verification offline.
type Bundle struct {
	api.LogEntry
	Brief string          // the text that was written with the state; "" for none
	Check *api.CheckBasis // what a text was judged against beside the state; nil for none
	State []byte          // the member state of the answer, to the byte
}

// bundleHead is a Bundle as it is read, without the state.
type bundleHead struct {
	V          int             `json:"v"`
	Leaf       string          `json:"leaf"`
	Proof      []string        `json:"proof"`
	Checkpoint string          `json:"checkpoint"`
	Key        string          `json:"key"`
	Brief      string          `json:"brief"`
	Check      *api.CheckBasis `json:"check,omitempty"`
}

// beforeState is what is before the state. It is in no string of JSON, which has quotes with a backslash.
const beforeState = `,"state":`

const maxBundle = maxAnswerBytes + 64<<10

// Encode returns the canonical text of b.
func (b *Bundle) Encode() ([]byte, error) {
	proof := b.Proof
	if proof == nil {
		proof = []string{}
	}
	head, err := jsonx.Encode(bundleHead{1, b.Leaf, proof, b.Checkpoint, b.Key, b.Brief, b.Check})
	if err != nil {
		return nil, fmt.Errorf("write bundle: %w", err)
	}
	out := append(bytes.TrimSuffix(head, []byte("}")), beforeState...)
	return append(append(out, b.State...), "}\n"...), nil
}

// IsBundle reports whether data begins as a bundle does.
func IsBundle(data []byte) bool { return bytes.HasPrefix(data, []byte(`{"v":1,"leaf":`)) }

// ParseBundle reads a bundle in its canonical text. It verifies nothing.
func ParseBundle(data []byte) (*Bundle, error) {
	if len(data) > maxBundle {
		return nil, unproven("the bundle is longer than %d MiB", maxBundle>>20)
	}
	head, rest, _ := bytes.Cut(data, []byte(beforeState))
	state, whole := bytes.CutSuffix(rest, []byte("}\n"))
	if !whole {
		return nil, unproven("the bundle is not whole")
	}
	var f bundleHead
	if err := json.Unmarshal(append(bytes.Clone(head), '}'), &f); err != nil {
		return nil, unproven("the bundle cannot be read: %w", err)
	}
	if f.V != 1 {
		return nil, unproven("the bundle is of version %d, and 1 is known", f.V)
	}
	b := &Bundle{LogEntry: api.LogEntry{Leaf: f.Leaf, Proof: f.Proof, Checkpoint: f.Checkpoint, Key: f.Key}, Brief: f.Brief, Check: f.Check}
	if same, err := b.Encode(); err != nil || !bytes.Equal(same[:len(same)-2], data[:len(head)+len(beforeState)]) {
		return nil, unproven("the bundle is not written as bundles are: it was changed")
	}
	b.State = state
	return b, nil
}

// VerifyBundle verifies a bundle offline: its canonical form, the hashes of state and brief in the leaf, the signature of what a text was
// judged against, and all that VerifyEntry verifies.
// Key and witnesses are those of VerifyEntry.
func VerifyBundle(data []byte, key string, witnesses ...string) (*Bundle, *Proven, error) {
	b, err := ParseBundle(data)
	if err != nil {
		return nil, nil, err
	}
	p, err := VerifyEntry(b.LogEntry, key, witnesses...)
	if err != nil {
		return nil, nil, err
	}
	if err := p.IsOfState(b.State); err != nil {
		return nil, nil, err
	}
	if b.Brief != "" {
		if err := p.IsOfBrief(b.Brief); err != nil {
			return nil, nil, err
		}
	}
	if b.Check != nil {
		if err := p.IsOfCheck(*b.Check); err != nil {
			return nil, nil, err
		}
	}
	return b, p, nil
}

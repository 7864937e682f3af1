package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// savedAnswer is an answer of fresh, snapshot or brief in a file, by member. A name that is there twice, or that no answer has, is
// refused: a reader of the file could take another value than the one that was proven.
type savedAnswer struct {
	members map[string]*jsonx.Value
	names   []string // of the members, and of those of freshness as freshness.NAME, in their order
	brief   string
	spaced  bool // there is white space between the values
}

// Members of an answer that a leaf can cover.
const (
	savedState       = "state"
	savedBrief       = "brief"
	savedBriefAt     = "briefAt"
	savedBriefOf     = "briefOf"
	savedFreshness   = "freshness"
	savedGeneratedAt = "freshness.generatedAt"
)

// changedFile is the error of a file that was not written as answers are.
func changedFile(format string, args ...any) error {
	return &sdk.ProofError{Reason: sdk.ProofInvalid, Err: fmt.Errorf(format, args...)}
}

func readSaved(data []byte) (*savedAnswer, error) {
	root, err := jsonx.Parse(data)
	if err != nil || !root.IsObject() || root.Find(savedFreshness, "generatedAt") == nil ||
		root.Member(savedState) == nil && root.Member(savedBrief) == nil {
		return nil, cli.Invalid("the file is neither a bundle nor an answer of fresh, snapshot, brief, lookup or query as -o json " +
			"writes it")
	}
	a := &savedAnswer{members: map[string]*jsonx.Value{}}
	known := append(cli.FieldsIn(api.StateResponse{}), append(cli.FieldsIn(api.BriefResponse{}), "check")...) // brief --check adds it
	for _, m := range root.Members {
		if !slices.Contains(known, m.Name) {
			return nil, changedFile("the file has a member %s, which no answer has that this ctx knows", human.Short(m.Name, human.Quoted))
		}
		if err := a.add(m.Name, m); err != nil {
			return nil, err
		}
		if m.Name != savedFreshness {
			continue
		}
		for _, part := range m.Members {
			if err := a.add(savedFreshness+"."+part.Name, part); err != nil {
				return nil, err
			}
		}
	}
	dense, err := compacted(data)
	if err != nil {
		return nil, err
	}
	a.spaced = !bytes.Equal(dense, bytes.TrimSuffix(data, []byte("\n")))
	if b := a.members[savedBrief]; b != nil {
		a.brief = b.Text()
		if text, err := jsonx.Encode(a.brief); err != nil || !b.IsString() || !bytes.Equal(text, b.Raw) {
			return nil, changedFile("the brief is not written as services write it: the file was changed")
		}
	}
	return a, nil
}

func (a *savedAnswer) add(name string, v *jsonx.Value) error {
	if a.members[name] != nil {
		return changedFile("the file has the member %s twice", human.Short(name, human.Quoted))
	}
	a.members[name], a.names = v, append(a.names, name)
	return nil
}

// time is what a member says, the zero time if it is not there or no time as services write it.
func (a *savedAnswer) time(name string) (at time.Time) {
	if v := a.members[name]; v == nil || json.Unmarshal(v.Raw, &at) != nil {
		return time.Time{}
	}
	if text, err := json.Marshal(at); err != nil || !bytes.Equal(text, a.members[name].Raw) {
		return time.Time{}
	}
	return at
}

// is checks that a time of the answer is the one in its leaf.
func (a *savedAnswer) is(name string, leaf api.LogLeaf) error {
	if !a.time(name).Equal(leaf.GeneratedAt) {
		return changedFile("%s is %s, and leaf %d is of %s", name, human.Short(string(a.members[name].Raw), human.Quoted), leaf.Seq,
			leaf.GeneratedAt.Format(time.RFC3339Nano))
	}
	return nil
}

// saved proves a saved answer with the log of the service.
func (o verifyOptions) saved(ctx context.Context, data []byte) error {
	a, err := readSaved(data)
	if err != nil {
		return err
	}
	var p *sdk.Proven // of the state; of the brief, if the file has no state
	var known *knownLog
	var covered []string
	said, without := savedBrief, false
	if state := a.members[savedState]; state != nil {
		if p, known, err = o.leafAt(ctx, a.time(savedGeneratedAt)); err != nil {
			return err
		}
		if err := errors.Join(ofSaved(p, state.Raw), a.is(savedGeneratedAt, p.Leaf)); err != nil {
			return err
		}
		said, covered = savedState, []string{savedState, savedGeneratedAt}
		without = a.brief == "" && p.Leaf.Brief != ""
		if without && (a.members[savedBriefAt] != nil || a.members[savedBriefOf] != nil) {
			return changedFile("the brief was taken out of the file")
		}
	}
	if a.brief != "" || p == nil {
		of, log, err := o.savedBrief(ctx, a, p, known)
		if err != nil {
			return err
		}
		switch {
		case p == nil:
			p, known = of, log
		case of.Leaf.Seq == p.Leaf.Seq:
			said = "state and this brief"
		default:
			said = "state, with this brief of " + o.moment(of) + ","
		}
		covered = append(covered, savedBrief)
	}
	v, err := o.verdict(p, o.from(known))
	if err == nil {
		err = o.outside(ctx, p, &v)
	}
	if err != nil {
		return err
	}
	v.Covered = covered
	for _, name := range a.names {
		if name != savedFreshness && !slices.Contains(covered, name) && (name != savedBrief || without) {
			v.NotCovered = append(v.NotCovered, name)
		}
	}
	v.Says = fmt.Sprintf("The service said this %s at %s, and it was not changed since.", said, o.moment(p))
	if without {
		v.Says += notHere
	}
	if len(v.NotCovered) > 0 {
		v.Says += " Not covered, and as the file has it: " + strings.Join(v.NotCovered, ", ") + "."
	}
	if a.spaced {
		v.Says += " White space between values is not covered either."
	}
	var state json.RawMessage
	if a.members[savedState] != nil {
		if state, err = compacted(a.members[savedState].Raw); err != nil {
			return err
		}
	}
	if err := o.compare(ctx, p, state, &v); err != nil {
		return err
	}
	return o.show(ctx, v, p.Checkpoint)
}

// notHere is said of a state that was published with a brief that the file has not.
const notHere = " The brief that was published with it is not in the file."

// leafAt is the leaf of the newest state at a moment.
func (o verifyOptions) leafAt(ctx context.Context, at time.Time) (*sdk.Proven, *knownLog, error) {
	if at.IsZero() {
		return nil, nil, changedFile("the time of the state is not written as services write it")
	}
	return o.entry(ctx, func(l *sdk.Log) (*api.LogEntry, error) { return l.At(ctx, at) })
}

// savedBrief is the leaf that proves the brief of a saved answer: with, that of the state beside it, or that of the state that the brief
// was written from, or that of the brief, if it was written later.
func (o verifyOptions) savedBrief(ctx context.Context, a *savedAnswer, with *sdk.Proven, known *knownLog) (
	p *sdk.Proven, _ *knownLog, err error,
) {
	of := savedBriefOf
	if a.members[of] == nil {
		of = savedGeneratedAt
	}
	if p = with; p == nil || !a.time(of).Equal(p.Leaf.GeneratedAt) {
		if p, known, err = o.leafAt(ctx, a.time(of)); err != nil {
			return nil, nil, err
		}
	}
	wrong := p.IsOfBrief(a.brief)
	if wrong == nil {
		return p, known, a.is(of, p.Leaf)
	}
	written := a.time(savedBriefAt)
	if written.IsZero() {
		return nil, nil, wrong
	}
	if p, known, err = o.leafAt(ctx, written); err != nil {
		return nil, nil, err
	}
	log, err := o.logs.Log(o.pack)
	if err != nil {
		return nil, nil, err
	}
	const near = 64 // leaves: states may be published while a brief is written
	for leaf, err := range log.Leaves(ctx, p.Checkpoint, p.Leaf.Seq+1, p.Leaf.Seq+1+near) {
		if err != nil {
			return nil, nil, err
		}
		if leaf.Kind == api.LeafBrief && leaf.GeneratedAt.Equal(written) {
			p, _, err = o.entry(ctx, func(l *sdk.Log) (*api.LogEntry, error) { return l.Leaf(ctx, leaf.Seq) })
			if err == nil {
				err = p.IsOfBrief(a.brief)
			}
			return p, known, err
		}
	}
	return nil, nil, fmt.Errorf("%w (a brief by a prompt of its owner is not in the log)", wrong)
}

// ofSaved checks that p proves a state, which may have been saved with white space between its members.
func ofSaved(p *sdk.Proven, state json.RawMessage) error {
	err := p.IsOfState(state)
	if err == nil {
		return nil
	}
	if dense, denseErr := compacted(state); denseErr == nil && p.IsOfState(dense) == nil {
		return nil
	}
	return fmt.Errorf("%w (the proof is of the whole state: an answer to --members, and what a filter left of one, cannot be proven)", err)
}

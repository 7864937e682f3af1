package sdk

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// WithProofCheck passes the proof of every answer to check, and the zero Proof for an answer of Fresh without one. If check fails, the call
// fails with its error and returns no answer. The proof of a state of a stream has no Log: it is that of the pack.
func WithProofCheck(check func(ctx context.Context, pack string, p api.Proof, answer *Response) error) Option {
	return func(o *options) error { o.check = check; return nil }
}

// checked looks at the proof of an answer.
func (c *Client) checked(ctx context.Context, target *url.URL, resp *Response) error {
	text := resp.Header.Get(api.HeaderProof)
	if c.check == nil || text == "" && !strings.HasSuffix(target.Path, api.PathFresh) {
		return nil
	}
	var proof api.Proof
	if text != "" {
		var err error
		if proof, err = api.ParseProof(text); err != nil {
			return unproven("the header %s: %w", api.HeaderProof, err)
		}
	}
	return c.check(ctx, firstOf(target.Query().Get("pack"), api.DefaultPack), proof, resp)
}

// Follow verifies that the log of now extends the log of known: same origin, same key, no smaller size and one history. A *ProofError
// reports a difference, with both checkpoints as evidence; any other error, a failure to check. Obtain known before now.
func (l *Log) Follow(ctx context.Context, known, now *Checkpoint) error {
	fail := func(reason ProofReason, format string, args ...any) error {
		return &ProofError{Reason: reason, Err: fmt.Errorf(format, args...), Known: known, Now: now}
	}
	switch {
	case known.Origin != now.Origin:
		return l.replaced(ctx, known, now)
	case known.Key != now.Key:
		return fail(ProofOtherKey, "the log %s is signed by another key: %s, before %s", now.Origin, now.Key, known.Key)
	case now.Size < known.Size:
		return fail(ProofShrunk, "the log %s has %d leaves, and had %d: what the service said was taken back",
			now.Origin, now.Size, known.Size)
	}
	root, err := l.rootOf(ctx, now, known.Size)
	if err != nil {
		if p := asProof(err); p != nil {
			p.Known, p.Now = known, now
		}
		return err
	}
	if root != known.Root {
		return fail(ProofForked, "the log %s has two histories: its first %d leaves are not those that it had", now.Origin, known.Size)
	}
	return nil
}

// rootOf is RootAt, without a request where the log has no leaf.
func (l *Log) rootOf(ctx context.Context, c *Checkpoint, size int64) (string, error) {
	if size == 0 {
		return emptyRoot, nil
	}
	return l.RootAt(ctx, c, size)
}

// emptyRoot is the hash of a log without leaves.
const emptyRoot = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

// replaced tells a log that took the place of another: one that says of itself that a backup was restored, or any.
func (l *Log) replaced(ctx context.Context, known, now *Checkpoint) error {
	fail := func(reason ProofReason, format string, args ...any) error {
		return &ProofError{Reason: reason, Err: fmt.Errorf(format, args...), Known: known, Now: now}
	}
	other := fail(ProofReplaced, "the log is another one: %s, and it was %s", now.Origin, known.Origin)
	if now.Size == 0 {
		return other
	}
	entry, err := l.Leaf(ctx, 0)
	if err != nil {
		return err
	}
	first, err := VerifyEntry(*entry, now.Key)
	if err != nil {
		return other
	}
	head := first.Leaf.Previous
	if first.Leaf.Seq != 0 || first.Checkpoint.Origin != now.Origin || head == nil || head.Origin != known.Origin {
		return other
	}
	switch {
	case head.Size == known.Size && head.Root != known.Root:
		return fail(ProofForked, "the log %s says that it follows %s, with another history than that had", now.Origin, known.Origin)
	case head.Size < known.Size:
		return fail(ProofRestored, "the service restored a backup: states %d to %d of the log %s, which were seen here, were dropped",
			head.Size, known.Size-1, known.Origin)
	}
	return fail(ProofRestored, "the service restored a backup or changed its key: a new log follows %d leaves of the log %s, and drops "+
		"none that was seen here", head.Size, known.Origin)
}

package brief

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

const (
	atOnce      = 4  // texts for owners that are written at the same time
	maxJobs     = 64 // that are written or wait for their turn
	maxAttempts = 3  // at a brief about one state, each with another prompt
)

// Why an owner gets the pack's brief in place of their own.
const (
	whyNoModel = "this service has no language model to write by your prompt"
	whyFailed  = "no text by your prompt passed the check, or the model failed; the next state is the next try"
	whySlow    = "the brief by your prompt is still being written; ask again in a moment"
	whyBusy    = "too many briefs are being written; ask again in a moment"
	whyOften   = "your prompt changed too often for this state; it holds from the next one"
)

type place struct{ ownerID, pack string }

// job is an owner's brief that is being written.
type job struct {
	state.OwnerBrief
	done chan struct{} // closed when it is written
}

// Of returns the brief of an owner with the given tier about edition: by their own prompt if they have one, else the pack's. warning says
// why they have a prompt and get the pack's all the same.
func (e *Editor) Of(ctx context.Context, ownerID string, tier api.Tier, edition *feed.Edition) (b state.Narration, warning string) {
	if ownerID == "" || !tier.AtLeast(api.TierPro) {
		return edition.Brief, ""
	}
	prompt, err := e.cfg.Store.Prompt(ctx, ownerID, edition.Pack)
	switch {
	case err != nil && ctx.Err() != nil: // the caller has left, and nothing is wrong
		e.cfg.Logger.Debug("prompt not read", "owner", ownerID, "error", err)
		return edition.Brief, whyFailed
	case err != nil:
		e.cfg.Logger.Error("prompt not read", "owner", ownerID, "error", err)
		return edition.Brief, whyFailed
	case prompt == "":
		return edition.Brief, ""
	case len(e.cfg.Models) == 0:
		return edition.Brief, whyNoModel
	}
	j, why := e.job(ctx, place{ownerID, edition.Pack}, prompt, edition)
	if j == nil {
		return edition.Brief, why
	}
	patience := time.NewTimer(e.cfg.Wait)
	defer patience.Stop()
	select {
	case <-j.done:
	case <-patience.C:
		return edition.Brief, whySlow
	case <-ctx.Done():
		return edition.Brief, whySlow
	}
	if j.Text == "" {
		return edition.Brief, whyFailed
	}
	return state.Narration{Brief: j.Brief}, "" // of the very state that it is told with
}

// job returns the one that writes, or has written, what prompt asks for about edition; nil and why where there will be none.
func (e *Editor) job(ctx context.Context, at place, prompt string, edition *feed.Edition) (*job, string) {
	sum := sha256.Sum256([]byte(prompt))
	asked := func(k state.OwnerBrief) bool {
		return k.Of.Equal(edition.GeneratedAt) && bytes.Equal(k.Prompt, sum[:])
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if j := e.jobs[at]; j != nil {
		if asked(j.OwnerBrief) {
			return j, ""
		}
		return nil, whySlow // one at a time
	}
	kept, err := e.cfg.Store.OwnerBrief(ctx, at.ownerID, at.pack)
	if err != nil {
		e.cfg.Logger.Error("owner brief not read", "owner", at.ownerID, "error", err)
		return nil, whyFailed
	}
	j := &job{OwnerBrief: kept, done: make(chan struct{})}
	switch {
	case asked(kept):
		close(j.done)
		return j, ""
	case len(e.jobs) >= maxJobs || e.background.Err() != nil:
		return nil, whyBusy
	case !kept.Of.Equal(edition.GeneratedAt):
		j.Attempts = 0
	case kept.Attempts >= maxAttempts:
		return nil, whyOften
	}
	j.OwnerBrief = state.OwnerBrief{Brief: state.Brief{Of: edition.GeneratedAt}, Prompt: sum[:], Attempts: j.Attempts + 1}
	e.jobs[at] = j
	in := Input{Pack: at.pack, State: edition.Doc, Citations: edition.Citations, Prompt: prompt, Owner: at.ownerID}
	e.busy.Go(func() { e.write(at, j, in) })
	return j, ""
}

// write does j when there is room for it, keeps what comes of it and takes j off the list.
func (e *Editor) write(at place, j *job, in Input) {
	kept, err := j.OwnerBrief, errors.New("no turn")
	select {
	case e.slots <- struct{}{}:
		kept.Brief, err = e.narrate(at, in)
		kept.Of = j.Of
		<-e.slots
	case <-e.background.Done():
	}
	if e.background.Err() == nil {
		err = errors.Join(err, e.cfg.Store.SaveOwnerBrief(e.background, at.ownerID, at.pack, kept))
	}
	if err != nil && e.background.Err() == nil {
		e.cfg.Logger.Warn("owner brief not written", "owner", at.ownerID, "pack", at.pack, "error", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j.Brief = kept.Brief
	close(j.done)
	delete(e.jobs, at)
}

// narrate has in written by the models. What they failed with is in the brief too.
func (e *Editor) narrate(at place, in Input) (state.Brief, error) {
	result, err := Narrate(e.background, e.cfg.Models, in, e.cfg.TextWithin)
	b := state.Brief{
		Text: result.Text, At: e.cfg.Now().UTC().Truncate(time.Millisecond),
		Writer: result.Writer, Refused: strings.Join(result.Reasons(), "\n"),
	}
	for _, r := range result.Refused {
		e.cfg.Refused(in.Pack, r.Writer, r.Kind())
	}
	if err == nil {
		e.cfg.Logger.Info("owner brief written", "owner", at.ownerID, "pack", at.pack, "writer", b.Writer,
			"tokens", result.Usage.Tokens(), "cost_usd_micros", result.Usage.CostMicros)
	}
	return b, err
}

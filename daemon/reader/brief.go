package reader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// fresh answers with the newest state, and with what backs the figures of its brief where that is asked for.
func (r *Reader) fresh(ctx context.Context, v View) (Answer, error) {
	edition := v.edition.Part(v.Members)
	if !v.Claims {
		return Answer{Body: edition.Fresh(), Proof: proven(v.Query, edition.Proof)}, nil
	}
	told, err := r.claimed(ctx, v, edition.Brief)
	if err != nil {
		return Answer{}, err
	}
	body, err := feed.FreshBody(edition.Pulse, told)
	if err != nil {
		return Answer{}, fmt.Errorf("encode fresh of %s: %w", v.pack.ID, err)
	}
	return Answer{Body: body, Proof: proven(v.Query, edition.Proof)}, nil
}

// brief answers with the brief of the caller, or that of the pack.
func (r *Reader) brief(ctx context.Context, v View) (Answer, error) {
	told, warning := v.edition.Brief, ""
	if r.cfg.Briefs != nil && v.ownerID != "" {
		told, warning = r.cfg.Briefs.Of(ctx, v.ownerID, v.tier, v.edition)
	}
	if told.Brief == v.edition.Brief.Brief && !v.Claims {
		return Answer{Body: v.edition.BriefBody(), Warning: warning, Proof: told.Proof}, nil
	}
	if v.Claims {
		var err error
		if told, err = r.claimed(ctx, v, told); err != nil {
			return Answer{}, err
		}
	}
	body, err := feed.BriefBody(v.edition.Pulse, told)
	if err != nil {
		return Answer{}, fmt.Errorf("encode brief of %s: %w", v.pack.ID, err)
	}
	return Answer{Body: body, Warning: warning, Proof: proven(v.Query, told.Proof)}, nil
}

// checked are the claims of a text about a state, which are read once for all who ask.
type checked struct {
	pack   string
	text   string
	of     time.Time
	claims []api.Claim
}

// claimed is told with its claims, read from the state that it was written from.
func (r *Reader) claimed(ctx context.Context, v View, told state.Narration) (state.Narration, error) {
	if c := r.checked.Load(); c != nil && c.pack == v.pack.ID && c.text == told.Text && c.of.Equal(told.Of) {
		told.Claims = c.claims
		return told, nil
	}
	pulse := v.edition.Pulse
	if !told.Of.IsZero() && !told.Of.Equal(pulse.GeneratedAt) {
		var err error
		pulse, err = r.cfg.History.PulseBefore(ctx, v.pack.ID, told.Of.Add(time.Millisecond))
		if err != nil && !errors.Is(err, state.ErrNoPulse) {
			return told, fmt.Errorf("look up %s as of %s: %w", v.pack.ID, told.Of, err)
		}
		if !pulse.GeneratedAt.Equal(told.Of) {
			return told, nil // it was pruned: what backed the brief is not known any more, and another state does not
		}
	}
	doc := pulse.Read()
	var list []ground.Claim
	var err error
	if r.cfg.Briefs != nil {
		list, err = r.cfg.Briefs.Claims(ctx, told.Brief, pulse)
	} else {
		list, err = ground.Claims(told.Text, doc, pulse.Citations)
	}
	if err != nil {
		return told, fmt.Errorf("check brief of %s: %w", v.pack.ID, err)
	}
	places := doc.Places(v.pack.Shown)
	told.Claims = make([]api.Claim, 0, len(list))
	for _, c := range list {
		claim := api.Claim{Start: c.Start, End: c.End, Text: c.Text, Ref: c.Ref, Path: c.Path}
		if place := state.Around(places, c.Row); place != nil {
			claim.Row, claim.Field = place.Row, place.Field(c.Path)
		}
		told.Claims = append(told.Claims, claim)
	}
	r.checked.Store(&checked{v.pack.ID, told.Text, told.Of, told.Claims})
	return told, nil
}

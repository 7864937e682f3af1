package account

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/sdk/api"
)

// PromptStore keeps what owners want in their briefs. Each method is one transaction.
type PromptStore interface {
	// Prompt returns an owner's prompt for a pack, "" if there is none.
	Prompt(ctx context.Context, ownerID, pack string) (string, error)
	// SetPrompt sets it, or drops it where prompt is "".
	SetPrompt(ctx context.Context, ownerID, pack, prompt string, at time.Time) error
}

// Prompts are what owners of tier pro and above want in their briefs.
type Prompts struct {
	Store   PromptStore
	NoModel bool             // no language model is configured: briefs are the built-in ones, whatever a prompt says
	Now     func() time.Time // nil means time.Now
}

// Warning is what an owner has to know before they set or buy prompts, "" if nothing.
func (p *Prompts) Warning() string {
	if p.NoModel {
		return "this service has no language model: briefs are the built-in ones, whatever a prompt says"
	}
	return ""
}

// Of returns an owner's prompt for a pack, "" if there is none. tier is the owner's.
func (p *Prompts) Of(ctx context.Context, ownerID string, tier api.Tier, pack string) (string, error) {
	if err := mayPrompt(tier); err != nil {
		return "", err
	}
	prompt, err := p.Store.Prompt(ctx, ownerID, pack)
	if err != nil {
		return "", fmt.Errorf("read prompt: %w", err)
	}
	return prompt, nil
}

// Set sets an owner's prompt for a pack, and returns it as kept. tier is the owner's.
func (p *Prompts) Set(ctx context.Context, ownerID string, tier api.Tier, pack, prompt string) (string, error) {
	if err := mayPrompt(tier); err != nil {
		return "", err
	}
	prompt = strings.TrimSpace(prompt)
	if n := utf8.RuneCountInString(prompt); n == 0 || n > api.MaxPrompt || !utf8.ValidString(prompt) || strings.ContainsRune(prompt, 0) {
		return "", api.Errorf(api.ReasonInvalidRequest, "a prompt is text of 1 to %d characters", api.MaxPrompt).
			WithHint("send DELETE to remove the prompt")
	}
	return prompt, p.store(ctx, ownerID, pack, prompt)
}

// Drop drops an owner's prompt for a pack. Dropping what is not there is no error. tier is the owner's.
func (p *Prompts) Drop(ctx context.Context, ownerID string, tier api.Tier, pack string) error {
	if err := mayPrompt(tier); err != nil {
		return err
	}
	return p.store(ctx, ownerID, pack, "")
}

func (p *Prompts) store(ctx context.Context, ownerID, pack, prompt string) error {
	now := p.Now
	if now == nil {
		now = time.Now
	}
	if err := p.Store.SetPrompt(ctx, ownerID, pack, prompt, now()); err != nil {
		return fmt.Errorf("store prompt: %w", err)
	}
	return nil
}

// mayPrompt refuses tiers without prompts of their own.
func mayPrompt(tier api.Tier) error {
	if tier.AtLeast(api.TierPro) {
		return nil
	}
	return api.Errorf(api.ReasonPackAccessDenied, "brief prompts need tier %s; yours is %s", api.TierPro, tier).
		WithHint("buy a package of credits of that tier")
}

package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/sdk/api"
)

// Invite lets one person become an owner where not everybody may.
type Invite struct {
	ID        string            `json:"id"` // the first characters of the secret
	Hash      [sha256.Size]byte `json:"-"`  // of the secret
	Note      string            `json:"note"`
	CreatedAt time.Time         `json:"createdAt"`
	ExpiresAt time.Time         `json:"expiresAt"`
	RevokedAt *time.Time        `json:"revokedAt"` // nil while it is not
	UsedAt    *time.Time        `json:"usedAt"`    // nil while it is not
	UsedBy    string            `json:"usedBy,omitempty"`
}

// IssuedInvite is the answer to the making of an invitation, the only one that has its secret.
type IssuedInvite struct {
	Code string `json:"code"`
	Invite
}

// InviteStore keeps invitations. Each method is one transaction.
type InviteStore interface {
	// AddInvite adds i.
	AddInvite(ctx context.Context, i Invite) error
	// Invites returns every invitation, newest first.
	Invites(ctx context.Context) ([]Invite, error)
	// RevokeInvite revokes an invitation at the given time, or fails with ErrNoInvite where it does not hold then.
	RevokeInvite(ctx context.Context, id string, at time.Time) error
}

// Invites makes, lists and revokes invitations.
type Invites struct {
	Store  InviteStore
	Random io.Reader        // nil means crypto/rand
	Now    func() time.Time // nil means time.Now
}

const (
	inviteIDChars = 8  // of the secret that are no secret
	maxInviteNote = 80 // runes
)

func (i Invites) now() time.Time {
	now := i.Now
	if now == nil {
		now = time.Now
	}
	return now().UTC().Truncate(time.Millisecond)
}

// Make makes an invitation. note is for the operator.
func (i Invites) Make(ctx context.Context, note string) (IssuedInvite, error) {
	if utf8.RuneCountInString(note) > maxInviteNote || strings.ContainsFunc(note, unicode.IsControl) {
		return IssuedInvite{}, api.Errorf(api.ReasonInvalidRequest, "a note is plain text of at most %d characters", maxInviteNote).
			WithHint("shorten it")
	}
	random := i.Random
	if random == nil {
		random = rand.Reader
	}
	code, err := randomText(inviteChars, random)
	if err != nil {
		return IssuedInvite{}, err
	}
	now := i.now()
	made := Invite{
		ID: code[:inviteIDChars], Hash: sha256.Sum256([]byte(code)), Note: note, CreatedAt: now, ExpiresAt: now.Add(api.InviteLifetime),
	}
	if err := i.Store.AddInvite(ctx, made); err != nil {
		return IssuedInvite{}, fmt.Errorf("store invitation: %w", err)
	}
	return IssuedInvite{code, made}, nil
}

// List returns every invitation, newest first.
func (i Invites) List(ctx context.Context) ([]Invite, error) {
	list, err := i.Store.Invites(ctx)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return list, nil
}

// Revoke ends the invitation with the given id. One that was used, is revoked or has expired is the error not_found.
func (i Invites) Revoke(ctx context.Context, id string) error {
	err := i.Store.RevokeInvite(ctx, id, i.now())
	if errors.Is(err, ErrNoInvite) {
		return api.Errorf(api.ReasonNotFound, "there is no open invitation %q", id).WithHint("list them: contextd owners invites list")
	}
	if err != nil {
		return fmt.Errorf("revoke invitation: %w", err)
	}
	return nil
}

package account

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Session is one sign-in of an owner.
type Session struct {
	Hash                 [sha256.Size]byte // of the secret
	OwnerID              string
	Tier                 api.Tier // of the owner
	Email                string   // the first, "" if there is none
	Address              string   // of the first wallet, "" if there is none
	CreatedAt, ExpiresAt time.Time
	ProvedAt             time.Time // when its owner last proved an identity that was theirs
}

// ToAPI is s as it is answered.
func (s Session) ToAPI() api.Session {
	return api.Session{UserID: s.OwnerID, Email: optionalText(s.Email), Address: optionalText(s.Address), Tier: s.Tier,
		ExpiresAt: s.ExpiresAt}
}

// Name is what the owner knows the account by.
func (s Session) Name() string { return cmp.Or(s.Email, s.Address, s.OwnerID) }

func optionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// renewAfter is how long a session is used before its end is moved.
const renewAfter = 24 * time.Hour

// Session returns the session with the given secret, or the error invalid_session. renewed says that its end has moved just now.
func (s *SignIn) Session(ctx context.Context, secret string) (session Session, renewed bool, err error) {
	if len(secret) != tokenChars || strings.Trim(secret, base62) != "" {
		return session, false, noSession()
	}
	now := s.now()
	session, err = s.cfg.Store.Session(ctx, sha256.Sum256([]byte(secret)), now)
	last := session.CreatedAt.Add(api.SessionLongest)
	if errors.Is(err, ErrNoSession) || err == nil && !now.Before(last) {
		return session, false, noSession()
	}
	if err != nil {
		return session, false, fmt.Errorf("read session: %w", err)
	}
	end := earlier(now.Add(api.SessionLifetime), last)
	if end.Sub(session.ExpiresAt) >= renewAfter {
		if err := s.cfg.Store.RenewSession(ctx, session.Hash, end); err != nil {
			return session, false, fmt.Errorf("renew session: %w", err)
		}
		session.ExpiresAt, renewed = end, true
	}
	session.ExpiresAt = earlier(session.ExpiresAt, last) // it may have been renewed when there was no last
	return session, renewed, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func noSession() *api.Error {
	return api.Errorf(api.ReasonInvalidSession, "the session has ended").WithHint("sign in again: ctx login")
}

// fresh says that the owner of a session has to prove an identity again, nil if they have done so just now.
func (s *SignIn) fresh(session *Session) error {
	if s.now().Sub(session.ProvedAt) <= api.ProofLifetime {
		return nil
	}
	return api.Errorf(api.ReasonReauthentication, "addresses and wallets of an account change only within %d minutes of a sign-in",
		int(api.ProofLifetime.Minutes())).WithHint("sign in again, then repeat this: ctx login")
}

// SignOut ends the session with the given secret.
func (s *SignIn) SignOut(ctx context.Context, secret string) error {
	if err := s.cfg.Store.EndSession(ctx, sha256.Sum256([]byte(secret))); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// SignOutEverywhere ends every session of an owner, and the links on their way to them.
func (s *SignIn) SignOutEverywhere(ctx context.Context, ownerID string) error {
	if err := s.cfg.Store.EndSessions(ctx, ownerID); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// Identities lists what an owner signs in by, oldest first.
func (s *SignIn) Identities(ctx context.Context, ownerID string) ([]api.Identity, error) {
	list, err := s.cfg.Store.Identities(ctx, ownerID)
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	return list, nil
}

// add says why o's identity may not be added to v's account, nil if it may. The others of the account are told before.
func (s *SignIn) add(ctx context.Context, o *Opening, v Visitor) error {
	if err := s.fresh(v.Session); err != nil {
		return err
	}
	list, err := s.Identities(ctx, v.owner())
	if err != nil {
		return err
	}
	if len(list) >= api.MaxIdentities {
		return api.Errorf(api.ReasonInvalidRequest, "an account can have at most %d addresses and wallets", api.MaxIdentities).
			WithHint("remove one first: ctx login identities")
	}
	o.ProvedAt = v.Session.ProvedAt // what is added now proves nothing of who adds it
	return s.notify(ctx, list, o.Identity, "is being added to", v)
}

// Unlink removes the identity with the given id from v's account and ends its other sessions, since one of them may have been opened
// by it.
func (s *SignIn) Unlink(ctx context.Context, id string, v Visitor) error {
	if err := s.fresh(v.Session); err != nil {
		return err
	}
	list, err := s.Identities(ctx, v.owner())
	if err != nil {
		return err
	}
	gone, err := pick(list, id)
	if err != nil {
		return err
	}
	if err := s.notify(ctx, list, gone, "is being removed from", v); err != nil {
		return err
	}
	return unlinked(id, s.cfg.Store.RemoveIdentity(ctx, v.owner(), gone, v.Session.Hash))
}

// NotifyRemoval tells the addresses of an account that the operator removes the identity with the given id from it. It comes before that.
func (s *SignIn) NotifyRemoval(ctx context.Context, ownerID, id string) error {
	list, err := s.Identities(ctx, ownerID)
	if err != nil {
		return err
	}
	gone, err := pick(list, id)
	if err != nil {
		return err
	}
	return s.notify(ctx, list, gone, "is being removed by the operator from", Visitor{})
}

// pick is the identity of a list with the given id, where it may be removed.
func pick(list []api.Identity, id string) (Identity, error) {
	for _, one := range list {
		if one.ID == id && len(list) > 1 {
			return Identity{one.Kind, one.Subject}, nil
		}
		if one.ID == id {
			return Identity{}, unlinked(id, ErrLastIdentity)
		}
	}
	return Identity{}, unlinked(id, ErrNoIdentity)
}

// unlinked is the answer to the removal of an identity that ended with err.
func unlinked(id string, err error) error {
	switch {
	case errors.Is(err, ErrLastIdentity):
		return api.Errorf(api.ReasonInvalidRequest, "%q is the only way to sign in to the account", id).
			WithHint("add another first: ctx login --link")
	case errors.Is(err, ErrNoIdentity):
		return api.Errorf(api.ReasonNotFound, "the account has no identity %q", id).WithHint("list them: ctx login identities")
	case err != nil:
		return fmt.Errorf("remove identity: %w", err)
	}
	return nil
}

// notify mails the addresses of list that something happens to an identity of their account. It comes before that happens, so that nothing
// does without it.
func (s *SignIn) notify(ctx context.Context, list []api.Identity, about Identity, happens string, v Visitor) error {
	var to []string
	for _, id := range list {
		if id.Kind == KindEmail {
			to = append(to, id.Subject)
		}
	}
	if v.Notify != nil {
		if err := v.Notify(v.owner(), len(to)); err != nil {
			return err
		}
	}
	for _, address := range to {
		if err := s.mail(ctx, address, "Your account at "+s.cfg.PublicURL.Host+" changes", fmt.Sprintf(
			"%s %s your account at contextd, %s. Anyone who controls it can sign in to the account, or could until now.\n\n"+
				"If it was not you, sign in, list its identities, remove any that are not yours and sign out everywhere:\n\n"+
				"ctx login --base-url %s\nctx login identities\nctx login unlink ID\nctx logout --all\n",
			about.Subject, happens, s.cfg.PublicURL, s.cfg.PublicURL)); err != nil {
			return err
		}
	}
	return nil
}

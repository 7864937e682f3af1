package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Knows reports whether v has redeemed a link to id before: from where they call now, or by being signed in as its owner.
func (s *SignIn) Knows(ctx context.Context, id Identity, v Visitor) (bool, error) {
	if v.Session != nil {
		if owner, err := s.cfg.Store.OwnerOf(ctx, id); err != nil || owner == v.owner() {
			return err == nil, err
		}
	}
	return s.cfg.Store.KnowsClient(ctx, clientHash(id, v))
}

// clientHash is by what it is known that v has redeemed a link to id.
func clientHash(id Identity, v Visitor) [sha256.Size]byte {
	return sha256.Sum256([]byte(id.Inbox() + "\x00" + v.Client))
}

// SendLink mails a link with which the owner of the address can sign in, once, until the time returned. Where v is signed in, the
// address is added to that account instead, which has to be signed in when the link is used.
func (s *SignIn) SendLink(ctx context.Context, id Identity, v Visitor) (time.Time, error) {
	owner, links, err := s.asks(ctx, id, v)
	if err != nil {
		return time.Time{}, err
	}
	unknown := owner == "" && links == ""
	if unknown && s.signup.Load() == SignupClosed {
		return s.now().Add(api.SignInLifetime), s.mail(ctx, id.Subject, "Sign-up at "+s.cfg.PublicURL.Host+" is closed", fmt.Sprintf(
			"Somebody, hopefully you, asked to sign in to contextd at %s as %s.\n\nNo account has this address, and sign-up is "+
				"closed at present. If you have an account, sign in with its address.\n", s.cfg.PublicURL, id.Subject))
	}
	token, c, err := s.challenge(ctx, id, links)
	if err != nil {
		return time.Time{}, err
	}
	link := s.cfg.PublicURL.JoinPath(api.PathAuthEmailLanding)
	link.RawQuery = url.Values{"token": {token}}.Encode()
	subject, asked, warns := "Sign in to contextd at "+s.cfg.PublicURL.Host,
		fmt.Sprintf("asked to sign in to contextd at %s as %s", s.cfg.PublicURL, id.Subject), "nobody can sign in without the link"
	switch {
	case links != "" && owner != links:
		subject = "Add this address to an account at " + s.cfg.PublicURL.Host
		asked = fmt.Sprintf("asked to add %s to the account of %s at contextd, %s.\nThe link adds the address to that account: "+
			"its owner then acts for your address there too", id.Subject, v.Session.Name(), s.cfg.PublicURL)
		warns = "nothing is added without the link"
	case unknown && s.signup.Load() == SignupInvite:
		asked += ".\nNo account has this address yet, and a new account needs an invitation: use it with the link " +
			"(ctx login --invite CODE)"
	}
	return c.ExpiresAt, s.mail(ctx, id.Subject, subject, fmt.Sprintf("Somebody, hopefully you, %s.\n\n"+
		"Open this link within %d minutes, or paste it when ctx asks for it:\n\n%s\n\nIt works once. If you did not ask, do nothing: %s.\n",
		asked, int(api.SignInLifetime.Minutes()), link, warns))
}

func (s *SignIn) mail(ctx context.Context, to, subject, text string) error {
	if err := s.cfg.Mailer.Send(ctx, to, subject, text); err != nil {
		return fmt.Errorf("send mail about sign-in: %w", err)
	}
	return nil
}

func (s *SignIn) challenge(ctx context.Context, id Identity, links string) (token string, c Challenge, err error) {
	if token, err = randomText(tokenChars, s.cfg.Random); err != nil {
		return "", c, err
	}
	now := s.now()
	c = Challenge{Hash: sha256.Sum256([]byte(token)), Identity: id, Links: links, CreatedAt: now, ExpiresAt: now.Add(api.SignInLifetime)}
	if err := s.cfg.Store.AddChallenge(ctx, c); err != nil {
		return "", c, fmt.Errorf("store challenge: %w", err)
	}
	return token, c, nil
}

// AnotherToken makes a token like that of a mailed link for somebody who has just signed in with email, so that they can go on in a
// terminal.
func (s *SignIn) AnotherToken(ctx context.Context, email string) (token string, err error) {
	token, _, err = s.challenge(ctx, Identity{KindEmail, email}, "")
	return token, err
}

// waiting is the challenge of a mailed link with the given token, if it still holds.
func (s *SignIn) waiting(ctx context.Context, token string) (Challenge, error) {
	c, err := s.cfg.Store.Challenge(ctx, sha256.Sum256([]byte(token)))
	switch {
	case errors.Is(err, ErrNoChallenge):
		return c, unknownSignIn()
	case err != nil:
		return c, fmt.Errorf("find challenge: %w", err)
	case c.Kind != KindEmail:
		return c, refused("the token is not that of a mailed link")
	case !s.now().Before(c.ExpiresAt):
		return c, refused("the sign-in expired at %s", c.ExpiresAt.Format(time.RFC3339))
	}
	return c, nil
}

// ByLink signs in with the token of a mailed link, which is used up if that succeeds. It returns the secret of the new session.
func (s *SignIn) ByLink(ctx context.Context, token string, v Visitor) (secret string, session Session, err error) {
	c, err := s.waiting(ctx, token)
	if err != nil {
		return "", session, err
	}
	return s.enter(ctx, Opening{Identity: c.Identity, Token: c.Hash, Client: clientHash(c.Identity, v)}, c.Links, v)
}

// Landing is what a mailed link would do.
type Landing struct {
	Subject  string // the address that it is to; "" for a link that does not hold
	Adds     string // the account that the address would be added to, "" if it signs in
	Replaces string // the account that is signed in and would not be any more, "" if there is none
	Invite   bool   // it makes a new account, which needs an invitation
}

// Preview says what the link with the given token would do for v, without using it.
func (s *SignIn) Preview(ctx context.Context, token string, v Visitor) (l Landing, err error) {
	c, err := s.waiting(ctx, token)
	if errors.Is(err, &api.Error{Reason: api.ReasonInvalidSignIn}) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	owner, err := s.cfg.Store.OwnerOf(ctx, c.Identity)
	if err != nil {
		return l, fmt.Errorf("find owner of identity: %w", err)
	}
	l.Subject = c.Subject
	switch {
	case c.Links != "" && c.Links == v.owner() && owner != c.Links:
		l.Adds = v.Session.Name()
	case c.Links == "" && v.Session != nil && owner != v.owner():
		l.Replaces = v.Session.Name()
	}
	l.Invite = owner == "" && c.Links == "" && s.signup.Load() == SignupInvite
	return l, nil
}

package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Sizes of secrets, in base62 characters: 43 have 256 bits.
const (
	tokenChars = 43 // of a mailed link or a session
	nonceChars = 24 // of a message to sign
)

// maxChallenges bounds the sign-ins that wait for their answer.
const maxChallenges = 100_000

// Errors of stores.
var (
	ErrNoChallenge       = errors.New("no such challenge")            // also one that was taken
	ErrTooManyChallenges = errors.New("too many challenges are open") // they go by with time
	ErrNoSession         = errors.New("no such session")              // also one that has ended, or whose owner was disabled
	ErrIdentityTaken     = errors.New("identity of another owner")
	ErrDisabled          = errors.New("owner was disabled")
)

// Challenge is a sign-in that waits for its answer.
type Challenge struct {
	Hash                 [sha256.Size]byte // of the token or nonce
	Identity                               // what is to be proved
	Links                string            // the owner to add it to; "" means to sign in
	CreatedAt, ExpiresAt time.Time
}

// Session is one sign-in of an owner.
type Session struct {
	Hash                 [sha256.Size]byte // of the secret
	OwnerID              string
	Tier                 api.Tier // of the owner
	Email                string   // the first, "" if there is none
	Address              string   // of the first wallet, "" if there is none
	CreatedAt, ExpiresAt time.Time
}

func (s Session) toAPI() api.Session {
	return api.Session{UserID: s.OwnerID, Email: optionalText(s.Email), Address: optionalText(s.Address), Tier: s.Tier,
		ExpiresAt: s.ExpiresAt}
}

func optionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// SignInStore keeps challenges, identities and sessions. Each method is one transaction.
type SignInStore interface {
	// AddChallenge adds c and drops those that have expired by its creation, or fails with ErrTooManyChallenges where most are open.
	AddChallenge(ctx context.Context, c Challenge, most int) error
	// TakeChallenge takes out and returns the challenge with the given hash, once: else it is ErrNoChallenge.
	TakeChallenge(ctx context.Context, hash [sha256.Size]byte) (Challenge, error)

	// OpenSession adds s for the owner of id and returns it with what is known of that owner. Where id is nobody's, it becomes that of
	// s.OwnerID, made if new. Where it is not that owner's and links is set, it fails with ErrIdentityTaken; for a disabled
	// owner with ErrDisabled.
	OpenSession(ctx context.Context, id Identity, links bool, s Session) (Session, error)
	// Session returns the session with the given hash that holds at now, else ErrNoSession.
	Session(ctx context.Context, hash [sha256.Size]byte, now time.Time) (Session, error)
	// RenewSession lets a session end at the given time.
	RenewSession(ctx context.Context, hash [sha256.Size]byte, end time.Time) error
	// EndSession ends a session. One that is not there has ended.
	EndSession(ctx context.Context, hash [sha256.Size]byte) error
}

// Mailer sends mail. It may return before the message has gone out.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}

// SignInConfig is what SignIn needs.
type SignInConfig struct {
	Store     SignInStore
	Mailer    Mailer
	PublicURL *url.URL                                     // of the service, as its users reach it
	ChainID   int64                                        // in the messages that wallets sign
	Recover   func(text, signature string) (string, error) // the EIP-55 address that signed text by EIP-191
	Checksum  func(address string) (string, error)         // address in the spelling of EIP-55, or what is wrong with it
	NewID     func() string                                // a UUID for a new owner
	Random    io.Reader                                    // nil means crypto/rand
	Now       func() time.Time                             // nil means time.Now
}

// SignIn lets owners in by mailed link and by wallet and keeps their sessions. It is safe for concurrent use.
type SignIn struct{ cfg SignInConfig }

// NewSignIn makes a SignIn.
func NewSignIn(cfg SignInConfig) *SignIn {
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &SignIn{cfg: cfg}
}

// now is the time, as precise as it is stored.
func (s *SignIn) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// challenge makes and keeps a challenge whose secret has chars characters.
func (s *SignIn) challenge(ctx context.Context, id Identity, links string, chars int, lifetime time.Duration,
) (secret string, c Challenge, err error) {
	if secret, err = randomText(chars, s.cfg.Random); err != nil {
		return "", c, err
	}
	now := s.now()
	c = Challenge{Hash: sha256.Sum256([]byte(secret)), Identity: id, Links: links, CreatedAt: now, ExpiresAt: now.Add(lifetime)}
	err = s.cfg.Store.AddChallenge(ctx, c, maxChallenges)
	if errors.Is(err, ErrTooManyChallenges) {
		return "", c, api.Errorf(api.ReasonRateLimited, "too many people are signing in at this moment").
			WithHint("try again after Retry-After").WithRetryAfter(time.Minute)
	}
	if err != nil {
		return "", c, fmt.Errorf("store challenge: %w", err)
	}
	return secret, c, nil
}

// SendLink mails a link with which the owner of the address can sign in, once, until the time returned. With links, the
// address is added to that owner instead, who has to be signed in when the link is used.
func (s *SignIn) SendLink(ctx context.Context, email, links string) (time.Time, error) {
	id, err := emailIdentity(email)
	if err != nil {
		return time.Time{}, err
	}
	token, c, err := s.challenge(ctx, id, links, tokenChars, api.SignInLifetime)
	if err != nil {
		return time.Time{}, err
	}
	link := s.cfg.PublicURL.JoinPath(api.PathAuthEmailLanding)
	link.RawQuery = url.Values{"token": {token}}.Encode()
	text := fmt.Sprintf("Somebody, hopefully you, asked to sign in to contextd at %s as %s.\n\n"+
		"Open this link within %d minutes, or paste it where ctx asks for it:\n\n%s\n\n"+
		"It works once. If it was not you, do nothing: without the link nobody gets in.\n",
		s.cfg.PublicURL, id.Subject, int(api.SignInLifetime.Minutes()), link)
	if err := s.cfg.Mailer.Send(ctx, id.Subject, "Sign in to contextd at "+s.cfg.PublicURL.Host, text); err != nil {
		return time.Time{}, fmt.Errorf("send sign-in link: %w", err)
	}
	return c.ExpiresAt, nil
}

// ByLink signs in with the token of a mailed link, which is used up. signedIn is the owner who is signed in already, "" if nobody is.
// It returns the secret of the new session.
func (s *SignIn) ByLink(ctx context.Context, token, signedIn string) (secret string, session api.Session, err error) {
	c, err := s.take(ctx, token)
	if err != nil {
		return "", session, err
	}
	if c.Kind != KindEmail {
		return "", session, refused("the token is not that of a mailed link")
	}
	return s.open(ctx, c, signedIn)
}

// AnotherToken makes a token like that of a mailed link for somebody who has just signed in with email, so that they can go on in a
// terminal.
func (s *SignIn) AnotherToken(ctx context.Context, email string) (token string, err error) {
	token, _, err = s.challenge(ctx, Identity{KindEmail, email}, "", tokenChars, api.SignInLifetime)
	return token, err
}

// Message returns the text that the wallet with the given address has to sign, and until when. With links, the wallet is
// added to that owner, who has to be signed in when it is verified.
func (s *SignIn) Message(ctx context.Context, address, links string) (text string, expires time.Time, err error) {
	id, err := s.walletIdentity(address)
	if err != nil {
		return "", time.Time{}, err
	}
	nonce, c, err := s.challenge(ctx, id, links, nonceChars, api.WalletLifetime)
	if err != nil {
		return "", time.Time{}, err
	}
	return s.message(nonce, c), c.ExpiresAt, nil
}

// message is the text that belongs to a challenge.
func (s *SignIn) message(nonce string, c Challenge) string {
	return message{
		Domain: s.cfg.PublicURL.Host, Address: c.Subject, URI: s.cfg.PublicURL.String(), ChainID: s.cfg.ChainID, Nonce: nonce,
		IssuedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
	}.String()
}

// ByWallet signs in with a signed message. Its nonce is used up, whatever comes of it. signedIn is the owner who is signed in
// already, "" if nobody is. It returns the secret of the new session.
func (s *SignIn) ByWallet(ctx context.Context, text, signature, signedIn string) (secret string, session api.Session, err error) {
	nonce, ok := nonceOf(text)
	if !ok {
		return "", session, refused("the message is not one that this service hands out")
	}
	c, err := s.take(ctx, nonce)
	if err != nil {
		return "", session, err
	}
	if c.Kind != KindWallet || text != s.message(nonce, c) {
		return "", session, refused("the message is not the one that was handed out")
	}
	signer, err := s.cfg.Recover(text, signature)
	if err != nil || signer != c.Subject {
		return "", session, refused("the message is not signed by wallet %s", c.Subject)
	}
	return s.open(ctx, c, signedIn)
}

// take takes the challenge whose secret is given, if it still holds.
func (s *SignIn) take(ctx context.Context, secret string) (Challenge, error) {
	c, err := s.cfg.Store.TakeChallenge(ctx, sha256.Sum256([]byte(secret)))
	switch {
	case errors.Is(err, ErrNoChallenge):
		return c, refused("the sign-in is not known here: it was used, has expired or never was")
	case err != nil:
		return c, fmt.Errorf("take challenge: %w", err)
	case !s.now().Before(c.ExpiresAt):
		return c, refused("the sign-in expired at %s", c.ExpiresAt.Format(time.RFC3339))
	}
	return c, nil
}

// refused is the answer to a sign-in that fails.
func refused(format string, args ...any) *api.Error {
	return api.Errorf(api.ReasonInvalidSignIn, format, args...).WithHint("begin again: ctx auth login")
}

// open opens a session for who has answered c.
func (s *SignIn) open(ctx context.Context, c Challenge, signedIn string) (secret string, session api.Session, err error) {
	if c.Links != "" && c.Links != signedIn {
		// Else somebody could have others add what is theirs to an account of their own, by a link they asked for.
		return "", session, api.Errorf(api.ReasonInvalidSignIn, "this adds %s to an account that is not signed in here", c.Subject).
			WithHint("use it where you asked for it")
	}
	if secret, err = randomText(tokenChars, s.cfg.Random); err != nil {
		return "", session, err
	}
	owner, now := c.Links, s.now()
	if owner == "" {
		owner = s.cfg.NewID()
	}
	opened, err := s.cfg.Store.OpenSession(ctx, c.Identity, c.Links != "", Session{
		Hash: sha256.Sum256([]byte(secret)), OwnerID: owner, CreatedAt: now, ExpiresAt: now.Add(api.SessionLifetime),
	})
	switch {
	case errors.Is(err, ErrIdentityTaken):
		return "", session, api.Errorf(api.ReasonInvalidSignIn, "%s belongs to another account", c.Subject).
			WithHint("sign out, and sign in with it")
	case errors.Is(err, ErrDisabled):
		return "", session, api.Errorf(api.ReasonInvalidSignIn, "the account of %s was disabled", c.Subject).WithHint("ask the operator")
	case err != nil:
		return "", session, fmt.Errorf("open session: %w", err)
	}
	return secret, opened.toAPI(), nil
}

// renewAfter is how long a session is used before its end is moved.
const renewAfter = 24 * time.Hour

// Session returns the session with the given secret, or the error invalid_session. renewed says that its end has moved just now.
func (s *SignIn) Session(ctx context.Context, secret string) (session api.Session, renewed bool, err error) {
	if len(secret) != tokenChars || strings.Trim(secret, base62) != "" {
		return session, false, noSession()
	}
	now := s.now()
	found, err := s.cfg.Store.Session(ctx, sha256.Sum256([]byte(secret)), now)
	if errors.Is(err, ErrNoSession) {
		return session, false, noSession()
	}
	if err != nil {
		return session, false, fmt.Errorf("read session: %w", err)
	}
	if end := now.Add(api.SessionLifetime); end.Sub(found.ExpiresAt) >= renewAfter {
		if err := s.cfg.Store.RenewSession(ctx, found.Hash, end); err != nil {
			return session, false, fmt.Errorf("renew session: %w", err)
		}
		found.ExpiresAt, renewed = end, true
	}
	return found.toAPI(), renewed, nil
}

func noSession() *api.Error {
	return api.Errorf(api.ReasonInvalidSession, "the session has ended").WithHint("sign in again: ctx auth login")
}

// SignOut ends the session with the given secret.
func (s *SignIn) SignOut(ctx context.Context, secret string) error {
	if err := s.cfg.Store.EndSession(ctx, sha256.Sum256([]byte(secret))); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

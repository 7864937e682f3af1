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
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Sizes of secrets, in base62 characters: 43 have 256 bits.
const (
	tokenChars  = 43 // of a mailed link or a session
	randomChars = 10 // of a nonce, before its MAC
	nonceChars  = 24 // of a message to sign
	inviteChars = 26
)

// Errors of stores.
var (
	ErrNoChallenge   = errors.New("no such challenge") // also one that was taken
	ErrNoSession     = errors.New("no such session")   // also one that has ended, or whose owner was disabled
	ErrNoInvite      = errors.New("no such invitation, or it was used, revoked or has expired")
	ErrNobody        = errors.New("identity of nobody")
	ErrIdentityTaken = errors.New("identity of another owner")
	ErrNoIdentity    = errors.New("no such identity of that owner")
	ErrLastIdentity  = errors.New("the last identity of its owner")
	ErrDisabled      = errors.New("owner was disabled")
)

// Challenge is a mailed link that waits to be used.
type Challenge struct {
	Hash                 [sha256.Size]byte // of the token
	Identity                               // what is to be proved
	Links                string            // the owner who asked for it while signed in; "" means nobody
	CreatedAt, ExpiresAt time.Time
}

// Opening is a session to be opened by who has proved an identity.
type Opening struct {
	Session            // where the identity is nobody's, it becomes that of its OwnerID
	Identity           // what was proved
	Adds     bool      // the identity is to become one of OwnerID's
	New      bool      // OwnerID may be made
	Token    hashOrNot // of the mailed link that is used up by it; the zero one for none
	Message  hashOrNot // of the signed message that is used up by it, where several nodes take it; the zero one for none
	Until    time.Time // when Message holds no more, by any clock
	Invite   hashOrNot // of the invitation that is used up where OwnerID is made; the zero one for none
	Client   hashOrNot // of address and client, to be known from now on; the zero one for none
}

// hashOrNot is a SHA-256, or zero for none.
type hashOrNot = [sha256.Size]byte

// SignInStore keeps challenges, identities and sessions. Each method is one transaction.
type SignInStore interface {
	// AddChallenge adds c and drops those that have expired by its creation.
	AddChallenge(ctx context.Context, c Challenge) error
	// Challenge returns the challenge with the given hash, else ErrNoChallenge.
	Challenge(ctx context.Context, hash [sha256.Size]byte) (Challenge, error)

	// OwnerOf returns the owner of id, "" if it is nobody's.
	OwnerOf(ctx context.Context, id Identity) (ownerID string, err error)
	// Identities returns an owner's, oldest first.
	Identities(ctx context.Context, ownerID string) ([]api.Identity, error)
	// RemoveIdentity takes id from its owner and ends their sessions but the one with the hash keep, and what waits for an answer of id.
	// It fails with ErrNoIdentity or ErrLastIdentity.
	RemoveIdentity(ctx context.Context, ownerID string, id Identity, keep [sha256.Size]byte) error
	// KnowsClient reports whether a link to an address was redeemed by a client, by the hash of both.
	KnowsClient(ctx context.Context, hash [sha256.Size]byte) (bool, error)
	// InviteHolds reports whether the invitation with the given hash can be used at now.
	InviteHolds(ctx context.Context, hash [sha256.Size]byte, now time.Time) (bool, error)

	// OpenSession opens o's session for the owner of its identity and returns it with what is known of that owner. It fails with
	// ErrNoChallenge where the link or the message is used up, ErrNobody where the identity is nobody's and o neither adds nor is new,
	// ErrIdentityTaken where o adds what is another's, ErrNoInvite where that does not hold, and ErrDisabled for an owner who is disabled.
	OpenSession(ctx context.Context, o Opening) (Session, error)
	// Session returns the session with the given hash that holds at now, else ErrNoSession.
	Session(ctx context.Context, hash [sha256.Size]byte, now time.Time) (Session, error)
	// RenewSession lets a session end at the given time.
	RenewSession(ctx context.Context, hash [sha256.Size]byte, end time.Time) error
	// EndSession ends a session. One that is not there has ended.
	EndSession(ctx context.Context, hash [sha256.Size]byte) error
	// EndSessions ends all sessions of an owner, and drops the links that would open one.
	EndSessions(ctx context.Context, ownerID string) error
}

// Mailer sends mail. It may return before the message has gone out.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}

// Signup says who may become an owner.
type Signup string

// The kinds of sign-up.
const (
	SignupOpen   Signup = "open"   // everybody
	SignupInvite Signup = "invite" // who has an invitation
	SignupClosed Signup = "closed" // nobody
)

// SignInConfig is what SignIn needs.
type SignInConfig struct {
	Store     SignInStore
	Mailer    Mailer
	Signup    Signup                                       // "" means SignupOpen
	PublicURL *url.URL                                     // of the service, as its users reach it
	ChainID   int64                                        // in the messages that wallets sign
	Recover   func(text, signature string) (string, error) // the EIP-55 address that signed text by EIP-191
	Checksum  func(address string) (string, error)         // address in the spelling of EIP-55, or what is wrong with it
	NewID     func() string                                // a UUID for a new owner
	Key       []byte                                       // of messages to sign, which all nodes have; nil for one of this SignIn alone
	Random    io.Reader                                    // nil means crypto/rand
	Now       func() time.Time                             // nil means time.Now
}

// SignIn lets owners in by mailed link and by wallet and keeps their sessions. It is safe for concurrent use.
type SignIn struct {
	cfg    SignInConfig
	signup atomic.Value // a Signup
	key    []byte
	used   burnt // nonces of messages that were handed in
}

// NewSignIn makes a SignIn. Messages to sign that one without its Key handed out are nothing to it.
func NewSignIn(cfg SignInConfig) (*SignIn, error) {
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &SignIn{cfg: cfg, key: cfg.Key}
	if s.key == nil {
		s.key = make([]byte, sha256.Size)
		if _, err := io.ReadFull(cfg.Random, s.key); err != nil {
			return nil, fmt.Errorf("make key of sign-in messages: %w", err)
		}
	}
	s.SetSignup(cfg.Signup)
	return s, nil
}

// SetSignup changes who may become an owner, from the next sign-in on.
func (s *SignIn) SetSignup(to Signup) {
	if to == "" {
		to = SignupOpen
	}
	s.signup.Store(to)
}

// Open reports whether everybody may become an owner.
func (s *SignIn) Open() bool { return s.signup.Load() == SignupOpen }

// now is the time, as precise as it is stored.
func (s *SignIn) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// Visitor is somebody who asks for a sign-in or answers one.
type Visitor struct {
	Session *Session                            // that they are signed in by already; nil for none
	Client  string                              // where they call from, as far as it tells clients apart
	Invite  string                              // that they have brought, "" for none
	Admit   func() error                        // why no new owner may come from there now, nil if one may
	Notify  func(owner string, mails int) error // why an owner may not be mailed about a change now, nil if they may
}

// owner is the one who is signed in already, "" if nobody is.
func (v Visitor) owner() string {
	if v.Session == nil {
		return ""
	}
	return v.Session.OwnerID
}

// refused is the answer to a sign-in that fails.
func refused(format string, args ...any) *api.Error {
	return api.Errorf(api.ReasonInvalidSignIn, format, args...).WithHint("begin again: ctx login")
}

// asks says for whom v asks to prove id: "" to sign in, or the owner who is signed in. To add what is not theirs needs a fresh proof.
func (s *SignIn) asks(ctx context.Context, id Identity, v Visitor) (owner, links string, err error) {
	if owner, err = s.cfg.Store.OwnerOf(ctx, id); err != nil {
		return "", "", fmt.Errorf("find owner of identity: %w", err)
	}
	if v.Session != nil && owner != v.owner() {
		err = s.fresh(v.Session)
	}
	return owner, v.owner(), err
}

// OwnerOf returns the owner of a wallet, whose address is spelled as EIP-55 has it; "" if it is nobody's.
func (s *SignIn) OwnerOf(ctx context.Context, address string) (string, error) {
	return s.cfg.Store.OwnerOf(ctx, Identity{KindWallet, address})
}

// enter opens a session for who has proved o's identity; links is the owner who had asked for that while signed in.
func (s *SignIn) enter(ctx context.Context, o Opening, links string, v Visitor) (secret string, session Session, err error) {
	if links != "" && links != v.owner() {
		// Else somebody could have others add what is theirs to an account of their own, by a link they asked for.
		return "", session, api.Errorf(api.ReasonInvalidSignIn, "adding %s needs a session of the account that asked", o.Subject).
			WithHint("finish in the browser or program where you asked")
	}
	owner, err := s.cfg.Store.OwnerOf(ctx, o.Identity)
	if err != nil {
		return "", session, fmt.Errorf("find owner of identity: %w", err)
	}
	now := s.now()
	o.OwnerID, o.CreatedAt, o.ProvedAt, o.ExpiresAt = owner, now, now, now.Add(api.SessionLifetime)
	switch {
	case links != "" && owner != links:
		if owner == "" {
			err = s.add(ctx, &o, v)
		}
		o.OwnerID, o.Adds = links, true
	case owner == "":
		err = s.admit(ctx, &o, v)
		o.OwnerID, o.New = s.cfg.NewID(), true
	}
	if err != nil {
		return "", session, err
	}
	if secret, err = randomText(tokenChars, s.cfg.Random); err != nil {
		return "", session, err
	}
	o.Session.Hash = sha256.Sum256([]byte(secret))
	session, err = s.cfg.Store.OpenSession(ctx, o)
	return secret, session, opened(o, err)
}

// opened is the answer to a session that could not be opened, nil if it could.
func opened(o Opening, err error) error {
	switch {
	case errors.Is(err, ErrIdentityTaken):
		return api.Errorf(api.ReasonInvalidSignIn, "%s belongs to another account", o.Subject).WithHint("sign out, then sign in with it")
	case errors.Is(err, ErrDisabled):
		return api.Errorf(api.ReasonInvalidSignIn, "the account of %s was disabled", o.Subject).WithHint("ask the operator")
	case errors.Is(err, ErrNoInvite):
		return signupClosed()
	case errors.Is(err, ErrNoChallenge), errors.Is(err, ErrNobody):
		return unknownSignIn()
	case err != nil:
		return fmt.Errorf("open session: %w", err)
	}
	return nil
}

func unknownSignIn() *api.Error {
	return refused("the sign-in is unknown: used, expired or from another service")
}

// admit says why o may not make a new owner, nil if it may.
func (s *SignIn) admit(ctx context.Context, o *Opening, v Visitor) error {
	switch s.signup.Load() {
	case SignupClosed:
		return signupClosed()
	case SignupInvite:
		o.Invite = sha256.Sum256([]byte(strings.TrimSpace(v.Invite)))
		holds, err := s.cfg.Store.InviteHolds(ctx, o.Invite, s.now())
		if err != nil {
			return fmt.Errorf("look for invitation: %w", err)
		}
		if !holds {
			return signupClosed()
		}
	}
	if v.Admit == nil {
		return nil
	}
	return v.Admit()
}

func signupClosed() *api.Error {
	return api.Errorf(api.ReasonSignupClosed, "new accounts need a valid invitation").
		WithHint("ask the operator for a code, then: ctx login --invite CODE")
}

package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// What a TokenStore answers.
var (
	ErrNoToken = errors.New("there is no such code or token")
	ErrUsed    = errors.New("it was used before")
)

// The lifetimes of OAuth. A refresh token lives on with each use.
const (
	CodeLifetime    = time.Minute
	AccessLifetime  = time.Hour
	RefreshLifetime = 90 * 24 * time.Hour
	RefreshGrace    = 2 * time.Minute // in which a refresh token that was used is taken once more: programs share one, and answers get lost
)

// Prefixes of tokens, and the characters behind them.
const (
	AccessPrefix  = "cvo_"
	RefreshPrefix = "cvr_"
	tokenText     = 43
)

// MaxConsents is how many agents may be signed in for an owner at a time.
const MaxConsents = 10

// Code is an authorization code: it is exchanged for tokens, once.
type Code struct {
	Hash      [sha256.Size]byte
	Form      [sha256.Size]byte // of the form that it was made by, which counts once
	Consent   Consent
	Redirect  string // to which it was sent
	Challenge string // of PKCE, by S256
	ExpiresAt time.Time
	UsedAt    time.Time // zero while it was not
	KeyID     string    // of the key that it gave; "" while it was not used
}

// Token is an access token or a refresh token.
type Token struct {
	Hash      [sha256.Size]byte
	KeyID     string
	Refresh   bool
	ExpiresAt time.Time
	UsedAt    time.Time // of a refresh token: when it was first exchanged; zero while it was not
}

// TokenStore keeps codes and tokens. Each method is one transaction.
type TokenStore interface {
	// AddCode adds a code, or fails with ErrUsed where its Form has one already.
	AddCode(ctx context.Context, c Code) error
	// Code returns the code with the given hash, else ErrNoToken.
	Code(ctx context.Context, hash [sha256.Size]byte) (Code, error)
	// UseCode marks a code as used at the given time and adds the key that it is for, and its tokens. It fails with ErrUsed where it was
	// used before, and with ErrDuplicate where the key's id is taken.
	UseCode(ctx context.Context, hash [sha256.Size]byte, at time.Time, k Key, made []Token) error
	// Token returns the token with the given hash, else ErrNoToken.
	Token(ctx context.Context, hash [sha256.Size]byte) (Token, error)
	// UseToken marks a refresh token as used at the given time, if it was not, and adds tokens. It fails with ErrUsed where it was used
	// before since.
	UseToken(ctx context.Context, hash [sha256.Size]byte, since, at time.Time, made []Token) error
	// KeepGrant keeps the grant of a key as it is now.
	KeepGrant(ctx context.Context, keyID string, g api.Grant) error
}

// TokensConfig is what Tokens needs.
type TokensConfig struct {
	Store  TokenStore
	Keys   *Keys
	Random io.Reader        // nil means crypto/rand
	Now    func() time.Time // nil means time.Now
}

// Tokens are what agents that have signed in carry in place of a key. They end with it: to revoke one is to revoke its key, at once and on
// every node. It is safe for concurrent use.
type Tokens struct {
	cfg TokensConfig

	mu    sync.Mutex // guards known
	known map[[sha256.Size]byte]Token
}

// maxKnownTokens bounds the access tokens that are remembered.
const maxKnownTokens = 20_000

// NewTokens makes Tokens.
func NewTokens(cfg TokensConfig) *Tokens {
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Tokens{cfg: cfg, known: map[[sha256.Size]byte]Token{}}
}

func (t *Tokens) now() time.Time { return t.cfg.Now().UTC().Truncate(time.Millisecond) }

// Consent is what an owner agrees to.
type Consent struct {
	OwnerID string     `json:"owner"`
	Name    string     `json:"name"` // of the agent, among the owner's keys
	Daily   int64      `json:"daily"`
	Ends    time.Time  `json:"ends"` // zero means never
	Grant   *api.Grant `json:"grant"`
}

func (c Consent) key() NewKey {
	return NewKey{OwnerID: c.OwnerID, Name: c.Name, Consent: api.ConsentAggregated, Daily: &c.Daily, Grant: c.Grant, Ends: c.Ends}
}

// Agree returns the code of a consent that was given by a form and is for a redirect and a challenge of PKCE. It fails with ErrUsed where
// the form was used before.
func (t *Tokens) Agree(ctx context.Context, c Consent, form [sha256.Size]byte, redirect, challenge string) (code string, err error) {
	c.Name = strings.TrimSpace(c.Name)
	if err := c.key().check(); err != nil {
		return "", err
	}
	if _, err := t.cfg.Keys.before(ctx, c); err != nil { // which its owner reads here, not the agent later
		return "", err
	}
	if code, err = randomText(tokenText, t.cfg.Random); err != nil {
		return "", err
	}
	err = t.cfg.Store.AddCode(ctx, Code{
		Hash: sha256.Sum256([]byte(code)), Form: form, Consent: c, Redirect: redirect, Challenge: challenge,
		ExpiresAt: t.now().Add(CodeLifetime),
	})
	return code, err
}

// Pair is an access token and the refresh token that gets the next.
type Pair struct {
	Access, Refresh string
	Lasts           time.Duration // of Access
	Key             Key
}

// Redeem makes the key that a code is for, and its first tokens. A key of the same owner, client and name ends. It fails with ErrNoToken
// where the code is none, has expired, or is another client's, redirect's or verifier's. One that is used again ends the key that it gave.
func (t *Tokens) Redeem(ctx context.Context, code, clientID, redirect, verifier string) (p Pair, err error) {
	hash := sha256.Sum256([]byte(code))
	c, err := t.cfg.Store.Code(ctx, hash)
	if err != nil {
		return p, err
	}
	if !c.UsedAt.IsZero() {
		return p, t.reused(ctx, c.KeyID)
	}
	sum := sha256.Sum256([]byte(verifier))
	proved := subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(c.Challenge)) == 1
	now := t.now()
	if !now.Before(c.ExpiresAt) || c.Redirect != redirect || c.Consent.Grant.ClientID != clientID || !proved {
		return p, ErrNoToken
	}
	err = t.cfg.Keys.agree(ctx, c.Consent, func(k Key) (err error) {
		var made []Token
		if p, made, err = t.mint(k, now); err != nil {
			return err
		}
		return t.cfg.Store.UseCode(ctx, hash, now, k, made)
	})
	if errors.Is(err, ErrUsed) { // by another at the same time
		if c, err = t.cfg.Store.Code(ctx, hash); err == nil {
			err = t.reused(ctx, c.KeyID)
		}
	}
	return p, err
}

// Refresh exchanges a refresh token for the next pair. One that was used longer than RefreshGrace ago was copied: the key ends, and the
// error is ErrUsed.
func (t *Tokens) Refresh(ctx context.Context, refresh, clientID string) (Pair, error) {
	hash := sha256.Sum256([]byte(refresh))
	token, err := t.cfg.Store.Token(ctx, hash)
	if err != nil {
		return Pair{}, err
	}
	now := t.now()
	key, err := t.active(token.KeyID, clientID)
	switch {
	case err != nil:
		return Pair{}, err
	case !token.Refresh, !now.Before(token.ExpiresAt):
		return Pair{}, ErrNoToken
	}
	p, made, err := t.mint(key, now)
	if err != nil {
		return Pair{}, err
	}
	if err := t.cfg.Store.UseToken(ctx, hash, now.Add(-RefreshGrace), now, made); errors.Is(err, ErrUsed) {
		return Pair{}, t.reused(ctx, token.KeyID)
	} else if err != nil {
		return Pair{}, fmt.Errorf("use refresh token: %w", err)
	}
	return p, nil
}

// active is a key that works and that a client has been given, else it is ErrNoToken.
func (t *Tokens) active(keyID, clientID string) (Key, error) {
	key, err := t.cfg.Keys.Active(keyID)
	if refused := new(api.Error); errors.As(err, &refused) && refused.Code == api.CodeAuthInvalid {
		return Key{}, ErrNoToken
	}
	if err == nil && (key.Grant == nil || key.Grant.ClientID != clientID) {
		return Key{}, ErrNoToken
	}
	return key, err
}

// reused ends a key whose code or token was used again, which its owner sees at the key, and returns ErrUsed.
func (t *Tokens) reused(ctx context.Context, keyID string) error {
	if key, err := t.cfg.Keys.Lookup(keyID); err == nil && key.Grant != nil {
		noted := *key.Grant
		noted.Copied = true
		if err := t.cfg.Store.KeepGrant(ctx, keyID, noted); err != nil {
			return err
		}
		t.cfg.Keys.grant(keyID, &noted)
	}
	_, err := t.cfg.Keys.Revoke(ctx, keyID)
	if err != nil && !errors.Is(err, &api.Error{Reason: api.ReasonKeyNotFound}) {
		return err
	}
	return fmt.Errorf("key %s: %w", keyID, ErrUsed)
}

// mint makes a pair of tokens of key, and what is kept of them.
func (t *Tokens) mint(key Key, now time.Time) (p Pair, made []Token, err error) {
	ends := func(after time.Duration) time.Time {
		if end := now.Add(after); key.RevokesAt.IsZero() || end.Before(key.RevokesAt) {
			return end
		}
		return key.RevokesAt
	}
	access, err := randomText(tokenText, t.cfg.Random)
	if err != nil {
		return p, nil, err
	}
	refresh, err := randomText(tokenText, t.cfg.Random)
	p = Pair{Access: AccessPrefix + access, Refresh: RefreshPrefix + refresh, Lasts: ends(AccessLifetime).Sub(now), Key: key}
	return p, []Token{
		{Hash: sha256.Sum256([]byte(p.Access)), KeyID: key.ID, ExpiresAt: ends(AccessLifetime)},
		{Hash: sha256.Sum256([]byte(p.Refresh)), KeyID: key.ID, Refresh: true, ExpiresAt: ends(RefreshLifetime)},
	}, err
}

// Resolve returns the key that an access token stands for, or the error invalid_token or key_revoked.
func (t *Tokens) Resolve(ctx context.Context, access string) (Key, error) {
	text, ok := strings.CutPrefix(access, AccessPrefix)
	if !ok || len(text) != tokenText || strings.Trim(text, base62) != "" {
		return Key{}, unknownToken()
	}
	token, err := t.token(ctx, sha256.Sum256([]byte(access)))
	if errors.Is(err, ErrNoToken) || err == nil && (token.Refresh || !t.now().Before(token.ExpiresAt)) {
		return Key{}, unknownToken()
	}
	if err != nil {
		return Key{}, fmt.Errorf("read token: %w", err)
	}
	return t.cfg.Keys.Active(token.KeyID)
}

func unknownToken() *api.Error {
	return api.Errorf(api.ReasonInvalidToken, "the access token is unknown or has expired").
		WithHint("get another with the refresh token, or sign in again")
}

// token is the token with the given hash. What one says never changes, so it is read once.
func (t *Tokens) token(ctx context.Context, hash [sha256.Size]byte) (Token, error) {
	t.mu.Lock()
	token, ok := t.known[hash]
	t.mu.Unlock()
	if ok {
		return token, nil
	}
	token, err := t.cfg.Store.Token(ctx, hash)
	if err != nil || token.Refresh {
		return token, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxKnownTokens {
		clear(t.known)
	}
	t.known[hash] = token
	return token, nil
}

// Revoke ends the key that a token of a client stands for. One that is nobody's, or another client's, changes nothing.
func (t *Tokens) Revoke(ctx context.Context, text, clientID string) error {
	token, err := t.cfg.Store.Token(ctx, sha256.Sum256([]byte(text)))
	if errors.Is(err, ErrNoToken) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	if _, err := t.active(token.KeyID, clientID); errors.Is(err, ErrNoToken) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = t.cfg.Keys.Revoke(ctx, token.KeyID)
	return err
}

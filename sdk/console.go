package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Console is the account side of a service: sessions, keys, credits, usage and prompts. Client.Console makes one. It is safe for concurrent
// use. It sends no API key.
type Console struct {
	client Client

	mu      sync.Mutex // guards what follows
	invite  Key        // that is handed in with sign-ins
	session Key        // what the cookie holds, as a Key because that hides itself
}

// Console returns the console of c's service. session is the secret of an open session, empty for none.
func (c *Client) Console(session string) *Console {
	s := &Console{client: *c, session: NewKey(session)}
	s.client.key = Key{}
	s.client.payer = nil
	return s
}

// Secret returns the secret of the session, empty while nobody is signed in. Pass it to Client.Console to continue the session later. Store
// it like a password.
func (s *Console) Secret() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Secret()
}

// UseInvite sends an invitation with later sign-ins, for services where new accounts need one. The first sign-in that creates an account
// uses it up.
func (s *Console) UseInvite(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invite = NewKey(strings.TrimSpace(code))
}

// invited is the invitation, empty for none.
func (s *Console) invited() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.invite.Secret()
}

// SendLink has a sign-in link mailed to the address, and returns the time until which it works. In a session, the link adds the address to
// the account instead.
func (s *Console) SendLink(ctx context.Context, email string, opts ...CallOption) (time.Time, error) {
	out, err := consoleCall[api.EmailSignInResponse](ctx, s, http.MethodPost, api.PathAuthEmail, nil,
		api.EmailSignInRequest{Email: email}, opts)
	if err != nil {
		return time.Time{}, err
	}
	return out.ExpiresAt, nil
}

// ByLink signs in with a mailed link, or with the token or code behind it. It works once.
func (s *Console) ByLink(ctx context.Context, link string, opts ...CallOption) (*api.Session, error) {
	token := strings.TrimSpace(link)
	if u, err := url.Parse(token); err == nil && u.Query().Has("token") {
		token = u.Query().Get("token")
	}
	return consoleCall[api.Session](ctx, s, http.MethodPost, api.PathAuthEmailVerify, nil,
		api.EmailVerifyRequest{Token: token, Invite: s.invited()}, opts)
}

// Signer signs messages with the key of a wallet. *wallet.Key of sdk/wallet is one.
type Signer interface {
	Address() string
	// SignMessage signs text by EIP-191 and returns 0x and 65 bytes in hexadecimal.
	SignMessage(text string) (string, error)
}

// ByWallet signs in with a wallet. The message to sign must be a sign-in to domain, the host and port of the service's public URL; empty
// means those of the base URL. In a session, it adds the wallet to the account instead.
func (s *Console) ByWallet(ctx context.Context, wallet Signer, domain string, opts ...CallOption) (*api.Session, error) {
	asked, err := consoleCall[api.WalletSignInResponse](ctx, s, http.MethodPost, api.PathAuthWallet, nil,
		api.WalletSignInRequest{Address: wallet.Address()}, opts)
	if err != nil {
		return nil, err
	}
	if err := checkMessage(asked.Message, firstOf(domain, s.client.base.Host), wallet.Address()); err != nil {
		return nil, err
	}
	signature, err := wallet.SignMessage(asked.Message)
	if err != nil {
		return nil, fmt.Errorf("sign message: %w", err)
	}
	return consoleCall[api.Session](ctx, s, http.MethodPost, api.PathAuthWalletVerify, nil,
		api.WalletVerifyRequest{Message: asked.Message, Signature: signature, Invite: s.invited()}, opts)
}

// ErrForeignMessage reports a message other than the expected sign-in. It was not signed.
var ErrForeignMessage = errors.New("the message to sign is not one to sign in here")

// checkMessage checks that signing text signs in to domain with address, and does nothing else.
func checkMessage(text, domain, address string) error {
	lines := strings.Split(text, "\n")
	wants, ok := strings.CutSuffix(lines[0], " wants you to sign in with your Ethereum account:")
	switch {
	case !ok || len(lines) < 2 || !strings.EqualFold(lines[1], address):
		return fmt.Errorf("%w: it is not for wallet %s", ErrForeignMessage, address)
	case wants != domain:
		return fmt.Errorf("%w: it is for %s, not %s", ErrForeignMessage, human.Short(wants, 80), domain)
	}
	return nil
}

// Session returns the signed-in owner.
func (s *Console) Session(ctx context.Context, opts ...CallOption) (*api.Session, error) {
	return consoleCall[api.Session](ctx, s, http.MethodGet, api.PathAuthSession, nil, nil, opts)
}

// SignOut ends the session, if there is one.
func (s *Console) SignOut(ctx context.Context, opts ...CallOption) error {
	_, err := s.do(ctx, Request{Method: http.MethodDelete, Path: api.PathAuthSession}, opts)
	return err
}

// SignOutEverywhere ends every session of the owner, including this one.
func (s *Console) SignOutEverywhere(ctx context.Context, opts ...CallOption) error {
	_, err := s.do(ctx, Request{Method: http.MethodDelete, Path: api.PathAuthSession, Query: url.Values{"all": {"true"}}}, opts)
	return err
}

// Identities lists the mail addresses and wallets of the owner, oldest first.
func (s *Console) Identities(ctx context.Context, opts ...CallOption) ([]api.Identity, error) {
	out, err := consoleCall[api.IdentityListResponse](ctx, s, http.MethodGet, api.PathAuthIdentities, nil, nil, opts)
	if err != nil {
		return nil, err
	}
	return out.Identities, nil
}

// Unlink removes a mail address or wallet from the account by its id, and ends the other sessions. The session must have begun with a
// sign-in within the last api.ProofLifetime, as for adding one. The last identity cannot be removed.
func (s *Console) Unlink(ctx context.Context, id string, opts ...CallOption) error {
	_, err := s.do(ctx, Request{Method: http.MethodDelete, Path: api.PathAuthIdentities + "/" + url.PathEscape(id)}, opts)
	return err
}

// Keys lists the owner's keys, newest first, including revoked ones.
func (s *Console) Keys(ctx context.Context, opts ...CallOption) ([]api.APIKeyRow, error) {
	out, err := consoleCall[api.KeyListResponse](ctx, s, http.MethodGet, api.PathKeys, nil, nil, opts)
	if err != nil {
		return nil, err
	}
	return out.Keys, nil
}

// KeyPage lists at most limit keys, 1 to api.MaxPage, starting at cursor, the NextCursor of the previous page. With neither, it returns the
// whole list.
func (s *Console) KeyPage(ctx context.Context, limit int, cursor string, opts ...CallOption) (*api.KeyListResponse, error) {
	query := url.Values{}
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return consoleCall[api.KeyListResponse](ctx, s, http.MethodGet, api.PathKeys, query, nil, opts)
}

// Rotation configures the replacement of a key.
type Rotation struct {
	Name  string        // of the new key; empty means that of the old one
	Grace time.Duration // until the old key ends, in whole seconds, at most api.MaxRotationGrace
}

// RotateKey replaces a key and moves its credits to the new one. Only this answer carries the plaintext of the new key. The service ends
// the old key at RevokesAt by its own clock.
func (s *Console) RotateKey(ctx context.Context, keyID string, r Rotation, opts ...CallOption) (*api.IssuedKey, error) {
	return consoleCall[api.IssuedKey](ctx, s, http.MethodPost, api.PathKeys+"/"+url.PathEscape(keyID)+"/rotate", nil,
		api.RotateKeyRequest{Name: r.Name, GraceSeconds: int64(math.Ceil(r.Grace.Seconds()))}, opts)
}

// CreateKey creates a key. Only this answer carries its plaintext. An empty consent means api.ConsentAggregated.
func (s *Console) CreateKey(ctx context.Context, name string, consent api.TraceConsent, opts ...CallOption) (*api.IssuedKey, error) {
	return s.NewKey(ctx, api.CreateKeyRequest{Name: name, TraceConsent: consent}, opts...)
}

// NewKey is CreateKey with all that a key can have from the beginning, as a bound of credits a day.
func (s *Console) NewKey(ctx context.Context, want api.CreateKeyRequest, opts ...CallOption) (*api.IssuedKey, error) {
	return consoleCall[api.IssuedKey](ctx, s, http.MethodPost, api.PathKeys, nil, want, opts)
}

// EditKey changes the name of a key, its bound of credits a day, or both.
func (s *Console) EditKey(ctx context.Context, keyID string, want api.EditKeyRequest, opts ...CallOption) (*api.APIKeyRow, error) {
	return consoleCall[api.APIKeyRow](ctx, s, http.MethodPatch, api.PathKeys+"/"+url.PathEscape(keyID), nil, want, opts)
}

// RevokeKey revokes a key at once and for good.
func (s *Console) RevokeKey(ctx context.Context, keyID string, opts ...CallOption) (*api.RevokeResponse, error) {
	return consoleCall[api.RevokeResponse](ctx, s, http.MethodDelete, api.PathKeys+"/"+url.PathEscape(keyID), nil, nil, opts)
}

// Balance returns the owner's credits, or those of one key if keyID is set.
func (s *Console) Balance(ctx context.Context, keyID string, opts ...CallOption) (*api.CreditBalanceResponse, error) {
	query := url.Values{}
	if keyID != "" {
		query.Set("keyId", keyID)
	}
	return consoleCall[api.CreditBalanceResponse](ctx, s, http.MethodGet, api.PathCredits, query, nil, opts)
}

// Usage returns the owner's calls of the last days, including today, by day, key and operation, and what keys with a bound have spent
// today. 0 days means 30.
func (s *Console) Usage(ctx context.Context, days int, opts ...CallOption) (*api.UsageResponse, error) {
	query := url.Values{}
	if days != 0 {
		query.Set("days", strconv.Itoa(days))
	}
	return consoleCall[api.UsageResponse](ctx, s, http.MethodGet, api.PathUsage, query, nil, opts)
}

// Prompt returns the owner's prompt for briefs of a pack, empty if there is none. Prompts need tier pro.
func (s *Console) Prompt(ctx context.Context, pack string, opts ...CallOption) (string, error) {
	return s.prompt(ctx, http.MethodGet, pack, nil, opts)
}

// SetPrompt sets the prompt and returns it as stored.
func (s *Console) SetPrompt(ctx context.Context, pack, prompt string, opts ...CallOption) (string, error) {
	return s.prompt(ctx, http.MethodPut, pack, api.PromptBody{Prompt: prompt}, opts)
}

func (s *Console) prompt(ctx context.Context, method, pack string, ask any, opts []CallOption) (string, error) {
	out, err := consoleCall[api.PromptBody](ctx, s, method, api.PathPrompts+"/"+url.PathEscape(pack), nil, ask, opts)
	if err != nil {
		return "", err
	}
	return out.Prompt, nil
}

// DropPrompt removes the prompt.
func (s *Console) DropPrompt(ctx context.Context, pack string, opts ...CallOption) error {
	_, err := s.do(ctx, Request{Method: http.MethodDelete, Path: api.PathPrompts + "/" + url.PathEscape(pack)}, opts)
	return err
}

// consoleCall makes a call and decodes its answer as a T. ask is the body, nil for none.
func consoleCall[T any](ctx context.Context, s *Console, method, path string, query url.Values, ask any, opts []CallOption) (*T, error) {
	r := Request{Method: method, Path: path, Query: query}
	if ask != nil {
		body, err := json.Marshal(ask)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		r.Body = body
	}
	resp, err := s.do(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	return decodeAs[T](resp)
}

// do makes a call with the cookie of the session and keeps the one that comes back.
func (s *Console) do(ctx context.Context, r Request, opts []CallOption) (*Response, error) {
	s.mu.Lock()
	r.session = s.session
	s.mu.Unlock()
	resp, err := s.client.Do(ctx, r, opts...)
	if resp == nil {
		return nil, err
	}
	for _, cookie := range (&http.Response{Header: resp.Header}).Cookies() {
		if cookie.Name == api.SessionCookie || cookie.Name == api.SecureSessionCookie {
			s.mu.Lock()
			s.session = NewKey(cookie.Value) // empty when the session has ended
			s.mu.Unlock()
		}
	}
	return resp, err
}

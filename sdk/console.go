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

// Console is the side of a service that its owners sign in to: sessions, keys, credits, usage and prompts. Client.Console makes one.
// It is safe for concurrent use. It sends no API key.
type Console struct {
	client Client

	mu      sync.Mutex // guards what follows
	invite  Key        // that is handed in with sign-ins
	session Key        // what the cookie holds, as a Key because that hides itself
}

// Console returns the console of c's service. session is the secret of a session that was opened before, empty for none.
func (c *Client) Console(session string) *Console {
	s := &Console{client: *c, session: NewKey(session)}
	s.client.key = Key{}
	s.client.payer = nil
	return s
}

// Secret is the secret of the session, empty while nobody is signed in. It is what Client.Console takes to go on later: keep it as
// a password.
func (s *Console) Secret() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Secret()
}

// UseInvite hands in an invitation with the sign-ins that follow, for services where new accounts need one. It is used up by the first
// that makes an account.
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

// SendLink has a sign-in link mailed to the address, and returns until when it works. Who is signed in adds the address to their
// account instead.
func (s *Console) SendLink(ctx context.Context, email string, opts ...CallOption) (time.Time, error) {
	out, err := consoleCall[api.EmailSignInResponse](ctx, s, http.MethodPost, api.PathAuthEmail, nil,
		api.EmailSignInRequest{Email: email}, opts)
	if err != nil {
		return time.Time{}, err
	}
	return out.ExpiresAt, nil
}

// ByLink signs in with a mailed link, or the token or code that it leads to. It works once.
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

// ByWallet signs in with a wallet. The message that the service wants signed must be one to sign in to domain, the host and port of the
// service's public URL; empty means those of the base URL. Who is signed in adds the wallet to their account instead.
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

// ErrForeignMessage says that a message to sign is not what it should be. It was not signed.
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

// Session says who is signed in.
func (s *Console) Session(ctx context.Context, opts ...CallOption) (*api.Session, error) {
	return consoleCall[api.Session](ctx, s, http.MethodGet, api.PathAuthSession, nil, nil, opts)
}

// SignOut ends the session, if there is one.
func (s *Console) SignOut(ctx context.Context, opts ...CallOption) error {
	_, err := s.do(ctx, Request{Method: http.MethodDelete, Path: api.PathAuthSession}, opts)
	return err
}

// SignOutEverywhere ends every session of the owner, this one too.
func (s *Console) SignOutEverywhere(ctx context.Context, opts ...CallOption) error {
	_, err := s.do(ctx, Request{Method: http.MethodDelete, Path: api.PathAuthSession, Query: url.Values{"all": {"true"}}}, opts)
	return err
}

// Identities lists the mail addresses and wallets that the owner signs in by, oldest first.
func (s *Console) Identities(ctx context.Context, opts ...CallOption) ([]api.Identity, error) {
	out, err := consoleCall[api.IdentityListResponse](ctx, s, http.MethodGet, api.PathAuthIdentities, nil, nil, opts)
	if err != nil {
		return nil, err
	}
	return out.Identities, nil
}

// Unlink removes a mail address or wallet from the account, by its id, and ends the other sessions. The session must have begun with a
// sign-in of the last api.ProofLifetime; adding one needs that too. The last one cannot be removed.
func (s *Console) Unlink(ctx context.Context, id string, opts ...CallOption) error {
	_, err := s.do(ctx, Request{Method: http.MethodDelete, Path: api.PathAuthIdentities + "/" + url.PathEscape(id)}, opts)
	return err
}

// Keys lists the owner's keys, newest first, those that were revoked too.
func (s *Console) Keys(ctx context.Context, opts ...CallOption) ([]api.APIKeyRow, error) {
	out, err := consoleCall[api.KeyListResponse](ctx, s, http.MethodGet, api.PathKeys, nil, nil, opts)
	if err != nil {
		return nil, err
	}
	return out.Keys, nil
}

// KeyPage lists at most limit keys, 1 to api.MaxPage, from cursor on, the NextCursor of the page before. Without both it is the whole list.
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

// Rotation says how a key is replaced.
type Rotation struct {
	Name  string        // of the new key; empty means that of the old one
	Grace time.Duration // for which the old key works on, in whole seconds, at most api.MaxRotationGrace
}

// RotateKey makes a key in place of another, whose credits are on the new one from then on. The plaintext is in this answer and nowhere
// else. The service ends the old key by its own clock, at RevokesAt.
func (s *Console) RotateKey(ctx context.Context, keyID string, r Rotation, opts ...CallOption) (*api.IssuedKey, error) {
	return consoleCall[api.IssuedKey](ctx, s, http.MethodPost, api.PathKeys+"/"+url.PathEscape(keyID)+"/rotate", nil,
		api.RotateKeyRequest{Name: r.Name, GraceSeconds: int64(math.Ceil(r.Grace.Seconds()))}, opts)
}

// CreateKey makes a key. Its plaintext is in this answer and nowhere else. An empty consent means api.ConsentAggregated.
func (s *Console) CreateKey(ctx context.Context, name string, consent api.TraceConsent, opts ...CallOption) (*api.IssuedKey, error) {
	return consoleCall[api.IssuedKey](ctx, s, http.MethodPost, api.PathKeys, nil,
		api.CreateKeyRequest{Name: name, TraceConsent: consent}, opts)
}

// RevokeKey ends a key, at once and for good.
func (s *Console) RevokeKey(ctx context.Context, keyID string, opts ...CallOption) (*api.RevokeResponse, error) {
	return consoleCall[api.RevokeResponse](ctx, s, http.MethodDelete, api.PathKeys+"/"+url.PathEscape(keyID), nil, nil, opts)
}

// Balance reports the owner's credits, or those on one of their keys where keyID is not empty.
func (s *Console) Balance(ctx context.Context, keyID string, opts ...CallOption) (*api.CreditBalanceResponse, error) {
	query := url.Values{}
	if keyID != "" {
		query.Set("keyId", keyID)
	}
	return consoleCall[api.CreditBalanceResponse](ctx, s, http.MethodGet, api.PathCredits, query, nil, opts)
}

// Usage reports the owner's calls of the last days, today included, by day, key and operation; 0 days means 30.
func (s *Console) Usage(ctx context.Context, days int, opts ...CallOption) ([]api.UsageRow, error) {
	query := url.Values{}
	if days != 0 {
		query.Set("days", strconv.Itoa(days))
	}
	out, err := consoleCall[api.UsageResponse](ctx, s, http.MethodGet, api.PathUsage, query, nil, opts)
	if err != nil {
		return nil, err
	}
	return out.Days, nil
}

// Prompt returns what the owner wants in their briefs of a pack, empty if nothing special. Tiers below pro have no prompts.
func (s *Console) Prompt(ctx context.Context, pack string, opts ...CallOption) (string, error) {
	return s.prompt(ctx, http.MethodGet, pack, nil, opts)
}

// SetPrompt sets it and returns it as the service keeps it.
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

// DropPrompt drops it.
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
		if cookie.Name == api.SessionCookie {
			s.mu.Lock()
			s.session = NewKey(cookie.Value) // empty when the session has ended
			s.mu.Unlock()
		}
	}
	return resp, err
}

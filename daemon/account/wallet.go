package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Message returns the text that the wallet with the given address has to sign, and until when. Where v is signed in, the wallet is
// added to that account, which has to be signed in when it is verified.
//
// Nothing is kept of it, so nobody can fill a table by asking: the nonce says, by a MAC, that the text was handed out here and to whom.
func (s *SignIn) Message(ctx context.Context, address string, v Visitor) (text string, expires time.Time, err error) {
	id, err := s.walletIdentity(address)
	if err != nil {
		return "", time.Time{}, err
	}
	_, links, err := s.asks(ctx, id, v)
	if err != nil {
		return "", time.Time{}, err
	}
	random, err := randomText(randomChars, s.cfg.Random)
	if err != nil {
		return "", time.Time{}, err
	}
	m := s.message(id.Subject, s.now())
	m.Nonce = s.nonce(m, random, links)
	return m.String(), m.ExpiresAt, nil
}

// message is the message for a wallet without its nonce.
func (s *SignIn) message(address string, issued time.Time) message {
	return message{
		Domain: s.cfg.PublicURL.Host, Address: address, URI: s.cfg.PublicURL.String(), ChainID: s.cfg.ChainID,
		IssuedAt: issued, ExpiresAt: issued.Add(api.WalletLifetime),
	}
}

// nonce is the nonce of m that begins with random: that, and a MAC of it, of all else in m and of the owner who asked for m.
func (s *SignIn) nonce(m message, random, links string) string {
	m.Nonce = random
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(links + "\n" + m.String())) // never fails
	nonce := []byte(random)
	for _, b := range h.Sum(nil)[:nonceChars-randomChars] {
		nonce = append(nonce, base62[int(b)%len(base62)])
	}
	return string(nonce)
}

// ByWallet signs in with a signed message. Its nonce is used up here, whatever comes of it, and on all nodes with the same Key by the
// session, of which it returns the secret.
func (s *SignIn) ByWallet(ctx context.Context, text, signature string, v Visitor) (secret string, session Session, err error) {
	nonce, ok := nonceIn(text)
	if !ok {
		return "", session, refused("the message is not one that this service hands out")
	}
	if !s.used.burn(nonce, s.now()) {
		return "", session, unknownSignIn()
	}
	m, ok := s.readMessage(text, nonce)
	links, known := s.handedTo(m, v)
	switch {
	case !ok || !known:
		return "", session, refused("the message is not the one that was handed out, or not to who is signed in here")
	case !s.now().Before(m.ExpiresAt):
		return "", session, refused("the sign-in expired at %s", m.ExpiresAt.Format(time.RFC3339))
	}
	signer, err := s.cfg.Recover(text, signature)
	if err != nil || signer != m.Address {
		return "", session, refused("the message is not signed by wallet %s", m.Address)
	}
	o := Opening{Identity: Identity{KindWallet, m.Address}}
	if s.cfg.Key != nil {
		o.Message, o.Until = sha256.Sum256([]byte("message "+nonce)), m.ExpiresAt.Add(api.WalletLifetime)
	}
	return s.enter(ctx, o, links, v)
}

// handedTo is the owner who asked for m, nobody ("") or the one who is signed in, if it was one of them.
func (s *SignIn) handedTo(m message, v Visitor) (links string, ok bool) {
	for _, links := range []string{"", v.owner()} {
		if hmac.Equal([]byte(s.nonce(m, m.Nonce[:min(randomChars, len(m.Nonce))], links)), []byte(m.Nonce)) {
			return links, true
		}
	}
	return "", false
}

// maxBurnt bounds the nonces of one generation.
const maxBurnt = 500_000

// burnt are nonces that were handed in, for as long as a message with one can hold. They are kept in two generations of at least that
// length, of which the older one is dropped whole. A crowd that fills them faster has them forget the oldest, which then
// could be handed in again by who has the signature; nobody is turned away for it.
type burnt struct {
	mu       sync.Mutex // guards what follows
	now, was map[string]struct{}
	since    time.Time // when now began
}

// burn notes nonce, and reports whether it was not there.
func (b *burnt) burn(nonce string, at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil || at.Sub(b.since) >= api.WalletLifetime || len(b.now) >= maxBurnt {
		b.was, b.now, b.since = b.now, map[string]struct{}{}, at
	}
	_, now := b.now[nonce]
	_, was := b.was[nonce]
	b.now[nonce] = struct{}{}
	return !now && !was
}

package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// Paid names the payment that buys a key.
type Paid struct {
	Rail, Token, Payer string // addresses in any case
	Nonce              [32]byte
}

// Purchase is a key that a wallet buys, before there is one.
type Purchase struct {
	Wallet  Identity // the payer
	OwnerID string   // who is made where the wallet is nobody's once it is paid
	KeyID   string
	KeyHash [sha256.Size]byte
	MaxKeys int  // active keys that an owner may have, those that are being bought among them
	Open    bool // sign-up, to everybody
}

// Buyer is who pays for a Purchase, as the books know them.
type Buyer struct {
	OwnerID  string // "" where the wallet is nobody's
	Disabled bool
	Keys     int // that are active or being bought
}

// Admit says why b may not make the purchase, nil if they may. What was paid for is never asked about again.
func (p Purchase) Admit(b Buyer) error {
	const unsettled = "this payment was not settled; "
	switch {
	case b.OwnerID == "" && !p.Open:
		return api.Errorf(api.ReasonSignupClosed, "sign-up is not open: only wallets of existing accounts can buy").
			WithHint(unsettled + "ask the operator for an invitation, then sign in with the wallet: ctx login --invite CODE")
	case b.Disabled:
		return api.Errorf(api.ReasonOwnerDisabled, "the account of wallet %s was disabled", p.Wallet.Subject).
			WithHint(unsettled + "ask the operator")
	case b.Keys >= p.MaxKeys:
		return api.Errorf(api.ReasonInvalidRequest, "the account has %d active keys, including those being bought; the limit is %d",
			b.Keys, p.MaxKeys).WithHint(unsettled + "sign in with the wallet and revoke an unused key")
	}
	return nil
}

// Shop makes the keys that wallets buy. They are kept by their hashes, as all are. So that one can be told again to who has paid for it,
// they come from a secret and the payment, and not from randomness.
type Shop struct {
	Keys       *Keys
	Secrets    [][]byte    // keys come from the first, and are told again from all
	SignupOpen func() bool // to everybody
	Checksum   func(address string) (string, error)
	NewID      func() string // a UUID for a new owner
}

// Purchase is the one that a payment makes.
func (s *Shop) Purchase(of Paid) (p Purchase, err error) {
	if p.Wallet.Subject, err = s.Checksum(of.Payer); err != nil {
		return p, fmt.Errorf("spell payer: %w", err)
	}
	secret, err := s.derive(s.Secrets[0], of)
	if err != nil {
		return p, err
	}
	p.Wallet.Kind, p.OwnerID = KindWallet, s.NewID()
	p.KeyID, p.KeyHash = secret[:api.KeyIDLength], sha256.Sum256([]byte(secret))
	p.MaxKeys, p.Open = int(s.Keys.maxKeys.Load()), s.SignupOpen()
	return p, nil
}

// Secret is the plaintext of the key with the given hash that a payment has bought; ok is false where it came from a secret that is gone.
func (s *Shop) Secret(of Paid, hash [sha256.Size]byte) (text string, ok bool, err error) {
	for _, key := range s.Secrets {
		if text, err = s.derive(key, of); err != nil || sha256.Sum256([]byte(text)) == hash {
			return text, err == nil, err
		}
	}
	return "", false, nil
}

func (s *Shop) derive(key []byte, of Paid) (string, error) {
	return newSecret(s.Keys.cfg.Env, &stream{key: key, of: fmt.Sprintf("contextd key\n%s\n%s\n%s\n%x", of.Rail,
		strings.ToLower(of.Token), strings.ToLower(of.Payer), of.Nonce)})
}

// stream is bytes that come from HMAC-SHA256 under a key: of a text and a counter, block by block.
type stream struct {
	key   []byte
	of    string
	block uint32
	left  []byte
}

var _ io.Reader = (*stream)(nil)

// Read fills p.
func (s *stream) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.left) == 0 {
			h := hmac.New(sha256.New, s.key)
			h.Write(binary.BigEndian.AppendUint32([]byte(s.of+"\n"), s.block)) // never fails
			s.left = h.Sum(nil)
			s.block++
		}
		copied := copy(p[n:], s.left)
		s.left, n = s.left[copied:], n+copied
	}
	return n, nil
}

// Bought notes a key that the store has made with a purchase.
func (k *Keys) Bought(key Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key.Tier = k.tier(key.OwnerID)
	k.remember(&key)
}

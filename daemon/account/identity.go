package account

import (
	"net/mail"
	"net/netip"
	"strings"
	"unicode"

	"github.com/contextd/contextd/sdk/api"
)

// IdentityKind says what an owner proves to own when signing in.
type IdentityKind string

// The kinds of identities.
const (
	KindEmail  IdentityKind = "email"
	KindWallet IdentityKind = "wallet"
)

// Identity is a mail address or a wallet. Subject has one spelling: mail addresses are in lower case, wallets in that of EIP-55.
type Identity struct {
	Kind    IdentityKind `json:"kind"`
	Subject string       `json:"subject"`
}

const (
	maxEmail      = 254 // characters, by RFC 5321
	maxEmailLocal = 64  // of them before the @
)

// emailIdentity is the identity of a mail address. Case makes no difference: no mail service that people use tells addresses
// apart by it, and two accounts for one address would be a trap.
func emailIdentity(address string) (Identity, error) {
	text := strings.ToLower(strings.TrimSpace(address))
	parsed, err := mail.ParseAddress(text)
	local, domain, _ := strings.Cut(text, "@")
	if err != nil || parsed.Address != text || len(text) > maxEmail || len(local) > maxEmailLocal || !hostname(domain) ||
		strings.ContainsFunc(local, func(r rune) bool { return r > unicode.MaxASCII }) {
		return Identity{}, api.Errorf(api.ReasonInvalidRequest,
			"email is not a plain mail address of at most %d ASCII characters", maxEmail).
			WithHint(`send {"email":"you@example.com"}`)
	}
	return Identity{KindEmail, text}, nil
}

// hostname reports whether text, in lower case, can be the domain of a mail address.
func hostname(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// walletIdentity is the identity of a wallet. An address in mixed case must have the right checksum.
func (s *SignIn) walletIdentity(address string) (Identity, error) {
	spelled, err := s.cfg.Checksum(strings.TrimSpace(address))
	if err != nil {
		return Identity{}, api.Errorf(api.ReasonInvalidRequest, "address is not that of a wallet: %v", err).
			WithHint("send 0x and 40 hexadecimal digits, all in one case or as your wallet shows them")
	}
	return Identity{KindWallet, spelled}, nil
}

package account

import (
	"crypto/sha256"
	"encoding/hex"
	"net/mail"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/sdk/api"
)

// The kinds of identities.
const (
	KindEmail  = api.IdentityEmail
	KindWallet = api.IdentityWallet
)

// Identity is a mail address or a wallet. Subject has one spelling: mail addresses are in lower case, wallets in that of EIP-55.
type Identity struct {
	Kind    api.IdentityKind
	Subject string
}

// ID is what id is called where it is listed.
func (id Identity) ID() string {
	sum := sha256.Sum256([]byte(string(id.Kind) + "\x00" + id.Subject))
	return hex.EncodeToString(sum[:8])
}

// Row is id as it is listed, added to its owner at the given time.
func (id Identity) Row(added time.Time) api.Identity {
	return api.Identity{ID: id.ID(), Kind: id.Kind, Subject: id.Subject, CreatedAt: added}
}

// Inbox is where mail to id ends up, as far as an address tells: what follows a + in it is for its reader.
func (id Identity) Inbox() string {
	at := strings.LastIndexByte(id.Subject, '@')
	local, _, _ := strings.Cut(id.Subject[:max(at, 0)], "+")
	return local + id.Subject[max(at, 0):]
}

const (
	maxEmail      = 254 // characters, by RFC 5321
	maxEmailLocal = 64  // of them before the @
)

// Email is the identity of a mail address, or an error of the caller. Case makes no difference: no mail service that people use tells
// addresses apart by it, and two accounts for one address would be a trap.
func Email(address string) (Identity, error) {
	text := strings.TrimSpace(address)
	if len(text) > maxEmail {
		text = "" // which is refused without a look at the rest
	}
	text = strings.ToLower(text)
	parsed, err := mail.ParseAddress(text)
	local, domain, _ := strings.Cut(text, "@")
	if err != nil || parsed.Address != text || len(local) > maxEmailLocal || !hostname(domain) ||
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
		return Identity{}, api.Errorf(api.ReasonInvalidRequest, "address is not a wallet address: %v", err).
			WithHint("send 0x and 40 hexadecimal digits, all in one case or as your wallet shows them")
	}
	return Identity{KindWallet, spelled}, nil
}

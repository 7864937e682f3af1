package account

import (
	"fmt"
	"strings"
	"time"
)

// message is the text that a wallet signs, by EIP-4361. The service makes it, so it is known to the letter.
type message struct {
	Domain    string // host and port of the service
	Address   string // in the spelling of EIP-55
	URI       string // public URL of the service
	ChainID   int64
	Nonce     string
	IssuedAt  time.Time
	ExpiresAt time.Time
}

// statement is what signing the message means.
const statement = "Sign in to contextd. This signs a message only: it moves no funds."

const messageTime = "2006-01-02T15:04:05.000Z"

// String is the text of m.
func (m message) String() string {
	return fmt.Sprintf("%s wants you to sign in with your Ethereum account:\n%s\n\n%s\n\n"+
		"URI: %s\nVersion: 1\nChain ID: %d\nNonce: %s\nIssued At: %s\nExpiration Time: %s",
		m.Domain, m.Address, statement, m.URI, m.ChainID, m.Nonce,
		m.IssuedAt.UTC().Format(messageTime), m.ExpiresAt.UTC().Format(messageTime))
}

// Places of lines in the text of a message.
const (
	addressLine  = 1
	nonceLine    = 8
	issuedLine   = 9
	messageLines = 11
)

// nonceIn is the nonce that text names where a message has it. Whether the rest of the text is the message that was handed out
// with that nonce is for readMessage to say.
func nonceIn(text string) (nonce string, ok bool) {
	lines := strings.SplitN(text, "\n", messageLines+1)
	if len(lines) != messageLines {
		return "", false
	}
	nonce, ok = strings.CutPrefix(lines[nonceLine], "Nonce: ")
	return nonce, ok && len(nonce) == nonceChars && strings.Trim(nonce, base62) == ""
}

// readMessage reads text, of which nonceIn has found a nonce, as a message of this service, and reports whether it is one to the letter.
func (s *SignIn) readMessage(text, nonce string) (m message, ok bool) {
	lines := strings.Split(text, "\n")
	issued, err := time.Parse(messageTime, strings.TrimPrefix(lines[issuedLine], "Issued At: "))
	if err != nil {
		return m, false
	}
	m = s.message(lines[addressLine], issued)
	m.Nonce = nonce
	return m, m.String() == text
}

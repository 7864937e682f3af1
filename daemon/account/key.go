// Package account owns owners and their API keys: how a key is made, how it is recognised and how it ends.
//
// Of a key only its SHA-256 is kept; the plaintext leaves once, in the answer that creates it. Recognising a key reads memory
// alone, and a revocation is on disk and in that memory before it is answered. The package does no SQL and serves no HTTP.
package account

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// OperatorID is the owner of the keys that the operator makes on the data directory.
const OperatorID = "00000000-0000-4000-8000-000000000001"

// Key is an API key as stored.
type Key struct {
	ID         string // the first api.KeyIDLength characters, safe to log
	Hash       [sha256.Size]byte
	OwnerID    string
	Name       string
	Tier       api.Tier
	Consent    api.TraceConsent
	CreatedAt  time.Time
	LastUsedAt time.Time // zero if never; may lag by a flush
	RevokedAt  time.Time // zero while active
}

// Row is k as the console and the command line list it.
func (k Key) Row() api.APIKeyRow {
	return api.APIKeyRow{
		KeyID: k.ID, Name: k.Name, Tier: k.Tier, CreatedAt: k.CreatedAt, TraceConsent: k.Consent,
		LastUsedAt: optional(k.LastUsedAt), RevokedAt: optional(k.RevokedAt),
	}
}

// Rows are the keys as listed, never nil.
func Rows(keys []Key) []api.APIKeyRow {
	rows := make([]api.APIKeyRow, len(keys))
	for i, k := range keys {
		rows[i] = k.Row()
	}
	return rows
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// base62 is the alphabet of secrets.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newSecret makes the plaintext of a key from random.
func newSecret(env api.KeyEnv, random io.Reader) (string, error) {
	text, err := randomText(api.KeySecretChars, random)
	return "cv_" + string(env) + "_" + text, err
}

// randomText makes a text of chars base62 characters from random. Bytes that would favour some characters are thrown away.
func randomText(chars int, random io.Reader) (string, error) {
	var b strings.Builder
	buf := make([]byte, 2*chars)
	const unbiased = 256 - 256%len(base62)
	for b.Len() < chars {
		if _, err := io.ReadFull(random, buf); err != nil {
			return "", fmt.Errorf("read randomness: %w", err)
		}
		for _, c := range buf {
			if int(c) < unbiased && b.Len() < chars {
				b.WriteByte(base62[int(c)%len(base62)])
			}
		}
	}
	return b.String(), nil
}

// wellFormed reports whether secret can be a key at all.
func wellFormed(secret string) bool {
	rest, ok := strings.CutPrefix(secret, "cv_"+string(api.EnvLive)+"_")
	if !ok {
		if rest, ok = strings.CutPrefix(secret, "cv_"+string(api.EnvTest)+"_"); !ok {
			return false
		}
	}
	if len(rest) != api.KeySecretChars {
		return false
	}
	return strings.Trim(rest, base62) == ""
}

// Package account owns owners and their API keys: how a key is made, how it is recognised and how it ends.
//
// Of a key only its SHA-256 is kept; the plaintext leaves once, in the answer that creates it. Recognising a key reads memory
// alone, and a revocation is on disk and in that memory before it is answered. The package does no SQL and serves no HTTP.
package account

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	LastUsedAt time.Time  // zero if never; may lag by a flush
	RevokedAt  time.Time  // zero while active
	RevokesAt  time.Time  // when a key ends that was replaced by another, or that is an agent's; zero for all others
	Unmetered  bool       // its calls are counted and not charged
	Daily      int64      // credits that it spends in a UTC day at most; 0 means no bound
	Grant      *api.Grant // what an agent that has signed in may do, for whose tokens k stands; nil for keys that are a secret
}

// active reports whether k works at now.
func (k *Key) active(now time.Time) bool { return k.RevokedAt.IsZero() && !k.over(now) }

// before reports whether k is older than other.
func (k *Key) before(other *Key) bool {
	return cmp.Or(k.CreatedAt.Compare(other.CreatedAt), strings.Compare(k.ID, other.ID)) < 0
}

// at is k as it is at now: revoked, where its time is over.
func (k *Key) at(now time.Time) Key {
	seen := *k
	if seen.RevokedAt.IsZero() && k.over(now) {
		seen.RevokedAt = k.RevokesAt
	}
	return seen
}

// over reports whether the time of k, which has an end, is over at now.
func (k *Key) over(now time.Time) bool { return !k.RevokesAt.IsZero() && !now.Before(k.RevokesAt) }

// Row is k as the console and the command line list it.
func (k Key) Row() api.APIKeyRow {
	return api.APIKeyRow{
		DailyCredits: bound(k.Daily), OAuth: k.Grant,
		KeyID: k.ID, Name: k.Name, Tier: k.Tier, CreatedAt: k.CreatedAt, TraceConsent: k.Consent,
		LastUsedAt: optional(k.LastUsedAt), RevokedAt: optional(k.RevokedAt), RevokesAt: optional(k.RevokesAt), Unmetered: k.Unmetered,
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

// Page is at most limit keys of a list, newest first, from the place on that cursor names, "" for the beginning, and the cursor of the
// page after it, "" where that was the last. Keys that came or went since cursor was given change nothing of the rest.
func Page(list []Key, limit int, cursor string) (page []Key, next string, err error) {
	from := 0
	if cursor != "" {
		at, id, ok := strings.Cut(cursor, ".")
		millis, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil {
			return nil, "", api.Errorf(api.ReasonInvalidRequest, "cursor is not from this service").
				WithHint("send nextCursor of the previous page, or leave cursor out for the first page")
		}
		last := Key{ID: id, CreatedAt: time.UnixMilli(millis)}
		from, _ = slices.BinarySearchFunc(list, last, newestFirst)
		if from < len(list) && newestFirst(list[from], last) == 0 {
			from++
		}
	}
	page = list[from:min(from+limit, len(list))]
	if from+limit < len(list) {
		last := page[limit-1]
		next = strconv.FormatInt(last.CreatedAt.UnixMilli(), 10) + "." + last.ID
	}
	return page, next, nil
}

// newestFirst orders keys as lists have them.
func newestFirst(a, b Key) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
}

// bound is a bound as answers tell it.
func bound(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// base62 is the alphabet of secrets.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

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
